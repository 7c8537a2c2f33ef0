"""One conversation: its tree, its tool calls paired and judged, and what a resume reaches."""
