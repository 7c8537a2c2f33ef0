"""What is said in a session, in one vocabulary for all that write it down, and who writes it.

A session that is converted is a row of turns: prompts, and answers with the results of their calls.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Text:
    """Words."""

    words: str


@dataclass(frozen=True, slots=True)
class Image:
    """A picture: `data` as base64 and its `media` type, or the `url` where it lies."""

    media: str = ""
    data: str = ""
    url: str = ""

    @property
    def link(self) -> str:
        """The picture as a URL."""
        return self.url or f"data:{self.media or 'image/png'};base64,{self.data}"


Part = Text | Image


@dataclass(slots=True)
class Result:
    """What a tool answered. `error` says that it failed, `made` that a conversion made it up."""

    parts: list[Part]
    error: bool = False
    made: bool = False

    @property
    def words(self) -> str:
        """All that it says, as one text."""
        return "\n".join(part.words for part in self.parts if isinstance(part, Text))


@dataclass(slots=True)
class Call:
    """A tool call with its result.

    `arguments` are an object, or where the format has `text_arguments` JSON text of one. Where
    `free` they are any text.
    """

    id: str
    name: str
    arguments: Any
    result: Result
    free: bool = False


@dataclass(slots=True)
class Turn:
    """What one of them said: `parts`, and for an assistant the calls that follow them.

    `time` is RFC 3339, and to a scribe never that of the turn before. `own` says of a system prompt
    that it is the agent's own, which another agent has no use for.
    """

    role: Literal["system", "user", "assistant"]
    parts: list[Part]
    calls: list[Call] = field(default_factory=list)
    time: str = ""
    own: bool = False


@dataclass(frozen=True, slots=True)
class Header:
    """What is told of a session that is begun: all but its turns.

    `time` is when its first turn was, RFC 3339; `model` the model that answered, "" for unknown.
    """

    id: str
    cwd: str
    time: str
    model: str = ""


class Scribe(ABC):
    """Writes a session as records of one format, turn by turn.

    What the format cannot hold never reaches it: `images` and `result_images` say whether it takes
    pictures from a person and from tools, `image_links` whether one can be a mere link,
    `marks_errors` whether a result can be marked as failed, `times` whether records have one,
    `free_text` whether a call can be given other text than JSON.
    `system` says what becomes of system prompts: all are kept, or none of "agent" ones, or none.
    Ids and names that match `odd_id` or `odd_name` are changed, and those longer than `longest_id`
    and `longest_name`. A turn has `most_calls` at most.
    """

    images = True
    result_images = True
    image_links = True
    text_arguments = False
    marks_errors = True
    times = False
    free_text = False
    system: Literal["all", "told", "none"] = "all"
    odd_id = ""
    odd_name = ""
    longest_id = 1 << 10
    longest_name = 1 << 10
    most_calls = 1 << 30

    def __init__(self, header: Header) -> None:
        """Begin a session."""
        self.header = header

    @classmethod
    def place(cls, header: Header) -> Path | None:  # noqa: ARG003 - for those that have a home
        """Where the agent looks for the session, None where it is known to no agent."""
        return None

    def side(self, path: Path) -> tuple[Path, bytes] | None:
        """The file that the session needs beside its own at a path, None for none."""
        return None

    def begin(self) -> Iterable[dict[str, Any]]:
        """The records before the first turn."""
        return ()

    @abstractmethod
    def turn(self, turn: Turn) -> Iterator[dict[str, Any]]:
        """The records of a turn."""
