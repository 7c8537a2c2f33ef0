"""`SessionStore`: sessions of one's own in a folder, in a format that people already use."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sesstool.api import in_use, remembering
from sesstool.errors import InputError, UsageError
from sesstool.heap import uncollected
from sesstool.records.lock import WriterLock
from sesstool.records.write import real_path
from sesstool.store.astorlm import AstorLMCodec
from sesstool.store.chat import OpenAIChatCodec
from sesstool.store.codec import Codec
from sesstool.store.memory import SessionMemory
from sesstool.store.mycodeagent import MyCodeAgentCodec
from sesstool.store.reading import opened, refuse_sealed, resumed
from sesstool.store.recorder import Recorder
from sesstool.store.session import Durability, StoredSession
from sesstool.store.state import ResumeState, Unanswered, resume_state

if TYPE_CHECKING:
    from sesstool.api.forking import Fork
    from sesstool.retention.entries import Entry
    from sesstool.store.world import Change

__all__ = [
    "Durability",
    "Recorder",
    "ResumeState",
    "SessionMemory",
    "SessionStore",
    "StoredSession",
]

_CODECS: dict[str, type[Codec]] = {
    codec.format.name: codec for codec in (OpenAIChatCodec, AstorLMCodec, MyCodeAgentCodec)
}
# File names hold 255 bytes, of which what stands around an id takes some.
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Stored:
    """A session in a store. `size` counts bytes, `modified` is in nanoseconds since 1970."""

    id: str
    path: Path
    size: int
    modified: int


class SessionStore:
    """The sessions in a folder, which is made with the first one.

    `format` is "openai-chat" (messages, one a line), "astorlm" or "mycodeagent"; the last one
    holds all that a recovery can use, and takes messages as OpenAI's. `durability` is explained
    at `Durability`.
    """

    def __init__(
        self,
        folder: Path | str,
        format: str = "openai-chat",  # noqa: A002 - what it is called everywhere
        *,
        durability: Durability = "turn",
    ) -> None:
        """Nothing is read or written yet. Raises UsageError for a format that it does not keep."""
        if format not in _CODECS:
            known = ", ".join(_CODECS)
            raise UsageError(f"a store keeps no sessions as {format}", hint=f"known: {known}")
        if durability not in ("record", "turn", "interval", "never"):
            raise UsageError(
                f"there is no durability {durability}",
                hint="known: record, turn, interval, never",
            )
        self.folder = Path(folder)
        self._codec = _CODECS[format]
        self._durability = durability

    def path(self, session_id: str) -> Path:
        """Where a session is kept. Raises UsageError for an id that makes no file name."""
        if not (_is_name(session_id) and len(os.fsencode(session_id)) <= _LONGEST):
            raise UsageError(
                "a session id must be a plain file name",
                hint=f"letters, digits, - _ and . inside, at most {_LONGEST} bytes",
            )
        return self._codec.path(self.folder, session_id)

    def open(self, session_id: str) -> StoredSession:
        """The session of this id, to append to: a new id starts empty, a known one is read back.

        A torn tail is cut, and kept in lost+found. Raises UsageError, LiveSessionError where
        another writer has it, InputError and WriteError.
        """
        path = self.path(session_id)
        return StoredSession(path, self._fresh(session_id, path), self._durability)

    def _fresh(self, session_id: str, path: Path) -> Codec:
        home = self._codec.format.home(path)
        return self._codec(session_id, str(home.parent) if home else "")

    def resume(
        self,
        session_id: str,
        *,
        unanswered: Unanswered = "answer",
        harmless: Collection[str] = (),
    ) -> ResumeState:
        """What a resume would give, without a lock and with nothing written.

        Raises InputError where there is no such session, or where it is damaged.
        """
        path = self._existing(session_id)
        with opened(path) as source, uncollected():
            history, said = resumed(source, self._fresh(session_id, path))
            return resume_state(history, said, unanswered=unanswered, harmless=harmless)

    def memory(self, session_id: str) -> SessionMemory:
        """What a session is about and how it stands, also while it is open; see `SessionMemory`.

        Raises InputError.
        """
        return remembering.memory(self._existing(session_id), format_name=self._codec.format.name)

    def fork(self, session_id: str, new_id: str, at: str = "") -> Fork:
        """A new session that starts as a copy, which tells what both sides inherit.

        It ends with the record `at`, a line or the id of a record or message, or with the last one.
        The original is only read, and may be open. Raises as `api.forking.fork`.
        """
        from sesstool.api import forking  # noqa: PLC0415 - who only appends needs none of it

        path, target, name = self._existing(session_id), self.path(new_id), self._codec.format.name
        return forking.fork(path, at=at, new_id=new_id, target=target, format_name=name)

    def snapshot(self, session_id: str) -> Path:
        """Record the world beside a session, in the place of an earlier snapshot; where it is.

        That is the working folder, git, the files that the session read or changed, the names of
        environment variables, the open to-dos. Raises InputError and WriteError.
        """
        from sesstool.api import worlds  # noqa: PLC0415 - who only appends needs none of it

        name = self._codec.format.name
        return worlds.snapshot(self._existing(session_id), force=True, format_name=name)[1]

    def changes(self, session_id: str) -> tuple[Change, ...]:
        """What has changed in the world since the snapshot, nothing where there is none.

        Raises InputError.
        """
        from sesstool.api import worlds  # noqa: PLC0415 - the same

        name = self._codec.format.name
        since = worlds.compared(self._existing(session_id), format_name=name)
        return since.changes if since else ()

    def list(self) -> list[Stored]:
        """The sessions that there are, the newest first."""
        return sorted(self._stored(), key=lambda one: (-one.modified, one.id))

    def _stored(self) -> Iterator[Stored]:
        for session_id, path in self._codec.sessions(self.folder):
            try:
                now = path.stat()
            except OSError:  # a link that leads nowhere, or deleted by now
                continue
            if not stat.S_ISREG(now.st_mode):
                continue
            yield Stored(session_id, path, now.st_size, now.st_mtime_ns)

    def delete(
        self, session_id: str, *, for_good: bool = False, policy: Path | None = None
    ) -> Entry | None:
        """Take a session away with all that belongs to it, as `sesstool prune` does.

        It goes to the trash, from where `sesstool trash restore` brings it back within the grace
        of the policy, or is deleted `for_good`. The `policy` is a file, by default the user's own:
        a hold, and a rule that must keep the session, are obeyed. Returns the entry of the trash.
        Raises LiveSessionError, InputError and WriteError; the session is then where it was.
        """
        from sesstool.api import retaining  # noqa: PLC0415 - who only appends needs none of it

        path = self._existing(session_id)
        lock = WriterLock(real_path(path))
        try:
            wanted = retaining.plan([str(path)], retaining.policy_in_use(policy), erase=True)
            for refusal in retaining.refusals(wanted):
                raise refusal
            if not for_good:
                wanted = retaining.to_trash(wanted)
            [done] = retaining.apply(wanted)
        finally:
            lock.release()
        if failure := done.skipped or done.unfinished:
            raise failure
        return done.entry

    def _existing(self, session_id: str) -> Path:
        path = self.path(session_id)
        if not path.exists():
            refuse_sealed(path)
            raise InputError(
                f"there is no session {session_id} in {self.folder}",
                hint="SessionStore.list() tells which there are; open() makes a new one",
            )
        return path

    def in_use(self, session_id: str) -> str:
        """Who writes a session, in a few words, "" for nobody. Raises InputError."""
        return in_use(self.path(session_id))


def _is_name(name: object) -> bool:
    """Whether it may be a file's; no half characters are printable."""
    if not isinstance(name, str) or not name or name.startswith("."):
        return False
    return name.isprintable() and not any(c in '/\\:*?"<>|' for c in name)
