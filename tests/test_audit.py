"""The audit log: what it holds, and that tampering shows."""

import hashlib
import hmac
import json
import os
import stat
from itertools import combinations, pairwise
from multiprocessing import get_context

import pytest

from sesstool import __version__
from sesstool.audit import chain, log, tombstones
from sesstool.errors import InputError, WriteError


def change(path="/s/a.jsonl", **more):
    return log.Change("repair", path, "aa", "bb", **more)


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state"


@pytest.fixture
def lines(state):
    """A log of twelve lines, of which the 5th to the 7th were written at once."""
    for count in (1, 1, 1, 1, 3, 1, 1, 1, 1, 1):
        log.append(state, *[change(f"/s/{count}-{number}.jsonl") for number in range(count)])
    return (state / log.NAME).read_bytes().splitlines(keepends=True)


def put(state, *lines):
    """Have the log hold just these lines."""
    (state / log.NAME).write_bytes(b"".join(lines))


def head_of(state):
    return (state / "audit.head").read_bytes()


def test_a_line_says_who_did_what_to_which_bytes(state):
    """All that an auditor asks for, and the rule codes once each."""
    log.append(state, change(findings=("T401", "B104", "T401"), undo="0badcafe"))
    (line,) = log.read(state)
    assert line["actor"]["uid"] == os.getuid()
    assert (line["seq"], line["version"], line["action"]) == (1, __version__, "repair")
    assert (line["path"], line["before"], line["after"]) == ("/s/a.jsonl", "aa", "bb")
    assert (line["findings"], line["undo"], line["prev"]) == (["B104", "T401"], "0badcafe", "")
    assert line["time"].endswith("+00:00")
    assert set(line) >= {"host", "actor"}


def test_each_line_holds_the_hash_of_the_line_before(state, lines):
    """The chain is what anybody can compute from the bytes, and so is the head."""
    for before, line in pairwise(lines):
        assert json.loads(line)["prev"] == hashlib.sha256(before.rstrip(b"\n")).hexdigest()
    assert [line["seq"] for line in log.read(state)] == list(range(1, 13))
    newest = hashlib.sha256(lines[-1].rstrip(b"\n")).hexdigest()
    assert head_of(state) == f"{12:020d} {newest}\n".encode()
    told = log.CHAIN.check(state)
    assert (told.lines, told.newest, told.problems) == (12, f"12:{newest}", [])


def test_the_log_is_private(state):
    """Paths are nobody else's business."""
    log.append(state, change())
    assert stat.S_IMODE((state / log.NAME).stat().st_mode) == 0o600
    assert stat.S_IMODE(state.stat().st_mode) == 0o700


def test_no_log_is_a_whole_log(state):
    """Nothing was written, so nothing is missing."""
    assert log.verify(state) == []
    assert list(log.read(state)) == []


@pytest.mark.usefixtures("lines")
def test_every_changed_byte_shows(state):
    """In whichever line it is, and in the head, whatever it becomes."""
    for name in (log.NAME, "audit.head"):
        whole = (state / name).read_bytes()
        for at, byte in enumerate(whole):
            for other in {byte ^ 1, ord("\n")} - {byte}:
                (state / name).write_bytes(whole[:at] + bytes([other]) + whole[at + 1 :])
                assert log.verify(state), f"byte {at} of {name} as {other}"
        (state / name).write_bytes(whole)
    assert log.verify(state) == []


def test_every_removed_line_shows(state, lines):
    """The first, those in the middle, the last, and any number at either end."""
    for first in range(12):
        for behind in range(first + 1, 13):
            put(state, *lines[:first], *lines[behind:])
            assert log.verify(state), f"without lines {first + 1} to {behind}"
    put(state, *lines[:4], *lines[5:])
    assert log.verify(state) == [
        "line 5 does not continue the line before it",
        "line 5 has number 6, not 5",
    ]
    put(state, *lines[:-1])
    assert log.verify(state) == ["line 12 is missing: audit.head tells of it"]
    (state / log.NAME).unlink()
    assert log.verify(state) == ["line 12 is missing: audit.head tells of it"]


def test_all_other_orders_of_two_lines_show(state, lines):
    """Order is part of the chain."""
    for one, other in combinations(range(12), 2):
        swapped = list(lines)
        swapped[one], swapped[other] = lines[other], lines[one]
        put(state, *swapped)
        assert log.verify(state), f"lines {one + 1} and {other + 1}"
    put(state, *lines[:1], lines[2], lines[1], *lines[3:])
    assert "line 2 has number 3, not 2" in log.verify(state)


def test_every_line_put_in_shows(state, lines):
    """A copy of any line at any place, and one made for the place."""
    for at in range(13):
        for line in lines:
            put(state, *lines[:at], line, *lines[at:])
            assert log.verify(state), f"before line {at + 1}"
    forged = json.loads(lines[5]) | {"path": "/s/forged.jsonl"}
    put(state, *lines[:5], json.dumps(forged).encode() + b"\n", *lines[5:])
    assert log.verify(state)[0] == "line 7 does not continue the line before it"


def test_every_cut_shows(state, lines):
    """At whichever byte; where lines come behind it, the cut shows for good."""
    whole = b"".join(lines)
    for size in range(len(whole)):
        put(state, whole[:size])
        assert "line 12 is missing: audit.head tells of it" in log.verify(state), size


@pytest.mark.parametrize("size", [0, 1, 400, -500, -20, -1])
def test_a_cut_shows_for_good(state, lines, size):
    """The line that comes next tells which one the head named."""
    put(state, b"".join(lines)[:size])
    named = log.CHAIN.head(state)
    log.append(state, change(), change())
    (told,) = log.verify(state)
    assert told.endswith("tells that the head named a line that is missing when it was added")
    assert [line["head"] for line in log.read(state) if "head" in line] == [str(named)]
    log.append(state, change())
    assert log.verify(state) == [told]


@pytest.mark.parametrize("fault", ["missing", "damaged"])
def test_a_fault_of_the_head_shows_for_good(state, lines, fault):
    """The next line makes it anew and tells of it: else a cut would only have to wait for that."""
    head = state / "audit.head"
    head.unlink() if fault == "missing" else head.write_bytes(b"7")
    put(state, *lines[:10])
    assert log.verify(state) == [
        f"audit.head is {fault}: lines behind line 10 may be missing",
    ]
    for _ in range(2):
        log.append(state, change())
        assert log.verify(state) == [f"line 11 tells that the head was {fault} when it was added"]
    assert stat.S_IMODE(head.stat().st_mode) == 0o600


def behind(state, lines, number):
    """Have the head name an older line, 0 for none."""
    digest = hashlib.sha256(lines[number - 1].rstrip(b"\n")).hexdigest() if number else "0" * 64
    (state / "audit.head").write_bytes(f"{number:020d} {digest}\n".encode())


@pytest.mark.parametrize(("there", "before"), [(1, 0), (4, 3), (7, 4), (12, 11)])
def test_a_head_that_lags_behind_is_whole(state, lines, there, before):
    """By what was added at once: a crash came before it was on disk; the next line takes it."""
    put(state, *lines[:there])
    behind(state, lines, before)
    told = log.CHAIN.check(state)
    assert (told.problems, told.ahead) == ([], True)
    log.append(state, change())
    told = log.CHAIN.check(state)
    assert (told.problems, told.ahead) == ([], False)
    assert log.CHAIN.head(state).seq == there + 1


@pytest.mark.parametrize(
    ("there", "before", "added"), [(2, 0, 2), (5, 3, 2), (8, 4, 2), (12, 10, 2), (12, 0, 10)]
)
def test_a_head_that_lags_further_behind_is_a_problem(state, lines, there, before, added):
    """No crash leaves that: somebody has put lines in, or the head back."""
    put(state, *lines[:there])
    behind(state, lines, before)
    told = log.CHAIN.check(state)
    assert told.ahead is False
    assert f"audit.head names line {before}, and {added} were added since: " in told.problems[-1]


def test_lines_that_are_added_while_it_is_verified_are_no_problem(state, lines, monkeypatch):
    """However many they are: the head was read before."""
    real = chain.Chain.head

    def late(self, folder):
        found = real(self, folder)
        for _ in range(3):
            log.CHAIN.append(folder, [{}])
        return found

    monkeypatch.setattr(chain.Chain, "head", late)
    told = log.CHAIN.check(state)
    assert (told.lines, told.problems, told.ahead) == (len(lines) + 3, [], False)


def torn(before, added, step):
    """What a power cut may leave of bytes that were added: cut, or zeros, at many lengths."""
    for at in range(1, len(added), step):
        yield before + added[:at]
        yield before + added[:at] + bytes(len(added) - at)
        yield before + bytes(at) + added[at:]
        yield before + added[: at // 2] + bytes(at - at // 2) + added[at:]


@pytest.mark.parametrize("count", [1, 3])
def test_a_torn_write_shows_until_the_next_one_comes(state, monkeypatch, count):
    """Nobody was told of it, so all of it gives way, and no line of it is read before."""
    monkeypatch.setattr(chain, "_TAIL", 600)  # less than what is torn
    monkeypatch.setattr(os, "fsync", os.fstat)
    log.append(state, change("/s/old.jsonl"))
    log.append(state, change("/s/old.jsonl"), change("/s/old.jsonl"))
    head, before = head_of(state), (state / log.NAME).read_bytes()
    log.append(state, *[change(f"/s/{number}.jsonl") for number in range(count)])
    added = (state / log.NAME).read_bytes().removeprefix(before)
    for left in torn(before, added, count):
        (state / log.NAME).write_bytes(left)
        (state / "audit.head").write_bytes(head)
        assert log.verify(state)
        assert [line["path"] for line in log.read(state)] == ["/s/old.jsonl"] * 3
        log.append(state, change("/s/new.jsonl"))
        assert log.verify(state) == []
        assert [line["seq"] for line in log.read(state)] == [1, 2, 3, 4]
        assert [line["path"] for line in log.read(state)][-1] == "/s/new.jsonl"


def test_lines_known_to_be_there_never_give_way(state, lines):
    """One of several that were written at once is changed: the others stay as evidence."""
    put(state, *lines[:5], lines[5].replace(b"seq", b"sEq"), lines[6])
    (state / "audit.head").write_bytes(
        f"{7:020d} {hashlib.sha256(lines[6].rstrip()).hexdigest()}\n".encode()
    )
    log.append(state, change("/s/new.jsonl"))
    assert [line["seq"] for line in log.read(state)] == [1, 2, 3, 4, 5, 7, 8]
    assert log.verify(state)[0] == "line 6 is damaged"


@pytest.mark.parametrize(
    "line",
    [
        *(b"[]\n", b'{"seq":"1"}\n', b"\xff\n", b"\n"),
        *(b"[" * 99_999 + b"\n", b'{"seq":%s}\n' % (b"9" * 4300)),
    ],
    ids=["list", "text", "byte", "empty", "deep", "huge"],
)
def test_a_line_that_is_none_of_ours_shows(state, lines, line):
    """Whatever stands there, it is named and does not stop the check."""
    (state / log.NAME).write_bytes(b"".join([*lines, line]))
    assert log.verify(state) == ["line 13 is damaged"]


def test_a_long_log_goes_on_where_it_ended(state, monkeypatch):
    """Only the end is read, and that is enough."""
    monkeypatch.setattr(chain, "_TAIL", 2000)
    for number in range(20):
        log.append(state, change(f"/s/{number}.jsonl"))
    assert log.verify(state) == []
    assert [line["seq"] for line in log.read(state)] == list(range(1, 21))


def _append_some(state):
    for _ in range(10):
        log.append(state, change())


def test_processes_take_turns(state):
    """Two at once give one chain."""
    context = get_context("spawn")
    workers = [context.Process(target=_append_some, args=(state,)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert log.verify(state) == []
    assert len(list(log.read(state))) == 20


def test_a_line_that_does_not_fit_leaves_nothing(state, lines, monkeypatch):
    """A short write is cut back, and said."""
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:10]))
    with pytest.raises(WriteError, match="cannot add to the audit log"):
        log.append(state, change(), change())
    assert (state / log.NAME).read_bytes() == b"".join(lines)


def test_a_change_of_the_trash_names_its_entry_and_its_reason(state):
    """Only where it has them; all lines of one entry are found by it."""
    log.append(state, change())
    log.append(state, change(entry="7c43ab89", reason="old"), change("/b", entry="7c43ab89"))
    plain, first, second = log.read(state)
    assert {"entry", "reason"}.isdisjoint(plain)
    assert (first["entry"], first["reason"], second["entry"]) == ("7c43ab89", "old", "7c43ab89")
    assert log.entries_of(state, "7c43ab89") == [first, second]
    assert log.entries_of(state, "none") == []


def test_no_change_is_no_line(state):
    """Nothing is made for it."""
    log.append(state)
    assert not state.exists()


UUID = "0198c5d0-aaaa-7bbb-8ccc-0123456789ab"
HASHES = ("bb" * 32, "aa" * 32)


def stone(session=UUID, **more):
    values = {"agent": "codex", "rule": "old", "action": "delete", "entry": "7c43ab89"}
    times = {"created": "2026-01-02T03:04:05+00:00", "last_activity": ""}
    return tombstones.Tombstone(
        session, **values | times | {"bytes": 12, "records": -1, "hashes": HASHES} | more
    )


def test_a_tombstone_proves_and_tells_nothing(state):
    """Counts, times, names of rules and keyed hashes: no path, no plain hash of a file."""
    tombstones.append(state, stone(), stone("harbour talk"))
    one, other = tombstones.read(state)
    key = (state / "tombstones.key").read_bytes()
    assert (len(key), stat.S_IMODE((state / "tombstones.key").stat().st_mode)) == (32, 0o600)
    named = hmac.new(key, b"session\nharbour talk", hashlib.sha256).hexdigest()
    assert (one["session"], other["session"]) == (UUID, f"hmac-sha256:{named}")
    root = hmac.new(key, b"files\n" + "\n".join(sorted(HASHES)).encode(), hashlib.sha256)
    assert one["root"] == root.hexdigest() == tombstones.root(state, reversed(HASHES))
    assert (one["files"], one["bytes"], one["records"], one["entry"]) == (2, 12, -1, "7c43ab89")
    assert (one["created"], one["last_activity"]) == ("2026-01-02T03:04:05+00:00", "")
    assert one["actor"]["uid"] == os.getuid()
    text = (state / tombstones.CHAIN.file).read_text()
    assert "harbour" not in text
    assert not any(value in text for value in HASHES)
    assert tombstones.of(state, "harbour talk") == [other]
    assert tombstones.of(state, UUID) == [one]
    assert tombstones.verify(state) == []


@pytest.mark.parametrize("session", ["ada", "dead-beef", "Zed", UUID + "0", "", "\udcff"])
def test_an_id_that_may_be_words_is_hashed(state, session):
    """Only what is surely a number stands as it is."""
    tombstones.append(state, stone(session))
    (line,) = tombstones.read(state)
    assert line["session"].startswith("hmac-sha256:")


@pytest.mark.usefixtures("lines")
def test_tombstones_are_a_chain_of_their_own(state):
    """What is done to them shows, and only there; the key is made once."""
    tombstones.append(state, stone())
    key = (state / "tombstones.key").read_bytes()
    tombstones.append(state, stone())
    assert (state / "tombstones.key").read_bytes() == key
    path = state / tombstones.CHAIN.file
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    assert tombstones.verify(state) == ["line 2 is missing: tombstones.head tells of it"]
    assert log.verify(state) == []


def test_a_damaged_key_is_never_replaced(state):
    """What it made could not be proven any more, so it is told before anything is written."""
    tombstones.append(state, stone())
    (state / "tombstones.key").write_bytes(b"short")
    with pytest.raises(InputError, match="no key of 32 bytes"):
        tombstones.append(state, stone())
    assert len(list(tombstones.read(state))) == 1


@pytest.mark.parametrize("umask", [0, 0o777])
def test_what_the_log_makes_is_private_whatever_the_umask(tmp_path, umask):
    """The folders above it as well, which are made with it."""
    state = tmp_path / "a" / "b"
    before = os.umask(umask)
    try:
        tombstones.append(state, stone())
        log.append(state, change())
    finally:
        os.umask(before)
    made = {path: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    kept = {path: mode for path, mode in made.items() if path.suffix != ".lock"}
    assert kept == {path: 0o700 if path.is_dir() else 0o600 for path in kept}
    assert len(kept) == 7
