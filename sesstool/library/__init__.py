"""Where agents keep sessions, and what is known of each at a glance."""
