"""The version of sesstool."""

__version__ = "0.1.0"
