"""Which writes of which commands stand in the audit log, and `audit show` and `audit verify`."""

import hashlib
import json

import pytest

from sesstool import api
from sesstool.audit import log, tombstones
from sesstool.cli.main import run
from sesstool.records import undo
from tests.conftest import answer, jsonl, prompt
from tests.test_output_schemas import judge

SOUND = jsonl(prompt(1, None, "write to ada.keeper@harbour-desk.org"), answer(2, 1))
TORN = SOUND + b'{"cut'


@pytest.fixture
def session(tmp_path, monkeypatch):
    """A session with a torn tail, in a folder below the working folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s").mkdir()
    path = tmp_path / "s" / "a.jsonl"
    path.write_bytes(TORN)
    return path


@pytest.fixture
def key(session, capfd):
    """Makes a key and a file of its recipient; returns the options that open with it."""
    assert run(["keygen", "-q", "-o", "key.txt"]) == 0
    session.parent.with_name("r.txt").write_text(capfd.readouterr().out)
    return ("-i", "key.txt")


def told():
    """Action, name of the file, and the name of what it was made of, of each line."""
    return [
        (line["action"], line["path"].rpartition("/")[2], line.get("of", "").rpartition("/")[2])
        for line in log.read(api.state_folder())
    ]


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_repair_apply_and_undo_are_in_the_log(session):
    """Plans and copies as well, for they hold what the session does; and what was forgotten."""
    assert run(["repair", "-q", "-o", "copy.jsonl", str(session)]) == 0
    assert run(["repair", "-q", "--save-plan", "plan.json", str(session)]) in (0, 1)
    assert run(["apply", "--write", "plan.json"]) == 0
    assert run(["undo", str(session)]) == 0
    assert run(["repair", "--write", str(session)]) == 0
    (first, second) = undo.entries(api.state_folder())
    assert run(["undo", "--purge", first.id]) == 0
    assert run(["undo", "--purge", "--yes"]) == 0
    assert told() == [
        ("copy", "copy.jsonl", "a.jsonl"),
        ("copy", "plan.json", "a.jsonl"),
        ("apply", "a.jsonl", ""),
        ("undo", "a.jsonl", ""),
        ("repair", "a.jsonl", ""),
        ("purge", "a.jsonl", ""),
        ("purge", "a.jsonl", ""),
    ]
    assert [line["undo"] for line in log.read(api.state_folder())][-2:] == [first.id, second.id]
    assert log.verify(api.state_folder()) == []


def test_a_damaged_entry_that_is_purged_is_in_the_log(session):
    """By its folder, for it no longer tells of which file it was."""
    assert run(["repair", "--write", str(session)]) == 0
    (entry,) = undo.entries(api.state_folder())
    (entry.folder / "entry.json").write_bytes(b"{")
    assert run(["undo", "--purge", entry.id]) == 0
    assert told()[-1] == ("purge", entry.id, "")


def test_nothing_to_purge_is_no_line():
    """And makes no state folder."""
    assert run(["undo", "--purge", "--yes"]) == 0
    assert not api.state_folder().exists()


def test_encryption_is_in_the_log(session, key):
    """Each file that was made, beside its source or in its place, with the hash of what it is."""
    sealed = session.with_name("a.jsonl.age")
    assert run(["encrypt", "-q", "--keep", "-R", "r.txt", str(session)]) == 0
    kept = sha256(sealed)
    assert run(["encrypt", "-q", "--keep", "--force", "-R", "r.txt", str(session)]) == 0
    made, again = list(log.read(api.state_folder()))[1:]
    assert (made["before"], made["after"], again["before"]) == ("", kept, kept)
    assert again["after"] == sha256(sealed)
    # The encrypted twin is no copy in the clear.
    assert log.copies(api.state_folder(), session) == []
    assert run(["decrypt", "-q", "-o", "plain.jsonl", *key, str(sealed)]) == 0
    assert run(["repair", "-q", "-o", "mended.age", *key, str(sealed)]) == 0
    assert run(["decrypt", "-q", "--salvage", "-o", "saved.jsonl", *key, str(sealed)]) == 0
    assert run(["rekey", "-q", "--write", *key, "-R", "r.txt", str(sealed)]) == 0
    session.unlink()
    assert run(["decrypt", "-q", "--write", *key, str(sealed)]) == 0
    assert told() == [
        ("keygen", "key.txt", ""),
        ("encrypt", "a.jsonl.age", "a.jsonl"),
        ("encrypt", "a.jsonl.age", "a.jsonl"),
        ("decrypt", "plain.jsonl", "a.jsonl.age"),
        ("encrypted copy", "mended.age", "a.jsonl.age"),
        ("copy", "saved.jsonl", "a.jsonl.age"),
        ("rekey", "a.jsonl.age", ""),
        ("decrypt", "a.jsonl.age", ""),
    ]


@pytest.mark.usefixtures("key")
def test_a_key_that_replaces_another_is_in_the_log(session):
    """With the hashes of both files, by which the lost one can be told from a backup."""
    path = session.parent.with_name("key.txt")
    old = sha256(path)
    assert run(["keygen", "-q", "--force", "-o", "key.txt"]) == 0
    line = list(log.read(api.state_folder()))[-1]
    assert (line["before"], line["after"]) == (old, sha256(path))


def test_redaction_is_in_the_log(session, key):
    """Copies, what was done in place, the vault, and what was given back."""
    session.write_bytes(SOUND)
    mails = ("--detectors", "email")
    assert run(["redact", "-q", *mails, "-o", "copy.jsonl", str(session)]) == 0
    there = ("redact", "-q", *mails, "--write", "--in-place", "--yes", "--ignore-live")
    assert run([*there, "--vault", "vault.bin", *key, str(session)]) == 0
    back = ("unredact", "-q", "--vault", "vault.bin", *key)
    assert run([*back, "-o", "back.jsonl", str(session)]) == 0
    assert run([*back, "--write", "--in-place", "--ignore-live", str(session)]) == 0
    assert told() == [
        ("keygen", "key.txt", ""),
        ("copy", "copy.jsonl", "a.jsonl"),
        ("vault", "vault.bin", ""),
        ("redact", "a.jsonl", ""),
        ("copy", "back.jsonl", "a.jsonl"),
        ("unredact", "a.jsonl", ""),
    ]
    vault = list(log.read(api.state_folder()))[2]
    made = session.parent.with_name("vault.bin")
    assert (vault["before"], vault["after"]) == ("", sha256(made))


@pytest.fixture
def changes(session):
    """Some lines of the log; returns the state folder."""
    state = api.state_folder()
    log.append(state, log.Change("repair", str(session), "aa", "bb", ("B104",), "7c43ab89"))
    gone = [str(session.parent / name) for name in ("b.jsonl", "b/x.jsonl")]
    log.append(state, *[log.Change("trash", p, "cc", "", entry="e1", reason="old") for p in gone])
    log.note_copy(state, session.with_name("c"), session)
    return state


def shown(capfd, *arguments, code=0):
    capfd.readouterr()
    assert run(["audit", *arguments]) == code
    return capfd.readouterr().out.splitlines()


def test_show_prints_a_line_a_change(changes, session, capfd):
    """Time, who, action, path, and what leads back."""
    lines = shown(capfd, "show")
    (first, *_) = log.read(changes)
    who = first["actor"]["login"] or f"uid {first['actor']['uid']}"
    assert lines[0] == f"{first['time']}  {who}  repair  {session}  undo 7c43ab89"
    assert lines[1].endswith(f"  trash  {session.parent}/b.jsonl  entry e1  (old)")
    assert lines[3].endswith(f"  copy  {session.parent}/c  of {session}")
    assert len(lines) == 4


@pytest.mark.usefixtures("changes")
@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        (["--action", "trash"], [2, 3]),
        (["s/a.jsonl"], [1, 4]),
        (["s/b"], [3]),
        (["s"], [1, 2, 3, 4]),
        (["s/b", "s/b.jsonl"], [2, 3]),
        (["none"], []),
        (["--since", "2020-01-01"], [1, 2, 3, 4]),
        (["--since", "2999-01-01T00:00:00+02:00"], []),
        (["--since", "2020-01-01", "--action", "repair", "s"], [1]),
    ],
)
def test_show_takes_what_was_asked_for(capfd, options, numbers):
    """By path or folder, by command and by time; the JSON has the same and obeys its schema."""
    value = json.loads("".join(shown(capfd, "show", "-f", "json", *options)))
    judge("audit").validate(value)
    assert [change["seq"] for change in value["changes"]] == numbers
    assert len(shown(capfd, "show", *options)) == len(numbers)


@pytest.mark.parametrize("time", ["2026-02-28T23:59:59.9+00:00", "2026-03-01T00:59:59+01:00"])
def test_a_date_begins_at_midnight_in_utc(session, capfd, time):
    """What was before it is left out, whichever offset it is told with."""
    state = api.state_folder()
    state.mkdir(parents=True)
    for seq, when in enumerate([time, "2026-03-01T00:00:00+00:00", "nonsense"], start=1):
        with (state / log.NAME).open("a") as lines:
            lines.write(json.dumps({"seq": seq, "time": when, "path": str(session)}) + "\n")
    value = json.loads("".join(shown(capfd, "show", "-f", "json", "--since", "2026-03-01")))
    assert [change["seq"] for change in value["changes"]] == [2, 3]


@pytest.mark.parametrize("value", [None, 7, "x", [], ["x"], {}, {"uid": "x", "login": 3}, True])
def test_a_log_that_somebody_changed_is_shown_as_far_as_it_goes(changes, capfd, value):
    """Whatever a member has become: no traceback, and the JSON obeys its schema."""
    (line, *_) = log.read(changes)
    lines = [json.dumps(line | {name: value}) for name in [*line, "of", "batch"] if name != "seq"]
    (changes / log.NAME).write_text("\n".join([*lines, "{", "\x1b[2J"]) + "\n")
    text = "\n".join(shown(capfd, "show"))
    assert len(text.splitlines()) == len(lines)
    judge("audit").validate(json.loads("".join(shown(capfd, "show", "-f", "json"))))
    assert run(["audit", "show", "s"]) == 0
    assert "2 lines cannot be read; next: sesstool audit verify" in capfd.readouterr().err
    shown(capfd, "verify", code=1)


def test_nothing_in_the_log_acts_on_the_terminal(session, capfd):
    """Names of files are what anybody made them."""
    odd = f"{session}\x1b[2J\n\udcff\u202e"
    log.append(api.state_folder(), log.Change("repair", odd, "", "", reason="\x07"))
    (line,) = shown(capfd, "show")
    assert line.isprintable()
    judge("audit").validate(json.loads("".join(shown(capfd, "show", "-f", "json"))))


def test_a_wrong_date_is_refused(capfd):
    """With the form that is right."""
    assert run(["audit", "show", "--since", "yesterday"]) == 2
    assert "2026-03-01" in capfd.readouterr().err


def test_verify_prints_the_newest_line_of_each(changes, capfd):
    """What it prints is what it takes."""
    tombstones.append(changes, tombstones.Tombstone("a" * 8, "codex", "", "", "", "", "", 1, 1, ()))
    first, second = shown(capfd, "verify")
    assert first == f"audit log: 4 lines, newest {log.CHAIN.head(changes)}"
    assert second == f"tombstones: 1 line, newest {tombstones.CHAIN.head(changes)}"
    old = [line.rpartition(" ")[2] for line in (first, second)]
    log.append(changes, log.Change("repair", "/x", "", ""))
    assert len(shown(capfd, "verify", "--expect", old[0], "--expect", old[1])) == 2


def test_verify_notes_a_line_that_the_head_lacks(changes, capfd):
    """In either file: a run was killed right behind it, or somebody has put it in."""
    stone = tombstones.Tombstone("a" * 8, "codex", "", "", "", "", "", 1, 1, ())
    for name, add in (
        ("audit", lambda: log.append(changes, log.Change("repair", "/x", "", ""))),
        ("tombstones", lambda: tombstones.append(changes, stone)),
    ):
        add()
        head = (changes / f"{name}.head").read_bytes()
        add()
        (changes / f"{name}.head").write_bytes(head)
        capfd.readouterr()
        assert run(["audit", "verify"]) == 0
        note = f"note: the newest line of {name}.jsonl is not in {name}.head yet"
        assert note in capfd.readouterr().err
        add()
        assert run(["audit", "verify"]) == 0
        assert capfd.readouterr().err == ""


def test_verify_of_nothing_is_sound(capfd):
    """There is no line, and none is missing."""
    assert shown(capfd, "verify") == ["audit log: 0 lines", "tombstones: 0 lines"]


def test_verify_tells_each_problem_and_the_next_step(changes, capfd):
    """In either file, with its line."""
    path = changes / log.NAME
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    (changes / "tombstones.jsonl").write_bytes(b"{\n")
    assert run(["audit", "verify"]) == 1
    out, err = capfd.readouterr()
    assert "audit.jsonl: line 4 is missing: audit.head tells of it" in out
    assert "tombstones.jsonl: line 1 is damaged" in out
    assert "next: keep" in err


def test_who_rewrites_lines_and_head_is_found_by_what_was_kept(changes, capfd):
    """Everything hangs together, and is not what it was."""
    newest = str(log.CHAIN.head(changes))
    for name in (log.NAME, "audit.head"):
        (changes / name).unlink()
    for number in range(4):
        log.append(changes, log.Change("repair", f"/{number}", "", ""))
    shown(capfd, "verify")
    lines = shown(capfd, "verify", "--expect", newest, code=1)
    assert lines[-1] == f"{newest} is in neither: what is here is not what was printed then"


@pytest.mark.parametrize("value", ["", "4", "4:xyz", f"4:{'a' * 63}", f"{'a' * 64}:4"])
def test_an_expectation_of_another_form_is_refused(value):
    """It is told before anything is compared."""
    assert run(["audit", "verify", "--expect", value]) == 2
