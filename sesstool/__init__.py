"""Validate, repair and care for the session files that AI agents leave on disk."""

__version__ = "0.1.0"
