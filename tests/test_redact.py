"""`sesstool redact` on sets of files: what it writes, refuses, names and tells."""

import gzip
import hashlib
import json
import os
import signal
import subprocess
import sys

import pytest

from sesstool.api import redaction as api
from sesstool.audit import chain, log
from sesstool.cli.main import run
from sesstool.errors import ResidueError, UsageError
from sesstool.privacy import rewrite
from sesstool.privacy.names import RULES as NAMED
from sesstool.privacy.names import Names, Subject, Term
from tests.conftest import SESSION, THREAD, jsonl

MAIL = "mina.korhonen@kiln-works.fi"
# Made of parts: nothing in this file looks like a credential.
TOKEN = "gh" + "p_" + "aB3dE5gH7jK9" * 3
OLD = 1_700_000_000


def user(text, number=1, **more):
    ids = {
        "timestamp": "2026-03-01T06:00:00.000Z",
        "uuid": f"u{number}",
        "parentUuid": f"u{number - 1}" if number > 1 else None,
    }
    message = {"role": "user", "content": text}
    return {"type": "user", "sessionId": SESSION, "message": message} | ids | more


def answer(content, number, **more):
    return user("", number) | {
        "type": "assistant",
        "message": {"role": "assistant", "id": f"m{number}", "content": content},
        **more,
    }


@pytest.fixture
def session(tmp_path):
    """A session that its owner alone may read, of long ago."""
    folder = tmp_path / "in"
    folder.mkdir()
    path = folder / f"{SESSION}.jsonl"
    put(path, user(f"write to {MAIL}"), user(f"the token is {TOKEN}", 2))
    return path


def put(path, *records):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(jsonl(*records))
    path.chmod(0o600)
    os.utime(path, (OLD, OLD))


def in_place(path, *more):
    return run(["redact", "--write", "--in-place", "--yes", str(path), *more])


def held(path):
    return path.read_bytes().decode()


def test_a_preview_changes_nothing_and_exits_1(session, capsys):
    before = session.read_bytes()
    assert run(["redact", str(session)]) == 1
    assert session.read_bytes() == before
    told = capsys.readouterr()
    assert told.out.startswith("profile resume: ")
    assert MAIL not in told.out + told.err
    assert TOKEN not in told.out + told.err
    assert "next: sesstool redact" in told.err


def test_a_clean_session_exits_0(tmp_path):
    put(tmp_path / "a.jsonl", user("nothing here"))
    assert run(["redact", str(tmp_path / "a.jsonl")]) == 0
    assert run(["redact", "--check", str(tmp_path / "a.jsonl")]) == 0


def test_check_says_whether_there_is_anything(session, capsys):
    assert run(["redact", "--check", str(session)]) == 1
    assert MAIL not in capsys.readouterr().out


def test_in_place_keeps_mode_and_time_and_no_plain_copy(session, home):
    assert in_place(session) == 0
    assert MAIL not in held(session)
    assert TOKEN not in held(session)
    now = session.stat()
    assert (now.st_mode & 0o777, now.st_mtime) == (0o600, OLD)
    left = [p for p in home.rglob("*") if p.is_file() and MAIL.encode() in p.read_bytes()]
    assert left == []
    assert sorted(p.name for p in session.parent.iterdir()) == [session.name]


def test_what_earlier_repairs_kept_of_the_session_goes_with_it(session, home):
    session.write_bytes(session.read_bytes() + f'{{"type":"user","text":"{MAIL}'.encode())
    os.utime(session, (OLD, OLD))
    assert run(["repair", "--write", str(session)]) == 0
    kept = home / ".state" / "sesstool" / "undo"
    assert any(MAIL.encode() in p.read_bytes() for p in kept.rglob("*.bin"))
    assert in_place(session) == 0
    assert not [p for p in kept.rglob("*") if p.is_file() and MAIL.encode() in p.read_bytes()]


def test_the_audit_log_tells_of_the_write_without_values(session, home):
    in_place(session)
    (line,) = (home / ".state" / "sesstool" / "audit.jsonl").read_text().splitlines()
    told = json.loads(line)
    assert (told["action"], told["path"]) == ("redact", str(session))
    assert MAIL not in line


def test_a_value_found_in_one_file_goes_from_all(session):
    """The second file has it without anything that a rule would know it by."""
    other = session.with_name("other.jsonl")
    put(other, user(f"say it again: {TOKEN[:20]} no, {MAIL.upper()}"))
    assert run(["redact", "--write", "--in-place", "--yes", str(session.parent)]) == 0
    assert MAIL.upper() not in held(other)


def test_side_files_go_with_their_session(session):
    output = session.with_suffix("") / "tool-results" / "r1.txt"
    agent = session.with_suffix("") / "subagents" / "agent-1.jsonl"
    meta = agent.with_suffix(".meta.json")
    put(agent, user(f"ask {MAIL}", isSidechain=True, agentId="1"))
    output.parent.mkdir(parents=True)
    output.write_text(f"line\n{MAIL}\n")
    meta.write_text(json.dumps({"agentType": "general", "description": MAIL}, indent=2))
    assert in_place(session) == 0
    for path in (output, agent, meta):
        assert MAIL not in held(path)
    assert held(output).startswith("line\n")
    assert json.loads(held(meta))["agentType"] == "general"


def test_copies_lie_as_the_files_do_and_their_names_hold_no_value(session, tmp_path):
    slug = session.parent / "-home-mina-korhonen-kiln"
    put(slug / "one.jsonl", user("x", cwd="/home/mina.korhonen/kiln"))
    put(slug / f"{MAIL}.jsonl", user(MAIL))
    out = tmp_path / "out"
    assert run(["redact", "-o", str(out), str(session.parent)]) == 0
    names = [str(p.relative_to(out)) for p in out.rglob("*.jsonl")]
    assert len(names) == 3
    assert MAIL not in "".join(names)
    assert all((p.stat().st_mode & 0o777) == 0o600 for p in out.rglob("*.jsonl"))
    assert MAIL in held(session)


def test_a_copy_goes_to_a_file_and_is_not_overwritten(session, tmp_path):
    copy = tmp_path / "copy.jsonl"
    assert run(["redact", "-o", str(copy), str(session)]) == 0
    assert MAIL not in held(copy)
    assert run(["redact", "-o", str(copy), str(session)]) == 6
    assert run(["redact", "--force", "-o", str(copy), str(session)]) == 0


def test_a_copy_never_takes_the_place_of_a_session(session, capsys):
    before = session.read_bytes()
    link = session.with_name("link.jsonl")
    link.symlink_to(session)
    for target in (session, session.parent, link):
        assert run(["redact", "--force", "-o", str(target), str(session)]) == 2
        assert session.read_bytes() == before
        assert "--write --in-place" in capsys.readouterr().err


def test_a_file_that_is_no_session_is_redacted_as_text_among_others(session):
    torn = session.with_name("torn.jsonl")
    torn.write_text('{"text": "' + MAIL)
    os.utime(torn, (OLD, OLD))
    assert run(["redact", "--write", "--in-place", "--yes", str(session.parent)]) == 0
    assert held(torn).startswith('{"text": "⟦EMAIL:')
    assert MAIL not in held(session)


def test_what_holds_the_same_in_an_agents_home_goes_or_is_named(home, capsys):
    """The index of a project goes with its sessions; other files and names are told of."""
    project = home / ".claude" / "projects" / "-home-mina-korhonen-kiln"
    session = project / f"{SESSION}.jsonl"
    put(session, user(MAIL, cwd="/home/mina-korhonen/kiln"))
    (project / "sessions-index.json").write_text(json.dumps({"firstPrompt": MAIL}, indent=1))
    (project / "memory").mkdir()
    (project / "memory" / "MEMORY.md").write_text(MAIL)
    assert run(["redact", "--check", str(home / ".claude")]) == 1
    capsys.readouterr()
    in_home = ["--write", "--in-place", "--yes", "--ignore-live", str(home / ".claude")]
    assert run(["redact", *in_home]) == 0
    assert MAIL not in held(project / "sessions-index.json")
    told = capsys.readouterr().err
    assert MAIL not in held(project / "memory" / "MEMORY.md")
    assert "left alone: values in the name of" in told


@pytest.mark.parametrize("around", ["REDACTED-{}", "REDACTED_{}", "REDACTED0175934a {}"])
def test_the_mark_of_a_stand_in_shields_nothing(session, around):
    put(session, user(f"write to {MAIL}"), user(f"and {around.format(MAIL)}", 2))
    assert in_place(session) == 0
    assert MAIL not in held(session)


def test_a_copy_goes_to_stdout(session, capsysbinary):
    assert run(["redact", "-q", "-o", "-", str(session)]) == 0
    out = capsysbinary.readouterr().out
    assert MAIL.encode() not in out
    assert [json.loads(line)["uuid"] for line in out.splitlines()] == ["u1", "u2"]


def test_a_compressed_session_stays_compressed(session):
    packed = session.with_name("packed.jsonl.gz")
    packed.write_bytes(gzip.compress(session.read_bytes()))
    os.utime(packed, (OLD, OLD))
    assert in_place(packed) == 0
    assert MAIL.encode() not in gzip.decompress(packed.read_bytes())


def test_one_key_gives_one_stand_in_in_all_runs(session, tmp_path):
    key = tmp_path / "key"
    key.write_bytes(b"0123456789abcdef0123456789abcdef")
    outs = [tmp_path / f"{n}.jsonl" for n in range(4)]
    for n, out in enumerate(outs):
        with_key = ["--key", str(key)] if n < 2 else []
        assert run(["redact", *with_key, "-o", str(out), str(session)]) == 0
    assert held(outs[0]) == held(outs[1])
    assert len({held(out) for out in outs}) == 3


def test_a_short_key_is_refused(session, tmp_path):
    key = tmp_path / "key"
    key.write_bytes(b"short")
    assert run(["redact", "--key", str(key), str(session)]) == 2


@pytest.mark.parametrize("profile", ["resume", "share"])
@pytest.mark.parametrize("style", ["tag", "shape", "label"])
def test_a_second_redaction_changes_nothing(session, profile, style):
    assert in_place(session, "--profile", profile, "--style", style) == 0
    once = session.read_bytes()
    assert run(["redact", "--profile", profile, "--style", style, str(session)]) == 0
    assert in_place(session, "--profile", profile, "--style", style) == 0
    assert session.read_bytes() == once


def test_in_place_asks_and_does_nothing_where_nobody_answers(session):
    before = session.read_bytes()
    assert run(["redact", "--write", "--in-place", str(session)]) == 6
    assert session.read_bytes() == before


@pytest.mark.parametrize(
    "options",
    [
        ["--write"],
        ["--in-place"],
        ["--write", "--in-place", "--check"],
        ["--write", "--in-place", "--dry-run"],
        ["--check", "-o", "x"],
        ["--write", "--in-place", "-o", "x"],
        ["--detectors", "nonsense"],
    ],
)
def test_options_that_make_no_sense_are_refused(session, options):
    before = session.read_bytes()
    assert run(["redact", "--yes", *options, str(session)]) == 2
    assert session.read_bytes() == before


def test_detectors_choose(session):
    assert in_place(session, "--detectors", "email") == 0
    assert MAIL not in held(session)
    assert TOKEN in held(session)


def test_a_session_in_utf_16_is_refused_with_the_next_step(tmp_path, capsys):
    path = tmp_path / "wide.jsonl"
    path.write_bytes(jsonl(user(MAIL)).decode().encode("utf-16"))
    assert run(["redact", str(path)]) == 3
    assert "repair" in capsys.readouterr().err


def thought(text):
    return {"type": "thinking", "thinking": text, "signature": "QUJD" * 20}


def call(number):
    return {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": "ls"}}


def result(number):
    return [{"type": "tool_result", "tool_use_id": f"t{number}", "content": "x"}]


def test_thinking_that_an_open_turn_begins_with_is_refused(session, capsys):
    put(session, user("go"), answer([thought(MAIL), call(1)], 2), user(result(1), 3))
    before = session.read_bytes()
    assert run(["redact", str(session)]) == 1
    assert "P807" in capsys.readouterr().out
    assert in_place(session) == 2
    assert session.read_bytes() == before
    assert "--profile share" in capsys.readouterr().err
    assert in_place(session, "--profile", "share") == 0


def test_thinking_goes_where_the_turn_is_over(session):
    said = answer([{"type": "text", "text": "done"}], 4)
    put(session, user("go"), answer([thought(MAIL), call(1)], 2), user(result(1), 3), said)
    assert in_place(session) == 0
    kept = json.loads(held(session).splitlines()[1])["message"]["content"]
    assert [block["type"] for block in kept] == ["tool_use"]


def test_nothing_is_written_where_verification_fails(session, monkeypatch, capsys):
    """A rewriting that leaves a value behind is caught by another way of reading."""
    whole = rewrite.edited

    def broken(line, changes):
        return whole(line, [c for c in changes if b"EMAIL" not in c[2]])

    monkeypatch.setattr(rewrite, "edited", broken)
    before = session.read_bytes()
    assert in_place(session) == 6
    assert session.read_bytes() == before
    told = capsys.readouterr()
    assert MAIL not in told.out + told.err
    with pytest.raises(ResidueError):
        api.redact([session])


def test_a_field_that_must_stay_is_watched(session, monkeypatch):
    whole = rewrite.edited
    monkeypatch.setattr(rewrite, "edited", lambda line, c: whole(line, c).replace(b'"u2"', b'"u9"'))
    assert in_place(session) == 6


def test_an_unknown_detector_is_named(session):
    with pytest.raises(UsageError, match="there is no detector x"):
        api.redact([session], api.Choice(detectors=("x",)))


def test_forks_by_reference_go_on_pointing_at_the_same_record(home):
    """A Codex fork names a byte offset of its parent, which moves when the parent is redacted."""
    folder = home / ".codex" / "sessions" / "2026" / "03" / "01"
    parent = folder / f"rollout-2026-03-01T06-00-00-{THREAD}.jsonl"
    child = folder / f"rollout-2026-03-01T07-00-00-{THREAD[:-1]}f.jsonl"
    meta = {"id": THREAD, "timestamp": "t", "cwd": "/", "originator": "o", "cli_version": "1"}
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": MAIL}]}
    records = [
        {"timestamp": "t", "type": "session_meta", "payload": meta},
        {"timestamp": "t", "type": "response_item", "payload": item},
    ]
    put(parent, *records, {"timestamp": "t", "type": "event_msg", "payload": {"type": "x"}})
    base = {
        "thread_id": THREAD,
        "end_ordinal_exclusive": 2,
        "end_byte_offset": len(jsonl(*records)),
    }
    put(child, {"timestamp": "t", "type": "session_meta", "payload": meta | {"history_base": base}})
    assert in_place(parent) == 0
    after = json.loads(held(child))["payload"]["history_base"]["end_byte_offset"]
    assert parent.read_bytes()[:after] == b"".join(parent.read_bytes().splitlines(True)[:2])


def test_a_value_that_streamed_in_pieces_goes(session):
    """Neither piece alone would be known for what it is."""
    pieces = ("the token ", TOKEN[:9], TOKEN[9:20], TOKEN[20:] + " and", " more")
    put(
        session,
        *(
            {
                "type": "response.output_text.delta",
                "item_id": "m1",
                "sequence_number": n,
                "delta": d,
            }
            for n, d in enumerate(pieces)
        ),
        {"type": "response.output_text.delta", "item_id": "m2", "delta": TOKEN[:9]},
    )
    out = session.with_name("out.jsonl")
    assert run(["redact", "--format", "openai-responses", "-o", str(out), str(session)]) == 0
    texts = [json.loads(line)["delta"] for line in held(out).splitlines()]
    assert texts[0] == "the token "
    assert texts[1].startswith("⟦TOKEN:")
    assert texts[2:] == ["", " and", " more", TOKEN[:9]]


@pytest.mark.parametrize("beside", [rb"\ud83d", rb"\ude00\ud83d", b"\xed\xa0\xbd", b"\xed"])
@pytest.mark.parametrize("unreadable", ["text", "skip"])
def test_a_value_beside_half_a_character_goes(session, beside, unreadable):
    """Node writes such halves where it cuts a text; the line is JSON for all that."""
    raw = session.read_bytes().replace(MAIL.encode(), beside + MAIL.encode() + beside)
    session.write_bytes(raw.replace(b'"u1"', b'"%s"' % MAIL.encode()))
    os.utime(session, (OLD, OLD))
    assert in_place(session, "--unreadable", unreadable) == 0
    first = session.read_bytes().splitlines()[0]
    if beside == b"\xed":  # no JSON for any reader
        assert (MAIL.encode() in first) == (unreadable == "skip")
    else:
        told = json.loads(first)
        assert MAIL not in told["message"]["content"]
        assert told["uuid"] == MAIL, "a field that must stay"


@pytest.mark.parametrize("line", [b'\xef\xbb\xbf{"uuid":"%s"}', b'{"a":NaN,"uuid":"%s"}'])
def test_what_only_lenient_readers_take_for_json_keeps_its_fields(session, line):
    session.write_bytes(line % MAIL.encode() + b"\n" + session.read_bytes())
    os.utime(session, (OLD, OLD))
    assert in_place(session) == 0
    assert session.read_bytes().startswith(line % MAIL.encode())


def test_nothing_that_is_kept_of_a_write_in_place_has_a_value_of_a_path(
    home, tmp_path, monkeypatch
):
    """The path is a person's, as is the account; what is kept says the file by its hash."""
    folder = tmp_path / "home" / "mina.korhonen" / f"to-{MAIL}"
    monkeypatch.setattr(chain, "_actor", lambda: {"uid": 7, "login": "mina.korhonen"})
    monkeypatch.setattr(chain.platform, "node", lambda: "of-mina.korhonen")
    path = folder / f"{SESSION}.jsonl"
    put(path, user(f"in /home/mina.korhonen/kiln, to {MAIL}"))
    key = tmp_path / "key"
    key.write_bytes(b"0123456789abcdef0123456789abcdef")
    assert in_place(path, "--key", str(key)) == 0
    state = home / ".state" / "sesstool"
    kept = b"".join(p.read_bytes() for p in state.rglob("*") if p.is_file())
    for value in ("mina.korhonen", MAIL):
        assert value.encode() not in kept
        assert value.encode().hex().encode() not in kept
    (line,) = log.read(state)
    assert line["actor"] == {"uid": 7, "login": ""}
    assert line["path"].endswith(f"/{SESSION}.jsonl")
    assert line["after"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_file_that_is_left_alone_is_named_without_values(home, capsys, monkeypatch):
    project = home / ".claude" / "projects" / "-home-mina-korhonen-kiln"
    put(project / f"{SESSION}.jsonl", user(MAIL, cwd="/home/mina-korhonen/kiln"))
    (project / "memory").mkdir()
    (project / "memory" / "MEMORY.md").write_text(MAIL)
    monkeypatch.chdir(home)
    assert run(["redact", ".claude"]) == 1
    told = capsys.readouterr().err
    assert "mina-korhonen" not in told


def test_names_that_hold_values_are_told_in_place(tmp_path, capsys, monkeypatch):
    """The agent finds a session by its name; a copy can have another one."""
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "all" / f"of-{MAIL}" / "a.jsonl", user(f"write to {MAIL}"))
    assert in_place("all") == 0
    told = capsys.readouterr()
    assert "left alone: values in the name of all/EMAIL-" in told.err
    assert "next: sesstool redact -o" in told.err
    assert run(["redact", "--check", "all"]) == 1
    told_by_check = capsys.readouterr()
    assert "values in the names of 1 file" in told_by_check.out
    assert run(["redact", "all"]) == 1
    preview = capsys.readouterr()
    assert "next: sesstool redact -o" in preview.err
    assert "--in-place" not in preview.err
    for one in (told, told_by_check, preview):
        assert MAIL not in one.out + one.err
    assert run(["redact", "-o", "copies", "all"]) == 0
    (copy,) = (tmp_path / "copies").rglob("*.jsonl")
    assert run(["redact", "--check", str(copy)]) == 0


@pytest.mark.parametrize("name", [".claude", "backup"])
def test_text_beside_the_sessions_of_a_folder_goes_with_them(tmp_path, name):
    """What the user named the folder of is theirs to clean; a session alone takes nothing along."""
    top = tmp_path / name
    project = top / "projects" / "-srv-kiln"
    beside = {
        top / "history.jsonl": json.dumps({"display": MAIL}) + "\n",
        top / "plans" / "p.md": f"# ask {MAIL}\n",
        top / "todos" / "other.json": json.dumps([{"content": MAIL}]),
        top / "paste-cache" / "1.txt": f"{MAIL}\n",
        project / "memory" / "MEMORY.md": f"- {MAIL}\n",
    }
    session = project / f"{SESSION}.jsonl"
    put(session, user("nothing"))
    for path, text in beside.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (OLD, OLD))
    assert in_place(session, "--ignore-live") == 0
    assert {path: path.read_text() for path in beside} == beside
    assert run(["redact", "-o", str(tmp_path / "out"), str(top)]) == 0
    assert in_place(top, "--ignore-live") == 0
    for folder in (top, tmp_path / "out"):
        assert not [p for p in folder.rglob("*") if p.is_file() and MAIL in p.read_text()]
        assert len([p for p in folder.rglob("*") if p.is_file()]) == 6


def test_databases_of_codex_are_told_with_what_takes_their_text_away(home, capsys):
    folder = home / ".codex" / "sessions" / "2026" / "03" / "01"
    meta = {"id": THREAD, "timestamp": "t", "cwd": "/", "originator": "o", "cli_version": "1"}
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": MAIL}]}
    put(
        folder / f"rollout-2026-03-01T06-00-00-{THREAD}.jsonl",
        {"timestamp": "t", "type": "session_meta", "payload": meta},
        {"timestamp": "t", "type": "response_item", "payload": item},
    )
    (home / ".codex" / "state_5.sqlite").write_bytes(b"")
    assert in_place(home / ".codex") == 0
    told = capsys.readouterr().err
    assert "with Codex closed, delete state_5.sqlite, state_5.sqlite-wal and" in told


def test_lines_that_are_encoded_too_often_to_look_at_are_told(tmp_path, capsys):
    text = "\\%255C&amp;\x1b[m\\x41\\u0041" * 3000
    report = tmp_path / "report.json"
    put(tmp_path / "a.jsonl", user("fine"), user(text, 2))
    assert run(["redact", "--report", str(report), str(tmp_path / "a.jsonl")]) == 0
    told = capsys.readouterr()
    assert "P804 information lines encoded too often to look at all of them: 1" in told.out
    assert "1 line, first line 2, encoded too often" in told.err
    (deep,) = [
        x for x in json.loads(report.read_text())["not_inspected"] if "encodings" in x["what"]
    ]
    assert deep["count"] == 1


def test_a_slash_behind_the_name_of_a_folder_makes_a_folder(session, tmp_path):
    assert run(["redact", "-o", f"{tmp_path / 'out'}/", str(session)]) == 0
    assert MAIL not in held(tmp_path / "out" / session.name)


def test_what_a_folder_holds_goes_into_a_folder_however_much_it_is(session, tmp_path):
    assert run(["redact", "-o", str(tmp_path / "out"), str(session.parent)]) == 0
    assert MAIL not in held(tmp_path / "out" / session.name)


def test_an_allow_list_that_names_no_rule_is_refused(session, tmp_path, capsys):
    allowed = tmp_path / "allow.toml"
    allowed.write_text('[[allow]]\nrule = "emial"\n')
    assert run(["redact", "--allow", str(allowed), str(session)]) == 2
    assert "hint: the nearest is email" in capsys.readouterr().err
    for rule in ("email", "term", "subject-name", "known-value"):
        allowed.write_text(f'[[allow]]\nrule = "{rule}"\n')
        assert run(["redact", "--allow", str(allowed), "--exit-zero", str(session)]) == 0


def test_the_rules_of_what_the_user_names_are_listed():
    found = Names([Term("Kiln")], Subject.of(["Mina Korhonen", MAIL, "minak", "+358401234567"]))
    rules = {rule.id for _, rule in found._terms} | {form.rule.id for form in found._forms}
    assert rules == set(NAMED)


@pytest.mark.parametrize(
    ("options", "code", "hint"),
    [
        (["--key", "none"], 3, "make one: head -c 32"),
        (["--report", "none/r.json"], 6, "mkdir -p none"),
        (["--vault", "none/v", "-i", "k", "-o", "c.jsonl"], 6, "mkdir -p none"),
        (["--vault", "v", "-i", "none", "-o", "c.jsonl"], 3, "make one: head -c 32"),
    ],
)
def test_a_file_that_is_not_there_is_told_with_the_next_step(
    session, tmp_path, monkeypatch, capsys, options, code, hint
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k").write_bytes(bytes(range(40)))
    assert run(["redact", *options, str(session)]) == code
    assert hint in capsys.readouterr().err
    assert not (tmp_path / "c.jsonl").exists()


def test_a_vault_that_is_not_there_is_told_with_the_next_step(session, tmp_path, capsys):
    key = tmp_path / "k"
    key.write_bytes(bytes(range(40)))
    assert run(["unredact", "--vault", str(tmp_path / "v"), "-i", str(key), str(session)]) == 3
    assert "hint: name the file that was given to redact --vault" in capsys.readouterr().err


def test_findings_are_shown_once_with_v(session, capsys):
    assert run(["redact", "-v", str(session)]) == 1
    out = capsys.readouterr().out
    assert out.count("P802") == out.count("P801") == 1
    assert f"{session.name}:2:" in out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("copies", [0, 1])
def test_a_run_that_is_stopped_says_what_it_wrote(session, tmp_path, number, copies):
    """And leaves nothing else, nor names an undo that could take nothing back."""
    put(session.with_name("b.jsonl"), user(MAIL))
    out = tmp_path / "out"
    script = f"""
import itertools, os, signal, sys
from sesstool.api import publishing
from sesstool.cli import main
made, create = itertools.count(), publishing.create
def stopped(*arguments, **more):
    if next(made) == {copies}:
        os.kill(os.getpid(), {int(number)})
    create(*arguments, **more)
publishing.create = stopped
sys.argv = ["sesstool", "redact", "-o", {str(out)!r}, {str(session.parent)!r}]
main.main()
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 130
    told = "written: 1 of 2 files, each of them whole" if copies else "nothing was written"
    assert f"sesstool: interrupted; {told}\n" in done.stderr
    assert "undo" not in done.stderr
    assert len([p for p in out.rglob("*") if p.is_file()]) == copies


@pytest.mark.parametrize("style", ["tag", "shape", "label"])
def test_copies_have_no_user_in_their_names_that_only_the_path_names(tmp_path, style):
    """A folder's name can hold the user's although no session does; none is written over."""
    top, out = tmp_path / "projects", tmp_path / "out"
    for name in ("mina", "sara"):
        put(top / f"-home-{name}-kiln" / f"{SESSION}.jsonl", user("nothing", cwd="/srv"))
    assert run(["redact", "--style", style, "-o", str(out), str(top)]) == 0
    copies = [str(p.relative_to(out)) for p in out.rglob("*") if p.is_file()]
    assert len(copies) == 2
    assert not [one for one in copies if "mina" in one or "sara" in one]
    assert run(["redact", "--check", str(out)]) == 0


def test_a_name_that_is_no_secret_stays(tmp_path):
    folder = "-private-var-folders-t5-6tq8cxtj20z035rv8hsnzwvh0000gn-T-capture-uWqiCc"
    put(tmp_path / "projects" / folder / f"{SESSION}.jsonl", user(f"to {MAIL}"))
    put(tmp_path / "projects" / "b" / f"{SESSION}.jsonl", user(f"to {MAIL}"))
    out = tmp_path / "out"
    assert run(["redact", "-o", str(out), str(tmp_path / "projects")]) == 0
    assert (out / folder / f"{SESSION}.jsonl").exists()


def test_a_link_beside_the_sessions_leads_nowhere_else(tmp_path):
    """What lies elsewhere is not the folder that was named."""
    project = tmp_path / "projects" / "a"
    other = tmp_path / "other.md"
    other.write_text(MAIL)
    put(project / f"{SESSION}.jsonl", user(f"to {MAIL}"))
    (project / "memory").mkdir()
    (project / "memory" / "link.md").symlink_to(other)
    (project / "memory" / "dangling.md").symlink_to(tmp_path / "none")
    assert in_place(tmp_path / "projects", "--ignore-live") == 0
    assert other.read_text() == MAIL


def test_other_files_of_a_folder_are_told(tmp_path, capsys):
    """What is no part of a session is not looked at: that is said, once, and in the report."""
    top, report = tmp_path / "projects", tmp_path / "report.json"
    put(top / "a" / f"{SESSION}.jsonl", user(f"to {MAIL}"))
    (top / "settings.json").write_text(f'{{"mail": "{MAIL}"}}')
    (top / "CLAUDE.md").write_text(f"write to {MAIL}")
    assert run(["redact", "--report", str(report), str(top)]) == 1
    told = capsys.readouterr().err
    beside = "2 other files in what was named, such as"
    assert f"left alone: {beside}" in told
    assert MAIL not in told
    left = json.loads(report.read_bytes())["not_inspected"]
    assert [one["count"] for one in left if one["file"] == "other files"] == [2]
    assert in_place(top, "--ignore-live") == 0
    assert beside in capsys.readouterr().err


@pytest.mark.parametrize("below", ["", "out"])
def test_copies_do_not_go_into_what_is_redacted(tmp_path, capsys, below):
    top = tmp_path / "projects"
    put(top / "a" / f"{SESSION}.jsonl", user(f"to {MAIL}"))
    before = sorted(top.rglob("*"))
    assert run(["redact", "-o", str(top / below), str(top)]) == 2
    assert "lies in a folder that is redacted" in capsys.readouterr().err
    assert sorted(top.rglob("*")) == before
