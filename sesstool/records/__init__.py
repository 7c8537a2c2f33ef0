"""Bytes, physical lines and records: reading them whole, and changing them safely."""
