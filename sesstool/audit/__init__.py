"""The record of every change that sesstool made, kept so that tampering shows."""
