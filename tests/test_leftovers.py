"""The proof behind an erasure: which files still hold a text, however it is written there."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
import tracemalloc
from contextlib import closing

import pytest

from sesstool.errors import InputError
from sesstool.records.source import CHUNK
from sesstool.retention.leftovers import leftovers

TEXT = 'the "naïve" heron\nunder C:\\reeds'


def spellings(text):
    inner = json.dumps(text)
    return {
        "plain": text.encode(),
        "json": inner.encode(),
        "json in UTF-8": json.dumps(text, ensure_ascii=False).encode(),
        "json in json": json.dumps({"a": inner}).encode(),
        "json in json in UTF-8": json.dumps(
            json.dumps(text, ensure_ascii=False), ensure_ascii=False
        ).encode(),
        "UTF-16": text.encode("utf-16-le"),
        "UTF-16, the other way round": text.encode("utf-16-be"),
    }


@pytest.mark.parametrize("name", spellings(TEXT))
def test_a_text_is_found_in_each_spelling(tmp_path, name):
    """And no file is named that only holds a part of it."""
    (tmp_path / "deep").mkdir()
    hit = tmp_path / "deep" / "hit.bin"
    hit.write_bytes(b"\xff\0before " + spellings(TEXT)[name] + b" after")
    (tmp_path / "miss").write_bytes(spellings(TEXT[:-1])[name].rstrip(b'"\\}'))
    assert leftovers(tmp_path, [TEXT, "never said"]) == [hit]


@pytest.mark.parametrize("at", [0, CHUNK - 20, CHUNK - 1, CHUNK, 2 * CHUNK - 3])
def test_a_text_is_found_wherever_it_lies(tmp_path, at):
    """Across the parts in which a file is read, too."""
    (tmp_path / "one").write_bytes(b"-" * at + TEXT.encode())
    assert leftovers(tmp_path, [TEXT]) == [tmp_path / "one"]
    assert leftovers(tmp_path, [TEXT + "!"]) == []


def test_a_long_text_is_found_though_a_database_cuts_it_into_pages(tmp_path):
    """As it is where its last page is gone."""
    text = " ".join(f"bridge {n} of the heron" for n in range(2000))
    path = tmp_path / "one.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA page_size = 512")
        database.execute("CREATE TABLE said (text)")
        database.execute("INSERT INTO said VALUES (?)", (text,))
    assert text.encode() not in path.read_bytes()
    assert leftovers(tmp_path, [text]) == [path]
    path.write_bytes(path.read_bytes()[:3000])
    assert leftovers(tmp_path, [text]) == [path]


def test_what_is_compressed_is_looked_into(tmp_path):
    """A damaged one is no proof."""
    packed = tmp_path / "one.gz"
    packed.write_bytes(gzip.compress(TEXT.encode() * 3))
    assert leftovers(tmp_path, [TEXT]) == [packed]
    packed.write_bytes(packed.read_bytes()[:-9])
    with pytest.raises(InputError):
        leftovers(tmp_path, ["never said"])


def test_a_folder_that_cannot_be_read_is_no_proof(tmp_path):
    """It is told of, and not passed over."""
    with pytest.raises(InputError, match="cannot read"):
        leftovers(tmp_path / "missing", [TEXT])


def test_links_and_pipes_and_blank_texts(tmp_path):
    """A link to a file counts, one to a folder does not; a pipe holds nothing; nor does ""."""
    (tmp_path / "home").mkdir()
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / "one").write_text(TEXT)
    (tmp_path / "home" / "file").symlink_to(tmp_path / "away" / "one")
    (tmp_path / "home" / "folder").symlink_to(tmp_path / "away")
    (tmp_path / "home" / "nowhere").symlink_to(tmp_path / "nothing")
    os.mkfifo(tmp_path / "home" / "pipe")
    assert leftovers(tmp_path / "home", [TEXT]) == [tmp_path / "home" / "file"]
    assert leftovers(tmp_path / "home", ["", "never said"]) == []
    assert leftovers(tmp_path / "home", []) == []


def test_memory_does_not_grow_with_the_file(tmp_path):
    """40 MB are read in 4."""
    with (tmp_path / "large").open("wb") as handle:
        handle.truncate(40 << 20)
    tracemalloc.start()
    assert leftovers(tmp_path, [TEXT]) == []
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20
