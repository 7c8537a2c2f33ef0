"""What sesstool found, planned and did, in each output format."""
