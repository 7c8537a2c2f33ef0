"""What a check looks at."""

from typing import NamedTuple


class Candidate(NamedTuple):
    """A value that an expression found in a text, by byte offsets, and the name it has there."""

    text: bytes
    start: int
    end: int
    key: bytes = b""

    @property
    def value(self) -> bytes:
        """The bytes of the value."""
        return self.text[self.start : self.end]
