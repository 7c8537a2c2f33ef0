"""Redaction: values out of a whole set of sessions, or nothing is written.

`redact` reads the set twice and keeps what comes of it in unlinked temporary files; `publish`
puts it in the place of the sessions, or into a folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Self

from sesstool import __version__, api
from sesstool.checks import privacy as rules
from sesstool.checks.privacy import Where
from sesstool.errors import NotASessionError, ResidueError, UsageError
from sesstool.findings import Finding
from sesstool.formats.base import Format
from sesstool.model.session import open_session
from sesstool.privacy import ruleset
from sesstool.privacy.redactor import Choice, Redactor, Spot, Summary, Text
from sesstool.privacy.standin import StandIns
from sesstool.privacy.verify import verify
from sesstool.records import transact
from sesstool.records.edits import Edit, EditSet
from sesstool.records.lines import lines
from sesstool.records.plan import FilePlan, Plan
from sesstool.records.source import FileSource, Fingerprint, compress, fingerprint, open_source
from sesstool.records.transact import Applied
from sesstool.records.write import create

__all__ = ["Choice", "Redacted", "Redaction", "publish", "redact"]

Told = Callable[[Path | str, Finding], None]
_WHOLE = 64 << 20
# One address leads to a name, that to another address; nobody has many links of that kind.
_ROUNDS = 8


@dataclass(slots=True)
class Redacted:
    """One file of a set: where it is, what it holds, what came of it and where a copy goes.

    `name` is the path of a copy below the folder of copies. `before` is None for piped input.
    """

    path: Path | str
    text: Text
    before: Fingerprint | None
    result: FileSource | None = None
    summary: Summary = field(default_factory=Summary)
    name: Path = Path()

    @property
    def changed(self) -> bool:
        """Whether anything in it is to be changed."""
        return bool(self.summary.changed)


@dataclass(slots=True)
class Redaction:
    """A set of files and what came of them; closes them on leaving the block.

    `values` counts the different values that were found in the set.
    """

    choice: Choice
    files: list[Redacted]
    values: int = 0
    stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        """Close all on leaving the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close all files."""
        self.stack.close()


def redact(
    paths: Iterable[Path | str],
    choice: Choice = Choice(),
    *,
    key: bytes = b"",
    format_name: str = "",
    told: Told | None = None,
) -> Redaction:
    """Take the values out of a set of sessions and their side files; nothing is written yet.

    `told` hears of each finding with its path. Raises InputError, NotASessionError, and
    ResidueError where what came of it did not pass its verification.
    """
    redaction = Redaction(choice, [])
    with ExitStack() as stack:
        redaction.files = [_opened(p, stack, format_name) for p in _set(paths, format_name)]
        redactor = Redactor(ruleset.shipped(), StandIns(key, choice.style), choice, key)
        for _ in range(_ROUNDS):
            for file in redaction.files:
                redactor.learn(file.text)
            if not redactor.settle():
                break
        for file in redaction.files:
            file.result, file.summary = redactor.rewrite(file.text, partial(_tell, told, file))
            stack.enter_context(file.result)
            _judge(choice, file, redactor)
            if told is not None:
                for finding in _about(file):
                    told(file.path, finding)
        redaction.values = len(redactor.values)
        _name_copies(redaction.files, redactor)
        redaction.stack = stack.pop_all()
    return redaction


def publish(
    redaction: Redaction,
    folder: Path | None = None,
    *,
    force: bool = False,
    ignore_live: bool = False,
    state: Path | None = None,
) -> list[Applied]:
    """Put what came of a redaction in the place of the files, or copies below a folder.

    Raises StalePlanError, LiveSessionError and WriteError; the file is then as before.
    """
    done: list[Applied] = []
    for file in redaction.files:
        assert file.result is not None
        chunks = compress(file.result.chunks(), file.result.codec)
        if folder is not None:
            target = folder / file.name
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            create(target, chunks, force=force)
        elif file.changed and isinstance(file.path, Path) and file.before is not None:
            applied = transact.rewrite_file(
                file.path,
                file.before,
                chunks,
                state=state or api.state_folder(),
                command="redact",
                findings=tuple(sorted(file.summary.rules)),
                ignore_live=ignore_live,
                recent_seconds=api.recent(file.path),
                writer=api.writer,
            )
            done += [applied, *_followed(file, ignore_live=ignore_live, state=state)]
    return done


def _followed(file: Redacted, *, ignore_live: bool, state: Path | None) -> list[Applied]:
    """Have the files that refer to bytes of this one refer to where these lie now."""
    form, path = file.text.form, file.path
    assert isinstance(path, Path)
    dependents = list(form.dependents(path)) if form else []
    if not dependents:
        return []
    assert file.result is not None
    moved = EditSet(
        Edit(old.start, old.end, new.text)
        for old, new in zip(file.text.lines(), lines(file.result), strict=True)
        if old.text != new.text
    )
    title = f"refer to the redacted bytes of {path.name}"
    plans = [
        FilePlan(one.path, fingerprint(one.path), "", EditSet(edits), titles=(title,))
        for one in dependents
        if (edits := list(one.edits(moved)))
    ]
    plan = Plan(tuple(plans), datetime.now(UTC).isoformat(timespec="seconds"), __version__)
    return api.apply(plan, command="redact", ignore_live=ignore_live, keep_undo=False, state=state)


def _set(paths: Iterable[Path | str], format_name: str) -> Iterator[tuple[Path | str, bool]]:
    """Each session once, with the files that belong to it; the flag says whether it is one."""
    seen: set[Path | str] = set()
    for path in paths:
        if path in seen:
            continue
        seen.add(path)
        yield path, True
        if isinstance(path, Path):
            for part in _parts(path, format_name):
                if part not in seen:
                    seen.add(part)
                    yield part, part.name.endswith(".jsonl")


def _parts(path: Path, format_name: str) -> Iterable[Path]:
    with open_source(path) as source:
        return list(open_session(source, format_name).format.parts(path)) if source.size else ()


def _opened(item: tuple[Path | str, bool], stack: ExitStack, format_name: str) -> Redacted:
    path, session = item
    source = stack.enter_context(open_source(path))
    form: Format | None = None
    whole = False
    if session and source.size:
        try:
            form = open_session(source, format_name).format
        except NotASessionError:
            if format_name:
                raise
    elif not session:
        whole = str(path).endswith(".json") and source.size <= _WHOLE
    before = fingerprint(path) if isinstance(path, Path) else None
    return Redacted(path, Text(source, form, whole), before)


def _judge(choice: Choice, file: Redacted, redactor: Redactor) -> None:
    assert file.result is not None
    if file.summary.open_turn and choice.profile == "resume":
        raise UsageError(
            f"line {file.summary.open_turn} of {file.path} holds values in the signed thinking "
            "that began a turn which is not over: the provider asks for it",
            hint="let the agent finish the turn first, or make a copy with --profile share",
        )
    after = Text(file.result, file.text.form, file.text.whole)
    if file.summary.unsettled:
        raise ResidueError(
            f"line {file.summary.unsettled} of {file.path} holds new findings after each round",
            hint="nothing was written; report it, and redact a copy without this line meanwhile",
        )
    text = choice.unreadable == "text"
    verify(
        file.text.lines(),
        after.lines(),
        file.text.form,
        redactor.left(file.text),
        name=str(file.path),
        text=text,
    )


def _tell(told: Told | None, file: Redacted, spot: Spot) -> None:
    if told is None:
        return
    place, rule = spot.place, spot.place.hit.rule
    where = Where(
        str(file.path),
        spot.line,
        spot.offset + place.start,
        spot.offset + place.end,
        place.pointer,
    )
    labels = {
        "rule": rule.id,
        "kind": rule.kind,
        "confidence": f"{rule.confidence:g}",
        "action": place.action,
        "views": ">".join(place.hit.chain),
        "rotate": rule.rotate,
    }
    if place.action == "kept":
        finding = rules.frozen(where, f"{rule.title} in a field that must stay", **labels)
    elif rule.group == "secret":
        finding = rules.secret(where, rule.title, **labels)
    else:
        finding = rules.personal_data(where, rule.title, **labels)
    told(file.path, finding)


def _about(file: Redacted) -> Iterator[Finding]:
    """What is to be said of a file as a whole."""
    summary = file.summary
    where = Where(str(file.path), 0, 0, 0)
    if summary.unreadable:
        yield rules.unreadable(where, summary.unreadable)
    if summary.thinking:
        yield rules.thinking(where, summary.thinking)
    if summary.blobs:
        yield rules.not_inspected(where, summary.blobs, dropped=bool(summary.dropped))


def _name_copies(files: list[Redacted], redactor: Redactor) -> None:
    """Where copies go: as the files lie below the folder that holds them all."""
    from os.path import commonpath  # noqa: PLC0415

    paths = [file.path.absolute() for file in files if isinstance(file.path, Path)]
    base = Path(commonpath([path.parent for path in paths])) if paths else Path()
    for file in files:
        if isinstance(file.path, Path):
            below = file.path.absolute().relative_to(base).parts
            file.name = Path(*(redactor.name(part) for part in below))
        else:
            file.name = Path("stdin.jsonl")
