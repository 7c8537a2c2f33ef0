"""What a session tells of the world beside it: files and to-dos, in constant memory."""

import pytest

from sesstool.formats.claude_code import ClaudeCode
from sesstool.formats.codex import Codex
from sesstool.formats.events import Meaning, ToolCall
from sesstool.store import touched
from sesstool.store.touched import Touched


def follow(*calls, form=None, cwd=""):
    """Follow records with a call each: tool and arguments."""
    seen = Touched(form or ClaudeCode(), "/srv")
    for line, (name, given) in enumerate(calls, 1):
        seen.see(Meaning([ToolCall("", "id", name, given)], cwd=cwd), line)
    return seen


def test_files_that_are_read_and_changed_are_told_once_each():
    """However they are spelled, in the order of their paths."""
    seen = follow(
        ("Read", {"file_path": "oil/../lamp"}),
        ("Edit", {"file_path": "/srv/lamp"}),
        ("Bash", {"command": "cat bell"}),
        ("Write", {"file_path": "wick"}),
        ("Grep", {"path": "/srv/deck"}),
    )
    assert seen.files == ["/srv/bell", "/srv/lamp", "/srv/wick"]
    assert not seen.more


def test_paths_count_from_the_folder_that_the_record_tells():
    """Where one tells none, from that of the one before it; the first is the session's."""
    seen = Touched(ClaudeCode(), "/srv")
    for n, cwd in enumerate(["", "/oil", "", "/deck"]):
        seen.see(Meaning([ToolCall("", "", "Read", {"file_path": f"{n}"})], cwd=cwd), n)
    assert seen.files == ["/deck/3", "/oil/1", "/oil/2", "/srv/0"]
    assert seen.cwd == "/oil"


def test_a_patch_and_a_folder_of_a_call():
    """Codex tells the folder of each command."""
    patch = "*** Begin Patch\n*** Update File: lamp\n@@\n-a\n+b\n*** End Patch\n"
    seen = follow(
        ("shell", {"command": ["apply_patch", patch], "workdir": "/deck"}),
        ("exec_command", '{"cmd": "cat log", "workdir": "oil"}'),
        form=Codex(),
        cwd="/srv",
    )
    assert seen.files == ["/deck/lamp", "/srv/oil/log"]


def test_the_newest_files_are_kept(monkeypatch):
    """A file that is touched again is new again; that older ones are left out is told."""
    monkeypatch.setattr(touched, "MOST", 2)
    seen = follow(*(("Read", {"file_path": name}) for name in "abac"))
    assert seen.files == ["/srv/a", "/srv/c"]
    assert seen.more
    seen = follow(("Read", {"file_path": "x" * 5000}))
    assert (seen.files, seen.more) == ([], False)


def item(status=""):
    return {"content": "trim the wick", "status": status}


@pytest.mark.parametrize(
    ("calls", "count"),
    [
        ([("TodoWrite", {"todos": [item("pending"), item("completed")]})], 1),
        ([("update_plan", '{"plan": [{"step": "a", "status": "in_progress"}, {"step": "b"}]}')], 2),
        ([("write_todos", {"todos": [item("cancelled"), item("Done")]})], 0),
        ([("TodoWrite", {"todos": '[{"content": "a", "status": "pending"}]'})], 1),
        ([("TodoWrite", {"todos": 2 * [item()]}), ("TodoWrite", {"todos": [item()]})], 1),
        ([("TodoWrite", {"todos": [item()]}), ("TodoWrite", {"todos": []})], 0),
        ([("TodoWrite", {"todos": "x"})], 0),
        ([("TodoWrite", {"todos": [None, 1, "x", item(1)]})], 1),
        ([("TodoWrite", {"todos": [item()]}), ("TaskCreate", {}), ("TaskCreate", {})], 2),
        ([("TaskCreate", {}), ("TaskCreate", {}), ("TodoWrite", {"todos": [item()]})], 1),
        ([("TaskCreate", {}), ("TaskCreate", {})], 2),
        ([("TaskCreate", {}), ("TaskUpdate", {"taskId": "1", "status": "completed"})], 0),
        (
            [("TaskCreate", {})]
            + 2 * [("TaskUpdate", {"taskId": "1", "status": "completed"})]
            + [("TaskUpdate", {"taskId": "1", "status": "in_progress"})],
            1,
        ),
        ([("TaskCreate", {}), ("TaskUpdate", {"taskId": [1], "status": ["completed"]})], 1),
        ([("TaskUpdate", {"taskId": 1, "status": "deleted"})], 0),
    ],
)
def test_open_todos_are_counted(calls, count):
    """The newest list counts; tasks are made and closed one by one."""
    seen = follow(*calls)
    assert (seen.todos, seen.line) == (count, len(calls))


def test_a_session_without_todos_has_none():
    """No line tells of any."""
    seen = follow(("Bash", {"command": "ls"}))
    assert (seen.todos, seen.line) == (0, 0)


def test_any_number_of_tasks_takes_bounded_memory(monkeypatch):
    """What goes beyond it stays open."""
    monkeypatch.setattr(touched, "MOST", 2)
    closing = [("TaskUpdate", {"taskId": str(n), "status": "completed"}) for n in range(4)]
    seen = follow(*(4 * [("TaskCreate", {})]), *closing)
    assert seen.todos == 2
