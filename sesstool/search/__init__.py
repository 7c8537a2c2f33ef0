"""Looking for words in sessions: a streaming scan of their bytes, and an index of their words."""
