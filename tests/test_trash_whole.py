"""The trash: what is not as it was is not restored, deleted, or believed."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from sesstool.audit import log, tombstones
from sesstool.cli.main import run
from sesstool.errors import WriteError
from sesstool.records.live import Writer
from sesstool.retention import trash
from tests.faults import at_calls, forked, kill
from tests.retained import MTIME, OLD, Home
from tests.test_prune import prune, world

__all__ = ["world"]
CLAUDE, CODEX = OLD.format(0), OLD.format(1)


def entry_of(world, session=CLAUDE):
    """The entry of a session."""
    return next(entry for entry in trash.entries(world.state) if entry.session == session)


def edited(entry, **more):
    """Change the manifest of an entry by hand."""
    path = entry.folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | more))


MANIFESTS = [
    {"version": 2},
    {"made": "2026-01-01T00:00:00"},
    {"until": 5},
    {"items": []},
    {"items": [["/etc/motd", "../../keep", {}, [0, 0]]]},
    {"files": "/srv/precious"},
    {"files": "files"},
    {"session": None},
    {"rule": ["x"]},
    {"action": "burn"},
    {"stage": "gone"},
    {"cuts": [["/x", "../y", "/entries", 0, 0, 1, "", ""]]},
    {"folders": [["relative", 448]]},
    {"records": "many"},
]


@pytest.mark.parametrize("more", MANIFESTS, ids=lambda more: str(more)[:40])
def test_a_manifest_that_was_edited_is_not_believed(world, more, capsys):
    """No command ends in a bug, and nothing is written or deleted by it."""
    assert prune(world) == 0
    entry = entry_of(world)
    edited(entry, **more)
    for command in (["trash", "list"], ["trash", "empty", "--all", "--write", "--yes"]):
        assert run(command) in (0, 3)
    assert prune(world) in (0, 3)
    assert entry.where(entry.items[0]).exists()
    assert "a bug in sesstool" not in capsys.readouterr().err


def test_a_manifest_leads_nowhere_that_the_log_does_not_tell_of(world, tmp_path, capsys):
    """A place that was edited in is not written to."""
    assert prune(world) == 0
    entry = entry_of(world)
    items = json.loads((entry.folder / "manifest.json").read_bytes())["items"]
    items[0][0] = str(tmp_path / "elsewhere.jsonl")
    edited(entry, items=items)
    assert run(["trash", "restore", CLAUDE]) == 3
    assert "the audit log does not tell" in capsys.readouterr().err
    assert not (tmp_path / "elsewhere.jsonl").exists()


def test_a_file_that_changed_here_restores_nothing(world, capsys):
    """Not even the others; and no other entry suffers."""
    assert prune(world) == 0
    entry = entry_of(world)
    entry.where(entry.items[2]).write_bytes(b"spoilt")
    assert run(["trash", "restore", CLAUDE]) == 3
    assert "nothing was restored" in capsys.readouterr().err
    assert not any((world.home / name).exists() for name in world.groups[CLAUDE])
    assert run(["trash", "restore", CODEX]) == 0
    assert prune(world) == 0
    assert entry_of(world).stage is trash.Stage.HELD


def test_a_link_in_the_place_of_a_session_is_not_the_session(world, tmp_path):
    """The same bytes elsewhere, or with another time, are another file."""
    assert prune(world) == 0
    path = world.home / next(iter(world.old))
    (tmp_path / "same").write_bytes(world.old[str(path.relative_to(world.home))])
    path.symlink_to(tmp_path / "same")
    assert run(["trash", "restore", CLAUDE]) == 6
    path.unlink()
    shutil.copyfile(tmp_path / "same", path)
    assert run(["trash", "restore", CLAUDE]) == 6
    path.unlink()
    assert run(["trash", "restore", CLAUDE]) == 0


def test_a_folder_that_became_a_link_is_not_followed(world, tmp_path, capsys):
    assert prune(world) == 0
    project = (world.home / next(iter(world.old))).parent
    project.rename(tmp_path / "moved")
    project.symlink_to(tmp_path / "moved")
    assert run(["trash", "restore", CLAUDE]) == 6
    assert "has become a link" in capsys.readouterr().err
    assert not list((tmp_path / "moved").glob(f"{CLAUDE}*"))


def test_folders_come_back_with_their_modes(world):
    """Empty ones go, and come back, too."""
    folder = (world.home / next(iter(world.old))).with_suffix("")
    (folder / "tool-results").chmod(0o750)
    (folder / "empty").mkdir(mode=0o711)
    assert prune(world) == 0
    assert not folder.exists()
    assert run(["trash", "restore", CLAUDE]) == 0
    assert (folder / "tool-results").stat().st_mode & 0o777 == 0o750
    assert (folder / "empty").stat().st_mode & 0o777 == 0o711


@pytest.mark.parametrize("action", ["trash", "delete", "archive", "sealed"])
def test_who_opened_a_session_in_time_keeps_it(world, monkeypatch, action, capsys):
    """Somebody has it open when it is hidden already: it comes back, and nothing was told."""
    real = trash.refuse_live

    def late(path, *arguments):
        monkeypatch.setattr("sesstool.records.guard.find_writer", lambda *_, **__: Writer("x"))
        real(path, *arguments)

    monkeypatch.setattr(trash, "refuse_live", late)
    assert prune(world, action=action) == 4
    assert world.problem() is None
    assert "2 skipped" in capsys.readouterr().err
    assert trash.entries(world.state) == []
    assert run(["audit", "show"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("action", ["trash", "delete", "archive"])
def test_a_session_that_is_written_to_meanwhile_stays_and_is_not_told_to_be_gone(
    world, monkeypatch, action, capsys
):
    """What was appended is in its place, and no account speaks of the session."""
    path = world.home / next(iter(world.old))
    real = trash._take_away

    def appended(entry):
        if entry.session == CLAUDE:
            with path.open("ab") as handle:
                handle.write(b'{"late": true}\n')
        real(entry)

    monkeypatch.setattr(trash, "_take_away", appended)
    assert prune(world, action=action) == 6
    assert path.read_bytes().endswith(b'{"late": true}\n')
    assert CLAUDE not in [entry.session for entry in trash.entries(world.state)]
    capsys.readouterr()
    assert run(["audit", "show", str(path)]) == 0
    assert capsys.readouterr().out == ""


def test_a_hold_keeps_what_a_killed_run_was_about_to_delete(world, capsys):
    """Nothing that is under a hold goes for good, whoever began it."""
    path = world.home / next(iter(world.old))
    world.begin("delete")

    def taken():
        return [e for e in trash.entries(world.state) if e.stage is trash.Stage.HELD]

    def once_taken(*call):
        if taken():
            kill(*call)

    assert forked(lambda: world.run("delete"), at_calls(once_taken))[0] is None
    assert taken()[0].action == "delete"
    assert run(["hold", "add", "late", CLAUDE, "--reason", "a letter"]) == 0
    capsys.readouterr()
    assert prune(world, action="delete") == 0
    assert "it is under a hold by now" in capsys.readouterr().err
    assert run(["trash", "restore", CLAUDE]) == 0
    assert path.exists()


def test_emptying_leaves_the_undo_of_a_new_file_at_the_same_place(world):
    """The agent made a session of the same name since, and it was repaired."""
    assert prune(world) == 0
    path = world.home / next(iter(world.old))
    path.write_bytes(
        world.old[str(path.relative_to(world.home))].replace(b"canary", b"gull") + b'{"cut'
    )
    assert run(["repair", "--write", "--ignore-live", str(path)]) == 0
    assert run(["trash", "empty", CLAUDE, "--write", "--yes"]) == 0
    assert run(["undo", str(path)]) == 0
    assert path.read_bytes().endswith(b'{"cut')


def test_what_somebody_put_beside_an_archive_is_left(tmp_path, monkeypatch):
    """Only what was put there goes with the entry."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "root").mkdir()
    world = Home(tmp_path / "root")
    rules = world.root / "archive.toml"
    rules.write_text(f'{rules.read_text()}[archive]\nto = "{tmp_path / "far"}"\n')
    assert prune(world, action="archive") == 0
    entry = entry_of(world)
    assert entry.files.parent == tmp_path / "far"
    (entry.files / "note.txt").write_text("mine")
    assert run(["trash", "restore", "--all"]) == 0
    assert [p.name for p in (tmp_path / "far").rglob("*.*")] == ["note.txt"]
    assert (world.home / next(iter(world.old))).stat().st_mtime_ns == MTIME


def test_what_comes_to_a_place_during_a_restore_is_no_restored_session(world, monkeypatch):
    """The agent writes a new one while the trash is read: both are kept, and nothing is told."""
    assert prune(world) == 0
    path = world.home / next(iter(world.old))
    real = trash.staged

    def late(entry, stage):
        if stage is trash.Stage.RESTORING:
            path.write_bytes(b'{"new": 1}\n')
        return real(entry, stage)

    monkeypatch.setattr(trash, "staged", late)
    assert run(["trash", "restore", CLAUDE]) == 6
    assert path.read_bytes() == b'{"new": 1}\n'
    entry = entry_of(world)
    assert (entry.stage, entry.where(entry.items[0]).exists()) == (trash.Stage.HELD, True)
    assert "restore" not in [line["action"] for line in log.read(world.state)]


def test_a_restore_that_was_killed_is_ended_though_the_agent_went_on(world, capsys):
    """What was appended to a file that is back does not make it another file."""
    assert prune(world) == 0
    entry = trash.staged(entry_of(world), trash.Stage.RESTORING)
    path = entry.items[0].path
    os.link(entry.where(entry.items[0]), path)
    with path.open("ab") as handle:
        handle.write(b'{"more": 1}\n')
    capsys.readouterr()
    assert prune(world) == 0
    assert f"{path}: restore was broken off: put back" in capsys.readouterr().err
    assert path.read_bytes() == world.old[str(path.relative_to(world.home))] + b'{"more": 1}\n'
    assert all((world.home / name).exists() for name in world.groups[CLAUDE])


def test_what_cannot_be_seen_is_not_told_to_be_gone(world, capsys):
    """Its disk may not be mounted."""
    assert prune(world) == 0
    entry = entry_of(world)
    entry.where(entry.items[1]).rename(world.root / "elsewhere")
    assert run(["trash", "empty", CLAUDE, "--write", "--yes"]) == 3
    assert "is missing, so nobody knows whether it is gone" in capsys.readouterr().err
    assert entry_of(world).stage is trash.Stage.HELD
    assert list(tombstones.read(world.state)) == []


def test_what_was_done_but_for_its_end_is_not_said_to_be_skipped(world, monkeypatch, capsys):
    """The disk is full behind the lines of the log: the next run ends it."""

    def full(_entry):
        raise WriteError("no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(trash, "_held", full)
        assert prune(world) == 6
    said = capsys.readouterr()
    assert "was taken away, and what is behind it is left to the next run" in said.err
    assert "skipped" not in said.out + said.err
    assert prune(world) == 0
    assert world.wrong("trash") is None


def test_an_erasure_that_was_stopped_goes_on_with_the_same_names(world):
    """What an earlier run deleted is not missing."""
    first, second = (str(world.home / next(iter(files))) for files in world.groups.values())
    assert run(["prune", "--erase", first, "--write", "--yes"]) == 0
    assert run(["prune", "--erase", first, second, "--write", "--yes"]) == 0
    assert not (world.home / second).exists()
    assert run(["prune", "--erase", f"{first}x", "--write", "--yes"]) == 3
