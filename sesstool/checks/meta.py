"""Family M: headers, numbering, identity, time and access."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from sesstool.checks.compaction import hollow_compaction
from sesstool.checks.content import bloat, error_echo, orphan_reasoning
from sesstool.checks.context import Context, manual, safe, unsafe
from sesstool.checks.graph import copied_record, dangling_link, lost_message
from sesstool.checks.provider import bad_item_id
from sesstool.checks.rule import rule
from sesstool.checks.schema import refused_record
from sesstool.findings import Applicability, Finding, Fix, Severity
from sesstool.formats.terms import Fault, Place, SideFile
from sesstool.records.source import SEALED, plain_path


def _said(context: Context, code: str, fault: Fault) -> Finding:
    """The finding that a format's own fault becomes."""
    if fault.safe is None:
        fix = manual(fault.title) if fault.title else None
    elif fault.safe:
        fix = safe(fault.title, fault.edits)
    else:
        fix = unsafe(fault.title, fault.edits)
    severity = Severity(fault.severity) if fault.severity else None
    return context.finding(code, fault.place, fault.message, fix=fix, severity=severity)


@rule("M701", "bad-header", Severity.ERROR)
def bad_header(context: Context, fault: Fault) -> Finding:
    """The header record is missing, torn or lacks a field.

    Finds: A Codex rollout whose first record is no whole session_meta, or one with a member
        that Codex cannot read; a pi session whose first line pi cannot read as its header; a
        session of Copilot CLI without a session.start; one of Gemini CLI of which no record tells
        the id, or the hash of the project.
    Matters: Codex does not resume it: "does not start with session metadata", nor does Copilot
        CLI: "Session file is corrupted or incompatible". Gemini CLI does not list it. pi takes it
        for a new session and writes the whole file over as soon as it opens it.
    Example: The first line is cut.
    Repair: Unsafe: a new header is written from the file's name, the turn contexts and the
        first record, and is marked as recovered; a member that cannot be read is taken out.
        The other records keep their bytes. Where the header is whole and only bytes around it
        are wrong, the repairs of those bytes are enough.
    Seen: Codex, every version; pi 0.55 and 0.73.
    """
    return _said(context, "M701", fault)


@rule("M702", "header-id", Severity.ERROR)
def header_id(context: Context, fault: Fault) -> Finding:
    """The header names another session than the file.

    Finds: A Codex header whose id differs from that in the file's name.
    Matters: Codex does not resume it: "thread source changed during resume".
    Example: A copied or renamed rollout.
    Repair: Unsafe, since either may be the right one: the file's name wins.
    Seen: Codex 0.171.
    """
    return _said(context, "M702", fault)


@rule("M703", "misplaced-header", Severity.ERROR)
def misplaced_header(context: Context, fault: Fault) -> Finding:
    """The header is not the first record.

    Finds: Records before the session_meta of a Codex rollout, before pi's header, or before the
        session.start of Copilot CLI.
    Matters: Codex reads the first line only, and does not resume, nor does Copilot CLI before
        1.0.80; pi writes the file over.
    Example: Two files joined in the wrong order.
    Repair: Safe: the record moves to the front.
    Seen: Codex 0.117 and newer.
    """
    return _said(context, "M703", fault)


@rule("M704", "second-header", Severity.ERROR)
def second_header(context: Context, fault: Fault) -> Finding:
    """A second header stands in the middle.

    Finds: A session_meta behind other records, in a rollout that is no fork.
    Matters: Codex resumes with what stands behind it, in silence.
    Example: A file that was appended to another.
    Repair: Safe where it is of the same thread: it is cut and kept in lost+found. Unsafe where
        it is of another: the records behind it may be that thread's.
    Seen: Codex 0.171: 6 of 8 texts arrive.
    """
    return _said(context, "M704", fault)


@rule("M705", "ordinal", Severity.ERROR)
def ordinal(context: Context, fault: Fault) -> Finding:
    """The last record has no number.

    Finds: A numbered Codex rollout whose last record has no integer `ordinal`.
    Matters: Codex does not resume: "is missing an ordinal". A missing one elsewhere is sound.
    Example: A record appended by another tool.
    Repair: Unsafe: it gets the number behind the highest. Others keep theirs, for forks refer
        to them.
    Seen: Codex 0.150 and newer.
    """
    return _said(context, "M705", fault)


@rule("M706", "wrong-session", Severity.WARNING)
def wrong_session(context: Context, fault: Fault) -> Finding:
    """Records of another session stand in the file.

    Finds: Records whose session id is not the file's, and that are no copies of a fork. Where
        the first one hides the session that the file is named for, it is an error.
    Matters: Agents list and resume by file; foreign records take part or get lost, by version.
        MyCodeAgent reads the session of the first record and passes over all others. Qwen Code
        loads nothing of a file with records of two sessions: there it is an error, too.
    Example: Two sessions joined by hand.
    Repair: Manual: only a person knows where they belong; nothing is moved.
    Seen: Claude Code before 2.0, which left several ids in one file.
    """
    return _said(context, "M706", fault)


@rule("M707", "subagent", Severity.INFORMATION)
def subagent(context: Context, fault: Fault) -> Finding:
    """This is the transcript of a subagent.

    Finds: A file of sidechain records only; a MyCodeAgent session named `subagent-…`.
    Matters: It is resumed through its parent session, not by itself.
    Example: `agent-a1b2c3d.jsonl`
    Repair: None.
    Seen: Claude Code, MyCodeAgent.
    """
    return _said(context, "M707", fault)


@rule("M708", "fork", Severity.INFORMATION)
def fork(context: Context, fault: Fault) -> Finding:
    """This session is a fork of another.

    Finds: A header, or an astorLM side file, that names the session it was forked from.
    Matters: Newer forks of Codex hold no copy of the shared part: they need the other file. Those
        of pi and astorLM hold one.
    Example: `"forked_from_id":"…"`
    Repair: None.
    Seen: Codex, pi, astorLM.
    """
    return _said(context, "M708", fault)


@rule("M709", "old-format", Severity.INFORMATION)
def old_format(context: Context, fault: Fault) -> Finding:
    """The session is in a shape that current agents no longer read.

    Finds: Codex rollouts of bare items, as versions before 0.30 wrote them.
    Matters: Current Codex refuses to resume them; they can be read and shown.
    Example: `{"id":"…","timestamp":"…","instructions":null}` as the first line.
    Repair: None.
    Seen: Codex 0.20.
    """
    return _said(context, "M709", fault)


@rule("M710", "file-access", Severity.WARNING)
def file_access(context: Context, mode: int, *, in_home: bool) -> Finding:
    """Others can read the session.

    Finds: A session file that group or others may read. Outside the home folder of its owner,
        where agents keep sessions, it is information.
    Matters: A session holds all that a person said and every secret that a tool printed.
    Example: Mode 0644.
    Repair: Safe inside that home: the mode becomes 0600. Elsewhere it is left alone.
    Seen: Agents before 2026; files that were copied.
    """
    message = f"mode {mode:04o}: others can read this session"
    severity = None if in_home else Severity.INFORMATION
    fix = Fix(Applicability.SAFE, "make it 0600", mode=0o600) if in_home else None
    return context.finding("M710", Place(0, 0, 0), message, fix=fix, severity=severity)


@rule("M711", "drawn-from-session", Severity.INFORMATION)
def drawn_from_session(context: Context, side: SideFile) -> Finding:
    """An index or a cache was drawn from a session that is to be mended.

    Finds: A file that the agent keeps about this session, where a repair would change it.
    Matters: It tells of the session as it was.
    Example: `sessions-index.json` with the number of messages.
    Repair: None: the message says what the agent makes of it.
    Seen: 6 reports of indexes that told another story than their sessions.
    """
    message = f"{side.path.name} was drawn from the session as it is: {side.fate}"
    return context.finding("M711", Place(0, 0, 0), message)


@rule("M712", "missing-side-file", Severity.INFORMATION)
def missing_side_file(context: Context, fault: Fault) -> Finding:
    """A file that belongs to the session is not beside it.

    Finds: A long tool result that Claude Code kept in `tool-results/`, or the description of
        a subagent, which is not there. That there is no `<id>.meta.json` beside messages of
        astorLM is a warning; where only the messages were copied it is no damage.
    Matters: Claude Code resumes, but cannot look up what it names. astorLM looks for side files:
        without one it neither lists nor resumes the session.
    Example: A session that was copied without its folder.
    Repair: Put the file back where you have it: sesstool makes none. Of astorLM's, the finding
        says the least that a new one must hold; the times and metadata of the lost one are gone.
    Seen: Sessions copied by hand; clean-ups by age.
    """
    return _said(context, "M712", fault)


@rule("M713", "bad-side-file", Severity.ERROR)
def bad_side_file(context: Context, fault: Fault) -> Finding:
    """The file beside this one is damaged, or of another session.

    Finds: An astorLM `<id>.meta.json` that is no JSON object. Where it is one, and its id is
        not that of its name, it is a warning.
    Matters: astorLM takes a side file that it cannot parse for none. It lists the session under
        the id inside, and looks for it under that of the name.
    Example: A side file of 0 bytes, which a full disk left.
    Repair: Manual: the finding says what to write; a repair changes the session's file only.
    Seen: Both files are written anew on each save, and not in one step.
    """
    return _said(context, "M713", fault)


def compaction_window(context: Context, fault: Fault) -> Finding:
    """G508 in a session without ids."""
    return _said(context, "G508", fault)


BY_NAME = {
    "bad-header": bad_header,
    "header-id": header_id,
    "misplaced-header": misplaced_header,
    "second-header": second_header,
    "ordinal": ordinal,
    "wrong-session": wrong_session,
    "subagent": subagent,
    "fork": fork,
    "old-format": old_format,
    "lost-message": lost_message,
    "copied-record": copied_record,
    "dangling-parent": dangling_link,
    "hollow-compaction": hollow_compaction,
    "compaction-bad-pointer": compaction_window,
    "error-echo": error_echo,
    "bloat": bloat,
    "orphan-reasoning": orphan_reasoning,
    "missing-side-file": missing_side_file,
    "bad-item-id": bad_item_id,
    "bad-side-file": bad_side_file,
    "refused-record": refused_record,
}


def check(context: Context, status: os.stat_result | None) -> Iterator[Finding]:
    """The findings of the format's own tracker, and about who may read the file."""
    session = context.session
    for fault in session.tracker.faults(session.source):
        yield BY_NAME[fault.rule](context, fault)
    path = session.source.path
    if path is None or path.suffix == SEALED:
        return  # others may read what is encrypted
    if status is not None and status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        home = session.format.home(path)
        in_home = home is not None and home.is_relative_to(_home_of(status.st_uid))
        yield file_access(context, stat.S_IMODE(status.st_mode), in_home=in_home)


def drawn(context: Context) -> Iterator[Finding]:
    """What the agent has drawn from a session that a repair would change."""
    path = context.session.source.path
    for side in context.session.format.drawn(plain_path(path)) if path is not None else ():
        yield drawn_from_session(context, side)


def _home_of(owner: int) -> Path:
    """The home folder of a user id."""
    try:
        import pwd  # noqa: PLC0415 - there is none on Windows

        return Path(pwd.getpwuid(owner).pw_dir)
    except (ImportError, KeyError):
        return Path.home()
