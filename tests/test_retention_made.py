"""Prune and restore in homes as no real one at hand is: what lies at the edges."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from itertools import permutations
from pathlib import Path

import pytest
import zstandard

from sesstool import api
from sesstool.encryption import keys
from sesstool.retention import trash
from tests.conftest import answer, dump, jsonl, meta, prompt, says
from tests.faults import MTIME, command
from tests.test_retention_homes import KEY, look

OLD = [f"0a000000-0000-4000-8000-00000000000{n}" for n in range(5)]
YOUNG = "0b000000-0000-4000-8000-000000000001"
ENDINGS = ("trash", "archive", "sealed")


@pytest.fixture(autouse=True)
def no_disk(monkeypatch):
    """Nothing has to reach a disk here; folders are made as agents make them."""
    monkeypatch.setattr(os, "fsync", os.fstat)
    before = os.umask(0o077)  # as agents make folders
    yield
    os.umask(before)


@pytest.fixture
def folder(tmp_path):
    """The project of a Claude Code home."""
    return make_project(tmp_path / "home")


def make_project(home: Path, name: str = "-srv-lamp") -> Path:
    folder = home / ".claude" / "projects" / name
    folder.mkdir(parents=True, mode=0o700)
    return folder


def put(path: Path, data: bytes = b"lamp", mtime: int = MTIME) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.write_bytes(data)
    path.chmod(0o640)
    os.utime(path, ns=(mtime, mtime))
    return path


def talk(session: str, start: int = 1) -> bytes:
    first = prompt(start, None, "light the northern lamp again", sessionId=session)
    return jsonl(first, answer(start + 1, start, sessionId=session))


def session(folder: Path, name: str, start: int = 1, mtime: int = MTIME) -> list[Path]:
    """The transcript of a session with a side file; returns its files."""
    transcript = put(folder / f"{name}.jsonl", talk(name, start), mtime)
    return [transcript, put(folder / name / "tool-results" / "x.txt", mtime=mtime)]


def prune(where: Path, action: str, match: str = "0a*", code: int = 0, *more: object) -> None:
    """Take away the matching sessions, if they are older than a month."""
    policy = api.state_folder().with_name("policy.toml")
    policy.parent.mkdir(parents=True, exist_ok=True)
    archive = f'[archive]\nrecipients = ["{KEY.recipient().text}"]' if action == "sealed" else ""
    policy.write_text(
        f"""version = 1
[defaults]
max_delete_fraction = 1.0
{archive}
[[rule]]
name = "old"
match = {{ session = "{match}" }}
expire_after = "30d"
action = "{"archive" if archive else action}"
"""
    )
    flags = ("--write", "--yes", "--trust-clock", "--policy", policy)
    assert command("prune", *flags, *more, where)() == code


def key() -> Path:
    path = api.state_folder().with_name("key")
    path.write_bytes(keys.identity_file(KEY, "2026-03-01T06:00:00Z"))
    return path


def restore(*names: str) -> None:
    assert command("trash", "restore", *(names or ["--all"]), "-i", key())() == 0


def there_and_back(home: Path, gone: list[Path], *flags: object) -> None:
    """Each way to take files away takes just these, and gives them back as they were."""
    before = look(home)
    names = {str(path.relative_to(home)) for path in gone}
    for action in ENDINGS:
        prune(home, action, "0a*", 0, *flags)
        now = look(home)
        files = {name for name, what in before.items() if len(what) > 1}
        assert {name for name in files if name not in now} == names
        assert all(what == before[name] for name, what in now.items())
        restore()
        assert look(home) == before
        assert not trash.entries(api.state_folder())


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_an_index_is_whole_in_any_order(folder, order, indent):
    """As it was where the newest comes back first; with the same entries in any other order."""
    rows = [{"sessionId": name, "firstPrompt": "a, [b] {c}"} for name in (YOUNG, *OLD[:3])]
    data = json.dumps({"version": 1, "entries": rows}, indent=indent).encode()
    index = put(folder / "sessions-index.json", data)
    session(folder, YOUNG, 9)
    for name in OLD[:3]:
        session(folder, name, 10 + 2 * int(name[-1]))
    before = look(folder)
    for n in (1, 0, 2):
        prune(folder, "trash", OLD[n])
        assert index.stat().st_mtime_ns == MTIME
    assert json.loads(index.read_bytes())["entries"] == rows[:1]
    for n in order:
        restore(OLD[n])
    entries = json.loads(index.read_bytes())["entries"]
    assert sorted(map(dump, entries)) == sorted(map(dump, rows))
    if order == (2, 0, 1):
        assert look(folder) == before


def test_an_index_that_goes_or_changes_meanwhile(folder):
    """What the agent did to it stays; a session that it lists again is not listed twice."""
    rows = [{"sessionId": name} for name in (OLD[0], YOUNG)]
    index = put(folder / "sessions-index.json", dump({"version": 1, "entries": rows}))
    session(folder, OLD[0])
    session(folder, YOUNG, 9)
    prune(folder, "trash")
    again = {"version": 1, "entries": [{"sessionId": OLD[0], "firstPrompt": "new"}, rows[1]]}
    put(index, dump(again))
    restore()
    assert json.loads(index.read_bytes()) == again
    prune(folder, "trash")
    index.unlink()
    restore()
    assert not index.exists()


@pytest.mark.parametrize("young", [False, True])
def test_forks_by_copy_go_together(folder, young):
    """A family is as old as its youngest."""
    now = 1 << 61 if young else MTIME
    gone = session(folder, OLD[0]) + session(folder, OLD[1], 1, now)
    there_and_back(folder.parents[2], [] if young else gone)


def test_a_fork_by_reference_keeps_its_parent(tmp_path):
    """Alone the parent stays; together both go, and the child is restored before it or after."""
    home = tmp_path / "home"
    place = home / ".codex" / "sessions" / "2026" / "03" / "01"
    name = "rollout-2026-03-01T06-00-00-{}.jsonl"
    parent = put(place / name.format(OLD[0]), jsonl(meta(0, id=OLD[0]), says("user", "go on", 1)))
    base = {"thread_id": OLD[0], "end_ordinal_exclusive": 2, "end_byte_offset": 300}
    head = meta(2, id=OLD[1], history_base=base, history_mode="paginated")
    child = put(place / name.format(OLD[1]), jsonl(head, says("user", "go back", 3)))
    before = look(home)
    prune(home, "delete", OLD[0])
    assert look(home) == before
    there_and_back(home, [parent, child])
    prune(home, "trash", OLD[1])
    prune(home, "trash", OLD[0])
    restore(OLD[0])
    restore(OLD[1])
    assert look(home) == before


@pytest.mark.parametrize("action", [*ENDINGS, "delete"])
def test_a_file_of_two_names_stays_under_the_other(folder, action):
    """As old versions share file history among forks; a change of it reaches no trash."""
    home = folder.parents[2]
    session(folder, OLD[0])
    session(folder, YOUNG, 9)
    mine = put(home / ".claude" / "file-history" / OLD[0] / "ab@v1", b"as it was")
    other = home / ".claude" / "file-history" / YOUNG / "ab@v1"
    other.parent.mkdir()
    other.hardlink_to(mine)
    before = look(home)
    prune(home, action)
    assert not mine.exists()
    assert look(home)[str(other.relative_to(home))] == before[str(other.relative_to(home))]
    if action != "delete":
        with other.open("ab") as handle:
            handle.write(b", and more")
        restore()
        assert mine.read_bytes() == b"as it was"
        assert other.read_bytes() == b"as it was, and more"


def test_links_in_the_folder_of_a_session(folder, tmp_path):
    """They stay, and what they lead to."""
    outside = put(tmp_path / "outside" / "x.jsonl", talk(YOUNG, 9))
    gone = session(folder, OLD[0])
    (folder / OLD[0] / "file").symlink_to(outside)
    (folder / OLD[0] / "folder").symlink_to(outside.parent)
    (folder / OLD[0] / "nothing").symlink_to(tmp_path / "nothing")
    there_and_back(folder.parents[2], gone)
    assert look(outside.parent)["x.jsonl"][1:] == (MTIME, talk(YOUNG, 9))


@pytest.mark.parametrize("data", [None, b"no session\n"])
def test_what_belongs_to_a_link_stays(folder, tmp_path, data):
    """Or to a file of which nobody knows what it is: it is no leftover."""
    path = folder / f"{OLD[0]}.jsonl"
    if data is None:
        path.symlink_to(put(tmp_path / "outside.jsonl", talk(OLD[0])))
    else:
        put(path, data)
    agent = jsonl(prompt(1, None, sessionId=OLD[0], isSidechain=True, agentId="1"))
    put(folder / OLD[0] / "subagents" / "agent-1.jsonl", agent)
    there_and_back(folder.parents[2], [])


def test_what_is_unknown_in_the_folder_goes_too(folder):
    gone = session(folder, OLD[0])
    for name in (".hidden", "no ending", "deep/er/x.bin"):
        gone.append(put(folder / OLD[0] / name, b"\0\xff"))
    gone.append(put(folder / OLD[0] / "subagents/workflows/1/journal.jsonl", b'{"key": "1"}\n'))
    there_and_back(folder.parents[2], gone)


def test_twins_of_a_session_go_with_it(folder):
    """The compressed and the encrypted copy; that with the key, for none is taken unread."""
    gone = session(folder, OLD[0])
    data = gone[0].read_bytes()
    gone.append(put(folder / f"{OLD[0]}.jsonl.zst", zstandard.compress(data)))
    recipient = KEY.recipient().text
    assert command("encrypt", "--keep", "-r", recipient, gone[0])() == 0
    sealed = folder / f"{OLD[0]}.jsonl.age"
    os.utime(sealed, ns=(MTIME, MTIME))
    side = folder / OLD[0] / "tool-results" / "x.txt.age"
    os.utime(side, ns=(MTIME, MTIME))
    there_and_back(folder.parents[2], [])
    there_and_back(folder.parents[2], [*gone, sealed, side], "-i", key())


@pytest.mark.parametrize("ending", ["zst", "age"])
def test_a_session_in_a_twin_alone(folder, ending):
    """It goes with its pieces as any other; encrypted, no key tells its time, and it stays."""
    gone = session(folder, OLD[0])
    data = gone.pop(0).read_bytes()
    (folder / f"{OLD[0]}.jsonl").unlink()
    if ending == "zst":
        gone.append(put(folder / f"{OLD[0]}.jsonl.zst", zstandard.compress(data)))
        there_and_back(folder.parents[2], gone)
    else:
        plain = put(folder / f"{OLD[0]}.jsonl", data)
        recipient = KEY.recipient().text
        assert command("encrypt", "--write", "--yes", "-r", recipient, plain)() == 0
        there_and_back(folder.parents[2], [])


def test_a_folder_whose_session_is_gone(folder):
    """What the agent left when it deleted a session is pruned as the session is."""
    put(folder / OLD[0] / "tool-results" / "x.txt")
    agent = jsonl(prompt(1, None, sessionId=OLD[0], isSidechain=True, agentId="1"))
    gone = [put(folder / OLD[0] / "subagents" / "agent-1.jsonl", agent)]
    gone.append(folder / OLD[0] / "tool-results" / "x.txt")
    gone.append(put(folder.parents[1] / "file-history" / OLD[0] / "ab@v1"))
    session(folder, YOUNG, 9)
    there_and_back(folder.parents[2], gone)


def test_an_empty_session_stays_until_it_is_named(folder):
    """No record tells its time."""
    empty = put(folder / f"{OLD[0]}.jsonl", b"")
    todo = put(folder.parents[1] / "todos" / f"{OLD[0]}-agent-{OLD[0]}.json", b"[]")
    there_and_back(folder.parents[2], [])
    assert command("prune", "--erase", "--write", "--yes", empty)() == 0
    assert not empty.exists()
    assert not todo.exists()


def test_a_subagent_of_an_empty_session_is_of_the_resumed_one(folder):
    """Claude Code 2.0 starts it before the resume, and it answers after that."""
    empty = put(folder / f"{YOUNG}.jsonl", b"")
    gone = session(folder, OLD[0])
    ask = prompt(1, None, sessionId=YOUNG, isSidechain=True, agentId="1")
    said = answer(2, 1, sessionId=OLD[0], isSidechain=True, agentId="1")
    gone.append(put(folder / "agent-1.jsonl", jsonl(ask, said)))
    there_and_back(folder.parents[2], gone)
    assert empty.exists()


def test_names_that_are_no_text(tmp_path):
    """Spaces, line ends, bytes of another code: in folders and in files."""
    folder = make_project(tmp_path / "a\nhome", "-srv- lamp\n" + os.fsdecode(b"\xff"))
    gone = session(folder, OLD[0])
    gone.append(put(folder / OLD[0] / os.fsdecode(b"\xe9 \n.txt")))
    there_and_back(folder.parents[2], gone)


def test_a_home_on_another_disk(tmp_path):
    shm = Path("/dev/shm")  # noqa: S108 - the other file system
    if not shm.is_dir() or shm.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip(f"{shm} is no other file system here")
    with tempfile.TemporaryDirectory(dir=shm) as name:
        folder = make_project(Path(name) / "home")
        there_and_back(Path(name), session(folder, OLD[0]))


def test_a_folder_that_cannot_be_changed(folder, monkeypatch, capsys):
    """The session stays whole, and the command says so; the next one goes."""
    first = session(folder, OLD[0])
    second = session(make_project(folder.parents[2], "-srv-second"), OLD[1], 9)
    before = look(folder)
    for name in ("rename", "replace", "unlink"):
        call = getattr(os, name)

        def refuse(path, *more, call=call, **options):
            if Path(path) == first[1]:
                raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
            return call(path, *more, **options)

        monkeypatch.setattr(os, name, refuse)
    prune(folder.parents[2], "trash", "0a*", 6)
    assert str(first[1]) in capsys.readouterr().err
    assert look(folder) == before
    assert not any(path.exists() for path in second)
    assert [entry.session for entry in trash.entries(api.state_folder())] == [OLD[1]]


def test_a_state_folder_inside_of_the_home(folder, monkeypatch):
    """Nothing in it is a session, also when the home is pruned again."""
    home = folder.parents[2]
    monkeypatch.setenv("XDG_STATE_HOME", str(home / ".claude" / "state"))
    gone = session(folder, OLD[0])
    before = look(home)
    torn = gone[0].read_bytes()
    put(gone[0], torn + b'{"torn')
    assert command("repair", "--write", gone[0])() == 0
    put(gone[0], torn)
    for action in ("trash", "archive"):
        prune(home, action)
        assert not gone[0].exists()
        held = look(api.state_folder() / "trash")
        prune(home, action)
        assert look(api.state_folder() / "trash") == held
        restore()
        now = look(home)
        assert all(now[name] == what for name, what in before.items())
    prune(home, "delete")
    assert all(b"northern" not in path.read_bytes() for path in home.rglob("*") if path.is_file())
