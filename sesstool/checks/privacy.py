"""Family P: secrets and personal data. The pages; what is found is found by `sesstool redact`."""

from __future__ import annotations

from dataclasses import dataclass

from sesstool.checks.rule import RULES, rule
from sesstool.findings import Applicability, Finding, Fix, Location, Severity


@dataclass(frozen=True, slots=True)
class Where:
    """A place in a file: line from 1, byte span, JSON pointer, column in characters from 1."""

    path: str
    line: int
    start: int
    end: int
    pointer: str = ""
    column: int = 1


def _finding(code: str, where: Where, message: str, fix: Fix | None, **labels: str) -> Finding:
    found = RULES[code]
    location = Location(where.path, where.line, where.column, where.start, where.end, where.pointer)
    return Finding(code, found.name, found.severity, message, location, fix, labels=labels)


def _redact(title: str) -> Fix:
    return Fix(Applicability.UNSAFE, title, flag="redact --write --in-place")


@rule("P801", "secret", Severity.ERROR)
def secret(where: Where, title: str, **labels: str) -> Finding:
    """A secret stands in the session.

    Finds: Tokens by the form that their vendor gave them, passwords by the words before them,
        private keys, connection strings; also inside JSON, base64, percent and other encodings.
    Matters: Whoever gets the file can use it. Most came out of a tool: `env`, `cat .env`, a log.
    Example: An access key that `cat ~/.aws/credentials` printed.
    Repair: None by `repair`. `sesstool redact` takes it out everywhere; revoke it all the same.
    Seen: Claude Code 46201, 63593; every agent that runs commands.
    """
    return _finding("P801", where, title, _redact("put a stand-in in its place"), **labels)


@rule("P802", "personal-data", Severity.WARNING)
def personal_data(where: Where, title: str, **labels: str) -> Finding:
    """Personal data stands in the session.

    Finds: E-mail and public network addresses, phone and card numbers, accounts, national ids,
        user names in paths, authors of commits; what `--terms` and `--subject` name.
    Matters: It is about somebody who was not asked.
    Example: The home folder in `cwd`, which names who works there.
    Repair: None by `repair`. `sesstool redact` puts one stand-in for each person everywhere.
    Seen: Every session: the folder that the agent works in is in each record.
    """
    return _finding("P802", where, title, _redact("put a stand-in in its place"), **labels)


@rule("P803", "value-in-frozen-field", Severity.WARNING)
def frozen(where: Where, title: str, **labels: str) -> Finding:
    """A value stands in a field that links records, or that the agent reads.

    Finds: What looks like a secret or personal data in ids, times, types, names of models.
    Matters: Such a field cannot be changed without breaking the session.
    Example: A session id that holds a user's name.
    Repair: Manual: it is kept and reported; decide whether the file can be handed over.
    Seen: Sessions made by hand.
    """
    fix = Fix(Applicability.MANUAL, "it is kept: the session depends on this field")
    return _finding("P803", where, title, fix, **labels)


@rule("P804", "not-inspected", Severity.INFORMATION)
def not_inspected(where: Where, count: int, *, dropped: bool) -> Finding:
    """The session holds what cannot be looked into.

    Finds: Signatures and ciphertext of the provider, pictures and documents in base64; lines that
        hold encodings inside of encodings, more than are undone.
    Matters: A thinking block's signature holds the whole thought, encrypted for the provider.
    Example: `"signature":"EqH4…"`
    Repair: `--profile share` drops them all; `--profile resume` keeps them, for the session
        does not resume without. Look at lines that are encoded very often by eye.
    Seen: Every session with thinking or pictures.
    """
    what = "dropped" if dropped else "kept, and cannot be inspected"
    return _finding("P804", where, f"opaque fields {what}: {count}", None)


def bounded(where: Where, count: int, line: int) -> Finding:
    """See `not_inspected`; of these lines the first is `line`."""
    what = f"lines encoded too often to look at all of them: {count}, the first is line {line}"
    return _finding("P804", where, what, None)


@rule("P805", "unreadable-line", Severity.WARNING)
def unreadable(where: Where, count: int) -> Finding:
    """Lines are no JSON.

    Finds: Torn, glued or otherwise damaged lines.
    Matters: Their fields cannot be told apart, so values are taken out of them as of plain text.
    Example: A last line that a crash cut.
    Repair: `sesstool repair` first, then redact.
    Seen: One session in a hundred.
    """
    fix = Fix(Applicability.MANUAL, "repair the session, then redact it")
    return _finding("P805", where, f"lines that are no JSON: {count}", fix)


@rule("P806", "thinking-removed", Severity.INFORMATION)
def thinking(where: Where, count: int) -> Finding:
    """Thinking blocks that hold values go whole.

    Finds: Signed thinking blocks in which something was found.
    Matters: A provider refuses a block whose text was changed after it was signed.
    Example: A thought that repeats the password it read.
    Repair: The block is removed; a message that would be empty says so instead.
    Seen: Claude Code 63147, 63335.
    """
    return _finding("P806", where, f"signed thinking blocks that go whole: {count}", None)


@rule("P807", "thinking-of-open-turn", Severity.WARNING)
def open_turn(where: Where, line: int) -> Finding:
    """The thinking that began a turn which is not over holds values.

    Finds: A signed thinking block with values, behind which come calls and results and no answer.
    Matters: The provider asks for it with the results: without it the session does not go on,
        and with a change in it neither.
    Example: The agent was stopped while a command ran whose need it had explained.
    Repair: Manual: let the agent finish the turn, then redact; or make a copy to hand over, with
        `--profile share`. `--write` and `-o` in profile resume refuse.
    Seen: Sessions that were broken off inside a turn.
    """
    title = "let the agent finish the turn, or make a copy with --profile share"
    message = f"the thinking of line {line} began a turn that is not over"
    return _finding("P807", where, message, Fix(Applicability.MANUAL, title))
