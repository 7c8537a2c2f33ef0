"""What agents keep of a session in shared files: counted without a trace, and taken out."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import random
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from sesstool.audit import log
from sesstool.errors import InputError, LiveSessionError, SesstoolError, WriteError
from sesstool.formats.claude_code import ClaudeCode
from sesstool.formats.codex import Codex
from sesstool.records import live
from sesstool.retention import cleanup, rows
from sesstool.retention.cleanup import Residue
from sesstool.retention.leftovers import leftovers
from tests.conftest import ROLLOUT, SESSION, THREAD
from tests.faults import at_call, error, forked, kill

OTHER = "0123abcd-0000-7000-8000-00000000beef"
GONE = "the vermilion heron counts seven bridges"
KEPT = "the saffron lynx sews quietly"
SCHEMA = """
PRAGMA auto_vacuum = INCREMENTAL; PRAGMA user_version = 7;
CREATE TABLE threads (id TEXT PRIMARY KEY, rollout_path TEXT NOT NULL, title TEXT, parent_id TEXT);
CREATE TABLE thread_items (thread_id TEXT, item_id TEXT, item_json TEXT,
    PRIMARY KEY (thread_id, item_id));
CREATE TABLE thread_spawn_edges (parent_thread_id TEXT, child_thread_id TEXT,
    PRIMARY KEY (parent_thread_id, child_thread_id));
CREATE TABLE jobs (kind TEXT, job_key TEXT, last_error TEXT, PRIMARY KEY (kind, job_key));
CREATE TABLE revisions (n INTEGER PRIMARY KEY, thread_id TEXT UNIQUE);
CREATE TABLE queued (id INTEGER PRIMARY KEY, thread_id TEXT, payload TEXT);
CREATE TRIGGER again AFTER DELETE ON queued BEGIN
    INSERT OR IGNORE INTO revisions (thread_id) VALUES (OLD.thread_id); END;
CREATE VIRTUAL TABLE words USING fts5(thread_id UNINDEXED, body);
CREATE INDEX by_kind ON thread_items (json_extract(item_json, '$.kind'));
"""
# The rows of the session of which `count` tells: with the text in each kind of place.
OWN = 7


@pytest.fixture(autouse=True)
def no_agent(monkeypatch):
    """No agent runs here, whatever does on this machine."""
    monkeypatch.setattr(cleanup, "processes", lambda _: iter(()))


@pytest.fixture
def codex(home):
    """A Codex home with the rollout of a session that is to go."""
    path = home / ".codex/sessions/2026/03/01" / ROLLOUT
    path.parent.mkdir(parents=True)
    path.write_text("{}\n")
    return home / ".codex"


def rollout(codex):
    return codex / "sessions/2026/03/01" / ROLLOUT


def fill(database, thread, text, parent=None):
    item = json.dumps({"kind": "user", "text": text})
    for sql, values in {
        "INSERT INTO threads VALUES (?, ?, ?, ?)": (thread, f"/x/{thread}", text, parent),
        "INSERT INTO thread_items VALUES (?, 'i1', ?)": (thread, item),
        "INSERT INTO thread_items VALUES (?, 'i2', ?)": (thread, json.dumps({"t": text * 999})),
        "INSERT INTO thread_spawn_edges VALUES (?, ?)": (parent or "root", thread),
        "INSERT INTO jobs VALUES ('memory', ?, ?)": (thread, text),
        "INSERT INTO queued (thread_id, payload) VALUES (?, ?)": (thread, text),
        "INSERT INTO words VALUES (?, ?)": (thread, text),
    }.items():
        database.execute(sql, values)


def make(path, kind="closed"):
    """A database with a session that goes and a fork of it that stays.

    Of the kinds but "closed" rows wait in the log; "open" has a -shm as well.
    """
    source = path.with_name("source")
    with closing(sqlite3.connect(source, isolation_level=None)) as database:
        database.executescript(SCHEMA)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA wal_autocheckpoint = 0")
        fill(database, THREAD, GONE)
        fill(database, OTHER, KEPT, parent=THREAD)
        if kind == "again":
            # What an earlier round left in the log lies behind what counts, and is older.
            database.execute("INSERT INTO queued VALUES (99, ?, 'once')", (THREAD,))
            database.execute("PRAGMA wal_checkpoint(RESTART)")
            database.execute("DROP TRIGGER again")
            database.execute("DELETE FROM queued WHERE id = 99")
        for end in {"closed": (), "bare": ("-wal",), "again": ("-wal",), "open": ("-wal", "-shm")}[
            kind
        ]:
            path.with_name(path.name + end).write_bytes(
                source.with_name("source" + end).read_bytes()
            )
        if kind == "closed":
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        path.write_bytes(source.read_bytes())
    source.unlink()
    return path


kinds = pytest.mark.parametrize("kind", ["closed", "bare", "open", "again"])


def look(folder):
    """All that is to see of the files of a folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        now = path.stat()
        data = path.read_bytes() if path.is_file() else b""
        found[path] = (now.st_ino, now.st_mtime_ns, now.st_size, now.st_mode, data)
    return found


def content(path):
    """The rows of a database, by table, and its settings."""
    settings = ("journal_mode", "auto_vacuum", "user_version", "page_size", "integrity_check")
    with closing(sqlite3.connect(path)) as database:
        names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        found = {}
        for (name,) in names:
            if name.startswith(("words_", "found_", "sqlite_sequence")):
                continue  # how SQLite keeps words and numbers is its own business
            found[name] = database.execute(f'SELECT rowid, * FROM "{name}"').fetchall()  # noqa: S608
        return found | {s: database.execute(f"PRAGMA {s}").fetchall() for s in settings}


def residue(codex, name="state_5.sqlite"):
    (one,) = [r for r in cleanup.found(Codex(), rollout(codex), every=True) if r.path.name == name]
    return one


@kinds
def test_a_preview_counts_what_waits_in_the_log_and_leaves_no_trace(codex, kind):
    """No file is made, and none gets other bytes or another time."""
    make(codex / "state_5.sqlite", kind)
    before = look(codex)
    (one,) = cleanup.found(Codex(), rollout(codex))
    assert (one.count, one.unclear, one.note, one.fault) == (OWN, 2, "", "")
    assert look(codex) == before
    assert GONE not in one.words + one.otherwise
    assert "state_5.sqlite holds 7 rows of the session (titles and first prompts)" in one.words


@kinds
def test_the_rows_of_the_session_go_and_all_others_stay(codex, tmp_path, kind):
    """Also what waits in the log, in free pages and in a full-text index; with all settings."""
    path = make(codex / "state_5.sqlite", kind)
    before = content(make(tmp_path / "same.sqlite"))
    assert GONE.encode() in b"".join(p.read_bytes() for p in codex.glob("state_5*"))
    mode = path.stat().st_mode
    assert cleanup.clean(residue(codex), tmp_path / "state") == OWN
    assert leftovers(codex, [GONE]) == []
    assert not [p for p in codex.glob("state_5*") if b"vermilion" in p.read_bytes()]
    after = content(path)
    for name, held in before.items():
        assert after[name] == [row for row in held if THREAD not in row or OTHER in row], name
    assert after["journal_mode"] == [("wal",)]
    assert path.stat().st_mode == mode
    assert sorted(p.name for p in codex.glob("*.sqlite*")) == ["state_5.sqlite"]
    assert list((tmp_path / "state/drafts").iterdir()) == []


def test_the_log_tells_of_the_change_with_both_hashes(codex, tmp_path):
    """The hash before is that of the database with its log in it."""
    make(codex / "state_5.sqlite")
    before = live_hash(codex / "state_5.sqlite")
    cleanup.clean(residue(codex), tmp_path, command="erase")
    (line,) = log.read(tmp_path)
    after = live_hash(codex / "state_5.sqlite")
    assert (line["action"], line["before"], line["after"]) == ("erase", before, after)
    assert before != after


def live_hash(path):
    import hashlib  # noqa: PLC0415 - here alone

    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_what_the_agent_itself_deleted_is_gone_from_the_pages(codex, tmp_path):
    """No row is left to count, and the text is there until the database is made compact."""
    path = make(codex / "state_5.sqlite")
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA secure_delete = OFF")
        for name in ("threads", "thread_items", "queued", "jobs", "words", "revisions"):
            key = {"threads": "id", "jobs": "job_key"}.get(name, "thread_id")
            database.execute(f"DELETE FROM {name} WHERE {key} = ?", (THREAD,))  # noqa: S608
        database.execute("DELETE FROM thread_spawn_edges WHERE child_thread_id = ?", (THREAD,))
        database.execute("DELETE FROM revisions")
    assert leftovers(codex, [GONE]) == [path]
    assert cleanup.clean(residue(codex), tmp_path) == 0
    assert leftovers(codex, [GONE]) == []


def test_a_full_text_index_with_its_text_elsewhere_is_made_anew(codex, tmp_path):
    """Its words are no rows, and the agent may have no trigger that keeps it true."""
    path = codex / "memories_1.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.executescript(
            "CREATE TABLE notes (n INTEGER PRIMARY KEY, thread_id TEXT, body TEXT);"
            "CREATE VIRTUAL TABLE found USING fts5(body, content='notes', content_rowid='n');"
        )
        for thread, text in ((THREAD, GONE), (OTHER, KEPT)):
            database.execute("INSERT INTO notes (thread_id, body) VALUES (?, ?)", (thread, text))
        database.execute("INSERT INTO found(found) VALUES ('rebuild')")
    assert b"vermilion" in path.read_bytes()
    assert cleanup.clean(residue(codex, path.name), tmp_path) == 1
    assert b"vermilion" not in path.read_bytes()
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT rowid FROM found WHERE found MATCH 'saffron'").fetchall()


def database_of(codex, script):
    path = codex / "memories_1.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.executescript(script)
    return path


def rows_of(path, *tables):
    with closing(sqlite3.connect(path)) as database:
        return [database.execute(f'SELECT * FROM "{name}"').fetchall() for name in tables]  # noqa: S608


NOTES = f"""
CREATE TABLE notes (n INTEGER PRIMARY KEY, thread_id TEXT, body TEXT);
CREATE TABLE totals (name TEXT, many INT);
INSERT INTO totals VALUES ('notes', 2);
INSERT INTO notes VALUES (1, '{THREAD}', '{GONE}'), (2, '{OTHER}', '{KEPT}');
"""  # noqa: S608 - made up here


@pytest.mark.parametrize(
    "deed",
    [
        "DELETE FROM notes WHERE n > OLD.n",
        "UPDATE totals SET many = many - 1",
        "INSERT INTO totals VALUES (OLD.body, 1)",
        "SELECT RAISE(ABORT, 'no')",
        "SELECT RAISE(IGNORE)",
    ],
)
def test_no_trigger_of_the_database_takes_anything_along(codex, tmp_path, deed):
    """It fires for the agent, and not for what is taken out; it is there afterwards as before."""
    trigger = f'CREATE TRIGGER "a ""deed" BEFORE DELETE ON notes BEGIN {deed}; END'
    path = database_of(codex, f"{NOTES}{trigger};")
    assert cleanup.clean(residue(codex, path.name), tmp_path) == 1
    assert rows_of(path, "notes", "totals") == [[(2, OTHER, KEPT)], [("notes", 2)]]
    with closing(sqlite3.connect(path)) as database:
        sql = "SELECT sql FROM sqlite_master WHERE type = 'trigger'"
        assert database.execute(sql).fetchall() == [(trigger,)]


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM notes WHERE n = 2",
        "UPDATE notes SET body = upper(body)",
        "INSERT INTO notes VALUES (3, 'x', 'y')",
        "UPDATE found SET body = 'y'",
        "DELETE FROM words_of",
        "DROP TABLE totals",
        "ALTER TABLE totals ADD COLUMN x",
    ],
)
def test_where_rows_of_others_would_change_nothing_does(codex, tmp_path, monkeypatch, change):
    """Whatever changed them: each table is compared with what it held, full-text ones too."""
    path = database_of(
        codex,
        f"{NOTES} CREATE VIRTUAL TABLE found USING fts5(body); INSERT INTO found VALUES ('z');"  # noqa: S608
        "CREATE VIRTUAL TABLE words USING fts5(x);"
        "CREATE TABLE words_of (w); INSERT INTO words_of VALUES (x'ff'), (NULL);",
    )
    before, delete = look(codex), rows._delete

    def worse(database, *given):
        gone = delete(database, *given)
        database.execute(change)
        return gone

    with monkeypatch.context() as patch:
        patch.setattr(rows, "_delete", worse)
        with pytest.raises(WriteError, match="rows of others would change; its rows are as") as no:
            cleanup.clean(residue(codex, path.name), tmp_path)
    assert "delete the session with the agent itself" in no.value.hint
    assert look(codex) == before
    assert cleanup.clean(residue(codex, path.name), tmp_path) == 1


def test_an_index_that_keeps_no_text_is_refused(codex, tmp_path):
    """Of its words nobody can tell which were the session's, and they would stay."""
    path = database_of(
        codex,
        f"{NOTES} CREATE VIRTUAL TABLE found USING fts5(body, content='');"  # noqa: S608
        "INSERT INTO found(rowid, body) SELECT n, body FROM notes;",
    )
    before = look(codex)
    with pytest.raises(WriteError, match="nobody can tell which words of an index are its"):
        cleanup.clean(residue(codex, path.name), tmp_path)
    assert look(codex) == before


def test_a_table_called_like_a_part_of_an_index_is_looked_at(codex, tmp_path):
    """Only those that the index has made itself are not."""
    path = database_of(
        codex,
        "CREATE VIRTUAL TABLE words USING fts5(x); CREATE TABLE words_said (thread_id, body);"  # noqa: S608
        f"INSERT INTO words_said VALUES ('{THREAD}', '{GONE}');",
    )
    assert cleanup.clean(residue(codex, path.name), tmp_path) == 1
    assert leftovers(codex, [GONE]) == []


def test_several_sessions_go_at_once(codex, tmp_path):
    """Each file is written once, and the log has one line of it."""
    make(codex / "state_5.sqlite", "bare")
    prompts(codex / "history.jsonl")
    other = rollout(codex).with_name(ROLLOUT.replace(THREAD, OTHER))
    told = [one for path in (rollout(codex), other) for one in cleanup.found(Codex(), path)]
    both = cleanup.together(told)
    assert [(one.path.name, one.count) for one in both] == [
        ("history.jsonl", 4),
        ("state_5.sqlite", 2 * OWN),
    ]
    assert [cleanup.clean(one, tmp_path) for one in both] == [4, 2 * OWN]
    assert len(list(log.read(tmp_path))) == 2
    assert leftovers(codex, [GONE, KEPT]) == []
    assert cleanup.found(Codex(), other) == []


def test_rows_that_depend_on_those_of_the_session_are_not_left_behind(codex, tmp_path):
    """Nor are they taken along: nobody knows whose they are."""
    path = codex / "goals_1.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.executescript(
            "CREATE TABLE goals (goal INTEGER PRIMARY KEY, thread_id TEXT UNIQUE);"
            "CREATE TABLE steps (goal REFERENCES goals ON DELETE CASCADE, text);"
            "INSERT INTO steps VALUES (1, 'x'), (7, 'y');"
        )
        database.execute("INSERT INTO goals VALUES (1, ?)", (THREAD,))
    before = look(codex)
    with pytest.raises(WriteError, match="depend on rows of the session; its rows are as before"):
        cleanup.clean(residue(codex, path.name), tmp_path)
    assert look(codex) == before
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("DELETE FROM steps WHERE goal = 1")
    assert cleanup.clean(residue(codex, path.name), tmp_path) == 1


HOLDER = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1])
if sys.argv[2] == "file":
    handle = open(sys.argv[1], "rb")
else:
    database.execute("SELECT count(*) FROM threads").fetchall()
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("how", ["file", "rows"])
@kinds
def test_a_database_that_another_process_has_open_is_not_touched(codex, tmp_path, kind, how):
    """Not even where it only reads, and not with --ignore-live."""
    path = make(codex / "state_5.sqlite", kind)
    command = [sys.executable, "-c", HOLDER, str(path), how]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "ready\n"
        before = look(codex)
        for flag in (False, True):
            with pytest.raises(LiveSessionError, match=f"process {holder.pid}"):
                cleanup.clean(residue(codex), tmp_path, ignore_live=flag)
            with pytest.raises(LiveSessionError, match="has it open"):
                cleanup.clean(residue(codex), tmp_path, ignore_live=flag, whole=True)
        assert look(codex) == before
        holder.communicate()


def test_a_lock_is_enough_where_nobody_can_see_who_has_it_open(codex, tmp_path, monkeypatch):
    """SQLite itself refuses, and the rows are as before."""
    path = make(codex / "state_5.sqlite")
    before = content(path)
    monkeypatch.setattr(cleanup, "find_user", lambda _: None)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        database.execute("DELETE FROM jobs")
        with pytest.raises(LiveSessionError):
            cleanup.clean(residue(codex), tmp_path)
        database.execute("ROLLBACK")
    assert content(path) == before


def test_who_opens_the_database_meanwhile_is_seen(codex, tmp_path, monkeypatch):
    """Whenever it comes: nothing is put in the place of what somebody uses."""
    path = make(codex / "state_5.sqlite")
    before, asked = path.read_bytes(), 0

    def user(last: int, _path: Path) -> str | None:
        nonlocal asked
        asked += 1
        return "process 7 has it open" if asked >= last else None

    for last in range(1, 9):
        asked = 0
        monkeypatch.setattr(cleanup, "find_user", partial(user, last))
        try:
            cleanup.clean(residue(codex), tmp_path)
        except LiveSessionError:
            assert path.read_bytes() == before
        else:
            break
    assert last > 3


def test_nothing_is_taken_out_while_codex_runs(codex, tmp_path, monkeypatch):
    """It may open its databases at any moment; --ignore-live takes the risk."""
    make(codex / "state_5.sqlite")
    monkeypatch.setattr(cleanup, "processes", lambda _: iter([SimpleNamespace(pid=7)]))
    with pytest.raises(LiveSessionError, match="codex runs \\(process 7\\)"):
        cleanup.clean(residue(codex), tmp_path)
    assert cleanup.clean(residue(codex), tmp_path, ignore_live=True) == OWN


def test_who_reads_a_file_is_seen(tmp_path):
    """As a reader of a database must be, and this process is not."""
    path = tmp_path / "one"
    path.write_bytes(b"")
    assert live.find_user(path) is None
    with path.open("rb"):
        assert live.find_user(path) is None


def test_a_database_that_is_damaged_is_told_of_and_stays(codex, tmp_path):
    """Cut, overwritten, of another kind: a clear error each time, and the same bytes."""
    path = make(codex / "state_5.sqlite")
    whole = path.read_bytes()
    for data in (
        whole[: len(whole) // 2],
        whole[:50],
        b"no database",
        random.Random(1).randbytes(9000),
        whole[:4096] + b"\xff" * (len(whole) - 4096),
        b"\0" * 100 + whole[100:],
    ):
        path.write_bytes(data)
        before = look(codex)
        one = residue(codex)
        assert one.fault == "" or "damaged" in one.fault
        with pytest.raises(InputError, match="damaged"):
            cleanup.clean(one, tmp_path)
        assert look(codex) == before


def test_a_damaged_database_does_not_get_what_waits_in_its_log(codex, tmp_path):
    """Who mends it may need both as they are."""
    path = make(codex / "state_5.sqlite", "again")
    data = bytearray(path.read_bytes())
    data[len(data) // 2 :] = bytes(len(data) - len(data) // 2)
    path.write_bytes(data)
    before = look(codex)
    with pytest.raises(InputError, match="damaged"):
        cleanup.clean(residue(codex), tmp_path)
    assert look(codex) == before


def no_file(path, kind):
    """Something in the place of a file that nobody can read to its end."""
    for one in path.parent.glob(f"{path.name}*"):
        one.unlink()
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as made, contextlib.chdir(path.parent):
            made.bind(path.name)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")


@pytest.mark.parametrize("kind", ["fifo", "socket", "device", "folder"])
@pytest.mark.parametrize("name", ["history.jsonl", "state_5.sqlite"])
def test_what_is_no_file_is_told_of_and_not_waited_for(codex, tmp_path, name, kind):
    prompts(codex / "history.jsonl")
    make(codex / "state_5.sqlite")
    known = residue(codex, name)
    no_file(codex / name, kind)
    assert (
        f"cannot {'open' if 'l' in name[-1] else 'read'} {codex / name}: "
        in residue(codex, name).fault
    )
    for whole in (False, True):
        with pytest.raises((InputError, WriteError), match=r"^cannot "):
            cleanup.clean(known, tmp_path, whole=whole)
    assert os.path.lexists(codex / name)


@pytest.mark.parametrize("end", ["-wal", "-shm"])
def test_a_log_that_is_no_file_is_told_of_and_not_waited_for(codex, tmp_path, end):
    path = make(codex / "state_5.sqlite")
    known, before = residue(codex), path.read_bytes()
    os.mkfifo(f"{path}{end}")
    assert "no regular file" in residue(codex).fault
    with pytest.raises((InputError, WriteError), match="no regular file"):
        cleanup.clean(known, tmp_path)
    assert path.read_bytes() == before


def test_any_bytes_raise_no_other_error_and_a_failure_changes_nothing(codex, tmp_path):
    """The database, or its log, is damaged anywhere."""
    path = make(codex / "state_5.sqlite", "bare")
    log_path = path.with_name("state_5.sqlite-wal")
    good = {p: p.read_bytes() for p in (path, log_path)}
    rng = random.Random(7)
    failed = 0
    for _ in range(120):
        for one, data in good.items():
            damaged = bytearray(data)
            for _ in range(rng.randrange(4)):
                at = rng.choice([rng.randrange(len(data)), rng.randrange(128)])
                damaged[at : at + rng.randrange(9)] = rng.randbytes(rng.randrange(9))
            one.write_bytes(damaged[: rng.choice([len(data), rng.randrange(len(data))])])
        for left in codex.glob("*-shm"):
            left.unlink()
        before = look(codex)
        cleanup.found(Codex(), rollout(codex))
        assert look(codex) == before
        with suppress(SesstoolError):
            cleanup.clean(residue(codex), tmp_path)
            continue
        failed += 1
        # What SQLite may have done by then is to bring its own log home.
        assert path.read_bytes() == before[path][-1] or not log_path.exists()
    assert failed > 20


@pytest.mark.parametrize("size", range(0, 1 << 18, 30_000))
def test_a_disk_that_is_full_leaves_every_row(codex, tmp_path, size):
    """At whatever file the room ends."""
    path = make(codex / "state_5.sqlite")
    (codex / "state_5.sqlite").chmod(0o600)
    before = path.read_bytes()
    one, state = residue(codex), tmp_path / "state"

    def full() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def act() -> int:
        try:
            return cleanup.clean(one, state)
        except WriteError as failure:
            print(failure.message, failure.hint)  # noqa: T201 - read by the parent
            return 99

    code, said = forked(act, full)
    if code == OWN:
        assert GONE.encode() not in path.read_bytes()
    else:
        assert path.read_bytes() == before
        assert "as before" in said or "cannot" in said
        assert not [p for p in codex.glob("*-wal") if p.stat().st_size]
        drafts = state / "drafts"
        assert not drafts.exists() or list(drafts.iterdir()) == []
    assert size > 0 or code != OWN


@pytest.mark.parametrize("name", ["state_5.sqlite", "history.jsonl"])
def test_a_kill_at_any_step_leaves_the_old_file_or_the_new_one(codex, tmp_path, monkeypatch, name):
    """And the next run brings it to its end, with no draft left."""
    monkeypatch.setattr(os, "fsync", os.fstat)
    state = tmp_path / "state"
    steps = ends = 0
    for step in range(1, 200):
        path = codex / name
        prompts(path) if name.endswith("jsonl") else make(path)
        old = path.read_bytes()
        one = residue(codex, name)
        ended = forked(partial(cleanup.clean, one, state), at_call(step, kill))[0]
        if ended is not None:
            break
        steps += 1
        same = path.read_bytes() == old
        ends += not same
        assert same or GONE.encode() not in path.read_bytes()
        for left in cleanup.found(Codex(), rollout(codex)):
            cleanup.clean(left, state)
        assert GONE.encode() not in path.read_bytes()
        assert [p.name for p in codex.iterdir() if p.name.startswith(".sesstool")] == []
        # The next line that is added takes the place of one that was cut off.
        assert not [told for told in log.verify(state) if "cut off" not in told]
    assert ended == {"state_5.sqlite": OWN, "history.jsonl": 2}[name]
    assert steps > ends > 0


def test_an_error_at_any_step_leaves_every_row(codex, tmp_path):
    """A read-only disk, for one; what fails behind the change says that it was made."""
    state, failed = tmp_path / "state", 0
    for step in range(1, 50):
        path = make(codex / "state_5.sqlite")
        old, one = path.read_bytes(), residue(codex)

        def act(one=one) -> int:
            try:
                return cleanup.clean(one, state)
            except SesstoolError as failure:
                print(failure.message)  # noqa: T201 - read by the parent
                return 99

        code, said = forked(act, at_call(step, error(errno.EROFS)))
        if code == OWN:
            continue  # it was to free space, or there are no more steps
        assert code == 99, said
        failed += 1
        assert path.read_bytes() == old or "was changed" in said or "did not confirm" in said
    assert failed > 10


def prompts(path, *more):
    lines = [
        b'{"session_id":"%s","ts":1,"text":"%s"}' % (THREAD.encode(), GONE.encode()),
        b' {"text": "%s",  "session_id" :"%s"}\r' % (KEPT.encode(), OTHER.encode()),
        b'{"conversation_id":"%s","text":"older"}' % THREAD.encode(),
        b'{"session_id":"%s","text":"it was %s"}' % (OTHER.encode(), THREAD.encode()),
        *more,
    ]
    path.write_bytes(b"\n".join(lines) + b"\n")
    os.utime(path, ns=(1, 1_700_000_000_000_000_000))
    return lines


def test_the_lines_of_the_session_go_and_all_others_keep_their_bytes(codex, tmp_path):
    """A line that is glued or torn stays, and is told of; so do blank ones and other values."""
    path = codex / "history.jsonl"
    glued = b'{"session_id":"%s"}{"session_id":"%s"}' % (THREAD.encode(), OTHER.encode())
    torn = b'{"session_id":"%s","te' % THREAD.encode()
    lines = prompts(path, glued, b"", b"[1]", b'{"x":"\\ud83d"}', torn)
    (one,) = cleanup.found(Codex(), rollout(codex))
    assert (one.count, one.unclear) == (2, 2)
    assert one.words.endswith("; 2 that cannot be read stay, and may be of the session")
    assert cleanup.clean(one, tmp_path) == 2
    assert path.read_bytes().split(b"\n") == [lines[1], lines[3], *lines[4:], b""]
    assert path.stat().st_mtime_ns == 1_700_000_000_000_000_000
    assert [line["action"] for line in log.read(tmp_path)] == ["prune"]


def test_a_file_without_lines_of_the_session_is_not_written(codex, tmp_path):
    """Nor does the log tell of it."""
    prompts(codex / "history.jsonl")
    assert cleanup.clean(residue(codex, "history.jsonl"), tmp_path) == 2
    before = look(codex)
    assert cleanup.clean(residue(codex, "history.jsonl"), tmp_path) == 0
    assert look(codex) == before
    assert len(list(log.read(tmp_path))) == 1


def test_a_history_that_is_written_to_is_refused(codex, tmp_path):
    """By an open descriptor, and by its time."""
    path = codex / "history.jsonl"
    prompts(path)
    command = [sys.executable, "-c", "import sys; f = open(sys.argv[1], 'a'); print(1); input()"]
    with subprocess.Popen(
        ["stdbuf", "-oL", *command, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        holder.stdout.readline()
        before = look(codex)
        with pytest.raises(LiveSessionError, match="open for writing"):
            cleanup.clean(residue(codex, path.name), tmp_path)
        assert look(codex) == before
        holder.communicate(b"\n")
    os.utime(path)
    with pytest.raises(LiveSessionError, match="last written"):
        cleanup.clean(residue(codex, path.name), tmp_path, recent_seconds=60)


def test_the_titles_of_codex_go_by_their_id(codex, tmp_path):
    """session_index.jsonl, in which a later line counts more."""
    path = codex / "session_index.jsonl"
    rows_ = [{"id": one, "thread_name": f"n{n}"} for n, one in enumerate([THREAD, OTHER, THREAD])]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows_))
    assert cleanup.clean(residue(codex, path.name), tmp_path) == 2
    assert path.read_text() == json.dumps(rows_[1]) + "\n"


def test_the_prompts_of_claude_code_go_by_their_session(home, tmp_path):
    """Prompts of before 2.0 name no session, and stay."""
    session = home / ".claude/projects/-srv-beacon" / f"{SESSION}.jsonl"
    session.parent.mkdir(parents=True)
    session.write_text("{}\n")
    path = home / ".claude/history.jsonl"
    told = [{"display": GONE, "sessionId": SESSION}, {"display": KEPT, "project": "/x"}]
    path.write_text("".join(json.dumps(one) + "\n" for one in told))
    (one,) = cleanup.found(ClaudeCode(), session)
    assert cleanup.clean(one, tmp_path) == 1
    assert path.read_text() == json.dumps(told[1]) + "\n"


@kinds
def test_a_database_that_codex_makes_anew_can_be_deleted_whole(codex, tmp_path, kind):
    """With the files beside it, and the words say which and what is lost."""
    path = make(codex / "thread_history_1.sqlite", kind)
    one = residue(codex, path.name)
    for end in ("", "-wal", "-shm"):
        assert f"{path}{end}" in one.otherwise
    assert one.otherwise.endswith("lost for good would be: nothing")
    cleanup.clean(one, tmp_path, whole=True)
    assert list(codex.glob("*.sqlite*")) == []
    assert {line["after"] for line in log.read(tmp_path)} == {""}


def test_what_codex_would_not_make_anew_is_not_deleted(codex, tmp_path):
    """Memories, goals and what waits to be sent stand nowhere else."""
    make(codex / "goals_1.sqlite")
    one = residue(codex, "goals_1.sqlite")
    assert one.otherwise == ""
    before = look(codex)
    with pytest.raises(WriteError, match="would not make it anew"):
        cleanup.clean(one, tmp_path, whole=True)
    assert look(codex) == before


def test_a_large_database_says_that_its_log_is_not_counted(codex, monkeypatch):
    """Memory is bounded, and what is not looked at is told."""
    make(codex / "state_5.sqlite", "bare")
    monkeypatch.setattr(rows, "_MEMORY", 1000)
    one = residue(codex)
    assert (one.count, one.note) == (0, "not counted is what waits in state_5.sqlite-wal")
    assert one in cleanup.found(Codex(), rollout(codex))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a disk")
@kinds
def test_a_disk_that_is_read_only(codex, tmp_path, kind):
    """A preview works, and nothing else does; the error says what to do."""
    disk = codex / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", disk], check=False).returncode:
        pytest.skip("no disk may be mounted here")
    try:
        make(disk / "state_5.sqlite", kind)
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        (codex / "state_5.sqlite").symlink_to(disk / "state_5.sqlite")
        before = look(disk)
        one = residue(codex)
        assert one.count == OWN
        (codex / "state_5.sqlite").unlink()
        one = Residue(one.trace._replace(path=disk / "state_5.sqlite"))
        with pytest.raises(WriteError) as failure:
            cleanup.clean(one, tmp_path)
        assert failure.value.hint
        assert look(disk) == before
    finally:
        subprocess.run(["umount", disk], check=True)


def test_the_places_beyond_reach_are_named():
    """Those of the agent, and those of every machine."""
    told = cleanup.places(Codex())
    assert told[0].startswith("Codex: memories")
    assert any("CODEX_SQLITE_HOME" in place for place in told)
    assert any("backups" in place for place in told)
    assert any("paste-cache" in place for place in cleanup.places(ClaudeCode()))


def homes(shared):
    return sorted((shared / "corpus/real-clients/codex").glob("*/*/home/.codex"))


def test_homes_that_the_real_codex_made(shared, tmp_path):
    """A session goes from each without a trace; the rows of others stay, log or no log."""
    seen = rows_gone = 0
    for n, real in enumerate(homes(shared)):
        copy = tmp_path / str(n) / ".codex"
        shutil.copytree(real, copy)
        subprocess.run(["chmod", "-R", "u+rw", copy], check=True)
        for session in sorted(copy.glob("sessions/**/*.jsonl"))[:1]:
            said = first_prompt(session)
            before = look(copy)
            told = cleanup.found(Codex(), session)
            assert look(copy) == before
            assert not [one.fault for one in told if one.fault]
            thread = Codex().session_id(session)
            others = {one.path: rows_of_others(one.path, thread) for one in told}
            rows_gone += sum(cleanup.clean(one, tmp_path / "state") for one in told)
            session.unlink()
            for one in told:
                assert rows_of_others(one.path, thread) == others[one.path]
            left = leftovers(copy, [said]) if said else []
            assert [p for p in left if p.suffix != ".jsonl"] == []
            seen += bool(told)
    assert seen > 15
    assert rows_gone > 20


def first_prompt(session):
    for line in session.read_bytes().splitlines():
        with suppress(ValueError):
            payload = json.loads(line).get("payload", {})
            if payload.get("type") == "user_message":
                return payload["message"]
    return ""


def rows_of_others(path, thread):
    """The rows of a database that do not name a thread; of a copy, for opening changes it."""
    copy = Path(f"{path}.copy")
    for end in ("", "-wal"):
        source = Path(f"{path}{end}")
        if source.exists():
            Path(f"{copy}{end}").write_bytes(source.read_bytes())
    found = {
        name: [row for row in held if thread not in row] for name, held in content(copy).items()
    }
    for left in path.parent.glob("*.copy*"):
        left.unlink()
    return found
