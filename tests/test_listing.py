"""Lists of sessions: kept while they are true, sorted, filtered, put together and counted."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sesstool import api
from sesstool.api import listing
from sesstool.api.listing import Examined, Glances, sessions
from sesstool.encryption import age
from sesstool.encryption.keyring import Keys
from sesstool.errors import InputError, UsageError
from sesstool.library.arrange import ORDERS, Query, families, grouped, ordered
from sesstool.library.discover import Item
from sesstool.library.glance import Glance
from tests.conftest import SESSION, answer, jsonl, prompt, talk, use
from tests.sealed import OLD

LONG_AGO = 1_770_000_000
SAMPLES = Path(__file__).parents[1] / "samples"


def put(path: Path, data: bytes) -> Item:
    """The item of a file that was last written long ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(0o600)
    os.utime(path, (LONG_AGO, LONG_AGO))
    (item,) = sessions([str(path)])
    return item


@pytest.fixture
def project(home):
    return home / ".claude" / "projects" / "-srv-beacon"


# What names mean.


def test_sessions_are_named_by_path_folder_or_id(project, tmp_path):
    """By default those of all agents are meant."""
    first = put(project / f"{SESSION}.jsonl", b"")
    second = put(tmp_path / "talk.jsonl", b"")
    assert list(sessions()) == [first]
    assert list(sessions([str(project.parent)])) == [first]
    assert list(sessions([SESSION[:6], str(tmp_path / "talk.jsonl")])) == [first, second]
    with pytest.raises(InputError, match="no such file"):
        list(sessions([str(project / SESSION)]))
    with pytest.raises(UsageError, match="standard input"):
        list(sessions(["-"]))
    with pytest.raises(InputError, match="no session of that id"):
        list(sessions(["ffff"]))


# What was seen, and for how long.


def test_a_file_is_read_again_only_where_it_changed(tmp_path, monkeypatch):
    """What is known is told without a look at the disk."""
    read = []
    look = listing.look
    monkeypatch.setattr(listing, "look", lambda item, keys: read.append(item) or look(item, keys))
    glances = Glances()
    item = put(tmp_path / "talk.jsonl", jsonl(*talk(2)))
    assert glances.known(item) is None
    assert [glances.of(item).records for _ in range(3)] == [2, 2, 2]
    assert len(read) == 1
    put(tmp_path / "talk.jsonl", jsonl(*talk(4)))
    assert glances.known(item).records == 2
    assert glances.page([item, item])[1].records == 4
    assert glances.known(item).records == 4
    assert len(read) == 2
    item.path.unlink()
    assert glances.of(item).state == "unreadable"


def test_only_so_many_are_kept(tmp_path):
    """Those that were asked for last."""
    items = [put(tmp_path / f"{n}.jsonl", jsonl(*talk(2))) for n in range(3)]
    glances = Glances(most=2)
    glances.page(items)
    glances.page(items[1:2])
    glances.page(items[:1])
    assert [glances.known(item) is not None for item in items] == [True, True, False]


def test_a_session_that_somebody_writes_to_is_in_use(project, tmp_path):
    """By the time of its last write in an agent's home; it is looked for each time."""
    glances = Glances()
    item = put(project / f"{SESSION}.jsonl", jsonl(*talk(2)) + b'{"cut')
    assert glances.of(item).state == "damaged"
    os.utime(item.path)
    told = glances.of(item)
    assert told.state == "in use"
    assert told.why.startswith("it was last written ")
    assert (told.torn, told.title) == (True, "light the lamp")
    assert glances.known(item) == told
    os.utime(item.path, (LONG_AGO, LONG_AGO))
    assert glances.of(item).state == "damaged"
    outside = put(tmp_path / "talk.jsonl", jsonl(*talk(2)))
    os.utime(outside.path)
    assert glances.of(outside).state == "ok"


# What the rules say.


@pytest.mark.parametrize(
    ("data", "glance", "examined", "errors", "safe"),
    [
        (jsonl(*talk(4)), "ok", "ok", 0, 0),
        (jsonl(*talk(4))[:-1], "ok", "ok", 0, 1),
        (jsonl(*talk(4)) + b'{"cut', "damaged", "repairable", 1, 1),
        (jsonl(prompt(1, None), answer(2, 1, use("a"))), "repairable", "repairable", 1, 1),
        (jsonl(*talk(4)) + b"{'a': 1}\n", "damaged", "damaged", 1, 0),
        (jsonl(*talk(600)) + b"killed\n" + jsonl(*talk(1200, 601)), "ok", "repairable", 1, 1),
        (b'{"level":"info"}\n', "unknown", "unknown", 0, 0),
    ],
)
def test_what_the_rules_say_replaces_the_guess(tmp_path, data, glance, examined, errors, safe):
    """Until the file changes."""
    glances = Glances()
    item = put(tmp_path / f"{SESSION}.jsonl", data)
    assert glances.of(item).state == glance
    told = glances.examine(item)
    assert (told.state, told.errors, told.safe) == (examined, errors, safe)
    assert glances.examined(item) == told
    assert glances.known(item).state == glances.of(item).state == examined
    put(item.path, data + b" \n")
    assert glances.of(item).state == glance
    assert glances.examined(item) is None


def test_the_samples_are_judged_as_repair_does(tmp_path):
    """Damaged is what a plain repair leaves an error of; some have warnings only."""
    seen = set()
    for path in sorted((SAMPLES / "damaged").glob("*.jsonl")):
        item = put(tmp_path / path.name, path.read_bytes())
        if (side := path.with_suffix(".meta.json")).exists():
            (tmp_path / side.name).write_bytes(side.read_bytes())
        told = Glances().examine(item)
        left = api.repair(item.path).outcome.after.findings
        errors = [one for one in left if one.severity == "error"]
        had = "repairable" if told.errors else "ok"
        assert told.state == ("damaged" if errors else had), path.name
        seen.add(told.state)
    assert seen == {"damaged", "repairable", "ok"}


def test_what_cannot_be_examined_is_told(tmp_path):
    """In the words of a glance, and without a traceback."""
    sealed = b"".join(age.encrypt([jsonl(*talk(4))], [OLD.recipient()]))
    item = put(tmp_path / "talk.jsonl.age", sealed)
    assert Glances().examine(item).state == "encrypted"
    assert Glances(Keys([item.path])).examine(item).state == "encrypted"
    assert Glances(Keys(given=[OLD])).examine(item).state == "ok"
    put(item.path, sealed[:-1] + b"~")
    assert Glances(Keys(given=[OLD])).examine(item).state == "damaged"
    item.path.unlink()
    assert Glances().examine(item).state == "unreadable"
    assert Glances().examine(Item("", "x", trouble="it is a pipe")) == Examined(
        "unreadable", "it is a pipe"
    )
    assert Glances().examine(put(tmp_path / "none.jsonl", b"")).state == "empty"


def test_who_waits_for_the_rules_can_stop_them(tmp_path):
    """What `progress` raises comes through, and nothing is kept."""
    item = put(tmp_path / "talk.jsonl", jsonl(*talk(3000)))
    glances = Glances()

    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        glances.examine(item, stop)
    assert glances.examined(item) is None


# Lists.

DAY = 86_400
OLD_ONE = Item("/h/.claude/projects/-srv-a", "1.jsonl", "claude-code", "-srv-a", "", 30, 1 * 10**9)
NEW_ONE = Item("/h/.codex/sessions/2026", "2.jsonl", "codex", "", "", 10, 3 * 10**9)
UNSEEN = Item("/h/.claude/projects/-srv-b", "3.jsonl", "claude-code", "-srv-b", "", 20, 2 * 10**9)
LOCKED = Item("/h/.codex/sessions/2026", "4.jsonl.age", "codex", "", "", 5, 4 * 10**9)
ROWS = [
    (OLD_ONE, Glance("ok", format="claude-code", id="aa11", title="Oil", cwd="/srv/a", records=7)),
    (NEW_ONE, Glance("damaged", format="codex", id="bb22", title="lamps", cwd="/srv/a", records=9)),
    (UNSEEN, None),
    (LOCKED, None),
]


@pytest.mark.parametrize(
    ("order", "names"),
    [
        ("newest", "4231"),
        ("oldest", "1324"),
        ("size", "1324"),
        ("title", "2134"),
        ("records", "2134"),
    ],
)
def test_a_list_in_order(order, names):
    """What is not known stands at the end, and equals stand by their paths."""
    assert "".join(item.name[0] for item, _ in ordered(ROWS, order)) == names
    assert ordered(reversed(ROWS), order) == ordered(ROWS, order)
    assert order in ORDERS


@pytest.mark.parametrize(
    ("query", "names"),
    [
        (Query(), "1234"),
        (Query(agents=frozenset({"codex"})), "24"),
        (Query(projects=frozenset({"-srv-a"})), "1"),
        (Query(projects=frozenset({"/srv/a"})), "12"),
        (Query(states=frozenset({"ok", "encrypted"})), "14"),
        (Query(text="OIL"), "1"),
        (Query(text="bb2"), "2"),
        (Query(text="srv-B"), "3"),
        (Query(since=datetime.fromtimestamp(3, UTC)), "24"),
        (Query(agents=frozenset({"codex"}), text="lamp"), "2"),
        (Query(text="nowhere"), ""),
    ],
)
def test_a_query_keeps_what_fits_all_of_it(query, names):
    """Text is looked for in path, title and id."""
    assert "".join(row[0].name[0] for row in ROWS if query.fits(row)) == names


def test_groups_count_what_is_known():
    """Projects of an agent by their folder, or by their path; what was not seen counts as that."""
    groups = grouped(ROWS)
    assert groups.agents == {
        "claude-code": {"-srv-a": 1, "-srv-b": 1},
        "codex": {"/srv/a": 1, "": 1},
    }
    assert groups.states == {"ok": 1, "damaged": 1, "": 1, "encrypted": 1}
    assert groups.attention == {"damaged": 1}
    assert (groups.encrypted, groups.unseen) == (1, 2)
    assert groups.names == {"-srv-a": "/srv/a", "/srv/a": "/srv/a"}


def part(folder: str, name: str, owner: str = "", told: str | None = None, own: str = ""):
    item = Item(folder, name, "claude-code", "p", owner)
    return item, None if told is None else Glance("ok", format="claude-code", id=own, owner=told)


def test_parts_stand_below_their_session():
    """As its place tells, or the glance; of two homes with one session, below the nearer."""
    rows = [
        part("/a/p", f"{SESSION}.jsonl"),
        part("/b/p", f"{SESSION}.jsonl", told="", own=SESSION),
        part(f"/a/p/{SESSION}/subagents", "agent-1.jsonl", SESSION),
        part(f"/b/p/{SESSION}/subagents", "agent-1.jsonl", SESSION),
        part("/b/p", "agent-2.jsonl", told=SESSION),
        part("/b/p", "agent-3.jsonl"),
        part("/b/p/lost/subagents", "agent-4.jsonl", "lost"),
    ]
    family = families(rows)
    assert family.sessions == [rows[0], rows[1], rows[6]]
    assert family.parts == {rows[0][0]: [rows[2]], rows[1][0]: [rows[3], rows[4]]}
    assert family.loose == [rows[5]]


def test_a_long_line_of_parts_stands_below_its_first():
    """And what owns itself in a ring stands alone, each once."""
    count = 3000
    rows = [
        (
            Item("/s", f"{n}.jsonl", owner=f"{n - 1}" if n else ""),
            Glance("ok", format="opencode", id=f"{n}"),
        )
        for n in range(count)
    ]
    family = families(rows)
    assert family.sessions == rows[:1]
    assert family.parts == {rows[0][0]: rows[1:]}
    ring = [(rows[0][0]._replace(owner=f"{count - 1}"), rows[0][1]), *rows[1:]]
    assert families(ring).sessions == ring


def test_parts_of_parts_stand_below_the_session():
    """And where files claim each other, none is lost."""
    deep = [
        part("/a", "1.jsonl", told="", own="x"),
        part("/a", "2.jsonl", told="x", own="y"),
        part("/a", "3.jsonl", told="y", own="z"),
    ]
    assert families(deep) == ([deep[0]], {deep[0][0]: deep[1:]}, [])
    circle = [part("/a", "1.jsonl", told="y", own="x"), part("/a", "2.jsonl", told="x", own="y")]
    family = families([*circle, part("/a", "3.jsonl", told="x")])
    assert sum(map(len, (family.sessions, *family.parts.values()))) == 3
    own = [part("/a", "1.jsonl", told="x", own="x")]
    assert families(own).sessions == own
