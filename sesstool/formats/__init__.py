"""What is known of each agent's session files: one module a format, one table of them."""
