"""Qwen Code, Kimi CLI, Factory Droid, Grok CLI, Cursor: what records mean, and what homes hold."""

from __future__ import annotations

import json
import os
from hashlib import md5

import pytest

from sesstool.formats.events import (
    Checkpoint,
    Message,
    Meta,
    StateChange,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
)
from sesstool.formats.registry import by_name
from sesstool.formats.terms import Evidence, Origin, Question
from sesstool.library.discover import discover
from tests.conftest import codes, dump, jsonl, loads, look, mend, read

QWEN, KIMI, DROID, GROK, CURSOR = map(by_name, ("qwen", "kimi", "droid", "grok", "cursor"))
ID = "0a1b2c3d-0021-4000-8000-00000000beac"
HI = [{"text": "hi"}]
TEXT = [{"type": "text", "text": "hi"}]


def qwen(kind: str, parts: object = None, **more: object) -> dict[str, object]:
    message = {} if parts is None else {"message": {"role": "x", "parts": parts}}
    return {"uuid": "u", "parentUuid": None, "type": kind, **message, **more}


def droid(role: str, *content: object, **more: object) -> dict[str, object]:
    return {"type": "message", "id": "m", "message": {"role": role, "content": [*content]}, **more}


@pytest.mark.parametrize(
    ("form", "record", "expected"),
    [
        (QWEN, qwen("user", HI), [Message("/message/parts", "user", HI, prompt=True)]),
        (QWEN, qwen("user", HI, subtype="notification"), [Message("/message/parts", "user", HI)]),
        (
            QWEN,
            qwen("user", HI, subtype="realtime_message"),
            [Message("/message/parts", "user", HI, hidden=True)],
        ),
        (QWEN, qwen("system", subtype="ui_telemetry"), [Meta("", "ui_telemetry")]),
        (QWEN, qwen("beacon"), [Unknown("", "beacon")]),
        (
            QWEN,
            qwen("tool_result", [{"functionResponse": {"id": "c", "response": {"error": "no"}}}]),
            [ToolResult("/message/parts/0", "c", "no", error=True)],
        ),
        (
            QWEN,
            qwen("system", subtype="chat_compression", systemPayload={}),
            [Meta("", "chat_compression")],
        ),
        (KIMI, {"role": "_checkpoint", "id": 1}, [Meta("", "checkpoint")]),
        (KIMI, {"role": "_beacon"}, [Unknown("", "_beacon")]),
        (KIMI, {"role": "tool", "content": "x"}, [ToolResult("", "", "x")]),
        (
            KIMI,
            {"role": "user", "content": "<system>CHECKPOINT 1</system>"},
            [Message("/content", "user", "<system>CHECKPOINT 1</system>")],
        ),
        (
            KIMI,
            {"role": "assistant", "content": [{"type": "think", "think": "hm"}]},
            [
                Thinking("/content/0"),
                Message("/content", "assistant", [{"type": "think", "think": "hm"}]),
            ],
        ),
        (DROID, {"type": "session_start", "id": "s"}, [Meta("", "session_start")]),
        (DROID, {"type": "beacon"}, [Unknown("", "beacon")]),
        (DROID, droid("user", *TEXT), [Message("/message/content", "user", TEXT, prompt=True)]),
        (GROK, {"type": "system", "content": "x"}, [Meta("", "system")]),
        (GROK, {"type": "reasoning", "summary": "x"}, [Thinking("")]),
        (
            GROK,
            {"type": "user", "content": "x", "synthetic_reason": "reminder"},
            [Message("/content", "user", "x")],
        ),
        (CURSOR, {"type": "turn_ended"}, [Meta("", "turn_ended")]),
        (CURSOR, {"type": "beacon"}, [Unknown("", "beacon")]),
    ],
)
def test_meaning(form, record, expected):
    """Each kind of record has its meaning."""
    assert form.meaning(record).events == expected


def test_the_parts_of_an_answer_of_qwen_code():
    """Thoughts and calls are found; arguments must be an object."""
    call = {"functionCall": {"id": "c", "name": "edit", "args": "{}"}}
    found = QWEN.meaning(qwen("assistant", [{"text": "hm", "thought": True}, call])).events
    assert found[0] == Thinking("/message/parts/0")
    assert isinstance(found[1], ToolCall)
    assert (found[1].id, found[1].fault) == ("c", "its arguments are no object")


def test_a_compaction_of_qwen_code_holds_a_history():
    """It is a boundary and a summary; calls that it keeps are calls."""
    call = {"functionCall": {"id": "c", "name": "edit", "args": {}}}
    history = [{"role": "user", "parts": HI}, {"role": "model", "parts": [call]}]
    payload = {"compressedHistory": history}
    record = qwen("system", subtype="chat_compression", systemPayload=payload)
    at = "/systemPayload/compressedHistory"
    found = QWEN.meaning(record).events
    assert found[:3] == [
        Checkpoint(""),
        Checkpoint(f"{at}/0/parts", summary=True),
        Message(f"{at}/0/parts", "user", HI),
    ]
    assert [e.pointer for e in found if isinstance(e, ToolCall)] == [f"{at}/1/parts/0"]


def test_what_qwen_code_notes_of_itself_is_no_part_of_the_tree():
    """Its reader leaves such records out, so that they are no leaf either."""
    aside = qwen("system", subtype="session_artifact_event", systemPayload={})
    assert not QWEN.meaning(aside).linked
    assert QWEN.meaning(qwen("system", subtype="rewind")).linked


def test_titles_and_origins():
    """A title of a person's goes before one of the model's; a fork names its session."""
    title = {"customTitle": "lamps", "titleSource": "auto"}
    record = qwen("system", subtype="custom_title", systemPayload=title)
    assert QWEN.titled(record) == (1, "lamps")
    title = title | {"titleSource": "manual"}
    assert QWEN.titled(record | {"systemPayload": title}) == (2, "lamps")
    forked = qwen("user", HI, forkedFrom={"sessionId": "s", "messageUuid": "m"})
    assert QWEN.origin(forked) == Origin("s", "copy", "m")
    header = {"type": "session_start", "id": "s", "title": "a", "sessionTitle": "b"}
    assert DROID.titled(header) == (1, "b")


def test_the_outputs_of_a_tool_of_qwen_code():
    """The result, and what repeats it for the screen; what names files stays."""
    told = {"functionResponse": {"id": "c", "response": {"output": "x"}}}
    shown = {"type": "shell_result", "exitCode": 0, "output": "x", "text": "x"}
    record = qwen("tool_result", [told], toolCallResult={"callId": "c", "resultDisplay": shown})
    at = "/message/parts/0/functionResponse"
    assert {p.pointer for p in QWEN.payloads(record)} == {
        f"{at}/response/output",
        f"{at}/parts",
        "/toolCallResult/resultDisplay/output",
        "/toolCallResult/resultDisplay/text",
    }


def test_answers():
    """Each format's own record, which its meaning reads as the result of that call."""
    question = Question("c", "edit", {"uuid": "u", "id": "u"}, {}, Evidence("uncertain"), "new")
    for form in (QWEN, KIMI, DROID, GROK):
        (result, *_) = form.meaning(json.loads(form.answer(question))).events
        assert isinstance(result, ToolResult)
        assert (result.id, result.placeholder) == ("c", True), form.name


def test_a_record_in_a_persons_place():
    """It is a root, or hangs from what it is told to."""
    for form in (QWEN, DROID):
        made = form.meaning(json.loads(form.prompt({"sessionId": "s"}, "new", "hello", "above")))
        assert (made.id, made.parent) == ("new", "above")
        assert made.events[-1].prompt, form.name


def test_droid_hangs_from_its_header():
    """The first message names the header as its parent, and is a root all the same."""
    call = {"type": "tool_use", "id": "c", "name": "Execute", "input": {}}
    records = [
        {"type": "session_start", "id": "s"},
        droid("user", *TEXT, id="1", parentId="s"),
        droid("assistant", call, id="2", parentId="1"),
    ]
    assert codes(look(jsonl(*records), name="talk.jsonl")) == ["T401"]
    made = loads(mend(jsonl(*records), name="talk.jsonl"))[-1]
    assert (made["parentId"], made["message"]["role"]) == ("2", "user")


def test_older_sessions_of_droid_have_no_parents():
    """That is no fault; what is made for them has none either."""
    call = {"type": "tool_use", "id": "c", "name": "Execute", "input": {}}
    records = [{"type": "session_start", "id": "s"}, droid("user", *TEXT), droid("assistant", call)]
    session = read(jsonl(*records), "talk.jsonl")
    assert session.graph is None
    made = loads(mend(jsonl(*records), name="talk.jsonl"))[-1]
    assert "parentId" not in made
    assert made["id"]


def test_a_transcript_of_cursor_is_only_read():
    """Calls without ids and results are sound there; what is torn is told, and left."""
    call = {"type": "tool_use", "name": "Shell", "input": {}}
    record = {"role": "assistant", "message": {"content": [call]}}
    assert codes(look(jsonl(record, record), name="talk.jsonl")) == []
    torn = jsonl(record, record) + dump(record)[:-9]
    assert codes(look(torn, name="talk.jsonl")) == ["B104"]
    assert mend(torn, name="talk.jsonl") == torn


@pytest.mark.parametrize("form", [QWEN, KIMI, DROID, GROK, CURSOR], ids=lambda form: form.name)
@pytest.mark.parametrize("odd", [None, 7, "x", [], [None], {}, {"parts": 3}, [{"parts": [3]}]])
def test_no_record_is_too_wrong(form, odd):
    """Whatever stands in a field, a meaning is found."""
    for kind in ("user", "assistant", "tool_result", "message", "system", "reasoning", "tool"):
        for key in ("message", "content", "tool_calls", "systemPayload", "parentUuid", "id"):
            record = {"type": kind, "role": kind, "subtype": "chat_compression", key: odd}
            meaning = form.meaning(record)
            assert not [e for e in meaning.events if isinstance(e, StateChange)]
            assert list(form.payloads(record)) is not None
            form.titled(record)


PROJECT = "/srv/beacon"
HASH = md5(PROJECT.encode(), usedforsecurity=False).hexdigest()
# Format, variable of the home, where a file lies in it, and what is told of it: project, owner, id.
FILES = [
    ("qwen", ".qwen", f"projects/-srv-beacon/chats/{ID}.jsonl", "-srv-beacon", "", ID),
    ("qwen", ".qwen", f"projects/-srv-beacon/chats/archive/{ID}.jsonl", "-srv-beacon", "", ID),
    ("qwen", ".qwen", f"projects/-srv-beacon/subagents/{ID}/agent-x.jsonl", "-srv-beacon", ID, ""),
    ("kimi", ".kimi", f"sessions/{HASH}/{ID}/context.jsonl", PROJECT, "", ID),
    ("kimi", ".kimi", f"sessions/{HASH}/{ID}/subagents/a1/context.jsonl", PROJECT, ID, ""),
    ("droid", ".factory", f"sessions/-srv-beacon/{ID}.jsonl", "-srv-beacon", "", ID),
    ("grok", ".grok", f"sessions/%2Fsrv%2Fbeacon/{ID}/chat_history.jsonl", PROJECT, "", ID),
    (
        "cursor",
        ".cursor",
        f"projects/srv-beacon/agent-transcripts/{ID}/{ID}.jsonl",
        "srv-beacon",
        "",
        ID,
    ),
]
NO_SESSIONS = [
    ".qwen/usage_record.jsonl",
    ".qwen/projects/-srv-beacon/workflows/r1/journal.jsonl",
    f".kimi/sessions/{HASH}/{ID}/wire.jsonl",
    f".kimi/sessions/{HASH}/{ID}/context_1.jsonl",
    f".grok/sessions/%2Fsrv%2Fbeacon/{ID}/updates.jsonl",
    ".cursor/projects/srv-beacon/notes.jsonl",
]


@pytest.mark.parametrize(("name", "folder", "inside", "project", "owner", "session"), FILES)
def test_homes(home, name, folder, inside, project, owner, session):
    """Each session is found with its agent, its project and its id; other files are none."""
    kimi = home / ".kimi" / "kimi.json"
    for path in [home / folder / inside, kimi, *(home / one for one in NO_SESSIONS)]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"{}\n")
    kimi.write_text(json.dumps({"work_dirs": [{"path": PROJECT, "kaos": "local"}]}))
    (item,) = discover()
    assert item.path == home / folder / inside
    assert (item.format, item.project, item.owner, item.id) == (name, project, owner, session)
    found = [*by_name(name).find(ID[:8])]
    assert found == ([home / folder / inside] if session else [])


@pytest.mark.parametrize(
    ("variable", "name", "inside"),
    [
        ("QWEN_HOME", "qwen", f"projects/p/chats/{ID}.jsonl"),
        ("QWEN_RUNTIME_DIR", "qwen", f"projects/p/chats/{ID}.jsonl"),
        ("KIMI_SHARE_DIR", "kimi", f"sessions/{HASH}/{ID}/context.jsonl"),
        ("GROK_HOME", "grok", f"sessions/p/{ID}/chat_history.jsonl"),
    ],
)
def test_a_home_that_a_variable_names(tmp_path, monkeypatch, variable, name, inside):
    """The sessions there are found, and are of that agent."""
    path = tmp_path / "elsewhere" / inside
    path.parent.mkdir(parents=True)
    path.write_bytes(b"{}\n")
    monkeypatch.setenv(variable, str(tmp_path / "elsewhere"))
    (item,) = discover()
    assert (item.format, item.id) == (name, ID)
    assert by_name(name).home(path) is not None


def test_what_belongs_to_a_session(home):
    """Files beside it, of its subagents, and in other folders of the home; nothing of others."""
    own = {
        "qwen": [
            f".qwen/projects/p/chats/{ID}.worktree.json",
            f".qwen/projects/p/subagents/{ID}/agent-x.jsonl",
            f".qwen/file-history/{ID}/v1",
            f".qwen/debug/{ID}.txt",
        ],
        "kimi": [
            f".kimi/sessions/h/{ID}/{name}"
            for name in (
                "context_1.jsonl",
                "state.json",
                "subagents/a1/context.jsonl",
                "wire.jsonl",
            )
        ],
        "droid": [f".factory/sessions/p/{ID}.settings.json"],
        "grok": [f".grok/sessions/p/{ID}/summary.json"],
    }
    sessions = {
        "qwen": f".qwen/projects/p/chats/{ID}.jsonl",
        "kimi": f".kimi/sessions/h/{ID}/context.jsonl",
        "droid": f".factory/sessions/p/{ID}.jsonl",
        "grok": f".grok/sessions/p/{ID}/chat_history.jsonl",
    }
    other = ID.replace("0021", "0022")
    files = [name for names in own.values() for name in names] + [*sessions.values()]
    for name in [*files, *(one.replace(ID, other) for one in files)]:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("{}")
    for name, path in sessions.items():
        found = {str(part.relative_to(home)) for part in by_name(name).parts(home / path)}
        assert found == set(own[name]), name


def test_a_running_qwen_code_is_a_writer(home):
    """It tells its process beside the session; one that has ended is none."""
    path = home / ".qwen" / "projects" / "p" / "chats" / f"{ID}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"{}\n")
    assert QWEN.writer(path) is None
    status = path.with_name(f"{ID}.runtime.json")
    status.write_text(json.dumps({"pid": os.getpid(), "session_id": ID}))
    assert QWEN.writer(path) == f"Qwen Code runs this session (process {os.getpid()})"
    status.write_text(json.dumps({"pid": 2**22 + 7}))
    assert QWEN.writer(path) is None


def test_commands_that_resume():
    """Each is the agent's own."""
    assert QWEN.resume_command(ID) == f"qwen --resume {ID}"
    assert KIMI.resume_command(ID) == f"kimi --session {ID}"
    assert DROID.resume_command(ID) == f"droid --resume {ID}"
    assert GROK.resume_command(ID) == f"grok --resume {ID}"
    assert CURSOR.resume_command(ID) == f"cursor-agent --resume {ID}"
