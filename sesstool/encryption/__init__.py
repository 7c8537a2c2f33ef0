"""The age v1 file format (C2SP age) on `cryptography`: streams, seeking, keys; no files."""
