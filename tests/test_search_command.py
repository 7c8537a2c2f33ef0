"""`sesstool search`: what it prints, what it leaves out and says so, and how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from sesstool.audit import log
from sesstool.cli import main
from sesstool.encryption import age, keys
from sesstool.records.undo import state_folder
from tests.conftest import SESSION, THREAD, answer, dump, jsonl, prompt, result, use
from tests.seeds import SEEDS
from tests.test_output_schemas import judge, printed

SAID = [
    prompt(1, None, "light the lamp"),
    answer(2, 1, use("t1", "Bash", command="fill lamp")),
    result(3, 2, "t1", "the \x1b[31mlamp\u202e is full"),
]


@pytest.fixture
def session(home):
    """A session of Claude Code, in its home."""
    path = home / ".claude" / "projects" / "-srv-beacon" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(jsonl(*SAID))
    return path


def search(capsys, *arguments, code=0):
    """Run it; the two streams."""
    assert main.run(["search", *map(str, arguments)]) == code
    return capsys.readouterr()


@pytest.mark.usefixtures("session")
def test_the_sessions_of_this_computer_are_searched(capsys):
    """Without a path the agents' homes are searched, and it is told how to go on."""
    out, err = search(capsys, "LAMP")
    assert out == (
        "light the lamp\n"
        f"  claude-code  /srv/beacon  ~/.claude/projects/-srv-beacon/{SESSION}.jsonl  {SESSION}\n"
        "     1  2026-03-01 06:00  user  light the «lamp»\n"
        "     2  2026-03-01 06:00  CALL Bash  fill «lamp»\n"
        "     3  2026-03-01 06:00  RESULT Bash  the ␛[31m«lamp»<U+202E> is full\n"
        f"  resume: cd /srv/beacon && claude --resume {SESSION}\n\n"
    )
    assert err == "3 hits in 1 session; 1 searched\n"


@pytest.mark.usefixtures("session")
def test_nothing_found_exits_1(capsys):
    """Where nothing is found, the exit code says so, and nothing is printed."""
    out, err = search(capsys, "lantern", code=1)
    assert (out, err) == ("", "0 hits in 0 sessions; 1 searched\n")


def test_one_line_a_hit(session, capsys):
    """With -f concise each line has the path and the line, and no control character."""
    out, _ = search(capsys, "lamp", "-f", "concise", "--limit", "2", "--color", "always", session)
    assert out.splitlines() == [
        f"{session}:1: user: light the «\x1b[1;31mlamp\x1b[0m»",
        f"{session}:2: CALL Bash: fill «\x1b[1;31mlamp\x1b[0m»",
        f"{session}: … and up to 1 line more; --limit 0 shows all",
    ]


def test_only_the_files(session, capsys):
    """With -l the paths alone are printed."""
    assert search(capsys, "lamp", "-l").out == f"{session}\n"


def test_json_obeys_the_schema(session, capsys):
    """The document and each line of -f jsonl are as the schema has them."""
    other = session.with_name("other.jsonl")
    other.write_bytes(jsonl(*SAID[:1]))
    arguments = ["search", "lamp", "-f", "json", "--limit", "1"]
    value = printed(capsys, "search", *arguments, code=0)
    assert [len(one["hits"]) for one in value["sessions"]] == [1, 1]
    assert sorted(one["more"] for one in value["sessions"]) == [0, 2]
    printed(capsys, "search", "search", "none of it", "-f", "json", code=1)
    bare = printed(capsys, "search", *arguments, "-l", code=0)
    assert [one["hits"] for one in bare["sessions"]] == [[], []]
    hits = judge("search").evolve(schema=judge("search").schema["$defs"]["hit"])
    lines = search(capsys, "lamp", "-f", "jsonl").out.splitlines()
    assert len(lines) == 4
    for line in lines:
        hits.validate(json.loads(line))
        assert json.loads(line)["session"]["resume"].startswith(
            "cd /srv/beacon && claude --resume "
        )


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--agent", "claude-code"], 0),
        (["--agent", "codex"], 1),
        (["--project", "/srv/beacon"], 0),
        (["--project", "beacon"], 0),
        (["--project", "mill"], 1),
        (["--role", "User"], 0),
        (["--role", "system"], 1),
        (["--tool", "bash"], 0),
        (["--tool", "read"], 1),
        (["--since", "2026-03-01"], 0),
        (["--since", "2026-03-02"], 1),
        (["--until", "2026-03-01"], 0),
        (["--until", "2026-02-28"], 1),
    ],
)
@pytest.mark.usefixtures("session")
def test_filters(capsys, options, code):
    """Each filter keeps what it names, and nothing else."""
    search(capsys, "lamp", *options, code=code)


def test_encrypted_sessions_are_searched_with_a_key(session, capsys, tmp_path):
    """With its key an encrypted session is searched; without, that it was not is told."""
    key = keys.generate(pq=False)
    sealed = session.with_name(f"{SESSION}.jsonl.age")
    sealed.write_bytes(b"".join(age.encrypt([session.read_bytes()], [key.recipient()])))
    session.unlink()
    identity = tmp_path / "key"
    identity.write_text(f"{key.secret_text}\n")
    identity.chmod(0o600)
    assert "«lamp»" in search(capsys, "lamp", "-i", identity).out
    out, err = search(capsys, "lamp", code=3)
    assert out == ""
    assert "not searched, for no key opens them: 1 encrypted" in err
    assert "-i FILE" in err
    assert str(sealed) in search(capsys, "lamp", "-v", code=3).err


def test_what_cannot_be_searched_ends_nothing(session, capsys, tmp_path):
    """Files that are no sessions, broken or pipes are told, and the others are searched."""
    (session.parent / "torn.jsonl").write_bytes(jsonl(*SAID[:1]) + dump(SAID[0])[:-3])
    (session.parent / "link.jsonl").symlink_to(tmp_path / "nowhere")
    os.mkfifo(session.parent / "pipe.jsonl")
    (session.parent / "strange.jsonl").write_bytes(b'{"a": "lamp"}\n' * 3)
    out, err = search(capsys, "lamp")
    assert out.count("«lamp»") == 4
    told = (
        "torn.jsonl: 1 damaged record",
        "link to nothing",
        "a pipe",
        "strange.jsonl is no session",
    )
    for words in told:
        assert words in err
    assert "Traceback" not in err


def test_a_new_file_is_told_to_the_log(session, capsys, tmp_path):
    """What -o writes holds session text, so the log knows it as a copy of the session."""
    target = tmp_path / "found.txt"
    search(capsys, "lamp", "-o", target)
    assert "«lamp»" in target.read_text()
    assert [line["of"] for line in log.read(state_folder())] == [str(session)]
    search(capsys, "lamp", "-o", target, code=6)


@pytest.mark.parametrize("name", SEEDS)
def test_every_format_is_searched(name, tmp_path, capsys):
    """In each format a person's words are found, whatever the file says beside them."""
    path = tmp_path / name
    path.write_bytes(SEEDS[name])
    assert "user: " in search(capsys, "the café", "-f", "concise", path).out


def test_a_closed_pipe_ends_it(session):
    """Whoever reads the first line only gets it, and the command ends without a word."""
    session.write_bytes(jsonl(*(prompt(n, n - 1 or None, "lamp " * 50) for n in range(1, 3000))))
    command = [sys.executable, "-m", "sesstool", "search", "lamp", "--limit", "0"]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert run.stdout is not None
    assert run.stderr is not None
    assert run.stdout.readline()
    run.stdout.close()
    assert run.wait(30) == 141
    assert run.stderr.read() == b""
    run.stderr.close()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["  "], "nothing is looked for"),
        (["(", "--regex"], "cannot be read"),
        (["lamp", "-"], "search reads files"),
        (["l.mp", "--regex", "--index"], "no expressions"),
        (["=>", "--index"], "none is looked for"),
    ],
)
def test_what_cannot_be_looked_for(capsys, arguments, told):
    """What cannot be asked is an error of usage that tells why."""
    assert told in search(capsys, *arguments, code=2).err


def test_codex_says_it_once(home, capsys):
    """The record that a client shows beside what the model gets is no second hit."""
    folder = home / ".codex" / "sessions" / "2026" / "03" / "01"
    folder.mkdir(parents=True)
    path = folder / f"rollout-2026-03-01T06-00-00-{THREAD}.jsonl"
    head = {"id": THREAD, "timestamp": "2026-03-01T06:00:00Z", "cwd": "/srv", "originator": "c"}
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "lamp"}]}
    rows = [("session_meta", head), ("response_item", said)]
    rows.append(("event_msg", {"type": "user_message", "message": "lamp"}))
    time = "2026-03-01T06:00:00Z"
    path.write_bytes(jsonl(*({"timestamp": time, "type": t, "payload": p} for t, p in rows)))
    assert search(capsys, "lamp", "-f", "concise").out.count("«lamp»") == 1
