"""Retention: what must be kept, what must go, and who says so."""
