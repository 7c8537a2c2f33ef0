"""A session as one of another format, with the list of what was lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sesstool.convert.conversion import lines
from sesstool.convert.losses import Loss, Losses
from sesstool.convert.sent import Way
from sesstool.diff.sides import Shared, origin_of, parent_of
from sesstool.errors import InputError, UsageError
from sesstool.formats.base import Format
from sesstool.formats.forking import Forker, Parent, written
from sesstool.formats.registry import FORMATS, TARGETS
from sesstool.formats.terms import Origin
from sesstool.formats.turns import Header
from sesstool.model.moments import moment
from sesstool.model.session import open_known
from sesstool.records.opening import open_source
from sesstool.records.recover import records
from sesstool.records.source import Continued, FileSource, Source, bare_path

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys

# So many files make up one session at most.
_MOST_FILES = 64
# No agent is older, and no clock of a system has to tell local times before it.
_OLDEST = 1971


@dataclass(frozen=True, slots=True)
class Converted:
    """What became of a session that was converted.

    `place` is where the agent looks for it, and `command` resumes it once it is there; both are
    empty where no agent has such sessions. `lost` is complete.
    """

    format: str
    source: str
    session_id: str
    place: Path | None
    command: str
    lost: tuple[Loss, ...]


@contextmanager
def whole(
    source: FileSource, keys: Keys | None = None, format_name: str = ""
) -> Iterator[FileSource | Continued]:
    """A session with what stands before it in the files of others, where it goes on from them.

    Those that are not found are left out. Raises InputError and AuthError.
    """
    with ExitStack() as stack:
        chain: list[tuple[FileSource, Origin | None]] = [(source, None)]
        origin = origin_of(open_known(source, format_name))
        while origin is not None and origin.mode == "reference" and len(chain) < _MOST_FILES:
            session = open_known(chain[-1][0])
            path = parent_of(session, origin, (), keys)
            if path is None:
                break
            base = stack.enter_context(open_source(path, keys))
            chain.append((base, origin))
            origin = origin_of(open_known(base))
        found: FileSource | Continued = chain[-1][0]
        for (base, cut), (rest, _) in zip(chain[:0:-1], chain[-2::-1], strict=True):
            assert cut is not None
            found = Continued(found, _end(base, cut), rest)
            found.name, found.path = source.name, source.path
        yield found


def _end(base: FileSource, cut: Origin) -> int:
    """Where the part of a session ends that another one goes on from."""
    form, shared = open_known(base).format, Shared(cut, base.size)
    for record in records(base):
        if record.value is not None and not shared.has(record, form):
            return record.start
    return base.size


class Conversion:
    """One conversion: its `lines`, and when they were taken, what it `made`."""

    def __init__(
        self,
        source: Source,
        to: str,
        *,
        format_name: str = "",
        branch: str = "",
        target: Path | None = None,
        now: datetime | None = None,
    ) -> None:
        """Read a session that is to be one of the format `to`.

        `branch` is the record that it ends with, as in `Way`. The name of the `target` may tell the
        new session's id; in a folder it gets the name that its agent looks for. Raises InputError,
        NotASessionError and UsageError.
        """
        self._way = Way(source, format_name, branch=branch)
        self._form = _target(to)
        session = self._way.session
        now = now or datetime.now(UTC)
        parent = Parent(session.id, None, session.cwd)
        folder = target if target is not None and target.is_dir() else None
        told = self._form.session_id(target) if target is not None and folder is None else ""
        self.id = told or self._fresh(parent, now, folder)
        cwd = session.cwd or str(Path.cwd())
        begun = moment(session.first_time)
        if begun is None or begun.year < _OLDEST:
            begun = now
        self._header = Header(self.id, cwd, written(begun), session.model)
        assert self._form.scribe is not None
        self.place = self._form.scribe.place(self._header)
        name = self.place.name if self.place is not None else f"{self.id}.jsonl"
        self.path = folder / name if folder is not None else target
        self._losses = Losses()

    def _fresh(self, parent: Parent, now: datetime, folder: Path | None) -> str:
        """An id for the new session."""
        if self._form.forker is Forker:  # no agent has such sessions, and a name is an id
            name = f"{parent.id or 'session'}-{self._form.name}"
            return f"session-{self._form.name}" if Forker.refusal(name) else name
        return self._form.forker.fresh(parent, now, folder)

    def side(self) -> tuple[Path, bytes] | None:
        """The file that the new session needs beside its own, and what is in it."""
        scribe = self._form.scribe
        assert scribe is not None
        return scribe(self._header).side(self.path) if self.path is not None else None

    def lines(self) -> Iterator[bytes]:
        """The lines of the new session, with their ends. Raises InputError."""
        scribe = self._form.scribe
        assert scribe is not None
        yield from lines(self._way, scribe(self._header), self._losses)
        session = self._way.session
        path, form = session.source.path, session.format
        first = next((r.value for r in records(session.source) if r.value is not None), {})
        origin = form.origin(first)  # of the oldest that was found
        self._losses.add("base", int(origin is not None and origin.mode == "reference"))
        if isinstance(path, Path):
            with suppress(InputError):  # what cannot be looked at is not known to be the session's
                parts = sum(1 for _ in form.parts(bare_path(path)))
                self._losses.add("side-file", parts)

    def made(self) -> Converted:
        """What became of it, once its lines were taken."""
        form = self._form
        command = form.resume_command(self.id) if self.place is not None else ""
        source = self._way.session.format.name
        return Converted(form.name, source, self.id, self.place, command, self._losses.all())


def _target(name: str) -> Format:
    for form in FORMATS:
        if form.name == name and form.scribe is not None:
            return form
    raise UsageError(f"nothing is converted to {name}", hint=f"known: {', '.join(TARGETS)}")
