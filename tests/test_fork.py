"""`fork`: the new file and what it says, and that the session itself stays as it is."""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import stat
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path

import pytest
import zstandard

from sesstool import api
from sesstool.api import diffing, forking
from sesstool.api.forking import fork
from sesstool.api.remembering import memory
from sesstool.audit import log
from sesstool.cli import main
from sesstool.errors import (
    InputError,
    LiveSessionError,
    StalePlanError,
    UsageError,
    WriteError,
)
from sesstool.findings import Severity
from sesstool.formats.forking import Forker, UuidForker
from sesstool.records import write
from sesstool.records.jsonspan import with_members
from sesstool.records.write import create
from tests.conftest import (
    ROLLOUT,
    SESSION,
    THREAD,
    answer,
    asks,
    boundary,
    chat,
    dump,
    envelope,
    event,
    head,
    item,
    jsonl,
    linked,
    loads,
    meta,
    output,
    pid,
    prompt,
    result,
    runs,
    said,
    says,
    speaks,
    talk,
    tells,
    uid,
    use,
)
from tests.seeds import SEEDS

SAMPLES = Path(__file__).parents[1] / "samples"
NEW = "b0a70000-f02c-4000-8000-000000000001"
TORN = b'{"role":"user","conte'
TAUGHT = {"role": "user", "content": [{"type": "text", "text": "hoist it"}]}


@pytest.fixture
def made(tmp_path):
    """Write a session and fork it."""

    def make(name, *records, tail=b"", **more):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jsonl(*records) + tail)
        before = path.read_bytes(), path.stat()
        done = fork(path, **more)
        after = path.stat()
        assert path.read_bytes() == before[0]
        assert (after.st_mtime_ns, after.st_ino) == (before[1].st_mtime_ns, before[1].st_ino)
        return done

    return make


def records(done):
    return loads(done.path.read_bytes())


def named(n):
    """The id that a fork with the id NEW gives to the record n."""
    return str(uuid.uuid5(uuid.UUID(NEW), uid(n)))


def kinds(path):
    """The codes of the errors in a session, with repeats."""
    found = api.validate(path).findings
    return sorted(f.code for f in found if f.severity is Severity.ERROR)


def differences(left, right):
    with diffing.diff(diffing.Name(left), diffing.Name(right)) as found:
        return {kind: n for kind, n in found.counts.items() if n}


# What all formats have in common.


@pytest.mark.parametrize("name", SEEDS)
def test_a_fork_of_a_sound_session_is_sound_and_tells_the_same(name, tmp_path):
    """In every format; a record at any line may be the last."""
    path = tmp_path / name
    path.write_bytes(SEEDS[name])
    done = fork(path)
    assert done.parent == str(path)
    assert kinds(done.path) == kinds(path) == []
    assert set(differences(path, done.path)) == {"equal"}
    assert stat.S_IMODE(done.path.stat().st_mode) == 0o600
    assert done.left_out == 0


@pytest.mark.parametrize("name", SEEDS)
def test_a_diff_finds_where_the_fork_was_made(name, tmp_path):
    """Behind the point only the original goes on."""
    path = tmp_path / name
    path.write_bytes(SEEDS[name])
    with diffing.diff(diffing.Name(path), diffing.Name(path)) as found:
        middle = len(found.left) // 2
        line = found.left.line(middle)
    done = fork(path, at=str(line))
    assert done.at == line
    told = differences(path, done.path)
    assert set(told) == {"equal", "left"}
    assert told["equal"] >= middle


@pytest.mark.parametrize("name", SEEDS)
def test_a_record_that_needs_no_change_keeps_its_bytes(name, tmp_path):
    """Spaces, the order of members and long numbers stay as they were."""
    path = tmp_path / name
    odd = b'{ "odd" :1.50, "n":123456789012345678901234567890 ,'
    path.write_bytes(b"".join(odd + line[1:] for line in SEEDS[name].splitlines(keepends=True)))
    done = fork(path)
    lines = done.path.read_bytes().splitlines()
    assert (
        sum(line.startswith(odd) or b'",' + odd[1:] in line for line in lines) >= done.records - 1
    )


def test_a_torn_tail_is_left_out_and_told(made):
    """The last whole record is the last of the fork."""
    done = made("talk.jsonl", said("user"), said("assistant"), tail=TORN)
    assert (done.records, done.left_out, done.at) == (2, 1, 2)
    assert records(done) == [said("user"), said("assistant")]


def test_a_copy_is_named_for_the_session_and_takes_a_free_name(made):
    """The second one counts on."""
    names = [made("talk.jsonl", said("user")).path.name for _ in range(3)]
    assert names == ["talk-fork.jsonl", "talk-fork-2.jsonl", "talk-fork-3.jsonl"]


def test_a_name_is_free_in_the_folder_where_the_fork_will_be(made, tmp_path):
    """Not in that of the session."""
    (tmp_path / "there").mkdir()
    names = [made("talk.jsonl", said("user"), target=tmp_path / "there").path for _ in range(2)]
    assert names == [tmp_path / "there" / name for name in ("talk-fork.jsonl", "talk-fork-2.jsonl")]


def test_what_is_there_is_not_overwritten_without_force(made, tmp_path):
    """It is refused before any work is done; --force replaces it."""
    target = tmp_path / "taken.jsonl"
    target.write_text("mine")
    with pytest.raises(WriteError, match="exists already"):
        made("talk.jsonl", said("user"), target=target)
    assert target.read_text() == "mine"
    assert made("talk.jsonl", said("user"), target=target, force=True).path == target
    assert loads(target.read_bytes()) == [said("user")]


@pytest.mark.parametrize("way", ["name", "link"])
def test_the_session_itself_is_never_the_target(way, tmp_path):
    """Not even with --force, and by no other name."""
    path = tmp_path / "talk.jsonl"
    path.write_bytes(jsonl(said("user")))
    target = path
    if way == "link":
        target = tmp_path / "link.jsonl"
        target.symlink_to(path)
    with pytest.raises(UsageError, match="the session itself"):
        fork(path, target=target, force=True)
    assert path.read_bytes() == jsonl(said("user"))


def test_a_session_that_is_in_use_is_not_replaced(made, home):
    """Not with --force either: its writer would go on writing into nothing."""
    there = home / f".claude/projects/-srv-beacon/{NEW}.jsonl"
    there.parent.mkdir(parents=True)
    there.write_bytes(jsonl(*talk(2)))  # just now
    with pytest.raises(LiveSessionError, match="in use") as caught:
        made(f"{SESSION}.jsonl", *talk(3), target=there, force=True)
    assert caught.value.hint
    assert there.read_bytes() == jsonl(*talk(2))
    os.utime(there, (0, 0))
    made(f"{SESSION}.jsonl", *talk(3), target=there, force=True)
    assert there.read_bytes() != jsonl(*talk(2))


def test_nor_is_a_part_of_it(tmp_path):
    """What belongs to a session is as much a part of the original as its records."""
    path, side = tmp_path / "s.jsonl", tmp_path / "s.meta.json"
    path.write_bytes(jsonl({"id": "m1"} | TAUGHT))
    side.write_bytes(b'{"id":"s"}')
    with pytest.raises(UsageError, match="a part of it"):
        fork(path, target=side, force=True)
    assert side.read_bytes() == b'{"id":"s"}'


def test_a_target_that_is_a_folder_gets_the_name_that_the_agent_knows(made, tmp_path):
    """As cp would have it."""
    (tmp_path / "there").mkdir()
    done = made(f"{SESSION}.jsonl", *talk(2), new_id=NEW, target=tmp_path / "there")
    assert done.path == tmp_path / "there" / f"{NEW}.jsonl"


@pytest.mark.parametrize("at", ["7", "nowhere", uid(9)])
def test_a_record_that_is_not_there_is_refused(at, made):
    """Nothing is written, and the next step is told."""
    with pytest.raises(UsageError, match="no record") as caught:
        made(f"{SESSION}.jsonl", *talk(4), at=at)
    assert caught.value.hint


@pytest.mark.parametrize("data", [b"", b"\n\n"])
def test_an_empty_file_has_nothing_to_fork(data, tmp_path):
    """It says so."""
    path = tmp_path / f"{SESSION}.jsonl"
    path.write_bytes(data)
    with pytest.raises(InputError):
        fork(path, format_name="claude-code")
    assert list(tmp_path.iterdir()) == [path]


def test_a_session_that_is_known_by_name_only_is_not_forked(made):
    """Its agent's way is not known."""
    header = {"type": "metadata", "protocol_version": "1", "created_at": 1}
    with pytest.raises(InputError, match="by name only"):
        made("session-1.jsonl", header)


def test_utf_16_is_refused_with_the_next_step(tmp_path):
    """A repair makes it UTF-8."""
    path = tmp_path / "talk.jsonl"
    path.write_bytes(jsonl(said("user")).decode().encode("utf-16"))
    with pytest.raises(InputError, match="UTF-16") as caught:
        fork(path, format_name="openai-chat")
    assert "sesstool repair" in caught.value.hint


@pytest.mark.parametrize("when", ["while it is read", "while it is copied"])
def test_a_session_that_shrinks_meanwhile_is_told(when, tmp_path, monkeypatch):
    """The fork would hold what never was together."""
    path = tmp_path / "talk.jsonl"
    path.write_bytes(jsonl(said("user"), said("assistant")))

    def shorten(*_):
        os.truncate(path, 10)
        return ()

    if when == "while it is copied":
        monkeypatch.setattr(Forker, "tail", shorten)
    with pytest.raises(StalePlanError):
        fork(path, progress=shorten if when == "while it is read" else None)
    assert list(tmp_path.iterdir()) == [path]


def test_what_grows_meanwhile_is_not_in_the_fork(tmp_path):
    """It is a session as it was when it was opened."""
    path = tmp_path / "talk.jsonl"
    path.write_bytes(jsonl(said("user")))

    def grow(_):
        with path.open("ab") as handle:
            handle.write(jsonl(said("assistant")))

    done = fork(path, progress=grow)
    assert records(done) == [said("user")]


@pytest.mark.parametrize("call", [1, 2])
def test_a_fork_whose_name_may_not_last_is_none(call, tmp_path, monkeypatch):
    """An error says that it was not written, so no file of it may be there."""
    path, calls = tmp_path / "s.jsonl", []
    path.write_bytes(jsonl({"id": "m1"} | TAUGHT))

    def fail(_folder):
        calls.append(1)
        if len(calls) == call:
            raise OSError(errno.EIO, "input/output error")

    monkeypatch.setattr(write, "sync_folder", fail)
    with pytest.raises(WriteError):
        fork(path, new_id="t")
    assert list(tmp_path.iterdir()) == [path]


def test_the_log_knows_the_copy(made, tmp_path):
    """Whoever erases the session is told of it."""
    done = made("talk.jsonl", said("user"))
    assert log.copies(api.state_folder(), tmp_path / "talk.jsonl") == [done.path]


def test_a_redaction_names_the_fork_that_it_does_not_reach(made, tmp_path, capsys):
    """It holds the same values."""
    done = made("talk.jsonl", said("user", "mail ada" + "@" + "quay-and-mole.net"))
    for more in ((), ("--write", "--in-place", "--yes")):
        assert main.run(["redact", str(tmp_path / "talk.jsonl"), *more]) == (0 if more else 1)
        told = capsys.readouterr().err
        assert f"left alone: {done.path}: a copy that sesstool made of" in told
    assert main.run(["redact", str(tmp_path), "--exit-zero"]) in (0, 2)
    assert "a copy that sesstool made" not in capsys.readouterr().err


def test_a_compressed_session_has_a_plain_fork(tmp_path):
    """No agent but one reads the other."""
    path = tmp_path / "talk.jsonl.gz"
    path.write_bytes(gzip.compress(jsonl(said("user"))))
    done = fork(path)
    assert done.path == tmp_path / "talk-fork.jsonl"
    assert records(done) == [said("user")]


# What both inherit, and what stands open.


def test_what_was_done_is_inherited(made):
    """Calls that only look are not told; those behind the fork are not, either."""
    done = made(
        f"{SESSION}.jsonl",
        prompt(1, None),
        answer(2, 1, use("a", "Read", file_path="/srv/log")),
        result(3, 2, "a"),
        answer(4, 3, use("b", "Write", file_path="/srv/lamp", content="on")),
        result(5, 4, "b"),
        answer(6, 5, use("c", command="rm /srv/lamp")),
        at="5",
    )
    (call,) = done.inherited
    assert (call.line, call.tool, call.effects) == (4, "Write", (("file", "/srv/lamp"),))
    assert done.open_calls == ()


def test_a_call_without_result_at_the_end_is_told(made):
    """With its state, and whether it may have changed something."""
    done = made("talk.jsonl", said("user"), asks("c1", "c2"), tells("c1"), said("user"), at="3")
    (call,) = done.open_calls
    assert (call.id, call.tool, call.line, call.state) == ("c2", "look", 2, "uncertain")
    assert "may have changed" in call.effect


def test_what_the_provider_did_itself_is_not_told(made):
    """It changed nothing here, and an answer to it nobody owes."""
    search = {"type": "server_tool_use", "id": "srv", "name": "advisor", "input": {}}
    done = made(f"{SESSION}.jsonl", prompt(1, None), answer(2, 1, search))
    assert (done.inherited, done.open_calls) == ((), ())


def test_a_call_that_waits_for_a_person_is_told_as_such(made):
    """It is no interrupted one."""
    asked = use("a", "AskUserQuestion", questions=[])
    (call,) = made(f"{SESSION}.jsonl", prompt(1, None), answer(2, 1, asked)).open_calls
    assert (call.state, call.effect) == ("pending", "waits for a person")


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (item("reasoning", summary=[], encrypted_content="x"), "a thought without what came of it"),
        (envelope("compacted", {"message": "so far"}), "a compaction without its summary"),
        (envelope("compacted", {"message": "", "replacement_history": []}), ""),
        (says("assistant", "done"), ""),
        (
            event("agent_message", message="y"),
            "an event that tells a message, without the message",
        ),
        (event("token_count"), ""),
    ],
)
def test_what_the_last_record_begins_is_told(last, expected, made):
    """A provider may refuse it, and a repair mends it."""
    done = made(ROLLOUT, meta(), says("user", "x"), last, says("assistant", "y"), at="3")
    assert done.unfinished == expected


def test_a_long_command_is_cut(made):
    """A session may have many."""
    long = use("a", command="rm " + "x" * 9000)
    done = made(f"{SESSION}.jsonl", prompt(1, None), answer(2, 1, long))
    (target,) = [effect.target for call in done.inherited for effect in call.effects]
    assert len(target) == 500
    assert target.endswith("…")


# Claude Code.


def test_claude_code_gets_new_ids_that_name_the_old(made):
    """Each record tells which one it was; the last is of now; a title stands behind them."""
    done = made(f"{SESSION}.jsonl", *talk(3), new_id=NEW)
    assert done.path.name == f"{NEW}.jsonl"
    assert done.command == f"claude --resume {NEW}"
    *copies, title = records(done)
    assert [r["uuid"] for r in copies] == [named(1), named(2), named(3)]
    assert [r["parentUuid"] for r in copies] == [None, named(1), named(2)]
    assert {r["sessionId"] for r in copies} == {NEW}
    assert [r["forkedFrom"] for r in copies] == [
        {"sessionId": SESSION, "messageUuid": uid(n)} for n in (1, 2, 3)
    ]
    assert [r["message"] for r in copies] == [r["message"] for r in talk(3)]
    assert [r["timestamp"] for r in copies[:2]] == [r["timestamp"] for r in talk(2)]
    assert copies[2]["timestamp"] > "2026-03-01T07"
    expected = {"type": "custom-title", "customTitle": "light the lamp (fork)"}
    assert title == expected | {"sessionId": NEW}


@pytest.mark.parametrize(
    ("titles", "expected"),
    [
        ([{"type": "ai-title", "aiTitle": "lamps"}], "lamps"),
        (
            [
                {"type": "custom-title", "customTitle": "mine"},
                {"type": "ai-title", "aiTitle": "lamps"},
            ],
            "mine",
        ),
        ([{"type": "summary", "summary": "of another", "leafUuid": uid(1)}], "light the lamp"),
    ],
)
def test_claude_code_has_the_title_of_the_session(titles, expected, made):
    """A person's own counts more than the model's; a summary may be of another session."""
    done = made(f"{SESSION}.jsonl", *talk(2), *titles)
    assert records(done)[-1]["customTitle"] == f"{expected} (fork)"


def test_claude_code_leaves_notes_and_subagents_behind(made):
    """Only the talk is forked, and what replaces a result in it."""
    replaced = {"type": "content-replacement", "sessionId": SESSION, "replacements": []}
    done = made(
        f"{SESSION}.jsonl",
        {"type": "mode", "mode": "x", "sessionId": SESSION},
        *talk(2),
        prompt(3, 2, isSidechain=True, agentId="a1"),
        {"type": "file-history-snapshot", "messageId": uid(1), "snapshot": {}},
        linked(4, 2, "system", subtype="informational", content="x"),
        prompt(5, 4),
        replaced,
        {"type": "last-prompt", "leafUuid": uid(1), "sessionId": SESSION},
        new_id=NEW,
    )
    kept = records(done)
    assert [r.get("uuid") for r in kept] == [named(1), named(2), named(4), named(5), None, None]
    assert kept[4] == replaced | {"sessionId": NEW}


def test_claude_code_hangs_records_past_progress(made):
    """Progress is no part of a fork, and what hung from it hangs from what it hung from."""
    tick = {"type": "progress", "data": {"type": "bash_progress"}}
    done = made(
        f"{SESSION}.jsonl",
        *talk(2),
        linked(3, 2, "progress") | tick,
        linked(4, 3, "progress") | tick,
        prompt(5, 4),
        new_id=NEW,
    )
    kept = records(done)
    assert [(r["uuid"], r["parentUuid"]) for r in kept[:-1]] == [
        (named(1), None),
        (named(2), named(1)),
        (named(5), named(2)),
    ]


def test_claude_code_takes_along_what_a_newer_version_wrote(made):
    """A diff takes both for one record, though its ids are new."""
    lines = [*talk(2), linked(3, 2, "made-up", words="x"), prompt(4, 3), answer(5, 4)]
    done = made(f"{SESSION}.jsonl", *lines, new_id=NEW)
    assert records(done)[2]["uuid"] == named(3)
    assert differences(done.parent, done.path) == {"equal": 5}


def test_claude_code_names_a_session_without_an_id_by_its_file(made):
    """A fork tells of what it was made."""
    lines = [{k: v for k, v in r.items() if k != "sessionId"} for r in talk(2)]
    done = made("lamp.jsonl", *lines)
    assert records(done)[0]["forkedFrom"] == {"sessionId": "lamp", "messageUuid": uid(1)}


def test_claude_code_hangs_records_past_a_subagent(made):
    """What a subagent said is no part of a fork, either."""
    aside = prompt(3, 2, isSidechain=True, agentId="a")
    done = made(f"{SESSION}.jsonl", *talk(2), aside, prompt(4, 3), answer(5, 4), new_id=NEW)
    assert [r["parentUuid"] for r in records(done)[:-1]] == [None, named(1), named(2), named(4)]


def test_claude_code_has_the_first_words_of_a_person_for_a_title(made):
    """Not those that the agent itself writes down as a prompt."""
    command = prompt(1, None, "<command-name>/clear</command-name>")
    done = made(f"{SESSION}.jsonl", command, prompt(2, 1, "light\nit"), answer(3, 2))
    assert records(done)[-1]["customTitle"] == "light it (fork)"


def test_claude_code_changes_copies_of_a_record_alike(made):
    """Else two records that differ would bear one id."""
    done = made(f"{SESSION}.jsonl", *talk(2), answer(2, 1))
    assert kinds(done.path) == kinds(done.parent)
    twins = [r for r in records(done) if r.get("type") == "assistant"]
    assert len(twins) == 1 or twins[0] == twins[1]


def test_claude_code_takes_the_way_to_the_record_alone(made):
    """Of a branch nothing comes along; of parallel calls both results do."""
    done = made(
        f"{SESSION}.jsonl",
        prompt(1, None),
        answer(2, 1, use("a"), turn="m"),
        answer(3, 2, use("b"), turn="m"),
        result(4, 2, "a"),
        result(5, 3, "b"),
        answer(6, 5),
        prompt(7, 6, "one way"),
        answer(8, 7),
        prompt(9, 6, "another way"),
        at=uid(8),
        new_id=NEW,
    )
    assert [r["uuid"] for r in records(done)[:-1]] == [named(n) for n in range(1, 9)]
    assert (done.records, done.at) == (8, 8)


def test_claude_code_ends_with_the_record_that_is_named(made):
    """The other call of the same answer, which came later, is not in the fork."""
    turn = [answer(2, 1, use("a"), turn="m"), answer(3, 2, use("b"), turn="m")]
    done = made(f"{SESSION}.jsonl", prompt(1, None), *turn, result(4, 2, "a"), at=uid(2))
    assert [call.id for call in done.open_calls] == ["a"]
    assert done.records == 2


def test_claude_code_takes_the_id_of_an_answer_for_its_last_record(made):
    """An answer is several records."""
    turn = [answer(2, 1, use("a"), turn="m"), answer(3, 2, use("b"), turn="m")]
    done = made(f"{SESSION}.jsonl", prompt(1, None), *turn, result(4, 2, "a"), at="m")
    assert (done.at, done.records) == (3, 3)


def test_claude_code_keeps_what_a_compaction_tells_of_records(made):
    """With their new ids, else the agent gives up what was preserved."""
    segment = {"headUuid": uid(1), "anchorUuid": uid(4), "tailUuid": uid(2)}
    kept = {"anchorUuid": uid(4), "uuids": [uid(1), uid(2)], "allUuids": [uid(1)]}
    told = {"trigger": "auto", "preTokens": 12345678901234567890123}
    told |= {"preservedSegment": segment, "preservedMessages": kept}
    limit = boundary(3, 2) | {"compactMetadata": told}
    summary = prompt(4, 3, "so far", isCompactSummary=True)
    done = made(f"{SESSION}.jsonl", *talk(2), limit, summary, new_id=NEW)
    new = records(done)[2]
    assert new["logicalParentUuid"] == named(2)
    assert new["parentUuid"] is None
    assert new["compactMetadata"] == {
        "trigger": "auto",
        "preTokens": 12345678901234567890123,
        "preservedSegment": {"headUuid": named(1), "anchorUuid": named(4), "tailUuid": named(2)},
        "preservedMessages": {
            "anchorUuid": named(4),
            "uuids": [named(1), named(2)],
            "allUuids": [named(1)],
        },
    }


def test_claude_code_leaves_team_plan_and_writer_behind(made):
    """As its SDK does."""
    more = {"slug": "s", "teamName": "t", "agentName": "n", "sourceToolAssistantUUID": uid(1)}
    done = made(f"{SESSION}.jsonl", prompt(1, None, **more), answer(2, 1))
    assert not more.keys() & records(done)[0].keys()


@pytest.mark.parametrize(
    ("at", "words"), [("1", "a note"), (uid(4), "a subagent"), ("nothing", "no record")]
)
def test_claude_code_does_not_end_with_a_note_or_a_subagent(at, words, made):
    """No resume ends there."""
    lines = [{"type": "mode", "mode": "x", "sessionId": SESSION}, *talk(3)]
    with pytest.raises(UsageError, match=words):
        made(f"{SESSION}.jsonl", *lines, prompt(4, 3, isSidechain=True, agentId="a"), at=at)


def test_claude_code_does_not_fork_a_subagent(made):
    """Its agent resumes it with its session only."""
    with pytest.raises(InputError, match="subagent"):
        made("agent-a1.jsonl", prompt(1, None, isSidechain=True, agentId="a1"))


def test_claude_code_ends_where_a_rewind_went_back_to(made):
    """That is what a resume would send."""
    rewind = {"type": "last-prompt", "leafUuid": uid(2), "explicit": True, "sessionId": SESSION}
    assert made(f"{SESSION}.jsonl", *talk(4), rewind).records == 2


def test_claude_code_gaps_are_not_closed_by_a_guess(made):
    """A fork of a damaged session is as damaged, and a repair mends both alike."""
    done = made(f"{SESSION}.jsonl", *talk(2), answer(5, 4), prompt(6, 5), new_id=NEW)
    assert [r["parentUuid"] for r in records(done)[:-1]] == [None, named(1), named(4), named(5)]
    assert kinds(done.path) == kinds(done.parent)


@pytest.mark.parametrize("new_id", ["lamp", NEW.upper(), NEW.replace("-", "")])
def test_an_id_must_be_a_uuid_where_the_agent_wants_one(new_id, made):
    """Written as the agent writes it."""
    for name, *lines in ((f"{SESSION}.jsonl", *talk(2)), (ROLLOUT, meta(), says("user", "x"))):
        with pytest.raises(UsageError, match="is no id"):
            made(name, *lines, new_id=new_id)


@pytest.mark.parametrize(
    "new_id", ["../up", "a/b", ".hidden", "-x", "a\nb", "x" * 300, "a:b", " a", "a "]
)
def test_an_id_must_be_the_name_of_a_file(new_id, made):
    """No path leads out of the folder."""
    with pytest.raises(UsageError, match="is no id"):
        made("talk.jsonl", said("user"), new_id=new_id)


def test_the_name_of_the_file_tells_the_id(made, tmp_path):
    """And a name that tells another one is refused."""
    target = tmp_path / f"{NEW}.jsonl"
    assert made(f"{SESSION}.jsonl", *talk(2), target=target).session_id == NEW
    other = tmp_path / f"{uid(7)}.jsonl"
    with pytest.raises(UsageError, match="another session"):
        made(f"{SESSION}.jsonl", *talk(2), target=other, new_id=NEW)


def test_a_kept_output_of_a_fork_is_looked_for_beside_the_session(made, tmp_path):
    """The record names the file that the session has, which is not copied."""
    words = "<persisted-output>\nsaved to: /x/tool-results/a.txt\nmore"
    lines = [prompt(1, None), answer(2, 1, use("a", "Read")), result(3, 2, "a", words)]
    done = made(f"{SESSION}.jsonl", *lines)
    missing = [f.code for f in api.validate(done.path).findings]
    (tmp_path / SESSION / "tool-results").mkdir(parents=True)
    (tmp_path / SESSION / "tool-results/a.txt").write_text("x")
    there = [f.code for f in api.validate(done.path).findings]
    assert set(missing) - set(there) == {"M712"}


# Codex.


def paged(*more, first=0):
    """A numbered thread."""
    lines = [meta(first, history_mode="paginated"), says("user", "hoist", first + 1), *more]
    return [line | {"ordinal": first + n} for n, line in enumerate(lines)]


def test_codex_copies_an_older_thread_behind_a_header_of_its_own(made):
    """The parent's header stays as the second record, and all other bytes do."""
    header = meta(source="cli", session_id=THREAD, git={"branch": "main"})
    lines = [header, says("user", "x"), says("assistant", "y")]
    done = made(ROLLOUT, *lines, new_id=NEW)
    new, *same = done.path.read_bytes().splitlines(keepends=True)
    assert b"".join(same) == jsonl(*lines)
    payload = json.loads(new)["payload"]
    assert (payload["id"], payload["forked_from_id"]) == (NEW, THREAD)
    assert payload["timestamp"] > "2026-03-01T07"
    assert payload["session_id"] == NEW
    new_ones = ("id", "session_id", "timestamp", "forked_from_id")
    kept = {k: v for k, v in payload.items() if k not in new_ones}
    assert kept == {k: lines[0]["payload"][k] for k in kept}
    assert done.path.name.endswith(f"-{NEW}.jsonl")
    assert not done.by_reference
    assert done.command == f"codex resume {NEW}"


def test_codex_refers_to_a_numbered_thread_in_its_home(made, home):
    """The header tells how far, and lies in the folder of the day."""
    name = f".codex/sessions/2026/03/01/{ROLLOUT}"
    lines = paged(says("assistant", "y"), says("user", "z"))
    done = made(home / name, *lines, new_id=NEW, at="3")
    (new,) = records(done)
    assert new["ordinal"] == 3
    assert new["payload"]["history_base"] == {
        "thread_id": THREAD,
        "end_ordinal_exclusive": 3,
        "end_byte_offset": len(jsonl(*lines[:3])),
    }
    assert new["payload"]["forked_from_ordinal_exclusive"] == 3
    assert new["payload"]["forked_from_id"] == THREAD
    assert done.by_reference
    day = done.path.name.removeprefix("rollout-")[:10].replace("-", "/")
    assert done.path.parent == home / ".codex/sessions" / day
    assert day >= "2026/03/02"
    assert differences(home / name, done.path) == {"equal": 2, "left": 1}


def test_a_fork_that_refers_tells_from_which_session_it_goes_on(made, home, capsys):
    """Else one who reads of it would take it for an empty session."""
    name = f".codex/sessions/2026/03/01/{ROLLOUT}"
    done = made(home / name, *paged(says("assistant", "y")), new_id=NEW)
    with done.path.open("ab") as file:
        file.write(jsonl(says("user", "z", 3), says("assistant", "w", 4)))
    for _ in ("drawn", "taken up"):
        told = memory(done.path)
        assert told.as_dict()["base"] == THREAD
        assert f'It goes on from session "{THREAD}"' in told.render()
    assert api.resume(done.path).base == THREAD
    assert api.resume(home / name).base == ""
    assert main.run(["resume", str(done.path)]) == 0
    assert f"before     session {THREAD}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "why", ["elsewhere", "unended", "disordered", "unnumbered", "to elsewhere"]
)
def test_codex_copies_where_nothing_can_refer_to_the_thread(why, made, home, tmp_path):
    """One header, with the id of the fork; the records stay as they are."""
    folder = "" if why == "elsewhere" else f"{home}/.codex/sessions/2026/03/01/"
    lines = paged(says("assistant", "y"))
    if why == "disordered":
        lines[1]["ordinal"] = 7
    if why == "unnumbered":
        del lines[2]["ordinal"]
    last = [] if why != "unended" else [dump(lines.pop())]
    target = tmp_path / f"rollout-x-{NEW}.jsonl" if why == "to elsewhere" else None
    done = made(f"{folder}{ROLLOUT}", *lines, tail=b"".join(last), new_id=NEW, target=target)
    assert not done.by_reference
    first, *rest = records(done)
    assert (first["payload"]["id"], first["ordinal"]) == (NEW, 0)
    assert "history_base" not in first["payload"]
    assert rest == [*lines[1:], *map(json.loads, last)]


def test_codex_copies_a_thread_that_is_compressed(home):
    """Codex puts another file in its place when it reads it."""
    path = home / f".codex/sessions/2026/03/01/{ROLLOUT}.zst"
    path.parent.mkdir(parents=True)
    path.write_bytes(zstandard.compress(jsonl(*paged(says("assistant", "y")))))
    done = fork(path)
    assert not done.by_reference
    assert done.path.suffix == ".jsonl"
    assert len(records(done)) == done.records == 3


def test_codex_refers_to_no_thread_of_another_kind(made, home):
    """Only a thread that says that it is numbered has forks that refer to it."""
    lines = paged(says("assistant", "y"))
    del lines[0]["payload"]["history_mode"]
    assert not made(home / f".codex/sessions/2026/03/01/{ROLLOUT}", *lines).by_reference


def test_codex_inherits_what_the_thread_before_the_thread_did(made, home):
    """The calls stand in a file of their own, which is named."""
    call = runs("c1", arguments='{"cmd":"rm lamp"}')
    parent = made(home / f".codex/sessions/2026/03/01/{ROLLOUT}", *paged(call, output("c1")))
    with parent.path.open("ab") as handle:
        handle.write(jsonl(runs("c2", ordinal=4, arguments='{"cmd":"rm all"}')))
    both = fork(parent.path).inherited
    assert [(call.line, Path(call.path).name) for call in both] == [
        (3, ROLLOUT),
        (2, parent.path.name),
    ]
    done = fork(parent.path, at="1")
    (inherited,) = done.inherited
    assert (inherited.line, Path(inherited.path).name) == (3, ROLLOUT)
    assert inherited.effects == (("command", "rm lamp"),)
    assert [inherited.line for inherited in parent.inherited] == [3]
    (home / f".codex/sessions/2026/03/01/{ROLLOUT}").unlink()
    done = fork(parent.path, at="1")
    assert done.inherited == ()
    assert THREAD in done.missing


def test_codex_makes_a_subagent_a_thread_of_its_own(made):
    """It has no parent that waits for it."""
    source = {"subagent": {"thread_spawn": {"parent_thread_id": uid(1), "depth": 1}}}
    header = meta(source=source, parent_thread_id=uid(1), thread_source="subagent")
    payload = records(made(ROLLOUT, header, says("user", "x")))[0]["payload"]
    assert (payload["source"], payload["thread_source"]) == ("cli", "user")
    assert "parent_thread_id" not in payload


def test_codex_gets_a_header_where_the_thread_has_lost_its_own(made):
    """With what Codex needs to read it."""
    done = made(ROLLOUT, says("user", "x"), says("assistant", "y"), new_id=NEW)
    first, *same = records(done)
    assert first["type"] == "session_meta"
    assert {"id", "timestamp", "cwd", "originator", "cli_version"} <= first["payload"].keys()
    assert same == [says("user", "x"), says("assistant", "y")]


def test_codex_gets_a_sound_header_of_a_damaged_one(made):
    """What is wrong with the parent's is not wrong twice."""
    damaged = dump(meta()).replace(b"/srv", b"/\xff\0srv")
    done = made(ROLLOUT, damaged, says("user", "x"))
    assert kinds(done.path) == kinds(done.parent) != []
    assert json.loads(done.path.read_bytes().splitlines()[0])["type"] == "session_meta"


def test_codex_forks_the_oldest_shape(made):
    """Its header has no envelope."""
    old = {"id": THREAD, "timestamp": "2025-08-01T06:00:00.000Z", "instructions": None, "git": {}}
    words = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}]}
    first, second = records(made(ROLLOUT, old, words, new_id=NEW))
    assert (first["id"], first["instructions"], second) == (NEW, None, words)


# pi.

PI = f"2026-03-01T06-00-00-000Z_{THREAD}.jsonl"


def test_pi_gets_a_header_that_names_the_file(made, tmp_path):
    """The way to the record follows, byte for byte."""
    lines = [*chat(4), speaks(5, 2, "user", "aside"), *chat(6)[4:]]
    done = made(PI, head(), *lines, at=pid(4), new_id=NEW)
    new, *same = done.path.read_bytes().splitlines(keepends=True)
    header = json.loads(new)
    assert (header["id"], header["parentSession"]) == (NEW, str(tmp_path / PI))
    assert (header["cwd"], header["version"]) == ("/srv/beacon", 3)
    assert b"".join(same) == jsonl(*chat(4))
    assert done.path.name.endswith(f"Z_{NEW}.jsonl")
    assert done.command == f"pi --session {NEW}"


def test_pi_ends_with_the_last_record_of_the_way(made):
    """A branch that was left behind stays there."""
    lines = [*chat(4), speaks(9, 2, "user", "the other way")]
    done = made(PI, head(), *lines)
    assert [r.get("id") for r in records(done)[1:]] == [pid(1), pid(2), pid(9)]


def test_pi_gets_a_header_where_the_session_has_lost_its_own(made):
    """Without one pi overwrites the file."""
    done = made(PI, *chat(2))
    header, *same = records(done)
    assert (header["type"], header["version"]) == ("session", 3)
    assert same == chat(2)


def test_pi_version_1_is_a_copy(tmp_path):
    """Its records have no ids."""
    path = tmp_path / "old.jsonl"
    path.write_bytes((SAMPLES / "good/pi-version-1.jsonl").read_bytes())
    done = fork(path)
    assert done.path.read_bytes().splitlines()[1:] == path.read_bytes().splitlines()[1:]


# astorLM, MyCodeAgent and the plain ones.


def test_astorlm_gets_a_side_file_and_ids_where_there_are_none(made, tmp_path):
    """Ids that are there stay."""
    side = {"id": "s", "metadata": {"lamp": "on"}, "createdAt": 1, "updatedAt": 2}
    (tmp_path / "s.meta.json").write_text(json.dumps(side))
    done = made("s.jsonl", {"id": "m1"} | TAUGHT, TAUGHT, TAUGHT, at="2", new_id="t")
    first, second = records(done)
    assert first == {"id": "m1"} | TAUGHT
    assert uuid.UUID(second.pop("id"))
    assert second == TAUGHT
    text = (tmp_path / "t.meta.json").read_text()
    new = json.loads(text)
    assert text == json.dumps(new, indent=2)
    assert list(new) == ["id", "parentId", "metadata", "createdAt", "updatedAt"]
    assert (new["id"], new["parentId"], new["metadata"]) == ("t", "s", {"lamp": "on"})
    assert new["createdAt"] == new["updatedAt"] > 1_700_000_000_000
    assert stat.S_IMODE((tmp_path / "t.meta.json").stat().st_mode) == 0o600


def test_astorlm_gives_an_id_to_a_record_of_any_shape(made):
    """What stands in it is kept, and it stays a record."""
    done = made("s.jsonl", {"id": "m1"} | TAUGHT, tail=b'{}\n { "role":"user","content":"x"} \n')
    _, empty, spaced = records(done)
    assert list(empty) == ["id"]
    assert list(spaced) == ["id", "role", "content"]


def test_astorlm_has_both_files_or_none(made, tmp_path, monkeypatch):
    """A side file that is there is not overwritten, and then there is no session."""
    (tmp_path / "s.meta.json").write_text('{"id":"s"}')
    (tmp_path / "t.meta.json").write_text("mine")
    monkeypatch.setattr(forking, "create", None)  # before anything is written
    with pytest.raises(WriteError, match="exists already"):
        made("s.jsonl", {"id": "m1"} | TAUGHT, new_id="t")
    assert not (tmp_path / "t.jsonl").exists()
    assert (tmp_path / "t.meta.json").read_text() == "mine"


def test_astorlm_has_no_fork_whose_side_file_cannot_be_written(made, tmp_path, monkeypatch):
    """What was written before is taken away again."""

    def failing(path, chunks, **more):
        if path.name == "t.meta.json":
            raise WriteError("no room")
        create(path, chunks, **more)

    monkeypatch.setattr(forking, "create", failing)
    with pytest.raises(WriteError, match="no room"):
        made("s.jsonl", {"id": "m1"} | TAUGHT, new_id="t")
    assert [path.name for path in tmp_path.iterdir()] == ["s.jsonl"]


def test_mycodeagent_reads_the_records_as_those_of_the_new_session(tmp_path):
    """They differ in nothing but the session; records of another one stay behind."""
    path = tmp_path / "transcript-session-fog-bell.jsonl"
    lines = loads((SAMPLES / "good" / path.name).read_bytes())
    path.write_bytes(jsonl(*lines[:2], lines[2] | {"session_id": "other"}, *lines[3:]))
    done = fork(path, new_id="fog")
    assert done.path.name == "transcript-fog.jsonl"
    assert records(done) == [r | {"session_id": "fog"} for r in [*lines[:2], *lines[3:]]]
    assert (done.left_out, done.command) == (1, "mycodeagent --resume fog")


@pytest.mark.parametrize("key", ["event_id", "line"])
def test_mycodeagent_ends_with_an_event_by_its_id(key, tmp_path):
    """Or by its line."""
    path = tmp_path / "transcript-session-fog-bell.jsonl"
    data = (SAMPLES / "good" / path.name).read_bytes()
    path.write_bytes(data)
    at = loads(data)[3]["event_id"] if key == "event_id" else "4"
    assert fork(path, at=at).records == 4


def test_a_plain_copy_keeps_every_byte(made):
    """Up to the record that is named."""
    odd = b'{"role": "user",  "content": "caf\\u00e9", "n": 1.0}'
    done = made("talk.jsonl", odd, said("assistant"), said("user"), at="2")
    assert done.path.read_bytes() == jsonl(odd, said("assistant"))


# Where it lies, and encrypted ones.


def test_a_session_of_an_agent_is_found_by_its_id_and_forked_beside_it(home, capsys):
    """The agent looks for the fork there."""
    folder = home / ".claude/projects/-srv-beacon"
    folder.mkdir(parents=True)
    (folder / f"{SESSION}.jsonl").write_bytes(jsonl(*talk(2)))
    os.utime(folder / f"{SESSION}.jsonl", (0, 0))
    assert main.run(["fork", SESSION[:9], "--to", NEW]) == 0
    told = capsys.readouterr()
    assert (folder / f"{NEW}.jsonl").is_file()
    assert f"resume     claude --resume {NEW}" in told.out
    assert told.err == ""


def test_what_lies_in_a_home_is_mended_a_minute_later(home, tmp_path, capsys):
    """There what was just written counts as in use, and a repair would be refused."""
    folder = home / ".claude/projects/-srv-beacon"
    folder.mkdir(parents=True)
    path = folder / f"{SESSION}.jsonl"
    path.write_bytes(jsonl(prompt(1, None), answer(2, 1, use("a"))))
    for target, words in ((folder, "and in a minute sesstool repair"), (tmp_path, "and sesstool")):
        assert main.run(["fork", str(path), "-o", str(target)]) == 0
        assert words in capsys.readouterr().err


def test_the_agent_is_not_told_to_resume_what_it_does_not_find(home, tmp_path):
    """A fork that lies elsewhere has no command."""
    folder = home / ".claude/projects/-srv-beacon"
    folder.mkdir(parents=True)
    (folder / f"{SESSION}.jsonl").write_bytes(jsonl(*talk(2)))
    assert fork(folder / f"{SESSION}.jsonl").command
    assert not fork(folder / f"{SESSION}.jsonl", target=tmp_path / f"{NEW}.jsonl").command


def test_a_session_in_use_is_forked_and_told(home, capsys):
    """Reading harms nobody, but what comes later is not in the fork."""
    folder = home / ".claude/projects/-srv-beacon"
    folder.mkdir(parents=True)
    (folder / f"{SESSION}.jsonl").write_bytes(jsonl(*talk(2)))
    assert main.run(["fork", SESSION]) == 0
    assert "is in use: " in capsys.readouterr().err


@pytest.fixture
def sealed(tmp_path, capsys):
    """Encrypt a session; its path and the key."""

    def seal(name, *lines):
        key = tmp_path / "key.txt"
        assert main.run(["keygen", "-o", str(key)]) == 0
        whom = capsys.readouterr().out.split()[-1]
        (tmp_path / name).write_bytes(jsonl(*lines))
        assert main.run(["encrypt", "--write", "--yes", "-r", whom, str(tmp_path / name)]) == 0
        capsys.readouterr()
        return str(tmp_path / f"{name}.age"), str(key)

    return seal


def test_an_encrypted_session_has_a_plain_fork_of_which_the_log_knows(sealed, tmp_path):
    """With its side file, where the format has one."""
    (tmp_path / "s.meta.json").write_text('{"id":"s","metadata":{"lamp":"on"}}')
    path, key = sealed("s.jsonl", {"id": "m1"} | TAUGHT)
    assert not (tmp_path / "s.meta.json").exists()
    assert main.run(["fork", path, "-i", key, "--to", "t"]) == 0
    assert loads((tmp_path / "t.jsonl").read_bytes()) == [{"id": "m1"} | TAUGHT]
    assert json.loads((tmp_path / "t.meta.json").read_text())["metadata"] == {"lamp": "on"}
    assert log.copies(api.state_folder(), Path(path))[0] == tmp_path / "t.jsonl"


def test_an_encrypted_session_is_not_forked_without_its_key(sealed, tmp_path, capsys):
    """Nothing is written."""
    path, key = sealed("talk.jsonl", said("user"))
    assert main.run(["fork", path]) == 5
    assert "Traceback" not in capsys.readouterr().err
    assert not list(tmp_path.glob("*fork*"))
    assert main.run(["fork", path, "-i", key]) == 0
    assert "it is in the clear: sesstool encrypt" in capsys.readouterr().err


# The command.


def test_the_command_lists_twenty_calls_and_counts_the_others(tmp_path, capsys):
    """What a target holds cannot act on a terminal."""
    path = tmp_path / f"{SESSION}.jsonl"
    calls = [use(f"c{n}", command=f"touch {n}\x1b[2J") for n in range(25)]
    path.write_bytes(jsonl(prompt(1, None), answer(2, 1, *calls)))
    assert main.run(["fork", str(path)]) == 0
    told = capsys.readouterr()
    assert told.out.count("line 2: Bash touch") == 20
    assert "and 5 more" in told.out
    assert "\x1b" not in told.out
    assert "25 calls at the end have no result" in told.err
    assert "next: sesstool resume" in told.err


def test_piped_sessions_need_a_name(monkeypatch, tmp_path, capsys):
    """There is no folder to put it into."""
    for arguments, code in ((["-"], 2), (["-", "-o", str(tmp_path / "new.jsonl")], 0)):
        piped = io.TextIOWrapper(io.BufferedReader(io.BytesIO(jsonl(said("user")))))
        monkeypatch.setattr(sys, "stdin", piped)
        assert main.run(["fork", *arguments]) == code
    assert (tmp_path / "new.jsonl").read_bytes() == jsonl(said("user"))
    assert "-o" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["missing", "pipe"])
def test_what_cannot_be_opened_is_told_with_the_next_step(kind, tmp_path, capsys):
    """As by every other command."""
    path = tmp_path / "talk.jsonl"
    if kind == "pipe":
        os.mkfifo(path)
    assert main.run(["fork", str(path)]) == 3
    assert "hint: " in capsys.readouterr().err


def test_a_name_with_a_slash_is_a_folder(tmp_path):
    """It is made, if the one above is there; the fork has its own name in it."""
    (tmp_path / "talk.jsonl").write_bytes(jsonl(said("user")))
    for _ in range(2):
        assert main.run(["fork", str(tmp_path / "talk.jsonl"), "-o", f"{tmp_path}/new/"]) == 0
    names = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert names == ["talk-fork-2.jsonl", "talk-fork.jsonl"]
    assert main.run(["fork", str(tmp_path / "talk.jsonl"), "-o", f"{tmp_path}/a/b/"]) == 6
    assert not (tmp_path / "a").exists()


def test_a_fork_is_not_printed(tmp_path, capsys):
    """It is a file of its own."""
    path = tmp_path / "talk.jsonl"
    path.write_bytes(jsonl(said("user")))
    assert main.run(["fork", str(path), "-o", "-"]) == 2
    assert "-o" in capsys.readouterr().err


# The pieces.


def test_a_drawn_id_is_one_that_is_accepted():
    """Ids drawn one after the other have the order of time."""
    drawn = [
        UuidForker.fresh(None, datetime.fromtimestamp(n, UTC), None) for n in (1, 2, 1_800_000_000)
    ]
    assert sorted(drawn) == drawn
    assert [uuid.UUID(one).version for one in drawn] == [7, 7, 7]
    assert not any(map(UuidForker.refusal, drawn))
    assert Forker.refusal("lamp room 2") == ""


@pytest.mark.parametrize(
    ("text", "changes", "expected"),
    [
        ('{"a":1,"b":2}', {"b": b"3"}, '{"a":1,"b":3}'),
        ('{"a":1,"b":2}', {"a": None}, '{"b":2}'),
        ('{"a":1,"b":2}', {"b": None}, '{"a":1}'),
        ('{ "a" : 1 , "b" : 2 }', {"a": None, "b": None, "c": b"3"}, '{ "c":3 }'),
        ('{"a":1,"b":2,"c":3}', {"b": None, "c": None, "d": b"4"}, '{"a":1,"d":4}'),
        ("{}", {"a": b"1", "b": b"2"}, '{"a":1,"b":2}'),
        ("{}", {"a": None}, "{}"),
        ('{"a":1,"a":2}', {"a": b"3"}, '{"a":3,"a":3}'),
        ('{"a":{"b":[1,"}"]},"b":"\\""}', {"b": b"0"}, '{"a":{"b":[1,"}"]},"b":0}'),
        ('\ufeff{"a":1}', {"b": b"2"}, '\ufeff{"a":1,"b":2}'),
    ],
)
def test_members_are_changed_and_all_else_stays(text, changes, expected):
    """Also white space, and what stands twice."""
    assert with_members(text.encode(), changes) == expected.encode()
