"""Whether files are still what they were when they were read."""

import hashlib
import os

import pytest

from sesstool.store import reads
from sesstool.store.reads import Read, as_cache, check, look, look_again, noted, of_cache

WORDS = b"light the lamp"
SHA256 = hashlib.sha256(WORDS).hexdigest()
TIME = 1_772_344_800_123_456_789


@pytest.fixture
def lamp(tmp_path):
    path = tmp_path / "lamp.txt"
    path.write_bytes(WORDS)
    os.utime(path, ns=(TIME, TIME))
    return path


def state(read):
    ((_, told),) = check([read])
    return told


def touch(path, words=WORDS, time=TIME + 1_000_000):
    path.write_bytes(words)
    os.utime(path, ns=(time, time))


def test_a_file_is_noted_with_time_size_and_hash(lamp):
    """The time counts nanoseconds."""
    assert noted(str(lamp)) == Read(str(lamp), TIME, len(WORDS), SHA256)


def test_a_large_file_is_noted_without_hash(lamp):
    """The limit counts bytes, and is still hashed."""
    assert look(str(lamp), len(WORDS)).sha256 == SHA256
    assert look(str(lamp), len(WORDS) - 1) == Read(str(lamp), TIME, len(WORDS), "")


def test_an_untouched_file_is_the_same_without_a_look_into_it(lamp, monkeypatch):
    """Where time and size are equal, no byte is read."""
    read = noted(str(lamp))
    monkeypatch.setattr(reads, "open_file", None)
    assert state(read) == "same"
    assert look_again(read) is read


@pytest.mark.parametrize(
    ("words", "told"),
    [(WORDS, "same"), (b"light the lump", "changed"), (b"light the lamps", "changed")],
)
def test_the_hash_decides_where_the_time_differs(lamp, words, told):
    """A file that was written anew with the same bytes is the same."""
    read = noted(str(lamp))
    touch(lamp, words)
    assert state(read) == told


def test_a_file_of_another_size_is_not_read(lamp, monkeypatch):
    """Its size tells enough."""
    read = noted(str(lamp))
    touch(lamp, b"")
    monkeypatch.setattr(reads, "open_file", None)
    assert state(read) == "changed"


def test_a_file_without_hash_counts_as_changed_where_its_time_differs(lamp):
    """Nobody can tell, and it is said rather than passed over."""
    read = look(str(lamp), 0)
    assert state(read) == "same"
    touch(lamp)
    assert state(read) == "changed"


def test_a_time_in_milliseconds_is_compared_as_one(lamp):
    """MyCodeAgent keeps no more of it."""
    read = Read(str(lamp), TIME // 1_000_000 * 1_000_000, len(WORDS))
    assert state(read) == "same"
    assert state(read._replace(mtime=read.mtime + 1_000_000)) == "changed"
    assert state(read._replace(mtime=TIME + 1)) == "changed"


def test_a_file_that_is_gone_is_missing(lamp):
    """So is one below what is a file now."""
    read = noted(str(lamp))
    lamp.unlink()
    assert state(read) == "missing"
    assert look(str(lamp.with_name("no") / "where")) == "missing"
    touch(lamp)
    assert look(f"{lamp}/where") == "missing"


@pytest.mark.parametrize("path", ["lamp.txt", "", "a\0b", "/\ud800", "c:\\lamp", "/" + 300 * "x"])
def test_what_no_system_opens_is_never_there(lamp, monkeypatch, path):
    """A path that does not begin at the root is none: nobody knows from where it counts."""
    monkeypatch.chdir(lamp.parent)
    assert look(path) in ("missing", "unreadable")
    assert noted(path) is None


def test_a_pipe_is_not_waited_for(tmp_path):
    """Nor is it opened: whoever writes to it would be told that somebody reads."""
    os.mkfifo(tmp_path / "pipe")
    assert look(str(tmp_path / "pipe")) == "unreadable"


@pytest.mark.parametrize(
    "path", ["/dev/zero", "/proc/self/environ", "/proc/self/fd/0", "/sys", "/etc/../proc/version"]
)
def test_what_the_system_makes_up_is_not_read(path):
    """A device may act, and a file below /proc may block."""
    assert look(path) in ("unreadable", "missing")


def test_a_link_leads_to_its_file_but_not_to_what_the_system_makes_up(lamp):
    """An agent reads through links, too."""
    link = lamp.with_name("link")
    link.symlink_to(lamp)
    assert noted(str(link)) == Read(str(link), TIME, len(WORDS), SHA256)
    link.unlink()
    link.symlink_to("/proc/self/environ")
    assert look(str(link)) == "unreadable"
    link.unlink()
    link.symlink_to(link)
    assert look(str(link)) == "unreadable"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_that_may_not_be_read_is_unreadable(lamp):
    """Its size is no secret, and its bytes are."""
    lamp.chmod(0)
    assert look(str(lamp)) == "unreadable"


def test_a_file_that_fails_to_be_read_is_unreadable(lamp, monkeypatch):
    """A failing disk is no end of the run."""

    def fail(_):
        raise PermissionError(13, "no")

    monkeypatch.setattr(reads, "open_file", fail)
    assert look(str(lamp)) == "unreadable"


def test_a_file_that_grows_is_read_up_to_the_size_that_was_told(lamp, monkeypatch):
    """Else a log could keep the run for ever; next time it counts as changed."""
    real = reads.open_file

    def growing(path):
        with path.open("ab") as handle:
            handle.write(b" again")
        return real(path)

    monkeypatch.setattr(reads, "open_file", growing)
    assert look(str(lamp)) == Read(str(lamp), TIME, len(WORDS), SHA256)
    monkeypatch.undo()
    assert state(Read(str(lamp), TIME, len(WORDS), SHA256)) == "changed"


def test_the_cache_of_mycodeagent_is_given_and_taken(lamp):
    """Its shape has times in milliseconds, and the SHA-256 is ours."""
    read = noted(str(lamp))
    cache = as_cache([read], 1772344801.5)
    assert cache == {
        str(lamp): {
            "path_resolved": str(lamp),
            "file_mtime_ms": TIME // 1_000_000,
            "file_size_bytes": len(WORDS),
            "captured_at": 1772344801.5,
            "sha256": SHA256,
        }
    }
    (taken,) = of_cache(cache, "/srv")
    assert taken == read._replace(mtime=TIME // 1_000_000 * 1_000_000)
    assert state(taken) == "same"


def test_the_paths_of_its_cache_count_from_the_project(lamp):
    """The agent's own entries have no hash; the key tells the path where nothing else does."""
    entry = {"file_mtime_ms": TIME // 1_000_000, "file_size_bytes": len(WORDS), "captured_at": 1.0}
    found = of_cache({"./lamp.txt": entry | {"path_resolved": "lamp.txt"}, "b": entry}, "/srv")
    assert [read.path for read in found] == ["/srv/lamp.txt", "/srv/b"]
    (read,) = of_cache({"lamp.txt": entry}, str(lamp.parent))
    assert state(read) == "same"


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        "x",
        {"a": None},
        {"a": {}},
        {"a": {"file_mtime_ms": True, "file_size_bytes": 1}},
        {"a": {"file_mtime_ms": 1.5, "file_size_bytes": 1}},
    ],
)
def test_a_cache_of_another_shape_holds_nothing(value):
    """A transcript may say anything."""
    assert of_cache(value, "/srv") == []
