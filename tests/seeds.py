"""Small sound sessions, one a format, with all that the rules look at: for tests to damage."""

from __future__ import annotations

from typing import Any

from tests.mutations import dumps, joined

_SESSION = "5d0c7f6a-3b1e-4c55-9a70-1f2e3d4c5b6a"
_GEMINI = "5d0c7f6a-3b1e-4c55-9a70-1f2e3d4c5b6c"
_COPILOT = "5d0c7f6a-3b1e-4c55-9a70-1f2e3d4c5b6b"
_TEXT = 'Lanterns → the mill\nand\tthe café 🎐 "C:\\new" {"a":[1]}'


def claude_code() -> bytes:
    """Two prompts, parallel calls, thinking, a hook, a compaction and a leaf."""
    rows: list[dict[str, Any]] = []

    def add(kind: str, message: Any = None, parent: int | None = -1, **more: Any) -> int:
        n = len(rows)
        above = n - 1 if parent == -1 else parent
        row: dict[str, Any] = {
            "parentUuid": None if above is None else rows[above]["uuid"],
            "isSidechain": False,
            "type": kind,
            "sessionId": _SESSION,
            "cwd": "/srv/mill",
            "version": "2.1.30",
            "uuid": f"{n:08x}-3b1e-4c55-9a70-1f2e3d4c5b6a",
            "timestamp": f"2026-03-01T10:{n:02}:00.000Z",
        }
        if message is not None:
            row["message"] = message
        rows.append(row | more)
        return n

    def said(name: str, *blocks: dict[str, Any]) -> dict[str, Any]:
        return {"id": name, "role": "assistant", "model": "claude-x", "content": list(blocks)}

    def result(name: str, text: str) -> dict[str, Any]:
        block = {"type": "tool_result", "tool_use_id": name, "content": text}
        return {"role": "user", "content": [block]}

    def call(name: str, tool: str) -> dict[str, Any]:
        return {"type": "tool_use", "id": name, "name": tool, "input": {"path": "a\nb"}}

    add("user", {"role": "user", "content": _TEXT}, None)
    thought = {"type": "thinking", "thinking": "the mill first", "signature": "RXZlcnk="}
    add("assistant", said("m1", thought))
    first = add("assistant", said("m1", {"type": "text", "text": _TEXT}))
    one = add("assistant", said("m1", call("toolu_01aaaaaa", "Read")), first)
    two = add("assistant", said("m1", call("toolu_01bbbbbb", "Bash")), one)
    add("user", result("toolu_01aaaaaa", _TEXT), one)
    add("user", result("toolu_01bbbbbb", "done"), two)
    add("assistant", said("m2", {"type": "text", "text": "The lanterns hang."}))
    add("system", None, subtype="turn_duration", durationMs=4200)
    add("system", None, None, subtype="compact_boundary", logicalParentUuid=rows[-1]["uuid"])
    add("user", {"role": "user", "content": "So far: lanterns."}, isCompactSummary=True)
    add("user", {"role": "user", "content": [{"type": "text", "text": "And the café?"}]})
    add("assistant", said("m3", call("toolu_01cccccc", "Bash")))
    add("user", result("toolu_01cccccc", "café: open"))
    add("assistant", said("m4", {"type": "text", "text": "It is open."}))
    title = {"type": "custom-title", "customTitle": "lanterns", "sessionId": _SESSION}
    tag = {"type": "tag", "tag": "mill", "sessionId": _SESSION}
    return joined(map(dumps, [title, *rows, tag]))


def codex() -> bytes:
    """A header, two turns with calls of three kinds, reasoning and events."""
    rows: list[dict[str, Any]] = []

    def add(kind: str, payload: dict[str, Any]) -> None:
        n = len(rows)
        when = f"2026-03-01T10:{n:02}:00.000Z"
        rows.append({"timestamp": when, "ordinal": n, "type": kind, "payload": payload})

    def item(kind: str, **more: Any) -> None:
        add("response_item", {"type": kind} | more)

    def message(role: str, text: str) -> None:
        kind = "output_text" if role == "assistant" else "input_text"
        item("message", role=role, content=[{"type": kind, "text": text}])

    add(
        "session_meta",
        {
            "id": _SESSION,
            "timestamp": "2026-03-01T10:00:00.000Z",
            "cwd": "/srv/mill",
            "originator": "codex_cli_rs",
            "cli_version": "0.150.0",
        },
    )
    add("turn_context", {"cwd": "/srv/mill", "model": "gpt-x", "summary": "auto"})
    message("user", _TEXT)
    add("event_msg", {"type": "user_message", "message": _TEXT})
    item("reasoning", summary=[], encrypted_content="Z0FBQUFBQm8=")
    item("function_call", name="exec", arguments='{"cmd":"ls\\n"}', call_id="call_aaaaaa")
    item("custom_tool_call", name="apply_patch", input="*** Begin\n", call_id="call_bbbbbb")
    item("function_call_output", call_id="call_aaaaaa", output="a.md\nb.md")
    item("custom_tool_call_output", call_id="call_bbbbbb", output="Done")
    message("assistant", "The lanterns hang.")
    add("event_msg", {"type": "agent_message", "message": "The lanterns hang."})
    message("user", "And the café?")
    item("function_call", name="exec", arguments="{}", call_id="call_cccccc")
    item("function_call_output", call_id="call_cccccc", output="open")
    message("assistant", "It is open.")
    return joined(map(dumps, rows))


def openai_chat() -> bytes:
    """A system message, two turns, and two parallel calls."""

    def call(name: str) -> dict[str, Any]:
        function = {"name": "exec", "arguments": '{"cmd":"ls\\n"}'}
        return {"id": name, "type": "function", "function": function}

    return joined(
        map(
            dumps,
            [
                {"role": "system", "content": "You keep the mill."},
                {"role": "user", "content": _TEXT},
                {"role": "assistant", "content": None, "tool_calls": [call("c1"), call("c2")]},
                {"role": "tool", "tool_call_id": "c1", "content": "a.md\nb.md"},
                {"role": "tool", "tool_call_id": "c2", "content": _TEXT},
                {"role": "assistant", "content": "The lanterns hang."},
                {"role": "user", "content": [{"type": "text", "text": "And the café?"}]},
                {"role": "assistant", "content": "", "tool_calls": [call("c3")]},
                {"role": "tool", "tool_call_id": "c3", "content": ""},
                {"role": "assistant", "content": "It is open."},
            ],
        )
    )


def anthropic_messages() -> bytes:
    """Thinking, parallel calls, a call of the provider's own, and neighbours of one role."""

    def call(name: str) -> dict[str, Any]:
        return {"type": "tool_use", "id": name, "name": "exec", "input": {"cmd": "ls\n"}}

    def result(name: str, content: Any) -> dict[str, Any]:
        return {"type": "tool_result", "tool_use_id": name, "content": content}

    words = {"type": "text", "text": _TEXT}
    thought = {"type": "thinking", "thinking": "the mill first", "signature": "RXZlcnk="}
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    messages: list[tuple[str, Any]] = [
        ("user", _TEXT),
        ("assistant", [thought, words, call("toolu_a1"), call("toolu_a2")]),
        ("user", [result("toolu_a1", _TEXT), result("toolu_a2", [words]), words]),
        ("assistant", [call("toolu_b1")]),
        ("assistant", [call("toolu_b2")]),
        ("user", [result("toolu_b1", "")]),
        ("user", [result("toolu_b2", "done")]),
        ("assistant", [search, found, {"type": "text", "text": "The lanterns hang."}]),
        ("user", "And the café?"),
        ("assistant", "It is open."),
    ]
    return joined(dumps({"role": role, "content": content}) for role, content in messages)


def openai_responses() -> bytes:
    """Reasoning, calls of two kinds, a reference, and a message without its type."""

    def message(role: str, text: str) -> dict[str, Any]:
        kind = "output_text" if role == "assistant" else "input_text"
        return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}

    def call(name: str) -> dict[str, Any]:
        arguments = '{"cmd":"ls\\n"}'
        return {"type": "function_call", "name": "exec", "arguments": arguments, "call_id": name}

    def output(name: str, text: Any) -> dict[str, Any]:
        return {"type": "function_call_output", "call_id": name, "output": text}

    patch = {"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin\n"}
    reasoning = {"type": "reasoning", "summary": [], "encrypted_content": "Z0FBQUFBQm8="}
    return joined(
        map(
            dumps,
            [
                {"role": "developer", "content": "You keep the mill."},
                message("user", _TEXT),
                reasoning | {"id": "rs_1"},
                call("call_aaaaaa"),
                patch | {"call_id": "call_bbbbbb"},
                output("call_aaaaaa", "a.md\nb.md"),
                {"type": "custom_tool_call_output", "call_id": "call_bbbbbb", "output": "Done"},
                message("assistant", "The lanterns hang.") | {"id": "msg_1"},
                message("user", "And the café?"),
                {"type": "item_reference", "id": "rs_2"},
                call("call_cccccc"),
                output("call_cccccc", [{"type": "input_text", "text": _TEXT}]),
                message("assistant", "It is open."),
            ],
        )
    )


def pi() -> bytes:
    """A header, parallel calls, thinking, a compaction that keeps a part, and a note."""
    rows: list[dict[str, Any]] = []

    def add(kind: str, **more: Any) -> str:
        n, above = len(rows), rows[-1]["id"] if rows else None
        head = {"type": kind, "id": f"{n:08x}", "parentId": above}
        rows.append(head | {"timestamp": f"2026-03-01T10:{n:02}:00.000Z"} | more)
        return f"{n:08x}"

    def message(role: str, *blocks: dict[str, Any], **more: Any) -> str:
        head = {"role": role, "content": list(blocks), "timestamp": 1772359200000 + len(rows)}
        return add("message", message=head | more)

    def text(words: str) -> dict[str, Any]:
        return {"type": "text", "text": words}

    def call(name: str, tool: str) -> dict[str, Any]:
        return {"type": "toolCall", "id": name, "name": tool, "arguments": {"path": "a\nb"}}

    def result(name: str, words: str) -> str:
        return message("toolResult", text(words), toolCallId=name, toolName="x", isError=False)

    thought = {"type": "thinking", "thinking": "the mill first", "thinkingSignature": "hm"}
    add("model_change", provider="mill", modelId="mill-1")
    message("user", text(_TEXT))
    message("assistant", thought, call("tc_aaaaaa", "read"), call("tc_bbbbbb", "bash"))
    result("tc_aaaaaa", _TEXT)
    result("tc_bbbbbb", "done")
    message("assistant", text("The lanterns hang."), stopReason="stop")
    kept = message("user", text("And the café?"))
    message("assistant", call("tc_cccccc", "bash"))
    result("tc_cccccc", "café: open")
    message("assistant", text("It is open."))
    add("compaction", summary="So far: lanterns.", firstKeptEntryId=kept, tokensBefore=900)
    message("user", text("Until when?"))
    message("assistant", text(""), text("Until ten."))
    add("label", targetId=kept, label="café")
    header = {"type": "session", "version": 3, "id": _SESSION}
    header |= {"timestamp": "2026-03-01T10:00:00.000Z", "cwd": "/srv/mill"}
    return joined(map(dumps, [header, *rows]))


def qwen() -> bytes:
    """Parallel calls, thinking, telemetry, an answer in two records, a compaction and a title."""
    rows: list[dict[str, Any]] = []

    def add(kind: str, *parts: dict[str, Any], **more: Any) -> None:
        n, above = len(rows), rows[-1]["uuid"] if rows else None
        row = {"uuid": f"{n:08x}-3b1e-4c55-9a70-1f2e3d4c5b6a", "parentUuid": above}
        row |= {"sessionId": _SESSION, "timestamp": f"2026-03-01T10:{n:02}:00.000Z", "type": kind}
        row |= {"provenance": kind, "cwd": "/srv/mill", "version": "0.24.4"}
        if parts:
            role = "model" if kind == "assistant" else "user"
            row["message"] = {"role": role, "parts": list(parts)}
        rows.append(row | more)

    def call(name: str, tool: str) -> dict[str, Any]:
        return {"functionCall": {"id": name, "name": tool, "args": {"path": "a\nb"}}}

    def result(name: str, output: str) -> None:
        event = {"event.name": "qwen-code.tool_call", "call_id": name, "success": True}
        add("system", subtype="ui_telemetry", systemPayload={"uiEvent": event})
        told = {"id": name, "name": "x", "response": {"output": output}}
        beside = {"callId": name, "status": "success", "resultDisplay": output}
        add("tool_result", {"functionResponse": told}, toolCallResult=beside)

    add("user", {"text": _TEXT})
    thought = {"text": "the mill first", "thought": True}
    add("assistant", thought, call("call_aaaaaa", "read_file"), call("call_bbbbbb", "edit"))
    result("call_aaaaaa", _TEXT)
    result("call_bbbbbb", "done")
    add("assistant", {"text": "The lanterns hang."})
    again = {key: rows[-1][key] for key in ("uuid", "parentUuid")}
    add("assistant", {"text": "All of them."}, **again)
    add("user", {"text": "And the café?"})
    add("assistant", call("call_cccccc", "edit"))
    result("call_cccccc", "café: open")
    history = [{"role": "user", "parts": [{"text": "So far: lanterns."}]}]
    compressed = {"compressedHistory": history, "info": {}}
    add("system", subtype="chat_compression", systemPayload=compressed)
    add("user", {"text": "Until when?"})
    add("assistant", {"text": "Until ten."})
    title = {"customTitle": "lanterns", "titleSource": "manual"}
    add("system", subtype="custom_title", systemPayload=title)
    return joined(map(dumps, rows))


def kimi() -> bytes:
    """A system prompt, marks, counts of tokens, thinking, parallel calls, the agent's own words."""

    def call(name: str) -> dict[str, Any]:
        return {"type": "function", "id": name, "function": {"name": "Shell", "arguments": "{}"}}

    think = {"type": "think", "think": "the mill first", "encrypted": None}
    rows: list[dict[str, Any]] = [
        {"role": "_system_prompt", "content": "You keep the mill."},
        {"role": "_checkpoint", "id": 0},
        {"role": "user", "content": _TEXT},
        {"role": "_checkpoint", "id": 1},
        {"role": "user", "content": "<system>CHECKPOINT 1</system>"},
        {"role": "assistant", "content": [think], "tool_calls": [call("t1"), call("t2")]},
        {"role": "_usage", "token_count": 900},
        {"role": "tool", "content": "a.md\nb.md", "tool_call_id": "t1"},
        {"role": "tool", "content": _TEXT, "tool_call_id": "t2"},
        {"role": "_checkpoint", "id": 2},
        {"role": "assistant", "content": "The lanterns hang."},
        {"role": "_usage", "token_count": 950},
        {"role": "user", "content": [{"type": "text", "text": "And the café?"}]},
        {"role": "assistant", "content": "I look.", "tool_calls": [call("t3")]},
        {"role": "tool", "content": "café: open", "tool_call_id": "t3"},
        {"role": "assistant", "content": "It is open."},
    ]
    return joined(map(dumps, rows))


def droid() -> bytes:
    """A header, messages that hang from each other, parallel calls, thinking, a list of to-dos."""
    rows: list[dict[str, Any]] = []

    def add(role: str, *blocks: dict[str, Any]) -> None:
        n, above = len(rows), rows[-1]["id"] if rows else _SESSION
        row = {"type": "message", "id": f"{n:08x}-3b1e-4c55-9a70-1f2e3d4c5b6a"}
        row |= {"timestamp": f"2026-03-01T10:{n:02}:00.000Z", "parentId": above}
        rows.append(row | {"message": {"role": role, "content": list(blocks)}})

    def call(name: str) -> dict[str, Any]:
        return {"type": "tool_use", "id": name, "name": "Execute", "input": {"command": "ls\n"}}

    def result(name: str, words: str) -> dict[str, Any]:
        return {"type": "tool_result", "tool_use_id": name, "content": words}

    def text(words: str) -> dict[str, Any]:
        return {"type": "text", "text": words}

    add("user", text(_TEXT))
    add("assistant", {"type": "thinking", "thinking": "hm"}, call("toolu_aaaa"), call("toolu_bbbb"))
    add("user", result("toolu_aaaa", _TEXT), result("toolu_bbbb", "done"))
    add("assistant", text("The lanterns hang."))
    add("user", text("And the café?"))
    add("assistant", text("I look."), call("toolu_cccc"))
    add("user", result("toolu_cccc", "open"))
    add("assistant", text("It is open."))
    header = {"type": "session_start", "id": _SESSION, "title": "lanterns", "cwd": "/srv/mill"}
    todo = {"type": "todo_state", "id": "todo-1", "timestamp": "2026-03-01T10:59:00.000Z"}
    return joined(map(dumps, [header, *rows, todo]))


def grok() -> bytes:
    """The system prompt, the agent's own words, reasoning, parallel calls."""

    def call(name: str) -> dict[str, Any]:
        return {"id": name, "name": "shell", "arguments": '{"cmd":"ls\\n"}'}

    def text(words: str) -> list[dict[str, Any]]:
        return [{"type": "text", "text": words}]

    thought = [{"type": "summary_text", "text": "the mill first"}]
    rows: list[dict[str, Any]] = [
        {"type": "system", "content": "You keep the mill."},
        {"type": "user", "content": text("Mind the wind."), "synthetic_reason": "system_reminder"},
        {"type": "user", "content": text(_TEXT), "prompt_index": 0},
        {"type": "reasoning", "summary": thought, "encrypted_content": "Z0FBQUFBQm8="},
        {"type": "assistant", "content": "", "tool_calls": [call("c1"), call("c2")]},
        {"type": "tool_result", "tool_call_id": "c1", "content": "a.md\nb.md"},
        {"type": "tool_result", "tool_call_id": "c2", "content": _TEXT},
        {"type": "assistant", "content": "The lanterns hang.", "model_id": "mill-1"},
        {"type": "user", "content": text("And the café?"), "prompt_index": 1},
        {"type": "assistant", "content": "I look.", "tool_calls": [call("c3")]},
        {"type": "tool_result", "tool_call_id": "c3", "content": "open"},
        {"type": "assistant", "content": "It is open."},
    ]
    return joined(map(dumps, rows))


def mycodeagent() -> bytes:
    """Two runs with the same call ids, parallel calls, their lives, and a checkpoint."""
    rows: list[dict[str, Any]] = []
    run = "run-1"

    def add(kind: str, **payload: Any) -> None:
        n = len(rows)
        row = {
            "event_id": f"evt-{n:032x}",
            "timestamp": f"2026-03-01T10:{n:02}:00.000001Z",
            "session_id": "session-mill",
            "run_id": run,
            "step": n // 4,
            "event_type": kind,
            "payload": payload,
            "schema_version": 1,
        }
        rows.append(row)

    def message(role: str, content: str, **metadata: Any) -> None:
        add("message", role=role, content=content, metadata=metadata)

    def calls(*names: str) -> None:
        made = [{"id": n, "name": "Bash", "arguments": '{"cmd":"ls\\n"}'} for n in names]
        message("assistant", "", action_type="tool_call", tool_calls=made)
        for name in names:
            for status in ("requested", "started", "completed"):
                result = {"result": {"text": _TEXT}} if status == "completed" else {}
                life = {"tool_name": "Bash", "tool_call_id": name, "status": status}
                add("tool_lifecycle", **life, **result)
        for name in names:
            message("tool", _TEXT, tool_name="Bash", tool_call_id=name)

    add("state_transition", from_state=None, to_state="user_input", reason="user_input")
    message("user", _TEXT)
    calls("call_aaaaaa", "call_bbbbbb")
    message("assistant", "The lanterns hang.", action_type="final")
    add("terminal", reason="completed", details={})
    run = "run-2"
    message("user", "And the café?")
    add("checkpoint", checkpoint_id="cp-1", summary="So far: lanterns.", retain_start_idx=5)
    calls("call_aaaaaa")
    message("assistant", "It is open.", action_type="final")
    return joined(map(dumps, rows))


def astorlm() -> bytes:
    """Two turns, parallel calls, thinking without a signature."""

    def use(name: str) -> dict[str, Any]:
        return {"type": "tool_use", "id": name, "name": "bash", "input": {"cmd": "ls\n"}}

    def result(name: str) -> dict[str, Any]:
        block = {"type": "tool_result", "tool_use_id": name, "content": _TEXT}
        return block | {"is_error": False}

    def words(text: str) -> dict[str, Any]:
        return {"type": "text", "text": text}

    talk = [
        ("user", [words(_TEXT)]),
        (
            "assistant",
            [{"type": "thinking", "thinking": "hm"}, use("toolu_aaaa"), use("toolu_bbbb")],
        ),
        ("user", [result("toolu_aaaa"), result("toolu_bbbb")]),
        ("assistant", [words("The lanterns hang.")]),
        ("user", [words("And the café?")]),
        ("assistant", [words("I look."), use("toolu_cccc")]),
        ("user", [result("toolu_cccc")]),
        ("assistant", [words("It is open.")]),
    ]
    rows = [
        {"id": f"{n:08x}-3b1e-4c55-9a70-1f2e3d4c5b6a", "role": role, "content": content}
        for n, (role, content) in enumerate(talk)
    ]
    return joined(map(dumps, rows))


def copilot_cli() -> bytes:
    """Two prompts, parallel calls of which one failed, a compaction, and a resume."""
    rows: list[dict[str, Any]] = []

    def add(kind: str, **data: Any) -> None:
        n = len(rows)
        above = rows[-1]["id"] if rows else None
        head = {"type": kind, "data": data, "id": f"{n:08x}-3b1e-4c55-9a70-1f2e3d4c5b6b"}
        rows.append(head | {"timestamp": f"2026-03-01T10:{n:02}:00.000Z", "parentId": above})

    def said(words: str, *calls: str) -> None:
        asked = [{"toolCallId": c, "name": "bash", "arguments": {"cmd": "ls\n"}} for c in calls]
        add("assistant.message", messageId=f"m{len(rows)}", content=words, toolRequests=asked)
        for call in calls:
            add("tool.execution_start", toolCallId=call, toolName="bash")

    version = {"version": 1, "producer": "copilot-agent", "copilotVersion": "1.0.102"}
    begun = {"startTime": "2026-03-01T10:00:00.000Z", "context": {"cwd": "/srv/mill"}}
    add("session.start", sessionId=_COPILOT, **version, **begun)
    add("user.message", content=_TEXT, transformedContent=_TEXT)
    add("system.message", role="system", content="You keep the mill.")
    add("assistant.turn_start", turnId="0")
    said(_TEXT, "call_aaaaaa", "call_bbbbbb")
    add(
        "tool.execution_complete", toolCallId="call_bbbbbb", success=True, result={"content": _TEXT}
    )
    add("tool.execution_complete", toolCallId="call_aaaaaa", success=False, error={"message": "no"})
    add("assistant.turn_end", turnId="0")
    add("session.compaction_start")
    said("The lanterns hang.")
    add("session.compaction_complete", success=True, summaryContent="So far: lanterns.")
    add("session.shutdown", shutdownType="routine", modelMetrics={})
    add("session.resume", resumeTime="2026-03-01T11:00:00.000Z", eventCount=len(rows))
    add("user.message", content="And the café?")
    said("", "call_cccccc")
    add("tool.execution_complete", toolCallId="call_cccccc", success=True, result={"content": ""})
    said("It is open.")
    return joined(map(dumps, rows))


def gemini() -> bytes:
    """Two prompts, parallel calls, a rewind, and a resume that restates all messages."""
    rows: list[dict[str, Any]] = []

    def when() -> str:
        return f"2026-03-01T10:{len(rows):02}:00.000Z"

    def message(n: int, kind: str, content: Any, **more: Any) -> dict[str, Any]:
        name = f"{n:08x}-3b1e-4c55-9a70-1f2e3d4c5b6c"
        return {"id": name, "timestamp": when(), "type": kind, "content": content} | more

    def result(name: str, **response: str) -> dict[str, Any]:
        return {"functionResponse": {"id": name, "name": "bash", "response": response}}

    def call(name: str, **response: str) -> dict[str, Any]:
        asked = {"id": name, "name": "bash", "args": {"cmd": "ls\n"}, "status": "success"}
        return asked | {"result": [result(name, **response)]}

    def begin() -> None:
        head = {"sessionId": _GEMINI, "projectHash": "5bd1e995" * 8, "startTime": when()}
        rows.append(head | {"lastUpdated": when(), "kind": "main"})
        rows.append({"$set": {"messages": [message(0, "user", [words("<session_context>")])]}})

    def words(text: str) -> dict[str, Any]:
        return {"text": text}

    said = "The lanterns hang."
    begin()
    rows.append(message(1, "user", [words(_TEXT)]))
    rows.append({"$set": {"lastUpdated": when()}})
    thoughts = [{"subject": "Mill", "description": "the mill first"}]
    rows.append(message(2, "gemini", _TEXT, thoughts=thoughts, model="mill-1"))
    calls = [call("bash_1", output=_TEXT), call("bash_2", error="no")]
    rows.append(message(2, "gemini", _TEXT, thoughts=thoughts, model="mill-1", toolCalls=calls))
    rows.append(message(3, "user", [result("bash_1", output=_TEXT), result("bash_2", error="no")]))
    rows.append(message(4, "gemini", said, toolCalls=[]))
    rows.append(message(5, "user", [words("Take them down.")]))
    rows.append({"$rewindTo": rows[-1]["id"]})
    begin()
    rows.append({"$set": {"sessionId": _GEMINI}})
    asks = [{"functionCall": {"id": n, "name": "bash", "args": {}}} for n in ("bash_1", "bash_2")]
    gone = [
        message(1, "user", [words(_TEXT)]),
        message(2, "gemini", [words(_TEXT), *asks]),
        message(3, "user", [result("bash_1", output=_TEXT), result("bash_2", error="no")]),
        message(4, "gemini", [words(said)]),
    ]
    rows.append({"$set": {"messages": gone, "lastUpdated": when()}})
    rows.append(message(6, "user", [words("And the café?")]))
    rows.append(message(7, "gemini", "", toolCalls=[call("bash_3", output="open")]))
    rows.append(message(8, "user", [result("bash_3", output="open")]))
    rows.append(message(9, "gemini", "It is open."))
    return joined(map(dumps, rows))


SEEDS = {
    f"{_SESSION}.jsonl": claude_code(),
    f"rollout-2026-03-01T10-00-00-{_SESSION}.jsonl": codex(),
    "talk.jsonl": openai_chat(),
    "mill.jsonl": anthropic_messages(),
    "items.jsonl": openai_responses(),
    f"2026-03-01T10-00-00-000Z_{_SESSION}.jsonl": pi(),
    "5d0c7f6a-3b1e-4c55-9a70-1f2e3d4c5b60.jsonl": qwen(),
    "context.jsonl": kimi(),
    "droid.jsonl": droid(),
    "chat_history.jsonl": grok(),
    "transcript-session-mill.jsonl": mycodeagent(),
    "lantern.jsonl": astorlm(),
    f"{_COPILOT}.jsonl": copilot_cli(),
    f"session-2026-03-01T10-00-{_GEMINI[:8]}.jsonl": gemini(),
}
"""File name → bytes."""
