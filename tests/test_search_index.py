"""The index of a search: it finds what the scan finds, follows each change, keeps no secret."""

from __future__ import annotations

import gzip
import os
import sqlite3
import subprocess
import sys

import pytest

from sesstool.api.searching import Found, Rest, Wanted, search
from sesstool.caches import words as module
from sesstool.caches.folder import words_path
from sesstool.cli import main
from sesstool.encryption import age, keys
from sesstool.errors import UsageError
from sesstool.search import indexing
from tests.conftest import answer, dump, jsonl, prompt, result, use
from tests.seeds import SEEDS


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "sessions"
    place.mkdir()
    return place


def put(folder, name, *words):
    path = folder / f"{name}.jsonl"
    path.write_bytes(jsonl(*(prompt(n, n - 1 or None, one) for n, one in enumerate(words, 1))))
    return path


def found(folder, text, *, index=True, **how):
    """The names and lines that a search gives."""
    name, places = "", []
    for part in search(Wanted(text, **how), [str(folder)], index=index, limit=0):
        if isinstance(part, Found):
            name = part.item.name.partition(".")[0]
        elif not isinstance(part, Rest):
            places.append((name, part.line))
    return sorted(places)


def read_anew(monkeypatch):
    """The paths that are read into the index from now on."""
    read = []
    of = indexing.Index._read
    monkeypatch.setattr(
        indexing.Index, "_read", lambda i, s, w: read.append((w.path[-7], w.known)) or of(i, s, w)
    )
    return read


def on_disk():
    cache = words_path().parent
    return b"".join(file.read_bytes() for file in cache.rglob("*") if file.is_file())


def test_it_finds_what_the_scan_finds(folder):
    """In every format, each word of a session leads to the same hits with and without the index."""
    for name, body in SEEDS.items():
        (folder / name).write_bytes(body)
    for text in ("café", "the café", "lantern", "MILL", "a", "open", "日", "done"):
        scanned = found(folder, text, index=False)
        assert set(found(folder, text)) <= set(scanned)
        if text in ("café", "the café", "MILL"):
            assert found(folder, text) == scanned != []


@pytest.mark.parametrize(
    ("text", "hits"),
    [
        ("lamp", 3),
        ("lam", 3),
        ("amp", 0),
        ("lamp oil", 1),
        ("lamp oi", 1),
        ("lam oil", 0),
        ("oil lamp", 0),
        ("lamp_oil", 1),
        ("灯油", 1),
        ("油", 1),
        ("ÉTÉ", 1),
    ],
)
def test_words_and_beginnings(folder, text, hits):
    """Words are found, beginnings of the last one too, and characters of scripts without blanks."""
    put(folder, "a", "the lamp\noil", "Lamps", "lamp_oil, stale", "加灯油了", "l'été")
    assert len(found(folder, text)) == hits


def test_a_file_that_grows_is_read_on(folder, monkeypatch):
    """Of a session that was appended to, only what is new is read."""
    path = put(folder, "a", "lamp")
    assert found(folder, "lamp") == [("a", 1)]
    read = read_anew(monkeypatch)
    size = path.stat().st_size
    with path.open("ab") as handle:
        handle.write(jsonl(prompt(2, 1, "lamp")))
    assert found(folder, "lamp") == [("a", 1), ("a", 2)]
    assert [known.reached for _, known in read] == [size]
    assert found(folder, "lamp") == [("a", 1), ("a", 2)]
    assert len(read) == 1


def test_a_torn_end_is_read_again(folder):
    """A record that was half written is found once it is whole, and once only."""
    path = put(folder, "a", "lamp")
    whole = path.read_bytes()
    more = dump(prompt(2, 1, "lamp"))
    path.write_bytes(whole + more[:-9])
    assert found(folder, "lamp") == [("a", 1)]
    for added in (more[-9:], b"\n", jsonl(prompt(3, 2, "rope"))):
        with path.open("ab") as handle:
            handle.write(added)
        assert found(folder, "lamp") == [("a", 1), ("a", 2)]


@pytest.mark.parametrize("how", ["in place", "replaced", "longer", "gone", "touched"])
def test_a_file_that_changed_is_read_anew(folder, how):
    """What a file no longer says is not found, and not left in the index, however it changed."""
    path = put(folder, "a", "quagga", "lamp")
    kept = put(folder, "b", "lamp")
    assert found(folder, "quagga") == [("a", 1)]
    body = path.read_bytes().replace(b"quagga", b"donkey")
    if how == "replaced":
        path.with_name("new").write_bytes(body)
        path.with_name("new").replace(path)
    elif how in ("in place", "longer"):
        path.write_bytes(body + jsonl(prompt(3, 2, "rope")) * (how == "longer"))
        os.utime(path, ns=(1, 1))
    elif how == "gone":
        path.unlink()
    else:
        os.utime(path, ns=(1, 1))
    assert found(folder, "quagga") == [("a", 1)] * (how == "touched")
    assert (b"quagga" in on_disk()) == (how == "touched")
    assert ("b", 1) in found(folder, "lamp")
    assert kept.exists()


def test_what_a_change_takes_along_is_added_again(folder, monkeypatch):
    """Files that share a shard with a changed one are found again, from where they were lost."""
    monkeypatch.setattr(module, "SHARD", 600)
    names = "abcdef"
    for number, name in enumerate(names):
        os.utime(put(folder, name, "lamp", "oil"), (1000 - number, 1000 - number))
    assert len(found(folder, "lamp")) == 6
    read = read_anew(monkeypatch)
    (folder / "c.jsonl").unlink()
    assert [name for name, _ in found(folder, "lamp")] == list("abdef")
    assert 1 <= len(read) < 5


def test_damaged_and_packed_sessions(folder):
    """A damaged session is searched as without the index; a compressed one is in it."""
    rows = [dump(prompt(n, None, f"lamp {n}")) for n in range(1, 4)]
    (folder / "broken.jsonl").write_bytes(rows[0] + b"\nlamp\n" + rows[1] + rows[2] + b"\n")
    (folder / "packed.jsonl.gz").write_bytes(gzip.compress(jsonl(prompt(1, None, "lamp"))))
    expected = [("broken", 1), ("broken", 3), ("broken", 3), ("packed", 1)]
    for _ in range(2):
        assert found(folder, "lamp") == expected
        with (folder / "broken.jsonl").open("ab") as handle:
            handle.write(jsonl(prompt(5, None, "rope")))


def test_encrypted_sessions_are_never_in_it(folder):
    """No word of an encrypted session is in the index, whatever the file is called."""
    key = keys.generate(pq=False)
    sealed = b"".join(age.encrypt([jsonl(prompt(1, None, "quagga"))], [key.recipient()]))
    (folder / "a.jsonl.age").write_bytes(sealed)
    (folder / "b.jsonl").write_bytes(sealed)
    put(folder, "c", "lamp")
    assert found(folder, "quagga") == []
    assert found(folder, "lamp") == [("c", 1)]
    assert b"quagga" not in on_disk()


@pytest.mark.parametrize(
    "command",
    [
        ["encrypt", "--write", "--yes"],
        ["redact", "--write", "--in-place", "--yes"],
        ["prune", "--erase", "--write", "--yes"],
    ],
    ids=lambda command: command[0],
)
def test_a_write_leaves_no_word_of_it(folder, command, capsys):
    """After a session was encrypted, redacted or deleted, what it said is nowhere in the cache."""
    path = put(folder, "a", "write to quagga.zebroid@tidewater.dev")
    assert found(folder, "quagga") == [("a", 1)]
    assert b"quagga" in on_disk()
    whom = keys.generate(pq=False).recipient().text
    more = ["-r", whom] if command[0] == "encrypt" else []
    assert main.run([*command, *more, str(path)]) in (0, 1), capsys.readouterr().err
    assert not path.exists() or b"quagga" not in path.read_bytes()
    assert b"quagga" not in on_disk()
    assert b"zebroid" not in on_disk()


@pytest.mark.parametrize("damage", ["noise", "version", "table", "empty", "page"])
def test_it_is_made_anew_in_doubt(folder, damage):
    """An index that is damaged, or of another version, is made anew, and the search finds all."""
    put(folder, "a", *(f"lamp word{n} more{n}" for n in range(300)))
    assert len(found(folder, "lamp")) == 300
    path = words_path()
    if damage == "noise":
        path.write_bytes(b"noise " * 999)
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "page":
        body = bytearray(path.read_bytes())
        body[8192:] = bytes(len(body) - 8192)
        path.write_bytes(body)
    else:
        db = sqlite3.connect(path)
        db.execute("PRAGMA user_version=99" if damage == "version" else "DROP TABLE parts")
        db.commit()
        db.close()
    assert len(found(folder, "lamp")) == 300


def test_two_at_once(folder):
    """Two processes that make the index at the same time both find all, and add nothing twice."""
    for number in range(30):
        put(folder, f"s{number:02}", *["lamp oil rope"] * 20)
    command = [sys.executable, "-m", "sesstool", "search", "--index", "-l", "rope", str(folder)]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    for run in runs:
        out, _ = run.communicate(timeout=60)
        assert len(out.splitlines()) == 30
    with module.Words(words_path()) as words:
        rows = list(words.find("rope"))
    assert len(rows) == len(set(rows)) == 600


def test_a_killed_one_is_gone_on_with(folder, monkeypatch):
    """What a process that was killed in the middle had not committed is added by the next one."""
    for number in range(20):
        put(folder, f"s{number:02}", *["lamp oil rope"] * 20)
    script = (
        "import os, sys\n"
        "from sesstool.search import indexing\n"
        "from sesstool.cli import main\n"
        "indexing._BATCH = 20_000\n"
        "left = [12]\n"
        "read = indexing.Index._read\n"
        "def killed(*a):\n"
        "    read(*a)\n"
        "    left[0] -= 1\n"
        "    left[0] or os.kill(os.getpid(), 9)\n"
        "indexing.Index._read = killed\n"
        "main.run(['search', '--index', 'rope', sys.argv[1]])\n"
    )
    ended = subprocess.run([sys.executable, "-c", script, str(folder)], check=False, timeout=60)
    assert ended.returncode == -9
    with module.Words(words_path()) as words:
        done = len(words.known())
    assert 0 < done < 20
    read = read_anew(monkeypatch)
    assert len(found(folder, "rope")) == 400
    assert len(read) == 20 - done


def test_without_full_text_tables(folder, monkeypatch):
    """Where SQLite has no full-text tables, that is told, with what to do."""
    put(folder, "a", "lamp")
    monkeypatch.setattr("sesstool.api.searching.is_possible", lambda: False)
    with pytest.raises(UsageError, match="no full-text tables") as error:
        found(folder, "lamp")
    assert error.value.hint == "search without --index"


def test_filters_hold_in_it(folder):
    """Roles, tools, times and capitals are judged by the records, as without the index."""
    rows = [
        prompt(1, None, "Lamp"),
        answer(2, 1, use("t1", "Bash", command="lamp")),
        result(3, 2, "t1", "lamp"),
    ]
    (folder / "a.jsonl").write_bytes(jsonl(*rows))
    assert found(folder, "Lamp", case=True) == [("a", 1)]
    assert found(folder, "lamp", tools={"bash"}) == [("a", 2), ("a", 3)]
    assert found(folder, "bash") == [("a", 2)]


def test_half_a_character_keeps_no_session_out(folder):
    """SQLite takes no half of a character: the words beside one are found, and one is asked for."""
    given = '{"n": 12345678901234567890123, "say": "lamp \\ud83c oil"}'  # read by the exact way
    call = {"id": "c1", "type": "function", "function": {"name": "tell", "arguments": given}}
    talk = [{"role": "user", "content": "go"}, {"role": "assistant", "tool_calls": [call]}]
    (folder / "a.jsonl").write_bytes(jsonl(*talk))
    assert found(folder, "lamp") == [("a", 2)]
    assert found(folder, "oil \udcff") in ([], [("a", 2)])
