"""What a session is resumed with: the messages, and what is known of every call.

It depends on the records alone: the same file gives the same state.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sesstool.formats.terms import Evidence
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
    messages: list[dict[str, Any]]
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
    """The state of a session of which `said` are the messages from `history.view` on.

    They are the caller's own.
    """
    codec = history.codec
    messages = [dict(message) for message in sent(history, said, unanswered=unanswered)]
    ours = codec.format.harmless | frozenset(harmless)
    told = (life for life in history.lives if life.message >= history.first or life.open)
    calls = tuple(_told(life, codec, ours) for life in told)
    return ResumeState(
        codec.session_id,
        messages,
        history.checkpoint,
        calls,
        tuple(history.files.values()),
        history.transition,
        history.end,
    )


def own(said: Iterable[Message]) -> list[dict[str, Any]]:
    """Messages that the caller may change: the session keeps its own."""
    # They are plain JSON, which nothing else copies as fast and as deep.
    return [marshal.loads(marshal.dumps(dict(message))) for message in said]  # noqa: S302 - ours


def sent(
    history: History, said: Iterable[Message], *, unanswered: Unanswered = "answer"
) -> Iterator[Message]:
    """The messages as the provider takes them; see `ResumeState.messages`.

    Only calls of the last message are dropped; of earlier ones the model has seen what followed.
    """
    codec = history.codec
    if history.checkpoint is not None:
        yield {"role": "system", "content": history.checkpoint.summary}
    lives = {(life.message, life.call.id): life for life in history.lives}
    caller: Message | None = None
    number, results = 0, list[Message]()
    for at, message in enumerate(said, history.first):
        if codec.results(message):
            results.append(message)
            continue
        if caller is not None or results:  # most messages have neither
            yield from _paired(codec, caller, results, _of(lives, number))
            caller, results = None, []
        number = at
        if codec.calls(message):
            caller = message
        else:
            yield message
    if unanswered == "drop" and caller is not None:
        caller = codec.without(caller, {life.call.id for life in history.unanswered()})
    yield from _paired(codec, caller, results, _of(lives, number))


def _paired(
    codec: Codec,
    caller: Message | None,
    results: Sequence[Message],
    evidence: Callable[[Call], Evidence],
) -> Iterator[Message]:
    """A message with calls, the results behind it, and an answer for each call without one.

    A result that answers none of them is left out, and so is a second one of the same call: the
    provider refuses it. One that was made up gives way to what was learned of the call later.
    """
    calls = codec.calls(caller) if caller is not None else []
    missing = {call.id: call for call in calls}
    kept = []
    told = [(at, *one) for at, message in enumerate(results) for one in codec.results(message)]
    chosen: dict[str, int] = {}
    for by_guess in (False, True):
        for at, name, words in told:
            if codec.made_up(words) is by_guess:
                chosen.setdefault(name, at)
    for at, message in enumerate(results):
        names = {name for name, _ in codec.results(message)}
        extra = {name for name in names if name not in missing or chosen[name] != at}
        rest = codec.without(message, extra) if extra else message
        kept += [rest] if rest is not None else []
        missing = {name: call for name, call in missing.items() if name not in names - extra}
    answers = codec.answers([(call, evidence(call)) for call in missing.values()])
    first, last = (kept, answers) if all(map(codec.only_results, kept)) else (answers, kept)
    if caller is not None:
        yield caller
    yield from codec.together([*first, *last])


def _of(lives: Mapping[tuple[int, str], Life], message: int) -> Callable[[Call], Evidence]:
    """What is known of the calls of a message."""

    def evidence(call: Call) -> Evidence:
        life = lives.get((message, call.id))
        return life.evidence if life else Evidence("uncertain", code="RECOVERY_STATE_UNKNOWN")

    return evidence


def _told(life: Life, codec: Codec, harmless: Collection[str]) -> CallState:
    call = life.call
    repeatable = not effects(call.tool, call.arguments, harmless, codec.format.waits)
    return CallState(
        call.id, call.tool, call.arguments, life.run, life.state, life.answered, repeatable
    )
