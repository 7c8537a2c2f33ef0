"""Which sessions there are: found by their names, in every home, each once, none dropped."""

from __future__ import annotations

import csv
import io
import os
import socket
import tracemalloc
from pathlib import Path

import pytest

from sesstool.formats.registry import FORMATS
from sesstool.library.discover import Item, _item, _Place, discover
from tests.conftest import ROLLOUT, SESSION, THREAD

PI = f"2026-03-01T06-00-00-000Z_{THREAD}.jsonl"
CLAUDE = f"{SESSION}.jsonl"


def put(path: Path, data: bytes = b"{}\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def found(*paths: Path) -> dict[str, Item]:
    """The items by their names, of which none may come twice."""
    items = list(discover(paths or None))
    assert len({item.path for item in items}) == len(items)
    return {item.name: item for item in items}


def told(item: Item) -> tuple[str, str, str, str, str]:
    return item.format, item.project, item.owner, item.id, item.packed


def agents(home: Path) -> dict[str, tuple[str, str, str, str, str]]:
    """Homes of three agents with all that lies there, and what is told of each file."""
    claude, codex = home / ".claude" / "projects" / "-srv-beacon", home / ".codex"
    put(claude / CLAUDE)
    put(claude / SESSION / "subagents" / "agent-a1.jsonl")
    put(claude / SESSION / "tool-results" / "x.txt")
    put(claude / "agent-b2.jsonl")
    put(claude / "memory" / "notes.md")
    put(codex / "sessions" / "2026" / "03" / "01" / ROLLOUT)
    put(codex / "archived_sessions" / f"{ROLLOUT}.zst")
    put(codex / "history.jsonl")
    put(home / ".pi" / "agent" / "sessions" / "--srv-beacon--" / f"{PI}.age")
    put(home / ".openclaw" / "agents" / "main" / "sessions" / CLAUDE.replace("1.", "2."))
    return {
        CLAUDE: ("claude-code", "-srv-beacon", "", SESSION, ""),
        "agent-a1.jsonl": ("claude-code", "-srv-beacon", SESSION, "", ""),
        "agent-b2.jsonl": ("claude-code", "-srv-beacon", "", "", ""),
        ROLLOUT: ("codex", "", "", THREAD, ""),
        f"{ROLLOUT}.zst": ("codex", "", "", THREAD, "zst"),
        f"{PI}.age": ("pi", "--srv-beacon--", "", THREAD, "age"),
        CLAUDE.replace("1.", "2."): ("pi", "main", "", f"{SESSION[:-1]}2", ""),
    }


def test_the_homes_of_all_agents_are_looked_through(home):
    """Each file has its agent, its project, and the session that it belongs to."""
    expected = agents(home)
    items = found()
    assert {name: told(item) for name, item in items.items()} == expected
    parts = {name for name, item in items.items() if item.is_part}
    assert parts == {"agent-a1.jsonl", "agent-b2.jsonl"}


@pytest.mark.usefixtures("home")
def test_nobody_has_used_an_agent_here():
    """There is nothing to list, and no trouble."""
    assert found() == {}


@pytest.mark.parametrize(
    ("variable", "inside", "name", "project"),
    [
        ("CLAUDE_CONFIG_DIR", "projects/-srv-lamp", CLAUDE, "-srv-lamp"),
        ("CODEX_HOME", "sessions/2026/03/01", ROLLOUT, ""),
        ("PI_CODING_AGENT_DIR", "sessions/--srv-lamp--", PI, "--srv-lamp--"),
    ],
)
@pytest.mark.parametrize("linked", [False, True])
def test_a_home_that_a_variable_names(
    tmp_path, monkeypatch, variable, inside, name, project, linked
):
    """Also where the variable names a link to it."""
    home = tmp_path / "elsewhere"
    put(home / inside / name)
    if linked:
        (tmp_path / "link").symlink_to(home)
        home = tmp_path / "link"
    monkeypatch.setenv(variable, str(home))
    (item,) = found().values()
    assert (item.name, item.project) == (name, project)
    assert item.format in {form.name for form in FORMATS if list(form.folders())}


def test_a_folder_outside_of_all_homes(tmp_path):
    """Its name stands for the project, and only the files know their formats."""
    put(tmp_path / "work" / "talk.jsonl")
    put(tmp_path / "work" / "notes.txt")
    put(tmp_path / "lamp" / "memory" / "transcripts" / "transcript-session-1.jsonl.gz")
    items = found(tmp_path)
    assert told(items["talk.jsonl"]) == ("", "work", "", "", "")
    expected = ("mycodeagent", str(tmp_path / "lamp"), "", "session-1", "gz")
    assert told(items["transcript-session-1.jsonl.gz"]) == expected
    assert len(items) == 2


def test_size_and_time_are_those_of_the_file(tmp_path):
    """In bytes, and in nanoseconds."""
    path = put(tmp_path / "talk.jsonl", b"12345")
    os.utime(path, ns=(1, 1_772_344_800_123_456_789))
    (item,) = found(tmp_path).values()
    assert (item.path, item.size, item.mtime) == (path, 5, 1_772_344_800_123_456_789)


def test_a_file_that_is_named_is_taken_whatever_it_is_called(tmp_path, monkeypatch):
    """Relative paths stay so; one that is not there is told."""
    put(tmp_path / "export.txt")
    monkeypatch.chdir(tmp_path)
    items = found(Path("export.txt"), Path("lost.jsonl"))
    assert items["export.txt"].path == Path("export.txt")
    assert items["export.txt"].project == tmp_path.name
    assert items["lost.jsonl"].trouble == "there is no such file"


def test_nothing_comes_twice(home):
    """Neither from folders inside each other nor from files that are named beside them."""
    expected = set(agents(home)) | {"history.jsonl"}
    session = home / ".claude" / "projects" / "-srv-beacon" / CLAUDE
    assert set(found(session, home / ".claude", home, session, session.parent)) == expected
    assert set(found(home, session)) == expected


def test_no_file_is_opened(home, monkeypatch):
    """However many there are."""
    expected = set(agents(home))

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a file is opened")

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(io, "open", refuse)
    assert set(found()) == expected


def test_what_is_no_file_is_told(home):
    """Links are looked at through, but for folders; pipes and sockets are never opened."""
    folder = put(home / ".claude" / "projects" / "-srv-beacon" / CLAUDE).parent
    (folder / "dir.jsonl").mkdir()
    (folder / "linked.jsonl").symlink_to(CLAUDE)
    (folder / "lost.jsonl").symlink_to("nowhere")
    (folder / "away.jsonl").symlink_to(home)
    (folder.parent / "away").symlink_to(home)
    os.mkfifo(folder / "pipe.jsonl")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(folder / "s.jsonl"))
        troubles = {name: item.trouble for name, item in found().items()}
    link = "it is a link to a folder, which is not followed: give the folder itself"
    no_file = "it is a pipe, a socket or a device, and no file"
    assert troubles == {
        CLAUDE: "",
        "linked.jsonl": "",
        "lost.jsonl": "it is a link to nothing",
        "away.jsonl": link,
        "away": link,
        "pipe.jsonl": no_file,
        "s.jsonl": no_file,
    }


def test_a_folder_that_cannot_be_listed_is_told(home, monkeypatch):
    """The others are listed all the same."""
    expected = agents(home)
    hidden = str(home / ".claude" / "projects" / "-srv-beacon" / SESSION / "subagents")
    scandir = os.scandir

    def refuse(folder: str) -> object:
        if str(folder) == hidden:
            raise PermissionError(13, "Permission denied", folder)
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", refuse)
    items = found()
    assert set(items) == set(expected) - {"agent-a1.jsonl"} | {"subagents"}
    assert items["subagents"].trouble == "it cannot be listed: permission denied"
    assert str(items["subagents"].path) == hidden


def test_a_file_that_goes_or_hides_while_it_is_looked_at(tmp_path):
    """One that is gone is none; one that cannot be looked at is told."""

    def fail(error: OSError) -> Item | None:
        def look() -> os.stat_result:
            raise error

        return _item(look, str(tmp_path), "a.jsonl", _Place("pi"))

    assert fail(FileNotFoundError()) is None
    hidden = fail(PermissionError(13, "Permission denied"))
    assert hidden is not None
    assert hidden.trouble == "it cannot be looked at: permission denied"
    assert hidden.format == "pi"


def test_what_a_killed_run_left_is_no_session(tmp_path):
    """Its names are sesstool's own."""
    put(tmp_path / ".sesstool-ab12.jsonl")
    put(tmp_path / ".hidden.jsonl")
    assert set(found(tmp_path)) == {".hidden.jsonl"}


def test_names_that_nobody_would_give(tmp_path):
    """Bytes that are no text, and characters that act on a terminal, are names like others."""
    names = [
        b"\xff\xfe.jsonl",
        b"a\x1b[31m\nb.jsonl",
        "\u202ex.jsonl".encode(),
        b".jsonl",
        b"-rf.jsonl",
    ]
    for name in names:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_bytes(b"{}\n")
    assert {os.fsencode(name) for name in found(tmp_path)} == set(names)


def test_an_item_is_small(tmp_path):
    """100,000 sessions take less than 60 MB."""
    count = 2000
    for number in range(count):
        (tmp_path / f"{number:08x}-0000-4000-8000-000000000001.jsonl").touch()
    tracemalloc.start()
    items = list(discover([tmp_path]))
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(items) == count
    assert held / count < 600


def test_the_homes_that_real_clients_made(shared):
    """Every session that the index names is found there, with its agent."""
    top = shared / "corpus" / "real-clients"
    with (top / "INDEX.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    names = {"copilot": "copilot-cli", "gemini-cli": "gemini", "qwen-code": "qwen"}
    wanted = {
        row["file"]: (names.get(row["client"], row["client"]), int(row["bytes"]))
        for row in rows
        if not row["file"].endswith(".db")  # a database of OpenCode
    }
    items = {str(item.path.relative_to(top)): item for item in discover([top])}
    assert {
        name: (items[name].format, items[name].size) for name in wanted if name in items
    } == wanted
    owners = {
        item.path.parents[1].name == item.owner
        for name, item in items.items()
        if item.format == "claude-code" and "/subagents/" in name
    }
    assert owners == {True}
    assert not any(item.trouble for item in items.values())
