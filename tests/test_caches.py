"""Caches: words that can be found again, and are gone from the disk when forgotten."""

from __future__ import annotations

import os
import stat
import threading

import pytest

from sesstool.audit import log
from sesstool.caches import words as module
from sesstool.caches.folder import memory_path, words_path
from sesstool.caches.forget import forget
from sesstool.caches.words import Stamp, Words
from sesstool.errors import WriteError
from sesstool.records.undo import state_folder

STAMP = Stamp(1, 100, 2, b"tail")


def put(words: Words, path: bytes, *said: str, start: int = 0) -> int:
    """Add some words a row each, ten bytes apart."""
    with words.changing():
        adder = words.add(path, start)
        for number, one in enumerate(said):
            adder.put(start + 10 * number, one)
        adder.close(start + 10 * len(said))
        words.reached(adder.file, STAMP, start + 10 * len(said))
    return adder.file


def index() -> Words:
    return Words(words_path(), make=True)


def on_disk() -> bytes:
    folder = words_path().parent
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


def test_words_are_found():
    """A word is found in the files and at the offsets where it was put, and so is its beginning."""
    with index() as words:
        first = put(words, b"/a", "lamp oil", "rope")
        second = put(words, b"/b", "", "lampion rope")
        assert list(words.find('"lamp"')) == [(first, 0)]
        assert set(words.find('"lamp" *')) == {(first, 0), (second, 10)}
        assert set(words.find('"rope"')) == {(first, 10), (second, 10)}
        assert words.known()[b"/a"] == (first, STAMP, 20, True)


def test_the_index_is_private():
    """The database and its folder are for the user alone, whatever the umask."""
    old = os.umask(0)
    try:
        with index() as words:
            put(words, b"/a", "lamp")
    finally:
        os.umask(old)
    assert stat.S_IMODE(words_path().stat().st_mode) == 0o600
    assert stat.S_IMODE(words_path().parent.stat().st_mode) == 0o700


def test_no_word_is_left_of_what_is_forgotten(tmp_path):
    """What a forgotten file said is nowhere in the cache folder, and the rest can be added anew."""
    gone, kept = tmp_path / "gone.jsonl", tmp_path / "kept.jsonl"
    said = [f"quagga{number} zebroid{number}" for number in range(5000)]
    with index() as words:
        put(words, os.fsencode(kept), "lantern")
        put(words, os.fsencode(gone), *said)
        put(words, os.fsencode(kept), "oilskin", start=50_000)
    assert b"quagga49" in on_disk()
    forget([gone])
    assert b"quagga" not in on_disk()
    assert b"zebroid" not in on_disk()
    assert b"gone.jsonl" not in on_disk()
    with index() as words:
        known = words.known()[os.fsencode(kept)]
        assert (known.reached, known.whole) == (0, False)
        assert list(words.find('"lantern"')) == []


def test_shards_bound_what_is_lost(monkeypatch):
    """Only what shares a shard with a forgotten file is to be read again, from where it was."""
    monkeypatch.setattr(module, "SHARD", 40)
    with index() as words:
        early = put(words, b"/early", "lamp", "oil", "rope", "sail", "fog", "tide")
        put(words, b"/late", "gale", "squall")
        words.forget([b"/late"])
        assert words.known()[b"/early"][2:] == (40, False)
        assert list(words.find('"sail"')) == [(early, 30)]
        assert list(words.find('"fog"')) == []


def test_every_write_forgets(tmp_path):
    """A line in the log of writes clears what was drawn from the file: its words and its memory."""
    path = tmp_path / "a.jsonl"
    link = tmp_path / "link.jsonl"
    link.symlink_to(path)
    memory = memory_path(path)
    memory.parent.mkdir(parents=True)
    memory.write_text("places")
    with index() as words:
        put(words, os.fsencode(os.path.realpath(path)), "quagga")
    log.append(state_folder(), log.Change("redact", str(link), "", ""))
    assert not memory.exists()
    assert b"quagga" not in on_disk()


def test_forgetting_makes_no_cache(tmp_path):
    """Where there is no cache, none is made to forget."""
    forget([tmp_path / "a.jsonl"])
    assert not words_path().parent.exists()


@pytest.mark.parametrize("body", [b"", b"no database " * 500, b"SQLite format 3\0" + bytes(99)])
def test_a_damaged_index_goes(tmp_path, body):
    """An index that cannot be opened is deleted rather than left with who knows what in it."""
    words_path().parent.mkdir(parents=True)
    words_path().write_bytes(body)
    forget([tmp_path / "a.jsonl"])
    assert not words_path().exists()


def test_a_link_is_no_index(tmp_path):
    """A link in the place of the index is neither followed nor written through."""
    other = tmp_path / "other"
    other.write_bytes(b"")
    words_path().parent.mkdir(parents=True)
    words_path().symlink_to(other)
    with index() as words:
        put(words, b"/a", "lamp")
    assert not words_path().is_symlink()
    assert other.read_bytes() == b""


def test_who_forgets_waits_for_who_adds(tmp_path):
    """What is being added while it is to be forgotten is gone when that is done."""
    path = tmp_path / "a.jsonl"
    with index() as words:
        thread = threading.Thread(target=forget, args=([path],))
        with words.changing():
            adder = words.add(os.fsencode(path), 0)
            adder.put(0, "quagga")
            adder.close(10)
            thread.start()
            thread.join(0.05)
            assert thread.is_alive()
        thread.join()
    assert b"quagga" not in on_disk()


def test_an_index_that_stays_is_told(tmp_path):
    """Where words cannot be taken off the disk, the error names the file; the write is logged."""
    words_path().parent.mkdir(parents=True)
    words_path().mkdir()
    with pytest.raises(WriteError, match=r"still in .*search\.db"):
        log.append(state_folder(), log.Change("redact", str(tmp_path / "a"), "", ""))
    assert [line["action"] for line in log.read(state_folder())] == ["redact"]
