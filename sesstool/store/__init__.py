"""Sessions of one's own: append as you go, resume, fork, one writer."""
