"""What records mean, by format, and what each format knows of its agent's folders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sesstool.formats.anthropic_messages import AnthropicMessages
from sesstool.formats.arguments import argument_fault
from sesstool.formats.claude_code import ClaudeCode
from sesstool.formats.codex import Codex
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
from sesstool.formats.openai_chat import OpenAIChat
from sesstool.formats.openai_responses import OpenAIResponses
from sesstool.formats.pi import Pi
from sesstool.formats.registry import FORMATS
from sesstool.formats.terms import Evidence, Question
from sesstool.formats.wording import answer_text, is_placeholder
from tests.conftest import (
    ROLLOUT,
    SESSION,
    THREAD,
    answer,
    asks,
    bare,
    bare_call,
    bare_output,
    boundary,
    event,
    item,
    linked,
    meta,
    output,
    prompt,
    result,
    runs,
    said,
    says,
    says_with,
    tells,
    told,
    uid,
    use,
)

CC, CODEX, CHAT = ClaudeCode(), Codex(), OpenAIChat()
ANTHROPIC, RESPONSES = AnthropicMessages(), OpenAIResponses()
HELLO = [{"type": "text", "text": "hello"}]


def events(form, record):
    return form.meaning(record).events


def test_claude_code_prompt():
    """A prompt opens a turn; what only tells results or is marked as meta opens none."""
    assert events(CC, prompt(1, None, "hi")) == [
        Message("/message/content", "user", "hi", prompt=True)
    ]
    assert not events(CC, prompt(1, None, "hi", isMeta=True))[0].prompt
    told, words = events(CC, result(2, 1, "a", "out"))
    assert told == ToolResult("/message/content/0", "a", "out")
    assert not words.prompt


def test_claude_code_answer():
    """An answer's blocks are events with pointers; its turn is the message id."""
    bad = use("b") | {"input": '{"cut'}
    record = answer(2, 1, *HELLO, use("a", x=1), bad, turn="msg_7")
    meaning = CC.meaning(record)
    assert (meaning.id, meaning.parent, meaning.turn) == (uid(2), uid(1), "msg_7")
    assert (meaning.model, meaning.session, meaning.version) == ("claude-test", SESSION, "2.1.300")
    good, wrong, words = meaning.events
    assert good == ToolCall("/message/content/1", "a", "Bash", {"x": 1})
    assert (wrong.pointer, wrong.fault) == ("/message/content/2", "its input is no object")
    assert words == Message("/message/content", "assistant", record["message"]["content"])


def test_claude_code_server_tools():
    """A server's call and result are of the provider, whatever tool it is."""
    call = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    first, second, _ = events(CC, answer(2, 1, call, found))
    assert (first.server, second.server, second.id) == (True, True, "s")


@pytest.mark.parametrize(
    ("fields", "fault", "guess"),
    [
        ({"signature": "bWFkZSB1cA=="}, "", False),
        ({}, "it has no signature", False),
        ({"signature": ""}, "it has no signature", False),
        ({"signature": None}, "it has no signature", False),
        ({"signature": "[REDACTED]"}, "its signature is none", False),
        ({"signature": "REDACTED"}, "its signature is none", False),
        (
            {"signature": "bWFkZSB1cA==", "thinking": "[redacted]"},
            "its text was changed after it was signed",
            True,
        ),
        ({"signature": "bWFkZSB1cA==", "thinking": "I saw [redacted]"}, "", False),
    ],
)
def test_thinking(fields, fault, guess):
    """A thinking block is refused without a sound signature; masked text is a guess."""
    block = {"type": "thinking", "thinking": "hm"} | fields
    assert events(CC, answer(2, 1, block))[0] == Thinking("/message/content/0", fault, guess)


def test_claude_code_checkpoints_and_others():
    """Boundaries and summaries are checkpoints; unknown types keep their name."""
    assert events(CC, boundary(3)) == [Checkpoint("")]
    summary = prompt(4, 3, "so far", isCompactSummary=True, isVisibleInTranscriptOnly=True)
    checkpoint, words = events(CC, summary)
    assert (checkpoint, words.hidden) == (Checkpoint("", summary=True), True)
    leaf = {"type": "last-prompt", "leafUuid": uid(2), "explicit": True}
    assert events(CC, leaf) == [StateChange("", "leaf", leaf)]
    assert events(CC, {"type": "mode"}) == [Meta("", "mode")]
    assert events(CC, {"type": "kiln"}) == [Unknown("", "kiln")]


@pytest.mark.parametrize(
    ("record", "is_linked", "parent"),
    [
        (linked(1, None, "user"), True, None),
        (linked(2, 1, "user"), True, uid(1)),
        ({"type": "user", "uuid": "x"}, True, ""),
        (linked(1, None, "user", parentUuid=7), True, ""),
        (linked(1, None, "kiln"), True, None),
        ({"type": "mode", "uuid": "x"}, False, None),
        (linked(1, None, "user", uuid="<UUID>"), False, None),
    ],
)
def test_claude_code_links(record, is_linked, parent):
    """No parent at all is not the same as null; ids that were masked form no tree."""
    meaning = CC.meaning(record)
    assert (meaning.linked, meaning.parent) == (is_linked, parent)


def test_claude_code_scopes():
    """A subagent's records are of its scope, named by the agent where that is known."""
    assert CC.meaning(prompt(1, None)).scope == ""
    assert CC.meaning(prompt(1, None, isSidechain=True)).scope == "sidechain"
    assert CC.meaning(prompt(1, None, isSidechain=True, agentId="k")).scope == "k"


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (
            says("user", "x"),
            Message("/payload/content", "user", [{"type": "input_text", "text": "x"}], prompt=True),
        ),
        (runs("a"), ToolCall("/payload", "a", "shell", '{"cmd":"ls"}')),
        (
            item("custom_tool_call", call_id="a", name="patch", input="+x"),
            ToolCall("/payload", "a", "patch", "+x"),
        ),
        (
            item("local_shell_call", call_id="a", action={"x": 1}),
            ToolCall("/payload", "a", "local_shell_call", {"x": 1}),
        ),
        (item("local_shell_call", id="a"), Meta("/payload", "local_shell_call")),
        (output("a", "done"), ToolResult("/payload", "a", "done")),
        (
            output("a", "aborted by user"),
            ToolResult("/payload", "a", "aborted by user", placeholder=True),
        ),
        (item("reasoning", encrypted_content="bWFkZQ=="), Thinking("/payload")),
        (
            item("reasoning", encrypted_content="***"),
            Thinking("/payload", "its encrypted_content is no ciphertext"),
        ),
        (item("reasoning"), Thinking("/payload")),
        (item("kiln_call"), Unknown("/payload", "kiln_call")),
        (event("token_count"), Meta("/payload", "token_count")),
        (event("thread_rolled_back", num_turns=2), StateChange("/payload", "rollback", 2)),
        (
            {"type": "compacted", "payload": {"replacement_history": []}},
            Checkpoint("/payload", summary=True),
        ),
        ({"type": "compacted", "payload": {"message": "x"}}, Checkpoint("/payload")),
        ({"type": "kiln", "payload": {}}, Unknown("", "kiln")),
    ],
)
def test_codex_items(record, expected):
    """Each item and event of a rollout has its meaning."""
    assert events(CODEX, record) == [expected]


def test_codex_header_and_context():
    """The header tells the thread, the turn context the model."""
    header = CODEX.meaning(meta())
    assert (header.session, header.cwd, header.version) == (THREAD, "/srv/beacon", "0.171.0")
    context = {"type": "turn_context", "payload": {"model": "m", "cwd": "/srv/beacon"}}
    assert CODEX.meaning(context).model == "m"


def test_what_codex_injects_is_no_prompt():
    """A user message that Codex wrote itself opens no turn."""
    injected = says("user", "<environment_context>\n<cwd>/srv</cwd>")
    assert not events(CODEX, injected)[0].prompt


def test_bare_codex_items():
    """Before the envelope, lines were items: they mean the same."""
    bare = {"type": "function_call", "call_id": "a", "name": "shell", "arguments": "{}"}
    assert events(CODEX, bare) == [ToolCall("", "a", "shell", "{}")]
    header = {"id": THREAD, "timestamp": "t", "instructions": None}
    assert CODEX.meaning(header).session == THREAD


def test_openai_chat():
    """Messages, calls and results of a plain list; a dataset line is a talk of its own."""
    assert events(CHAT, said("user", "x")) == [Message("/content", "user", "x", prompt=True)]
    call, words = events(CHAT, asks("a"))
    assert call == ToolCall("/tool_calls/0", "a", "look", "{}")
    assert (words.role, words.content) == ("assistant", None)
    assert events(CHAT, tells("a", "x")) == [ToolResult("", "a", "x")]
    line = CHAT.meaning({"messages": [said("user", "x"), asks("a")]})
    assert line.events == [Meta("", "conversation")]
    assert [m.events[0].pointer for m in line.nested] == [
        "/messages/0/content",
        "/messages/1/tool_calls/0",
    ]


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ("{}", ""),
        ('{"a":"}"}', ""),
        ('{"a', "its arguments are no JSON"),
        ("", "its arguments are no JSON"),
        ("[]", "its arguments are no object"),
        (None, "its arguments are no text"),
        ({}, "its arguments are no text"),
    ],
)
def test_argument_fault(arguments, fault):
    """Arguments kept as text must be the JSON of an object."""
    assert argument_fault(arguments) == fault


@pytest.mark.parametrize("form", [CC, CODEX, CHAT, Pi()], ids=lambda f: f.name)
@pytest.mark.parametrize("junk", [None, 7, "x", [], [None], {}, {"type": []}])
def test_meaning_takes_anything(form, junk):
    """However wrong its fields, an object has a meaning and raises nothing."""
    for kind in ("user", "assistant", "system", "response_item", "event_msg", "compacted", junk):
        names = ("message", "payload", "content", "role", "tool_calls", "messages", "uuid")
        for name in names:
            form.meaning({"type": kind, name: junk})
            form.meaning({"type": kind, "message": {"role": junk, "content": [junk]}})
            form.meaning({"type": kind, "payload": {"type": junk, "content": [junk]}})


def question(record, call, state="uncertain", **more):
    return Question("a", "Bash", record, call, Evidence(state, more.pop("output", "")), **more)


def test_claude_code_answers_in_its_own_shape():
    """The result hangs from the call, shares its envelope and says that it is an error."""
    record = answer(2, 1, use("a"), gitBranch="main")
    made = json.loads(CC.answer(question(record, use("a"), id=uid(9))))
    assert (made["parentUuid"], made["uuid"], made["type"]) == (uid(2), uid(9), "user")
    assert made["timestamp"] == record["timestamp"]
    for key in ("sessionId", "cwd", "version", "gitBranch", "isSidechain"):
        assert made[key] == record[key]
    (block,) = made["message"]["content"]
    assert (block["tool_use_id"], block["is_error"]) == ("a", True)
    assert "unknown" in block["content"]


def test_codex_answers_in_its_own_shape():
    """The output has the call's kind, the next ordinal, and begins as Codex's own does."""
    record = runs("a", 4)
    made = json.loads(CODEX.answer(question(record, record["payload"], ordinal=5)))
    assert (made["type"], made["ordinal"]) == ("response_item", 5)
    assert (made["payload"]["type"], made["payload"]["call_id"]) == ("function_call_output", "a")
    assert made["payload"]["output"].startswith("aborted ")
    known = question(record, record["payload"], "completed", output="tide")
    assert json.loads(CODEX.answer(known))["payload"]["output"] == "tide"
    custom = item("custom_tool_call", call_id="a", name="patch", input="+x")
    made = json.loads(CODEX.answer(question(custom, custom["payload"])))
    assert made["payload"]["type"] == "custom_tool_call_output"
    assert "ordinal" not in made


def test_openai_chat_answers_in_its_own_shape():
    """The answer is a tool message that names the call."""
    made = json.loads(CHAT.answer(question(asks("a"), {})))
    assert (made["role"], made["tool_call_id"]) == ("tool", "a")


def test_what_an_answer_says():
    """An answer claims no more than is known, and is known again as made up."""
    unknown = answer_text(Evidence("uncertain"), "Bash")
    assert "may have run" in unknown
    assert "did not run" not in unknown
    assert "did not run" in answer_text(Evidence("never started"), "Bash")
    assert answer_text(Evidence("completed", "tide"), "Bash") == "tide"
    assert answer_text(Evidence("completed"), "Bash") == unknown
    assert is_placeholder(unknown)
    assert is_placeholder([{"type": "text", "text": unknown}])
    assert not is_placeholder("tide")
    assert not is_placeholder([])


def test_claude_code_folders(home, monkeypatch, tmp_path):
    """A session lies in a home by its path, and is found there by the beginning of its id."""
    path = home / ".claude" / "projects" / "-srv-beacon" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    path.touch()
    assert CC.home(path) == home / ".claude"
    assert CC.home(tmp_path / "projects" / "x" / "s.jsonl") is None
    assert list(CC.find(SESSION[:6])) == [path]
    assert list(CC.find("*")) == []
    assert (CC.session_id(path), CC.session_id(Path("agent-1.jsonl"))) == (SESSION, "")
    assert CC.resume_command(SESSION) == f"claude --resume {SESSION}"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    assert CC.home(tmp_path / "projects" / "x" / "s.jsonl") == tmp_path
    assert list(CC.find(SESSION[:6])) == []


def test_codex_folders(home, monkeypatch, tmp_path):
    """A rollout's name tells the thread; archived ones are found as well."""
    paths = [
        home / ".codex" / "sessions" / "2026" / "03" / "01" / ROLLOUT,
        home / ".codex" / "archived_sessions" / f"{ROLLOUT}.zst",
    ]
    for path in paths:
        path.parent.mkdir(parents=True)
        path.touch()
        assert CODEX.home(path) == home / ".codex"
        assert CODEX.session_id(path) == THREAD
    assert sorted(CODEX.find(THREAD[:5])) == sorted(paths)
    assert sorted(CODEX.find("")) == sorted(paths)
    assert CODEX.session_id(Path("rollout.jsonl")) == ""
    assert CODEX.resume_command(THREAD) == f"codex resume {THREAD}"
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    assert CODEX.home(tmp_path / "sessions" / "r.jsonl") == tmp_path


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_the_id_of_a_session_is_one_word_of_the_command_that_resumes_it(form):
    """It comes from the file, and the command is there to be pasted."""
    resumes = form.resumes and f"{form.resumes} "
    assert form.resume_command("quay; touch x") == (resumes and f"{resumes}'quay; touch x'")
    assert form.resume_command("--allow-all") == ""
    assert form.resume_command("") == ""


def test_anthropic_messages():
    """Blocks are events of their message; prompts, a system prompt and a conversation are told."""
    assert events(ANTHROPIC, said("user", "hi")) == [Message("/content", "user", "hi", prompt=True)]
    call, spoken = events(ANTHROPIC, says_with(use("a", x=1)))
    assert call == ToolCall("/content/0", "a", "Bash", {"x": 1})
    assert (spoken.role, spoken.prompt) == ("assistant", False)
    seen, words = events(ANTHROPIC, said("user", [told("a", "out", is_error=True)]))
    assert seen == ToolResult("/content/0", "a", "out", error=True)
    assert not words.prompt
    assert events(ANTHROPIC, {"system": "be brief"}) == [Meta("", "system")]
    whole = ANTHROPIC.meaning({"system": "s", "messages": [said("user"), says_with(use("a"))]})
    assert [m.events[0].pointer for m in whole.nested] == [
        "/messages/0/content",
        "/messages/1/content/0",
    ]


def test_anthropic_messages_answer_with_a_block():
    """The answer is a block, which a message of the user's can hold."""
    question = Question("a", "Bash", {}, {}, Evidence("uncertain"))
    block = json.loads(ANTHROPIC.answer(question))
    words = answer_text(Evidence("uncertain"), "Bash")
    assert block == told("a", words, is_error=True)
    done = Question("a", "Bash", {}, {}, Evidence("completed", "four"))
    assert json.loads(ANTHROPIC.answer(done)) == told("a", "four")
    assert json.loads(ANTHROPIC.message(b"{}")) == said("user", [{}])


def test_openai_responses():
    """Items are events at the top of their record; a message may leave its type out."""
    assert events(RESPONSES, said("user", "hi")) == [Message("/content", "user", "hi", prompt=True)]
    assert events(RESPONSES, bare_call("a")) == [ToolCall("", "a", "look", "{}")]
    assert events(RESPONSES, bare_output("a", "out")) == [ToolResult("", "a", "out")]
    assert events(RESPONSES, bare("item_reference", id="rs_1")) == [Meta("", "item_reference")]
    assert events(RESPONSES, bare("hologram")) == [Unknown("", "hologram")]
    question = Question("a", "look", {}, bare_call("a"), Evidence("uncertain"))
    words = answer_text(Evidence("uncertain"), "look")
    assert json.loads(RESPONSES.answer(question)) == bare_output("a", words)
