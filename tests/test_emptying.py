"""`prune` with redact-payload: the output of tools goes from sessions, and they stay."""

import gzip
import json
import os

import pytest

from sesstool import api
from sesstool.api import emptying, retaining
from sesstool.audit import log
from sesstool.cli.main import run
from sesstool.encryption import keys
from sesstool.records import transact
from sesstool.records import undo as journal
from sesstool.retention import policy
from tests.conftest import SESSION, codes, dump, jsonl, loads
from tests.faults import command
from tests.seeds import SEEDS

STUB = "[tool output removed by retention rule tool-output]"
OUT = 'the "lamp"\nis lit, čtvrt'
# In all spellings that JSON has for it.
SPELT = [OUT.encode(), dump(OUT)[1:-1], json.dumps(OUT).encode()[1:-1], b"is lit"]
MTIME = 1_772_400_000_123_456_789
POLICY = """version = 1
[defaults]
max_delete_fraction = 1.0
fork = "independent"
[protect]
never = ["pinned", "live"]
[[rule]]
name = "tool-output"
match = { part = "tool-results" }
expire_after = "30d"
action = "redact-payload"
"""
KEPT = "<persisted-output>\nAll of it saved to: /srv/tool-results/out1.txt\n\n" + OUT


def record(kind, number, content, **more):
    """A record of Claude Code that hangs from the one before."""
    message = {"role": kind, "content": content}
    message |= {"id": f"m{number}"} if kind == "assistant" else {}
    return {
        "type": kind,
        "uuid": f"u{number}",
        "parentUuid": f"u{number - 1}" if number > 1 else None,
        "sessionId": SESSION,
        "timestamp": "2026-03-01T06:00:00.000Z",
        "message": message,
        **more,
    }


def talk(output, **more):
    """A call and its result, with a twin for the screen."""
    use = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "look"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": output}
    return jsonl(
        record("user", 1, "look at the lamp", **more),
        record("assistant", 2, [use], **more),
        record("user", 3, [result], toolUseResult={"stdout": OUT, "stderr": ""}, **more),
        record("assistant", 4, [{"type": "text", "text": "It burns."}], **more),
    )


def put(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(0o640)
    os.utime(path, ns=(MTIME, MTIME))
    return path


@pytest.fixture
def session(home):
    """A session in a home, with a subagent, an output in a file of its own, and undo entries."""
    path = put(home / f".claude/projects/-srv/{SESSION}.jsonl", talk(KEPT) + b'{"is lit')
    side = path.with_suffix("")
    put(side / "tool-results/out1.txt", OUT.encode())
    put(side / "subagents/agent-1.jsonl", talk(OUT, isSidechain=True, agentId="1"))
    put(side / "subagents/agent-1.meta.json", b'{"agentType":"scout"}')
    assert run(["repair", "--write", "--no-input", str(path)]) == 0
    assert held(home)
    return path


@pytest.fixture
def prune(tmp_path):
    """Run `prune` by the policy."""
    rules = tmp_path / "retention.toml"
    rules.write_text(POLICY)
    return lambda *more: run(["prune", "--policy", str(rules), "--trust-clock", *map(str, more)])


def held(home):
    """The files below a home that hold output, however it is spelt."""
    files = (path for path in home.rglob("*") if path.is_file())
    return [p for p in files if any(text in p.read_bytes() for text in SPELT)]


def do(prune, *more):
    return prune("--write", "--yes", *more)


def lines_of(state):
    return [(one["action"], one.get("reason"), one["path"]) for one in log.read(state)]


def test_no_output_is_left_in_any_file(session, home, prune, capsys):
    """In the session, its subagent, its output files, and what undo kept of them."""
    before = codes(api.validate(session))
    assert do(prune) == 0
    assert held(home) == []
    assert (session.with_suffix("") / "tool-results/out1.txt").read_text() == f"{STUB}\n"
    assert codes(api.validate(session)) == before
    assert journal.entries(api.state_folder()) == []
    told = capsys.readouterr().out
    assert "redact 2 tool results and 1 file of output, " in told
    assert "lamp" not in told


def test_calls_prompts_and_answers_stay(session, prune):
    before = loads(session.read_bytes())
    assert do(prune) == 0
    after = loads(session.read_bytes())
    assert after[2]["message"]["content"][0].pop("content") == STUB
    assert after[2]["toolUseResult"] == {"stdout": STUB, "stderr": ""}
    before[2]["message"]["content"][0].pop("content")
    before[2].pop("toolUseResult")
    after[2].pop("toolUseResult")
    assert after == before


def test_mode_and_time_stay(session, prune):
    assert do(prune) == 0
    for path in [session, *session.with_suffix("").rglob("*.*")]:
        now = path.stat()
        assert (now.st_mode & 0o777, now.st_mtime_ns) == (0o640, MTIME), path


def test_the_log_names_the_rule(session, prune):
    assert do(prune) == 0
    side = session.with_suffix("")
    paths = [session, side / "subagents/agent-1.jsonl", side / "tool-results/out1.txt"]
    told = [line for line in lines_of(api.state_folder()) if line[0] == "prune"]
    assert sorted(told) == sorted(("prune", "tool-output", str(path)) for path in paths)


def test_a_second_run_has_nothing_to_do(session, prune, capsys):
    assert prune() == 1
    assert do(prune) == 0
    data = session.read_bytes()
    capsys.readouterr()
    assert prune("--all") == 0
    assert "keep" in (told := capsys.readouterr().out)
    assert "no output of tools is left in it" in told
    assert session.read_bytes() == data


@pytest.mark.usefixtures("session")
def test_a_preview_tells_and_changes_nothing(home, prune, capsys):
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    assert prune("-f", "json") == 1
    (told,) = json.loads(capsys.readouterr().out)["sessions"]
    assert told["action"] == "redact-payload"
    size = told["outputs"].pop("bytes")
    assert told["outputs"] == {"results": 2, "files": 1}
    assert size == len(OUT.encode()) + len(dump(KEPT)) + 3 * len(dump(OUT))
    assert {p: p.read_bytes() for p in home.rglob("*") if p.is_file()} == before


@pytest.mark.parametrize("name", SEEDS)
def test_every_format_is_sound_behind_it(name, tmp_path):
    path = put(tmp_path / "in" / name, SEEDS[name])
    if name == "lantern.jsonl":
        put(path.with_name("lantern.meta.json"), b'{"id":"lantern"}')
    before = api.validate(path)
    rule = "tool-output"
    (group,) = retaining.plan(
        [str(path)], policy.parse(POLICY.encode(), "p"), trust_clock=True
    ).rows
    emptying.empty(group.group, rule, api.state_folder(), ignore_live=False)
    assert STUB.encode() in path.read_bytes()
    assert codes(api.validate(path)) == codes(before)
    assert emptying.look(group.group, rule) == (0, 0, 0)
    assert path.stat().st_mtime_ns == MTIME


def test_undo_forgets_files_that_hold_no_output_any_more(session, home, prune):
    """What a repair cut may have been output."""
    put(session, jsonl(record("user", 1, "look")) + b'{"is lit')
    assert run(["repair", "--write", "--no-input", str(session)]) == 0
    assert do(prune) == 0
    assert held(home) == []


def test_a_writer_of_a_fork_keeps_what_it_reads_from(forks, prune, monkeypatch):
    parent, child = forks
    data = parent.read_bytes()
    monkeypatch.setattr(
        "sesstool.formats.codex.Codex.writer", lambda _, path: "at work" * (path == child)
    )
    assert do(prune) == 4
    assert parent.read_bytes() == data


def test_a_compressed_session_stays_compressed(session, prune):
    packed = put(session.with_name(f"{session.name}.gz"), gzip.compress(talk(OUT)))
    session.unlink()
    assert do(prune, packed) == 0
    assert gzip.decompress(packed.read_bytes()).count(STUB.encode()) == 2
    assert b"is lit" not in gzip.decompress(packed.read_bytes())


def test_an_encrypted_session_needs_its_key(session, tmp_path, prune, capsys):
    """Nothing of it is on disk in the clear, before or behind it."""
    identity = keys.generate(pq=False)
    key = tmp_path / "key"
    key.write_bytes(keys.identity_file(identity, "2026-03-01T06:00:00Z"))
    whom = ("-r", identity.recipient().text)
    assert command("encrypt", "--write", "--yes", *whom, session)() == 0
    sealed = session.with_name(f"{session.name}.age")
    data = sealed.read_bytes()
    assert do(prune, "--all") == 0
    assert sealed.read_bytes() == data
    assert "no key was given" in capsys.readouterr().out
    assert do(prune, "-i", key) == 0
    assert sealed.read_bytes() != data
    assert command("decrypt", "--write", "-i", key, session.parent)() == 0
    assert not held(session.parent)
    assert session.read_bytes().count(STUB.encode()) == 2


def test_a_damaged_part_keeps_the_whole(session, prune, capsys):
    """What cannot be looked into may hold output: nothing is said to be gone."""
    agent = session.with_suffix("") / "subagents/agent-1.jsonl"
    put(agent, agent.read_bytes() + b'{"torn')
    data = session.read_bytes()
    assert do(prune, "--all") == 0
    assert session.read_bytes() == data
    assert "line 5 of agent-1.jsonl is no whole record" in capsys.readouterr().out


@pytest.mark.parametrize("why", ["held", "retained", "live", "hard link"])
def test_what_must_stay_as_it_is_stays(why, session, prune, monkeypatch, capsys):
    data = session.read_bytes()
    if why == "held":
        assert run(["hold", "add", "claim", str(session), "--reason", "a claim"]) == 0
    elif why == "retained":
        more = '[[rule]]\nname = "law"\nretain_for = "20y"\n'
        monkeypatch.setitem(globals(), "POLICY", POLICY + more)
    elif why == "live":
        monkeypatch.setattr("sesstool.formats.claude_code.ClaudeCode.writer", lambda *_: "at work")
    else:
        os.link(session, session.with_name("twin"))
    rules = session.parents[3] / "rules.toml"
    rules.write_text(POLICY)
    do(prune, "--all", "--policy", rules)
    assert session.read_bytes() == data
    assert "redact-payload" not in capsys.readouterr().out


def test_a_write_since_the_plan_is_skipped(session):
    wanted = retaining.plan([], policy.parse(POLICY.encode(), "p"), trust_clock=True)
    put(session, session.read_bytes() + jsonl({"type": "summary"}))
    (done,) = retaining.apply(wanted)
    assert "has changed" in done.skipped.message
    assert b"is lit" in session.read_bytes()


class Killed(BaseException):
    """The end of a process."""


def test_a_run_that_is_killed_is_gone_on_with(session, home, prune, monkeypatch):
    """Behind the write of the first file: the log has its line, and undo no output of it."""
    with monkeypatch.context() as patch:
        patch.setattr(journal, "forget", lambda *_: (_ for _ in ()).throw(Killed))
        with pytest.raises(Killed):
            do(prune)
    state = api.state_folder()
    assert (state / "emptying.json").exists()
    assert b"is lit" not in session.read_bytes()
    assert any(state in path.parents for path in held(home))
    assert do(prune) == 0
    assert held(home) == []
    told = [line for line in lines_of(state) if line[0] == "prune"]
    assert told.count(("prune", "tool-output", str(session))) == 1
    assert len(told) == 3
    assert not (state / "emptying.json").exists()


@pytest.mark.usefixtures("session")
def test_a_run_with_nothing_to_do_ends_one_that_was_killed(prune, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(log, "append", lambda *_, **__: (_ for _ in ()).throw(Killed))
        with pytest.raises(Killed):
            do(prune)
    wanted = retaining.plan([], policy.parse(b"version = 1", "p"), trust_clock=True)
    assert list(retaining.apply(wanted)) == []
    assert [line[0] for line in lines_of(api.state_folder())].count("prune") == 1
    assert not (api.state_folder() / "emptying.json").exists()


def test_a_write_that_fails_leaves_the_file_and_the_next_run_does_it(
    session, home, prune, monkeypatch
):
    data = session.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *_, **__: (_ for _ in ()).throw(OSError(28, "full")))
        patch.setattr("sesstool.records.write._exchange", os.replace)
        assert do(prune) != 0
    assert session.read_bytes() == data
    assert do(prune) == 0
    assert held(home) == []


PARENT = "0123abcd-0000-7000-8000-00000000000a"
CHILD = "0123abcd-0000-7000-8000-00000000000b"


@pytest.fixture
def forks(home):
    """A Codex rollout with output, and a fork that reads its beginning from it."""

    def row(number, kind, **payload):
        when = "2026-03-01T06:00:00.000Z"
        return {"timestamp": when, "ordinal": number, "type": kind, "payload": payload}

    call = {"name": "exec", "arguments": "{}", "call_id": "call_aaaaaa"}
    parent = jsonl(
        row(0, "session_meta", id=PARENT, timestamp="t", cwd="/srv", cli_version="0.171.0"),
        row(1, "response_item", type="function_call", **call),
        row(2, "response_item", type="function_call_output", call_id="call_aaaaaa", output=OUT),
    )
    base = {"thread_id": PARENT, "end_byte_offset": len(parent), "end_ordinal_exclusive": 3}
    child = jsonl(row(0, "session_meta", id=CHILD, cwd="/srv", history_base=base))
    folder = home / ".codex/sessions/2026/03/01"
    name = "rollout-2026-03-01T06-00-00-{}.jsonl"
    return put(folder / name.format(PARENT), parent), put(folder / name.format(CHILD), child)


def base_of(child):
    return loads(child.read_bytes())[0]["payload"]["history_base"]["end_byte_offset"]


def test_databases_of_the_agent_are_named(forks, prune, capsys):
    """They hold what tools returned as well, and are made anew."""
    database = put(forks[0].parents[4] / "thread_history_1.sqlite", b"x")
    assert prune() == 1
    assert f"stays: {database} may hold some of it; with Codex closed, delete" in (
        capsys.readouterr().out
    )


def test_a_fork_by_reference_reads_the_same_records(forks, prune):
    parent, child = forks
    assert do(prune) == 0
    assert STUB.encode() in parent.read_bytes()
    assert base_of(child) == parent.stat().st_size
    assert child.stat().st_mtime_ns == MTIME


def test_a_held_fork_keeps_what_it_reads_from(forks, prune, capsys):
    parent, child = forks
    data = parent.read_bytes()
    assert run(["hold", "add", "claim", str(child), "--reason", "a claim"]) == 0
    assert do(prune, "--all") == 0
    assert parent.read_bytes() == data
    assert f"the fork {CHILD}, which is held" in capsys.readouterr().out


def test_a_fork_is_true_again_behind_a_kill(forks, prune, monkeypatch):
    parent, child = forks
    with monkeypatch.context() as patch:
        patch.setattr(transact, "apply_file", lambda *_, **__: (_ for _ in ()).throw(Killed))
        with pytest.raises(Killed):
            do(prune)
    assert base_of(child) != parent.stat().st_size
    assert do(prune) == 0
    assert base_of(child) == parent.stat().st_size
