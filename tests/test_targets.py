"""What a repair may be pointed at: links, other owners, what is no file, and who comes at once."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from sesstool import api
from sesstool.audit import log
from sesstool.cli.main import run
from sesstool.errors import StalePlanError
from sesstool.records import undo, write
from sesstool.records.write import replace
from tests.conftest import answer, jsonl, prompt
from tests.faults import forked, together

SOUND = jsonl(prompt(1, None), answer(2, 1))
TORN = SOUND + b'{"cut'
HOLE = jsonl(prompt(1, None), b"\0\0\0", answer(2, 1))
NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
linux = pytest.mark.skipif(sys.platform != "linux", reason="leases are Linux's")


@pytest.fixture
def repair(capfd):
    """Runs `repair --write` on paths: the exit code and the messages."""

    def go(*paths):
        capfd.readouterr()
        code = run(["repair", "--write", *map(str, paths)])
        return code, capfd.readouterr().err

    return go


@pytest.fixture
def session(tmp_path):
    path = tmp_path / "sessions" / "s.jsonl"
    path.parent.mkdir()
    path.write_bytes(TORN)
    return path


@pytest.mark.parametrize("data", [TORN, HOLE], ids=["in place", "anew"])
def test_a_symbolic_link_stays_and_its_file_is_repaired(session, tmp_path, repair, data):
    """Also through two of them."""
    session.write_bytes(data)
    (tmp_path / "a").symlink_to(session)
    (tmp_path / "b").symlink_to("a")
    assert repair(tmp_path / "b")[0] == 0
    assert session.read_bytes() == SOUND
    assert (tmp_path / "a").is_symlink()
    assert (tmp_path / "b").is_symlink()
    assert run(["undo", str(tmp_path / "b")]) == 0
    assert session.read_bytes() == data


def test_links_that_lead_nowhere_are_told(tmp_path, repair):
    """A dangling one and a loop cannot be read."""
    (tmp_path / "dangling.jsonl").symlink_to("none.jsonl")
    (tmp_path / "loop.jsonl").symlink_to("loop.jsonl")
    code, said = repair(tmp_path / "dangling.jsonl")
    assert (code, "no such file" in said) == (3, True)
    code, said = repair(tmp_path / "loop.jsonl")
    assert (code, "symbolic link" in said) == (3, True)
    assert (tmp_path / "loop.jsonl").is_symlink()


def test_two_names_of_a_file_show_one_content_or_it_is_refused(session, repair):
    """A change in place shows under both; one that would part them is refused, with a way out."""
    other = session.with_name("other.jsonl")
    other.hardlink_to(session)
    assert repair(session)[0] == 0
    assert other.read_bytes() == SOUND
    session.write_bytes(HOLE)
    code, said = repair(session)
    assert code == 6
    assert "2 names (hard links)" in said
    assert "-o" in said
    assert other.samefile(session)
    assert other.read_bytes() == HOLE


@pytest.mark.parametrize("kind", ["fifo", "device"])
def test_what_is_no_regular_file_is_refused(tmp_path, repair, kind):
    """It is not opened for long, and stays what it is."""
    path = tmp_path / "p.jsonl"
    if kind == "device":
        path = Path("/dev/null")
    else:
        os.mkfifo(path)
    code, said = repair(path)
    assert (code, "no regular file" in said) == (3, True)


def test_a_folder_without_sessions_is_refused(tmp_path, repair):
    """It is no session itself."""
    code, said = repair(tmp_path)
    assert (code, "holds no session file" in said) == (3, True)


@pytest.fixture
def open_folder():
    """A folder that another user can reach."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def as_nobody(folder):
    """What makes a forked process one of a user without rights, with a home of its own."""
    (folder / "state").mkdir()
    os.chown(folder / "state", NOBODY, NOBODY)

    def become():
        os.environ["XDG_STATE_HOME"] = str(folder / "state")
        os.environ["HOME"] = os.environ["XDG_CONFIG_HOME"] = str(folder)
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)

    return become


REFUSALS = {
    "another owner": (0, 0o666, 0, 0o777, "operation not permitted"),
    "a read-only file": (NOBODY, 0o444, NOBODY, 0o755, "permission denied"),
    "a read-only folder": (NOBODY, 0o644, 0, 0o755, "permission denied"),
}


@as_root
@pytest.mark.parametrize("name", REFUSALS)
@pytest.mark.parametrize("data", [TORN, HOLE], ids=["in place", "anew"])
def test_a_user_without_rights_is_refused(open_folder, name, data):
    """The file is as before, and the error says so; a folder need not be written to in place."""
    owner, mode, folder_owner, folder_mode, reason = REFUSALS[name]
    folder = open_folder / "sessions"
    folder.mkdir()
    path = folder / "s.jsonl"
    path.write_bytes(data)
    path.chmod(mode)
    os.chown(path, owner, owner)
    folder.chmod(folder_mode)
    os.chown(folder, folder_owner, folder_owner)
    before = path.stat()
    code, said = forked(lambda: run(["repair", "--write", str(path)]), as_nobody(open_folder))
    if (name, data) == ("a read-only folder", TORN):
        assert (code, path.read_bytes()) == (0, SOUND)
        return
    assert code == 6
    assert "as before" in said
    assert reason in said or "cannot keep its owner" in said
    assert path.read_bytes() == data
    now = path.stat()
    assert (now.st_ino, now.st_mtime_ns, now.st_mode) == (
        before.st_ino, before.st_mtime_ns, before.st_mode,
    )  # fmt: skip
    assert list(folder.iterdir()) == [path]


@as_root
@pytest.mark.parametrize("data", [TORN, HOLE], ids=["in place", "anew"])
def test_root_leaves_a_file_to_its_owner(session, repair, data):
    """With its mode, back and forth."""
    session.write_bytes(data)
    session.chmod(0o640)
    os.chown(session, 12345, 23456)
    assert repair(session)[0] == 0
    for content in (SOUND, data):
        now = session.stat()
        assert (now.st_uid, now.st_gid, stat.S_IMODE(now.st_mode)) == (12345, 23456, 0o640)
        assert session.read_bytes() == content
        run(["undo", str(session)])


@as_root
def test_a_folder_that_cannot_be_searched_is_an_input_error(open_folder):
    """Exit code 3, as of any input that cannot be read."""
    folder = open_folder / "closed"
    folder.mkdir(mode=0o700)
    (folder / "s.jsonl").write_bytes(TORN)
    become = as_nobody(open_folder)
    for command in ("validate", "repair", "resume", "show"):
        code, said = forked(lambda c=command: run([c, str(folder / "s.jsonl")]), lambda: None)
        assert code in (0, 1)
        code, said = forked(lambda c=command: run([c, str(folder / "s.jsonl")]), become)
        assert code == 3, said
        assert "permission denied" in said


@as_root
def test_a_settings_folder_that_cannot_be_read_is_a_settings_error(open_folder):
    """Exit code 2, with the file that it is about."""
    (open_folder / "sesstool").mkdir(mode=0o700)
    code, said = forked(lambda: run(["config", "show"]), as_nobody(open_folder))
    assert code == 2, said
    assert "config.toml: permission denied" in said


@as_root
def test_a_read_only_disk_is_named(session, repair):
    """A real one; the hint says where to write."""
    bind = ["mount", "--bind", session.parent, session.parent]
    if subprocess.run(bind, capture_output=True, check=False).returncode:
        pytest.skip("no disk may be mounted here")
    try:
        again = ["mount", "-o", "remount,ro,bind", session.parent]
        subprocess.run(again, check=True, capture_output=True)
        code, said = repair(session)
        assert code == 6
        assert "read-only file system; it is as before" in said
        assert "-o" in said
    finally:
        subprocess.run(["umount", session.parent], check=True)


def test_two_repairs_at_once_are_one_repair(session):
    """One repairs; the other finds that it is done, or is told that the file is in use."""
    state = api.state_folder()
    for data in (TORN, HOLE) * 8:
        session.write_bytes(data)
        ends = together(lambda: run(["repair", "--write", str(session)]))
        assert session.read_bytes() == SOUND
        assert list(session.parent.iterdir()) == [session]
        (other,) = [end for end in ends if not re.search("findings? mended", end[1])]
        told = {0: "nothing to repair", 4: "has it open for writing", 6: "was changed|has changed"}
        assert re.search(told[other[0]], other[1]), other
        assert not any(entry.unfinished for entry in undo.entries(state))
    assert log.verify(state) == []
    assert len(list(log.read(state))) == 16


APPEND = "import sys; f = open(sys.argv[1], 'ab', buffering=0); f.write(b'late'); f.close()"


@linux
@pytest.mark.parametrize("leased", [True, False], ids=["lease", "no lease"])
def test_what_is_written_in_the_moment_of_a_rename_is_not_lost(session, monkeypatch, leased):
    """The old file gets its name back, with what the other one wrote to it."""
    inode = session.stat().st_ino
    rename, openers_held_off = os.replace, write.openers_held_off
    held, late = [], []

    @contextmanager
    def watched(descriptor):
        with openers_held_off(descriptor) if leased else nullcontext(lambda: False) as waits:
            held.append(waits)
            yield waits

    def renamed(*arguments):
        if not late:
            late.append(subprocess.Popen([sys.executable, "-c", APPEND, session]))
            if leased:
                while not held[0]():  # until the other one has come to its open
                    assert late[0].poll() is None
            else:
                late[0].wait()
        rename(*arguments)

    monkeypatch.setattr(write, "openers_held_off", watched)
    monkeypatch.setattr(os, "replace", renamed)
    with pytest.raises(StalePlanError, match="opened by somebody else a moment ago; it is as be"):
        replace(session, [b"new"], mode=0o600, mtime=1, expect=lambda: None)
    assert late[0].wait() == 0
    assert session.read_bytes() == TORN + b"late"
    assert session.stat().st_ino == inode
    assert list(session.parent.iterdir()) == [session]


def test_closed_streams_do_no_harm(session):
    """The repair is done, and nothing is printed into the session."""
    command = shlex.join([sys.executable, "-m", "sesstool", "repair", "--write", str(session)])
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        session.write_bytes(HOLE)
        end = subprocess.run(["sh", "-c", f"{command} {closed}"], capture_output=True, check=False)
        assert (end.returncode, session.read_bytes()) == (0, SOUND)


def test_a_plan_is_applied_from_anywhere(session, tmp_path, monkeypatch):
    """A path that was given from another folder still leads to the session."""
    monkeypatch.chdir(session.parent)
    assert run(["repair", "--save-plan", str(tmp_path / "plan"), session.name]) == 1
    monkeypatch.chdir(tmp_path)
    assert run(["apply", "--write", str(tmp_path / "plan")]) == 0
    assert session.read_bytes() == SOUND


def test_a_damaged_undo_entry_is_named(session, repair, capfd):
    """The list goes on behind it, and so does a repair."""
    assert repair(session)[0] == 0
    (entry,) = undo.entries(api.state_folder())
    (entry.folder / "entry.json").write_text("{")
    session.write_bytes(HOLE)
    assert repair(session)[0] == 0
    assert run(["undo", "--list"]) == 0
    said = capfd.readouterr()
    assert f"{entry.id}: cannot be read; sesstool undo --purge {entry.id} forgets it" in said.err
    assert "s.jsonl" in said.out
