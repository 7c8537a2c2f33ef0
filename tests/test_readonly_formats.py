"""What the lines of OpenCode, Goose, the OpenAI Agents SDK and Claude Code's history mean."""

from __future__ import annotations

import pytest

from sesstool import api
from sesstool.export.sections import Reading
from sesstool.formats.claude_history import ClaudeHistory
from sesstool.formats.events import Meta, Thinking, ToolCall, ToolResult, Unknown
from sesstool.formats.goose import Goose
from sesstool.formats.openai_agents import OpenAIAgents
from sesstool.formats.opencode import OpenCode
from sesstool.library.discover import discover
from sesstool.library.glance import look
from sesstool.model.passages import passages
from sesstool.records.opening import open_source
from tests import held
from tests.conftest import codes, jsonl, read
from tests.conftest import look as judged
from tests.held import NOON, tool, words

SESSION = {"info": {"id": "ses_kiln", "directory": "/srv/kiln", "projectID": "global"}}


def message(number, role, *parts, **info):
    told = {"id": f"msg_{number}", "sessionID": "ses_kiln", "role": role}
    return {"info": {**told, "time": {"created": NOON + number}, **info}, "parts": list(parts)}


def said(form, value):
    """The kinds, names and words of what a record says, without notes."""
    told = passages(value, form.meaning(value))
    return [(p.kind, p.name, p.text) for p in told if p.kind != "note"]


def sent(*records, first=SESSION):
    """How many messages a resume sends, of how many."""
    return read(jsonl(first, *records)).messages()


def test_a_part_of_opencode_is_call_and_result():
    """The words of a message stand before its calls, each with what came of it."""
    failed = tool("call_2", "error", error="too hot")
    value = message(1, "assistant", {"type": "reasoning", "text": "Look."}, words("So."),
                    tool("call_1"), failed, {"type": "step-finish"}, {"type": "kiln"})  # fmt: skip
    assert said(OpenCode(), value) == [
        ("thinking", "", "Look."),
        ("message", "assistant", "So."),
        ("call", "look", "kiln"),
        ("result", "", "hot"),
        ("call", "look", "kiln"),
        ("result", "", "too hot"),
        ("unknown", "kiln", '{"type":"kiln"}'),
    ]
    results = [e for e in OpenCode().meaning(value).events if type(e) is ToolResult]
    assert [(e.id, e.error, e.pointer) for e in results] == [
        ("call_1", False, "/parts/2/state"),
        ("call_2", True, "/parts/3/state"),
    ]


def test_a_prompt_of_opencode_is_what_a_person_said():
    """What the agent says in a person's place opens no turn; an error is told beside its words."""
    typed, made = (
        message(1, "user", words("Look.")),
        message(2, "user", words("On.", synthetic=True)),
    )
    assert [OpenCode().meaning(v).events[-1].prompt for v in (typed, made)] == [True, False]
    broken = {"name": "APIError", "data": {"message": "x"}}
    stopped = {"name": "MessageAbortedError", "data": {}}
    hidden = [
        OpenCode().meaning(message(3, "assistant", words("I"), error=error)).events[-1].hidden
        for error in (broken, stopped)
    ]
    assert hidden == [True, False]


def test_calls_that_opencode_did_not_end_are_found_and_not_mended():
    """A call that was still being written never started; of a running one nobody knows."""
    data = jsonl(
        SESSION,
        message(1, "user", words("Look.")),
        message(2, "assistant", tool("call_1", "pending"), tool("call_2", "running")),
    )
    report = judged(data)
    assert codes(report) == ["T401", "T401"]
    assert [f.labels["state"] for f in report.findings] == ["never started", "uncertain"]
    assert not any(f.fix.edits for f in report.findings)


def test_what_was_taken_back_in_opencode_is_passed_over():
    """From the message on that a person went back to, or behind it where parts of it stay."""
    talk = [message(n, "user" if n % 2 else "assistant", words(f"{n}")) for n in range(1, 5)]
    for revert, count in (({"messageID": "msg_3"}, 2), ({"messageID": "msg_3", "partID": "p"}, 3)):
        told = {"info": SESSION["info"] | {"revert": revert}}
        assert sent(*talk, first=told)[0] == count


def test_a_compaction_of_opencode_keeps_its_tail():
    """The summary stands in the place of what was said before the message that it names."""
    talk = [message(n, "user" if n % 2 else "assistant", words(f"{n}")) for n in range(1, 7)]
    asked = message(7, "user", {"type": "compaction", "tail_start_id": "msg_5"})
    summary = message(8, "assistant", words("So far."), summary=True, finish="stop")
    assert sent(*talk, asked, summary)[0] == 3  # 5, 6 and the summary
    asked["parts"][0].pop("tail_start_id")
    assert sent(*talk, asked, summary)[0] == 1
    assert said(OpenCode(), summary) == [("compaction", "", "So far.")]
    cut = message(8, "assistant", words("So f"), summary=True, error={"name": "APIError"})
    assert sent(*talk, asked, cut)[0] == 6


def test_opencode_tells_titles_and_parents():
    """A title of its own counts, the one of a new session does not; a parent makes a subagent."""
    form = OpenCode()
    assert form.titled({"info": {"id": "s", "title": "kilns"}}) == (1, "kilns")
    assert form.titled({"info": {"id": "s", "title": "New session - 2026-05-28T20:00"}}) == (0, "")
    assert form.titled(message(1, "user", title="no")) == (1, "")
    assert form.origin({"info": {"id": "s", "parentID": "ses_kiln"}}).session == "ses_kiln"
    assert form.origin(message(2, "assistant", parentID="msg_1")) is None
    assert form.resume_command("ses_kiln") == "opencode --session ses_kiln"


def test_goose_calls_and_results_are_paired(tmp_path):
    """Requests and responses go together, failed ones too, and what the model gets not is told."""
    form = Goose()
    held.goose(tmp_path / "g.db").close()
    report = api.validate(tmp_path / "g.db" / "20260528_1")
    assert (report.format, report.findings, report.records) == ("goose", (), 4)
    call = {"type": "toolRequest", "id": "a", "toolCall": held.succeeded({"name": "look"})}
    broken = {"type": "toolRequest", "id": "b", "toolCall": {"status": "error", "error": "bad"}}
    value = {"role": "assistant", "created": 1, "content": [words("So."), call, broken]}
    events = form.meaning(value).events
    calls = [e for e in events if type(e) is ToolCall]
    assert [(c.id, c.name, bool(c.fault)) for c in calls] == [("a", "look", False), ("b", "", True)]
    failed = {"type": "toolResponse", "id": "a", "toolResult": {"status": "error", "error": "no"}}
    newer = held.succeeded({"content": [words("done")], "isError": True})
    newer = {"type": "toolResponse", "id": "b", "toolResult": newer}
    value = {"role": "user", "created": 2, "content": [failed, newer]}
    assert said(form, value) == [("result", "", "no"), ("result", "", "done")]
    results = [e for e in form.meaning(value).events if type(e) is ToolResult]
    assert [e.error for e in results] == [True, True]
    assert not form.meaning(value).events[-1].prompt
    gone = {"role": "user", "created": 3, "content": [words("x")]}
    gone["metadata"] = {"agentVisible": False, "userVisible": True}
    assert form.meaning(gone).events[-1].hidden


def test_goose_times_are_read():
    """Seconds and thousandths of messages, and the local form of the session, become one form."""
    times = [Goose().meaning({"role": "user", "created": t, "content": []}).time
             for t in (1_780_000_000, 1_780_000_000_000)]  # fmt: skip
    assert times == ["2026-05-28T20:26:40.000Z"] * 2
    header = {"id": "1", "working_dir": "/srv", "created_at": "2026-05-28 20:00:00"}
    assert Goose().meaning(header).time == "2026-05-28T20:00:00Z"
    assert Goose().titled({"working_dir": "/srv", "description": "kilns"}) == (1, "kilns")


def test_the_agents_sdk_is_paired_like_responses(tmp_path):
    """Calls and outputs in rows go together, and a message without a type is one."""
    held.agents(tmp_path / "a.db").close()
    path = tmp_path / "a.db" / "kiln-1"
    report = api.validate(path)
    assert (report.format, report.findings) == ("openai-agents", ())
    (item,) = discover([path])
    glance = look(item)
    assert (glance.id, glance.title, glance.ends) == ("kiln-1", "Which kiln is hot?", "answer")
    row = {"id": 1, "session_id": "a", "message_data": '{"role": "us'}
    assert type(OpenAIAgents().meaning(row).events[0]) is Unknown


def test_the_history_of_claude_code_is_read_by_name_only(home):
    """Its prompts are shown with what was pasted; the list of sessions has nothing of it."""
    pasted = {"1": {"id": 1, "type": "text", "content": "clay"}, "2": {"id": 2, "type": "image"}}
    typed = {"display": "Mix it.", "timestamp": NOON, "project": "/srv", "pastedContents": pasted}
    assert said(ClaudeHistory(), typed) == [
        ("message", "user", "Mix it."),
        ("message", "user", "clay"),
    ]
    path = home / ".claude" / "history.jsonl"
    (home / ".claude" / "projects").mkdir(parents=True)
    path.write_bytes(jsonl(typed, {**typed, "sessionId": "5e551000"}))
    report = api.validate(path)
    assert (report.format, report.findings) == ("claude-history", ())
    assert list(discover()) == []
    assert [item.name for item in discover([path])] == ["history.jsonl"]
    with open_source(path) as source:
        assert [s.record.line for s in Reading(source).sections()] == [1, 2]


@pytest.mark.parametrize("form", [OpenCode(), Goose(), OpenAIAgents(), ClaudeHistory()])
def test_wrong_values_are_no_reason_to_fail(form):
    """Whatever stands in a member, a record means something."""
    odd = [None, 1, "x", [], [[]], [{}], {}, {"a": 1}, {"type": "tool", "state": 3}]
    members = [
        "info",
        "parts",
        "role",
        "created",
        "content",
        "message_data",
        "session_id",
        "id",
        "type",
        "working_dir",
    ]
    members += ["display", "timestamp", "pastedContents", "project", "metadata"]
    for value in odd:
        for inside in odd:
            record = dict.fromkeys(members, value) | {"parts": [inside], "content": [inside]}
            for one in (record, record | {"info": {"role": value, "error": inside, "time": value}}):
                assert form.meaning(one).events
                form.titled(one)
                form.origin(one)
                form.score([one], None)
                list(form.payloads(one))


def test_notes_and_thoughts_of_goose_are_no_words():
    """What is told to the person alone is a note, what the model thinks is a thought."""
    content = [
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "actionRequired"},
    ]
    events = Goose().meaning({"role": "assistant", "created": 1, "content": content}).events
    assert [type(event) for event in events[:2]] == [Thinking, Meta]
