"""Who is at work on a session: real processes that hold files and locks, or run in a folder.

Each is killed then, and its session counts as broken off, with what its tools may have done.
"""

from __future__ import annotations

import json
import os
import platform
import re
import select
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sesstool.cli.main import run
from sesstool.library import situation
from sesstool.library.discover import discover
from sesstool.library.living import marked
from sesstool.library.overview import survey
from tests.conftest import (
    ROLLOUT,
    SESSION,
    THREAD,
    answer,
    dump,
    jsonl,
    meta,
    output,
    prompt,
    runs,
    says,
    use,
)
from tests.seeds import copilot_cli
from tests.seeds import qwen as qwen_seed

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only /proc shows processes")

REAL = Path(sys.executable).resolve()
OTHER = "5e551000-0000-4000-8000-000000000002"
# What starts a tool that is at work for a while.
TOOL = "import subprocess\nsubprocess.Popen(['sleep', '60'], stdout=subprocess.DEVNULL)"
# Long enough ago that nothing counts as done this very moment.
AGO = 600


@pytest.fixture
def project(tmp_path):
    """The folder that agents run in."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@contextmanager
def process(name, code="", *arguments, cwd=None, script=""):
    """A process that is called so, has run some code and waits; `script` names what it runs."""
    folder = Path(cwd or os.environ["HOME"])
    program = Path(os.environ["HOME"]) / "bin" / name
    program.parent.mkdir(exist_ok=True)
    program.unlink(missing_ok=True)
    program.symlink_to(REAL)
    text = f"import sys\n{code}\nprint(flush=True)\nsys.stdin.read()"
    command = ["-c", text]
    if script:
        place = program.with_name(script)
        place.write_text(text)
        command = [str(place)]
    child = subprocess.Popen(
        [program, "-I", "-S", *command, *map(str, arguments)],
        cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    try:
        assert child.stdout.readline()
        yield child
    finally:
        kill(child)


def kill(child):
    """End a process and all that it started, as the system does when it has no memory left."""
    with suppress(ProcessLookupError):  # it was killed already
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    child.stdin.close()
    child.stdout.close()


@pytest.fixture
def status(capfd):
    """How the sessions stand, by their ids."""

    def told():
        capfd.readouterr()
        assert run(["status", "--all", "--no-cache", "--output-format", "json"]) == 0
        return {one["id"]: one for one in json.loads(capfd.readouterr().out)["sessions"]}

    return told


def written(path, data, ago=AGO):
    """A file that was written some seconds ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    when = time.time() - ago
    os.utime(path, (when, when))
    return path


def claude(home, project, session=SESSION, ago=AGO, *rows):
    """A session of Claude Code in a project, whose last call has no result."""
    folder = home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(project))
    rows = rows or (prompt(1, None), answer(2, 1), prompt(3, 2), answer(4, 3, use("toolu_a")))
    own = [row | {"cwd": str(project), "sessionId": session} for row in rows]
    return written(folder / f"{session}.jsonl", jsonl(*own), ago)


def codex(home, ago=AGO):
    """A session of Codex whose last call has no result, behind a turn that is complete."""
    path = home / ".codex" / "sessions" / "2026" / "03" / "01" / ROLLOUT
    turn = [says("user", "hello"), says("assistant", "it burns"), says("user", "again")]
    return written(path, jsonl(meta(), *turn, runs("call_1")), ago)


def qwen(home, project, lines=2):
    data = b"".join(qwen_seed().splitlines(keepends=True)[:lines])
    session = re.search(rb'"sessionId":"([^"]+)"', data)[1].decode()
    place = home / ".qwen" / "projects" / "-srv" / "chats" / f"{session}.jsonl"
    return written(place, data.replace(b"/srv/mill", str(project).encode()))


def copilot(home):
    """A session of Copilot CLI whose last call has no result."""
    rows = [json.loads(line) for line in copilot_cli().splitlines()]
    at = next(n for n, row in enumerate(rows) if row["type"] == "tool.execution_complete")
    return written(home / ".copilot" / "session-state" / OTHER / "events.jsonl", jsonl(*rows[:at]))


def test_who_has_a_file_open_for_writing_runs_it_until_it_is_killed(home, status):
    """Then the call counts as broken off, and the turn before as the last good state."""
    path = codex(home)
    data = path.read_bytes()
    with process("codex", "f = open(sys.argv[1], 'a')", path) as agent:
        one = status()[THREAD]
        assert (one["state"], one["doing"]) == ("running", ["shell"])
        assert f"process {agent.pid} (codex)" in one["why"]
        kill(agent)
        one = status()[THREAD]
    assert (one["state"], one["doing"], one["uncertain"]) == ("interrupted", ["shell"], ["shell"])
    assert data[: one["last_good_end"]].endswith(dump(says("assistant", "it burns")))
    assert one["last_good"] == "2026-03-01T06:00:00+00:00"
    assert one["resume"] == f"cd /srv/beacon && codex resume {THREAD}"


def test_a_file_that_is_open_is_known_by_any_name(home, tmp_path):
    """By a link, and by a second name for the same bytes."""
    path = codex(home)
    (tmp_path / "link.jsonl").symlink_to(path)
    (tmp_path / "twin.jsonl").hardlink_to(path)
    with process("codex", "f = open(sys.argv[1], 'a')", path):
        rows = marked(survey(discover([tmp_path])))
    assert {row[0].name: row[1].state for row in rows} == dict.fromkeys(
        ("link.jsonl", "twin.jsonl"), "in use"
    )


def test_a_codex_holds_the_lock_of_its_thread(home, status):
    """The file stays behind when it is killed; the lock does not."""
    codex(home, 0)
    lock = written(home / ".codex" / "thread-writer-locks" / f"{THREAD}.lock", b"")
    take = "import fcntl\nf = open(sys.argv[1])\nfcntl.flock(f, fcntl.LOCK_EX)"
    with process("codex", f"{TOOL}\n{take}", lock) as agent:
        one = status()[THREAD]
        assert (one["state"], one["why"]) == ("running", f"Codex runs it (process {agent.pid})")
        kill(agent)
        assert status()[THREAD]["state"] == "interrupted"


def test_who_has_a_store_session_runs_it(tmp_path, capfd):
    """By the lock of the store, which ends with the process."""
    code = f"""
sys.path[:0] = {[path for path in sys.path if path]!r}
from sesstool import SessionStore
session = SessionStore(sys.argv[1], durability="never").open("harbour").__enter__()
session.append({{"role": "user", "content": "light the lamp"}})
session.flush()"""

    def state():
        assert run(["status", str(folder), "--all", "--no-cache", "--output-format", "json"]) == 0
        (one,) = json.loads(capfd.readouterr().out)["sessions"]
        return one["state"], one["why"]

    folder = tmp_path / "sessions"
    with process("keeper", code, folder) as agent:
        word, why = state()
        assert (word, f"process {agent.pid} " in why) == ("running", True)
        kill(agent)
        assert state() == ("interrupted", "the prompt has no answer")


@pytest.mark.parametrize(
    ("doing", "state"),
    [("busy", "running"), ("idle", "waiting"), ("waiting", "waiting"), ("", "waiting")],
)
def test_a_claude_code_tells_by_its_registry_what_it_does(home, project, status, doing, state):
    """Also whether it waits: a call has no result, and a person may be asked first."""
    claude(home, project)
    with process("claude", cwd=project) as agent:
        entry = {"pid": agent.pid, "sessionId": SESSION, "procStart": began(agent.pid)}
        entry |= {"status": doing} if doing else {}
        note = home / ".claude" / "sessions" / f"{agent.pid}.json"
        written(note, dump(entry), -1)
        one = status()[SESSION]
        assert (one["state"], one["why"]) == (state, f"Claude Code runs it (process {agent.pid})")
        written(note, dump(entry | {"procStart": "7"}), -1)
        assert status()[SESSION]["state"] == "interrupted"
        written(note, dump(entry), -1)
        kill(agent)
        one = status()[SESSION]
    assert (one["state"], one["uncertain"]) == ("interrupted", ["Bash"])


def began(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]


def test_of_a_claude_code_that_does_not_register_the_newest_session_is_meant(home, project, status):
    """Of those of its folder that were written since it began; another registers its own."""
    with process("claude", cwd=project) as agent:
        claude(home, project, SESSION, -1)
        claude(home, project, OTHER, AGO)
        claude(home, project.parent, "5e551000-0000-4000-8000-000000000003", -1)
        told = status()
        assert [one["state"] for one in told.values()].count("running") == 1
        assert f"process {agent.pid}" in told[SESSION]["why"]
        note = home / ".claude" / "sessions" / f"{agent.pid}.json"
        written(note, dump({"pid": agent.pid, "sessionId": "another"}), -1)
        assert status()[SESSION]["state"] == "interrupted"


@pytest.mark.parametrize(("code", "ago", "state"), [(TOOL, 0, "running"), ("", AGO, "waiting")])
def test_a_call_runs_as_long_as_its_program_does(home, project, status, code, ago, state):
    """An agent that has started none since the call was made asks a person first."""
    path = qwen(home, project)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[-1]["message"]["parts"] = [
        {"functionCall": {"id": "call_a", "name": "run_shell_command", "args": {}}}
    ]
    written(path, jsonl(*rows), ago)
    with process("node", code, "--resume", path.stem, cwd=project, script="qwen") as agent:
        one = status()[path.stem]
        assert one["state"] == state
        assert one["why"] == f"Qwen Code runs in its folder (process {agent.pid})"
        kill(agent)
        assert status()[path.stem]["state"] == "interrupted"


def test_a_session_that_the_command_line_names_is_meant_before_newer_ones(home, project, status):
    """It may not have been written to since it was resumed."""
    claude(home, project, SESSION, AGO)
    claude(home, project, OTHER, -1)
    with process("claude", "", "--resume", SESSION, cwd=project):
        assert [status()[one]["state"] for one in (SESSION, OTHER)] == ["waiting", "interrupted"]


@pytest.mark.parametrize("ago", [-1, AGO])
def test_a_gemini_cli_is_known_by_its_script_and_its_folder(home, project, status, ago):
    """It leaves no lock: the session that was written since it began is its own."""
    head = {"sessionId": OTHER, "projectHash": "0" * 64, "startTime": "2026-03-01T06:00:00.000Z"}
    said = {"id": "m1", "timestamp": "2026-03-01T06:00:01.000Z", "type": "user", "content": "hi"}
    slug = home / ".gemini" / "tmp" / "mill"
    with process("node", cwd=project, script="gemini.js") as agent:
        written(slug / "chats" / f"session-2026-03-01T06-00-{OTHER[:8]}.jsonl",
                jsonl(head | {"kind": "main"}, said), ago)  # fmt: skip
        (slug / ".project_root").write_text(str(project))
        one = status()[OTHER]
        assert one["state"] == ("running" if ago < 0 else "interrupted")
        assert ago > 0 or one["why"] == f"Gemini CLI runs in its folder (process {agent.pid})"
        assert one["resume"] == f"cd {project} && gemini --resume {OTHER}"


def test_a_copilot_cli_is_known_by_the_lock_in_the_folder_of_its_session(home, status):
    """It bears the number of a process, which must have begun before it was written."""
    folder = copilot(home).parent
    with process("copilot") as agent:
        lock = written(folder / f"inuse.{agent.pid}.lock", b"", -1)
        one = status()[OTHER]
        assert one["state"] in ("running", "waiting")
        assert one["why"] == f"Copilot CLI runs it (process {agent.pid})"
        written(lock, b"", AGO)
        assert status()[OTHER]["state"] == "interrupted"  # the number was given again
        written(lock, b"", -1)
        kill(agent)
        assert status()[OTHER]["state"] == "interrupted"


def test_a_copilot_cli_that_locks_a_second_file_is_known_by_that_alone(home, status):
    """Its number means nothing then: it may be one of another container."""
    folder = copilot(home).parent
    take = "import fcntl\nf = open(sys.argv[1])\nfcntl.flock(f, fcntl.LOCK_EX)"
    hold = written(folder / "inuse.1.hold", b"")
    written(folder / "inuse.1.lock", b"", -1)
    assert status()[OTHER]["state"] == "interrupted"
    with process("copilot", take, hold):
        assert status()[OTHER]["why"] == "Copilot CLI runs it (process 1)"


@pytest.mark.parametrize("place", ["lock", "runtime"])
def test_a_qwen_code_notes_its_process(home, project, status, place):
    """In a lock or beside the session; what another computer or an earlier one noted is none."""
    path = qwen(home, project)
    locks = home / ".qwen" / "tmp" / "session-writer-locks"
    note = path.with_name(f"{path.stem}.runtime.json")
    note = locks / f"{path.stem}.lock" if place == "lock" else note
    with process("qwen") as agent:
        mine = f"linux:0:{began(agent.pid)}"
        told = {"pid": agent.pid, "hostname": platform.node(), "process_start_identity": mine}
        written(note, dump(told), -1)
        one = status()[path.stem]
        assert (one["state"], one["doing"]) == ("running", ["read_file", "edit"])
        assert one["why"] == f"Qwen Code runs it (process {agent.pid})"
        for wrong in ({"hostname": "elsewhere"}, {"process_start_identity": "linux:0:7"}):
            written(note, dump(told | wrong), -1)
            assert status()[path.stem]["state"] == "interrupted"
        written(note, dump(told), -1)
        kill(agent)
        one = status()[path.stem]
    assert (one["state"], one["doing"], one["uncertain"]) == (
        "interrupted", ["read_file", "edit"], ["edit"],
    )  # fmt: skip


def test_what_was_broken_off_before_this_computer_started_is_told(home, status, monkeypatch):
    """As after a power cut: the records are older than the start."""
    codex(home)
    assert status()[THREAD]["before_start"]
    first = datetime(2026, 2, 1, tzinfo=UTC).timestamp()
    monkeypatch.setattr(situation, "machine_started", lambda: first)
    assert not status()[THREAD]["before_start"]


@contextmanager
def watching(home, *more, columns=60, lines=8):
    """`status --watch` in a terminal; what it drew is read with the function that is given."""
    master, slave = os.openpty()
    os.set_blocking(master, False)
    size(master, columns, lines)
    command = [sys.executable, "-m", "sesstool", "status", "--watch", "--interval", "0.2", *more]
    root = Path(__file__).parents[1]
    names = {"PYTHONPATH": str(root), "TERM": "xterm"}
    env = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")} | names
    child = subprocess.Popen(command, cwd=home, env=env, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    drawn = b""

    def until(pattern):
        nonlocal drawn
        deadline = time.monotonic() + 30
        while not (found := re.search(pattern, drawn, re.DOTALL)):
            assert time.monotonic() < deadline, drawn
            assert select.select([master], [], [], 30)[0], drawn
            try:
                drawn += os.read(master, 1 << 16)
            except OSError:
                pytest.fail(f"it ended: {drawn!r}")
        drawn = drawn[found.end() :]
        return found[0].decode()

    try:
        yield child, until, master
    finally:
        child.kill()
        child.wait()
        os.close(master)


def size(terminal, columns, lines):
    import fcntl  # noqa: PLC0415 - Windows has none
    import struct  # noqa: PLC0415
    import termios  # noqa: PLC0415

    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))


FRAME = rb"\x1b\[H(.*?)\x1b\[J"


def test_a_terminal_shows_how_all_stand_until_ctrl_c(home, project):
    """Changes appear; no line is longer, and no screen higher, than the terminal is by then."""
    for n in range(9):
        claude(home, project, f"5e551000-0000-4000-8000-{n:012}")
    with watching(home) as (child, until, terminal):
        assert "\x1b[?1049h" in until(rb".*?\x1b\[\?25l")
        for columns, lines in ((60, 8), (24, 4), (100, 30)):
            size(terminal, columns, lines)
            until(FRAME)  # one may be under way
            drawn = rows(until(FRAME))
            assert len(drawn) <= lines
            assert max(map(len, drawn)) <= columns
            assert drawn[-1] == "9 interrupted"
            assert lines > 8 or drawn[-2].startswith("… ")
        codex(home)
        until(rb"10 interrupted")
        child.send_signal(signal.SIGINT)
        until(rb"\x1b\[\?25h\x1b\[\?1049l")
        assert child.wait(30) == 0


def rows(frame):
    return [re.sub(r"\x1b\[.", "", line) for line in frame.split("\r\n")]


def test_a_pipe_gets_a_line_for_each_change_until_it_is_closed(home, project):
    """And nothing where nothing changes; a subagent is not a session of its own."""
    claude(home, project)
    part = project / SESSION / "subagents" / "agent-a1.jsonl"
    written(part, jsonl(prompt(3, None, isSidechain=True, agentId="a1")))
    command = [sys.executable, "-m", "sesstool", "status", "--watch", "--interval", "0.2"]
    env = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    with subprocess.Popen(
        command, env=env, cwd=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert re.match(
            rf"..:..:..  interrupted +claude-code +{SESSION}  ", child.stdout.readline()
        )
        codex(home)
        assert re.match(rf"..:..:..  interrupted +codex +{THREAD}  ", child.stdout.readline())
        child.stdout.close()
        path = codex(home)
        written(path, path.read_bytes() + jsonl(output("call_1"), says("assistant", "done")))
        assert child.wait(30) == 141
        assert "Traceback" not in child.stderr.read()
