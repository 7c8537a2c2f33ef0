"""Two sessions, or two branches of one, compared by what was said and done in them."""
