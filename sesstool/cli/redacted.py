"""What `sesstool redact` shows of a redaction, and where its copies go."""

from __future__ import annotations

import sys
from pathlib import Path

from sesstool.api import redaction as api
from sesstool.api.publishing import publish
from sesstool.checks.rule import RULES
from sesstool.cli.common import Common, out_stream
from sesstool.cli.spool import Spool
from sesstool.cli.streams import kept_sealed
from sesstool.errors import UsageError
from sesstool.findings import FileReport
from sesstool.privacy.vault import Secret
from sesstool.records.write import real_path
from sesstool.report.amounts import count
from sesstool.report.base import Output, Totals
from sesstool.report.grouped import show
from sesstool.report.reporters import REPORTERS
from sesstool.text import session_word

# How many files that are left alone are named.
_SOME = 5


def something(file: api.Redacted) -> bool:
    """Whether there is anything to do, or a value that cannot be taken out."""
    return file.changed or bool(file.summary.kept) or _is_named(file)


def _is_named(file: api.Redacted) -> bool:
    """Whether the path of a file holds a value that the user did not give with it."""
    return isinstance(file.path, Path) and file.shown != str(file.path)


def shown(shared: Common, redaction: api.Redaction, spool: Spool) -> None:
    """The findings of each file, in the format that was asked for."""
    totals = Totals()
    output = Output(out_stream(), shared.note, RULES, shared.colored(sys.stdout))
    if shared.output_format == "text" and shared.verbosity < 2:
        for file in redaction.files:
            show(output, file, list(api.about(file)))
        return
    name = "concise" if shared.output_format == "text" else shared.output_format
    reporter = REPORTERS[name](output)
    for file in redaction.files:
        form = file.text.form
        size, lines = file.text.source.size, file.summary.lines
        found_here = spool.of(file)
        report = FileReport(file.shown, form.name if form else "", "", size, lines, found_here)
        totals.add(report)
        reporter.file(report, lambda _: None)
    reporter.close(totals)


def copied(
    shared: Common,
    redaction: api.Redaction,
    *,
    force: bool,
    keep_in: tuple[Path, Secret] | None,
) -> None:
    """Write the copies that -o asks for. Raises UsageError where one would replace a session."""
    assert shared.output is not None
    target = shared.output
    inputs = {real_path(file.path) for file in redaction.files if isinstance(file.path, Path)}
    if not _is_folder(shared, redaction):
        redaction.files[0].name = Path(target.name)
        target = target.parent
    if any(real_path(target / file.name) in inputs for file in redaction.files):
        raise UsageError(
            "a copy would take the place of a session",
            hint="name another file or folder with -o, or say --write --in-place",
        )
    publish(redaction, target, force=force, keep_in=keep_in)
    for file in redaction.files:
        shared.note(f"written: {target / file.name}{kept_sealed(file.path)}")


def _is_folder(shared: Common, redaction: api.Redaction) -> bool:
    """Whether what -o names is a folder: it is one, or for several files, or is called so."""
    assert shared.output is not None
    several = len(redaction.files) > 1 or any(Path(name).is_dir() for name in redaction.given)
    return several or shared.output.is_dir() or shared.to_folder


def poured_out(redaction: api.Redaction) -> None:
    """Write the one copy to stdout."""
    result = redaction.files[0].result
    assert result is not None
    out_stream().writelines(result.chunks())


def verdict(redaction: api.Redaction) -> str:
    """All of it in one line, for CI."""
    files = count(len(redaction.files), "file")
    places = sum(found.places for file in redaction.files for found in file.tally.ranked())
    values = count(redaction.values, "value")
    holding = sum(map(something, redaction.files))
    told = f"{count(places, 'place')}, {values} in {holding} of {files}" if places else files
    if named := sum(map(_is_named, redaction.files)):
        told += f", values in the names of {count(named, 'file')}"
    found_ = "found" if holding else "nothing found"
    return f"{found_}: {told}, profile {redaction.choice.profile}"


def _alone(shared: Common, redaction: api.Redaction) -> None:
    """Tell of other files that hold the same and are left alone."""
    taken = {file.path for file in redaction.files}
    sides = (side for file in redaction.files for side in api.copies(redaction, file))
    others = {side.path: side for side in sides if side.path not in taken}
    for path, side in list(others.items())[:_SOME]:
        erase = f"; {side.erase}" if side.erase else ""
        shared.note(f"left alone: {redaction.shown(path)}: {side.fate}{erase}")
    if len(others) > _SOME:
        shared.note(f"left alone: {len(others) - _SOME} more; --report lists them")
    beside = [path for path in api.bystanders(redaction) if path not in others]
    if beside:
        shared.note(
            f"left alone: {count(len(beside), 'other file')} in what was named, such as "
            f"{redaction.shown(beside[0])}: no part of a session, and not looked at"
        )


def _named(shared: Common, redaction: api.Redaction) -> None:
    """Tell which files have values in their names, with stand-ins for these.

    In place they stay: the agent finds a session by its name, and its project by the folder's.
    """
    named = [file.shown for file in redaction.files if _is_named(file)]
    for name in named[:_SOME]:
        shared.note(f"left alone: values in the name of {name}; copies lose them")
    if len(named) > _SOME:
        shared.note(f"left alone: values in the names of {len(named) - _SOME} more")


def bounded(shared: Common, redaction: api.Redaction) -> None:
    """Tell of lines of which not all was looked at."""
    for file in redaction.files:
        if file.summary.bounded:
            shared.note(
                f"{file.shown}: {count(file.summary.bounded, 'line')}, first line "
                f"{file.summary.first_bounded}, encoded too often to look at all of it: see what "
                "it holds, and do not hand the file on unseen"
            )


def kept_in_place(shared: Common, redaction: api.Redaction) -> int:
    """Tell of values in fields that must stay; returns how many places there are."""
    kept = sum(sum(file.summary.kept.values()) for file in redaction.files)
    if kept:
        shared.note(f"{count(kept, 'place')} kept, in fields that must stay: see P803")
    return kept


def said(shared: Common, redaction: api.Redaction, *, write: bool, paths: tuple[str, ...]) -> None:
    """The summary on stderr, and the next step."""
    places = sum(sum(file.summary.rules.values()) for file in redaction.files)
    kept = sum(sum(file.summary.kept.values()) for file in redaction.files)
    done = "replaced" if write or shared.output else "to replace"
    files = sum(file.changed for file in redaction.files)
    to_copies = shared.output is not None
    named = not to_copies and any(map(_is_named, redaction.files))
    bounded(shared, redaction)
    if not places and not kept:
        shared.note(f"{count(len(redaction.files), 'file')}: nothing found")
    else:
        _alone(shared, redaction)
        values = count(redaction.values, "value")
        shared.note(f"{count(places, 'place')} {done} in {count(files, 'file')}; {values}")
    kept_in_place(shared, redaction)
    if write and places:
        shared.note("no plain copy is kept; revoke secrets that were in the sessions")
        for file in redaction.files:
            if file.text.start:
                shared.note(
                    f"{file.shown}: looked at from line {file.text.number} on; what stands before "
                    "was redacted earlier"
                )
    if named:
        _named(shared, redaction)
    if to_copies or not (places or kept or named):
        return
    names = " ".join(session_word(path) for path in paths)
    several = len(redaction.files) > 1 or any(Path(path).is_dir() for path in paths)
    target = "FOLDER" if several else "FILE"
    if "-" in (paths or ("-",)):
        shared.note("next: sesstool redact -o FILE, with the same input")
    elif named or not write:
        shared.note(f"next: sesstool redact -o {target} {names}")
    if not write and (places or kept) and "-" not in (paths or ("-",)):
        shared.note(f"next: sesstool redact --write --in-place {names}")
