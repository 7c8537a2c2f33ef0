"""What a session is resumed with: the messages, and what is known of every call.

It depends on the records alone: the same file gives the same state.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sesstool.formats.base import Evidence
from sesstool.model.effects import effects
from sesstool.store.codec import Call, Codec
from sesstool.store.facts import Checkpoint, End, Message, Transition
from sesstool.store.history import History, Life, ToolState
from sesstool.store.reads import Read, State, check

Unanswered = Literal["answer", "drop"]


@dataclass(frozen=True, slots=True)
class CallState:
    """A tool call by its life.

    `state` is "completed", "failed", "pending" (asked for, never started) or "uncertain" (it may
    have run). `answered` says that the history has a result, also one that a resume made up.
    `repeatable` says that the tool changes nothing, so that the call may be made again: by the
    table of harmless tools that the user extends. Nothing is ever repeated by itself.
    """

    id: str
    tool: str
    arguments: Any
    run: str
    state: ToolState
    answered: bool
    repeatable: bool


@dataclass(frozen=True, slots=True)
class ResumeState:
    """See the module.

    `messages` are what the provider takes: of a checkpoint the summary and what it keeps, with an
    answer behind every call that has none. `calls` are those in them, and older ones of which the
    outcome is unknown. `files` are those that were read, as they were then. `last_transition` and
    `end` are None where there is none, or where messages came behind the end.
    """

    session_id: str
    messages: list[Message]
    checkpoint: Checkpoint | None
    calls: tuple[CallState, ...]
    files: tuple[Read, ...]
    last_transition: Transition | None
    end: End | None

    @property
    def uncertain(self) -> tuple[CallState, ...]:
        """The calls that may have changed something, and of which nobody knows: to be checked."""
        return tuple(call for call in self.calls if call.state == "uncertain")

    @property
    def pending(self) -> tuple[CallState, ...]:
        """The calls that were asked for, and surely not started."""
        return tuple(call for call in self.calls if call.state == "pending")

    def changed_files(self) -> list[tuple[str, State]]:
        """The files that are not what they were when they were read, and what they are now."""
        return [(read.path, now) for read, now in check(self.files) if now != "same"]


def resume_state(
    history: History,
    said: Iterable[Message],
    *,
    unanswered: Unanswered = "answer",
    harmless: Collection[str] = (),
) -> ResumeState:
    """The state of a session of which `said` are the messages from `history.view` on."""
    codec = history.codec
    messages = list(sent(history, said, unanswered=unanswered))
    ours = codec.format.harmless | frozenset(harmless)
    calls = tuple(_told(life, codec, ours) for life in history.lives.values())
    return ResumeState(
        codec.session_id,
        messages,
        history.checkpoint,
        calls,
        tuple(history.files.values()),
        history.transition,
        history.end,
    )


def sent(
    history: History, said: Iterable[Message], *, unanswered: Unanswered = "answer"
) -> Iterator[Message]:
    """The messages as the provider takes them; see `ResumeState.messages`.

    Only calls of the last message are dropped; of earlier ones the model has seen what followed.
    """
    codec, final = history.codec, {life.call.id for life in history.unanswered()}
    if history.checkpoint is not None:
        yield {"role": "system", "content": history.checkpoint.summary}
    lives: dict[str, list[Life]] = {}
    for life in history.lives.values():
        lives.setdefault(life.call.id, []).append(life)
    held: list[Message] = []  # a message with calls, and the results behind it
    for message in said:
        if held and not codec.results(message):
            yield from _paired(codec, held, lives)
            held = []
        if held or codec.calls(message):
            held.append(message)
        else:
            yield message
    if held and unanswered == "drop" and final:
        kept = codec.without(held[0], final)
        held = [*([kept] if kept else []), *held[1:]]
    yield from _paired(codec, held, lives)


def _paired(
    codec: Codec, held: list[Message], lives: Mapping[str, list[Life]]
) -> Iterator[Message]:
    """A message with calls, the results behind it, and an answer for each call without one."""
    if not held:
        return
    answered = {name for message in held[1:] for name, _ in codec.results(message)}
    missing = [call for call in codec.calls(held[0]) if call.id not in answered]
    answers = codec.answers([(call, _evidence(call, lives)) for call in missing])
    # Where all results stand in one message, words may follow them there, but not precede them.
    at = 1 if codec.format.pairing == "next" else len(held)
    yield from (*held[:at], *answers, *held[at:])


def _evidence(call: Call, lives: Mapping[str, list[Life]]) -> Evidence:
    """What is known of a call: of those of its id, the one that it is."""
    for life in lives.get(call.id, ()):
        if life.call == call:
            return life.evidence
    return Evidence("uncertain", code="RECOVERY_STATE_UNKNOWN")


def _told(life: Life, codec: Codec, harmless: Collection[str]) -> CallState:
    call = life.call
    repeatable = not effects(call.tool, call.arguments, harmless, codec.format.waits)
    return CallState(
        call.id, call.tool, call.arguments, life.run, life.state, life.answered, repeatable
    )
