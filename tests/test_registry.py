"""Which format a file is, and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from sesstool.errors import NotASessionError, UsageError
from sesstool.formats.registry import FORMATS, by_name, detect
from sesstool.model.session import open_session
from tests.conftest import (
    Memory,
    answer,
    asks,
    bare_call,
    chat,
    entry,
    event,
    head,
    jsonl,
    meta,
    prompt,
    said,
    says,
    talk,
    tells,
)

DROID = [{"type": "message", "id": n, "parentId": None, "message": said("user", [])} for n in "12"]
PARTS = [{"type": t, "uuid": "u", "message": {"parts": []}} for t in ("user", "assistant")]
TELEMETRY = {"type": "system", "uuid": "u", "subtype": "ui_telemetry", "systemPayload": {}}
ANTHROPIC = said("assistant", [{"type": "tool_use", "id": "a", "name": "x", "input": {}}])

GOOSE = [{"role": role, "created": 1, "content": []} for role in ("user", "assistant")]
AGENTS = {"id": 1, "session_id": "s", "message_data": said("user"), "created_at": ""}


def named(*values, path=None):
    return detect(values, path, "it")[0].name


@pytest.mark.parametrize(
    ("values", "name"),
    [
        (talk(3), "claude-code"),
        ([{"type": "summary", "summary": "x"}], "claude-code"),
        ([{"type": "kiln"}, *talk(2)], "claude-code"),
        ([meta(), says("user", "x")], "codex"),
        ([says("user", "x"), event("token_count")], "codex"),
        ([{"id": "t", "timestamp": "t", "instructions": None}, {"record_type": "state"}], "codex"),
        ([said("user"), asks("a"), tells("a")], "openai-chat"),
        ([{"messages": [said("user"), said("assistant")]}], "openai-chat"),
        (PARTS, "qwen"),
        ([TELEMETRY], "qwen"),
        ([{"event_id": "1", "event_type": "message", "payload": {}}], "mycodeagent"),
        ([{"data": {}, "id": "1", "parentId": None, "type": "user.message"}], "copilot-cli"),
        ([{"type": "session", "id": "1", "cwd": "/"}], "pi"),
        ([head(), *chat(3)], "pi"),
        (chat(3), "pi"),
        ([head(), *(entry(n, n - 1, "custom", data={}) for n in range(1, 9))], "pi"),
        ([{"type": "session_start", "id": "1"}, *DROID], "droid"),
        (DROID, "droid"),
        ([{"sessionId": "1", "projectHash": "x"}], "gemini"),
        ([{"$set": {"messages": []}}], "gemini"),
        ([{"type": "session_start", "id": "1"}], "droid"),
        ([{"role": "_checkpoint", "id": 0}], "kimi"),
        ([{"role": "user", "message": {"content": []}}], "cursor"),
        ([{"type": "turn_ended"}], "cursor"),
        ([{"role": "_usage", "token_count": 1}, said("user"), asks("a"), tells("a")], "kimi"),
        ([{"type": "metadata", "protocol_version": "1.4", "created_at": 1}], "kimi-code"),
        ([{"type": "turn.prompt", "input": [], "time": 1}], "kimi-code"),
        ([{"type": "user", "content": "x"}, {"type": "reasoning", "summary": []}], "grok"),
        ([{"type": "tool_result", "tool_call_id": "a", "content": "x"}], "grok"),
        (
            [{"type": "reasoning", "summary": []}, said("user", [], type="message")],
            "openai-responses",
        ),
        ([bare_call("a"), said("user")], "openai-responses"),
        ([said("user", type="message")], "openai-responses"),
        ([said("user"), ANTHROPIC], "anthropic-messages"),
        ([{"system": "x"}, said("user"), ANTHROPIC], "anthropic-messages"),
        ([{"system": "x"}, said("user", [{"type": "text", "text": "x"}])], "anthropic-messages"),
        ([{"system": "x"}, said("user"), asks("a"), tells("a")], "openai-chat"),
        ([{"messages": [said("user"), ANTHROPIC]}], "anthropic-messages"),
        ([ANTHROPIC | {"type": "message", "id": "msg_1"}], "anthropic-messages"),
        ([{"info": {"id": "ses_1", "directory": "/"}}], "opencode"),
        ([{"info": {"role": "user", "sessionID": "s"}, "parts": [{"type": "text"}]}], "opencode"),
        ([{"id": "1", "working_dir": "/"}, *GOOSE], "goose"),
        (GOOSE, "goose"),
        ([{"session_id": "s", "created_at": "", "updated_at": ""}, AGENTS], "openai-agents"),
        ([{"display": "x", "timestamp": 1, "project": "/", "sessionId": "s"}], "claude-history"),
        ([{"display": "x", "timestamp": 1, "pastedContents": {}}], "claude-history"),
    ],
)
def test_detect(values, name):
    """Records tell their format, also of a look-alike with the same envelope."""
    assert named(*values) == name


def test_a_look_alike_is_never_claude_code():
    """One record with another vendor's message is enough, however many look right."""
    home = Path("/home/ines/.claude/projects/-srv/x.jsonl")
    with pytest.raises(NotASessionError):
        named(*talk(6), PARTS[0], path=home)


def test_the_reason_is_told():
    """Detection says why, in words that hold no session text."""
    form, reason = detect([*talk(3), {"type": "kiln"}], None, "it")
    assert (form.name, reason) == ("claude-code", "75 % of the records have a Claude Code envelope")
    path = Path("/home/ines/.claude/projects/-srv/x.jsonl")
    assert detect(talk(1), path, "it")[1] == "lies in a Claude Code home"


def test_a_home_tells_the_format_of_a_ruined_file():
    """Where no record can be read, the folder says which agent wrote it."""
    path = Path("/home/ines/.codex/sessions/2026/rollout-x.jsonl")
    form, reason = detect([], path, "it")
    assert (form.name, reason) == ("codex", "lies in a home of Codex")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "holds no record that can be read"),
        ([{"a": 1}, {"b": 2}], "no session that sesstool knows: 2 records"),
        ([{"a": 1}] * 3 + talk(2), r"the closest is Claude Code \(40 %\)"),
    ],
)
def test_what_is_no_session(values, message):
    """What no format claims is refused with a sentence and a hint."""
    with pytest.raises(NotASessionError, match=message) as caught:
        detect(values, None, "it")
    assert caught.value.hint
    assert caught.value.exit_code == 3


def test_messages_of_an_agent_are_less_surely_a_plain_list(tmp_path):
    """Ids or a side file say that an agent keeps the messages; its own format goes first."""
    form, path = by_name("anthropic-messages"), tmp_path / "talk.jsonl"
    assert form.score([ANTHROPIC], path).value == 100
    assert form.score([ANTHROPIC | {"id": "m1"}], path).value == 60
    path.with_suffix(".meta.json").touch()
    assert form.score([ANTHROPIC], path).value == 60
    assert form.score([said("user")], path).value == 0


def test_by_name():
    """Each format is found by its name, others are refused with the names."""
    assert [by_name(f.name) for f in FORMATS] == list(FORMATS)
    assert len({f.name for f in FORMATS}) == len(FORMATS)
    with pytest.raises(UsageError) as caught:
        by_name("kiln")
    assert "claude-code" in caught.value.hint


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"\0" * 40 + data,
        lambda data: data[30:],
        lambda data: b"WARN\n" * 5 + data,
        lambda data: data.replace(b"}\n{", b"}{"),
        lambda data: data.decode().encode("utf-16"),
        lambda data: b"[" + data.replace(b"}\n{", b"},\n{").strip() + b"]",
    ],
)
def test_damage_does_not_hide_the_format(damage):
    """Whatever happened to the head of a file, its other records tell what it is."""
    for data, name in (
        (jsonl(*talk(6)), "claude-code"),
        (jsonl(meta(), says("user", "x"), says("assistant", "y")), "codex"),
        (jsonl(said("user"), asks("a"), tells("a"), said("assistant")), "openai-chat"),
    ):
        assert open_session(Memory(damage(data))).format.name == name


def test_a_format_that_is_named_is_not_detected():
    """The user's word counts, whatever the records look like."""
    session = open_session(Memory(jsonl(said("user"))), "codex")
    assert (session.format.name, session.reason) == ("codex", "named by the user")


def test_claude_code_messages_are_no_chat():
    """Records of Claude Code do not look like chat messages, nor the reverse."""
    assert named(prompt(1, None), answer(2, 1)) == "claude-code"
    assert named(*[said("user", "x", uuid="u", parentUuid=None)] * 2) != "openai-chat"
