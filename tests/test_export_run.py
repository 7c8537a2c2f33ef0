"""The page of a run: the life of its calls, its steps, how it ended, what it used."""

from __future__ import annotations

import json
import re
from html import unescape
from itertools import count

import pytest

from sesstool import Recorder, SessionStore
from sesstool.cli import main
from sesstool.errors import InputError
from sesstool.export import html, run, run_page
from sesstool.export.sections import Choice, Reading
from sesstool.store import mycodeagent
from tests.conftest import Memory, answer, jsonl, prompt, use, words
from tests.test_diff_html import EVIL, Page
from tests.test_export import OURS

ASK = {"role": "user", "content": "Buy oil"}
SAY = {"role": "assistant", "content": "Done."}


def calling(name, tool="buy"):
    function = {"name": tool, "arguments": "{}"}
    calls = [{"id": name, "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(name, said):
    return {"role": "tool", "tool_call_id": name, "content": said}


@pytest.fixture
def clock(monkeypatch):
    """Each record is written a second after the one before it."""
    seconds = count()
    monkeypatch.setattr(mycodeagent, "_now", lambda: f"2026-03-01T06:00:{next(seconds):02}.000001Z")


def errands(folder, form="mycodeagent"):
    """A run with a call of each state, a subagent, a compaction and an end; its file and trace."""
    store, trace = SessionStore(folder / form, form), folder / "trace.log"
    with (
        store.open("errands") as session,
        store.open("scout") as other,
        Recorder(session, trace) as recorder,
    ):
        recorder.transition("thinking", "user_input")
        recorder.message(ASK)
        recorder.message(calling("c1"), usage={"input": 1000, "output": 5, "details": {"x": 1}})
        recorder.message(result("c1", recorder.run("c1", "buy", {}, lambda: "oil")))
        with recorder.subagent(other, "c1") as scout:
            scout.message(ASK, usage={"input": 500_000})
            scout.end("max_steps")
        recorder.message(calling("c2", "mend"), usage={"input": 234, "output": 7})
        recorder.message(result("c2", recorder.run("c2", "mend", {}, lambda: 1 / 0)))
        if form == "mycodeagent":
            recorder.checkpoint("Oil was bought.", 2)
        recorder.message(calling("c3", "sell"))
        recorder.requested("c3", "sell")
        recorder.started("c3", "sell")
        recorder.end("user_abort")
        recorder.message(calling("c4", "wait"))
        recorder.requested("c4", "wait")
    return session.path, trace


def tables(page):
    """The cells of the tables in a page, row by row."""
    rows = re.findall(r"<tr><td.*?</tr>", page, re.DOTALL)
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in rows]
    return [[unescape(re.sub(r"<[^>]*>", "", cell)) for cell in row] for row in cells]


def told(page):
    """What is said of the run: names and values."""
    inside = page[page.index('id="run"') : page.index("<details", page.index('id="run"'))]
    pairs = re.findall(r"<dt>(.*?)</dt><dd><bdi>(.*?)</bdi></dd>", inside)
    return [(name, unescape(value)) for name, value in pairs]


@pytest.mark.usefixtures("clock")
def test_a_run_is_told_by_the_facts_of_its_session(tmp_path):
    """Calls with their times, steps with their reasons; the trace has what the model used."""
    path, trace = errands(tmp_path)
    page = "".join(run_page(path, trace))
    assert told(page) == [
        ("Ended", "no end is recorded"),
        ("Calls", "4: 1 completed, 1 failed, 1 uncertain, 1 pending"),
        ("Subagent", "scout (transcript-scout.jsonl), ended: max_steps"),
        ("Used", "1,234 input, 12 output, in 2 answers"),
        ("Trace", "21 records, 3 records of others"),
    ]

    def at(second):
        return f"2026-03-01 06:00:{second:02} UTC"

    link = "scout (transcript-scout.jsonl)"
    assert tables(page) == [
        ["buy", "completed", at(4), "1 s"],
        ["mend", "failed", at(14), "1 s"],
        ["sell", "uncertain", at(21), ""],
        ["wait", "pending", at(24), ""],
        [at(0), "thinking", "user_input"],
        [at(7), "thinking → waiting", f"subagent_started: {link}"],
        [at(11), "waiting → running", f"subagent_ended: {link}"],
        [at(18), "compaction", "messages before 3 stand in a summary"],
        [at(22), "end", "user_abort"],
    ]
    assert re.findall(r'<td><a href="#(r\d+)"', page) == ["r3", "r10", "r16", "r20"]
    assert all(f'<article id="{name}"' in page for name in ("r3", "r10", "r16", "r20"))


def test_a_subagent_names_who_started_it(tmp_path):
    """In what is said of the session, and of the run."""
    path, _ = errands(tmp_path)
    page = "".join(run_page(path.with_name("transcript-scout.jsonl")))
    assert "<dt>Origin</dt><dd><bdi>a subagent of session errands</bdi></dd>" in page
    assert told(page) == [
        ("Ended", "max_steps"),
        ("Started by", "errands (transcript-errands.jsonl)"),
    ]


def test_a_trace_tells_of_a_run_of_bare_messages(tmp_path):
    """The session has no more than these."""
    path, trace = errands(tmp_path, "openai-chat")
    page = "".join(run_page(path, trace))
    assert told(page) == [
        ("Ended", "no end is recorded"),
        ("Calls", "4: 1 completed, 1 failed, 1 uncertain, 1 pending"),
        ("Subagent", "scout (scout.jsonl), ended: max_steps"),
        ("Used", "1,234 input, 12 output, in 2 answers"),
        ("Trace", "20 records, 3 records of others"),
    ]
    assert [row[:2] for row in tables(page)[:4]] == [
        ["buy", "completed"],
        ["mend", "failed"],
        ["sell", "uncertain"],
        ["wait", "pending"],
    ]
    assert 'id="run"' not in "".join(run_page(path))


def test_sessions_that_tell_of_no_run_have_none():
    """Those of agents that keep messages alone."""
    data = jsonl(prompt(1, None, "Go"), answer(2, 1, words("Gone."), use("a")))
    assert 'id="run"' not in "".join(html.page(Reading(Memory(data))))


def test_nothing_of_a_run_acts_in_the_page(tmp_path):
    """Neither names of tools nor reasons, from the session or from a trace."""
    store = SessionStore(tmp_path / "sessions", "mycodeagent")
    trace = tmp_path / "trace.log"
    with store.open("run") as session, Recorder(session, trace) as recorder:
        recorder.transition(EVIL, EVIL, subagent={"session_id": EVIL, "transcript": EVIL})
        recorder.message(calling("c1", EVIL), usage={EVIL: 1})
        recorder.requested("c2", EVIL)
        recorder.end(EVIL)
    page = "".join(run_page(session.path, trace))
    assert tables(page) != []
    assert {name for name, _ in Page(page).elements} <= OURS
    assert "\u202e" not in page


def test_of_a_long_run_the_first_are_listed_and_all_are_counted(monkeypatch):
    """And what is answered is not held."""
    monkeypatch.setattr(run, "_LISTED", 3)
    lines = []
    for n in range(8):
        for kind, payload in (
            ("message", {"role": "assistant", "metadata": {"tool_calls": [{"id": "c"}]}}),
            ("tool_lifecycle", {"tool_call_id": "c", "status": "failed" if n % 4 else "completed"}),
            ("state_transition", {"to_state": "on", "reason": "why"}),
            ("message", {"role": "tool", "content": "a", "metadata": {"tool_call_id": "c"}}),
        ):
            value = {"event_id": f"{kind}{n}", "session_id": "s", "run_id": f"run-{n}", "step": n}
            lines.append(value | {"timestamp": "", "event_type": kind, "payload": payload})
    reading = Reading(Memory(jsonl(*lines)))
    assert dict(reading.run.facts())["Calls"] == "8: 2 completed, 6 failed"
    assert (len(reading.run.calls), len(reading.run.steps), reading.run.step_count) == (3, 3, 8)
    assert reading.run._rows == {}
    page = "".join(html.page(reading))
    assert "<summary>The first 3 calls</summary>" in page
    assert "<summary>The first 3 steps</summary>" in page


def test_calls_lead_to_records_that_are_shown(tmp_path):
    """Where only a part of them is, the others are named."""
    path, _ = errands(tmp_path)
    page = "".join(html.page(Reading(Memory(path.read_bytes())), Choice(1, 9)))
    assert re.findall(r'<td><a href="#(r\d+)"', page) == ["r3"]


def test_any_bytes_are_a_trace(tmp_path):
    """What is no record in it is counted."""
    path, trace = errands(tmp_path, "openai-chat")
    odd = [[], 5, {"session_id": []}, {"session_id": "errands"}]
    for event in ("phase", "transition", "checkpoint", "end", "said", None, {}):
        odd.append({"session_id": "errands", "event": event, "usage": [1]})
        odd.append({"session_id": "errands", "event": event, "name": [], "details": 5, "time": {}})
        odd.append({"session_id": "errands", "event": event, "call_id": "x", "name": "failed"})
    text = b"".join(json.dumps(one).encode() + b"\n" for one in odd)
    trace.write_bytes(text + b'\n\xff\xfe\n{"torn')
    page = "".join(run_page(path, trace))
    assert dict(told(page))["Trace"] == "22 records, 1 record of others, 4 lines that are no record"
    trace.write_bytes(b"")
    assert dict(told("".join(run_page(path, trace)) + "<details")) == {
        "Trace": "tells nothing of this session"
    }
    with pytest.raises(InputError):
        "".join(run_page(path, tmp_path / "missing"))


def test_export_takes_a_trace(tmp_path, capsys):
    """For html, in one page or in several: then the index tells of the run."""
    path, trace = errands(tmp_path)
    assert (
        main.run(["export", str(path), "--trace", str(trace), "-o", str(tmp_path / "a.html")]) == 0
    )
    assert dict(told((tmp_path / "a.html").read_text()))["Used"].startswith("1,234 input")
    folder = tmp_path / "pages"
    given = ["export", str(path), "--trace", str(trace), "--split", "1", "-o", str(folder)]
    assert main.run(given) == 0
    assert dict(told((folder / "index.html").read_text()))["Used"].startswith("1,234 input")
    assert 'id="run"' not in (folder / "page-001.html").read_text()
    capsys.readouterr()
    assert main.run(["export", str(path), "--to", "md", "--trace", str(trace)]) == 2
    assert "--trace is for html, and not for md" in capsys.readouterr().err
    assert main.run(["export", str(path), "--trace", str(tmp_path / "none")]) == 3
