"""Sessions in databases and in many files: read as lines, found by name, and never written to."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from sesstool import api
from sesstool.api.viewing import open_view
from sesstool.cli import browse, main
from sesstool.errors import InputError, UsageError
from sesstool.library.discover import discover
from sesstool.library.glance import look
from sesstool.records import databases, documents, traceless
from sesstool.records.opening import open_source, refuse_rows
from sesstool.records.source import ROWS
from tests import held
from tests.held import add_message, add_session, insert, opencode, tool, words

REAL = "corpus/real-clients/opencode/1.18.33"


@pytest.fixture
def there(home):
    """Where OpenCode's database is in this home, with its sessions."""
    path = home / ".data" / "opencode" / "opencode.db"
    opencode(path).close()
    return path


POLICY = 'version = 1\nrule = [{name = "old", expire_after = "1d"}]\n'


def read(path: Path) -> list:
    with open_source(path) as source:
        assert source.codec == ROWS
        return [json.loads(line) for line in source.read(0, source.size).splitlines()]


def seen(folder: Path) -> dict:
    """All that a reader could have changed in a folder."""
    return {
        path.name: (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_mode)
        for path in folder.iterdir()
    }


def test_opencode_is_read_in_the_agents_own_order(tmp_path):
    """Messages come by their time, with their parts by their ids, under the agent's own names."""
    with closing(opencode(tmp_path / "a.db")) as database:
        database.execute("UPDATE message SET id = 'msg_9' WHERE id = 'msg_0001'")
        database.execute("UPDATE part SET message_id = 'msg_9' WHERE message_id = 'msg_0001'")
        database.execute("UPDATE part SET id = 'prt_0' WHERE data LIKE '%call_1%'")
    session, asked, answered = read(tmp_path / "a.db" / "ses_kiln")
    assert session["info"]["projectID"] == "global"
    assert session["info"]["time"] == {"created": held.NOON, "updated": held.NOON}
    assert "parentID" not in session["info"]
    assert asked["info"]["id"] == "msg_9"
    assert asked["parts"][0]["text"] == "Which kiln is hot?"
    assert [part["type"] for part in answered["parts"]] == ["tool", "text"]
    told = {"id": "prt_0", "sessionID": "ses_kiln", "messageID": "msg_0002"}
    assert answered["parts"][0] == tool("call_1") | told


def test_goose_and_the_agents_sdk_are_read(tmp_path):
    """Columns that hold JSON are read, and messages stand as their agents export them."""
    held.goose(tmp_path / "g.db").close()
    held.agents(tmp_path / "a.db").close()
    session, *talk = read(tmp_path / "g.db" / "20260528_1")
    assert session["model_config"] == {"model_name": "clay-1"}
    assert [m["role"] for m in talk] == ["user", "assistant", "user"]
    assert talk[0]["id"] == "msg_0"
    assert talk[0]["content"] == [words("Which kiln is hot?")]
    session, *items = read(tmp_path / "a.db" / "kiln-1")
    assert session.keys() == {"session_id", "created_at", "updated_at"}
    assert items[0]["message_data"] == {"role": "user", "content": "Which kiln is hot?"}
    assert [i["id"] for i in items] == [1, 2, 3, 4]


def test_real_databases_give_all_their_rows(shared):
    """Each message and each part of real sessions is there once, those in the log too."""
    for path in sorted((shared / REAL).glob("*/home/.local/share/opencode/opencode.db")):
        before = seen(path.parent)
        with traceless.reading(path) as database:
            counts = [
                database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608 - of names
                for table in ("session", "message", "part")
            ]
        _, found = databases.sessions(path)
        lines = [read(databases.inside(path, one.id)) for one in found]
        told = [message for session in lines for message in session[1:]]
        parts = [part["id"] for message in told for part in message["parts"]]
        assert [len(lines), len(told), len(parts)] == counts
        assert len(set(parts)) == len(parts)
        assert seen(path.parent) == before


def test_old_files_of_opencode_are_read_like_its_database(tmp_path):
    """A session's file stands for the folders of its messages and of their parts."""
    opencode(tmp_path / "a.db").close()
    lines = read(tmp_path / "a.db" / "ses_kiln")
    top = tmp_path / "storage"
    path = held.as_files(top, lines)
    assert read(path) == lines
    (top / "message" / "ses_kiln" / "notes.txt").write_text("{}")
    (top / "message" / "ses_kiln" / "msg_0003.json").symlink_to(path)
    assert read(path) == lines
    (top / "message" / "ses_kiln" / "msg_0001.json").write_text('{"role": "us')
    assert read(path)[1] == {"info": '{"role": "us', "parts": lines[1]["parts"]}


def test_files_of_opencode_in_the_corpus_are_read(shared):
    """All the messages in trees that others keep as samples are there."""
    paths = [p for p in (shared / "corpus/opencode").rglob("*.json") if documents.is_document(p)]
    assert paths
    for path in paths:
        told = read(path)[0]["info"].get("id")
        messages = list((path.parents[2] / "message" / told).glob("*.json"))
        assert messages
        assert len(read(path)) == 1 + len(messages)


LEFT = {
    "a log": (),
    "a log without its index": ("-shm",),
}


@pytest.mark.parametrize("gone", LEFT.values(), ids=LEFT)
def test_what_waits_in_a_log_is_read_without_a_trace(tmp_path, gone):
    """Names, bytes and times in the agent's folder stay, and all rows are there."""
    source, home = tmp_path / "source", tmp_path / "home"
    database = opencode(source / "a.db", wal=True)
    shutil.copytree(source, home)
    database.close()
    for end in gone:
        (home / f"a.db{end}").unlink()
    assert (home / "a.db-wal").stat().st_size > (home / "a.db").stat().st_size
    before = seen(home)
    assert len(read(home / "a.db" / "ses_kiln")) == 3
    assert {item.name for item in discover([home])} == {"ses_kiln", "ses_scout"}
    assert seen(home) == before


@pytest.mark.parametrize("wal", [True, False])
def test_a_database_at_rest_is_read_without_a_trace(tmp_path, wal):
    """Nothing is made beside one that keeps no log, or keeps one and was closed."""
    home = tmp_path / "home"
    opencode(home / "a.db", wal=wal).close()
    before = seen(home)
    assert len(before) == 1
    assert len(read(home / "a.db" / "ses_kiln")) == 3
    assert seen(home) == before


WRITER = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
for line in sys.stdin:
    database.execute("UPDATE message SET data = '{}'")
    database.execute("DELETE FROM part")
    print(database.execute("PRAGMA wal_checkpoint").fetchone()[0], flush=True)
"""


def test_a_living_agent_is_neither_disturbed_nor_mixed_in(tmp_path):
    """It commits while a session is read, which is as it was when the reading began."""
    database = opencode(tmp_path / "a.db", wal=True)
    command = [sys.executable, "-c", WRITER, str(tmp_path / "a.db")]
    with (
        closing(database),
        subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as writer,
    ):
        lines = databases.lines(tmp_path / "a.db", "ses_kiln")
        next(lines)
        writer.stdin.write("go\n")
        writer.stdin.flush()
        assert writer.stdout.readline() == "0\n"
        assert [len(json.loads(line)["parts"]) for line in lines] == [1, 2]
        assert [len(line["parts"]) for line in read(tmp_path / "a.db" / "ses_kiln")[1:]] == [0, 0]
        writer.stdin.close()


def test_what_is_written_while_no_lock_is_held_is_noticed(tmp_path):
    """A file that changes while it is read without a log is refused, and not half of each told."""
    opencode(tmp_path / "a.db", wal=True).close()
    lines = databases.lines(tmp_path / "a.db", "ses_kiln")
    next(lines)
    os.utime(tmp_path / "a.db", ns=(1, 1))
    with pytest.raises(InputError, match="written to in the meantime"):
        list(lines)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def _scribbled(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:100] + b"\xff" * 4000 + data[4100:])


def _locked(path: Path) -> None:
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("BEGIN EXCLUSIVE")
    _LOCKS.append(database)


def _broken_off(path: Path) -> None:
    """Leave the journal of a change that was broken off."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA cache_size = 1")
        database.execute("PRAGMA cache_spill = 1")
        database.execute("BEGIN")
        for n in range(20):
            row = {"id": f"prt_{n}", "message_id": "", "session_id": "", "data": "x" * 4000}
            insert(database, "part", row)
        journal = path.with_name(path.name + "-journal")
        copies = path.read_bytes(), journal.read_bytes()
    path.write_bytes(copies[0])
    journal.write_bytes(copies[1])


def _foreign(path: Path) -> None:
    path.unlink()
    held.connected(path, "CREATE TABLE message (id); CREATE VIEW session AS SELECT 1").close()


_LOCKS: list[sqlite3.Connection] = []
BROKEN = {
    "cut": (_cut, "the database is damaged"),
    "scribbled": (_scribbled, "the database is damaged"),
    "sealed": (lambda path: path.write_bytes(bytes(range(256)) * 32), "it is damaged, encrypted"),
    "empty": (lambda path: path.write_bytes(b""), "no database that can be read"),
    "locked": (_locked, "another process has locked it"),
    "broken off": (_broken_off, "a change of it was broken off"),
    "foreign": (_foreign, "hold no sessions that sesstool knows"),
}


@pytest.mark.parametrize(("damage", "why"), BROKEN.values(), ids=BROKEN)
def test_what_cannot_be_read_is_told_with_the_next_step(tmp_path, monkeypatch, damage, why):
    """A damaged, locked, encrypted or foreign database gives a sentence and a hint."""
    monkeypatch.setattr(traceless, "_PATIENCE", 0.0)
    path = tmp_path / "a.db"
    opencode(path).close()
    damage(path)
    before = seen(tmp_path)
    try:
        with pytest.raises(InputError, match=why) as caught:
            open_source(path / "ses_kiln")
    finally:
        while _LOCKS:
            _LOCKS.pop().close()
    assert caught.value.hint
    assert seen(tmp_path).keys() == before.keys()


def test_a_pipe_is_not_waited_for(tmp_path):
    """A pipe in the place of a database, or of its log, is refused at once."""
    os.mkfifo(tmp_path / "pipe.db")
    with pytest.raises(InputError):
        databases.sessions(tmp_path / "pipe.db")
    opencode(tmp_path / "a.db").close()
    os.mkfifo(tmp_path / "a.db-wal")
    with pytest.raises(InputError, match="no regular file"):
        open_source(tmp_path / "a.db" / "ses_kiln")


def test_what_is_not_there_is_told(tmp_path):
    """An id that is not there, and a database that is taken for a session, are sentences."""
    opencode(tmp_path / "a.db").close()
    with pytest.raises(InputError, match="no session of this id"):
        open_source(tmp_path / "a.db" / "ses_nobody")
    with pytest.raises(InputError, match="no session of its own"):
        open_source(tmp_path / "a.db")
    held.connected(tmp_path / "b.db", held.AGENTS).close()
    with pytest.raises(InputError, match="holds no session"):
        list(api.find([str(tmp_path / "b.db")]))


HOSTILE = [
    '{"type": "text", "te',
    b'{"type": "text", "text": "\xff\xfe"}',
    b"\xff\x00",
    "[" * 1200 + "]" * 1200,
    '{"type": "text", "text": "\\ud800"}',
    '{"type": "text", "text": NaN, "callID": 1e999}',
    "7",
    '{"id": {"a": 1}, "time": 3, "type": "tool", "state": [], "callID": ["x"]}',
]


def test_any_bytes_in_a_row_are_read(tmp_path):
    """Broken, foreign and deep values come through every command, and without a traceback."""
    database = opencode(tmp_path / "a.db")
    add_message(database, "ses_kiln", 8, "user", *HOSTILE)
    deep = "[" * 1010 + "]" * 1010  # can be read, and not be written
    add_message(database, "ses_kiln", 9, "user", deep)
    odd = {"title": b"\xff\x00", "directory": 1.5, "time_updated": "soon", "revert": "{"}
    add_session(database, "ses_odd", "", **odd)
    add_message(database, "ses_odd", 4, "assistant", "null", time=7, error=3, path=[])
    insert(database, "message", {"id": None, "session_id": "ses_odd", "data": '{"info": 1}'})
    insert(database, "message", {"id": 9, "session_id": "ses_odd", "data": float("inf")})
    database.execute("UPDATE part SET data = CAST(data AS TEXT)")
    database.execute("UPDATE session SET title = CAST(title AS TEXT)")
    database.close()
    *_, hostile, last = read(tmp_path / "a.db" / "ses_kiln")
    parts = hostile["parts"]
    assert len(parts) == len(HOSTILE)
    assert [part["text"] for part in parts if "text" in part][:2] == ["\ufffd\ufffd", "\ud800"]
    assert last["parts"][0]["data"] == deep
    for name in ("ses_kiln", "ses_odd"):
        path = str(tmp_path / "a.db" / name)
        for command in ("validate", "show", "resume", "memory", "export"):
            assert main.run([command, path]) in (0, 1, 3)
    assert len(list(discover([tmp_path]))) == 3


NAMES = ["plain", "a/b", "..", ".", "", "a%2Fb", "%", "x.age", "y.gz", " ", "kilnés", ".hidden"]


def test_any_id_is_the_end_of_a_path(tmp_path):
    """A program's own ids, with slashes or dots, name their session and no other one."""
    path = tmp_path / "a.db"
    database = held.connected(path, held.AGENTS)
    for name in NAMES:
        insert(database, "agent_sessions", {"session_id": name, "created_at": "", "updated_at": ""})
    database.close()
    _, found = databases.sessions(path)
    paths = {databases.inside(path, one.id): one.id for one in found}
    assert sorted(paths.values()) == sorted(NAMES)
    for one, name in paths.items():
        assert one.parent == path
        assert databases.id_in(one) == name
        assert read(one)[0]["session_id"] == name
    assert sorted(api.find([str(path)])) == sorted(paths)
    assert {item.path for item in discover([path])} == paths.keys()


def test_ids_are_found_in_the_agents_home(there):
    """The beginning of an id names a session in a database; a folder or path needs no home."""
    assert list(api.find(["ses_k"])) == [there / "ses_kiln"]
    with pytest.raises(InputError, match="2 sessions have an id"):
        list(api.find(["ses_"]))
    assert list(api.find([str(there)])) == [there / "ses_scout", there / "ses_kiln"]


def test_the_library_lists_what_a_database_holds(there):
    """An item a session: with the size and time of its rows, its project, and whose it is."""
    items = {item.name: item for item in discover() if item.format == "opencode"}
    kiln, scout = items["ses_kiln"], items["ses_scout"]
    assert kiln.path == there / "ses_kiln"
    assert (kiln.project, kiln.owner, kiln.id) == ("/srv/kiln", "", "ses_kiln")
    assert kiln.mtime == held.NOON * 1_000_000
    with closing(sqlite3.connect(there)) as database:
        sql = "SELECT sum(length(data)) FROM {} WHERE session_id = 'ses_kiln'"
        sizes = [database.execute(sql.format(t)).fetchone()[0] for t in ("message", "part")]
    assert kiln.size == sum(sizes)
    assert (scout.owner, scout.is_part) == ("ses_kiln", True)
    assert look(kiln).title == "kilns"
    assert look(scout).origin.session == "ses_kiln"
    assert list(discover([there / "ses_kiln"])) == [kiln]
    assert set(discover([there.parent])) == {kiln, scout}


def test_a_database_that_cannot_be_read_is_listed_with_the_reason(there):
    """Only in its agent's home: any other file that is called so is none of ours."""
    _scribbled(there)
    (item,) = discover()
    assert (item.format, item.name) == ("opencode", "opencode.db")
    assert "damaged" in item.trouble
    assert list(discover([there.parent])) == []


def test_goose_is_found_at_home(home, monkeypatch):
    """Its database lies among its older files, and is listed once, also where it is damaged."""
    path = home / ".data" / "goose" / "sessions" / "sessions.db"
    held.goose(path).close()
    assert [(item.format, item.name) for item in discover()] == [("goose", "20260528_1")]
    assert list(api.find(["20260528"])) == [path / "20260528_1"]
    report = api.resume(path / "20260528_1")
    assert (report.sent, report.command[:13]) == (3, "goose session")
    _scribbled(path)
    (item,) = discover()
    assert (item.format, item.name) == ("goose", "sessions.db")
    assert "damaged" in item.trouble
    monkeypatch.setenv("GOOSE_PATH_ROOT", str(home / "other"))
    held.goose(home / "other" / "data" / "sessions" / "sessions.db").close()
    assert [item.name for item in discover()] == ["20260528_1"]


def test_only_the_ends_of_a_long_session_are_read(tmp_path):
    """The head and the tail are as many bytes as were asked for, and the rest is counted."""
    database = opencode(tmp_path / "a.db")
    for n in range(10, 60):
        add_message(database, "ses_kiln", n, "user", words(f"Kiln {n}?"))
    database.close()
    every = list(databases.lines(tmp_path / "a.db", "ses_kiln"))
    found = databases.ends(tmp_path / "a.db", "ses_kiln", 600, 900)
    assert found.head == every[: len(found.head)]
    assert found.tail == every[-len(found.tail) :]
    assert len(found.head) + found.between + len(found.tail) == len(every) == 53
    assert 0 < len(found.tail) < 10
    whole = databases.ends(tmp_path / "a.db", "ses_kiln", 100_000, 0)
    assert (whole.head, whole.tail, whole.between) == (every, [], 0)


REFUSED = [
    ("repair",),
    ("repair", "--write"),
    ("redact", "--write", "--in-place", "--yes"),
    ("encrypt", "-r", "RECIPIENT", "--write", "--yes"),
    ("decrypt", "-i", "KEY"),
    ("rekey", "-i", "KEY", "-r", "RECIPIENT"),
    ("prune", "--policy", "POLICY"),
    ("fork",),
    ("snapshot",),
]


@pytest.mark.parametrize("words_", REFUSED, ids=" ".join)
def test_what_writes_refuses(there, tmp_path, capsys, words_):
    """Each command that writes says that it never does so here, and what can be done instead."""
    main.run(["keygen", "-o", str(tmp_path / "KEY")])
    recipient = (tmp_path / "KEY").read_text().partition("public key: ")[2].split()[0]
    (tmp_path / "POLICY").write_text(POLICY)
    known = {name: str(tmp_path / name) for name in ("KEY", "POLICY")} | {"RECIPIENT": recipient}
    command, *more = (known.get(word, word) for word in words_)
    before = seen(there.parent)
    capsys.readouterr()
    assert main.run([command, str(there / "ses_kiln"), *more]) == 2
    told = capsys.readouterr().err
    assert "in a database, which sesstool reads and never writes to" in told
    assert "hint: make a file of it: sesstool redact" in told
    assert seen(there.parent) == before


def test_retention_leaves_databases_out(there, tmp_path, capsys):
    """A policy for all that agents have says nothing of sessions that nothing can be done to."""
    old = there.parent / "storage" / "session" / "global" / "ses_old.json"
    old.parent.mkdir(parents=True)
    old.write_text('{"id": "ses_old", "directory": "/srv/kiln"}')
    os.utime(old, (1, 1))
    (tmp_path / "p.toml").write_text(POLICY)
    assert main.run(["prune", "--policy", str(tmp_path / "p.toml")]) == 0
    assert "0 of 0 sessions" in capsys.readouterr().err


def test_a_redacted_copy_is_a_file_of_its_own(there, tmp_path):
    """What -o makes of a database are plain lines, one file a session, and can be read again."""
    mail = "ines@" + "kiln-works.net"
    with closing(sqlite3.connect(there, isolation_level=None)) as database:
        add_message(database, "ses_kiln", 5, "user", words(f"Write to {mail}."))
    assert main.run(["redact", str(there), "-o", f"{tmp_path}/out/"]) == 0
    made = tmp_path / "out" / "ses_kiln.jsonl"
    assert mail not in made.read_text()
    lines = [json.loads(line) for line in made.read_text().splitlines()]
    assert [line["info"]["id"] for line in lines[1:]] == ["msg_0001", "msg_0002", "msg_0005"]
    assert api.validate(made).format == "opencode"
    assert (tmp_path / "out" / "ses_scout.jsonl").exists()


def test_old_files_are_refused_as_well(tmp_path):
    """A session in many files is not written to either."""
    path = tmp_path / "session" / "global" / "ses_kiln.json"
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    with pytest.raises(UsageError, match="in many files"):
        refuse_rows(path)
    refuse_rows(tmp_path / "talk.jsonl")
    refuse_rows("-")


def test_who_has_the_database_open_uses_what_was_written_lately(tmp_path):
    """Of all the sessions in a database only those in use are said to be, and only then."""
    path, now = tmp_path / "a.db", int(time.time() * 1000)
    database = opencode(path, wal=True)
    add_session(database, "ses_now", time_updated=now)
    assert api.in_use(path / "ses_now") == ""
    command = [sys.executable, "-c", WRITER, str(path)]
    with closing(database), subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as writer:
        writer.stdin.write("go\n")
        writer.stdin.flush()
        writer.stdout.readline()
        assert str(writer.pid) in api.in_use(path / "ses_now")
        assert api.in_use(path / "ses_kiln") == ""
        writer.stdin.close()


def test_a_view_follows_a_session_in_a_database(tmp_path):
    """It is fresh as long as nobody writes to the database, or to its log, and then read anew."""
    path = tmp_path / "a.db" / "ses_kiln"
    with closing(opencode(tmp_path / "a.db", wal=True)) as database, open_view(path) as view:
        assert view.grown() is None
        add_message(database, "ses_kiln", 9, "user", words("And now?"))
        with view.grown() as newer:
            assert newer.source.size > view.source.size
            assert newer.grown() is None


@pytest.mark.usefixtures("there")
def test_search_finds_what_is_said_in_a_database(tmp_path, capsys):
    """Words in rows, and in OpenCode's old files, are found with the command that resumes it."""
    path = tmp_path / "storage" / "session" / "global" / "ses_old.json"
    messages = tmp_path / "storage" / "message" / "ses_old"
    parts = tmp_path / "storage" / "part" / "msg_1"
    for folder in (path.parent, messages, parts):
        folder.mkdir(parents=True)
    path.write_text('{"id": "ses_old", "directory": "/srv/kiln", "title": "old"}')
    (messages / "msg_1.json").write_text('{"id": "msg_1", "role": "user", "sessionID": "ses_old"}')
    (parts / "prt_1.json").write_text('{"type": "text", "text": "A third one?"}')
    assert main.run(["search", "third"]) == 0
    told = capsys.readouterr().out
    assert "opencode.db/ses_scout  part of ses_kiln" in told
    assert main.run(["search", "third", str(tmp_path)]) == 0
    assert "&& opencode --session ses_old" in capsys.readouterr().out


def test_a_session_in_a_database_goes_to_another_agent(there, tmp_path):
    """What export makes of it for another agent holds the same words, calls and results."""
    target = tmp_path / "there.jsonl"
    assert main.run(["export", str(there / "ses_kiln"), "--to", "pi", "-o", str(target)]) == 0
    report = api.validate(target)
    assert (report.format, report.findings) == ("pi", ())
    assert "Which kiln is hot?" in target.read_text()
    assert "call_1" in target.read_text()


def test_an_app_lists_a_database_like_a_folder(there):
    """A database opens as a list of its sessions, and one session in it as a conversation."""
    assert not browse._is_one((str(there),))
    assert browse._is_one((str(there / "ses_kiln"),))
    assert browse._listed((str(there / "ses_kiln"), str(there))) == [there / "ses_kiln", there]


def test_links_in_a_circle_are_told(there):
    """A database that is a link to itself is an error of its own, and ends no list."""
    there.unlink()
    there.symlink_to(there)
    with pytest.raises(InputError, match="cannot"):
        databases.sessions(there)
    assert main.run(["list"]) in (0, 3)
