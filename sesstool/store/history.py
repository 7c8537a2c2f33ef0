"""What the records of a session tell, taken note of one by one: messages, calls and their lives."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from sesstool.formats.terms import Evidence
from sesstool.formats.wording import is_placeholder
from sesstool.store.codec import Call, Codec
from sesstool.store.facts import Checkpoint, End, Fact, Phase, Said, Transition
from sesstool.store.reads import Read

ToolState = Literal["completed", "failed", "pending", "uncertain"]

_FILES = 1000
_PROMPT, _RESULT = 1, 2


@dataclass(slots=True, eq=False)
class Life:
    """A call, and what became of it.

    `message` is the number of the message that it stands in, `answered` that the history has a
    result, `made_up` that this is one that a resume put there.
    """

    call: Call
    run: str
    message: int
    phases: set[str] = field(default_factory=set)
    output: str = ""
    answered: bool = False
    made_up: bool = False

    @property
    def state(self) -> ToolState:
        """What is known: a result or an end is one, whatever else was recorded."""
        if "completed" in self.phases:
            return "completed"
        if "failed" in self.phases:
            return "failed"
        if self.answered and not self.made_up:
            return "completed"
        return "pending" if self.phases == {"requested"} else "uncertain"

    @property
    def open(self) -> bool:
        """Whether nobody knows how it ended."""
        return self.state in ("pending", "uncertain")

    @property
    def evidence(self) -> Evidence:
        """The same for the result that stands in for a lost one; see `Evidence`."""
        state = self.state
        if state == "completed":
            return Evidence(state, self.output)
        if state == "failed":
            return Evidence(state, self.output, "EXECUTION_FAILED")
        if state == "pending":
            return Evidence("never started", code="NOT_EXECUTED_REPLAN")
        code = "INTERRUPTED_UNCERTAIN" if "started" in self.phases else "RECOVERY_STATE_UNKNOWN"
        return Evidence("uncertain", code=code)


class History:
    """Follows a session; memory grows with the calls that are sent, and with 17 bytes a message.

    `count` is the number of messages as the agent's own reader counts them, with the answers that
    it makes up. `view` is the byte offset of the first message that is sent beside the
    checkpoint's summary, and `first` its number in the file. `lives` are the calls from there on,
    and older ones that are open or have no result. `last` is what the newest record said.
    """

    def __init__(self, codec: Codec) -> None:
        """Begin with nothing; `codec` tells the messages apart."""
        self.codec = codec
        self.lives: list[Life] = []
        self.count = self.records = 0
        self.view = self.first = 0
        self.checkpoint: Checkpoint | None = None
        self.transition: Transition | None = None
        self.end: End | None = None
        self.files: dict[str, Read] = {}
        self.last: Fact | None = None
        self._starts = array("q")
        self._kinds = bytearray()
        # The numbers that the agent's own reader gives, which counts answers that it makes up.
        self._numbers = array("q")
        self._latest: dict[tuple[str, str], Life] = {}
        self._open: list[Life] = []
        self._answers_open = True

    def see(self, fact: Fact | None, start: int) -> None:
        """Take note of a record that begins at byte `start`; None is one of nothing known."""
        self.records += 1
        if isinstance(fact, Said):
            self._said(fact, start)
            self.end = None
        elif isinstance(fact, Phase):
            self._phase(fact)
        elif isinstance(fact, Checkpoint):
            self._compacted(fact, start)
        elif isinstance(fact, Transition):
            self.transition = fact
        elif isinstance(fact, End):
            self.end = fact
        self.last = fact or self.last

    def start(self, message: int) -> int:
        """The byte offset of a message, by its number in the file."""
        return self._starts[message]

    def unanswered(self) -> list[Life]:
        """The calls of the last message with calls that have no result, in their order."""
        return list(dict.fromkeys(life for life in self._open if not life.answered))

    def _said(self, fact: Said, start: int) -> None:
        codec, message, run = self.codec, fact.message, self.codec.run
        results = codec.results(message)
        for call_id, words in results:
            self._answered(call_id, words, made_up=fact.recovered or is_placeholder(words))
        if not results:
            if self._open:
                self.count += sum(not life.answered for life in self._open) * self._answers_open
                self._open = []
            self._answers_open = not fact.older
        number = len(self._starts)
        self._starts.append(start)
        self._kinds.append(_RESULT if results else _PROMPT if message.get("role") == "user" else 0)
        self._numbers.append(self.count)
        for call in codec.calls(message):
            life = self._latest.get((run, call.id))
            if life is None or life.message not in (-1, number):
                life = self._new(call, run)
            life.call, life.message = call, number  # its phases may have come first
            self._open.append(life)
        self.count += 1

    def _answered(self, call_id: str, words: str, *, made_up: bool) -> None:
        """Take note of a result; one that does not follow its call is to be said again there."""
        here = [life for life in self._open if life.call.id == call_id]
        late = self._latest.get((self.codec.run, call_id))
        for life in here or ([late] if late is not None and late.message >= 0 else []):
            life.made_up = made_up and (life.made_up or not life.answered)
            life.answered = True
            if not life.made_up:
                life.output = "" if here else words

    def _new(self, call: Call, run: str) -> Life:
        self._latest[run, call.id] = life = Life(call, run, -1)
        self.lives.append(life)
        return life

    def _phase(self, fact: Phase) -> None:
        key = self.codec.run, fact.call_id
        life = self._latest.get(key)
        if life is None:
            given = fact.value if fact.name in ("requested", "started") else None
            life = self._new(Call(fact.call_id, fact.tool, given), key[0])
        if fact.name == "completed" or (fact.name == "failed" and "completed" not in life.phases):
            life.output = fact.value
        life.phases.add(fact.name)
        self._note(fact.read)

    def _note(self, read: Sequence[Read]) -> None:
        for file in read:
            self.files.pop(file.path, None)
            self.files[file.path] = file
        while len(self.files) > _FILES:
            del self.files[next(iter(self.files))]

    def _compacted(self, fact: Checkpoint, start: int) -> None:
        self.checkpoint = fact
        self._note(fact.read)
        at = self.first = self._kept(fact)
        self.view = self._starts[at] if at < len(self._starts) else start

        def matters(life: Life) -> bool:  # a later checkpoint may keep more
            return life.message >= at or not life.answered or life.open

        self.lives = [life for life in self.lives if matters(life)]
        self._latest = {key: life for key, life in self._latest.items() if matters(life)}

    def _kept(self, fact: Checkpoint) -> int:
        """The number in the file of the first message that a checkpoint keeps.

        The provider takes no result without its call, so a window never begins between them.
        """
        written, keep = len(self._starts), fact.keep_from
        at = bisect_left(self._numbers, keep)
        # A session that went on behind a cancelled call was counted as it stands in the file.
        as_written = fact.count == written != self.count and keep < written
        if as_written and self._kinds[keep] == _PROMPT:
            at = keep
        return self._whole(at)

    def window(self, keep: int) -> int:
        """From which number on the agent's reader counts the last messages, so many or more.

        No call is parted from its results by it.
        """
        at = self._whole(max(len(self._starts) - keep, 0))
        return self._numbers[at] if at < len(self._starts) else self.count

    def _whole(self, at: int) -> int:
        """The number in the file of a message, or of that with the call of which it is a result."""
        if missing := self.unanswered():
            return min(at, missing[0].message)
        while 0 < at < len(self._starts) and self._kinds[at] == _RESULT:
            at -= 1
        return at
