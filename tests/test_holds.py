"""Holds by command: they are kept, they end only when released, and none is lost in silence."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pytest
from jsonschema import Draft202012Validator

from sesstool.api import holding
from sesstool.audit import log
from sesstool.cli import main
from sesstool.errors import InputError, UsageError, WriteError
from sesstool.formats.schemas import schema_text
from sesstool.records import write
from sesstool.retention import holds
from sesstool.retention.matching import NOTHING, Also, match
from sesstool.retention.policy import Hold, Match

UUID = "0a1b2c3d-0001-7000-8000-00000000beac"
FULL = Hold(
    "full",
    Match(
        agent=("codex", "claude*"),
        path=("/srv/[[]a]|b/*",),
        project=("p",),
        cwd=("/w",),
        tags=("t",),
        session=("s",),
        model=("m",),
        contains_rule=("P8",),
        larger_than=0,
        encrypted=False,
    ),
    "a letter",
    "Ada",
    datetime(2026, 3, 1, tzinfo=UTC),
    datetime(2026, 4, 1, 12, 30, tzinfo=UTC),
)
PLAIN = Hold("plain", Match(), "an audit")


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """The state folder of the command, which is not there yet; the user has no policy."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("SESSTOOL_POLICY", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "state" / "sesstool"


@dataclass
class Facts:
    path: str
    session: str = ""
    agent: str = "claude-code"
    project: str = "harbour"
    cwd: str = ""
    tags: frozenset[str] = frozenset()
    models: frozenset[str] = frozenset()
    size: int = 1
    encrypted: bool = False
    also: Also = NOTHING

    def contains(self, code_prefix, /):
        raise AssertionError(code_prefix)


def held(names, facts, **options):
    """Whether a hold on some names holds a session."""
    made = holding.holds("h", [str(name) for name in names], reason="r", **options)
    return any(match(hold.match, facts) for hold in made)


def logged(state):
    """What the audit log tells: action, path, and whether there was and is a hold."""
    lines = log.read(state)
    return [(x["action"], x["path"], bool(x["before"]), bool(x["after"])) for x in lines]


def test_without_a_file_there_is_no_hold(state):
    """And nothing is made by looking."""
    assert holds.read(state) == []
    assert not state.exists()


def test_what_is_added_is_read(state):
    """Every member, in the order of adding; the file is private, and each is in the log."""
    holds.add(state, FULL)
    holds.add(state, PLAIN)
    assert holds.read(state) == [FULL, PLAIN]
    file = state / "holds.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert logged(state) == [
        ("hold", "hold:full", False, True),
        ("hold", "hold:plain", False, True),
    ]
    assert log.verify(state) == []
    document = json.loads(file.read_bytes())
    Draft202012Validator(json.loads(schema_text("holds"))).validate(document)
    assert document["holds"][1] == {
        "name": "plain",
        "match": {},
        "reason": "an audit",
        "by": "",
        "since": None,
        "until": None,
    }


def test_a_release_ends_it(state):
    """The others stay; then the name is free again."""
    holds.add(state, FULL)
    holds.add(state, PLAIN)
    holds.release(state, "full", "the case is closed")
    assert holds.read(state) == [PLAIN]
    assert logged(state)[-1] == ("release", "hold:full", True, False)
    assert [x["reason"] for x in log.read(state)] == ["a letter", "an audit", "the case is closed"]
    holds.add(state, FULL)
    assert holds.read(state) == [PLAIN, FULL]


def test_a_name_stands_once(state):
    """A second hold of a name is refused; an unknown one cannot be released; nothing changes."""
    holds.add(state, PLAIN)
    before = (state / "holds.json").read_bytes(), logged(state)
    with pytest.raises(UsageError, match="there is a hold plain already"):
        holds.add(state, PLAIN)
    with pytest.raises(UsageError, match="there is no hold other"):
        holds.release(state, "other", "r")
    assert before == ((state / "holds.json").read_bytes(), logged(state))


def test_holds_of_one_name_end_together(state):
    """What a file is held by, its id or its path, is one hold to people."""
    by_id = Hold("h", Match(session=("x",)), "r")
    by_path = Hold("h", Match(path=("/x",)), "r")
    holds.add(state, by_id, by_path)
    assert holds.read(state) == [by_id, by_path]
    assert len(logged(state)) == 1
    holds.release(state, "h", "r")
    assert holds.read(state) == []


def edited(change):
    """A way to damage the document: what `change` does to its two holds."""

    def damage(file):
        document = json.loads(file.read_bytes())
        change(document)
        file.write_text(json.dumps(document))

    return damage


DAMAGES = {
    "empty": lambda file: file.write_bytes(b""),
    "cut": lambda file: file.write_bytes(file.read_bytes()[:-9]),
    "zeros": lambda file: file.write_bytes(bytes(file.stat().st_size)),
    "latin": lambda file: file.write_bytes(b'{"holds": "\xe9"}'),
    "deep": lambda file: file.write_bytes(b"[" * 100_000),
    "list": lambda file: file.write_bytes(b"[]"),
    "null": lambda file: file.write_bytes(b"null"),
    "version": edited(lambda d: d.update(schema_version=2)),
    "no holds": edited(lambda d: d.pop("holds")),
    "new member": edited(lambda d: d["holds"][0].update(urgency=1)),
    "new key": edited(lambda d: d["holds"][0]["match"].update(colour=["red"])),
    "wrong type": edited(lambda d: d["holds"][0]["match"].update(tags="t")),
    "wrong items": edited(lambda d: d["holds"][0]["match"].update(tags=[1])),
    "no time": edited(lambda d: d["holds"][0].update(until="soon")),
    "no zone": edited(lambda d: d["holds"][0].update(until="2026-03-01T00:00:00")),
    "folder": lambda file: (file.unlink(), file.mkdir()),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_stops_everything(state, damage):
    """Nothing is read, added or released, and the file and the log stay as they are."""
    holds.add(state, FULL)
    holds.add(state, PLAIN)
    file = state / "holds.json"
    damage(file)
    before = file.read_bytes() if file.is_file() else None, logged(state)
    for act in (
        lambda: holds.read(state),
        lambda: holds.add(state, Hold("new", Match(), "r")),
        lambda: holds.release(state, "plain", "r"),
    ):
        with pytest.raises(InputError) as caught:
            act()
        assert str(file) in caught.value.message
        assert caught.value.hint
    assert before == (file.read_bytes() if file.is_file() else None, logged(state))


LOSSES = {
    "removed": lambda file: file.unlink(),
    "emptied": edited(lambda d: d["holds"].clear()),
    "one cut": edited(lambda d: d["holds"].pop(0)),
    "narrowed": edited(lambda d: d["holds"][0]["match"].update(tags=["other"])),
    "ended": edited(lambda d: d["holds"][0].update(until="2026-03-02T00:00:00+00:00")),
    "renamed": edited(lambda d: d["holds"][0].update(name="else")),
    "other reason": edited(lambda d: d["holds"][0].update(reason="none")),
}


@pytest.mark.parametrize("lose", LOSSES.values(), ids=LOSSES)
def test_a_hold_that_the_log_tells_of_is_missed(state, lose):
    """A file that is whole, but not what was made, is told; both ways out of it lead on."""
    holds.add(state, FULL)
    holds.add(state, PLAIN)
    lose(state / "holds.json")
    with pytest.raises(InputError, match="does not have the hold full as it was made") as caught:
        holds.read(state)
    assert "sesstool hold add full" in caught.value.hint
    assert "sesstool hold release full" in caught.value.hint
    holds.add(state, FULL)
    lost = holds._lost(state, holds._stored(state))
    assert lost == (["plain"] if lose in (LOSSES["removed"], LOSSES["emptied"]) else [])
    for name in lost:
        holds.release(state, name, "nobody knows what it held")
    assert FULL in holds.read(state)
    assert holds.read(state).count(FULL) == 1


def test_a_file_put_back_from_before_a_release_still_holds(state):
    """More is held than must be: that is no error."""
    holds.add(state, PLAIN)
    kept = (state / "holds.json").read_bytes()
    holds.release(state, "plain", "r")
    (state / "holds.json").write_bytes(kept)
    assert holds.read(state) == [PLAIN]


def failing(*_, **__):
    raise WriteError("no")


def test_a_hold_is_kept_before_its_line(state, monkeypatch):
    """Where the log cannot be written, a hold is made all the same or not at all; both are told."""
    monkeypatch.setattr(log, "append", failing)
    with pytest.raises(WriteError):
        holds.add(state, PLAIN)
    assert holds.read(state) == [PLAIN]
    monkeypatch.setattr(log, "ready", failing)
    with pytest.raises(WriteError):
        holds.add(state, FULL)
    assert holds.read(state) == [PLAIN]


def test_a_release_is_logged_before_it_counts(state, monkeypatch):
    """Where the log cannot be written, or the file, the hold goes on."""
    holds.add(state, PLAIN)
    with monkeypatch.context() as patch:
        patch.setattr(log, "append", failing)
        with pytest.raises(WriteError):
            holds.release(state, "plain", "r")
    assert holds.read(state) == [PLAIN]
    with monkeypatch.context() as patch:
        patch.setattr(holds, "create", failing)
        with pytest.raises(WriteError):
            holds.release(state, "plain", "r")
    assert holds.read(state) == [PLAIN]
    holds.release(state, "plain", "r")
    assert holds.read(state) == []


def test_a_hold_is_on_disk_when_it_is_told(state, monkeypatch):
    """The bytes are synced before the name, and the folder after it."""
    holds.add(state, PLAIN)
    synced = []
    real = os.fsync

    def fsync(descriptor):
        synced.append(os.fstat(descriptor).st_ino)
        real(descriptor)

    monkeypatch.setattr(write.os, "fsync", fsync)
    holds.add(state, FULL)
    files = (state / "holds.json", state, state / "audit.jsonl")
    assert synced[:3] == [file.stat().st_ino for file in files]


def test_another_run_waits_its_turn(state, monkeypatch):
    """While one adds, another one is refused after a while and loses nothing."""
    from sesstool.records import guard  # noqa: PLC0415 - the wait is shortened

    monkeypatch.setattr(guard, "_WAIT", 0.01)
    with guard.locked(state, state / "holds.json"), pytest.raises(WriteError, match="another"):
        holds.add(state, PLAIN)
    assert holds.read(state) == []


def session(folder, name=f"{UUID}.jsonl"):
    """A file of this name."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text('{"role":"user","content":"Grind"}\n')
    return path


def test_a_file_is_held_by_its_path_and_by_its_id(tmp_path):
    """Also when it is moved, compressed or encrypted; another session of the folder is not."""
    path = session(tmp_path / "home/.claude/projects/-w")
    real = str(path.resolve())
    assert held([path], Facts(real))
    assert held([path], Facts("/elsewhere/x.jsonl", session=UUID))
    assert held([path], Facts(f"{real}.age"))
    assert held([path], Facts(f"{real}.zst.age"))
    assert not held([path], Facts(real.replace("beac", "beef"), session="other"))
    assert not held([path], Facts(f"{real}2"))
    sealed = session(path.parent, f"{UUID}.jsonl.gz.age")
    assert held([sealed], Facts(real))
    assert held([sealed], Facts("/x", session=UUID))


def test_an_id_is_held_as_its_file(tmp_path, monkeypatch):
    """A unique beginning of an id does."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "home/.claude"))
    path = session(tmp_path / "home/.claude/projects/-w")
    assert held(["0a1b2c3d"], Facts(str(path.resolve())))
    assert held(["0a1b2c3d"], Facts("/x", session=UUID))


def test_a_folder_holds_what_is_to_come(tmp_path):
    """All below it, though it is empty now; not its neighbours."""
    folder = (tmp_path / "cases").resolve()
    folder.mkdir()
    assert held([folder], Facts(f"{folder}/a.jsonl"))
    assert held([f"{folder}/"], Facts(f"{folder}/deep/a.jsonl"))
    assert held(["cases"], Facts(f"{folder}/a.jsonl"))
    assert not held([folder], Facts(f"{folder}2/a.jsonl"))
    assert held(["/"], Facts("/a.jsonl"))


def test_links_and_wildcards_in_names_are_no_wildcards(tmp_path):
    """A name is held as it is, and what a link leads to."""
    path = session(tmp_path / "a[b]*", "x|y?.jsonl")
    (tmp_path / "link").symlink_to(path.parent)
    assert held([tmp_path / "link" / path.name], Facts(str(path.resolve())))
    assert held([path.parent], Facts(str(path.resolve())))
    assert not held([path.parent], Facts(str(tmp_path.resolve() / "abc" / "x")))


def test_many_files_are_one_hold(tmp_path):
    """Each of them is held, and no other."""
    paths = [session(tmp_path / "w", f"{number}.jsonl") for number in range(300)]
    other = session(tmp_path / "w", "300.jsonl")
    made = holding.holds("h", list(map(str, paths)), reason="r")
    assert all(any(match(h.match, Facts(str(p.resolve()))) for h in made) for p in paths)
    assert not any(match(h.match, Facts(str(other.resolve()))) for h in made)


def test_options_narrow_what_is_named(tmp_path):
    """All that are given must hold."""
    path = session(tmp_path / "w")
    facts = Facts(str(path.resolve()), session=UUID, tags=frozenset({"acme"}))
    assert held([path], facts, agent=("claude*",), tags=("acme",), project=("harbour",))
    assert not held([path], facts, agent=("codex",))
    assert not held([path], facts, tags=("other",))
    assert held([], facts, tags=("other", "acme"))
    assert held([], facts, project=("har*",))
    assert not held([], facts, project=("Har*",))


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        ([], {}, "it would hold nothing"),
        (["-"], {}, "standard input cannot be held"),
        (["none.jsonl"], {}, "there is no file none.jsonl"),
        (["no-such-id"], {}, "there is no file no-such-id"),
        ([""], {}, "a path is empty"),
        ([], {"agent": ("claude",)}, "--agent: claude matches no agent that is known"),
        ([], {"tags": ("",)}, "--tag:  holds an empty text"),
        ([], {"project": ("a[",)}, "--project: a[ has a [ that no ] closes"),
        (["."], {"until": "soon"}, "--until: soon is no date"),
        (["."], {"until": "2020-01-01"}, "--until: 2020-01-01 is over"),
    ],
)
def test_a_hold_that_would_hold_nothing_is_refused(names, options, message):
    """A typing error must not look like a hold."""
    with pytest.raises((InputError, UsageError)) as caught:
        holding.holds("h", names, reason="r", **options)
    assert caught.value.message.startswith(message)
    assert caught.value.hint


@pytest.mark.parametrize(("name", "reason"), [("", "r"), (" ", "r"), ("a\n", "r"), ("h", "")])
def test_a_hold_has_a_name_and_a_reason(name, reason):
    """In words that can be shown."""
    with pytest.raises(UsageError, match="is empty or holds a control character"):
        holding.holds(name, ["."], reason=reason)


def ran(capsys, *arguments):
    """What the command exits with, and prints on both streams."""
    code = main.run(["hold", *map(str, arguments)])
    done = capsys.readouterr()
    return code, done.out, done.err


def test_the_command_adds_lists_and_releases(tmp_path, capsys):
    """From the first to the last, in words and as JSON."""
    folder = (tmp_path / "w").resolve()
    path = session(folder)
    code, out, err = ran(
        capsys,
        "add",
        "case-1",
        path,
        "--reason",
        "a letter",
        "--by",
        "Ada",
        "--until",
        "9000-12-31",
    )
    assert (code, out) == (0, "")
    assert err == (
        "hold case-1:\n"
        f"  session {UUID}\n"
        f"  path {path} or {path}.*\n"
        "to end it: sesstool hold release case-1 --reason TEXT\n"
    )
    assert ran(capsys, "add", "tags", "--tag", "acme", "--agent", "codex", "--reason", "r")[0] == 0
    code, out, err = ran(capsys, "list")
    assert (code, err) == (0, "")
    assert out == (
        "case-1: a letter, by Ada, until 9001-01-01 00:00 UTC\n"
        f"  session {UUID}\n"
        f"  path {path} or {path}.*\n"
        "tags: r\n"
        "  agent codex, tags acme\n"
    )
    code, out, _ = ran(capsys, "list", "-f", "json")
    document = json.loads(out)
    Draft202012Validator(json.loads(schema_text("holds"))).validate(document)
    assert [one["name"] for one in document["holds"]] == ["case-1", "case-1", "tags"]
    assert document["holds"][2] == {
        "name": "tags",
        "match": {"agent": ["codex"], "tags": ["acme"]},
        "reason": "r",
        "by": "",
        "since": None,
        "until": None,
        "source": "",
    }
    assert ran(capsys, "release", "case-1", "--reason", "closed") == (0, "", "released: case-1\n")
    assert ran(capsys, "list")[1] == "tags: r\n  agent codex, tags acme\n"
    code, _, err = ran(capsys, "release", "case-1", "--reason", "closed")
    assert (code, "there is no hold case-1" in err) == (2, True)
    assert path.exists()


@pytest.mark.parametrize("arguments", [("add", "x", "."), ("release", "x")])
def test_a_reason_must_be_given(state, capsys, arguments):
    """Else nobody knows later why."""
    code, _, err = ran(capsys, *arguments)
    assert (code, "--reason" in err) == (2, True)
    assert not state.exists()


def test_holds_of_the_policy_are_listed_and_marked(tmp_path, capsys, monkeypatch):
    """Of the file that counts; they are not released by command."""
    own = tmp_path / "config/sesstool/retention.toml"
    own.parent.mkdir(parents=True)
    own.write_text(
        'version = 1\n[[hold]]\nname = "p"\nreason = "why"\n'
        "since = 2026-03-01\nuntil = 2026-03-02\n"
    )
    line = "p: why, from 2026-03-01 00:00 UTC, until 2026-03-03 00:00 UTC"
    assert ran(capsys, "list")[1] == f"{line} [{own}]\n  all sessions\n"
    (one,) = json.loads(ran(capsys, "list", "-f", "json")[1])["holds"]
    assert (one["source"], one["since"]) == (str(own), "2026-03-01T00:00:00+00:00")
    code, _, err = ran(capsys, "release", "p", "--reason", "r")
    assert (code, "taken out there" in err) == (2, True)
    other = tmp_path / "other.toml"
    other.write_text("version = 1\n")
    assert ran(capsys, "list", "--policy", other)[1] == ""
    monkeypatch.setenv("SESSTOOL_POLICY", str(other))
    assert ran(capsys, "list")[1] == ""
    other.write_text("version = 2\n")
    assert ran(capsys, "list")[0] == 2
    monkeypatch.setenv("SESSTOOL_POLICY", "")
    assert ran(capsys, "list")[1] == f"{line} [{own}]\n  all sessions\n"


def test_a_lost_file_is_told_by_the_command(state, capsys):
    """With exit code 3 and the ways on."""
    holds.add(state, replace(PLAIN, name="case 1"))
    (state / "holds.json").unlink()
    code, out, err = ran(capsys, "list")
    assert (code, out) == (3, "")
    assert "does not have the hold case 1 as it was made" in err
    assert "sesstool hold add 'case 1' PATH --reason TEXT;" in err
    assert err.endswith("sesstool hold release 'case 1' --reason TEXT\n")
    assert ran(capsys, "release", "case 1", "--reason", "TEXT")[0] == 0


def test_the_list_goes_where_o_says(state, capsys, tmp_path):
    holds.add(state, PLAIN)
    assert ran(capsys, "list", "-o", str(tmp_path / "list"))[:2] == (0, "")
    assert (tmp_path / "list").read_text() == "plain: an audit\n  all sessions\n"
