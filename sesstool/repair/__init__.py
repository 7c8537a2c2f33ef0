"""Choose fixes, run them to a fixed point, and tell what a resume will send."""
