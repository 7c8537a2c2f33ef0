"""Record a run of an agent: one stream of facts, to the transcript and to a trace.

The transcript is the session: what a recovery needs. The trace is a JSONL file for people and
tools that look at a run: every fact with its time, how long it took, and what the model used. What
goes wrong with the trace is told by a warning, and is no matter of the transcript.
"""

from __future__ import annotations

import inspect
import json
import os
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

from sesstool.audit import log
from sesstool.errors import StalePlanError, UsageError
from sesstool.model.effects import decoded
from sesstool.records.append import Appender
from sesstool.records.source import open_file
from sesstool.records.undo import state_folder
from sesstool.records.write import real_path
from sesstool.store import reads
from sesstool.store.facts import Checkpoint, End, Fact, Message, Phase, PhaseName, Said, Transition
from sesstool.store.session import StoredSession

SUBAGENT = "subagent_started"
"""The reason of a transition that links an agent and one that it started."""


class Recorder:
    """Records what an agent's loop does; see the module.

    `trace` is a file to append to, None for none. Every method raises as `StoredSession.append`;
    what the session's format has no record for goes to the trace alone.
    """

    def __init__(
        self,
        session: StoredSession,
        trace: Path | str | None = None,
    ) -> None:
        """Begin to record into an open session, which stays the caller's to close.

        Raises UsageError where the trace is the session's own file.
        """
        if trace is not None and real_path(Path(trace)) == session.path:
            raise UsageError(
                f"{session.path} is the session itself, and cannot be its trace",
                hint="give the trace a file of its own",
            )
        self.session = session
        self._trace = _Trace(Path(trace)) if trace is not None else None
        self._shares_trace = False
        self._state: str | None = None
        self._parent: Recorder | None = None

    def message(self, message: Message, *, usage: Mapping[str, Any] | None = None) -> None:
        """A message of the history; `usage` is what the provider said that it took."""
        self._record(Said(message), usage=usage)

    def transition(self, to: str, reason: str, **details: Any) -> None:
        """The loop goes to another state, and why."""
        before, self._state = self._state, to
        self._record(Transition(to, reason, before, details))

    def requested(self, call_id: str, tool: str, arguments: Any = None) -> None:
        """The model asked for a tool, and nothing was done yet."""
        self._phase(call_id, tool, "requested", arguments)

    def started(self, call_id: str, tool: str, arguments: Any = None) -> None:
        """The tool is about to run: from here on its outcome is unknown until it is told."""
        self._phase(call_id, tool, "started", arguments)

    def completed(self, call_id: str, tool: str, result: Any, *read: Path | str) -> None:
        """The tool ran, and this is its result; `read` are the files that it read."""
        noted = map(reads.noted, map(os.path.abspath, read))  # links stay as they are named
        found = [file for file in noted if file is not None]
        self._record(Phase(call_id, tool, "completed", result, found))

    def failed(self, call_id: str, tool: str, error: str) -> None:
        """The tool ended without a result, and this is what it said."""
        self._phase(call_id, tool, "failed", error)

    def run(
        self, call_id: str, tool: str, arguments: Any, act: Callable[..., Any], *read: Path | str
    ) -> str:
        """Run a tool once, and record its life; what it said, or how it failed, is the result.

        `act` gets the `arguments` as keywords; they may be the JSON text that the model gave. What
        it returns is kept as JSON where it is no text. `requested` and `started` are on disk before
        it runs. An exception becomes the text of its failure; one that ends the program, like
        Ctrl-C, leaves the call uncertain. Raises UsageError for a coroutine or generator, which a
        call alone does not run.
        """
        if any(test(act) for test in _LAZY):
            raise _lazy(tool)
        self.requested(call_id, tool, arguments)
        self.started(call_id, tool, arguments)
        try:
            given = decoded(arguments)
            result = act(**({} if given in (None, "") else given))
            lazy = inspect.isawaitable(result) or inspect.isgenerator(result)
            said = "" if lazy else _words(result)
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is its result
            said = f"{type(error).__name__}: {error}"
            self.failed(call_id, tool, said)
        else:
            if lazy:
                raise _lazy(tool)
            self.completed(call_id, tool, said, *read)
        return said

    def checkpoint(self, summary: str, keep: int, **metadata: Any) -> None:
        """A compaction: `summary` stands for all messages but the last `keep` of them.

        It keeps more where that would part a call from its results.
        """
        history = self.session.history
        self._record(
            Checkpoint(
                summary,
                history.window(keep),
                history.count,
                f"cp-{uuid4().hex}",
                tuple(history.files.values()),
                metadata,
            )
        )

    def end(self, reason: str, **details: Any) -> None:
        """The run ended, and why. A subagent's parent is told as well."""
        self._record(End(reason, details))
        if self._parent is not None:
            link = {"subagent": _link(self.session), "end": reason}
            self._parent.transition("running", "subagent_ended", **link)

    def subagent(
        self, session: StoredSession, call_id: str = "", trace: Path | str | None = None
    ) -> Recorder:
        """A recorder for an agent that this one starts: both transcripts name the other.

        `call_id` is the call with which it does. Without a trace of its own it writes to this one.
        """
        call = {"tool_call_id": call_id} if call_id else {}
        child = Recorder(session, trace)
        if trace is None:
            child._trace, child._shares_trace = self._trace, True
        self.transition("waiting", SUBAGENT, subagent=_link(session), **call)
        child.transition("running", SUBAGENT, parent=_link(self.session), **call)
        child._parent = self
        return child

    def close(self) -> None:
        """Close the trace. The session is the caller's."""
        if self._trace is not None and not self._shares_trace:
            self._trace.close()

    def __enter__(self) -> Self:
        """Close the trace on leaving the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the trace."""
        self.close()

    def _phase(self, call_id: str, tool: str, name: PhaseName, value: Any) -> None:
        self._record(Phase(call_id, tool, name, value))

    def _record(self, fact: Fact, **beside: Any) -> None:
        self.session.record(fact)
        if self._trace is not None:
            told = {key: value for key, value in beside.items() if value}
            self._trace.add(self.session, fact, told)


_LAZY = (
    inspect.iscoroutinefunction,
    inspect.isgeneratorfunction,
    inspect.isasyncgenfunction,
)


def _lazy(tool: str) -> UsageError:
    return UsageError(
        f"the tool {tool} gives back what is still to run",
        hint="tell it yourself: started, then await it, then completed or failed",
    )


def _link(session: StoredSession) -> dict[str, str]:
    """How a transcript names another."""
    return {"session_id": session.id, "transcript": session.path.name}


def _words(value: Any) -> str:
    """What a tool returned, as text."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return str(value)


class _Trace:
    """A diagnostic file: never in the way of what it tells of."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._began = time.monotonic()
        self._calls: dict[tuple[str, str], float] = {}
        self._appender: Appender | None = None
        self._guard = threading.Lock()
        self._given_up = self._warned = self._new = False
        self._noted: set[Path] = set()

    def add(self, session: StoredSession, fact: Fact, beside: dict[str, Any]) -> None:
        with self._guard:
            if self._given_up:
                return
            try:
                line = self._line(session.id, fact, beside)
                before = b""
                if self._appender is None:
                    self._appender = Appender(self._path)
                    # A kill may have broken off the last line: it stays as it is.
                    end = self._appender.end
                    with open_file(self._path) as file:
                        file.seek(max(end - 1, 0))
                        before = b"\n" if file.read(1) not in (b"", b"\n") else b""
                    self._new = end == 0
                self._appender.add(before + line.encode() + b"\n")
                self._note(session)
            except Exception as error:  # noqa: BLE001 - see the class
                self._given_up = True
                hint = "; give each recorder a trace of its own" * isinstance(error, StalePlanError)
                self._warn(f"is not written any more: {type(error).__name__}{hint}")

    def _note(self, session: StoredSession) -> None:
        """Have the log tell that it holds what a session does, for whoever erases that; once."""
        if session.path not in self._noted:
            self._noted.add(session.path)
            if self._new or len(session) <= 1:
                log.note_copy(state_folder(), self._path, session.path)

    def _line(self, session_id: str, fact: Fact, beside: dict[str, Any]) -> str:
        now = time.monotonic()
        head: dict[str, Any] = {
            "time": datetime.now(UTC).isoformat(),
            "after": round(now - self._began, 6),
            "session_id": session_id,
            "event": type(fact).__name__.lower(),
        }
        told = {name: getattr(fact, name) for name in type(fact).__annotations__}
        if isinstance(fact, Phase):
            call = session_id, fact.call_id
            if fact.name == "started":
                self._calls[call] = now
            elif fact.name != "requested" and call in self._calls:
                head["took"] = round(now - self._calls.pop(call), 6)
        if "read" in told:
            told["read"] = [file._asdict() for file in told["read"]]
        try:
            return json.dumps(head | told | beside, default=str, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            self._warn(f"lacks a value that is no JSON: {type(error).__name__}")
            return json.dumps(head | {"lost": type(error).__name__})

    def _warn(self, what: str) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(f"the trace {self._path} {what}", RuntimeWarning, stacklevel=5)

    def close(self) -> None:
        if self._appender is not None:
            self._appender.close()
