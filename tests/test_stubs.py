"""Stubs: the output of tools goes from records, and nothing else."""

import pytest

from sesstool.errors import InputError
from sesstool.formats.registry import by_name
from sesstool.retention import stubs
from tests.conftest import Memory, codes, jsonl, loads, look
from tests.seeds import SEEDS

RULE = "tool-output"
STUB = "[tool output removed by retention rule tool-output]"
OUT = 'the "lamp"\nis lit, čtvrt'
TEXT = {"type": "text", "text": OUT}
SAID = {"type": "text", "text": STUB}


def emptied(name, *records):
    """Records without the output of tools, and how many results went."""
    data = jsonl(*records)
    found = stubs.edits(Memory(data), by_name(name), RULE)
    after = found.edits.apply(data)
    again = stubs.edits(Memory(after), by_name(name), "another")
    assert not again.edits, "what is a stub is left"
    return loads(after), found.results


def result(content, **more):
    return {"type": "tool_result", "tool_use_id": "t1", "content": content} | more


def user(block, **more):
    message = {"role": "user", "content": [block]}
    return {"type": "user", "uuid": "u1", "parentUuid": None, "message": message} | more


def item(kind, **more):
    return {"type": "response_item", "payload": {"type": kind, "call_id": "c1"} | more}


def event(kind, **more):
    return {"type": "event_msg", "payload": {"type": kind, "call_id": "c1"} | more}


def life(**more):
    return {"event_type": "tool_lifecycle", "event_id": "e", "payload": {"status": "x"} | more}


# Format, record, what comes of it, and how many results that is.
CASES = {
    "chat text": (
        "openai-chat",
        {"role": "tool", "tool_call_id": "c1", "content": OUT},
        {"role": "tool", "tool_call_id": "c1", "content": STUB},
        1,
    ),
    "chat blocks": (
        "openai-chat",
        {"role": "tool", "tool_call_id": "c1", "content": [TEXT, TEXT]},
        {"role": "tool", "tool_call_id": "c1", "content": [SAID]},
        1,
    ),
    "chat function": (
        "openai-chat",
        {"role": "function", "name": "f", "content": OUT},
        {"role": "function", "name": "f", "content": STUB},
        1,
    ),
    "chat nested": (
        "openai-chat",
        {"messages": [{"role": "user", "content": OUT}, {"role": "tool", "content": OUT}]},
        {"messages": [{"role": "user", "content": OUT}, {"role": "tool", "content": STUB}]},
        1,
    ),
    "anthropic text": (
        "anthropic-messages",
        {"role": "user", "content": [result(OUT, is_error=True), TEXT]},
        {"role": "user", "content": [result(STUB, is_error=True), TEXT]},
        1,
    ),
    "anthropic picture": (
        "anthropic-messages",
        {"role": "user", "content": [result([{"type": "image", "source": {"data": OUT}}])]},
        {"role": "user", "content": [result([SAID])]},
        1,
    ),
    "anthropic names of tools": (
        "anthropic-messages",
        {"role": "user", "content": [result([{"type": "tool_reference", "tool_name": "t"}])]},
        {"role": "user", "content": [result([{"type": "tool_reference", "tool_name": "t"}])]},
        0,
    ),
    "anthropic search": (
        "anthropic-messages",
        {
            "role": "assistant",
            "content": [
                result([{"type": "web_search_result", "title": OUT}])
                | {"type": "web_search_tool_result"}
            ],
        },
        {"role": "assistant", "content": [result([]) | {"type": "web_search_tool_result"}]},
        1,
    ),
    "anthropic code": (
        "anthropic-messages",
        {
            "role": "assistant",
            "content": [
                result({"type": "code_execution_result", "stdout": OUT, "return_code": 0})
                | {"type": "code_execution_tool_result"}
            ],
        },
        {
            "role": "assistant",
            "content": [
                result({"type": "code_execution_result", "stdout": STUB, "return_code": 0})
                | {"type": "code_execution_tool_result"}
            ],
        },
        1,
    ),
    "responses": (
        "openai-responses",
        {"type": "function_call_output", "call_id": "c1", "output": OUT},
        {"type": "function_call_output", "call_id": "c1", "output": STUB},
        1,
    ),
    "responses blocks": (
        "openai-responses",
        {"type": "custom_tool_call_output", "output": [{"type": "input_image", "image_url": OUT}]},
        {"type": "custom_tool_call_output", "output": [{"type": "input_text", "text": STUB}]},
        1,
    ),
    "responses tool of the provider": (
        "openai-responses",
        {"type": "mcp_call", "name": "f", "arguments": "{}", "output": OUT, "error": None},
        {"type": "mcp_call", "name": "f", "arguments": "{}", "output": STUB, "error": None},
        1,
    ),
    "responses picture": (
        "openai-responses",
        {"type": "image_generation_call", "id": "ig_1", "result": "iVBORw0KGgo"},
        {"type": "image_generation_call", "id": "ig_1", "result": ""},
        1,
    ),
    "claude": (
        "claude-code",
        user(
            result(OUT, is_error=True),
            toolUseResult={"stdout": OUT, "stderr": "", "interrupted": False, "filenames": [OUT]},
        ),
        user(
            result(STUB, is_error=True),
            toolUseResult={"stdout": STUB, "stderr": "", "interrupted": False, "filenames": [STUB]},
        ),
        1,
    ),
    "claude file": (
        "claude-code",
        user(
            result([TEXT]),
            toolUseResult={
                "type": "text",
                "file": {"filePath": "/a", "content": OUT, "numLines": 2},
                "structuredPatch": [{"oldStart": 1, "lines": [OUT]}],
                "answers": {OUT: OUT},
            },
        ),
        user(
            result([SAID]),
            toolUseResult={
                "type": "text",
                "file": {"filePath": "/a", "content": STUB, "numLines": 2},
                "structuredPatch": [],
                "answers": {"removed": STUB},
            },
        ),
        1,
    ),
    "claude error": (
        "claude-code",
        user(result(OUT, is_error=True), toolUseResult=OUT),
        user(result(STUB, is_error=True), toolUseResult=STUB),
        1,
    ),
    "claude mcp": (
        "claude-code",
        user(result(OUT), toolUseResult=[TEXT], mcpMeta={"structuredContent": {OUT: 1}}),
        user(result(STUB), toolUseResult=[SAID], mcpMeta={"structuredContent": {"removed": STUB}}),
        1,
    ),
    "claude prompt": (
        "claude-code",
        {"type": "user", "uuid": "u", "parentUuid": None, "message": {"content": OUT}},
        {"type": "user", "uuid": "u", "parentUuid": None, "message": {"content": OUT}},
        0,
    ),
    "claude progress": (
        "claude-code",
        {"type": "progress", "uuid": "u", "data": {"type": "bash_progress", "fullOutput": OUT}},
        {"type": "progress", "uuid": "u", "data": {"type": "bash_progress", "fullOutput": STUB}},
        0,
    ),
    "claude subagent at work": (
        "claude-code",
        {"type": "progress", "uuid": "u", "data": {"prompt": OUT, "message": user(result(OUT))}},
        {"type": "progress", "uuid": "u", "data": {"prompt": OUT, "message": user(result(STUB))}},
        0,
    ),
    "claude hook": (
        "claude-code",
        {
            "type": "attachment",
            "uuid": "u",
            "attachment": {"type": "hook_success", "command": OUT, "stdout": OUT, "content": [OUT]},
            "rendered": [{"content": OUT}],
        },
        {
            "type": "attachment",
            "uuid": "u",
            "attachment": {
                "type": "hook_success",
                "command": OUT,
                "stdout": STUB,
                "content": [STUB],
            },
            "rendered": [{"content": STUB}],
        },
        0,
    ),
    "claude hooks at the end": (
        "claude-code",
        {"type": "system", "uuid": "u", "subtype": "stop_hook_summary", "hookErrors": [OUT]},
        {"type": "system", "uuid": "u", "subtype": "stop_hook_summary", "hookErrors": [STUB]},
        0,
    ),
    "claude replacement": (
        "claude-code",
        {"type": "content-replacement", "replacements": [{"toolUseId": "t", "replacement": OUT}]},
        {"type": "content-replacement", "replacements": [{"toolUseId": "t", "replacement": STUB}]},
        0,
    ),
    "claude request": (
        "claude-code",
        {"type": "api-request-blob", "hash": "h", "message": {"content": [result(OUT), TEXT]}},
        {"type": "api-request-blob", "hash": "h", "message": {"content": [result(STUB), TEXT]}},
        0,
    ),
    "codex": (
        "codex",
        item("function_call_output", output=OUT),
        item("function_call_output", output=STUB),
        1,
    ),
    "codex bare": (
        "codex",
        {"type": "function_call_output", "call_id": "c1", "output": OUT},
        {"type": "function_call_output", "call_id": "c1", "output": STUB},
        1,
    ),
    "codex command": (
        "codex",
        event("exec_command_end", command=[OUT], stdout=OUT, aggregated_output=OUT, exit_code=1),
        event("exec_command_end", command=[OUT], stdout=STUB, aggregated_output=STUB, exit_code=1),
        0,
    ),
    "codex item": (
        "codex",
        event("item_completed", item={"type": "CommandExecution", "formatted_output": OUT}),
        event("item_completed", item={"type": "CommandExecution", "formatted_output": STUB}),
        0,
    ),
    "codex mcp": (
        "codex",
        event("mcp_tool_call_end", result={"Ok": {"content": [TEXT], "isError": False}}),
        event("mcp_tool_call_end", result={"Ok": {"content": [SAID], "isError": False}}),
        0,
    ),
    "codex mcp error": (
        "codex",
        event("mcp_tool_call_end", result={"Err": OUT}),
        event("mcp_tool_call_end", result={"Err": STUB}),
        0,
    ),
    "codex patch": (
        "codex",
        event(
            "patch_apply_end",
            changes={
                "/a": {"type": "add", "content": OUT},
                "/b": {"type": "delete", "content": OUT},
                "/c": {"type": "update", "unified_diff": OUT, "move_path": None},
            },
        ),
        event(
            "patch_apply_end",
            changes={
                "/a": {"type": "add", "content": OUT},
                "/b": {"type": "delete", "content": STUB},
                "/c": {"type": "update", "unified_diff": STUB, "move_path": None},
            },
        ),
        0,
    ),
    "codex subagent": (
        "codex",
        event("collab_waiting_end", statuses={"a/b": {"completed": OUT}}),
        event("collab_waiting_end", statuses={"a/b": {"completed": STUB}}),
        0,
    ),
    "codex compaction": (
        "codex",
        {
            "type": "compacted",
            "payload": {
                "message": OUT,
                "replacement_history": [{"type": "function_call_output", "output": OUT}],
            },
        },
        {
            "type": "compacted",
            "payload": {
                "message": OUT,
                "replacement_history": [{"type": "function_call_output", "output": STUB}],
            },
        },
        1,
    ),
    "codex words": (
        "codex",
        event("agent_message", message=OUT),
        event("agent_message", message=OUT),
        0,
    ),
    "pi": (
        "pi",
        {
            "type": "message",
            "id": "1",
            "message": {"role": "toolResult", "content": [TEXT], "details": {"diff": OUT}},
        },
        {
            "type": "message",
            "id": "1",
            "message": {
                "role": "toolResult",
                "content": [SAID],
                "details": {"removed": STUB},
            },
        },
        1,
    ),
    "mycodeagent": (
        "mycodeagent",
        {"event_type": "message", "payload": {"role": "tool", "content": OUT, "metadata": {}}},
        {"event_type": "message", "payload": {"role": "tool", "content": STUB, "metadata": {}}},
        1,
    ),
    "mycodeagent life": (
        "mycodeagent",
        life(args={"a": OUT}, result={"text": OUT}, error=OUT),
        life(args={"a": OUT}, result={"removed": STUB}, error=STUB),
        0,
    ),
    "astorlm": (
        "astorlm",
        {"id": "1", "role": "user", "content": [result(OUT, is_error=False)]},
        {"id": "1", "role": "user", "content": [result(STUB, is_error=False)]},
        1,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_output_gives_way_to_a_stub_of_its_type(case):
    """What was called for, said and thought stays, with ids and flags."""
    name, before, after, results = CASES[case]
    assert emptied(name, before) == ([after], results)


@pytest.mark.parametrize("name", SEEDS)
def test_a_sound_session_has_no_new_finding(name):
    """For each format that is repaired, all calls have their results still."""
    data = SEEDS[name]
    before = look(data, name=name)
    found = stubs.edits(Memory(data, name), by_name(before.format), RULE)
    assert found.results
    after = found.edits.apply(data)
    assert codes(look(after, name=name)) == codes(before)
    assert after.count(STUB.encode()) >= found.results


def test_bytes_outside_of_the_output_stay():
    """Spaces, escapes, big numbers, and a byte order mark."""
    line = (
        b'\xef\xbb\xbf{ "role":"tool", "n": 123456789012345678901, "tool_call_id":"\\u0061",%s}\n'
    )
    data = line % b'"content" :  "is lit"' + b"\n\r\n"
    found = stubs.edits(Memory(data), by_name("openai-chat"), RULE)
    assert found.edits.apply(data) == line % b'"content" :  "%s"' % STUB.encode() + b"\n\r\n"


@pytest.mark.parametrize(
    "line",
    [
        b'{"role":"tool","content":"is lit","content":"x"}',
        b'{"role":"tool","content":"is lit"',
        b'{"role":"user","role":"tool","content":"is lit"}',
        b"[1]",
        b"\xff",
        b"[" * 100_000,
    ],
)
def test_what_may_hide_output_is_not_taken_for_clean(line):
    """A line that cannot be told, or has a key twice; no text of it is in the error."""
    with pytest.raises(InputError) as error:
        stubs.edits(Memory(jsonl({"role": "user"}, line)), by_name("openai-chat"), RULE)
    assert "line 2" in error.value.message
    assert "is lit" not in error.value.message
