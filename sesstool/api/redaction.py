"""Redaction: values out of a whole set of sessions, or nothing is written.

`redact` reads the set twice and keeps what comes of it in unlinked temporary files, for
`publishing.publish` to put where it is to be.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from os.path import commonpath
from pathlib import Path
from typing import TYPE_CHECKING, Self

from sesstool.audit import log
from sesstool.checks import privacy as rules
from sesstool.checks.privacy import Where
from sesstool.errors import (
    NotASessionError,
    ResidueError,
    SesstoolError,
    StalePlanError,
)
from sesstool.findings import Finding
from sesstool.formats.base import Format
from sesstool.formats.terms import SideFile
from sesstool.model.session import open_session
from sesstool.privacy import allow, ruleset
from sesstool.privacy.earlier import Earlier, Left
from sesstool.privacy.names import RULES as NAMED
from sesstool.privacy.redactor import Choice, Redactor, Spot, Summary, Text, chosen
from sesstool.privacy.standin import StandIns
from sesstool.privacy.tally import Spotted, Tally, length_class
from sesstool.privacy.values import KNOWN
from sesstool.privacy.verify import verify
from sesstool.records.guard import allow_open
from sesstool.records.opening import open_source
from sesstool.records.source import (
    ROWS,
    Continued,
    FileSource,
    Fingerprint,
    prefixes,
)
from sesstool.records.undo import state_folder
from sesstool.version import __version__

if TYPE_CHECKING:
    from sesstool.encryption.keyring import Keys

__all__ = ["PROFILES", "Choice", "Redacted", "Redaction", "about", "copies", "naming", "redact"]

PROFILES = {
    "resume": "opaque fields stay, signed thinking with values goes whole; the session resumes",
    "share": "opaque fields are dropped: signatures, ciphertext, pictures; it does not resume "
    "with its thinking",
}
"""Name → what it does."""

Told = Callable[["Redacted", Finding], None]
_WHOLE = 64 << 20
# One address leads to a name, that to another address; nobody has many links of that kind.
_ROUNDS = 8
_ENDINGS = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".json", ".md", ".txt")


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
    the same in other runs with the key. `given` are the paths that the user named. `published`
    are the files, or copies, that are written, and `made` what sesstool made of files before.
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
    given: list[str] = field(default_factory=list)
    published: list[Path] = field(default_factory=list)
    made: dict[str, list[str]] = field(default_factory=dict)
    stack: ExitStack = field(default_factory=ExitStack)

    def shown(self, path: Path) -> str:
        """A path for messages, without values but for what the user gave."""
        return self.redactor.shown(str(path), _shared(path, self.given)) if self.redactor else ""

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
    keys: Keys | None = None,
    watch: Callable[[], None] | None = None,
) -> Redaction:
    """Take the values out of a set of sessions and their side files; nothing is written yet.

    `told` hears of each finding, file by file. `given` are the paths that the user named, where
    `paths` were found below them: only what they gave is shown as it is. `keep` is needed for a
    vault. `resume` is a state folder: a session that was redacted in place with the same key and
    choice, and only grew since, is redacted from where it grew. `keys` open encrypted
    sessions. `watch` is called again and again, and what it raises ends it. Raises InputError,
    NotASessionError, and ResidueError where what came of it did not pass its verification.
    """
    paths = list(paths)
    shipped = ruleset.shipped()
    redaction = Redaction(choice, [], digest=ruleset.digest(shipped), keyed=bool(key))
    allow.check(choice.allow, (*(rule.id for rule in shipped), *NAMED, KNOWN))
    redaction.stand_ins = StandIns(key, choice.style, keep=keep)
    # Values in lines that were left alone, and names of the subject, are learnt from all lines.
    if resume is not None and key and choice.unreadable == "text" and not choice.subject:
        made_with = (__version__, redaction.digest, repr((choice, choice.terms)), format_name)
        redaction.earlier = Earlier(resume, key, *made_with)
    with ExitStack() as stack:
        redaction.given = [str(path) for path in given or paths]
        items = list(_set(paths, format_name, redaction.given, keys))
        allow_open(2 * len(items))
        opened = [_opened(i, stack, format_name, redaction.earlier, keys) for i in items]
        for file in opened:
            file.text = replace(file.text, watch=watch)
        redaction.files = opened
        redaction.redactor = redactor = Redactor(shipped, redaction.stand_ins, choice, key)
        redaction.rules = 0 if choice.only_subject else len(chosen(shipped, choice.detectors))
        for _ in range(_ROUNDS):
            for file in redaction.files:
                redactor.learn(file.text)
            if not redactor.settle():
                break
        while taught := [file for file in redaction.files if _taught(redaction, file, redactor)]:
            for file in taught:
                file.text, file.left = replace(file.text, start=0, number=1), None
                redactor.learn(file.text)
            redactor.settle()
        _name(redaction)
        with naming(redaction.files):
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
        for file in redaction.files:
            file.text = replace(file.text, watch=None)
        redaction.values = len(redactor.values)
        redaction.made = log.made(state_folder())
        redaction.stack = stack.pop_all()
    return redaction


def copies(redaction: Redaction, file: Redacted) -> Iterator[SideFile]:
    """Files in which the agent has what a session holds as well, and copies that sesstool made.

    They are left alone.
    """
    if isinstance(file.path, Path):
        for copy in log.descent(redaction.made, [os.path.realpath(file.path)]):
            if os.path.lexists(copy):
                yield SideFile(Path(copy), f"a copy that sesstool made of {file.shown}")
    if file.text.form is not None and isinstance(file.path, Path):
        yield from file.text.form.drawn(file.path)
        for side in file.text.form.others(file.path):
            if not _is_given(side.path, redaction.given):
                yield side


def bystanders(redaction: Redaction) -> Iterator[Path]:
    """Files in the folders that the user named which are no part of the set."""
    taken = {file.path.absolute() for file in redaction.files if isinstance(file.path, Path)}
    for name in dict.fromkeys(redaction.given):
        for folder, _, files in os.walk(name):
            inside = (Path(folder, file) for file in sorted(files))
            yield from (path for path in inside if path.absolute() not in taken)


def _is_given(path: Path, given: Iterable[str]) -> bool:
    """Whether a path lies in a folder that the user named."""
    return any(Path(name).absolute() in path.absolute().parents for name in given)


def _taught(redaction: Redaction, file: Redacted, redactor: Redactor) -> bool:
    """Whether values that were learnt since stand in what was redacted before of a file."""
    left, earlier = file.left, redaction.earlier
    if left is None or earlier is None:
        return False
    since = {value: left.unsearched(earlier.name(value)) for value in redactor.values}
    new = [value for value, at in since.items() if at < file.text.start]
    return bool(new) and redactor.holds(file.text, new, min(since[value] for value in new))


def _set(
    paths: Iterable[Path | str], format_name: str, given: list[str], keys: Keys | None
) -> Iterator[tuple[Path | str, bool]]:
    """Each session once, with the files that belong to it; the flag says whether it is one."""
    seen: set[Path | str] = set()
    for path in paths:
        if not isinstance(path, Path):
            if path not in seen:
                yield path, True
            seen.add(path)
            continue
        if path.absolute() in seen:
            continue
        seen.add(path.absolute())
        yield path, True
        for part in _parts(path, format_name, given, keys):
            if part.absolute() not in seen:
                seen.add(part.absolute())
                yield part, part.name.endswith(".jsonl")


def _parts(path: Path, format_name: str, given: list[str], keys: Keys | None) -> Iterable[Path]:
    """The other files of a session, and those of its agent that the user named the folder of."""
    with open_source(path, keys) as source:
        try:
            form = open_session(source, format_name).format if source.size else None
        except NotASessionError:
            form = None  # it is redacted as text
    if form is None:
        return
    yield from form.parts(path)
    for side in form.others(path):
        if _is_given(side.path, given):
            inside = sorted(side.path.rglob("*")) if side.path.is_dir() else [side.path]
            yield from (one for one in inside if one.is_file() and not one.is_symlink())


def _opened(
    item: tuple[Path | str, bool],
    stack: ExitStack,
    format_name: str,
    earlier: Earlier | None,
    keys: Keys | None,
) -> Redacted:
    path, session = item
    source = stack.enter_context(open_source(path, keys))
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
    if not isinstance(path, Path) or source.codec == ROWS:
        return Redacted(path, text, None)
    left = earlier.of(path) if earlier and form and not source.stored else None
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
    if summary.bounded:
        yield rules.bounded(where, summary.bounded, summary.first_bounded)
    if summary.blobs:
        yield rules.not_inspected(where, summary.blobs, dropped=bool(summary.dropped))


def _name(redaction: Redaction) -> None:
    """Say how files are called in messages and reports, and where copies go.

    Both lie as the files do below the folder that holds them all.
    """
    files, redactor = redaction.files, redaction.redactor
    assert redactor is not None
    paths = [file.path.absolute() for file in files if isinstance(file.path, Path)]
    taken: set[Path] = set()
    base = Path(commonpath([path.parent for path in paths])) if paths else Path()
    for file in files:
        if not isinstance(file.path, Path):
            file.name, file.shown, file.reported = Path("stdin.jsonl"), str(file.path), "stdin"
            continue
        path = file.path.absolute()
        below = path.relative_to(base)
        file.below = below
        file.shown = redaction.shown(file.path)
        whole = len(os.fsencode(base)) + (base != Path(base.anchor))
        file.reported = os.fsdecode(os.fsencode(redactor.shown(str(path), whole))[whole:])
        # An address reaches as far as a name does that begins with one.
        ending = next((end for end in _ENDINGS if below.name.endswith(end)), "")
        file.reported = file.reported.removesuffix(ending) + ending
        name = Path(file.reported)
        if file.text.source.codec == ROWS:
            name = name.with_name(name.name.removesuffix(".json") + ".jsonl")
        file.name = _another(name, taken)
        taken.add(file.name)


def _another(name: Path, taken: set[Path]) -> Path:
    """A name for a copy that no other copy has: stand-ins can make two of them alike."""
    number, parts = 2, name
    while name in taken:
        name = parts.with_name(f"{parts.stem}-{number}{parts.suffix}")
        number += 1
    return name


def _shared(path: Path, given: list[str]) -> int:
    """How many bytes of a path the user gave; a file beside one that was given is half given."""
    heads = [name for name in given if str(path) == name or Path(name) in path.parents]
    if not heads:
        heads = [str(Path(n).parent) for n in given if Path(n).parent in path.parents]
        heads = [name for name in heads if name != "."]
    return max((len(os.fsencode(name)) for name in heads), default=0)


@contextmanager
def naming(files: list[Redacted]) -> Iterator[None]:
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
