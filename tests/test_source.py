"""Sources: files, pipes, compressed files, and texts with edits over them."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import random
import shutil
import sys

import pytest
import zstandard

from sesstool.errors import InputError
from sesstool.records import packed as source
from sesstool.records.edits import Edit, EditSet
from sesstool.records.opening import open_source
from sesstool.records.packed import compress
from sesstool.records.source import (
    EditedSource,
    Source,
    fingerprint,
)
from tests.conftest import Memory

DATA = b'{"lamp":1}\n' * 200


def whole(source):
    return b"".join(source.chunks())


@pytest.mark.parametrize(
    ("codec", "packed"),
    [
        ("", DATA),
        ("gz", gzip.compress(DATA, mtime=0)),
        ("zst", zstandard.compress(DATA)),
        ("zst", zstandard.compress(DATA) + zstandard.compress(b"")),
    ],
)
def test_a_file_is_opened_by_its_first_bytes(tmp_path, codec, packed):
    """Compressed or not, whatever the name, a source gives the plain bytes."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(packed)
    with open_source(path) as source:
        assert isinstance(source, Source)
        assert (source.codec, source.size, source.path) == (codec, len(DATA), path)
        assert whole(source) == DATA
        assert source.read(11, 21) == DATA[11:21]
        assert source.read(len(DATA) - 3, len(DATA) + 50) == DATA[-3:]
        assert source.read(50, 40) == b""


@pytest.mark.parametrize(
    "packed",
    [
        pytest.param(gzip.compress(DATA, mtime=0), id="gz"),
        pytest.param(zstandard.compress(DATA), id="zst"),
    ],
)
def test_a_cut_archive_is_refused(tmp_path, packed):
    """A compressed file that is cut gives no half session, but a sentence and a hint."""
    path = tmp_path / "cut"
    path.write_bytes(packed[:-9])
    with pytest.raises(InputError, match="damaged or cut") as caught:
        open_source(path).close()
    assert caught.value.hint


@pytest.mark.parametrize(
    ("name", "message"), [("none", "no such file"), ("", "is a directory"), ("pipe", "regular")]
)
def test_what_cannot_be_read_is_refused(tmp_path, name, message):
    """A missing file, a folder and a named pipe are errors and never waited for."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match=message) as caught:
        open_source(tmp_path / name)
    assert caught.value.hint


def endless(blocks):
    """A zstd frame of blocks that each hold 128 KiB of one byte, in four bytes."""

    def block(size, last):
        return (size << 3 | 1 << 1 | last).to_bytes(3, "little") + b"a"

    return b"\x28\xb5\x2f\xfd\x00\x38" + block(1 << 17, last=0) * blocks + block(1, last=1)


@pytest.mark.parametrize("packed", [gzip.compress(bytes(1 << 20)), endless(8)], ids=["gz", "zst"])
@pytest.mark.parametrize("piped", [False, True])
def test_a_few_bytes_that_hold_very_many_are_refused(tmp_path, monkeypatch, packed, piped):
    """Over a size that sessions have, what is over a ratio that they have is not unpacked."""
    path = tmp_path / "trap"
    path.write_bytes(packed)
    if piped:
        path = "-"
        stream = io.TextIOWrapper(io.BufferedReader(io.BytesIO(packed)))
        monkeypatch.setattr(sys, "stdin", stream)
    else:
        with open_source(path) as read:
            assert read.size >= 1 << 20
    monkeypatch.setattr(source, "_LARGE", 1 << 19)
    with pytest.raises(InputError, match=f"{len(packed)} compressed bytes hold more") as caught:
        open_source(path)
    assert "decompress it" in caught.value.hint


def test_a_large_session_that_shrinks_as_sessions_do_is_read(tmp_path, monkeypatch):
    """Size alone is no fault."""
    monkeypatch.setattr(source, "_LARGE", 1 << 10)
    path = tmp_path / "session.jsonl.gz"
    path.write_bytes(gzip.compress(DATA, mtime=0))
    with open_source(path) as read:
        assert whole(read) == DATA


@pytest.mark.parametrize("packed", [DATA, gzip.compress(DATA, mtime=0), zstandard.compress(DATA)])
def test_a_spool_leaves_room_on_its_disk(monkeypatch, packed):
    """What is spooled never takes the last of a disk; the hint names another folder."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(packed))))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: (1 << 40, 0, 1 << 28))
    with pytest.raises(InputError, match="do not fit") as caught:
        open_source("-")
    assert "TMPDIR" in caught.value.hint


def test_zstd_is_unpacked_in_bounded_memory():
    """However much a few bytes stand for, no piece of it is larger than 16 MiB."""
    raw = source._Counted(io.BytesIO(endless(600)))
    sizes = [len(chunk) for chunk in source._unpacked_zst(raw)]
    assert sum(sizes) == 600 * (1 << 17) + 1
    assert max(sizes) <= 1 << 24


@pytest.mark.parametrize("sent", [DATA, gzip.compress(DATA, mtime=0), b""])
def test_standard_input(monkeypatch, sent):
    """A dash reads standard input, which may be compressed, and has no path."""
    plain = gzip.decompress(sent) if sent.startswith(b"\x1f") else sent
    stream = io.TextIOWrapper(io.BufferedReader(io.BytesIO(sent)))
    monkeypatch.setattr(sys, "stdin", stream)
    with open_source("-") as source:
        assert (source.name, source.path) == ("standard input", None)
        assert whole(source) == plain


def test_fingerprint(tmp_path):
    """A fingerprint tells the file's bytes on disk, its mode and its time."""
    path = tmp_path / "s"
    path.write_bytes(DATA)
    path.chmod(0o640)
    os.utime(path, ns=(5, 1_700_000_000_000_000_007))
    print_ = fingerprint(path)
    assert print_.sha256 == hashlib.sha256(DATA).hexdigest()
    assert (print_.size, print_.mode) == (len(DATA), 0o640)
    assert print_.mtime == 1_700_000_000_000_000_007
    assert print_.same_file(path.stat())
    path.write_bytes(DATA + b"x")
    assert not print_.same_file(path.stat())
    with pytest.raises(InputError):
        fingerprint(tmp_path / "none")


@pytest.mark.parametrize(
    ("codec", "unpack"),
    [
        ("", bytes),
        ("gz", gzip.decompress),
        ("zst", lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data)),
    ],
)
def test_compress(codec, unpack):
    """Chunks in a codec are the same bytes again when they are unpacked."""
    packed = b"".join(compress(iter([DATA[:100], DATA[100:]]), codec))
    assert unpack(packed) == DATA


def test_an_edited_source_reads_as_the_edited_text():
    """Every range and all chunks are those of the text that the edits make."""
    made = random.Random(11)
    data = bytes(range(60))
    for _ in range(60):
        points = sorted(made.sample(range(61), 6))
        edits = EditSet(
            Edit(points[n], points[n + 1], b"-" * made.randrange(5)) for n in range(0, 6, 2)
        )
        expected = edits.apply(data)
        source = EditedSource(Memory(data), edits)
        assert source.size == len(expected)
        assert whole(source) == expected
        for _ in range(20):
            start, end = sorted((made.randrange(70), made.randrange(70)))
            assert source.read(start, end) == expected[start:end]
