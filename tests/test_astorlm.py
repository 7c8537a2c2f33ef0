"""astorLM: messages of blocks, and the side file without which there is no session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sesstool import api
from sesstool.errors import NotASessionError
from sesstool.findings import Applicability, Severity
from sesstool.formats.astorlm import AstorLM
from sesstool.formats.events import Message, Thinking, ToolCall, ToolResult
from sesstool.formats.registry import detect
from tests.conftest import codes, jsonl, loads, look, mend

FORM = AstorLM()


def says(role: str, *blocks: Any, n: int = 0) -> dict[str, Any]:
    content = [{"type": "text", "text": b} if type(b) is str else b for b in blocks]
    return {"id": f"00000000-0000-4000-8000-{n:012d}", "role": role, "content": content}


def use(call_id: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "bash", "input": arguments}


def result(call_id: str, words: Any = "seen") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": words, "is_error": False}


def session(*messages: dict[str, Any]) -> bytes:
    """A session of these messages, each with an id of its own."""
    ids = [f"00000000-0000-4000-8000-{n:012d}" for n in range(len(messages))]
    return jsonl(*(m | {"id": i} for m, i in zip(messages, ids, strict=True)))


SOUND = session(says("user", "hi"), says("assistant", "ho"))


@pytest.fixture
def saved(tmp_path):
    """Write a session with a side file (bytes, or None for none) and look at it."""

    def do(side: Any, data: bytes = SOUND) -> api.FileReport:
        path = tmp_path / "quest.jsonl"
        path.write_bytes(data)
        path.chmod(0o600)
        if side is not None:
            text = side if type(side) is bytes else json.dumps(side).encode()
            path.with_name("quest.meta.json").write_bytes(text)
        return api.validate(path)

    return do


def test_meaning():
    """Blocks are events with pointers; thinking is never sent, so that it has no fault."""
    record = says("assistant", {"type": "thinking", "thinking": "hm"}, "I look", use("a", x=1))
    thought, call, words = FORM.meaning(record).events
    assert thought == Thinking("/content/0")
    assert call == ToolCall("/content/2", "a", "bash", {"x": 1})
    assert words == Message("/content", "assistant", record["content"])
    sealed = {"type": "redacted_thinking", "signature": "x"}
    assert FORM.meaning(says("assistant", sealed)).events[0] == Thinking("/content/0")
    told, words = FORM.meaning(says("user", result("a"))).events
    assert told == ToolResult("/content/0", "a", "seen")
    assert not words.prompt
    assert FORM.meaning(says("user", "hi")).events[0].prompt


@pytest.mark.parametrize("junk", [None, 7, "x", [], [None], {}, {"type": []}])
def test_meaning_takes_anything(junk):
    """However wrong its fields, a message has a meaning, and the rules pass over it unharmed."""
    for key in ("id", "role", "content"):
        FORM.meaning(says("user", "x") | {key: junk})
        look(jsonl(says("user", "x"), says("user", "x") | {key: junk}, says("assistant", "y")))
    for block in (use("a") | {"input": junk}, result("a", junk), {"type": junk}, junk):
        look(session(says("assistant", "x"), says("user", "x") | {"content": [block]}))


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ([says("user", "hi"), says("assistant", "ho")], "astorlm"),
        ([says("assistant", use("a")), says("user", result("a"))], "astorlm"),
        ([says("user", "hi") | {"note": 1}], "astorlm"),
        ([{"role": "user", "content": [result("a")]}], "anthropic-messages"),
        ([{"role": "user", "content": [{"type": "text", "text": "hi"}]}], "openai-chat"),
        ([{"id": "1", "role": "user", "content": "hi"}], "openai-chat"),
    ],
)
def test_detection_by_ids(values, name):
    """Ids on messages of blocks tell astorLM from bare messages, and from chat with ids."""
    assert detect(values, None, "it")[0].name == name


def test_detection_by_the_side_file(tmp_path):
    """Messages without ids are astorLM's where a side file stands beside them."""
    values = [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]
    for name in ("quest.jsonl", "quest.jsonl.gz"):
        assert detect(values, tmp_path / name, "it")[0].name == "openai-chat"
    (tmp_path / "quest.meta.json").write_text("{")
    for name in ("quest.jsonl", "quest.jsonl.gz"):
        assert detect(values, tmp_path / name, "it")[0].name == "astorlm"


@pytest.mark.parametrize(
    ("side", "found"),
    [
        ({"id": "quest"}, []),
        ({"id": "quest", "parentId": "hunt"}, [("M708", "information")]),
        (None, [("M712", "warning")]),
        (b"", [("M713", "error")]),
        (b'{"id":"quest"', [("M713", "error")]),
        (b"null", [("M713", "error")]),
        (b"[" * 100_000, [("M713", "error")]),
        (b"\xff\xfe", [("M713", "error")]),
        ({"id": "hunt"}, [("M713", "warning")]),
        ({}, [("M713", "warning")]),
        ({"id": ["quest"], "parentId": 7}, [("M713", "warning")]),
    ],
)
def test_the_side_file(saved, side, found):
    """Missing, damaged or of another session: each is said, with what to write, as advice."""
    report = saved(side)
    assert (report.format, [(f.code, f.severity) for f in report.findings]) == ("astorlm", found)
    for finding in report.findings:
        if finding.code != "M708":
            assert finding.fix.applicability is Applicability.MANUAL
            assert '"quest"' in finding.fix.title
            assert "quest.meta.json" in finding.message + finding.fix.title


def test_an_empty_session_is_sound_beside_its_side_file(saved):
    """Before the first message the file is empty; without a side file it is an error."""
    (finding,) = saved({"id": "quest"}, b"").findings
    assert (finding.code, finding.severity) == ("B117", Severity.INFORMATION)
    (finding,) = saved(b"{", b"").findings
    assert finding.severity is Severity.ERROR


def test_a_side_file_is_named_for_what_it_is(tmp_path):
    """Given as a session it is refused, and the session is named; so is a damaged one."""
    path = tmp_path / "quest.meta.json"
    for text in ('{\n  "id": "quest"\n}', '{\n  "id": "que'):
        path.write_text(text)
        with pytest.raises(NotASessionError, match="no session, but the side file") as caught:
            api.validate(path)
        assert "quest.jsonl" in caught.value.hint


def test_a_session_is_found_in_the_folder(tmp_path, monkeypatch):
    """The beginning of an id names a session of this folder, where it has a side file."""
    monkeypatch.chdir(tmp_path)
    for name in ("quest.jsonl", "quest.meta.json", "queue.jsonl"):
        Path(name).touch()
    assert list(api.find(["qu"])) == [Path("quest.jsonl")]
    assert list(FORM.find("*")) == []


PAIRS = [
    ("T401", session(says("assistant", use("a")), says("user", "hi"))),
    ("T402", session(says("user", result("a")), says("assistant", "x"))),
    ("T403", session(says("assistant", use("a")), *[says("user", result("a"))] * 2)),
    (
        "T404",
        session(says("assistant", use("a")), says("user", "hi"), says("user", result("a"))),
    ),
    (
        "T405",
        session(says("assistant", use("a"), use("a", x=1)), says("user", result("a"), result("a"))),
    ),
    (
        "T406",
        session(says("assistant", use("a") | {"input": "cut"}), says("user", result("a"))),
    ),
    (
        "T409",
        session(
            says("assistant", use("a")),
            says("user", {"type": "tool_result", "content": "seen"}),
        ),
    ),
    ("C601", session(says("user", " "), says("assistant", "x"))),
    ("S301", session(says("assistant", use("a")), says("user", result("a", [])))),
]
NEAR = session(
    says("user", "hi"),
    says("assistant", use("a"), use("b", x=1)),
    says("user", result("b", ""), result("a"), "and?"),
    says("assistant", "x"),
)


@pytest.mark.parametrize(("code", "bad"), PAIRS, ids=[p[0] for p in PAIRS])
def test_rules(saved, code, bad):
    """Each rule finds its fault, and nothing in a session nearly like it."""
    assert code in codes(saved({"id": "quest"}, bad))
    assert codes(saved({"id": "quest"}, NEAR)) == []


def test_what_astorlm_leaves_out_is_no_fault(saved):
    """Empty text, as it writes for blocks that it does not know, is never sent."""
    data = session(says("user", "hi"), says("assistant", "", "x"), says("assistant"))
    found = saved({"id": "quest"}, data).findings
    assert [(f.code, f.severity.value) for f in found] == [("C601", "information")] * 2


def test_a_call_gets_its_result():
    """A user message with the result, in astorLM's own shape, behind the call."""
    before = [says("user", "hi"), says("assistant", use("a"), n=1), says("user", "and?", n=2)]
    made = loads(mend(jsonl(*before)))
    assert made[:2] + made[3:] == before
    (block,) = made[2]["content"]
    assert (made[2]["role"], block["tool_use_id"], block["is_error"]) == ("user", "a", True)
    assert made[2]["id"] not in {m["id"] for m in before}
    assert "outcome is unknown" in block["content"]


def test_a_result_without_an_id_gets_that_of_its_call():
    """The member is the one of Anthropic's blocks."""
    lost = {"type": "tool_result", "content": "seen"}
    made = loads(mend(session(says("assistant", use("a")), says("user", lost))))
    assert made[1]["content"] == [{"tool_use_id": "a"} | lost]


def test_a_late_result_moves_and_the_words_beside_it_stay():
    """The result gets a message behind its call; what was said with it stays where it was."""
    call, words, late = (
        says("assistant", use("a"), n=1),
        says("user", "hi", n=2),
        says("user", result("a"), "and?", n=3),
    )
    made = loads(mend(jsonl(call, words, late)))
    assert [made[0], made[2], made[3]] == [call, words, says("user", "and?", n=3)]
    assert (made[1]["role"], made[1]["content"]) == ("user", [result("a")])


def test_a_missing_result_goes_beside_its_sibling():
    """In one message, before the words: providers want results first."""
    told = says("user", result("a"), "and?", n=2)
    made = loads(mend(jsonl(says("assistant", use("a"), use("b"), n=1), told)))
    first, second, words = made[1]["content"]
    assert ([first, words], second["tool_use_id"]) == (told["content"], "b")
    assert len(made) == 2


def test_a_bad_line_loses_the_session_and_the_finding_says_so():
    """Its reader resumes with nothing, and then overwrites the file."""
    for data in (SOUND + b'{"id":"x","ro', SOUND.replace(b"}\n{", b"}{"), b"\0" + SOUND):
        finding = next(f for f in look(data).findings if f.code.startswith("B1"))
        assert "overwrites this file" in finding.notes[0]
    assert look(SOUND[:-1]).findings[0].notes == ()
