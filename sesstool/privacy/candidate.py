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

    def before(self, length: int = 1) -> bytes:
        """So many bytes before the value, fewer at the beginning of the text."""
        return self.text[max(self.start - length, 0) : self.start]

    def behind(self, length: int = 1) -> bytes:
        """So many bytes behind the value, fewer at the end of the text."""
        return self.text[self.end : self.end + length]
