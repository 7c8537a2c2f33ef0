"""Prune where somebody laid traps: links, names and ids that lie, what cannot be read."""

from __future__ import annotations

import errno
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
import zstandard

from sesstool.api import SUFFIXES
from sesstool.formats.claude_code import ClaudeCode
from sesstool.formats.codex import Codex
from sesstool.model.moments import moment
from sesstool.records.folder import each_below
from sesstool.retention.decide import decide
from sesstool.retention.groups import Piece
from sesstool.retention.policy import parse
from sesstool.retention.survey import survey
from tests.conftest import answer, dump, envelope, jsonl, meta, prompt, says, uid
from tests.faults import command
from tests.test_retention_homes import look
from tests.test_retention_made import (
    OLD,
    YOUNG,
    make_project,
    prune,
    put,
    session,
    talk,
    there_and_back,
)


@pytest.fixture(autouse=True)
def no_disk(monkeypatch):
    """Nothing has to reach a disk here; folders are made as agents make them."""
    monkeypatch.setattr(os, "fsync", os.fstat)
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.fixture
def folder(tmp_path):
    """The project of a Claude Code home."""
    return make_project(tmp_path / "home")


def refuse(monkeypatch, name: str, *paths: Path) -> None:
    """Have a call of the system fail for some paths as it does for who may not."""
    call = getattr(os, name)

    def refused(path, *more, **options):
        if isinstance(path, str | os.PathLike) and Path(path) in paths:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return call(path, *more, **options)

    monkeypatch.setattr(os, name, refused)


@pytest.mark.parametrize("action", ["trash", "delete"])
@pytest.mark.parametrize("where", ["", "file-history", f"file-history/{OLD[0]}", "debug", "todos"])
def test_a_side_folder_that_is_a_link_is_not_followed(folder, tmp_path, where, action, capsys):
    """What it leads to stays, and the link, which is named."""
    home = folder.parents[1]
    transcript, output = session(folder, OLD[0])
    place = home / where if where else output.parents[1]
    if where:
        output.unlink()
    theirs = tmp_path / "theirs"
    for name in ("x.txt", f"{OLD[0]}.txt", f"{OLD[0]}-agent-{OLD[0]}.json", f"{OLD[0]}/x.txt"):
        put(theirs / name)
    place.parent.mkdir(parents=True, exist_ok=True)
    if not where:
        output.unlink()
        output.parent.rmdir()
        place.rmdir()
    place.symlink_to(theirs)
    before = look(tmp_path / "theirs")
    prune(home, action)
    assert not transcript.exists()
    assert place.is_symlink()
    assert look(theirs) == before
    assert f"stays: {place}: a link" in capsys.readouterr().out


@pytest.mark.parametrize("how", ["link", "inside", "slash", "through"])
@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_a_home_is_known_by_any_name(tmp_path, monkeypatch, how, agent):
    """Its own is a link, or one inside it; the variable has a slash at its end, or names a link."""
    variable, usual, inside, form = {
        "claude": ("CLAUDE_CONFIG_DIR", ".claude", "projects", ClaudeCode()),
        "codex": ("CODEX_HOME", ".codex", "sessions", Codex()),
    }[agent]
    disk = tmp_path / "disk" / "agent"
    (disk / inside / "a").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv(variable, raising=False)
    expected = disk
    if how == "link":
        (tmp_path / usual).symlink_to(disk)
    elif how == "inside":
        expected = tmp_path / usual
        expected.mkdir()
        (expected / inside).symlink_to(disk / inside)
    elif how == "slash":
        monkeypatch.setenv(variable, f"{disk}/")
    else:
        (tmp_path / "named").symlink_to(disk)
        monkeypatch.setenv(variable, str(tmp_path / "named"))
    assert form.home(disk / inside / "a" / "x.jsonl") == expected
    assert form.home(tmp_path / "disk" / "other" / inside / "x.jsonl") is None


@pytest.mark.parametrize("lock", [True, False])
def test_what_runs_in_a_linked_home_stays(tmp_path, monkeypatch, lock):
    """And what does not goes with what bears its name."""
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = make_project(tmp_path / "disk")
    home = folder.parents[1]
    (tmp_path / ".claude").symlink_to(home)
    gone = session(folder, OLD[0])
    gone.append(put(home / "file-history" / OLD[0] / "ab@v1"))
    if lock:
        running = put(home / "sessions" / "1.json", dump({"pid": os.getpid(), "sessionId": OLD[0]}))
        os.utime(running)
    there_and_back(tmp_path / "disk", [] if lock else gone)


@pytest.mark.parametrize("call", ["scandir", "stat"])
def test_a_folder_of_a_session_that_cannot_be_looked_at(folder, monkeypatch, call, capsys):
    """The session stays, also where it is to be erased, and the next one goes."""
    first, output = session(folder, OLD[0])
    second = session(folder, OLD[1], 9)
    before = look(first.parent)
    with monkeypatch.context() as patch:
        refuse(patch, call, output.parent if call == "scandir" else output)
        prune(folder.parents[2], "trash")
        assert "  unreadable" in capsys.readouterr().out
        assert command("prune", "--erase", "--write", "--yes", first)() == 6
    assert not any(path.exists() for path in second)
    after = look(first.parent)
    assert all(after[name] == before[name] for name in after)
    assert first.exists()
    assert output.exists()


@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("where", ["", "-srv-lamp"])
def test_a_folder_of_sessions_that_cannot_be_listed_is_told(
    folder, monkeypatch, capsys, where, given
):
    """Nobody is told that there are no sessions."""
    home = folder.parents[2]
    monkeypatch.setenv("HOME", str(home))
    session(folder, OLD[0])
    session(make_project(home, "-srv-second"), OLD[1], 9)
    (home / "policy.toml").write_text("version = 1\n")
    hidden = folder.parent / where
    refuse(monkeypatch, "scandir", hidden)
    asked = [home] if given else []
    flags = ("--all", "--trust-clock", "--policy", home / "policy.toml")
    command("prune", *flags, *asked)()
    said = capsys.readouterr()
    assert f"unreadable: cannot look at {hidden}: permission denied" in said.out
    assert (OLD[1][:13] in said.out) is (where != "")


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (1_767_600_000, "2026-01-05T08:00:00"),
        (1_767_600_000.5, "2026-01-05T08:00:00.500000"),
        (1_767_600_000_000, "2026-01-05T08:00:00"),
        (0, "1970-01-01T00:00:00"),
        ("2026-01-05T24:00:00+02:00", "2026-01-05T22:00:00"),
        ("2026-12-31T23:59:60Z", "2027-01-01T00:00:00"),
        ("\t2026-01-05T08:00:00Z\n", "2026-01-05T08:00:00"),
    ],
)
def test_a_time_is_read_as_others_write_it(told, expected):
    assert moment(told) == datetime.fromisoformat(expected).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "told",
    [
        *("", "9999-12-31T23:59:59-05:00", "9999-12-31T24:00:00Z", "0001-01-01T00:00:00+05:00"),
        *("10000-01-01T00:00:00Z", "2026-01-05T24:30:00Z", "2026-01-05T08:60:00Z", "1767600000"),
        *(10**30, -(10**30), float("inf"), float("nan"), True, [], {}, "2026-01-05T08:00:61Z"),
    ],
)
def test_what_is_no_time(told):
    assert moment(told) is None


def lines(*times: object, side: bool = False) -> bytes:
    """The records of a session that tell these times."""
    more = {"isSidechain": True, "agentId": "1"} if side else {}
    shared = {"sessionId": OLD[0]} | more
    return jsonl(*(prompt(n + 1, None, timestamp=t, **shared) for n, t in enumerate(times)))


LONG_AGO = "2026-01-05T08:00:00Z"
FAR = [LONG_AGO] * 200


@pytest.mark.parametrize("side", [False, True])
@pytest.mark.parametrize(
    ("times", "why"),
    [
        ([LONG_AGO, "10000-01-01T00:00:00Z"], "a time that cannot be read"),
        ([LONG_AGO, 10**30], "a time that cannot be read"),
        ([*FAR, [], *FAR], "a time that cannot be read"),
        ([*FAR, "2286-11-20T17:46:40Z", *FAR], "its time is yet to come (2286-11-20)"),
        ([*FAR, 9_999_999_999, *FAR], "its time is yet to come (2286-11-20)"),
        ([*FAR, LONG_AGO, *FAR], ""),
    ],
)
def test_no_record_is_younger_than_the_session(folder, capsys, times, why, side):
    """Wherever it stands, and in a subagent too; in doubt the session stays."""
    transcript, output = session(folder, OLD[0])
    agent = folder / OLD[0] / "subagents" / "agent-1.jsonl"
    put(agent if side else transcript, lines(*times, side=side))
    prune(folder, "trash", "0a*", 0, "--all")
    assert transcript.exists() is output.exists() is bool(why)
    assert why in capsys.readouterr().out


@pytest.mark.parametrize(("year", "why"), [(12000, "yet to come (9999-12-31)"), (-50, "cannot be")])
def test_a_file_time_that_no_calendar_has_keeps(folder, year, why):
    piece = Piece(folder / f"{OLD[0]}.jsonl", 1, 2, 3, (year - 1970) * 31_556_952 * 10**9)
    (talk,) = survey([session(folder, OLD[0])[0]])
    talk.pieces = (piece,)
    rules = parse(b'version = 1\n[[rule]]\nname = "old"\nexpire_after = "1d"\n', "r.toml")
    (said,) = decide([talk], rules, datetime(2026, 6, 1, tzinfo=UTC))
    assert said.action == "keep"
    assert why in said.reason


CHILD = "0c000000-0000-4000-8000-000000000001"


def judged(root: Path, policy: str) -> dict[str, str]:
    """What a policy does with the sessions below a folder, by their ids: "" for nothing."""
    rules = parse(f"version = 1\n[protect]\nmin_keep_per_project = 0\n{policy}".encode(), "r.toml")
    groups = survey(each_below(root, SUFFIXES), codes=_codes)
    said = decide(groups, rules, datetime(2026, 6, 1, tzinfo=UTC))
    ends = zip(groups, said, strict=True)
    return {group.session: one.action if one.removes else "" for group, one in ends}


def _codes(path: Path) -> frozenset[str]:
    return frozenset({"P802"} if b"keeper@kiln.fi" in path.read_bytes() else ())


def subagent(root: Path) -> None:
    """A session whose subagent, in the old layout, is of another folder, model and tag."""
    folder = make_project(root)
    mine = {"sessionId": OLD[0], "cwd": "/srv/lamp", "timestamp": LONG_AGO}
    said = answer(2, 1, **mine)
    said["message"]["model"] = "lamp-1"
    put(folder / f"{OLD[0]}.jsonl", jsonl(prompt(1, None, "burn", **mine), said))
    more = mine | {"cwd": "/srv/claim", "isSidechain": True, "agentId": "1"}
    said = answer(4, 3, **more)
    said["message"]["model"] = "horn-1"
    ask = prompt(3, None, "write to keeper@kiln.fi", **more)
    put(folder / "agent-1.jsonl", jsonl(ask, said))


def thread(root: Path) -> None:
    """A thread of Codex whose subagent is of another folder and model."""
    place = root / ".codex" / "sessions" / "2026" / "01" / "05"
    for name, parent, cwd, model, words in (
        (OLD[0], {}, "/srv/lamp", "lamp-1", "burn"),
        (CHILD, SPAWNED, "/srv/claim", "horn-1", "write to keeper@kiln.fi"),
    ):
        turn = envelope("turn_context", {"model": model, "cwd": cwd})
        head = meta(id=name, cwd=cwd, **parent)
        records = [one | {"timestamp": LONG_AGO} for one in (head, turn, says("user", words))]
        put(place / f"rollout-2026-01-05T08-00-00-{name}.jsonl", jsonl(*records))


SPAWNED = {"parent_thread_id": OLD[0], "source": {"subagent": "review"}}
OTHERS = [
    'cwd = "/srv/claim"',
    'project = "claim"',
    'model = "horn-1"',
    'contains_rule = "P802"',
]


@pytest.mark.parametrize("make", [subagent, thread])
@pytest.mark.parametrize("match", OTHERS)
def test_what_keeps_one_file_of_a_session_keeps_it(tmp_path, make, match):
    """A hold or a retention that is for a subagent; a rule that removes is for the session."""
    make(tmp_path)
    old = '[[rule]]\nname = "old"\nexpire_after = "30d"\n'
    assert judged(tmp_path, old) == {OLD[0]: "trash"}
    hold = f'[[hold]]\nname = "h"\nreason = "r"\nmatch = {{ {match} }}\n'
    assert judged(tmp_path, hold + old) == {OLD[0]: ""}
    law = f'[[rule]]\nname = "law"\nmatch = {{ {match} }}\nretain_for = "900d"\n'
    assert judged(tmp_path, law + old) == {OLD[0]: ""}
    if "contains" not in match:
        only = f'[[rule]]\nname = "old"\nmatch = {{ {match} }}\nexpire_after = "30d"\n'
        assert judged(tmp_path, only) == {OLD[0]: ""}


def test_what_keeps_a_subagent_by_its_id_keeps_its_thread(tmp_path):
    thread(tmp_path)
    for name in (CHILD, OLD[0]):
        hold = f'[[hold]]\nname = "h"\nreason = "r"\nmatch = {{ session = "{name}" }}\n'
        old = '[[rule]]\nname = "old"\nexpire_after = "30d"\n'
        assert judged(tmp_path, hold + old) == {OLD[0]: ""}


def test_a_pin_on_a_subagent_keeps_its_session(tmp_path):
    subagent(tmp_path)
    path = next(tmp_path.rglob("agent-1.jsonl"))
    put(path, path.read_bytes() + dump({"type": "tag", "tag": "pinned", "sessionId": OLD[0]}))
    assert judged(tmp_path, '[[rule]]\nname = "old"\nexpire_after = "30d"\n') == {OLD[0]: ""}


def test_a_hold_on_a_folder_that_a_session_left_keeps_it(tmp_path):
    """It stands in the middle of the file, where only a whole reading finds it."""
    folder = make_project(tmp_path)
    shared = {"sessionId": OLD[0], "timestamp": LONG_AGO}
    records = [prompt(n, None, cwd="/srv/lamp", **shared) for n in range(1, 400)]
    records[200] |= {"cwd": "/srv/claim"}
    put(folder / f"{OLD[0]}.jsonl", jsonl(*records))
    old = '[[rule]]\nname = "old"\nexpire_after = "30d"\n'
    hold = '[[hold]]\nname = "h"\nreason = "r"\nmatch = { cwd = "/srv/claim" }\n'
    assert judged(tmp_path, old) == {OLD[0]: "trash"}
    assert judged(tmp_path, hold + old) == {OLD[0]: ""}


def twice(home: Path, agent: str) -> tuple[list[Path], Path]:
    """The two files of one session, of which the first is older, and what bears its name."""
    if agent == "claude-code":
        folders = [make_project(home), make_project(home, "-srv-moved")]
        files = [
            put(one / f"{OLD[0]}.jsonl", talk(OLD[0], 1 + 2 * n)) for n, one in enumerate(folders)
        ]
        return files, put(home / ".claude" / "file-history" / OLD[0] / "ab@v1")
    name = f"rollout-2026-03-01T06-00-00-{OLD[0]}.jsonl"
    text = jsonl(meta(0, id=OLD[0]), says("user", "go on", 1))
    files = [put(home / ".codex" / n / name, text) for n in ("archived_sessions", "sessions")]
    return files, put(home / ".codex" / "shell_snapshots" / f"{OLD[0]}.sh")


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
@pytest.mark.parametrize("erase", [0, 1])
def test_what_two_sessions_of_one_id_share_goes_with_the_last(tmp_path, capsys, agent, erase):
    """While one stays, so does it, and is named; another run takes it with the other one."""
    files, piece = twice(tmp_path, agent)
    first, last = files[erase], files[1 - erase]
    assert command("prune", "--erase", "--write", "--yes", first)() == 0
    assert f"stays: {piece}: also of {last}" in capsys.readouterr().out
    assert (first.exists(), last.exists(), piece.exists()) == (False, True, True)
    assert command("prune", "--erase", "--write", "--yes", last)() == 0
    assert "stays:" not in capsys.readouterr().out
    assert not piece.exists()


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_two_sessions_of_one_id_go_with_what_they_share(tmp_path, agent):
    files, piece = twice(tmp_path, agent)
    there_and_back(tmp_path, [*files, piece])
    groups = survey(files)
    assert sum(group.size for group in groups) == sum(p.stat().st_size for p in [*files, piece])


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_a_hold_on_one_of_two_sessions_of_one_id(tmp_path, agent):
    """By what they share both are held; by its own file one is, and so is what they share."""
    files, piece = twice(tmp_path, agent)
    for name, left in ((piece, 2), (files[0], 1)):
        hold = f'[[hold]]\nname = "h"\nreason = "r"\nmatch = {{ path = "{name}" }}\n'
        old = '[[rule]]\nname = "old"\nexpire_after = "30d"\n'
        policy = 'version = 1\n[defaults]\nmax_delete_fraction = 1.0\nfork = "independent"\n'
        policy += f"[protect]\nmin_keep_per_project = 0\n{hold}{old}"
        (tmp_path / "p.toml").write_text(policy)
        flags = ("--write", "--yes", "--trust-clock", "--policy", tmp_path / "p.toml")
        assert command("prune", *flags, tmp_path)() == 0
        assert [path.exists() for path in files].count(True) == left
        assert piece.exists()


def aside(*ids: str, side: object = True) -> bytes:
    """The records of a subagent of these sessions, one each."""
    return jsonl(
        *(
            prompt(n + 50, None, sessionId=name, isSidechain=side, agentId="1")
            for n, name in enumerate(ids)
        )
    )


@pytest.mark.parametrize(
    ("name", "data", "joined"),
    [
        ("agent-1.jsonl", aside(OLD[0]), True),
        ("agent-1.jsonl", aside(OLD[1], OLD[0]), True),
        ("agent-1.jsonl", aside(OLD[0]) * 200, True),
        ("agent-1.jsonl", aside(*[OLD[0]] * 90, YOUNG, *[OLD[0]] * 90), False),
        ("agent-1.jsonl", aside(OLD[0]) * 90 + talk(YOUNG, 9) + aside(OLD[0]) * 90, False),
        ("other.jsonl", aside(OLD[0]), False),
        ("../-srv-else/agent-1.jsonl", aside(OLD[0]), False),
        (f"{CHILD}.jsonl", aside(OLD[0]), False),
        (f"{CHILD}.jsonl", dump({"type": "summary", "leafUuid": uid(1)}), True),
        (
            f"{CHILD}.jsonl",
            (s := dump({"type": "summary", "summary": "x" * 90, "leafUuid": uid(1)}) + b"\n") * 90
            + talk(CHILD, 70)
            + s * 90,
            False,
        ),
    ],
)
def test_only_what_is_a_subagent_or_a_title_to_its_end_is_a_piece(folder, name, data, joined):
    """Else a file is a session of its own, whatever its ends claim."""
    session(folder, OLD[0])
    session(folder, YOUNG, 9)
    path = put((folder / name).parent.resolve() / Path(name).name, data)
    groups = survey(each_below(folder.parent, SUFFIXES))
    (group,) = (one for one in groups if any(piece.path == path for piece in one.pieces))
    assert (group.file != path) is joined


@pytest.mark.parametrize(
    ("header", "joined"),
    [
        ({"source": {"subagent": {"other": "x"}}}, True),
        ({"thread_source": "subagent"}, True),
        ({}, False),
        ({"source": "cli", "thread_source": "user"}, False),
        ({"thread_source": "subagent", "id": OLD[2]}, False),
        ({"thread_source": "subagent", "forked_from_id": OLD[0]}, False),
    ],
)
def test_a_thread_is_a_piece_only_where_its_header_says_that_it_is_a_subagent(
    tmp_path, header, joined
):
    place = tmp_path / ".codex" / "sessions"
    name = "rollout-2026-03-01T06-00-00-{}.jsonl"
    put(place / name.format(OLD[0]), jsonl(meta(0, id=OLD[0]), says("user", "go on", 1)))
    head = meta(2, **{"id": CHILD, "parent_thread_id": OLD[0]} | header)
    behind = meta(3, id=OLD[0], parent_thread_id=OLD[1], thread_source="subagent")
    path = put(place / name.format(CHILD), jsonl(head, behind, says("user", "go on", 4)))
    groups = survey(each_below(tmp_path, SUFFIXES))
    assert [piece.path for one in groups for piece in one.pieces].count(path) == 1
    assert len(groups) == (1 if joined else 2)


@pytest.mark.parametrize(
    ("data", "left"),
    [
        (talk(OLD[0]), []),
        (lines(LONG_AGO, "2286-11-20T17:46:40Z"), ["", "x"]),
        (talk(YOUNG, 9), ["x"]),
        (b'{"weather": "fog"}\n' * 3, ["x"]),
        (b"torn\n", ["", "x"]),
        (b"\x28\xb5\x2f\xfd torn", ["", "x"]),
    ],
)
def test_a_twin_is_what_it_holds(folder, data, left):
    """It can be younger, of another session, or unreadable: in doubt nothing goes."""
    transcript, output = session(folder, OLD[0])
    packed = data if data[:1] == b"\x28" else zstandard.compress(data)
    twin = put(folder / f"{OLD[0]}.jsonl.zst", packed)
    prune(folder.parents[2], "trash", OLD[0])
    assert transcript.exists() is output.exists() is ("" in left)
    assert twin.exists() is ("x" in left)


def test_a_link_beside_a_session_is_no_twin(folder, tmp_path, capsys):
    outside = put(tmp_path / "outside.zst", zstandard.compress(talk(OLD[0])))
    gone = session(folder, OLD[0])
    twin = folder / f"{OLD[0]}.jsonl.zst"
    twin.symlink_to(outside)
    there_and_back(folder.parents[2], gone)
    assert f"stays: {twin}: a link" in capsys.readouterr().out


def test_an_id_of_two_sessions_lists_both(folder, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(folder.parents[2]))
    one = session(folder, OLD[0])[0]
    two = session(make_project(folder.parents[2], "-srv-moved"), OLD[0])[0]
    assert command("prune", "--erase", OLD[0])() == 3
    assert f"or one of the paths: {one}, {two}" in capsys.readouterr().err
