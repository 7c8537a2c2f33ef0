"""The vault file: what it gives back, and what it notices."""

from __future__ import annotations

import stat
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sesstool.errors import AuthError, InputError, SesstoolError, UsageError, WriteError
from sesstool.privacy import inverse, vault
from sesstool.privacy.vault import FRAME, Kept, Known, Secret, open_vault
from sesstool.records.lines import each_line
from tests.conftest import Memory

ROWS = [
    Known("EMAIL", "⟦EMAIL:0a1b2c3d⟧".encode(), b"mina@lamp.example"),
    Known("USER", "⟦USER:99887766⟧".encode(), b'a "b" \\ \xff\n'),
]


@pytest.fixture
def key(tmp_path):
    """A key file, and the vault that is made with it."""
    path = tmp_path / "key"
    path.write_bytes(bytes(range(32)))
    return Secret.key_file(path)


def kept(name, size=3, made="2026-03-01T06:00:00+00:00"):
    return Kept(name, (f"/srv/{name}",), size, "a" * 64, 0o640, 17, size + 1, "b" * 64, "", made)


def body(opened, one):
    return b"".join(opened.body(one))


def read(path, key):
    """All that a vault gives back: the bodies by name, the rows, and what it says is wrong."""
    with open_vault(path, key) as opened:
        bodies = {}
        for one in opened.files:
            try:
                bodies[one.name] = body(opened, one)
            except AuthError:
                bodies[one.name] = None
        return bodies, list(opened.table()), opened.damage


def test_what_was_added_comes_back_and_is_the_owners_alone(tmp_path, key):
    """Over several runs, the oldest first; rows that are known are not kept twice."""
    path = tmp_path / "vault"
    vault.add(path, key, [(kept("a"), [b"one", b"two"]), (kept("b"), [])], ROWS[:1])
    vault.add(path, key, [(kept("a", 9), [b"three"])], ROWS)
    vault.add(path, key, [], ROWS)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with open_vault(path, key) as opened:
        assert opened.files == [kept("a"), kept("b"), kept("a", 9)]
        assert [body(opened, one) for one in opened.files] == [b"onetwo", b"", b"three"]
        assert list(opened.table()) == ROWS
        assert opened.damage == ""
    data = path.read_bytes()
    assert b"mina" not in data
    assert b"srv" not in data
    assert b"onetwo" not in data


@pytest.mark.parametrize("size", [0, 1, FRAME - 1, FRAME, FRAME + 1, 3 * FRAME])
def test_a_body_of_any_number_of_frames_comes_back(tmp_path, key, size):
    path, data = tmp_path / "vault", bytes(n % 251 for n in range(size))
    pieces = [data[at : at + 1000] for at in range(0, size, 1000)]
    vault.add(path, key, [(kept("a"), pieces)], [])
    assert read(path, key) == ({"a": data}, [], "")


def test_a_vault_that_is_cut_anywhere_says_so_and_gives_back_what_stands_before(tmp_path, key):
    path, part = tmp_path / "vault", tmp_path / "part"
    vault.add(path, key, [(kept("a"), [b"one"])], ROWS[:1])
    vault.add(path, key, [(kept("b"), [b"two"])], ROWS)
    data = path.read_bytes()
    found = []
    for size in range(len(data)):
        part.write_bytes(data[:size])
        try:
            bodies, rows, damage = read(part, key)
        except InputError:
            found.append((0, 0))
            continue
        assert damage
        whole = {name: text for name, text in bodies.items() if text is not None}
        assert whole.items() <= {"a": b"one", "b": b"two"}.items()
        assert rows in (ROWS, ROWS[:1], [])
        found.append((len(whole), len(rows)))
    assert found == sorted(found)  # never less for more bytes
    assert found[-1] == (2, 2)
    assert (1, 1) in found


def test_a_flipped_bit_anywhere_is_noticed_and_costs_one_part_at_most(tmp_path, key):
    path, other = tmp_path / "vault", tmp_path / "other"
    vault.add(path, key, [(kept("a"), [b"one"]), (kept("b"), [b"two"])], ROWS)
    data = path.read_bytes()
    for at in range(len(data)):
        flipped = bytearray(data)
        flipped[at] ^= 1 << at % 8
        other.write_bytes(flipped)
        bodies, rows, damage = read(other, key)
        whole = {name: text for name, text in bodies.items() if text is not None}
        assert whole.items() <= {"a": b"one", "b": b"two"}.items()
        assert rows in (ROWS, [])
        assert damage or None in bodies.values()
        assert len(whole) + bool(rows) >= 2


def test_parts_that_are_moved_left_out_doubled_or_from_another_vault_are_noticed(tmp_path, key):
    path, other = tmp_path / "vault", tmp_path / "other"
    vault.add(path, key, [(kept("a"), [b"one"]), (kept("b"), [b"two"])], [])
    vault.add(other, key, [(kept("c"), [b"two"])], [])
    data, magic = path.read_bytes(), path.read_bytes()[:9]
    a, b, end = [magic + part for part in data.split(magic)[1:]]
    c = magic + other.read_bytes().split(magic)[1]
    assert a + b + end == data
    for parts in ([b, a, end], [a, end], [b, end], [end], [a, b, b, end], [a, b, c, end]):
        other.write_bytes(b"".join(parts))
        assert read(other, key)[2]
    for more in (b"\0", b[:20], end, data):
        other.write_bytes(data + more)
        assert read(other, key)[2]


def test_a_damaged_vault_is_not_added_to_and_stays(tmp_path, key):
    path = tmp_path / "vault"
    vault.add(path, key, [(kept("a"), [b"one"])], ROWS)
    path.write_bytes(path.read_bytes()[:-1])
    before = path.read_bytes()
    with pytest.raises(WriteError, match="cannot be added to"):
        vault.add(path, key, [(kept("b"), [])], [])
    assert path.read_bytes() == before


def test_a_wrong_key_opens_nothing_and_adds_nothing(tmp_path, key, monkeypatch):
    monkeypatch.setattr(vault, "_SCRYPT_N", 2)
    path = tmp_path / "vault"
    vault.add(path, key, [(kept("a"), [b"one"])], [])
    before = path.read_bytes()
    for wrong in (Secret(0, bytes(32)), Secret.passphrase(b"lamp oil")):
        with pytest.raises(AuthError, match="does not open"):
            open_vault(path, wrong)
        with pytest.raises(AuthError, match="does not open"):
            vault.add(path, wrong, [(kept("b"), [])], [])
    assert path.read_bytes() == before


def test_a_passphrase_opens_what_it_made_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(vault, "_SCRYPT_N", 2)
    path = tmp_path / "vault"
    vault.add(path, Secret.passphrase(b"lamp oil"), [(kept("a"), [b"one"])], [])
    assert read(path, Secret.passphrase(b"lamp oil"))[0] == {"a": b"one"}
    with pytest.raises(AuthError) as caught:
        open_vault(path, Secret.passphrase(b"lamp oil "))
    assert "passphrase" in caught.value.hint


def test_what_is_no_vault_or_no_key_is_refused(tmp_path, key):
    for data in (b"", b"{}", b"\x89SESVLT\n", b"\x89SESVLT\n\x02" + bytes(80)):
        (tmp_path / "vault").write_bytes(data)
        with pytest.raises(SesstoolError, match="no vault"):
            open_vault(tmp_path / "vault", key)
    for size in (0, 31, 1 << 20):
        (tmp_path / "short").write_bytes(bytes(size))
        with pytest.raises(UsageError, match="bytes"):
            Secret.key_file(tmp_path / "short")
    with pytest.raises(UsageError, match="empty"):
        Secret.passphrase(b"")


def test_a_large_vault_is_written_and_read_in_little_memory(tmp_path, key):
    path, piece = tmp_path / "vault", bytes(1 << 20)
    tracemalloc.start()
    try:
        vault.add(path, key, [(kept("a"), (piece for _ in range(32)))], [])
        vault.add(path, key, [(kept("b"), [])], [])
        with open_vault(path, key) as opened:
            assert sum(map(len, opened.body(kept("a")))) == 32 << 20
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


texts = st.lists(st.sampled_from([b"", b"lamp", b"oil", b"lamp oil", b"\r"]), max_size=6).map(
    b"\n".join
)


@given(texts, texts, st.integers(1, 7))
def test_the_inverse_edits_of_any_two_texts_lead_back(before, after, step):
    edits = b"".join(inverse.of_lines(each_line(Memory(before)), each_line(Memory(after))))
    pieces = [edits[at : at + step] for at in range(0, len(edits), step)]
    after = Memory(after + b"grown")
    assert b"".join(inverse.restored(pieces, after, after.size - 5)) == before


def test_inverse_edits_hold_only_what_was_replaced():
    before = b'{"a":"mina was here"}\n{"b":1}\n'
    after = before.replace(b"mina", b"[[USER]]")
    edits = b"".join(inverse.of_lines(each_line(Memory(before)), each_line(Memory(after))))
    assert edits == inverse._EDIT.pack(6, 8, 4) + b"mina"
    with pytest.raises(ValueError, match="cut"):
        list(inverse.restored([edits[:-1]], Memory(after), len(after)))
