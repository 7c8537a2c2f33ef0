"""Record a run of an agent: one stream of facts, to the transcript and to a trace.

The transcript is the session: what a recovery needs. The trace is a JSONL file for people and
tools that look at a run: every fact with its time, how long it took, and what the model used. What
goes wrong with the trace is told by a warning, and is no matter of the transcript.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

from sesstool.model.effects import decoded
from sesstool.records.append import Appender
from sesstool.store import reads
from sesstool.store.facts import Checkpoint, End, Fact, Message, Phase, PhaseName, Said, Transition
from sesstool.store.session import StoredSession

Opener = Callable[[str], StoredSession]


class Recorder:
    """Records what an agent's loop does; see the module.

    `trace` is a file to append to, None for none. `parent` is the recorder of the agent that
    started this one, and `call_id` the call with which it did. Every method raises as
    `StoredSession.append`; what the session's format has no record for goes to the trace alone.
    """

    def __init__(
        self,
        session: StoredSession,
        trace: Path | str | None = None,
        *,
        parent: Recorder | None = None,
        call_id: str = "",
    ) -> None:
        """Begin to record into an open session, which stays the caller's to close."""
        self.session = session
        self._trace = _Trace(Path(trace), session.id) if trace is not None else None
        self._state: str | None = None
        self._parent = parent
        if parent is not None:
            self._record(
                Transition("subagent", "subagent_started", None, _link(parent.session, call_id))
            )

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
        noted = (reads.noted(os.path.abspath(path)) for path in read)  # noqa: PTH100 - as it is named
        found = [file for file in noted if file is not None]
        self._record(Phase(call_id, tool, "completed", result, found))

    def failed(self, call_id: str, tool: str, error: str) -> None:
        """The tool ended without a result, and this is what it said."""
        self._phase(call_id, tool, "failed", error)

    def run(
        self, call_id: str, tool: str, arguments: Any, act: Callable[..., str], *read: Path | str
    ) -> str:
        """Run a tool once, and record its life; what it said, or how it failed, is the result.

        `act` gets the `arguments` as keywords; they may be the JSON text that the model gave.
        `requested` and `started` are on disk before it runs. An exception becomes the text of its
        failure; one that ends the program, like a kill, leaves the call uncertain.
        """
        self.requested(call_id, tool, arguments)
        self.started(call_id, tool, arguments)
        try:
            said = act(**decoded(arguments))
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is its result
            said = f"{type(error).__name__}: {error}"
            self.failed(call_id, tool, said)
        else:
            self.completed(call_id, tool, said, *read)
        return said

    def checkpoint(self, summary: str, keep: int, **metadata: Any) -> None:
        """A compaction: `summary` stands for all messages but the last `keep` of them."""
        history = self.session.history
        self._record(
            Checkpoint(
                summary,
                max(history.count - keep, 0),
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
            link = _link(self.session, "") | {"reason": reason}
            self._parent._record(Transition("running", "subagent_ended", None, link))  # noqa: SLF001

    def subagent(
        self, session: StoredSession, call_id: str = "", trace: Path | str | None = None
    ) -> Recorder:
        """A recorder for an agent that this one starts: both transcripts name the other."""
        self._record(
            Transition("waiting", "subagent_started", self._state, _link(session, call_id))
        )
        return Recorder(session, trace, parent=self, call_id=call_id)

    def close(self) -> None:
        """Close the trace. The session is the caller's."""
        if self._trace is not None:
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
            self._trace.add(fact, {key: value for key, value in beside.items() if value})


def _link(session: StoredSession, call_id: str) -> dict[str, str]:
    """How a transcript names another."""
    link = {"session_id": session.id, "transcript": session.path.name}
    return link | ({"tool_call_id": call_id} if call_id else {})


class _Trace:
    """A diagnostic file: never in the way of what it tells of."""

    def __init__(self, path: Path, session_id: str) -> None:
        self.path, self._session_id = path, session_id
        self._began = time.monotonic()
        self._calls: dict[str, float] = {}
        self._appender: Appender | None = None
        self._given_up = False

    def add(self, fact: Fact, beside: dict[str, Any]) -> None:
        if self._given_up:
            return
        try:
            line = json.dumps(self._told(fact) | beside, default=str) + "\n"
            self._appender = self._appender or Appender(self.path)
            self._appender.add(line.encode())
        except Exception as error:  # noqa: BLE001 - see the class
            self._given_up = True
            warnings.warn(
                f"the trace {self.path} is not written any more: {type(error).__name__}",
                RuntimeWarning,
                stacklevel=4,
            )

    def _told(self, fact: Fact) -> dict[str, Any]:
        now = time.monotonic()
        told: dict[str, Any] = {
            "time": datetime.now(UTC).isoformat(),
            "after": round(now - self._began, 6),
            "session_id": self._session_id,
            "event": type(fact).__name__.lower(),
            **{name: getattr(fact, name) for name in fact.__slots__},
        }
        if isinstance(fact, Phase):
            if fact.name == "started":
                self._calls[fact.call_id] = now
            elif fact.call_id in self._calls and fact.name != "requested":
                told["took"] = round(now - self._calls.pop(fact.call_id), 6)
        return told

    def close(self) -> None:
        if self._appender is not None:
            self._appender.close()
