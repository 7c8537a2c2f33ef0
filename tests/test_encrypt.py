"""Sessions encrypted at rest: the four commands, and the others on encrypted sessions."""

from __future__ import annotations

import gzip
import json
import os
import resource
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

from sesstool import api, config
from sesstool.api import sealing
from sesstool.audit import log
from sesstool.cli.main import run
from sesstool.encryption import keys
from sesstool.encryption.age import Sealer, decrypt
from sesstool.encryption.keyring import Keys
from sesstool.errors import AuthError, ConfigError, UsageError, WriteError
from sesstool.records import convert
from sesstool.records.source import fingerprint
from tests.conftest import SESSION, answer, jsonl, prompt, use, words

SOUND = jsonl(prompt(1, None, "canary one"), answer(2, 1, words("it burns")))
OPEN = jsonl(prompt(1, None, "canary one"), answer(2, 1, use("call_1")))
MTIME = 1_700_000_000_123_456_789


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder to work in, with a key and its recipient."""
    monkeypatch.chdir(tmp_path)
    assert run(["keygen", "-q", "-o", "key.txt"]) == 0
    (tmp_path / "r.txt").write_text(recipient("key.txt") + "\n")
    return tmp_path


def recipient(path):
    [identity] = Keys([Path(path)]).identities
    return identity.recipient().text


def opened(path, key="key.txt"):
    """The plain text of an encrypted file."""
    return b"".join(decrypt([Path(path).read_bytes()], Keys([Path(key)]).identities))


def write(path, data=SOUND, mode=0o640):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)
    os.utime(path, ns=(MTIME, MTIME))
    return path


def state(path):
    now = path.stat()
    return path.read_bytes(), stat.S_IMODE(now.st_mode), now.st_mtime_ns


def fd(text):
    """A descriptor from which a text can be read."""
    here, there = os.pipe()
    os.write(there, text)
    os.close(there)
    return str(here)


@pytest.fixture
def group(place):
    """A session of Claude Code with what belongs to it, and what is its project's."""
    project = place / ".claude" / "projects" / "-srv-lamp"
    session = write(project / f"{SESSION}.jsonl")
    folder = project / SESSION
    parts = [
        write(folder / "subagents" / "agent-1.jsonl"),
        write(folder / "subagents" / "agent-1.meta.json", b'{"agentType":"canary"}'),
        write(folder / "tool-results" / "x.txt", b"canary two"),
    ]
    index = write(project / "sessions-index.json", b'{"entries":[]}')
    history = write(place / ".claude" / "history.jsonl", b'{"display":"canary"}\n')
    return session, parts, index, history


def test_a_session_is_encrypted_with_all_that_belongs_to_it(group, capsys):
    """What several sessions share stays, and is named."""
    session, parts, index, history = group
    before = {path: state(path) for path in [session, *parts]}
    assert run(["encrypt", "-R", "r.txt", str(session)]) == 1
    assert all(path.exists() for path in before)
    out = capsys.readouterr()
    assert "would encrypt 4 files" in out.out
    assert f"sesstool encrypt --write -R r.txt {session}" in out.err
    assert run(["encrypt", "--write", "--yes", "-R", "r.txt", str(session)]) == 0
    out = capsys.readouterr()
    assert "encrypted, 4 files" in out.out
    assert [path.name in out.out for path in (index, history)] == [True, True]
    for path, (data, _, mtime) in before.items():
        assert not path.exists()
        sealed = path.with_name(path.name + ".age")
        assert opened(sealed) == data
        assert state(sealed)[1:] == (0o600, mtime)
    assert run(["decrypt", "--write", "-i", "key.txt", f"{session}.age"]) == 0
    for path, (data, _, mtime) in before.items():
        assert state(path) == (data, 0o600, mtime)
        assert not path.with_name(path.name + ".age").exists()
    actions = [line["action"] for line in log.read(api.state_folder())]
    assert actions == ["keygen"] + ["encrypt"] * 4 + ["decrypt"] * 4
    assert log.verify(api.state_folder()) == []


def test_a_folder_is_encrypted_group_by_group(group, capsys):
    """A subagent's transcript is a session too, and belongs to one that is encrypted anyway."""
    session, parts, _, _ = group
    other = write(session.with_name("0" + SESSION[1:] + ".jsonl"))
    assert run(["encrypt", "--write", "--yes", "-R", "r.txt", str(session.parent)]) == 0
    assert not any(path.exists() for path in [session, other, *parts])
    assert capsys.readouterr().out.count("encrypted, ") == 2
    assert run(["validate", "-i", "key.txt", str(session.parent)]) == 0
    assert run(["decrypt", "--write", "-i", "key.txt", str(session.parent)]) == 0
    assert all(path.exists() for path in [session, other, *parts])


def test_a_group_may_have_more_files_than_a_process_may_open(group):
    """As far as the system lets it have more."""
    session, parts, _, _ = group
    for n in range(150):
        write(parts[2].with_name(f"{n}.txt"), b"%d" % n)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        assert run(["encrypt", "--write", "--yes", "-R", "r.txt", str(session)]) == 0
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert opened(parts[2].with_name("149.txt.age")) == b"149"
    assert not parts[2].with_name("149.txt").exists()


def test_nothing_is_lost_where_a_name_is_taken(place, capsys):
    path = write(place / "a.jsonl")
    other = write(place / "a.jsonl.age", b"mine")
    assert run(["encrypt", "--write", "--yes", "-R", "r.txt", "a.jsonl"]) == 6
    assert "exists already" in capsys.readouterr().err
    assert (path.read_bytes(), other.read_bytes()) == (SOUND, b"mine")
    assert run(["encrypt", "--write", "--yes", "--force", "-R", "r.txt", "a.jsonl"]) == 0
    assert opened(other) == SOUND
    write(path, b"newer")
    assert run(["decrypt", "--write", "-i", "key.txt", "a.jsonl.age"]) == 6
    assert path.read_bytes() == b"newer"


def test_no_file_goes_that_has_another_name(place, group, capsys):
    """What a link leads to may be somebody else's; what has two names would be left."""
    session, parts, _, _ = group
    theirs = write(place / "theirs.txt", b"theirs")
    link = parts[2].with_name("link.txt")
    link.symlink_to(theirs)
    assert run(["encrypt", "--write", "--yes", "-R", "r.txt", str(session)]) == 0
    assert str(link) in capsys.readouterr().out
    assert theirs.read_bytes() == link.read_bytes() == b"theirs"
    path = write(place / "a.jsonl")
    (place / "link.jsonl").symlink_to(path)
    assert run(["encrypt", "--write", "--yes", "-R", "r.txt", "link.jsonl"]) == 6
    (place / "link.jsonl").unlink()
    (place / "b.jsonl").hardlink_to(path)
    assert run(["encrypt", "--write", "--yes", "-R", "r.txt", "a.jsonl"]) == 6
    assert path.read_bytes() == SOUND
    assert not (place / "a.jsonl.age").exists()
    assert run(["encrypt", "--keep", "-R", "r.txt", "a.jsonl"]) == 0


def test_copies_leave_the_session_alone(place):
    """--keep and -o make new files, at once."""
    path = write(place / "a.jsonl")
    before = state(path)
    assert run(["encrypt", "--keep", "-R", "r.txt", "a.jsonl"]) == 0
    assert run(["encrypt", "-o", "b.age", "--armor", "-R", "r.txt", "a.jsonl"]) == 0
    assert run(["encrypt", "-o", "there/", "-R", "r.txt", "a.jsonl"]) == 0
    assert state(path) == before
    assert (place / "b.age").read_bytes().startswith(b"-----BEGIN AGE ENCRYPTED FILE-----\n")
    for name in ("a.jsonl.age", "b.age", "there/a.jsonl.age"):
        assert opened(name) == SOUND
    assert run(["decrypt", "-o", "c.jsonl", "-i", "key.txt", "b.age"]) == 0
    assert run(["decrypt", "--keep", "-i", "key.txt", "there/a.jsonl.age"]) == 0
    assert (place / "c.jsonl").read_bytes() == (place / "there/a.jsonl").read_bytes() == SOUND


def test_undo_entries_of_what_was_encrypted_go(place):
    """They hold what it held."""
    write(place / "a.jsonl", OPEN)
    assert run(["repair", "--write", "a.jsonl"]) == 0
    kept = api.state_folder() / "undo"
    assert len(list(kept.iterdir())) == 1
    assert run(["encrypt", "--write", "--yes", "-R", "r.txt", "a.jsonl"]) == 0
    assert list(kept.iterdir()) == []


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress], ids=["", "gz", "zst"])
def test_the_other_commands_read_what_is_encrypted(place, capsys, pack):
    """They say the same of it as of the plain session, in every packing."""
    plain = write(place / "a.jsonl", OPEN)
    sealed = write(place / "b.jsonl.age", b"".join(_sealer().seal([pack(OPEN)])), mode=0o600)
    for command in (
        ["validate", "-f", "json"],
        ["resume"],
        ["show"],
        ["repair"],
        ["redact"],
        ["redact", "--check"],
    ):
        said = []
        for path in (plain, sealed):
            plain.chmod(0o600)
            code = run([*command, "-i", "key.txt", str(path)])
            out = capsys.readouterr().out.replace(str(path), "PATH")
            said.append((code, out.replace(path.name, "NAME").replace("PATH", "NAME")))
        assert said[0] == said[1]
    assert run(["diff", "-i", "key.txt", "a.jsonl", "b.jsonl.age"]) == 0
    assert run(["validate", "b.jsonl.age"]) == 5
    assert "no key is given" in capsys.readouterr().err


def _sealer(*texts):
    return Sealer([keys.parse_recipient(text) for text in texts or [recipient("key.txt")]])


@pytest.mark.usefixtures("place")
def test_standard_input_may_be_encrypted():
    data = b"".join(_sealer().seal([SOUND]))
    done = subprocess.run(
        [sys.executable, "-m", "sesstool", "show", "-i", "key.txt", "-"],
        input=data,
        capture_output=True,
        check=True,
    )
    assert b"canary one" in done.stdout


def test_a_repair_is_written_back_encrypted_and_can_be_undone(place, capsys):
    """Nothing plain is kept: the undo entry holds the encrypted file."""
    path = write(place / "a.jsonl.age", b"".join(_sealer().seal([OPEN])), mode=0o600)
    before = state(path)
    assert run(["repair", "--write", "-i", "key.txt", "a.jsonl.age"]) == 0
    assert opened(path).startswith(OPEN)
    assert len(opened(path)) > len(OPEN)
    assert run(["validate", "-i", "key.txt", "a.jsonl.age"]) == 0
    held = [f.read_bytes() for f in api.state_folder().rglob("*") if f.is_file()]
    assert before[0] in held
    assert not any(b"canary" in data for data in held)
    assert run(["undo", "--show-cut"]) == 6
    assert run(["undo"]) == 0
    assert state(path) == before
    assert run(["repair", "-i", "key.txt", "--save-plan", "plan.json", "a.jsonl.age"]) == 2
    assert "would hold its text in the clear" in capsys.readouterr().err
    assert not (place / "plan.json").exists()


def test_a_redaction_is_written_back_encrypted(place):
    said = jsonl(prompt(1, None, "write to ada@harbour-lamps.net"), answer(2, 1, words("yes")))
    path = write(place / "a.jsonl.age", b"".join(_sealer().seal([said])), mode=0o600)
    arguments = ["redact", "--write", "--in-place", "--yes", "-i", "key.txt", "a.jsonl.age"]
    assert run(arguments) == 0
    assert b"ada@harbour" not in opened(path)
    assert "EMAIL" in opened(path).decode()
    assert run(["redact", "-o", "out/", "-i", "key.txt", "a.jsonl.age"]) == 0
    assert opened("out/a.jsonl.age")
    assert run(["redact", "-o", "v", "--vault", "v", "-i", "key.txt", "a.jsonl.age"]) == 2


def test_who_is_not_known_is_not_shut_out(place, capsys):
    """A file for several is written back only where all of them are given, or opened it."""
    assert run(["keygen", "-q", "-o", "other.txt"]) == 0
    ours, theirs = recipient("key.txt"), recipient("other.txt")
    path = write(place / "a.jsonl.age", b"".join(_sealer(ours, theirs).seal([OPEN])), mode=0o600)
    before = state(path)
    for arguments in (
        [],
        ["-r", ours],
        ["-r", ours, "-r", ours],
    ):
        command = ["repair", "--write", "-i", "key.txt", *arguments, "a.jsonl.age"]
        assert run(command) == 2
        assert "not all of them are known" in capsys.readouterr().err
        assert state(path) == before
    for arguments in (["-r", theirs], ["-r", theirs, "-r", ours]):
        assert run(["repair", "--write", "-i", "key.txt", *arguments, "a.jsonl.age"]) == 0
        assert run(["undo"]) == 0
    command = ["repair", "--write", "-i", "key.txt", "-r", theirs, "a.jsonl.age"]
    assert run(command) == 0
    assert run(["undo"]) == 0
    assert run(["repair", "--write", "-i", "key.txt", "-i", "other.txt", "a.jsonl.age"]) == 0
    for key in ("key.txt", "other.txt"):
        assert opened(path, key).startswith(OPEN)


def test_rekeying_a_folder_can_be_taken_up_with_the_old_key_alone(place, capsys):
    """What was done before is passed over; who is no recipient any more opens nothing."""
    assert run(["keygen", "-q", "--pq", "-o", "new.txt"]) == 0
    paths = [
        write(place / "s" / f"{n}.jsonl.age", b"".join(_sealer().seal([SOUND]))) for n in range(3)
    ]
    damaged = paths[1].read_bytes()
    paths[1].write_bytes(damaged[:-1])
    new = ["-r", recipient("new.txt")]
    assert run(["rekey", "-i", "key.txt", *new, "s"]) == 5
    assert run(["rekey", "--write", "-i", "key.txt", *new, "s"]) == 5
    assert "cannot open" in capsys.readouterr().err
    assert [opened(paths[n], "new.txt") for n in (0, 2)] == [SOUND, SOUND]
    paths[1].write_bytes(damaged)
    assert run(["rekey", "--write", "-i", "key.txt", *new, "s"]) == 0
    assert "1 file encrypted anew; 2 files done before" in capsys.readouterr().out
    assert [opened(path, "new.txt") for path in paths] == [SOUND] * 3
    assert list((api.state_folder() / "rekey").iterdir()) == []
    assert run(["validate", "-i", "key.txt", "s"]) == 5


def test_a_file_key_is_never_kept(place):
    """After a rekey nothing of the old file opens the new one."""
    path = write(place / "a.jsonl.age", b"".join(_sealer().seal([SOUND])))
    old = path.read_bytes()
    assert run(["rekey", "--write", "-i", "key.txt", "-R", "r.txt", "a.jsonl.age"]) == 0
    new = path.read_bytes()
    assert len(old) == len(new)
    assert old[200:] != new[200:]


def test_passphrases_come_from_descriptors(place, capsys):
    write(place / "a.jsonl")
    wrong, right = fd(b"tide"), fd(b"lamp and tide\nrest")
    arguments = ["encrypt", "--write", "--yes", "-p", "--passphrase-fd", right, "a.jsonl"]
    assert run(arguments) == 0
    assert run(["validate", "--passphrase-fd", wrong, "a.jsonl.age"]) == 5
    assert "passphrase is wrong" in capsys.readouterr().err
    assert run(["validate", "--passphrase-fd", fd(b"lamp and tide"), "a.jsonl.age"]) == 0
    assert run(["validate", "--no-input", "a.jsonl.age"]) == 5
    assert "--passphrase-fd" in capsys.readouterr().err
    assert run(["encrypt", "--keep", "--no-input", "-p", "key.txt"]) == 2
    assert run(["repair", "--passphrase-fd", fd(b"lamp and tide"), "a.jsonl.age"]) == 0


def test_a_key_file_may_have_a_passphrase(place, capsys):
    assert run(["keygen", "-q", "-p", "--passphrase-fd", fd(b"tide"), "-o", "locked.txt"]) == 0
    told = capsys.readouterr().out.strip()
    assert b"AGE-SECRET" not in (place / "locked.txt").read_bytes()
    write(place / "a.jsonl.age", b"".join(_sealer(told).seal([SOUND])))
    command = ["show", "-i", "locked.txt", "--passphrase-fd", fd(b"tide"), "a.jsonl.age"]
    assert run(command) == 0
    assert "canary one" in capsys.readouterr().out


def test_keys_are_private_and_never_overwritten(place, capsys):
    assert stat.S_IMODE((place / "key.txt").stat().st_mode) == 0o600
    before = (place / "key.txt").read_bytes()
    assert run(["keygen", "-o", "key.txt"]) == 6
    assert (place / "key.txt").read_bytes() == before
    assert run(["keygen", "--public", "-i", "key.txt"]) == 0
    assert capsys.readouterr().out.strip() == recipient("key.txt")
    assert run(["keygen"]) == 2
    assert run(["keygen", "-o", "-"]) == 0
    assert "AGE-SECRET-KEY-1" in capsys.readouterr().out


def test_the_settings_name_recipients_but_not_those_of_a_project(place, home, capsys):
    """A project's file can come with the data, and would add a reader."""
    write(place / "a.jsonl")
    assert run(["encrypt", "--keep", "a.jsonl"]) == 2
    assert "sesstool keygen" in capsys.readouterr().err
    mine = home / ".config" / "sesstool" / "config.toml"
    mine.parent.mkdir(parents=True)
    mine.write_text(f'recipients = ["{recipient("key.txt")}"]\n')
    assert run(["encrypt", "--keep", "a.jsonl"]) == 0
    assert opened("a.jsonl.age") == SOUND
    (place / "sesstool.toml").write_text('recipients = ["age1lamp"]\n')
    with pytest.raises(ConfigError, match="may not be set in a project's file"):
        config.load(place, {})


def test_the_key_may_be_named_by_a_variable(place, monkeypatch):
    """The variable names a file, and is no key."""
    write(place / "a.jsonl.age", b"".join(_sealer().seal([SOUND])))
    monkeypatch.setenv("SESSTOOL_IDENTITY_FILE", str(place / "key.txt"))
    assert run(["validate", "a.jsonl.age"]) == 0


def test_the_keyring_of_the_system(place, capsys):
    keyring = pytest.importorskip("keyring", reason="the extra keyring is not installed")
    from keyring.backend import KeyringBackend  # noqa: PLC0415 - of the extra

    class Ring(KeyringBackend):
        priority = 1
        kept: dict[tuple[str, str], str] = {}  # noqa: RUF012 - lives as long as the test

        def get_password(self, service, username):
            return self.kept.get((service, username))

        def set_password(self, service, username, password):
            self.kept[service, username] = password

    before = keyring.get_keyring()
    keyring.set_keyring(Ring())
    try:
        assert run(["keygen", "-o", "keyring:mine"]) == 0
        told = capsys.readouterr().out.strip()
        assert run(["keygen", "-o", "keyring:mine"]) == 6
        write(place / "a.jsonl.age", b"".join(_sealer(told).seal([SOUND])))
        assert run(["validate", "-i", "keyring:mine", "a.jsonl.age"]) == 0
        assert run(["validate", "-i", "keyring:none", "a.jsonl.age"]) == 3
    finally:
        keyring.set_keyring(before)


def test_what_is_sound_of_a_damaged_file_can_be_saved(place, capsys):
    """Whole pieces of 64 KiB from its beginning, and the exit code says that it is not all."""
    long = jsonl(*(prompt(n, None, "x" * 900) for n in range(1, 200)))
    path = write(place / "a.jsonl.age", b"".join(_sealer().seal([long])))
    path.write_bytes(path.read_bytes()[:-30_000])
    assert run(["decrypt", "--write", "-i", "key.txt", "a.jsonl.age"]) == 5
    assert not (place / "a.jsonl").exists()
    command = ["decrypt", "--salvage", "-i", "key.txt", "-o", "saved.jsonl", "a.jsonl.age"]
    assert run(command) == 5
    assert "is not whole" in capsys.readouterr().err
    saved = (place / "saved.jsonl").read_bytes()
    assert len(saved) % (1 << 16) == 0
    assert len(long) - 30_000 - (1 << 16) < len(saved) < len(long) - 30_000
    assert long.startswith(saved)


def test_facts_without_a_key(place, capsys):
    sealed = b"".join(_sealer().seal([SOUND]))
    write(place / "a.jsonl.age", sealed)
    assert run(["show", "--header", "a.jsonl.age"]) == 0
    out = capsys.readouterr().out
    assert "recipient  X25519" in out
    assert f"session    {len(SOUND)} bytes" in out
    assert f"overhead   {len(sealed) - len(SOUND)} bytes" in out
    write(place / "a.jsonl")
    assert run(["show", "--header", "a.jsonl"]) == 2


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["encrypt", "-R", "r.txt", "-"], 2, "not on standard input"),
        (["encrypt", "--write", "--keep", "-R", "r.txt", "a.jsonl"], 2, "give one of them"),
        (["encrypt", "--write", "-n", "-R", "r.txt", "a.jsonl"], 2, "contradict"),
        (["encrypt", "--write", "-R", "r.txt", "a.jsonl"], 6, "nobody can be asked"),
        (["encrypt", "-r", "age1lamp", "a.jsonl"], 2, "sesstool: error"),
        (["encrypt", "-R", "none.txt", "a.jsonl"], 3, "cannot read the keys in none.txt"),
        (["encrypt", "-R", "r.txt", "none.jsonl"], 3, "none.jsonl"),
        (["decrypt", "-i", "key.txt", "a.jsonl"], 0, "nothing to decrypt"),
        (["rekey", "-i", "key.txt", "-R", "r.txt", "-o", "x", "a.jsonl"], 2, "in place"),
    ],
)
def test_what_cannot_be_done_is_said(place, capsys, arguments, code, said):
    """With the next step, and nothing is written."""
    write(place / "a.jsonl")
    before = sorted(place.iterdir())
    assert run(arguments) == code
    err = capsys.readouterr().err
    assert said in err
    assert code == 0 or "sesstool: hint: " in err
    assert sorted(place.iterdir()) == before


def test_the_library_encrypts_and_decrypts(place):
    """What the commands do, with keys that are not in files."""
    path = write(place / "a.jsonl")
    identity = keys.generate(pq=False)
    [item] = sealing.seal(sealing.group_of(path), [identity.recipient()])
    ring = Keys(given=[identity])
    assert api.validate(item.target, keys=ring).findings == ()
    [back] = sealing.unseal(sealing.group_of(item.target, ring), ring)
    assert state(back.target) == (SOUND, 0o600, MTIME)
    with pytest.raises(UsageError, match="nobody to encrypt for"):
        sealing.seal(sealing.group_of(path), [])
    with pytest.raises(AuthError, match="no key is given"):
        api.validate(_sealed(place))
    with pytest.raises(WriteError, match="exists already"):
        sealing.seal(sealing.group_of(path), [identity.recipient()], to=[place / "key.txt"])


def _sealed(place):
    return write(place / "z.jsonl.age", b"".join(_sealer().seal([SOUND])))


def test_output_of_programs_is_as_of_plain_sessions(place, capsys):
    """A report names the encrypted file, and holds nothing of its text."""
    _sealed(place)
    assert run(["validate", "-f", "json", "-i", "key.txt", "z.jsonl.age"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert "canary" not in json.dumps(told)


def test_what_a_linked_folder_holds_stays(group, place):
    """It may be somebody else's: it is neither taken away nor handed on."""
    session, _, _, _ = group
    theirs = write(place / "elsewhere" / "theirs.txt", b"theirs")
    (session.with_suffix("") / "more").symlink_to(theirs.parent)
    (session.with_suffix("") / "dangling").symlink_to(place / "none")
    assert run(["encrypt", "-o", "out/", "-R", "r.txt", str(session)]) == 0
    assert run(["encrypt", "--write", "--yes", "-R", "r.txt", str(session)]) == 0
    assert theirs.read_bytes() == b"theirs"
    assert list(theirs.parent.iterdir()) == [theirs]
    assert not list((place / "out").rglob("theirs*"))


@pytest.mark.parametrize("whole", [True, False], ids=["folder", "file"])
def test_a_session_folder_that_is_a_link_is_not_followed(group, place, whole):
    session, parts, _, _ = group
    folder = session.with_suffix("")
    moved = folder.rename(place / "moved")
    folder.symlink_to(moved)
    path = session.parent if whole else session
    assert run(["encrypt", "--write", "--yes", "-R", "r.txt", str(path)]) in (0, 6)
    inside = sorted(p.relative_to(moved) for p in moved.rglob("*") if p.is_file())
    assert inside == sorted(part.relative_to(folder) for part in parts)


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_nothing_is_written_through_a_link(place, force):
    """Where one was planted, it is in the way; with --force the link goes, not what it names."""
    write(place / "a.jsonl")
    other = write(place / "other.txt", b"other")
    (place / "a.jsonl.age").symlink_to(other)
    code = run(["encrypt", "--write", "--yes", *force, "-R", "r.txt", "a.jsonl"])
    assert code == (0 if force else 6)
    assert other.read_bytes() == b"other"
    (place / "b.jsonl").symlink_to(place / "none.txt")
    write(place / "b.jsonl.age", b"".join(_sealer().seal([SOUND])))
    code = run(["decrypt", "--write", *force, "-i", "key.txt", "b.jsonl.age"])
    assert code == (0 if force else 6)
    assert not (place / "none.txt").exists()


@pytest.mark.parametrize("data", [b"", b"no age file", b"Xge-encryption.org/v1\n"])
def test_what_is_called_encrypted_and_is_not_is_damaged(place, data, capsys):
    """It is no plain text, and nobody encrypts it again."""
    path = write(place / "a.jsonl.age", data)
    for command in (["decrypt", "--write", "-i", "key.txt"], ["validate", "-i", "key.txt"]):
        assert run([*command, "a.jsonl.age"]) == 5
    assert run(["rekey", "--write", "-i", "key.txt", "-R", "r.txt", "a.jsonl.age"]) == 5
    assert run(["encrypt", "--write", "--yes", "-R", "r.txt", "a.jsonl.age"]) == 0
    assert "nothing to encrypt" in capsys.readouterr().err
    assert path.read_bytes() == data


def test_a_folder_is_decrypted_and_rekeyed_whole(place):
    """Also what belongs to no session there any more."""
    assert run(["keygen", "-q", "-o", "new.txt"]) == 0
    names = ["a.jsonl.age", "note.txt.age", "x/tool-results/y.txt.age"]
    for name in names:
        write(place / "f" / name, b"".join(_sealer().seal([SOUND])))
    new = recipient("new.txt")
    assert run(["rekey", "--write", "-i", "key.txt", "-r", new, "f"]) == 0
    assert [opened(place / "f" / name, "new.txt") for name in names] == [SOUND] * 3
    assert run(["decrypt", "--write", "-i", "new.txt", "f"]) == 0
    assert not list((place / "f").rglob("*.age"))
    assert run(["decrypt", "--write", "-i", "new.txt", "f"]) == 0


def test_a_folder_keeps_its_shape_elsewhere(place):
    for name in ("p1", "p2"):
        write(place / "f" / name / "s.jsonl", SOUND + name.encode())
    assert run(["encrypt", "-o", "out", "-R", "r.txt", "f"]) == 0
    assert run(["decrypt", "-o", "back", "-i", "key.txt", "out"]) == 0
    for name in ("p1", "p2"):
        assert (place / "back" / name / "s.jsonl").read_bytes() == SOUND + name.encode()


def test_other_files_of_a_folder_are_named(place, capsys):
    write(place / "f" / "s.jsonl")
    write(place / "f" / "notes.md", b"canary")
    assert run(["encrypt", "--write", "--yes", "-R", "r.txt", "f"]) == 0
    assert "1 other file in f, such as f/notes.md" in capsys.readouterr().err


def test_a_preview_settles_nothing(place, capsys):
    """Only --write ends what was broken off; --keep takes nothing away either."""
    path = write(place / "a.jsonl")
    before = fingerprint(path)
    sealed = write(place / "a.jsonl.age", b"".join(_sealer().seal([SOUND])))
    item = convert.Item(path, sealed, before, fingerprint(sealed).sha256)
    convert._Journal(api.state_folder(), "encrypt", (item,), made=True).save()
    assert run(["encrypt", "-R", "r.txt", "a.jsonl"]) == 1
    assert "was broken off" in capsys.readouterr().err
    assert run(["encrypt", "--keep", "--force", "-R", "r.txt", "a.jsonl"]) == 6
    assert path.exists()
    assert run(["encrypt", "--write", "--yes", "-R", "r.txt", "a.jsonl"]) == 0
    assert not path.exists()
    assert opened(sealed) == SOUND


def test_a_journal_takes_no_file_but_its_twin(place):
    """Whoever wrote it: what is plain goes only where it is encrypted beside it."""
    path, victim = write(place / "a.jsonl"), write(place / "victim.txt")
    copy = write(place / "copy.txt")
    items = [
        convert.Item(one, two, fingerprint(one), fingerprint(two).sha256)
        for one, two in ((path, write(place / "a.jsonl.age")), (victim, copy))
    ]
    convert._Journal(api.state_folder(), "encrypt", tuple(items), made=True).save()
    run(["encrypt", "--write", "--yes", "--force", "-R", "r.txt", "a.jsonl"])
    assert victim.read_bytes() == SOUND


def test_a_key_in_the_wrong_place_is_not_shown(place, home, capsys, monkeypatch):
    """As a path, in a variable, and among the settings."""
    [line] = [x for x in Path("key.txt").read_text().split() if x.startswith("AGE-SECRET")]
    write(place / "a.jsonl.age", b"".join(_sealer().seal([SOUND])))
    assert run(["validate", "-i", line, "a.jsonl.age"]) == 2
    assert run(["encrypt", "-R", line, "a.jsonl.age"]) == 2
    assert run(["encrypt", "-r", line, "a.jsonl.age"]) == 2
    monkeypatch.setenv("SESSTOOL_IDENTITY_FILE", line)
    assert run(["validate", "a.jsonl.age"]) == 2
    monkeypatch.delenv("SESSTOOL_IDENTITY_FILE")
    monkeypatch.setenv("SESSTOOL_RECIPIENTS", line)
    assert run(["config", "show"]) == 2
    monkeypatch.delenv("SESSTOOL_RECIPIENTS")
    mine = home / ".config" / "sesstool" / "config.toml"
    mine.parent.mkdir(parents=True)
    mine.write_text(f'recipients = ["{line}"]\n')
    assert run(["config", "show"]) == 2
    told = capsys.readouterr()
    assert line.lower()[20:] not in (told.out + told.err).lower()


def test_one_file_may_go_to_stdout(place, capfdbinary):
    """All of it or nothing: it is verified before its first byte."""
    path = write(place / "a.jsonl.age", b"".join(_sealer().seal([SOUND])))
    capfdbinary.readouterr()
    assert run(["decrypt", "-i", "key.txt", "-o", "-", "a.jsonl.age"]) == 0
    assert capfdbinary.readouterr().out == SOUND
    path.write_bytes(path.read_bytes()[:-1])
    assert run(["decrypt", "-i", "key.txt", "-o", "-", "a.jsonl.age"]) == 5
    assert capfdbinary.readouterr().out == b""


def test_a_passphrase_stands_alone(place, capsys):
    write(place / "a.jsonl")
    assert run(["encrypt", "-p", "-R", "r.txt", "a.jsonl"]) == 2
    assert "give -p alone" in capsys.readouterr().err


def test_copies_that_we_made_are_named(place, capsys):
    """They are where somebody wanted them, and so they stay: plain."""
    write(place / "a.jsonl", OPEN)
    assert run(["repair", "-o", "b.jsonl", "--save-plan", "p.json", "a.jsonl"]) == 0
    assert run(["redact", "-o", "c.jsonl", "a.jsonl"]) == 0
    assert run(["show", "-o", "d.txt", "a.jsonl"]) == 0
    assert run(["diff", "--html", "e.html", "a.jsonl", "b.jsonl"]) == 1
    capsys.readouterr()
    assert run(["encrypt", "-R", "r.txt", "a.jsonl"]) == 1
    out = capsys.readouterr().out
    names = ("b.jsonl", "p.json", "c.jsonl", "d.txt", "e.html")
    assert [name for name in names if f"{place / name}: a copy" not in out] == []
    (place / "b.jsonl").unlink()
    assert run(["encrypt", "--write", "--yes", "-R", "r.txt", "a.jsonl"]) == 0
    assert str(place / "b.jsonl") not in capsys.readouterr().out


@pytest.mark.parametrize(("command", "made"), [("encrypt", True), ("decrypt", True)])
def test_what_was_put_where_a_file_was_taken_away_harms_nothing(place, command, made, capsys):
    """The agent writes on, or a backup comes back: both files are kept, and it is said."""
    plain = write(place / "a.jsonl")
    sealed = write(place / "a.jsonl.age", b"".join(_sealer().seal([SOUND])))
    one, two = (plain, sealed) if command == "encrypt" else (sealed, plain)
    item = convert.Item(one, two, fingerprint(one), fingerprint(two).sha256)
    convert._Journal(api.state_folder(), command, (item,), made=made).save()
    one.write_bytes(b"another one\n")
    whole = two.read_bytes()
    assert run(["encrypt", "--write", "--yes", "-R", "r.txt", "a.jsonl"]) == 6
    assert "both are there" in capsys.readouterr().err
    assert (one.read_bytes(), two.read_bytes()) == (b"another one\n", whole)


def test_what_was_not_all_made_is_taken_back_though_the_session_grew(place):
    """It was never taken away; what came of it before it grew would be in the way."""
    path = write(place / "a.jsonl")
    sealed = write(place / "a.jsonl.age", b"".join(_sealer().seal([SOUND])))
    item = convert.Item(path, sealed, fingerprint(path), fingerprint(sealed).sha256)
    convert._Journal(api.state_folder(), "encrypt", (item,)).save()
    path.write_bytes(SOUND + OPEN)
    assert run(["encrypt", "--write", "--yes", "-R", "r.txt", "a.jsonl"]) == 0
    assert opened(sealed) == SOUND + OPEN


def test_undo_entries_of_a_session_that_was_moved_go_too(place):
    path = write(place / "a.jsonl", OPEN)
    assert run(["repair", "--write", "a.jsonl"]) == 0
    path.rename(place / "b.jsonl")
    assert run(["encrypt", "--write", "--yes", "-R", "r.txt", "b.jsonl"]) == 0
    assert list((api.state_folder() / "undo").iterdir()) == []


def test_rekey_says_that_undo_entries_go(place, capsys):
    write(place / "a.jsonl.age", b"".join(_sealer().seal([OPEN])), mode=0o600)
    assert run(["repair", "--write", "-i", "key.txt", "a.jsonl.age"]) == 0
    assert run(["rekey", "--write", "-i", "key.txt", "-R", "r.txt", "a.jsonl.age"]) == 0
    assert "undo entries of 1 file are gone" in capsys.readouterr().err


def test_one_name_is_not_enough_for_several_files(group, capsys):
    session, _, _, _ = group
    assert run(["encrypt", "-o", "one.age", "-R", "r.txt", str(session)]) == 2
    assert "-o one.age/" in capsys.readouterr().err
