"""What providers refuse: our schemas beside the types of their SDKs, our repairs beside a judge."""

from __future__ import annotations

import copy
import importlib.util
import json

import pytest
from anthropic.types import MessageParam
from openai.types.chat import ChatCompletionMessageParam
from openai.types.responses import ResponseInputItemParam
from pydantic import TypeAdapter, ValidationError

from sesstool.formats.schemas import RecordValidator
from tests.conftest import loads, mend, said, tells
from tests.mutations import lines
from tests.seeds import SEEDS

SDK = {
    "anthropic-messages": TypeAdapter(MessageParam),
    "openai-chat": TypeAdapter(ChatCompletionMessageParam),
    "openai-responses": TypeAdapter(ResponseInputItemParam),
}
SOURCE = {"type": "base64", "media_type": "image/png", "data": "AA=="}
TEXT = {"type": "text", "text": "Row"}
USE = {"type": "tool_use", "id": "c1", "name": "row", "input": {}}
SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
CHAT_CALL = {"id": "c1", "type": "function", "function": {"name": "row", "arguments": "{}"}}
CUSTOM = {"id": "c1", "type": "custom", "custom": {"name": "row", "input": ""}}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "AA=="}
IMAGE = {"type": "input_image", "image_url": "data:,", "detail": "auto"}
WHOLE = {
    "anthropic-messages": [
        said("user", [TEXT, {"type": "image", "source": SOURCE}]),
        said(
            "user", [{"type": "document", "source": {"type": "url", "url": "https://mill.example"}}]
        ),
        said("user", [{"type": "tool_result", "tool_use_id": "c1", "content": [TEXT]}]),
        said("assistant", [{"type": "thinking", "thinking": "", "signature": "AA=="}, USE, SEARCH]),
        said("assistant", [{"type": "redacted_thinking", "data": "AA=="}]),
        said("system", [TEXT]),
    ],
    "openai-chat": [
        said("system"),
        said("user", [TEXT, {"type": "image_url", "image_url": {"url": "data:,"}}]),
        {"role": "assistant", "tool_calls": [CHAT_CALL, CUSTOM]},
        {"role": "assistant", "function_call": {"name": "row", "arguments": "{}"}},
        tells("c1"),
        {"role": "function", "name": "row", "content": None},
    ],
    "openai-responses": [
        said("user", "Row"),
        said("user", [{"type": "input_text", "text": "Row"}, IMAGE], type="message"),
        said(
            "assistant",
            [{"type": "refusal", "refusal": "No"}],
            type="message",
            id="msg_1",
            status="completed",
        ),
        REASONING,
        {"type": "function_call", "name": "row", "arguments": "{}", "call_id": "c1"},
        {"type": "function_call_output", "call_id": "c1", "output": "rowed"},
        {"type": "custom_tool_call", "name": "patch", "input": "*", "call_id": "c2"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": "ok"},
        {"type": "compaction", "encrypted_content": "AA=="},
        {"type": "item_reference", "id": "msg_1"},
    ],
}
APART = {
    ("openai-chat", "type"): "clones of the API leave the type of a call out",
    ("openai-responses", "type"): "a message without its type is told from a chat by its items",
    ("openai-responses", "id"): "Codex sends reasoning and answers without one, and is answered",
    ("openai-responses", "status"): "the same",
    ("openai-responses", "detail"): "the same, of images",
    ("openai-responses", "image_url"): "an image must come from somewhere",
    ("openai-responses", "call_id"): "an output for no call is told by the rules all the same",
}
"""Where our schemas mean to differ from the SDKs, and why."""


def takes(name, record):
    """Whether the SDK's type takes a record."""
    try:
        made = SDK[name].validate_python(record)
        json.dumps(made, default=list)  # iterables are judged as they are walked
    except (ValidationError, TypeError):
        return False
    return True


def members(value):
    """Every object in a record, with each of its keys."""
    if isinstance(value, dict):
        yield from ((value, key) for key in value)
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from members(inner)


@pytest.mark.parametrize("name", SDK)
def test_our_schema_asks_for_what_the_sdk_asks_for(name):
    """What the provider's own types want in a record, our schema wants, and nothing else."""
    ours = RecordValidator.shipped(name)
    apart = set()
    for record in WHOLE[name]:
        assert takes(name, record), record
        assert ours.valid(record), record
        for number in range(len(list(members(record)))):
            cut = copy.deepcopy(record)
            box, key = list(members(cut))[number]
            del box[key]
            if takes(name, cut) != ours.valid(cut):
                apart.add((name, key))
    assert apart == {one for one in APART if one[0] == name}


@pytest.fixture
def judge(shared):
    """A stand-in for the providers that refuses what they document that they refuse."""
    path = shared / "clients" / "stub_provider.py"
    spec = importlib.util.spec_from_file_location("stub_provider", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {
        "mill.jsonl": lambda data: module.check_anthropic({"messages": as_one(loads(data))}),
        "talk.jsonl": lambda data: module.check_chat({"messages": loads(data)}),
        "items.jsonl": lambda data: module.check_responses({"input": loads(data)}),
    }


def as_one(messages):
    """Neighbours of one role as one message, as the Messages API takes them."""
    joined = []
    for message in messages:
        content = message["content"]
        content = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if joined and joined[-1]["role"] == message["role"]:
            joined[-1]["content"] += content
        else:
            joined.append({"role": message["role"], "content": [*content]})
    return joined


def damages(data):
    """A session with each line in turn taken out, written twice, moved to the end or torn."""
    rows = [line + b"\n" for line in lines(data)]
    for n, row in enumerate(rows):
        before, behind = rows[:n], rows[n + 1 :]
        yield False, b"".join([*before, *behind])
        yield False, b"".join([*before, row, row, *behind])
        yield False, b"".join([*before, *behind, row])
        yield True, b"".join([*before, row[: len(row) // 2] + b"\n", *behind])


@pytest.mark.parametrize("name", ["mill.jsonl", "talk.jsonl", "items.jsonl"])
def test_what_was_damaged_is_taken_after_a_repair(judge, name):
    """The provider refuses many of the damaged sessions, and none of the repaired ones."""
    refused = 0
    assert judge[name](SEEDS[name]) is None
    for torn, data in damages(SEEDS[name]):
        refused += not torn and judge[name](data) is not None
        mended = mend(data, name=name)
        if loads(mended)[0].get("role") != "assistant":  # a first prompt that is gone is gone
            assert judge[name](mended) is None, data
    assert refused > 5
