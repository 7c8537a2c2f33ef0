"""The way back: `unredact(redact(x)) == x`, and what happens where that cannot be had."""

from __future__ import annotations

import errno
import gzip
import json
import os
import stat

import pytest
import zstandard

from sesstool import api
from sesstool.api import publishing, redaction, unredaction
from sesstool.audit import log
from sesstool.privacy import ruleset
from sesstool.privacy.putback import PutBack
from sesstool.privacy.vault import Known
from sesstool.records.lines import each_line
from tests.conftest import THREAD, Memory, answer, jsonl, meta, prompt, said, says
from tests.faults import MTIME, at_call, command, error, forked, kill, look

MINA, TOR = "mina.korhonen@harbour.org", "tor@pier.org"
TALK = jsonl(said("user", f"write to {MINA}"), said("assistant", "done"), said("user", f"{TOR} ⟦"))
SIGNED = {"type": "thinking", "thinking": f"it is {MINA}", "signature": "c2lnbmVk" * 8}
TEXTS = {
    "chat.jsonl": TALK,
    "none.jsonl": jsonl(said("user"), said("assistant")),
    "empty.jsonl": b"",
    "torn.jsonl": TALK[:-9],
    "unended.jsonl": TALK[:-1],
    "crlf.jsonl": TALK.replace(b"\n", b"\r\n"),
    "noise.jsonl": TALK + b"\0\0\xff\xfe " + MINA.encode() + b"\n\n" + TALK,
    "spaced.jsonl": TALK.replace(b'":"', b'" : "').replace(b"@", b"\\u0040"),
    "signed.jsonl": jsonl(prompt(1, None), answer(2, 1, SIGNED), prompt(3, 2, f"hi {TOR}")),
    "packed.jsonl.gz": gzip.compress(TALK, 1, mtime=7),
    "packed.jsonl.zst": zstandard.ZstdCompressor(level=9).compress(TALK),
}


@pytest.fixture(autouse=True)
def few_rules(monkeypatch):
    """Addresses alone: the others take half a second to compile, in each run."""
    rules = tuple(rule for rule in ruleset.shipped() if rule.kind == "EMAIL")
    monkeypatch.setattr(ruleset, "shipped", lambda: rules)


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "key"
    path.write_bytes(bytes(range(32)))
    return path


@pytest.fixture
def folder(tmp_path):
    """A folder with each text, with a mode and a time of its own."""
    folder = tmp_path / "sessions"
    folder.mkdir()
    for name, data in TEXTS.items():
        path = folder / name
        path.write_bytes(data)
        path.chmod(0o640)
        os.utime(path, ns=(MTIME, MTIME))
    return folder


@pytest.fixture
def session(folder):
    return folder / "chat.jsonl"


@pytest.fixture
def redact(tmp_path, key):
    """Redacts in place, with the vault."""
    vault = tmp_path / "vault"
    return lambda *paths: command(
        *("redact", "--write", "--in-place", "--yes", "-q", "--vault", vault, "-i", key),
        *("--key", key, *paths),
    )


@pytest.fixture
def unredact(tmp_path, key):
    vault = tmp_path / "vault"
    return lambda *arguments: command("unredact", "--vault", vault, "-i", key, *arguments)


IN_PLACE = ("--write", "--in-place")


@pytest.mark.parametrize("profile", ["resume", "share"])
@pytest.mark.parametrize("style", ["tag", "shape", "label"])
def test_the_originals_come_back_byte_for_byte_with_mode_and_time(
    folder, key, tmp_path, profile, style
):
    """In place and as copies, of each text."""
    before = {path: look(path) for path in folder.iterdir()}
    vault, copies, back = tmp_path / "vault", tmp_path / "copies", tmp_path / "back"
    lock = ("--vault", vault, "-i", key)
    options = ("--profile", profile, "--style", style, "--yes", "-q", *lock)
    assert command("redact", folder, "-o", copies, *options)() == 0
    assert command("redact", folder, *IN_PLACE, *options)() == 0
    changed = [path for path in before if look(path) != before[path]]
    assert len(changed) == len(TEXTS) - 2
    assert not [
        p for p in copies.iterdir() if p.suffix != ".gz" and MINA.encode() in p.read_bytes()
    ]
    assert command("unredact", copies, "-o", back, *lock)() == 0
    assert command("unredact", folder, *IN_PLACE, *lock)() == 0
    assert {path: look(path) for path in folder.iterdir()} == before
    assert {folder / p.name: look(p) for p in back.iterdir()} == before


def test_real_sessions_come_back(shared, tmp_path, key):
    """One of forty of the corpus, as a set with one vault."""
    files = sorted((shared / "corpus").rglob("*.jsonl"))[::40]
    copies = []
    for number, path in enumerate(files):
        copies.append(tmp_path / f"{number}.jsonl")
        copies[-1].write_bytes(path.read_bytes() + b'{"say":"' + MINA.encode() + b'"}\n')
    before = [look(path) for path in copies]
    secret = unredaction.Secret.key_file(key)
    done = set()
    for path in copies:
        try:
            with redaction.redact([path], keep=True) as redacted:
                publishing.publish(redacted, keep_in=(tmp_path / "vault", secret))
            done.add(path)
        except redaction.NotASessionError:
            continue
    assert len(done) > 15
    assert all((MINA.encode() in path.read_bytes()) != (path in done) for path in copies)
    with unredaction.open_vault(tmp_path / "vault", secret) as vault:
        for path in done:
            with unredaction.unredact(path, vault) as file:
                unredaction.publish(file)
    assert [look(path) for path in copies] == before


def test_a_preview_changes_nothing_and_says_what_it_would_do(session, redact, unredact, capfd):
    assert redact(session)() == 0
    now = look(session)
    capfd.readouterr()
    assert unredact(session)() == 1
    assert unredact(session, "--exit-zero")() == 0
    told = capfd.readouterr()
    assert "the original, redacted 20" in told.out
    assert "--write --in-place --vault" in told.err
    assert MINA not in told.out + told.err
    assert look(session) == now


def test_every_write_is_in_the_log(session, redact, unredact):
    redact(session)()
    unredact(session, *IN_PLACE)()
    state = api.state_folder()
    assert [line["action"] for line in log.read(state)] == ["vault", "redact", "unredact"]
    assert log.verify(state) == []
    assert MINA.encode() not in b"".join(p.read_bytes() for p in state.rglob("*") if p.is_file())


def test_a_session_that_grew_keeps_what_came_with_values_for_the_stand_ins(
    session, redact, unredact, capfd
):
    assert redact(session)() == 0
    mark = "⟦EMAIL:" + session.read_text().split("⟦EMAIL:")[1][:9]
    unknown = "⟦EMAIL:00000000⟧"
    text = json.dumps(f'say "{mark}", {unknown}')
    with session.open("a") as file:
        file.write(json.dumps({"role": "user", "content": text}) + "\n")
    os.utime(session, ns=(MTIME + 5, MTIME + 5))
    capfd.readouterr()
    assert unredact(session, *IN_PLACE)() == 0
    told = capfd.readouterr().out
    assert "grown by" in told
    assert "1 stand-in; 1 stand-in left" in told
    grown = text.replace(json.dumps(mark)[1:-1], MINA)
    last = json.dumps({"role": "user", "content": grown}) + "\n"
    assert look(session) == (TALK + last.encode(), 0o640, MTIME + 5)


def test_a_session_that_was_redacted_as_it_grew_comes_back_through_all_of_it(
    session, redact, unredact
):
    whole = TALK
    for number in range(3):
        assert redact(session)() == 0
        more = jsonl(said("user", f"{number} for {MINA} and anna{number}@quay.org"))
        whole += more
        session.write_bytes(session.read_bytes() + more)
    assert redact(session)() == 0
    assert unredact(session, *IN_PLACE)() == 0
    assert session.read_bytes() == whole


def test_a_session_that_was_changed_is_refused_until_stand_ins_are_asked_for(
    session, redact, unredact, capfd
):
    assert redact(session)() == 0
    lines_ = session.read_bytes().split(b"\n")
    session.write_bytes(b"\n".join([lines_[0], b"", *lines_[1:]]))
    changed = look(session)
    assert unredact(session, *IN_PLACE)() == 6
    told = capfd.readouterr().err
    assert "was changed since it was redacted" in told
    assert "--by-stand-in" in told
    assert look(session) == changed
    assert unredact(session, *IN_PLACE, "--by-stand-in")() == 0
    first, rest = TALK.split(b"\n", 1)
    assert session.read_bytes() == first + b"\n\n" + rest


def test_one_file_that_cannot_be_given_back_does_not_stop_the_others(
    folder, tmp_path, redact, unredact
):
    assert redact(folder)() == 0
    (folder / "crlf.jsonl").write_bytes(b"{}\n")
    back = tmp_path / "back"
    assert unredact(folder, "-o", back)() == 6
    assert {p.name: p.read_bytes() for p in back.iterdir()} == {
        name: data for name, data in TEXTS.items() if name != "crlf.jsonl"
    }


def test_a_wrong_key_is_exit_5_and_changes_nothing(session, tmp_path, redact, capfd):
    assert redact(session)() == 0
    now = look(session)
    wrong = tmp_path / "wrong"
    wrong.write_bytes(bytes(32))
    capfd.readouterr()
    again = command("unredact", session, *IN_PLACE, "--vault", tmp_path / "vault", "-i", wrong)
    assert again() == 5
    assert "does not open the vault" in capfd.readouterr().err
    assert look(session) == now


def test_a_wrong_key_of_an_existing_vault_stops_the_redaction(folder, session, tmp_path, redact):
    assert redact(folder / "torn.jsonl")() == 0
    before = look(session)
    (tmp_path / "key").write_bytes(bytes(32))
    assert redact(session)() == 5
    assert look(session) == before


def test_a_cut_vault_says_so_and_gives_back_what_it_can(
    folder, session, tmp_path, redact, unredact, capfd
):
    assert redact(session, folder / "torn.jsonl")() == 0
    vault = tmp_path / "vault"
    data = vault.read_bytes()
    second = data.index(data[:9], data.index(data[:9], 1))
    vault.write_bytes(data[: second + 5])
    capfd.readouterr()
    assert unredact(session, folder / "torn.jsonl", *IN_PLACE)() == 6
    told = capfd.readouterr().err
    assert "the vault is not whole" in told
    assert "--by-stand-in" in told
    assert session.read_bytes() == TALK


def test_a_passphrase_comes_from_a_descriptor_and_never_from_a_terminal_that_is_none(
    session, tmp_path, monkeypatch, capfd
):
    monkeypatch.setattr("sesstool.privacy.vault._SCRYPT_N", 2)
    vault = ("--vault", tmp_path / "vault")

    def given(text):
        (tmp_path / "text").write_text(text)
        descriptor = os.open(tmp_path / "text", os.O_RDONLY)
        (tmp_path / "text").unlink()
        return *vault, "--passphrase-fd", descriptor

    write = ("redact", session, "--write", "--in-place", "--yes", "-q")
    assert command(*write, *given("lamp oil\nmore"))() == 0
    assert command("unredact", session, *IN_PLACE, *given("lamp"))() == 5
    assert command("unredact", session, *IN_PLACE, *given(""))() == 2
    assert command("unredact", session, *IN_PLACE, *vault)() == 2
    assert command("unredact", session, *IN_PLACE, *vault, "--passphrase-fd", 98)() == 2
    assert command("unredact", session, *IN_PLACE, *given("lamp oil"))() == 0
    assert session.read_bytes() == TALK
    assert "lamp" not in capfd.readouterr().err


def test_a_vault_is_not_put_into_the_folder_of_the_copies(session, key, tmp_path, capfd):
    copies = tmp_path / "copies"
    options = ("redact", session, session.with_name("torn.jsonl"), "-o", copies, "-i", key)
    assert command(*options, "--vault", copies / "deep" / "vault")() == 2
    assert "would be shared" in capfd.readouterr().err
    assert not copies.exists()
    copies.mkdir()
    assert command(*options, "--vault", copies / "vault", "--force")() == 0
    assert stat.S_IMODE((copies / "vault").stat().st_mode) == 0o600


def test_two_originals_of_one_redaction_are_told_apart_by_their_place(
    folder, tmp_path, key, unredact, capfd
):
    """With labels they are the same; elsewhere nobody could tell."""
    one, two = folder / "one.jsonl", folder / "two.jsonl"
    one.write_bytes(jsonl(said("user", MINA)))
    two.write_bytes(jsonl(said("user", TOR)))
    lock = ("--vault", tmp_path / "vault", "-i", key)
    assert command("redact", one, two, *IN_PLACE, "--yes", "-q", "--style", "label", *lock)() == 0
    assert one.read_bytes() == two.read_bytes()
    (tmp_path / "three.jsonl").write_bytes(one.read_bytes())
    capfd.readouterr()
    assert unredact(tmp_path / "three.jsonl")() == 6
    assert "2 originals" in capfd.readouterr().err
    assert unredact(one, two, *IN_PLACE)() == 0
    assert MINA.encode() in one.read_bytes()
    assert TOR.encode() in two.read_bytes()


@pytest.mark.parametrize("fault", [kill, error(errno.ENOSPC)], ids=["killed", "full"])
def test_whatever_stops_a_redaction_the_vault_is_there_before_the_session_changes(
    session, redact, unredact, tmp_path, monkeypatch, fault
):
    """At each change that it makes; and the next run does it."""
    monkeypatch.setattr(os, "fsync", os.fstat)
    before = look(session)
    vault = tmp_path / "vault"
    seen = set()
    went = 0  # a step may be one that the command can do without
    for step in range(1, 200):
        code, _ = forked(redact(session), at_call(step, fault))
        went = went + 1 if code == 0 else 0
        changed = look(session) != before
        seen.add((changed, vault.exists()))
        if changed:
            assert unredact(session, *IN_PLACE)() == 0
        assert look(session) == before
        if went == 3:
            break
        assert code in (None, 0, 6)
        if step % 3 == 0:
            assert redact(session)() == 0
            assert unredact(session, *IN_PLACE)() == 0
            assert look(session) == before
        vault.unlink(missing_ok=True)
    assert step > 10
    assert seen == {(False, False), (False, True), (True, True)}


@pytest.mark.parametrize("fault", [kill, error(errno.ENOSPC)], ids=["killed", "full"])
def test_whatever_stops_an_unredaction_the_file_is_as_before_or_the_original(
    session, redact, unredact, monkeypatch, fault
):
    monkeypatch.setattr(os, "fsync", os.fstat)
    before = look(session)
    assert redact(session)() == 0
    now = look(session)
    went = 0
    for step in range(1, 100):
        code, _ = forked(unredact(session, *IN_PLACE), at_call(step, fault))
        went = went + 1 if code == 0 else 0
        assert look(session) in (before, now)
        if look(session) == before:
            assert redact(session)() == 0
        if went == 3:
            break
        assert code in (None, 0, 6)
    assert step > 5


def test_a_live_session_stays_and_the_vault_says_nothing_wrong(
    session, redact, unredact, monkeypatch
):
    """What a redaction kept that did not take place does no harm."""
    with monkeypatch.context() as patch:
        patch.setattr(api, "writer", lambda _: "the keeper has it open")
        assert redact(session)() == 4
        assert session.read_bytes() == TALK
    assert redact(session)() == 0
    with monkeypatch.context() as patch:
        patch.setattr(api, "writer", lambda _: "the keeper has it open")
        assert unredact(session, *IN_PLACE)() == 4
    assert unredact(session, *IN_PLACE)() == 0
    assert session.read_bytes() == TALK


def test_a_fork_that_names_a_byte_of_its_parent_comes_back_with_it(home, redact, unredact):
    """Whichever is named first: the fork is as it was redacted once the parent is back."""
    folder = home / ".codex" / "sessions" / "2026" / "03" / "01"
    folder.mkdir(parents=True)
    parent = folder / f"rollout-2026-03-01T06-00-00-{THREAD}.jsonl"
    child = folder / f"rollout-2026-03-01T07-00-00-{THREAD[:-1]}f.jsonl"
    head, words = meta(), [says("user", MINA), says("user", TOR)]
    base = {
        "thread_id": THREAD,
        "end_ordinal_exclusive": 2,
        "end_byte_offset": len(jsonl(head, words[0])),
    }
    fork = meta()
    fork["payload"]["history_base"] = base
    parent.write_bytes(jsonl(head, *words))
    child.write_bytes(jsonl(fork, words[1]))
    for path in (parent, child):
        os.utime(path, ns=(MTIME, MTIME))
    before = look(parent), look(child)
    for files in ((parent, child), (child, parent)):
        assert redact("--ignore-live", *files)() == 0
        assert str(base["end_byte_offset"]).encode() not in child.read_bytes()
        assert MINA.encode() + TOR.encode() not in parent.read_bytes() + child.read_bytes()
        assert unredact(*IN_PLACE, "--ignore-live", *files)() == 0
        assert (look(parent), look(child)) == before


def test_a_name_in_a_vault_stays_below_the_folder_of_originals(session, redact, key, tmp_path):
    redact(session)()
    secret = unredaction.Secret.key_file(key)
    with (
        unredaction.open_vault(tmp_path / "vault", secret) as vault,
        unredaction.unredact(session, vault) as file,
    ):
        for name in ("../../x", "/etc/x", "..", "/"):
            object.__setattr__(file.kept, "name", name)
            assert ".." not in file.name.parts
            assert not file.name.is_absolute()


ROWS = [
    Known("KEY", "⟦KEY:00000001⟧".encode(), b'-- "a"\\b\n--'),
    Known("EMAIL", "⟦EMAIL:00000002⟧".encode(), "jörg@pier.org".encode()),
    Known("EMAIL", b"REDACTED0000000a", b"tor@pier.org"),
    Known("RAW", "⟦RAW:00000003⟧".encode(), b"\xff\xfe"),
    Known("TWO", "⟦TWO:00000004⟧".encode(), b"one"),
    Known("TWO", "⟦TWO:00000004⟧".encode(), b"two"),
    Known("EMAIL", b"[[EMAIL]]", b"tor@pier.org"),
    Known("PIN", b"0000", b"1234"),
    Known("PIN", b"REDACTED", b"lamp"),
]


def put_back(text):
    table = PutBack(ROWS)
    return b"".join(table.lines(each_line(Memory(text)))), table.done, table.left


def test_values_are_escaped_as_deep_as_their_stand_ins_stand():
    for deep in range(4):
        for plain in (True, False):
            given, wanted = "say ⟦KEY:00000001⟧ to ⟦EMAIL:00000002⟧\t", ROWS[0].value.decode()
            wanted = f"say {wanted} to jörg@pier.org\t"
            for _ in range(deep + 1):
                given = json.dumps({"a": given}, ensure_ascii=plain)
                wanted = json.dumps({"a": wanted}, ensure_ascii=plain)
            found, done, left = put_back(given.encode())
            assert json.loads(found) == json.loads(wanted)
            assert (done, left) == (2, 0)
            if not plain or deep == 0:
                assert found == wanted.encode()


def test_what_is_not_replaced_keeps_its_bytes():
    text = (
        '{"\\u0041":"\\/ ⟦EMAIL:00000002⟧","n":0000e1,"t":"⟦TWO:00000004⟧ [[EMAIL]] 0000 REDACTED"}'
    )
    text = text.replace("0000e1", "10.0")
    wanted = text.replace("⟦EMAIL:00000002⟧", "jörg@pier.org")
    assert put_back(text.encode()) == (wanted.encode(), 1, 3)
    assert put_back(b"x REDACTED0000000a\r\n\xff") == (b"x tor@pier.org\r\n\xff", 1, 0)


def test_bytes_that_are_no_text_are_put_back_as_they_were():
    assert put_back("⟦RAW:00000003⟧".encode()) == (b"\xff\xfe", 1, 0)
    assert put_back('{"a":"\\n⟦RAW:00000003⟧"}'.encode()) == (b'{"a":"\\n\xff\xfe"}', 1, 0)
