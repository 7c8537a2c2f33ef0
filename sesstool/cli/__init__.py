"""The command: parse, call the library, show."""
