"""Putting back what a change replaced."""

import errno
import gzip
import json
import os
import stat
import tracemalloc

import pytest

from sesstool.audit import chain, log
from sesstool.errors import InputError, LiveSessionError, UndoError, WriteError
from sesstool.records import undo as journal
from sesstool.records.edits import Edit, EditSet
from sesstool.records.opening import open_source
from sesstool.records.plan import FilePlan
from sesstool.records.source import fingerprint
from sesstool.records.transact import apply_file, undo
from sesstool.records.undo import State, cut_ranges, damaged, entries, find, purge, state_folder

ORIGINAL = b"one\ntwo\nthree\nfour"
MTIME = 1_600_000_000_987_654_321
CHANGES = {
    "cut": [Edit(14, 18)],
    "append": [Edit(18, 18, b"\n")],
    "middle": [Edit(0, 0, b"zero\n"), Edit(4, 8), Edit(8, 13, b"3"), Edit(14, 18, b"4\n")],
    "all": [Edit(0, 18)],
}
changes = pytest.mark.parametrize("edits", CHANGES.values(), ids=CHANGES)


@pytest.fixture
def session(tmp_path):
    return make(tmp_path / "s.jsonl")


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state"


def make(path, data=ORIGINAL):
    path.write_bytes(data)
    path.chmod(0o640)
    os.utime(path, ns=(MTIME, MTIME))
    return path


def change(path, state, edits=CHANGES["cut"], mode=None):
    """Apply edits, and return the id to undo them."""
    with open_source(path) as source:
        codec = source.codec
    plan = FilePlan(path, fingerprint(path), codec, EditSet(edits), mode, ("B104",))
    return apply_file(
        plan, state=state, command="repair", ignore_live=False, recent_seconds=None
    ).undo_id


def break_off(state, name, how):
    """Make a change look as a crash leaves it."""
    path = state / "undo" / name / "entry.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"state": how}))


def look(path):
    now = path.stat()
    return path.read_bytes(), stat.S_IMODE(now.st_mode), now.st_mtime_ns


@changes
def test_undo_puts_back_bytes_mode_and_mtime(session, state, edits):
    """All three are as they were, and the entry says so."""
    change(session, state, edits, mode=0o600)
    assert session.read_bytes() == EditSet(edits).apply(ORIGINAL)
    assert undo(state, str(session)).state is State.UNDONE
    assert look(session) == (ORIGINAL, 0o640, MTIME)


@changes
def test_undo_puts_back_a_compressed_file_to_the_byte(session, state, edits):
    """Not only what is in it: another compressor would pack it otherwise."""
    packed = gzip.compress(ORIGINAL, compresslevel=1, mtime=99)
    make(session, packed)
    change(session, state, edits)
    assert gzip.decompress(session.read_bytes()) == EditSet(edits).apply(ORIGINAL)
    undo(state, str(session))
    assert look(session) == (packed, 0o640, MTIME)


def test_undo_puts_back_a_mode_alone(session, state):
    """No byte was changed, and the mode comes back."""
    change(session, state, (), mode=0o600)
    undo(state, str(session))
    assert look(session) == (ORIGINAL, 0o640, MTIME)


def test_undo_twice_goes_back_two_changes(session, state):
    """And a third time there is nothing left."""
    change(session, state, [Edit(14, 18)])
    change(session, state, [Edit(0, 4, b"1\n")])
    undo(state, str(session))
    assert session.read_bytes() == b"one\ntwo\nthree\n"
    undo(state, str(session))
    assert session.read_bytes() == ORIGINAL
    with pytest.raises(UndoError, match="all is undone already"):
        undo(state, str(session))


def test_undo_after_a_change_is_refused_with_both_hashes(session, state):
    """What came since is not thrown away."""
    change(session, state)
    left = fingerprint(session).sha256
    with session.open("ab") as handle:
        handle.write(b"five\n")
    with pytest.raises(UndoError) as caught:
        undo(state, str(session))
    assert left in caught.value.message
    assert fingerprint(session).sha256 in caught.value.message
    assert session.read_bytes() == b"one\ntwo\nthree\nfive\n"


def test_undo_of_a_live_session_is_refused(session, state):
    """An agent would go on writing to a file that is gone."""
    change(session, state)
    with pytest.raises(LiveSessionError, match="an agent has it"):
        undo(state, str(session), writer=lambda _: "an agent has it")
    assert session.read_bytes() == b"one\ntwo\nthree\n"
    undo(state, str(session), ignore_live=True, writer=lambda _: "an agent has it")
    assert session.read_bytes() == ORIGINAL


def test_the_newest_change_of_all_is_undone_where_none_is_named(session, state, tmp_path):
    """Whichever file it was."""
    other = make(tmp_path / "other.jsonl")
    change(session, state)
    newest = change(other, state)
    assert undo(state, "").id == newest
    assert other.read_bytes() == ORIGINAL
    assert session.read_bytes() != ORIGINAL


def test_a_change_is_named_by_the_beginning_of_its_id(session, state):
    """If only one begins so; where none does, or it is undone, nothing is touched."""
    name = change(session, state)
    assert len(name) == 8
    assert find(state, name[:3]).path == session
    with pytest.raises(UndoError, match="no change is known"):
        find(state, "no-such-id")
    undo(state, name[:3])
    with pytest.raises(UndoError, match="undone already"):
        undo(state, name)


def test_a_beginning_that_two_changes_share_is_refused(session, state):
    """The ids of one file begin alike."""
    first, second = change(session, state), change(session, state, [Edit(0, 4)])
    assert first[:4] == second[:4]
    with pytest.raises(UndoError, match="more than one change"):
        undo(state, first[:4])


def test_an_undo_with_nothing_done_is_refused(session, state):
    """Neither by path, nor without one."""
    with pytest.raises(UndoError, match="no change is known"):
        undo(state, str(session))
    with pytest.raises(UndoError, match="nothing to undo: no change is known"):
        undo(state, "")


def test_a_link_leads_to_the_changes_of_its_file(session, state, tmp_path):
    """The path may be another than the change was made by."""
    link = tmp_path / "link"
    link.symlink_to(session)
    change(link, state)
    undo(state, str(session))
    change(session, state)
    undo(state, str(link))
    assert session.read_bytes() == ORIGINAL
    assert link.is_symlink()


def test_a_file_of_two_names_comes_back_in_place(session, state):
    """A cut is undone by an append, so both names stay one file."""
    other = session.with_name("other")
    other.hardlink_to(session)
    change(session, state)
    undo(state, str(session))
    assert other.read_bytes() == ORIGINAL
    assert other.samefile(session)


@changes
def test_what_was_cut_can_be_shown(session, state, edits):
    """Each range by its offset in the original."""
    name = change(session, state, edits)
    expected = [(e.start, ORIGINAL[e.start : e.end]) for e in edits if e.end > e.start]
    assert list(cut_ranges(find(state, name))) == expected


def test_what_was_cut_from_a_compressed_file_can_be_shown(session, state):
    """The offsets count decompressed bytes."""
    make(session, gzip.compress(ORIGINAL))
    name = change(session, state, [Edit(4, 8)])
    assert list(cut_ranges(find(state, name))) == [(4, b"two\n")]


def test_the_journal_is_private(session, state):
    """It holds session text."""
    change(session, state)
    for path in [state, *state.rglob("*")]:
        private = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == private


def test_an_entry_says_what_was_done(session, state):
    """As the list shows it."""
    name = change(session, state)
    (entry,) = entries(state)
    assert (entry.id, entry.command, entry.path) == (name, "repair", session)
    assert (entry.findings, entry.state, entry.before.size) == (("B104",), State.DONE, 18)


def test_a_journal_that_was_damaged_brings_nothing_back(session, state):
    """The bytes must hash to those that the file had."""
    name = change(session, state)
    cut = state / "undo" / name / "cut.bin"
    cut.write_bytes(b"FOUR")
    with pytest.raises(UndoError, match="is damaged"):
        undo(state, str(session))
    assert session.read_bytes() == b"one\ntwo\nthree\n"
    cut.write_bytes(b"four")
    undo(state, str(session))
    assert session.read_bytes() == ORIGINAL


def test_a_journal_that_lost_its_bytes_brings_nothing_back(session, state):
    """The error names the file that is missing."""
    name = change(session, state)
    (state / "undo" / name / "cut.bin").unlink()
    with pytest.raises(InputError, match=r"cut\.bin: no such file"):
        undo(state, str(session))
    assert session.read_bytes() == b"one\ntwo\nthree\n"


def test_a_damaged_entry_is_passed_over_and_can_be_forgotten(session, state):
    """One that cannot be read keeps neither the others from being undone nor new changes."""
    lost, kept = change(session, state), change(session, state, [Edit(0, 4)])
    (state / "undo" / lost / "entry.json").write_text("{")
    assert [entry.id for entry in entries(state)] == [kept]
    assert damaged(state) == [lost]
    change(session, state, [Edit(0, 4)])
    undo(state, str(session))
    undo(state, str(session))
    with pytest.raises(UndoError, match=f"all is undone already; {lost} cannot be read"):
        undo(state, str(session))
    assert purge(state, lost) == [lost]
    assert damaged(state) == []


def test_purge_forgets_all(session, state, tmp_path):
    """And what it forgot cannot be undone."""
    names = {change(session, state), change(make(tmp_path / "other.jsonl"), state), "left"}
    (state / "undo" / "left").mkdir()
    with pytest.raises(UndoError, match="no change has the id"):
        purge(state, "none")
    assert set(purge(state)) == names
    assert list((state / "undo").iterdir()) == []
    with pytest.raises(UndoError, match="no change is known"):
        undo(state, "")


def test_purge_keeps_a_change_that_is_under_way(session, state):
    """It may be needed to take back a torn write."""
    name = change(session, state)
    break_off(state, name, "begun")
    assert purge(state) == []
    assert purge(state, name) == [name]


def test_a_change_that_somebody_else_made_over_is_left_alone(session, state):
    """A broken change whose file has other bytes now is neither done nor void."""
    break_off(state, change(session, state), "begun")
    session.write_bytes(b"other")
    with pytest.raises(UndoError, match="has changed since"):
        undo(state, str(session))
    assert entries(state)[0].state is State.BEGUN
    change(session, state, [Edit(0, 1)])
    assert session.read_bytes() == b"ther"


def test_the_next_change_settles_a_broken_one(session, state):
    """The first had reached the file, and can be undone like any other."""
    break_off(state, change(session, state), "begun")
    change(session, state, [Edit(0, 4)])
    assert [entry.state for entry in entries(state)] == [State.DONE, State.DONE]


def test_an_undo_that_was_broken_off_at_the_end_is_not_done_twice(session, state):
    """The bytes are back, so asking again goes no further back."""
    change(session, state, [Edit(0, 4)])
    before = look(session)
    name = change(session, state, [Edit(0, 4)])
    make(session, before[0])
    break_off(state, name, "undoing")
    assert undo(state, str(session)).id == name
    assert look(session) == before
    assert [entry.state for entry in entries(state)] == [State.DONE, State.UNDONE]


@pytest.mark.parametrize(
    "tail", [b"fo", b"\0\0\0", b"f\0", b"\0ou"], ids=["part", "nul", "both", "hole"]
)
def test_a_torn_append_is_taken_back(session, state, tail):
    """A power cut leaves a part of it, or NULs; the next run finds that."""
    break_off(state, change(session, state), "undoing")
    with session.open("ab") as handle:
        handle.write(tail)
    undo(state, str(session))
    assert look(session) == (ORIGINAL, 0o640, MTIME)


def test_a_change_and_its_undo_are_in_the_audit_log(session, state):
    """With the hashes of both states, and the id."""
    before = fingerprint(session).sha256
    name = change(session, state)
    after = fingerprint(session).sha256
    undo(state, str(session))
    done, undone = log.read(state)
    assert (done["action"], done["path"], done["undo"]) == ("repair", str(session), name)
    assert (done["before"], done["after"], done["findings"]) == (before, after, ["B104"])
    assert (undone["action"], undone["path"], undone["undo"]) == ("undo", str(session), name)
    assert (undone["before"], undone["after"]) == (after, before)
    assert log.verify(state) == []


def test_a_change_that_the_audit_log_cannot_take_is_told(session, state, monkeypatch):
    """Where the log fails behind the write, the file is changed, and the error says so."""

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(chain, "_append", full)
    with pytest.raises(WriteError, match="was changed, but cannot add to the audit log"):
        change(session, state)
    assert session.read_bytes() == b"one\ntwo\nthree\n"


def test_a_change_whose_undo_cannot_be_kept_is_not_made(session, state):
    """The error names the way to do without."""
    state.mkdir()
    (state / "undo").write_text("in the way")
    with pytest.raises(WriteError, match="what undo needs") as caught:
        change(session, state)
    assert "--no-undo" in caught.value.hint
    assert look(session) == (ORIGINAL, 0o640, MTIME)


def test_an_undo_entry_that_fails_half_way_is_not_kept(session, state, monkeypatch):
    """The session text in it would lie about for nothing."""

    def refuse(_):
        raise WriteError("the disk is full")

    monkeypatch.setattr(journal, "_save", refuse)
    with pytest.raises(WriteError, match="what undo needs"):
        change(session, state)
    assert list((state / "undo").iterdir()) == []
    assert look(session) == (ORIGINAL, 0o640, MTIME)


def test_two_paths_may_share_the_beginning_of_their_ids(session, state, tmp_path, monkeypatch):
    """The path decides, the id only finds it faster."""
    monkeypatch.setattr(journal, "_key", lambda _: "abcd")
    name = change(session, state)
    change(make(tmp_path / "other.jsonl"), state)
    assert undo(state, str(session)).id == name
    assert session.read_bytes() == ORIGINAL


def test_memory_does_not_grow_with_the_text(session, state):
    """A large file with a large cut is changed and brought back a piece at a time."""
    data = b"0123456789abcde\n" * (1 << 20)
    make(session, data)
    tracemalloc.start()
    try:
        change(session, state, [Edit(0, 12 << 20), Edit(13 << 20, 14 << 20, b"x")])
        undo(state, str(session))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert session.read_bytes() == data
    assert peak < 6 << 20


def test_the_state_folder_follows_the_environment(monkeypatch, tmp_path):
    """As the desktop's rules ask for."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert state_folder() == tmp_path / "sesstool"
