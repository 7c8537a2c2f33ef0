"""`list` and `config homes`: what there is on this computer, and where was looked."""

from __future__ import annotations

import csv
import json
import os
import shutil
import sqlite3
import stat
from collections import defaultdict
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from sesstool.audit import log
from sesstool.caches.folder import cache_folder, glances_path
from sesstool.cli.main import run
from sesstool.encryption.keyring import Keys
from sesstool.formats.registry import FORMATS
from sesstool.formats.schemas import schema_text
from sesstool.library import overview
from sesstool.library.arrange import agent_of, families, flat, owner_of
from sesstool.library.discover import discover
from sesstool.library.overview import survey
from sesstool.records.undo import state_folder
from sesstool.report import listing
from sesstool.report.listing import day, short_ids, where
from sesstool.text import width
from tests.conftest import (
    ROLLOUT,
    SESSION,
    THREAD,
    answer,
    jsonl,
    meta,
    prompt,
    result,
    says,
    uid,
    use,
)
from tests.held import as_files, opencode
from tests.sealed import OLD

LONG_AGO = 1_770_000_000
OTHER = "5e551000-0000-4000-8000-000000000002"
SLUG = "-srv-beacon"


def put(path: Path, *records: object, at: int = LONG_AGO) -> Path:
    """A file that was last written long ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(jsonl(*records))
    os.utime(path, (at, at))
    return path


@pytest.fixture
def projects(home):
    return home / ".claude" / "projects" / SLUG


@pytest.fixture
def agents(home, projects):
    """Three sessions of two agents, one of them with a subagent."""
    put(projects / f"{SESSION}.jsonl", prompt(1, None, "trim the wick"), answer(2, 1))
    sub = projects / SESSION / "subagents" / "agent-a1.jsonl"
    put(sub, prompt(3, None, isSidechain=True, agentId="a1"), answer(4, 3, isSidechain=True))
    put(projects / f"{OTHER}.jsonl", prompt(1, None), answer(2, 1, use("c1")), at=LONG_AGO + 60)
    rollout = home / ".codex" / "sessions" / "2026" / "03" / "01" / ROLLOUT
    put(rollout, meta(), says("user", "oil the hinge"), says("assistant", "done"), at=LONG_AGO + 30)
    return home


def listed(capsys, *words: str) -> list[dict[str, object]]:
    """The sessions that JSON has, after the schema has judged it."""
    capsys.readouterr()
    assert run(["list", *words, "-f", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    Draft202012Validator(json.loads(schema_text("list"))).validate(document)
    return document["sessions"]


# What is listed.


@pytest.mark.usefixtures("agents")
def test_all_agents_are_listed_the_newest_first(capsys):
    """With titles, real projects and states; a subagent stands below its session when asked."""
    rows = listed(capsys)
    assert [(row["id"], row["agent"], row["title"]) for row in rows] == [
        (OTHER, "claude-code", "light the lamp"),
        (THREAD, "codex", "oil the hinge"),
        (SESSION, "claude-code", "trim the wick"),
    ]
    assert {row["project"] for row in rows} == {"/srv/beacon"}
    assert [row["state"] for row in rows] == ["repairable", "ok", "ok"]
    (part,) = [row for row in listed(capsys, "--parts") if row["part_of"]]
    assert (part["id"], part["part_of"]) == ("agent-a1", SESSION)


@pytest.mark.usefixtures("agents")
@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["--agent", "codex"], [THREAD]),
        (["--state", "repairable"], [OTHER]),
        (["--title", "WICK"], [SESSION]),
        (["--project", "beacon", "--sort", "oldest"], [SESSION, THREAD, OTHER]),
        (["--project", "/srv/other"], []),
        (["--since", "2026-02-02T02:40:20Z"], [OTHER, THREAD]),
        (["--limit", "1"], [OTHER]),
        ([THREAD[:6]], [THREAD]),
    ],
)
def test_filters(capsys, words, wanted):
    """Each filter leaves just the sessions that fit it."""
    assert [row["id"] for row in listed(capsys, *words)] == wanted


@pytest.mark.usefixtures("agents")
def test_the_table_names_what_the_next_command_takes(capsys):
    """The id in the table, short as it is, means that session alone."""
    assert run(["list", "--isolated"]) == 0
    table = capsys.readouterr()
    lines = table.out.splitlines()
    assert lines[0].split() == [
        *["STATE", "LAST", "WRITE", "SIZE", "AGENT", "ID", "PROJECT", "TITLE"]
    ]
    assert "3 sessions, " in table.err
    for line in lines[1:]:
        name = next(word for word in line.split() if word[:8] in (SESSION[:8], THREAD[:8]))
        assert run(["show", name]) == 0


def test_short_ids_tell_apart():
    """They are as long as it takes."""
    names = ["aaaaaaaa-1", "aaaaaaaa-2-and-more", "bbbbbbbb-and-more", "aaaaaaaa-2-and-less"]
    short = short_ids(names)
    assert short["bbbbbbbb-and-more"] == "bbbbbbbb"
    assert len(set(short.values())) == 4
    assert all(name.startswith(cut) for name, cut in short.items())
    assert short["aaaaaaaa-2-and-more"] == "aaaaaaaa-2-and-m"


def test_no_session_is_no_error(capsys):
    """An empty computer gets a list of nothing, and the next step."""
    assert run(["list"]) == 0
    told = capsys.readouterr()
    assert told.out == ""
    assert "config homes" in told.err


def test_names_and_titles_cannot_act_on_a_terminal(projects, capsys):
    """Control characters of titles, names and folders are made visible."""
    bad = "\x1b]0;x\x07\x9b31m"
    put(projects / f"{bad}.jsonl", prompt(1, None, f"hi {bad}", cwd=f"/srv/{bad}"))
    for form in ("text", "concise", "json", "jsonl"):
        assert run(["list", "-f", form]) == 0
        told = capsys.readouterr()
        assert not {"\x1b", "\x07", "\x9b"} & set(told.out + told.err)


def test_forks_stand_below_what_they_come_from(projects, capsys):
    """In a tree; in a list they say so."""
    put(projects / f"{SESSION}.jsonl", prompt(1, None, "trim the wick"), answer(2, 1))
    from_it = {"forkedFrom": {"sessionId": SESSION, "messageUuid": uid(2)}}
    fork = prompt(1, None, "trim the wick", sessionId=OTHER, **from_it)
    put(projects / f"{OTHER}.jsonl", fork, prompt(3, 1, "now oil it", sessionId=OTHER))
    again = {"forkedFrom": {"sessionId": OTHER, "messageUuid": uid(3)}}
    third = "5e551000-0000-4000-8000-000000000003"
    put(projects / f"{third}.jsonl", prompt(1, None, "and again", sessionId=third, **again))
    sub = projects / SESSION / "subagents" / "agent-a1.jsonl"
    put(sub, prompt(4, None, "look", isSidechain=True, agentId="a1"))
    assert [row["id"] for row in listed(capsys, "--tree")] == [SESSION, "agent-a1", OTHER, third]
    assert listed(capsys)[1]["fork_of"] == SESSION
    assert run(["list", "--tree"]) == 0
    titles = [line.partition("/srv/beacon  ")[2] for line in capsys.readouterr().out.splitlines()]
    assert titles[1:] == ["trim the wick", "↳ look", "↳ trim the wick", "  ↳ and again"]
    assert run(["list", "--limit", "2"]) == 0
    shown = capsys.readouterr()
    assert f"fork of {SESSION[:36]}: trim the wick" in shown.out
    assert "2 sessions of 3" in shown.err


def test_forks_of_each_other_are_listed(projects, capsys):
    """Each once."""
    for name, other in ((SESSION, OTHER), (OTHER, SESSION)):
        origin = {"forkedFrom": {"sessionId": other, "messageUuid": uid(1)}}
        put(projects / f"{name}.jsonl", prompt(1, None, sessionId=name, **origin))
    assert {row["id"] for row in listed(capsys, "--tree")} == {SESSION, OTHER}


# What the files beside tell.


def test_a_project_has_the_path_that_its_sessions_tell(projects, capsys):
    """A folder's name may stand for several paths: one that tells none has its neighbours'."""
    put(projects / f"{SESSION}.jsonl", prompt(1, None, cwd="/srv/bea.con"))
    put(projects / f"{OTHER}.jsonl")
    assert {row["project"] for row in listed(capsys)} == {"/srv/bea.con"}


def test_a_title_alone_belongs_to_the_session_that_has_its_record(projects, capsys):
    """Old versions of Claude Code wrote such files."""
    talk = [prompt(1, None), *(answer(n, n - 1) for n in range(2, 40))]
    put(projects / f"{SESSION}.jsonl", *talk)
    summary = {"type": "summary", "summary": "The lamp", "leafUuid": uid(20)}
    put(projects / f"{OTHER}.jsonl", summary)
    assert [row["id"] for row in listed(capsys)] == [SESSION]
    part = listed(capsys, "--parts")[1]
    assert (part["id"], part["part_of"]) == (OTHER, SESSION)
    assert listed(capsys, "--parts")[1]["part_of"] == SESSION  # out of the cache


# The cache.


@pytest.fixture
def looked(monkeypatch):
    """The sessions that are looked at, as they are, and not taken from the cache."""
    seen = []
    look = overview.look
    monkeypatch.setattr(
        overview, "look", lambda item, *a, **k: seen.append(item.name) or look(item, *a, **k)
    )
    return seen


def test_only_what_changed_is_looked_at_again(agents, capsys, looked):
    """What was seen once is taken from the cache, whose file is the user's alone."""
    before = listed(capsys, "--parts")
    assert len(looked) == 4
    assert listed(capsys, "--parts") == before
    assert len(looked) == 4
    path = agents / ".claude" / "projects" / SLUG / f"{OTHER}.jsonl"
    path.write_bytes(path.read_bytes() + jsonl(result(3, 2, "c1"), answer(4, 3)))
    assert listed(capsys, "--state", "ok")[0]["id"] == OTHER
    assert looked[4:] == [path.name]
    assert stat.S_IMODE(glances_path().stat().st_mode) == 0o600
    assert stat.S_IMODE(cache_folder().stat().st_mode) == 0o700


def test_all_that_is_seen_comes_out_of_the_cache(projects, home, looked):
    """Word for word, and of every kind: forks, calls without results, torn and empty ones."""
    fork = {"forkedFrom": {"sessionId": OTHER, "messageUuid": uid(1)}}
    put(projects / f"{SESSION}.jsonl", prompt(1, None, **fork), answer(2, 1, use("c1")))
    put(projects / f"{OTHER}.jsonl", prompt(1, None, "wick\u00e9 \u2028"), answer(2, 1))
    put(projects / "empty.jsonl")
    put(projects / "none.jsonl", {"some": "thing"})
    (projects / "torn.jsonl").write_bytes(jsonl(prompt(1, None), answer(2, 1))[:-9])
    before = survey(discover([home]))
    assert before[[row[0].name for row in before].index(f"{SESSION}.jsonl")][1].origin
    assert len(looked) == 5
    assert survey(discover([home])) == before == survey(discover([home]), kept=False)
    assert len(looked) == 10


def test_a_look_at_some_keeps_the_others(agents, looked):
    """Of the same folder and of others, whatever is found anew."""
    survey(discover())
    path = agents / ".claude" / "projects" / SLUG / f"{OTHER}.jsonl"
    put(path, prompt(1, None), answer(2, 1), at=LONG_AGO + 99)
    del looked[:]
    assert len(survey(discover([path]))) == 1
    assert looked == [path.name]
    survey(discover())
    assert looked == [path.name]


def test_what_is_forgotten_during_a_look_is_not_kept(projects, monkeypatch):
    """A list that began before a redaction must not bring back what it saw."""
    path = put(projects / f"{SESSION}.jsonl", prompt(1, None, "a wording of its own"))
    look = overview.look

    def slow(item, *words, **named):
        found = look(item, *words, **named)
        log.append(state_folder(), log.Change("redact", str(path), "", ""))
        return found

    monkeypatch.setattr(overview, "look", slow)
    assert survey(discover())[0][1].title == "a wording of its own"
    assert b"a wording of its own" not in glances_path().read_bytes()


@pytest.mark.usefixtures("agents")
def test_a_folder_without_sessions_leaves_the_cache(projects):
    """So does one that is gone, with all their titles."""
    survey(discover())
    for path in projects.glob("*.jsonl"):
        path.unlink()
    shutil.rmtree(projects.parents[2] / ".codex")
    survey(discover())
    kept = glances_path().read_bytes()
    assert b"light the lamp" in kept  # of the subagent, which stays
    assert b"trim the wick" not in kept
    assert b"oil the hinge" not in kept


@pytest.mark.usefixtures("agents")
@pytest.mark.parametrize(
    "facts", [b"", b"{", b"7", b"[1, 2]", b'[[], {"NAME": 1}]', b'[[], {"NAME": [SIZE, TIME, 9]}]']
)
def test_facts_that_make_no_sense_are_seen_anew(facts, projects):
    """Whoever wrote them: nothing is raised, and they are replaced."""
    before = survey(discover())
    now = (projects / f"{OTHER}.jsonl").stat()
    facts = facts.replace(b"NAME", f"{OTHER}.jsonl".encode()).replace(b"SIZE", b"%d" % now.st_size)
    with sqlite3.connect(glances_path()) as database:
        database.execute(
            "UPDATE folders SET facts=?", [facts.replace(b"TIME", b"%d" % now.st_mtime_ns)]
        )
    assert survey(discover()) == before
    with sqlite3.connect(glances_path()) as database:
        assert (facts,) not in database.execute("SELECT facts FROM folders").fetchall()


@pytest.mark.usefixtures("agents")
def test_without_the_cache_nothing_is_kept(capsys):
    """And a cache that is damaged, or no file, is none."""
    assert len(listed(capsys, "--no-cache")) == 3
    assert not glances_path().exists()
    glances_path().parent.mkdir(parents=True)
    glances_path().write_bytes(b"no database")
    assert len(listed(capsys)) == 3
    glances_path().unlink()
    glances_path().mkdir()
    assert len(listed(capsys)) == 3


def test_what_is_gone_leaves_the_cache(capsys, projects):
    """Its title goes with it."""
    put(projects / f"{OTHER}.jsonl", prompt(1, None, "a wording of its own"))
    listed(capsys)
    assert b"a wording of its own" in glances_path().read_bytes()
    (projects / f"{OTHER}.jsonl").unlink()
    listed(capsys)
    assert b"a wording of its own" not in glances_path().read_bytes()


@pytest.mark.parametrize(
    "words",
    [
        ["redact", "--write", "--in-place", "--yes", "--subject", "Ondine Marlowe"],
        ["encrypt", "--write", "--yes", "-r", OLD.recipient().text],
        ["prune", "--erase", "--write", "--yes"],
    ],
)
def test_a_write_leaves_no_title_behind(projects, capsys, words):
    """What redact, encrypt and prune touch is forgotten to the last byte."""
    name = "Ondine Marlowe"
    path = put(projects / f"{SESSION}.jsonl", prompt(1, None, f"ask {name}"), answer(2, 1))
    listed(capsys)
    assert name.encode() in glances_path().read_bytes()
    assert run([*words, str(path)]) == 0
    assert not path.exists() or name.encode() not in path.read_bytes()
    for file in cache_folder().rglob("*"):
        assert file.is_dir() or name.encode() not in file.read_bytes()


@pytest.mark.usefixtures("agents")
def test_what_a_link_leads_to_is_not_kept_with_the_link(projects, tmp_path, looked):
    """Else a redaction, which knows the file by its real name, would leave its words there."""
    path = projects / f"{SESSION}.jsonl"
    link = tmp_path / "elsewhere" / "link.jsonl"
    link.parent.mkdir()
    link.symlink_to(path)
    survey(discover([projects, link.parent]))
    assert b"trim the wick" in glances_path().read_bytes()
    del looked[:]
    survey(discover([projects, link.parent]))
    assert looked == [link.name]
    log.append(state_folder(), log.Change("redact", str(path), "", ""))
    assert b"trim the wick" not in glances_path().read_bytes()


def test_what_a_key_opened_is_not_kept_whatever_it_is_called(projects):
    """The next one may not have the key."""
    path = put(projects / f"{SESSION}.jsonl", prompt(1, None, "a wording of its own"))
    assert run(["encrypt", "--write", "--yes", "-r", OLD.recipient().text, str(path)]) == 0
    path.with_name(f"{path.name}.age").rename(path)
    ((_, opened),) = survey(discover([path]), Keys(given=[OLD]))
    assert (opened.title, opened.sealed) == ("a wording of its own", True)
    ((_, closed),) = survey(discover([path]))
    assert (closed.state, closed.title) == ("encrypted", "")
    assert b"a wording of its own" not in glances_path().read_bytes()


def test_what_can_be_read_no_more_leaves_the_cache(projects):
    """Its title does, though its name is still there."""
    path = put(projects / f"{SESSION}.jsonl", prompt(1, None, "a wording of its own"))
    survey(discover([projects]))
    path.unlink()
    os.mkfifo(path)
    survey(discover([projects]))
    assert b"a wording of its own" not in glances_path().read_bytes()


def test_a_change_that_leaves_size_and_time_is_seen(projects):
    """As a redaction in the same shape is, or a file that another took the place of."""
    path = put(projects / f"{SESSION}.jsonl", prompt(1, None, "trim the wick"))
    survey(discover([projects]))
    before = path.stat().st_ctime_ns
    while path.stat().st_ctime_ns == before:  # it counts in steps
        put(path, prompt(1, None, "gild the wick"))
    assert [row[1].title for row in survey(discover([projects]))] == ["gild the wick"]


def test_the_place_tells_the_agent_of_a_session_that_does_not(home, monkeypatch):
    """In whatever folder it was seen before."""
    other = home / "cfg" / "projects" / SLUG
    put(other / f"{SESSION}.jsonl")
    assert [row["agent"] for row in map(listing.value, survey(discover([other])))] == [None]
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "cfg"))
    assert [row["agent"] for row in map(listing.value, survey(discover([other])))] == [
        "claude-code"
    ]


def test_a_session_that_left_its_database_leaves_the_cache(home):
    """And what is still there is found again."""
    database = home / ".data" / "opencode" / "opencode.db"
    opencode(database).close()
    survey(discover([database]))
    assert b"kiln" in glances_path().read_bytes()
    with closing(sqlite3.connect(database)) as told:
        told.execute("DELETE FROM session")
        told.commit()
    survey(discover([database]))
    assert b"kiln" not in glances_path().read_bytes()


def test_of_a_session_in_many_files_nothing_is_kept(home, looked):
    """The one that it is listed by does not change with the others."""
    asked = {"info": {"id": "msg_1", "role": "user"}, "parts": []}
    path = as_files(home / "storage", [{"info": {"id": "ses_kiln", "title": "Kiln"}}, asked])
    for _ in range(2):
        survey(discover([home / "storage"]))
    assert looked == [path.name] * 2


@pytest.mark.parametrize("left", ["glances.db", "search.db"])
def test_what_a_killed_change_left_is_forgotten_too(projects, left):
    """The journal of a database that is gone has words as well."""
    path = put(projects / f"{SESSION}.jsonl", prompt(1, None))
    journal = cache_folder() / f"{left}-journal"
    journal.parent.mkdir(parents=True)
    journal.write_bytes(b"a wording of its own")
    log.append(state_folder(), log.Change("redact", str(path), "", ""))
    assert not journal.exists()


def test_short_ids_tell_apart_from_what_is_not_shown(agents, capsys):
    """The id of a list of some is good for `show`, which knows all."""
    twin = (
        agents
        / ".codex"
        / "sessions"
        / "2026"
        / "03"
        / "01"
        / ROLLOUT.replace(THREAD, SESSION[:20] + THREAD[20:])
    )
    put(twin, meta(id=SESSION[:20] + THREAD[20:]), says("user", "oil the hinge"))
    capsys.readouterr()
    assert run(["list", "--agent", "codex"]) == 0
    name = next(word for word in capsys.readouterr().out.split() if word.startswith(SESSION[:8]))
    assert run(["show", name]) == 0


# Where was looked.


def test_homes_tells_where_was_looked(agents, capsys, monkeypatch):
    """Each place with what it holds, and the variables that move it."""
    monkeypatch.setenv("CODEX_HOME", str(agents / "elsewhere"))
    assert run(["config", "homes", "-f", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    Draft202012Validator(json.loads(schema_text("homes"))).validate(document)
    told = {one["agent"]: one for one in document["agents"]}
    assert told.keys() == {f.name for f in FORMATS if [*f.folders(), *f.databases()]}
    (place,) = told["claude-code"]["places"]
    assert (place["sessions"], place["parts"], place["there"]) == (2, 1, True)
    assert told["codex"]["variables"] == [
        {"name": "CODEX_HOME", "value": str(agents / "elsewhere")}
    ]
    assert not any(one["there"] for one in told["codex"]["places"])
    assert run(["config", "homes"]) == 0
    told = capsys.readouterr()
    assert "~/.claude/projects: 2 sessions and 1 part of them, " in told.out
    assert "Gemini" not in told.out
    assert "--all" in told.err


def test_every_variable_moves_a_home(monkeypatch, tmp_path):
    """Those that a format names do change where is looked."""
    for form in FORMATS:
        for name in form.variables:
            before = [*form.folders(), *form.databases()]
            monkeypatch.setenv(name, str(tmp_path / "moved"))
            assert [*form.folders(), *form.databases()] != before, name
            monkeypatch.delenv(name)


# Real homes.


def test_the_homes_that_real_clients_made(shared, monkeypatch):
    """Everything is found, attached and named: counted against the index."""
    top = shared / "corpus" / "real-clients"
    names = {"copilot": "copilot-cli", "gemini-cli": "gemini", "qwen-code": "qwen"}
    wanted = defaultdict(set)
    with (top / "INDEX.tsv").open() as file:
        for row in csv.DictReader(file, delimiter="\t"):
            wanted[row["file"].partition("/home/")[0]].add(row["file"])
    assert sum(map(len, wanted.values())) == 282
    for scenario, files in wanted.items():
        home = top / scenario / "home"
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setenv("XDG_DATA_HOME", str(home / ".local" / "share"))
        rows = survey(discover(), kept=False)
        found = defaultdict(list)
        for row in rows:
            path = row[0].path if row[0].path.exists() else row[0].path.parent
            found[str(path.relative_to(top))].append(row)
        family = families(rows)
        extra = {row for name in found.keys() - files for row in found[name]}
        assert files <= found.keys(), scenario
        assert all(owner_of(row) for row in extra), scenario
        assert not family.loose, scenario
        assert not [row for row in family.sessions if owner_of(row)], scenario
        client = scenario.partition("/")[0]
        for row in rows:
            assert agent_of(row) == names.get(client, client), row
            assert where(row) == "/srv/quest", row
            assert row[1].title or row[1].state == "empty" or row[1].ends == "", row


def test_a_day_is_told_as_people_do():
    """Today by the hour, this year by the day, and else in full."""
    now = datetime(2026, 11, 30, 12, tzinfo=datetime.now().astimezone().tzinfo)
    assert day(now.replace(hour=9, minute=5), now) == "today 09:05"
    assert day(now.replace(month=2, day=3), now) == "Feb 03 12:00"
    assert day(now.replace(year=2025), now) == "2025-11-30"
    assert day(None, now) == "–"


@pytest.mark.usefixtures("agents")
def test_no_odd_name_or_time_keeps_the_others_from_the_list(projects, capsys):
    """A link that leads round in circles, and a file of the year 2446, are sessions like others."""
    (projects / "loop.jsonl").symlink_to("loop.jsonl")
    put(projects / "late.jsonl", prompt(5, None, "from far ahead"), at=15_032_385_535)
    for _ in range(2):
        found = {one["title"]: one["state"] for one in listed(capsys)}
        assert found["from far ahead"] == "ok"
        assert found[None] == "unreadable"
        assert len(found) == 5


def test_a_project_is_named_as_a_person_names_a_folder(agents, capsys, monkeypatch):
    """With a slash behind it, from where one stands, or from home."""
    monkeypatch.chdir("/")
    for name in ("/srv/beacon/", "srv/beacon", "./srv/beacon", "beacon/", "~/../srv/beacon"):
        monkeypatch.setenv("HOME", "/srv") if name.startswith("~") else None
        assert run(["list", "--project", name, str(agents)]) == 0
        assert "trim the wick" in capsys.readouterr().out


def test_what_is_not_there_is_an_error(agents, capsys):
    """A path that leads nowhere is no session of the list."""
    for command in ("list", "status", "search lamp"):
        assert run([*command.split(), str(agents / "nowhere.jsonl")]) == 3
        assert "no such file" in capsys.readouterr().err


def test_eighty_columns_have_room_for_a_title(agents, projects):
    """A narrow terminal shows less of the project, and no size, so that each is known again."""
    paths = [agents / ".codex", projects / f"{SESSION}.jsonl"]
    shown = flat(families(survey(discover(paths), kept=False)), parts=False)
    lines = "".join(listing.table(shown, 80)).splitlines()
    assert max(map(width, lines)) <= 80
    assert [line.split("  ")[-1] for line in lines[1:]].count("trim the wick") == 1
    assert "SIZE" not in lines[0]
    assert "SIZE" in next(listing.table(shown, 120))


@pytest.mark.usefixtures("agents")
def test_a_time_without_a_date_is_the_last_one(projects, monkeypatch, capsys):
    """A disk may tell a year that no calendar here reaches."""
    path = put(projects / "late.jsonl", prompt(5, None))
    real = os.stat
    for year in (-(1 << 70), 1 << 70):
        far = os.stat_result(real(path)[:10], {"st_mtime_ns": year})
        monkeypatch.setattr(
            os, "stat", lambda name, far=far, **how: far if name == str(path) else real(name, **how)
        )
        for command in ("list", "status"):
            assert run([command, str(path)]) == 0
            assert "light the lamp" in capsys.readouterr().out


@pytest.mark.usefixtures("agents")
def test_a_damaged_cache_is_made_anew(capsys):
    """Else each list would look at every file, for ever."""
    listed(capsys)
    glances_path().write_bytes(b"no database " * 5000)
    before = listed(capsys)
    assert glances_path().read_bytes().startswith(b"SQLite")
    assert listed(capsys) == before


@pytest.mark.usefixtures("agents")
def test_a_cache_that_cannot_be_is_no_fault(monkeypatch, capsys):
    """What stands in the way of its folder keeps nobody from the list."""
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)
    assert len(listed(capsys)) == 3


def test_a_home_that_is_set_and_not_there_is_told(home, monkeypatch, capsys):
    """A variable that leads nowhere is why nothing is found."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "moved"))
    assert run(["config", "homes"]) == 0
    out = capsys.readouterr().out
    assert "~/moved/projects: not there" in out
    assert "CODEX_HOME" not in out


def test_a_document_is_written_session_by_session(agents):
    """Thousands of sessions are never held as one text; none at all are an empty array."""
    rows = survey(discover([agents]), kept=False)
    parts = list(listing.to_json(rows))
    assert json.loads("".join(parts))["sessions"] == [listing.value(row) for row in rows]
    assert max(map(len, parts)) < len("".join(parts)) / 2
    assert "".join(listing.to_json([])) == '{\n  "schema_version": 1,\n  "sessions": []\n}\n'
