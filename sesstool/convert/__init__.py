"""Sessions of one format as sessions of another one, with the list of what was lost."""
