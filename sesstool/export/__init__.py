"""Sessions as pages, texts and recordings."""
