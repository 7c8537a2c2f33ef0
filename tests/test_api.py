"""The verbs: finding sessions, planning, applying once, taking back."""

from __future__ import annotations

import gzip
import os
import stat

import pytest
import zstandard

from sesstool import api
from sesstool.errors import (
    InputError,
    LiveSessionError,
    StalePlanError,
    UndoError,
    UsageError,
    WriteError,
)
from tests.conftest import (
    ROLLOUT,
    SESSION,
    THREAD,
    answer,
    jsonl,
    loads,
    meta,
    prompt,
    runs,
    says,
    talk,
    use,
)

OTHER = "0123ffff-0000-7000-8000-00000000f04c"
DAMAGED = jsonl(prompt(1, None), answer(2, 1, use("a")), prompt(4, 3)) + b'{"cut'
LONG_AGO = 1_770_000_000_123_456_789


@pytest.fixture
def projects(home):
    folder = home / ".claude" / "projects" / "-srv-beacon"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def rollouts(home):
    folder = home / ".codex" / "sessions" / "2026" / "03" / "01"
    folder.mkdir(parents=True)
    return folder


def put(path, data, mode=0o600):
    """Write a file that nobody has been writing lately."""
    path.write_bytes(data)
    path.chmod(mode)
    os.utime(path, ns=(LONG_AGO, LONG_AGO))
    return path


def mend(path, **more):
    return api.apply(api.plan_of([api.repair(path, **more)]))


def test_find_by_path_and_folder(tmp_path):
    """A file stands for itself, a folder for every session below it."""
    names = ("a.jsonl", "sub/b.jsonl.gz", "sub/c.jsonl.zst", "sub/notes.txt")
    (tmp_path / "sub").mkdir()
    for name in names:
        (tmp_path / name).touch()
    found = [tmp_path / n for n in names[:3]]
    assert list(api.find([str(tmp_path)])) == found
    assert list(api.find([str(found[0]), "-"])) == [found[0], "-"]
    assert list(api.find([str(tmp_path / "sub" / "notes.txt")])) == [tmp_path / names[3]]
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match="holds no session file"):
        list(api.find([str(tmp_path / "none")]))


def test_find_by_id(projects, rollouts):
    """An id, or a beginning that only one session has, is found in any agent's home."""
    one = put(projects / f"{SESSION}.jsonl", DAMAGED)
    two = put(rollouts / ROLLOUT, jsonl(meta()))
    put(rollouts / ROLLOUT.replace(THREAD, OTHER), jsonl(meta()))
    assert list(api.find([SESSION])) == [one]
    assert list(api.find([SESSION[:4], THREAD[:8]])) == [one, two]
    with pytest.raises(InputError, match="2 sessions have an id that begins with 0123"):
        list(api.find(["0123"]))
    with pytest.raises(InputError, match="no file nowhere") as caught:
        list(api.find(["nowhere"]))
    assert caught.value.hint


def test_a_missing_path_is_told_when_it_is_opened():
    """What looks like a path is never looked for as an id."""
    for name in ("none.jsonl", "some/where"):
        (path,) = api.find([name])
        with pytest.raises(InputError, match="no such file"):
            api.validate(path)


def test_apply_and_undo(tmp_path, home):
    """A repair is applied once, keeps mode and time, and is taken back to the last byte."""
    path = put(tmp_path / "s.jsonl", DAMAGED)
    repair = api.repair(path)
    assert path.read_bytes() == DAMAGED
    (done,) = api.apply(api.plan_of([repair]))
    mended = path.read_bytes()
    assert mended == repair.outcome.edits.apply(DAMAGED)
    assert len(loads(mended)) == 4
    now = path.stat()
    assert (now.st_mtime_ns, stat.S_IMODE(now.st_mode)) == (LONG_AGO, 0o600)
    assert not api.repair(path)
    assert api.state_folder() == home / ".state" / "sesstool"
    api.undo(str(path))
    assert path.read_bytes() == DAMAGED
    assert path.stat().st_mtime_ns == LONG_AGO
    assert done
    with pytest.raises(UndoError):
        api.undo(str(path))


MANY = jsonl(prompt(1, None), *(prompt(n, n - 1) for n in range(2, 1100))) + b'{"cut'


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("way", ["append", "rename"])
def test_a_file_that_changes_while_it_is_read_gets_no_plan(tmp_path, packed, way):
    """Edits for bytes that are gone must never meet those that came instead."""
    path = put(tmp_path / "s.jsonl", gzip.compress(MANY) if packed else MANY)

    end = gzip.compress(b'":1}\n') if packed else b'":1}\n'

    def write(_):
        if way == "append":
            with path.open("ab") as handle:
                handle.write(end)
        else:
            put(tmp_path / "new", path.read_bytes() + end).rename(path)

    with pytest.raises(StalePlanError):
        api.repair(path, progress=write)


def test_a_copy_is_of_the_bytes_it_saw(tmp_path):
    """A session that changed since it was read is not copied with edits made for others."""
    path = put(tmp_path / "s.jsonl", DAMAGED)
    planned = api.repair(path)
    path.write_bytes(DAMAGED + b"x")
    with pytest.raises(StalePlanError):
        api.write_copy(planned, tmp_path / "copy.jsonl")
    with pytest.raises(StalePlanError):
        list(api.repaired(planned))
    with pytest.raises(StalePlanError), api.reopened(planned):
        pass
    assert not (tmp_path / "copy.jsonl").exists()


def test_an_empty_path_is_no_folder():
    """What a script's unset variable gives must not mean the current folder."""
    with pytest.raises(UsageError, match="empty"):
        list(api.find([""]))


def test_a_plan_is_for_the_bytes_it_saw(tmp_path):
    """A file that changed since is left alone."""
    path = put(tmp_path / "s.jsonl", DAMAGED)
    plan = api.plan_of([api.repair(path)])
    path.write_bytes(DAMAGED + b"x")
    with pytest.raises(StalePlanError):
        api.apply(plan)
    assert path.read_bytes() == DAMAGED + b"x"


def test_a_plan_of_several_files_is_for_all_of_them(tmp_path):
    """Where one of the files has changed since, none is written."""
    paths = [put(tmp_path / name, DAMAGED) for name in ("a.jsonl", "b.jsonl")]
    plan = api.plan_of(map(api.repair, paths))
    put(paths[1], DAMAGED + b"x")
    with pytest.raises(StalePlanError):
        api.apply(plan)
    assert paths[0].read_bytes() == DAMAGED


@pytest.mark.parametrize(
    ("pack", "unpack"),
    [(gzip.compress, gzip.decompress), (zstandard.compress, None)],
    ids=["gz", "zst"],
)
def test_a_compressed_session_stays_compressed(tmp_path, pack, unpack):
    """What was packed is mended inside and packed again; undo gives the old file."""
    packed = pack(DAMAGED)
    path = put(tmp_path / "s.jsonl.packed", packed)
    mend(path)
    unpack = unpack or (lambda d: zstandard.ZstdDecompressor().decompressobj().decompress(d))
    assert len(loads(unpack(path.read_bytes()))) == 4
    assert not api.repair(path)
    api.undo(str(path))
    assert path.read_bytes() == packed


def test_a_live_session_is_left_alone(projects):
    """In an agent's home, a file that was written a moment ago is not touched."""
    path = put(projects / f"{SESSION}.jsonl", DAMAGED)
    os.utime(path)
    plan = api.plan_of([api.repair(path)])
    with pytest.raises(LiveSessionError) as caught:
        api.apply(plan)
    assert "--ignore-live" in caught.value.hint
    assert path.read_bytes() == DAMAGED
    api.apply(plan, ignore_live=True)
    assert path.read_bytes() != DAMAGED


def test_access_is_mended_in_the_home_of_the_owner(projects, home, monkeypatch):
    """A session that others can read becomes private, and its bytes stay."""
    monkeypatch.setattr("sesstool.checks.meta._home_of", lambda _: home)
    path = put(projects / f"{SESSION}.jsonl", jsonl(*talk(2)), 0o644)
    repair = api.repair(path)
    assert (bool(repair), repair.outcome.mode, len(repair.outcome.edits)) == (True, 0o600, 0)
    assert repair.outcome.after.findings == ()
    mend(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_bytes() == jsonl(*talk(2))


def test_a_child_by_reference_follows_its_parent(rollouts):
    """A fork that names a byte offset of its parent names the right one after a repair."""
    records = [meta(0), says("user", "tide?", 1), runs("a", 2), says("user", "and?", 3)]
    shared = jsonl(*records[:2])
    parent = jsonl(records[0]) + b"\0" * 40 + jsonl(*records[1:])
    base = {"thread_id": THREAD, "end_ordinal_exclusive": 2, "end_byte_offset": len(shared) + 40}
    fork = jsonl(meta(2, id=OTHER, forked_from_id=THREAD, history_base=base), says("user", "x", 3))
    path = put(rollouts / ROLLOUT, parent)
    child = put(rollouts / ROLLOUT.replace(THREAD, OTHER), fork)
    others = jsonl(meta(2, history_base=base | {"thread_id": OTHER}))
    stranger = put(rollouts / ROLLOUT.replace("06-00", "07-00"), others)
    repair = api.repair(path)
    assert [f.path for f in repair.files] == [path, child]
    mend(path)
    now = loads(child.read_bytes())[0]["payload"]["history_base"]["end_byte_offset"]
    assert path.read_bytes()[:now] == shared
    assert child.read_bytes().endswith(jsonl(says("user", "x", 3)))
    assert stranger.read_bytes() == others


def test_a_child_is_left_where_its_offset_stays(rollouts):
    """Bytes that change behind the fork point are no matter of the child."""
    parent = jsonl(meta(0), says("user", "tide?", 1)) + b'{"cut'
    base = {"thread_id": THREAD, "end_byte_offset": len(jsonl(meta(0)))}
    path = put(rollouts / ROLLOUT, parent)
    put(rollouts / ROLLOUT.replace(THREAD, OTHER), jsonl(meta(1, id=OTHER, history_base=base)))
    assert [f.path for f in api.repair(path).files] == [path]


def test_write_copy(tmp_path):
    """A copy is private, whole and mended; nothing is overwritten unless that is asked for."""
    path, target = put(tmp_path / "s.jsonl", DAMAGED), tmp_path / "out.jsonl"
    repair = api.repair(path)
    expected = b"".join(api.repaired(repair))
    api.write_copy(repair, target)
    assert (target.read_bytes(), path.read_bytes()) == (expected, DAMAGED)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    target.write_bytes(b"mine")
    with pytest.raises(WriteError):
        api.write_copy(repair, target)
    assert target.read_bytes() == b"mine"
    api.write_copy(repair, target, force=True)
    assert target.read_bytes() == expected
    with pytest.raises(UsageError, match="is the session itself"):
        api.write_copy(repair, path, force=True)


def test_a_copy_may_be_named_by_a_string(tmp_path):
    """As every other path of the library."""
    path = put(tmp_path / "s.jsonl", DAMAGED)
    api.write_copy(api.repair(str(path)), str(tmp_path / "copy.jsonl"))
    assert api.validate(str(tmp_path / "copy.jsonl")).findings == ()


def test_nothing_to_do_is_false(tmp_path):
    """The repair of a sound session is false and has no files."""
    repair = api.repair(put(tmp_path / "s.jsonl", jsonl(*talk(2))))
    assert not repair
    assert repair.files == ()
    assert api.plan_of([repair]).files == ()


def test_resume_reads_a_path(tmp_path):
    """Resume tells of a file what it tells of a source."""
    report = api.resume(put(tmp_path / "s.jsonl", DAMAGED))
    assert (report.sent, report.present, report.acceptable) == (3, 3, False)
