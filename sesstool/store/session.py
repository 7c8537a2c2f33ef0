"""One session that this process writes: a record at a time, on disk by a policy."""

from __future__ import annotations

import asyncio
import os
import threading
import time
import warnings
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from traceback import walk_stack
from typing import Any, Literal, Self
from weakref import WeakSet

from sesstool.errors import LiveSessionError, UsageError, WriteError
from sesstool.model.exact import loads
from sesstool.records.append import ABSENT, Appender, changed_by_others
from sesstool.records.edits import Edit, EditSet
from sesstool.records.lines import lines
from sesstool.records.live import Writer, find_writer
from sesstool.records.lock import WriterLock
from sesstool.records.mounts import network_disk
from sesstool.records.plan import FilePlan
from sesstool.records.source import fingerprint
from sesstool.records.transact import apply_file, settled
from sesstool.records.undo import state_folder
from sesstool.records.write import cannot_write, make_folder, real_path
from sesstool.store.codec import Codec, given
from sesstool.store.facts import Checkpoint, End, Fact, Message, Phase, Said
from sesstool.store.history import History, Life
from sesstool.store.memory import SessionMemory
from sesstool.store.reading import messages, opened, plain, read_back, refuse_sealed
from sesstool.store.remembered import Remembered
from sesstool.store.state import ResumeState, Unanswered, own, resume_state, sent
from sesstool.store.ticker import Ticker

Durability = Literal["record", "turn", "interval", "never"]
"""When what was appended is surely on disk, also after a power cut.

"record": before `append` returns. "turn": before something may happen outside, that is before a
prompt or an answer of the model is taken for kept, or a tool is started. "interval": a second
later. "never": when the system pleases. A killed process loses nothing that was appended in any.
"""

# A process that was killed, or that is just starting another program, has its files open for a
# moment more: so often, and so many seconds apart, one looks whether somebody else writes.
_LOOKS, _PAUSE = 20, 0.01
_HELD = "a session is written by one process"
_OTHERS = "close what writes to it, or work on a fork: it leaves this session alone"


class StoredSession:
    """See the module. `SessionStore.open` makes one; use it as a context manager, or close it.

    Several threads may append. After a failure that leaves open what is on disk every call raises
    it again, and the session is to be opened anew.
    """

    def __init__(self, path: Path, codec: Codec, durability: Durability = "turn") -> None:
        """Take the lock, read what is there, and cut a torn tail, which is kept in lost+found.

        On a network disk a RuntimeWarning tells what that is worth. Raises LiveSessionError where
        another writer has it, InputError and WriteError.
        """
        self.path = real_path(path)
        self.id = codec.session_id
        self._codec = codec
        self._durability = durability
        self._guard = threading.RLock()
        self._messages: list[Message] | None = None
        self._worker: ThreadPoolExecutor | None = None
        self._appender: Appender | None = None
        self._ticker: Ticker | None = None
        self._untold: WriteError | None = None
        self._remembered: Remembered | None = None
        self._behind = False
        # The file as it was read: device, inode, size.
        self._found = ABSENT
        if kind := network_disk(self.path.parent):
            warnings.warn(
                f"{self.path.parent} is on a network disk ({kind}): writers on other machines may "
                "not be held off there, and records may be torn; keep sessions on a local disk",
                RuntimeWarning,
                stacklevel=3,
            )
        try:
            make_folder(self.path.parent)
        except OSError as error:
            raise cannot_write(self.path, error) from error
        with ExitStack() as undo:
            self._lock = WriterLock(self.path)
            undo.callback(self._lock.release)
            self._history, self._ended = self._read()
            undo.pop_all()
        _ours.add(self)

    def _read(self) -> tuple[History, bool]:
        """What is there, without a torn tail; and whether a newline ends it."""
        # A kill may have broken off a cut, or what took the file away.
        settled(state_folder(), self.path, ignore_live=True, recent_seconds=None)
        if not self.path.exists():
            refuse_sealed(self.path)
            return History(self._codec), True
        if other := self._other():
            raise LiveSessionError(f"{self.path} is in use: {other.description}", hint=_OTHERS)
        with opened(self.path) as source:
            history, tail = read_back(source, self._codec)
            self._found = source.opened.st_dev, source.opened.st_ino, tail.torn
        if tail.torn < tail.size:
            self._change(EditSet([Edit(tail.torn, tail.size)]), "B104")
            now = self.path.stat()
            self._found = now.st_dev, now.st_ino, tail.torn
        return history, tail.ended

    def _other(self) -> Writer | None:
        """Who else writes to the file, though this process has the lock."""
        for _ in range(_LOOKS):
            if (found := find_writer(self.path, recent_seconds=None)) is None:
                return None
            time.sleep(_PAUSE)
        return found

    def _change(self, edits: EditSet, code: str) -> None:
        """Edit the file itself; what is cut is kept in lost+found."""
        plan = FilePlan(self.path, fingerprint(self.path), "", edits, None, (code,))
        # It is this process that has it open.
        apply_file(
            plan, state=state_folder(), command="open", ignore_live=True, recent_seconds=None
        )

    @property
    def history(self) -> History:
        """What the session has told so far; it is not to be changed."""
        return self._history

    def __len__(self) -> int:
        """How many records there are."""
        return self._history.records

    def append(self, message: Message) -> None:
        """Keep a message, durable by the policy before this returns.

        It is as the format's provider takes it, a dict with a role. Raises UsageError for what the
        format cannot hold, and WriteError; the session is then as before, or the error says so.
        """
        self.record(Said(message))

    async def append_async(self, message: Message) -> None:
        """The same from a coroutine: the disk is waited for in a thread, in the order of calls.

        One that is cancelled may be kept or not: `messages` tells.
        """
        await self.record_async(Said(message))

    async def record_async(self, fact: Fact) -> bool:
        """As `record`, from a coroutine; where it is cancelled, the fact is kept or not."""
        self._usable()
        if isinstance(fact, Said):  # the caller may change it before its turn comes
            fact = fact._replace(message=plain(given(fact.message)))
        with self._guard:
            self._worker = self._worker or ThreadPoolExecutor(1, thread_name_prefix="sesstool")
        return await asyncio.get_running_loop().run_in_executor(self._worker, self.record, fact)

    def record(self, fact: Fact) -> bool:
        """Keep a fact in the same way; False where the format has no record for such.

        Raises as `append`, and UsageError for a checkpoint in a format that cannot hold one.
        """
        self._usable()
        with self._guard:
            self._catch_up()
            value = self._codec.encode(fact)
            if value is None:
                if isinstance(fact, Checkpoint):
                    raise UsageError(
                        f"{self._codec.format.name} keeps no checkpoints",
                        hint='keep the session in a format that does: format="mycodeagent"',
                    )
                return False
            self._add(value)
            if self._durability == "record" or (self._durability == "turn" and self._due(fact)):
                self.flush()
            elif self._durability == "interval":
                self._ticker = self._ticker or Ticker(self._tick)
                self._ticker.due()
        return True

    def _add(self, value: dict[str, Any]) -> None:
        line = self._codec.line(value)
        # As it will be read back: what was given may be changed later, or be no plain JSON.
        kept = plain(line)
        if self._appender is None:
            self._as_found()
            self._behind = True
            self._codec.begin(self.path)
            self._appender = Appender(self.path, self._found)
        appender, at = self._appender, self._appender.end
        self._behind = True
        # What an agent left without a newline is whole: it gets one in the same write.
        appender.add(line if self._ended else b"\n" + line)
        at, self._ended = at + (not self._ended), True
        fact = self._codec.decode(kept)
        self._history.see(fact, at)
        if self._messages is not None and isinstance(fact, Said):
            self._messages.append(fact.message)
        elif isinstance(fact, Checkpoint):
            self._messages = None
        self._behind = False

    def _due(self, fact: Fact) -> bool:
        """Whether something may happen outside behind this record."""
        if isinstance(fact, Said):
            return self._codec.ends_turn(fact.message)
        started = isinstance(fact, Phase) and fact.name == "started"
        return started or isinstance(fact, (Checkpoint, End))

    def _usable(self) -> None:
        """Raise UsageError where this process may not use it, before anything is waited for."""
        if not self._lock.mine:
            raise UsageError(
                f"{self.path} was opened by the parent of this process: {_HELD}",
                hint="open another session in the child, or a fork of this one",
            )
        if self._lock.released:
            raise UsageError(f"session {self.id} is closed", hint="open it again")

    def _catch_up(self) -> None:
        """Know what the file holds, or raise what left that open.

        Where an append was interrupted or failed, only the file tells.
        """
        self._sound()
        if self._behind:
            if self._interrupted():
                raise UsageError(
                    f"a signal or a finalizer came while {self.path} was written to",
                    hint="have it note what happened, and append that afterwards",
                )
            self._read_anew()

    def _interrupted(self) -> bool:
        """Whether a change of this session waits for this very call to end."""
        changes = (self._add.__code__, self._rewrite.__code__, self._read_anew.__code__)
        # A flag could be left behind by an interrupt.
        frames = (frame for frame, _ in walk_stack(None) if frame.f_code in changes)
        return any(frame.f_locals.get("self") is self for frame in frames)

    def _as_found(self) -> None:
        """Raise StalePlanError where the file is not as this process knows it."""
        if self._appender is not None:
            self._appender.check()
            return
        found = ABSENT
        with suppress(OSError):
            now = self.path.stat()
            found = now.st_dev, now.st_ino, now.st_size
        if found != self._found:
            raise changed_by_others(self.path)

    def _sound(self) -> None:
        if self._appender is not None and (failure := self._appender.failure):
            self._untold = None
            raise failure

    def _read_anew(self) -> None:
        if self._appender is not None:
            self._appender.close()
        self._appender = self._messages = None
        self._codec = type(self._codec)(self.id, self._codec.project)
        self._history, self._ended = self._read()
        self._behind = False

    def flush(self) -> None:
        """Have all that was appended on disk. Raises DurabilityError where that is in doubt."""
        self._usable()
        with self._guard:
            self._sound()
            if self._appender is not None:
                self._appender.sync()

    def _tick(self) -> None:
        with self._guard:
            if self._appender is None or self._appender.failure is not None:
                return
            try:
                self._appender.sync()
            except WriteError as error:
                self._untold = error  # the next call of the session raises it again

    def messages(self) -> list[dict[str, Any]]:
        """What goes to the provider, as `ResumeState.messages`; they are the caller's own."""
        self._usable()
        with self._guard:
            self._catch_up()
            return own(sent(self._history, self._said()))

    def memory(self) -> SessionMemory:
        """What the session is about and how it stands; see `SessionMemory`. Raises InputError.

        What came since the last call is taken in, and only that: also the next day, for the state
        is kept in the user's cache folder, without a word of the session.
        """
        self._usable()
        with self._guard:
            if not self.path.exists():
                return SessionMemory(self._codec.format)
            if self._remembered is None:
                self._remembered = Remembered(self.path, format_name=self._codec.format.name)
            self._remembered.update()
            return self._remembered.memory

    def _said(self) -> Sequence[Message]:
        """The messages from the last checkpoint's window on: read once, then kept up."""
        if self._messages is None:
            self._as_found()
            self._messages = []
            if self.path.exists():
                with opened(self.path) as source:
                    self._messages = list(messages(source, self._codec, self._history.view))
        return self._messages

    def resume(
        self, *, unanswered: Unanswered = "answer", harmless: Collection[str] = ()
    ) -> ResumeState:
        """What the session is resumed with; see `ResumeState`.

        The calls of the last message that have no result get one in the session, which says what
        is known of each, or are taken out of it with "drop": then what a message holds beside them
        stays, and what is cut is kept in lost+found. Raises as `append`.
        """
        self._usable()
        with self._guard:
            self._catch_up()
            state = resume_state(
                self._history, own(self._said()), unanswered=unanswered, harmless=harmless
            )
            missing = self._history.unanswered()
            if missing and unanswered == "drop":
                self._drop(missing)
            elif missing:
                self._answer(missing)
        return state

    def _answer(self, missing: Sequence[Life]) -> None:
        """Put in results for calls of the last message with calls: behind those that it has."""
        found = [(life.call, life.evidence) for life in missing]
        said = [Said(message, recovered=True) for message in self._codec.answers(found)]
        number = missing[0].message + 1
        behind = self._said()[number - self._history.first :]
        if all(map(self._codec.only_results, behind)):
            for fact in said:
                self.record(fact)
            self.flush()
        else:
            at = self._history.start(number)
            records = map(self._codec.encode, said)
            text = b"".join(self._codec.line(value) for value in records if value is not None)
            self._rewrite(Edit(at, at, text))

    def _drop(self, missing: Sequence[Life]) -> None:
        """Take calls out of the message that holds them all, and read the session anew."""
        start = self._history.start(missing[0].message)
        with opened(self.path) as source:
            _, _, text, ended = next(lines(source, start))
        value = loads(text.decode())
        fact = self._codec.decode(value)
        assert isinstance(fact, Said)
        rest = self._codec.without(fact.message, {life.call.id for life in missing})
        line = self._codec.line(self._codec.replaced(value, rest)) if rest is not None else b""
        self._rewrite(Edit(start, start + len(text) + ended, line))

    def _rewrite(self, edit: Edit) -> None:
        """Change the file itself, and read it anew."""
        self.flush()
        self._as_found()
        self._behind = True
        if self._appender is not None:
            self._appender.close()
        self._appender = None
        self._change(EditSet([edit]), "T401")
        self._read_anew()

    def close(self) -> None:
        """Have all on disk, by any policy but "never", and let others write.

        Raises DurabilityError where it may not be there; it is closed nevertheless. In a child
        that was forked off it does nothing: there it is closed already.
        """
        if not self._lock.mine:
            return
        if self._worker is not None:
            self._worker.shutdown()
        if self._ticker is not None:
            self._ticker.stop()
        with self._guard, ExitStack() as last:
            if self._lock.released:
                return
            last.callback(self._lock.release)
            if self._appender is not None:
                last.callback(self._appender.close)
                self._finish(self._appender)

    def _finish(self, appender: Appender) -> None:
        if appender.failure is None:
            if self._durability != "never":
                appender.sync()
            self._codec.finish(self.path)
        elif self._untold is not None:
            raise appender.failure

    def __enter__(self) -> Self:
        """Close it on leaving the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


_ours: WeakSet[StoredSession] = WeakSet()


def _let_go() -> None:
    """Close what a forked child has open of its parent's sessions, and must not write to.

    Else the child would hold them as long as it lives.
    """
    for session in list(_ours):
        if session._appender is not None:  # noqa: SLF001
            session._appender.close()  # noqa: SLF001
        session._lock.release()  # noqa: SLF001
    _ours.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)
