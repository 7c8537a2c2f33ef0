"""Sessions as those of another format: what is sent is all there, and what is not is told."""

from __future__ import annotations

import base64
import json
import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sesstool.api.converting import Conversion
from sesstool.checks.context import Options
from sesstool.checks.engine import examine
from sesstool.cli import main
from sesstool.convert.losses import KINDS, Losses
from sesstool.convert.sent import Way
from sesstool.errors import InputError, SesstoolError, UsageError
from sesstool.findings import Severity
from sesstool.formats.registry import TARGETS
from sesstool.model.session import open_session
from sesstool.model.units import units
from tests import conftest
from tests.conftest import Memory, answer, asks, boundary, jsonl, loads, prompt, said, uid, use
from tests.damages import ADDS_NOISE, OTHER
from tests.seeds import SEEDS
from tests.test_output_schemas import judge

SAMPLES = Path(__file__).parents[1] / "samples"
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(32) + b"IEND\xaeB\x60\x82").decode()
CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "late"}
# What an astorLM session has beside it is not in memory.
_ELSEWHERE = {"M710", "M712"}


def converted(data, to, name="session.jsonl", **more):
    """Return the bytes of a converted session, and what was lost by kind."""
    conversion = Conversion(Memory(data, name), to, **more)
    out = b"".join(conversion.lines())
    return out, {loss.kind: loss.count for loss in conversion.made().lost}


def chat(data, **more):
    """Return a session as chat messages, without what was lost."""
    return loads(converted(data, "openai-chat", **more)[0])


def wrong(data, to, name):
    """Return the errors and warnings about a converted session."""
    findings = examine(Memory(data, name), Options(), format_name=to)[1].findings
    bad = [f for f in findings if f.severity is not Severity.INFORMATION]
    return [f"{f.code} {f.message}" for f in bad if f.code not in _ELSEWHERE]


def sound(data, to, **more):
    """Convert a session and assert that nothing is wrong with what comes of it."""
    conversion = Conversion(Memory(data, **more), to)
    out = b"".join(conversion.lines())
    name = conversion.place.name if conversion.place is not None else "new.jsonl"
    assert wrong(out, to, name) == [], to
    return out


def tool(name, words):
    return {"role": "tool", "tool_call_id": name, "content": words}


# What is sent.


def test_parallel_calls_stand_in_one_message_with_their_results_behind_it():
    """Claude Code writes each call and its result apart; chat wants all calls, then all results."""
    data = jsonl(
        prompt(1, None),
        answer(2, 1, use("toolu_a", path="x"), turn="m"),
        conftest.result(3, 2, "toolu_a", "one"),
        answer(4, 2, use("toolu_b"), turn="m"),
        conftest.result(5, 4, "toolu_b", "two"),
        answer(6, 5),
    )
    _, asking, *rest = chat(data)
    assert [call["id"] for call in asking["tool_calls"]] == ["toolu_a", "toolu_b"]
    assert asking["tool_calls"][0]["function"] == {"name": "Bash", "arguments": '{"path": "x"}'}
    assert rest[:2] == [tool("toolu_a", "one"), tool("toolu_b", "two")]


def test_a_late_result_comes_to_its_call_and_what_was_said_meanwhile_follows():
    """A prompt between a call and its result waits until the call is answered."""
    words = {"type": "message", "role": "user", "content": "and?"}
    data = jsonl({**words, "content": "go"}, CALL, words, OUTPUT)
    assert [m["role"] for m in chat(data)] == ["user", "assistant", "tool", "user"]
    assert chat(data)[2]["content"] == "late"


def test_a_call_without_a_result_is_answered_as_a_repair_would():
    """The answer says that nobody knows the outcome, and is told among the losses."""
    out, lost = converted(jsonl(said("user"), asks("c1"), said("user")), "anthropic-messages")
    (block,) = loads(out)[2]["content"]
    assert block["content"].startswith("[sesstool] interrupted")
    assert block["is_error"] is True
    assert lost == {"unanswered": 1}


def test_a_result_that_follows_no_call_is_told_and_a_second_one_too():
    """Neither can be sent."""
    data = jsonl(said("user"), asks("c1"), tool("c1", "a"), tool("c1", "b"), tool("c9", "c"))
    out, lost = converted(data, "openai-responses")
    assert lost == {"second-result": 1, "orphan-result": 1}
    assert [item.get("output") for item in loads(out)][-1] == "a"


def test_what_a_compaction_replaced_stays_behind_and_what_it_keeps_follows_the_summary():
    """Claude Code tells the kept messages by id; the summary is sent although it is not shown."""
    kept = boundary(3) | {"compactMetadata": {"preservedMessages": {"uuids": [uid(2)]}}}
    summary = prompt(4, 3, "so far", isCompactSummary=True, isVisibleInTranscriptOnly=True)
    data = jsonl(prompt(1, None, "old"), answer(2, 1), kept, summary, prompt(5, 4, "new"))
    messages = chat(data)
    assert [m["content"] for m in messages] == ["so far", "it burns", "new"]
    assert converted(data, "openai-chat")[1]["compacted"] == 1


def test_the_summary_of_a_compaction_stands_before_what_it_keeps():
    """Pi and MyCodeAgent write it behind; Codex holds all in one record."""
    for name, data in SEEDS.items():
        if "transcript" in name or name.endswith("Z_5d0c7f6a-3b1e-4c55-9a70-1f2e3d4c5b6a.jsonl"):
            first, second = (m["content"] for m in chat(data, name=name)[:2])
            assert first.endswith(
                "So far: lanterns.\n</summary>" if name[0] == "2" else "lanterns."
            )
            assert second == "And the café?", name
    history = [{"type": "message", "role": "user", "content": "so far"}, CALL, OUTPUT]
    row = {"timestamp": "2026-03-01T06:00:00Z", "type": "compacted"}
    row["payload"] = {"message": "", "replacement_history": history}
    out, lost = converted(jsonl(row), "openai-responses", format_name="codex")
    assert (loads(out)[1:], lost.get("session-record")) == ([CALL, OUTPUT], None)


def test_all_messages_that_a_compaction_of_qwen_code_holds_are_sent_with_their_calls():
    """They stand in one record, which has the place of all before it."""
    call = {"functionCall": {"id": "c1", "name": "f", "args": {}}}
    output = {"functionResponse": {"id": "c1", "name": "f", "response": {"output": "done"}}}
    history = [("user", {"text": "so far"}), ("model", call), ("user", output)]
    told = {"compressedHistory": [{"role": role, "parts": [part]} for role, part in history]}
    row = {"uuid": "u1", "parentUuid": None, "sessionId": "s", "type": "system"}
    data = jsonl(row | {"subtype": "chat_compression", "systemPayload": told})
    assert [m["role"] for m in chat(data, format_name="qwen")] == ["user", "assistant", "tool"]


def test_a_branch_of_pi_is_the_way_from_its_leaf_to_the_root():
    """What hangs beside it is of another branch."""

    def row(name, parent, words):
        message = {"role": "user", "content": [{"type": "text", "text": words}]}
        return {"type": "message", "id": name, "parentId": parent, "message": message}

    header = {"type": "session", "version": 3, "id": conftest.SESSION, "cwd": "/srv"}
    data = jsonl(header, row("a", None, "one"), row("b", "a", "left"), row("c", "a", "right"))
    assert [m["content"] for m in chat(data)] == ["one", "right"]
    assert [m["content"] for m in chat(data, branch="b")] == ["one", "left"]


def test_times_are_kept_where_a_format_has_them_and_told_where_it_has_none():
    """A block that nobody knows is told, too."""
    data = jsonl(prompt(1, None, [{"type": "video"}, {"type": "text", "text": "see"}]))
    out, lost = converted(data, "codex")
    assert (loads(out)[1]["timestamp"], lost) == ("2026-03-01T06:00:01.000Z", {"block": 1})
    assert converted(data, "openai-chat")[1] == {"block": 1, "time": 1}


def test_what_was_rolled_back_is_not_sent():
    """A turn of Codex that was taken back is told by the number of its records."""

    def item(**payload):
        return {"timestamp": "2026-03-01T06:00:00Z", "type": "response_item", "payload": payload}

    def words(role, text):
        return item(type="message", role=role, content=[{"type": "input_text", "text": text}])

    back = {"type": "thread_rolled_back", "num_turns": 1}
    data = jsonl(
        words("user", "one"),
        words("assistant", "1"),
        words("user", "two"),
        words("assistant", "2"),
        {"timestamp": "2026-03-01T06:00:01Z", "type": "event_msg", "payload": back},
        words("user", "three"),
    )
    out, lost = converted(data, "openai-chat", format_name="codex")
    assert [m["content"] for m in loads(out)] == ["one", "1", "three"]
    assert lost["rolled-back"] == 2


def test_a_branch_is_converted_where_it_is_named():
    """The records of the other branch are told; a line means the record in it."""
    data = jsonl(prompt(1, None), answer(2, 1), prompt(3, 2, "left"), prompt(4, 2, "right"))
    assert [m["content"] for m in chat(data)][-1] == "right"
    assert [m["content"] for m in chat(data, branch="3")][-1] == "left"
    assert converted(data, "openai-chat", branch="3")[1]["branch"] == 1
    with pytest.raises(UsageError):
        converted(data, "openai-chat", branch="99")
    with pytest.raises(UsageError):
        converted(jsonl(said("user")), "openai-chat", branch="1")


def test_system_prompts_are_kept_where_the_format_has_a_place_for_them():
    """Agents have their own; to Codex the prompt of a program is a developer's message."""
    data = jsonl({"role": "system", "content": "be kind"}, said("user"), said("assistant"))
    for to in ("claude-code", "pi", "mycodeagent"):
        assert converted(data, to)[1]["system"] == 1
    roles = [line["payload"].get("role") for line in loads(converted(data, "codex")[0])]
    assert "developer" in roles
    own = jsonl({"role": "_system_prompt", "content": "be Kimi"}, said("user"))
    assert chat(own, format_name="kimi")[0] == {"role": "system", "content": "be Kimi"}
    out, lost = converted(data, "anthropic-messages", format_name="openai-chat")
    assert loads(out)[0] == {"system": [{"type": "text", "text": "be kind"}]}
    assert "system" not in lost
    assert loads(converted(out, "openai-chat")[0])[0] == {"role": "system", "content": "be kind"}


def test_an_agents_own_system_prompt_goes_to_bare_messages_and_to_no_other_agent():
    """Codex keeps it in its header."""
    meta = {"id": conftest.THREAD, "timestamp": "2026-03-01T06:00:00Z", "cwd": "/srv"}
    meta |= {"originator": "o", "cli_version": "1", "base_instructions": {"text": "be Codex"}}
    words = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
    data = jsonl(
        {"timestamp": "2026-03-01T06:00:00Z", "type": "session_meta", "payload": meta},
        {"timestamp": "2026-03-01T06:00:01Z", "type": "response_item", "payload": words},
    )
    assert chat(data)[0] == {"role": "system", "content": "be Codex"}
    for to in ("codex", "claude-code"):
        out, lost = converted(data, to)
        assert b"be Codex" not in out
        assert lost["system"] == 1


def test_images_go_where_the_format_takes_them_and_words_say_so_where_it_does_not():
    """A person's picture is carried by five formats, one in a result by four."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    data = jsonl(
        prompt(1, None, [{"type": "text", "text": "see"}, image]),
        answer(2, 1, use("toolu_a")),
        conftest.result(3, 2, "toolu_a", [image]),
    )
    carried = {to: sound(data, to).count(PNG.encode()) for to in TARGETS}
    assert carried == {
        **dict.fromkeys(("claude-code", "anthropic-messages", "openai-responses", "codex"), 2),
        "pi": 2,
        "openai-chat": 1,
        "mycodeagent": 0,
        "astorlm": 0,
    }
    assert converted(data, "openai-chat")[1]["image"] == 1
    assert "an image was left out" in chat(data)[2]["content"]
    link = {"type": "image_url", "image_url": {"url": "https://x.example/a.png"}}
    one = jsonl({"role": "user", "content": [link]}, said("assistant"))
    assert converted(one, "pi")[1]["image"] == 1
    broken = {**image, "source": {**image["source"], "data": "PGh0bWw+"}}
    assert converted(jsonl(prompt(1, None, [broken])), "claude-code")[1]["image"] == 1


def test_thinking_goes_and_is_said():
    """Signed, encrypted and plain thoughts are told apart, and no words of them are left."""
    signed = {"type": "thinking", "thinking": "hm", "signature": "RXZlcnk="}
    sealed = {"type": "redacted_thinking", "data": "RXZlcnk="}
    out, lost = converted(jsonl(prompt(1, None), answer(2, 1, signed, sealed, use("t"))), "pi")
    assert (lost["signed-thinking"], lost["encrypted-reasoning"]) == (1, 1)
    assert b"hm" not in out
    reasoning = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}
    item = {"type": "message", "role": "assistant", "content": "so"}
    lost = converted(jsonl(reasoning, item), "openai-responses")[1]
    assert lost["thinking"] == 1


def test_ids_get_names_that_the_format_takes_and_none_is_given_twice():
    """A changed id is the same on call and result, also where another call has its new name."""
    names = ["f.read:0", "f_read_0", "f_read_0", "x" * 99]
    data = jsonl(said("user"), *(row for n in names for row in (asks(n), tool(n, n))))
    blocks = [b for row in loads(converted(data, "anthropic-messages")[0]) for b in row["content"]]
    uses = [b["id"] for b in blocks if isinstance(b, dict) and b["type"] == "tool_use"]
    results = [b["tool_use_id"] for b in blocks if isinstance(b, dict) and "tool_use_id" in b]
    assert uses == results == ["f_read_0", "f_read_0_2", "f_read_0_3", "x" * 99]
    assert converted(data, "anthropic-messages")[1]["call-id"] == 3
    sound(data, "openai-responses")


def test_arguments_are_what_they_were_to_the_digit():
    """Long integers stay; what is no object is wrapped in one, and told."""
    long = '{"n":123456789012345678901234567890}'
    for arguments, count in ((long, None), ('{"cut', 1), ("[1]", 1)):
        call = asks("c1")
        call["tool_calls"][0]["function"]["arguments"] = arguments
        out, lost = converted(jsonl(said("user"), call, tool("c1", "a")), "claude-code")
        given = [row["message"]["content"] for row in loads(out)][1][0]["input"]
        assert given == (json.loads(long) if count is None else {"input": arguments})
        assert lost.get("arguments") == count


def test_a_call_with_a_text_of_its_own_form_keeps_it_where_the_format_has_such_calls():
    """A patch for Codex is no JSON; elsewhere it is the one member of an object."""
    call = {"type": "custom_tool_call", "name": "apply_patch", "call_id": "c1", "input": "*** go"}
    output = {"type": "custom_tool_call_output", "call_id": "c1", "output": "done"}
    data = jsonl({"type": "message", "role": "user", "content": "go"}, call, output)
    assert loads(converted(data, "codex")[0])[3]["payload"] == call
    through = converted(data, "openai-chat")[0]
    assert loads(converted(through, "openai-responses")[0])[1:] == [call, output]
    out, lost = converted(data, "anthropic-messages")
    assert loads(out)[1]["content"][0]["input"] == {"input": "*** go"}
    assert lost["arguments"] == 1


def test_a_failed_result_is_marked_or_told():
    """Chat and the Responses API have no mark for it."""
    block = {"type": "tool_result", "tool_use_id": "t", "content": "no", "is_error": True}
    data = jsonl(prompt(1, None), answer(2, 1, use("t")), prompt(3, 2, [block]))
    assert b'"isError":true' in converted(data, "pi")[0]
    assert b'"is_error":true' in converted(data, "astorlm")[0]
    assert converted(data, "codex")[1]["error-mark"] == 1


def test_too_many_calls_become_several_messages():
    """OpenAI takes 128 of them in one."""
    calls = [asks(f"c{n}")["tool_calls"][0] for n in range(200)]
    asking = {"role": "assistant", "content": "all", "tool_calls": calls}
    data = jsonl(said("user"), asking, *(tool(f"c{n}", "a") for n in range(200)))
    parted = [len(m.get("tool_calls", ())) for m in chat(data) if m["role"] == "assistant"]
    assert parted == [128, 72]
    sound(data, "openai-chat")


def test_one_conversation_in_a_line_is_converted_and_several_are_refused():
    """A data set has one in each line."""
    line = {"messages": [said("user"), asks("c1"), tool("c1", "a"), said("assistant")]}
    assert chat(jsonl(line)) == chat(jsonl(*line["messages"]))
    with pytest.raises(InputError, match="2 conversations"):
        converted(jsonl(line, line), "pi")


def test_a_session_without_a_message_is_refused():
    """There is nothing to go on from."""
    with pytest.raises(InputError, match="holds no message"):
        converted(jsonl({"role": "system", "content": "be kind"}), "pi")


def test_what_was_lost_has_a_name_that_the_reader_knows():
    """A kind that nobody counts is none, and one that nobody knows is an error."""
    losses = Losses()
    for kind in KINDS:
        losses.add(kind, 2)
    assert [loss.kind for loss in losses.all()] == list(KINDS)
    with pytest.raises(AssertionError):
        losses.add("a smile")


# All of it.


def strings(value):
    """Every text in a value, each part of a text of several lines too."""
    todo, found = [value], set()
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            todo += value.values()
        elif isinstance(value, list):
            todo += value
        elif isinstance(value, str):
            found.add(value)
    return found


# How records are counted of which nothing is sent.
_ASIDE = ("compacted", "rolled-back", "superseded", "branch", "subagent", "session-record")
_ASIDE += ("not-sent",)


def told_or_kept(data, to, name, format_name=""):
    """Each record is sent or counted, and each unit of one that is sent is kept or counted."""
    source = Memory(data, name)
    losses, way = Losses(), Way(source, format_name)
    form = way.session.format
    sent = [(s.value, m) for s in way.records(losses) for m in s.meanings]
    aside = sum(losses[kind] for kind in _ASIDE)
    whole = list(open_session(source, format_name).again())
    records = sum(meaning is not None for _, meaning in whole)
    assert records == len({id(value) for value, _ in sent}) + aside
    out, lost = converted(data, to, name, format_name=format_name)
    there = strings(loads(out))
    found = Counter()
    texts = "\n".join(there)
    for value, meaning in sent:
        hidden = {e.pointer for e in meaning.events if getattr(e, "hidden", False)}
        for unit in units(value, meaning, lambda _: ""):
            found[unit.kind] += 1
            if unit.kind in ("message", "compaction", "result") and unit.pointer not in hidden:
                for line in unit.words.split("\n"):
                    dropped = lost.get("orphan-result") or lost.get("second-result")
                    clean = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in line)
                    system = unit.name in ("system", "developer") and lost.get("system")
                    assert dropped or system or clean.strip() in texts, (form.name, to)
    thoughts = ("thinking", "signed-thinking", "encrypted-reasoning")
    assert found["thinking"] == sum(lost.get(kind, 0) for kind in thoughts)
    new = open_session(Memory(out, "new.jsonl"), to)
    made = Counter(type(e).__name__ for _, m in new.read() if m for e in m.events)
    assert made["ToolCall"] == found["call"] - lost.get("server-call", 0)
    assert made["ToolResult"] == made["ToolCall"]
    gone = ("orphan-result", "second-result", "server-result")
    results = found["result"] - sum(lost.get(kind, 0) for kind in gone)
    assert made["ToolResult"] == results + lost.get("unanswered", 0)


@pytest.mark.parametrize("to", TARGETS)
def test_every_seed_becomes_a_sound_session_of_every_format(to):
    """Nothing is wrong with any of them, and all of it is there or told."""
    for name, data in SEEDS.items():
        sound(data, to, name=name)
        told_or_kept(data, to, name)


@settings(max_examples=40, deadline=None)
@given(st.integers(min_value=0), st.sampled_from(sorted(SEEDS)), st.sampled_from(TARGETS))
def test_a_damaged_session_is_converted_to_a_sound_one_or_refused(seed, name, to):
    """No damage leads to a traceback, to an unsound session or to a loss that is not told."""
    rng, data = random.Random(seed), SEEDS[name]
    for damage in rng.choices([*ADDS_NOISE, *OTHER], k=2):
        data = damage(rng, data) if data.strip() else data
    try:
        sound(data, to, name=name)
    except SesstoolError:
        return
    told_or_kept(data, to, name)


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*/*.jsonl")), ids=lambda path: path.name[:30])
def test_every_sample_becomes_a_sound_session_or_is_refused(path):
    """The damaged ones too, in each format."""
    data = path.read_bytes()
    for to in TARGETS:
        try:
            sound(data, to, name=path.name)
        except SesstoolError:
            assert to  # it is no session, or nothing is sent of it
            continue
        told_or_kept(data, to, path.name)


def test_sessions_of_real_agents_become_sound_ones(shared):
    """Every eighth of the corpus, in the format whose turn it is."""
    done = 0
    for n, path in enumerate(sorted((shared / "corpus").rglob("*.jsonl"))[::8]):
        try:
            sound(path.read_bytes(), TARGETS[n % len(TARGETS)], name=path.name)
            done += 1
        except SesstoolError:
            continue
    assert done > 30


# There and back.


def words():
    return st.text('ab é🎐\n"\\{', min_size=1).filter(str.strip)


@st.composite
def talks(draw):
    """Draw a conversation that every format can hold."""
    messages, ids = [], 0
    for _ in range(draw(st.integers(1, 4))):
        messages.append({"role": "user", "content": draw(words())})
        for _ in range(draw(st.integers(0, 2))):
            calls = []
            for _ in range(draw(st.integers(1, 3))):
                given = json.dumps(draw(st.dictionaries(words(), words() | st.integers())))
                function = {"name": draw(st.sampled_from(["read", "Bash"])), "arguments": given}
                calls.append({"id": f"call_{ids}", "type": "function", "function": function})
                ids += 1
            said_too = draw(st.none() | words())
            messages.append({"role": "assistant", "content": said_too, "tool_calls": calls})
            messages += [tool(call["id"], draw(words() | st.just(""))) for call in calls]
        messages.append({"role": "assistant", "content": draw(words())})
    return messages


@settings(max_examples=25, deadline=None)
@given(talks(), st.sampled_from(TARGETS))
def test_there_and_back_a_conversation_is_the_same(messages, to):
    """What both formats can say is said again, in the same order, and nothing is lost."""
    data = jsonl(*messages)
    out, lost = converted(data, to, format_name="openai-chat")
    assert lost == {}
    back = loads(converted(out, "openai-chat", format_name=to)[0])

    def plain(message):
        calls = message.get("tool_calls", [])
        given = [json.loads(call["function"].pop("arguments")) for call in calls]
        return message, given

    assert [*map(plain, back)] == [*map(plain, loads(data))]


# The command.


@pytest.fixture
def session(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "session.jsonl").write_bytes(
        jsonl(prompt(1, None), answer(2, 1, use("toolu_a")), conftest.result(3, 2, "toolu_a"))
    )
    return tmp_path


def test_the_list_of_what_was_lost_obeys_its_schema(session, capsys):
    """It names the new file, where it must lie, and how it is resumed."""
    folder = session / "new"
    arguments = ["export", "--to", "codex", "session.jsonl", "-f", "json", "-o", f"{folder}/"]
    assert main.run(arguments) == 0
    value = json.loads(capsys.readouterr().out)
    judge("conversion").validate(value)
    (made,) = folder.glob("rollout-*.jsonl")
    assert (value["path"], value["source"]) == (str(made), "claude-code")
    assert value["command"] == f"codex resume {value['session_id']}"
    assert value["place"].endswith(made.name)
    assert made.stat().st_mode & 0o777 == 0o600
    assert wrong(made.read_bytes(), "codex", made.name) == []


@pytest.mark.usefixtures("session")
def test_losses_are_told_on_stderr_and_the_session_is_on_stdout(capsys):
    """Counts and kinds are told, and no text."""
    assert main.run(["export", "--to", "openai-chat", "session.jsonl"]) == 0
    out, err = capsys.readouterr()
    assert [m["role"] for m in loads(out.encode())] == ["user", "assistant", "tool"]
    assert "time: times of messages" in err
    assert "light the lamp" not in err


def test_a_session_of_astorlm_gets_its_side_file(session):
    """Without it astorLM knows no such session."""
    assert main.run(["export", "--to", "astorlm", "session.jsonl", "-o", "fog.jsonl"]) == 0
    assert json.loads((session / "fog.meta.json").read_text())["id"] == "fog"
    assert main.run(["validate", "fog.jsonl"]) == 0


@pytest.mark.parametrize(
    "options",
    [
        ["--to", "pi", "--notes"],
        ["--to", "pi", "--records", "1:2"],
        ["--to", "pi", "--split", "3", "-o", "x"],
        ["--to", "pi", "-f", "json"],
        ["--to", "md", "-f", "json"],
    ],
)
def test_options_that_a_conversion_does_not_take_are_refused(session, options):
    """The exit code is that of a wrong command line, and nothing is written."""
    assert main.run(["export", "session.jsonl", *options]) == 2
    assert [path.name for path in session.iterdir()] == ["session.jsonl"]


def test_a_file_that_exists_is_left_alone(session):
    """Only --force writes over it, and never over the session itself."""
    (session / "new.jsonl").write_text("mine")
    command = ["export", "--to", "pi", "session.jsonl", "-o"]
    assert main.run([*command, "new.jsonl"]) == 6
    assert (session / "new.jsonl").read_text() == "mine"
    assert main.run([*command, "new.jsonl", "--force"]) == 0
    assert main.run([*command, "session.jsonl", "--force"]) == 2


def test_a_session_without_secrets_is_converted_with_redact(session, capsys):
    """What `redact` takes out does not come into the other agent either."""
    key = "ghp_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA1bC2"  # invented
    (session / "secret.jsonl").write_bytes(jsonl(prompt(1, None, f"use {key}"), answer(2, 1)))
    assert main.run(["export", "--to", "pi", "secret.jsonl", "--redact", "share"]) == 0
    assert key not in capsys.readouterr().out


def test_what_stands_before_a_fork_by_reference_is_read_from_the_other_file(session, capsys):
    """Codex keeps it there; where the file is gone, that is told."""

    def row(n, kind, **payload):
        time = f"2026-03-01T06:00:0{n}.000Z"
        return {"timestamp": time, "ordinal": n, "type": kind, "payload": payload}

    def words(n, text):
        content = [{"type": "input_text", "text": text}]
        return row(n, "response_item", type="message", role="user", content=content)

    def header(n, thread, **more):
        meta = {"timestamp": "2026-03-01T06:00:00Z", "cwd": "/srv", "originator": "o"}
        return row(n, "session_meta", id=thread, cli_version="1", **meta, **more)

    base, fork = conftest.THREAD, conftest.THREAD.replace("0123", "4567")
    first = jsonl(header(0, base), words(1, "one"))
    other = session / conftest.ROLLOUT
    other.write_bytes(first + jsonl(words(2, "not of the fork")))
    history = {"thread_id": base, "end_ordinal_exclusive": 2, "end_byte_offset": len(first)}
    name = f"rollout-2026-03-01T07-00-00-{fork}.jsonl"
    (session / name).write_bytes(jsonl(header(2, fork, history_base=history), words(3, "two")))
    command = ["export", "--to", "openai-chat", name]
    assert main.run(command) == 0
    out, err = capsys.readouterr()
    assert [m["content"] for m in loads(out.encode())] == ["one", "two"]
    assert "base:" not in err
    other.unlink()
    assert main.run(command) == 0
    out, err = capsys.readouterr()
    assert [m["content"] for m in loads(out.encode())] == ["two"]
    assert "base:" in err


def test_an_id_from_a_file_names_no_file_elsewhere(session):
    """A session id with a way in it is no name."""
    (session / "odd.jsonl").write_bytes(jsonl(prompt(1, None, sessionId="../../evil")))
    (session / "new").mkdir()
    assert main.run(["export", "--to", "openai-chat", "odd.jsonl", "-o", "new"]) == 0
    assert [path.name for path in session.glob("new/*")] == ["session-openai-chat.jsonl"]
