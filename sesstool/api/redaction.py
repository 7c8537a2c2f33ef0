"""Redaction: values out of a whole set of sessions, or nothing is written.

`redact` reads the set twice and keeps what comes of it in unlinked temporary files; `publish`
puts it in the place of the sessions, or into a folder, and what leads back into a vault first.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from os.path import commonpath
from pathlib import Path
from typing import Self

from sesstool import __version__, api
from sesstool.checks import privacy as rules
from sesstool.checks.privacy import Where
from sesstool.errors import (
    NotASessionError,
    ResidueError,
    SesstoolError,
    StalePlanError,
    UsageError,
    WriteError,
)
from sesstool.findings import Finding
from sesstool.formats.base import Format, SideFile
from sesstool.model.session import open_session
from sesstool.privacy import inverse, ruleset, vault
from sesstool.privacy.deltas import piece
from sesstool.privacy.earlier import Earlier, Left
from sesstool.privacy.redactor import Choice, Redactor, Spot, Summary, Text, chosen
from sesstool.privacy.standin import StandIns
from sesstool.privacy.tally import Spotted, Tally, length_class
from sesstool.privacy.vault import Kept, Known, Secret
from sesstool.privacy.verify import verify
from sesstool.records import transact
from sesstool.records.edits import Edit, EditSet
from sesstool.records.lines import Line
from sesstool.records.plan import FilePlan, Plan
from sesstool.records.source import (
    CHUNK,
    Continued,
    FileSource,
    Fingerprint,
    compress,
    fingerprint,
    open_source,
    prefixes,
)
from sesstool.records.transact import Applied
from sesstool.records.undo import digest, open_raw
from sesstool.records.write import create, real_path

__all__ = ["Choice", "Redacted", "Redaction", "Secret", "about", "copies", "publish", "redact"]

Told = Callable[["Redacted", Finding], None]
_WHOLE = 64 << 20
# One address leads to a name, that to another address; nobody has many links of that kind.
_ROUNDS = 8


@dataclass(slots=True)
class Redacted:
    """One file of a set: where it is, what it holds, what came of it and where a copy goes.

    `name` is the path of a copy below the folder of copies, `shown` the path in findings and
    messages, `reported` that below the folder of all files in reports; all are without values,
    but for what the user gave. `below` is the path below the folder of all files as it is.
    `before` is None for piped input, `left` how an earlier redaction left the file.
    """

    path: Path | str
    text: Text
    before: Fingerprint | None
    result: FileSource | Continued | None = None
    summary: Summary = field(default_factory=Summary)
    tally: Tally = field(default_factory=Tally)
    name: Path = Path()
    shown: str = ""
    reported: str = ""
    below: Path = Path("stdin.jsonl")
    left: Left | None = None

    @property
    def changed(self) -> bool:
        """Whether anything in it is to be changed."""
        return bool(self.summary.changed)


@dataclass(slots=True)
class Redaction:
    """A set of files and what came of them; closes them on leaving the block.

    `values` counts the different values that were found in the set. `rules` is how many rules
    looked for them, `digest` the name of that set of rules. `keyed` says whether stand-ins are
    the same in other runs with the key.
    """

    choice: Choice
    files: list[Redacted]
    values: int = 0
    rules: int = 0
    digest: str = ""
    keyed: bool = False
    stand_ins: StandIns = field(default_factory=StandIns)
    redactor: Redactor | None = None
    earlier: Earlier | None = None
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
    given: Iterable[Path | str] = (),
    keep: bool = False,
    resume: Path | None = None,
) -> Redaction:
    """Take the values out of a set of sessions and their side files; nothing is written yet.

    `told` hears of each finding, file by file. `given` are the paths that the user named, where
    `paths` were found below them: only what they gave is shown as it is. `keep` is needed for a
    vault. `resume` is a state folder: a session that was redacted in place with the same key and
    choice, and only grew since, is redacted from where it grew. Raises InputError,
    NotASessionError, and ResidueError where what came of it did not pass its verification.
    """
    paths = list(paths)
    shipped = ruleset.shipped()
    redaction = Redaction(choice, [], digest=ruleset.digest(shipped), keyed=bool(key))
    redaction.stand_ins = StandIns(key, choice.style, keep=keep)
    # Values in lines that were left alone, and names of the subject, are learnt from all lines.
    if resume is not None and key and choice.unreadable == "text" and not choice.subject:
        made_with = (__version__, redaction.digest, repr((choice, choice.terms)), format_name)
        redaction.earlier = Earlier(resume, key, *made_with)
    with ExitStack() as stack:
        items = list(_set(paths, format_name))
        _allow_open(2 * len(items))
        redaction.files = [_opened(i, stack, format_name, redaction.earlier) for i in items]
        redaction.redactor = redactor = Redactor(shipped, redaction.stand_ins, choice, key)
        redaction.rules = 0 if choice.only_subject else len(chosen(shipped, choice.detectors))
        for _ in range(_ROUNDS):
            for file in redaction.files:
                redactor.learn(file.text)
            if not redactor.settle():
                break
        for file in redaction.files:
            if file.left and redaction.earlier and _taught(redaction.earlier, file, redactor):
                file.text, file.left = replace(file.text, start=0, number=1), None
        _name(redaction.files, redactor, [str(path) for path in given or paths])
        with _named(redaction.files):
            for file in redaction.files:
                told_here = partial(_tell, told, redactor, file)
                result, file.summary = redactor.rewrite(file.text, told_here)
                stack.enter_context(result)
                _judge(choice, file, result, redactor)
                at = file.text.start
                file.result = Continued(file.text.source, at, result) if at else result
                if told is not None:
                    for finding in about(file):
                        told(file, finding)
        redaction.values = len(redactor.values)
        redaction.stack = stack.pop_all()
    return redaction


def publish(
    redaction: Redaction,
    folder: Path | None = None,
    *,
    force: bool = False,
    ignore_live: bool = False,
    state: Path | None = None,
    keep_in: tuple[Path, Secret] | None = None,
) -> list[Applied]:
    """Put what came of a redaction in the place of the files, or copies below a folder.

    `keep_in` is a vault and what opens it: what leads back is on disk there before the first file
    is changed. Raises StalePlanError, LiveSessionError and WriteError; the file is then as before.
    AuthError and InputError are about the vault; then nothing was written.
    """
    state = state or api.state_folder()
    for file in redaction.files:
        if file.summary.open_turn and redaction.choice.profile == "resume":
            raise UsageError(
                f"line {file.summary.open_turn} of {file.shown} holds values in the signed "
                "thinking that began a turn which is not over: the provider asks for it",
                hint="let the agent finish the turn first, or make a copy with --profile share",
            )
    with _named(redaction.files):
        if keep_in is not None:
            _keep(redaction, *keep_in, folder, state)
        return list(_published(redaction, folder, force, ignore_live, state))


def _published(
    redaction: Redaction, folder: Path | None, force: bool, ignore_live: bool, state: Path
) -> Iterator[Applied]:
    lefts: list[tuple[Path, Left]] = []
    for file in _followers_first(redaction.files):
        sha256 = file.before.sha256 if file.before else ""
        if folder is not None:
            target = folder / file.name
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            create(target, _on_disk(file), force=force)
        elif file.changed and isinstance(file.path, Path) and file.before is not None:
            applied = transact.rewrite_file(
                file.path,
                file.before,
                _on_disk(file),
                state=state,
                command="redact",
                findings=tuple(sorted(file.summary.rules)),
                ignore_live=ignore_live,
                recent_seconds=api.recent(file.path),
                writer=api.writer,
            )
            sha256 = applied.sha256
            yield applied
            assert file.result is not None
            after = replace(file.text, source=file.result)
            yield from follow(
                file.path,
                file.text.form,
                zip(file.text.lines(), after.lines(), strict=True),
                command="redact",
                ignore_live=ignore_live,
                state=state,
            )
        if folder is None and redaction.earlier and (left := _left(file, sha256)):
            lefts.append((Path(file.path), left))
    if redaction.earlier and redaction.redactor:
        redaction.earlier.keep(lefts, redaction.redactor.values)


def _followers_first(files: list[Redacted]) -> list[Redacted]:
    """The files, each behind those that refer to its bytes: these change once more with it."""
    by_path = {file.path: file for file in files}
    order: dict[Path | str, Redacted] = {}

    def take(file: Redacted) -> None:
        form, path = file.text.form, file.path
        if path in order:
            return
        order[path] = file
        for one in form.dependents(path) if form and isinstance(path, Path) else ():
            if one.path in by_path:
                take(by_path[one.path])
        order[path] = order.pop(path)

    for file in files:
        take(file)
    return list(order.values())


def copies(file: Redacted) -> Iterator[SideFile]:
    """Files in which the agent has what a session holds as well, and which are left alone."""
    if file.text.form is not None and isinstance(file.path, Path):
        yield from file.text.form.drawn(file.path)
        yield from file.text.form.others(file.path)


def follow(
    path: Path,
    form: Format | None,
    lines: Iterable[tuple[Line, Line]],
    *,
    command: str,
    ignore_live: bool,
    state: Path,
) -> list[Applied]:
    """Have the files that refer to bytes of a file refer to where these lie now.

    `lines` are those that it had, each with what came in its place. Raises as `publish` does.
    """
    dependents = list(form.dependents(path)) if form else []
    if not dependents:
        return []
    moved = EditSet(
        Edit(old.start, old.end, new.text) for old, new in lines if old.text != new.text
    )
    title = f"refer to the bytes of {path.name} where they are after {command}"
    plans = [
        FilePlan(one.path, fingerprint(one.path), "", EditSet(edits), titles=(title,))
        for one in dependents
        if (edits := list(one.edits(moved)))
    ]
    plan = Plan(tuple(plans), datetime.now(UTC).isoformat(timespec="seconds"), __version__)
    return api.apply(plan, command=command, ignore_live=ignore_live, keep_undo=False, state=state)


def _on_disk(file: Redacted) -> Iterator[bytes]:
    """The bytes of a redacted file as they are to be on disk."""
    assert file.result is not None
    return compress(file.result.chunks(), file.result.codec)


def _keep(
    redaction: Redaction, path: Path, secret: Secret, folder: Path | None, state: Path
) -> None:
    """Put what leads back into a vault, and prove that it does. See `publish`."""
    real = real_path(path)
    if any(isinstance(f.path, Path) and real_path(f.path) == real for f in redaction.files):
        raise UsageError(f"{path} is to be the vault, and is one of the files", hint="name another")
    made = datetime.now(UTC).isoformat(timespec="seconds")
    kept: list[tuple[Redacted, Kept]] = []

    def files() -> Iterator[tuple[Kept, Iterable[bytes]]]:
        for file in redaction.files:
            kept.append((file, _kept(file, folder, made)))
            yield kept[-1][1], _inverse(file, kept[-1][1])

    with transact.locked(state, real):
        vault.add(path, secret, files(), (Known(*row) for row in redaction.stand_ins.made()))
        with vault.open_vault(path, secret) as written:
            for file, one in kept:
                if one.changed:
                    assert file.result is not None
                    back = inverse.restored(written.body(one), file.result, one.redacted_size)
                    if digest(back) != (one.size, one.sha256):
                        raise WriteError(
                            f"the vault {path} would not bring back {file.path}; no session "
                            "was changed",
                            hint="see what else writes to the session or the vault, and whether "
                            "the disk is sound; then run it again",
                        )


def _kept(file: Redacted, folder: Path | None, made: str) -> Kept:
    before = file.before
    if before is None:
        # What was piped in has no mode and no time.
        source = file.text.source
        if source.codec:
            raise UsageError(
                "the vault cannot give back compressed bytes that were piped in",
                hint="decompress them first, or give the file",
            )
        size, sha256 = digest(source.chunks())
        before = Fingerprint(0, 0, size, 0, 0o600, sha256)
    size, sha256 = before.size, before.sha256
    if folder is not None or file.changed:
        size, sha256 = digest(_on_disk(file))
    paths = [file.path, folder / file.name if folder else None]
    return Kept(
        name=str(file.below),
        paths=tuple(str(p.absolute()) for p in paths if isinstance(p, Path)),
        size=before.size,
        sha256=before.sha256,
        mode=before.mode,
        mtime=before.mtime,
        redacted_size=size,
        redacted_sha256=sha256,
        codec=file.text.source.codec,
        made=made,
    )


def _inverse(file: Redacted, kept: Kept) -> Iterator[bytes]:
    """What leads from the redacted bytes on disk to the original ones."""
    assert file.result is not None
    text = file.text
    if not kept.changed:
        return
    if kept.codec:
        # Nobody could compress it again to the same bytes.
        assert isinstance(file.path, Path)
        with open_raw(file.path) as source:
            yield from inverse.of_whole(source, kept.redacted_size)
    else:
        yield from inverse.of_lines(text.lines(), replace(text, source=file.result).lines())


def _left(file: Redacted, sha256: str) -> Left | None:
    """How a redaction in place left a session, None where the next one cannot go on from there.

    `sha256` is that of the bytes that are on disk now.
    """
    text, result = file.text, file.result
    if file.before is None or result is None or text.form is None or text.whole or result.codec:
        return None
    assert isinstance(file.path, Path)
    start, again = _last_line(result)
    line = text.number + file.summary.lines - again
    known = file.left.known if file.left else frozenset()
    try:
        now = file.path.stat()
    except OSError:
        return None
    if start < text.start:
        return None
    return Left(now.st_dev, now.st_ino, result.size, sha256, start, line, known)


def _last_line(source: FileSource | Continued) -> tuple[int, int]:
    """Where the next redaction goes on, and how many lines it looks at again.

    That is the last line where it has no end, and all pieces of a text that is still streaming.
    The offset is -1 where that is too far back.
    """
    start = max(source.size - (CHUNK << 2), 0)
    at, again = source.size, 0
    tail = source.read(start, at)
    while at > start:
        end = at - start
        begin = tail.rfind(b"\n", 0, end - 1) + 1
        line = tail[begin:end]
        if (again or line.endswith(b"\n")) and not piece(line):
            return at, again
        at = start + begin
        again += 1
    return (-1 if start else 0), again


def _taught(earlier: Earlier, file: Redacted, redactor: Redactor) -> bool:
    """Whether values that were learnt since stand in what was redacted before of a file."""
    assert file.left is not None
    new = [value for value in redactor.values if earlier.name(value) not in file.left.known]
    return bool(new) and redactor.holds(file.text, new)


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


def _opened(
    item: tuple[Path | str, bool], stack: ExitStack, format_name: str, earlier: Earlier | None
) -> Redacted:
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
    text = Text(source, form, whole)
    if not isinstance(path, Path):
        return Redacted(path, text, None)
    left = earlier.of(path) if earlier and form and not source.codec else None
    before, begins = prefixes(path, [left.size] if left else [])
    if not before.same_file(source.opened):
        raise StalePlanError(f"{path} changes while it is read", hint="run it again")
    same = left and (left.device, left.inode) == (before.device, before.inode)
    if left and same and begins.get(left.size) == left.sha256:
        return Redacted(path, replace(text, start=left.start, number=left.line), before, left=left)
    return Redacted(path, text, before)


def _judge(choice: Choice, file: Redacted, result: FileSource, redactor: Redactor) -> None:
    after = replace(file.text, source=result, start=0)
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


def _tell(told: Told | None, redactor: Redactor, file: Redacted, spot: Spot) -> None:
    place, rule = spot.place, spot.place.hit.rule
    value = place.hit.value
    # That a record is JSON goes without saying.
    views = place.hit.chain[spot.readable and place.hit.chain[:1] == ("json",) :]
    spotted = Spotted(
        spot.line,
        spot.offset + place.start,
        place.pointer,
        place.action,
        views,
        length_class(len(value)),
        redactor.fingerprint(rule.kind, value),
    )
    file.tally.of(rule).add(spotted)
    if told is None:
        return
    end = spot.offset + place.end
    where = Where(file.shown, spot.line, spotted.byte, end, place.pointer, spot.column)
    labels = {
        "rule": rule.id,
        "kind": rule.kind,
        "confidence": f"{rule.confidence:g}",
        "action": place.action,
        "views": ">".join(views),
        "value": spotted.fingerprint,
        "rotate": rule.rotate,
    }
    if place.action == "kept":
        finding = rules.frozen(where, f"{rule.title} in a field that must stay", **labels)
    elif rule.group == "secret":
        finding = rules.secret(where, rule.title, **labels)
    else:
        finding = rules.personal_data(where, rule.title, **labels)
    told(file, finding)


def about(file: Redacted) -> Iterator[Finding]:
    """What is to be said of a file as a whole."""
    summary = file.summary
    where = Where(file.shown, 0, 0, 0)
    if summary.unreadable:
        yield rules.unreadable(where, summary.unreadable)
    if summary.thinking:
        yield rules.thinking(where, summary.thinking)
    if summary.open_turn:
        yield rules.open_turn(where, summary.open_turn)
    if summary.blobs:
        yield rules.not_inspected(where, summary.blobs, dropped=bool(summary.dropped))


def _name(files: list[Redacted], redactor: Redactor, given: list[str]) -> None:
    """Say how files are called in messages and reports, and where copies go.

    Both lie as the files do below the folder that holds them all.
    """
    paths = [file.path.absolute() for file in files if isinstance(file.path, Path)]
    base = Path(commonpath([path.parent for path in paths])) if paths else Path()
    for file in files:
        if not isinstance(file.path, Path):
            file.name, file.shown, file.reported = Path("stdin.jsonl"), str(file.path), "stdin"
            continue
        path = file.path.absolute()
        below = path.relative_to(base)
        file.below = below
        file.name = Path(*(redactor.name(part) for part in below.parts))
        file.shown = redactor.shown(str(file.path), _shared(file.path, given))
        whole = len(os.fsencode(base)) + (base != Path(base.anchor))
        file.reported = os.fsdecode(os.fsencode(redactor.shown(str(path), whole))[whole:])


def _shared(path: Path, given: list[str]) -> int:
    """How many bytes of a path the user gave; a file beside one that was given is half given."""
    heads = [name for name in given if str(path) == name or Path(name) in path.parents]
    if not heads:
        heads = [str(Path(n).parent) for n in given if Path(n).parent in path.parents]
        heads = [name for name in heads if name != "."]
    return max((len(os.fsencode(name)) for name in heads), default=0)


@contextmanager
def _named(files: list[Redacted]) -> Iterator[None]:
    """Have errors call files as the findings do."""
    try:
        yield
    except SesstoolError as error:
        for file in files:
            if isinstance(file.path, Path) and file.shown != str(file.path):
                for name in (os.path.realpath(file.path), str(file.path)):
                    error.message = error.message.replace(name, file.shown)
                    error.hint = error.hint.replace(name, file.shown)
        error.args = (error.message,)
        raise


def _allow_open(files: int) -> None:
    """Let this process have so many files more open, as far as the system lets it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = files + 256
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
