"""Every rule: a session that shows its fault, and one nearly like it that is sound."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

import pytest

from sesstool import api
from sesstool.checks import rule
from sesstool.checks.context import Options
from sesstool.checks.meta import _home_of
from sesstool.findings import Applicability, Severity
from sesstool.formats.schemas import RecordValidator
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
    call_of,
    chat,
    codes,
    compaction,
    entry,
    event,
    head,
    item,
    jsonl,
    linked,
    look,
    meta,
    prompt,
    result,
    result_of,
    said,
    says,
    says_with,
    speaks,
    talk,
    tells,
    told,
    uid,
    use,
    words,
)

CC = jsonl(*talk(2))
CHAT = jsonl(said("user"), said("assistant"))
CODEX = [meta(0), says("user", "tide?", 1), says("assistant", "at ten", 2)]
# One grey pixel.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="


def word(text: str) -> bytes:
    """A sound session that says a text."""
    return jsonl(prompt(1, None, text), answer(2, 1))


def raw(old: bytes, new: bytes) -> bytes:
    """A session with some bytes of its first prompt replaced."""
    return CC.replace(old, new, 1)


def deep(levels: int) -> bytes:
    return raw(b'"cwd"', b'"extra":' + b"[" * levels + b"]" * levels + b',"cwd"')


def block(*blocks) -> bytes:
    return jsonl(prompt(1, None), answer(2, 1, *blocks))


def thinking(signature: str) -> bytes:
    return block(
        {"type": "thinking", "thinking": "hm", "signature": signature},
        {"type": "text", "text": "yes"},
    )


def image(data: str) -> bytes:
    source = {"type": "base64", "media_type": "image/png", "data": data}
    return jsonl(prompt(1, None, [{"type": "image", "source": source}]), answer(2, 1))


def called(*behind) -> bytes:
    """A call of a shell, and what comes behind it."""
    return jsonl(prompt(1, None), answer(2, 1, use("toolu_a")), *behind)


def ants(*messages) -> bytes:
    """Anthropic messages, with a sound turn in front that tells the format."""
    first = [says_with(use("toolu_0")), said("user", [told("toolu_0")])]
    return jsonl(said("user"), *first, *messages)


def items(*more) -> bytes:
    """Responses items, with a sound turn in front that tells the format."""
    return jsonl(said("user"), bare_call("call_0"), bare_output("call_0"), *more)


def reasons(cipher: str) -> bytes:
    thought = bare("reasoning", summary=[], encrypted_content=cipher)
    return items(thought, said("assistant"))


def shown(*parts) -> list:
    return [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": p}}
        for p in parts
    ]


TWO = says_with(use("a"), use("b"))
BOTH = said("user", [told("a"), told("b")])
WRITERS = [*talk(2), prompt(3, 2), prompt(4, 2), answer(5, 3), answer(6, 4), prompt(7, 6)]


COMPACTED = {"timestamp": "t", "type": "compacted", "payload": {"message": "all is well"}}
ASIDE = {"isSidechain": True, "agentId": "a1"}
SERVER = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []}
SNAPSHOT = {"type": "file-history-snapshot", "snapshot": {"trackedFileBackups": {}}}
SUMMARY = {"isCompactSummary": True}
SEGMENT = {"headUuid": uid(2), "anchorUuid": uid(4), "tailUuid": uid(2)}
KEPT = {"compactMetadata": {"preservedSegment": SEGMENT}}
LOST = {"compactMetadata": {"preservedSegment": SEGMENT | {"headUuid": uid(77)}}}
BARE = [
    {"id": THREAD, "timestamp": "t", "instructions": None},
    {"type": "reasoning", "summary": []},
]
EVENT = {
    "event_id": "evt-1",
    "timestamp": "2026-03-01T06:00:00.000001Z",
    "session_id": "session-mill",
    "run_id": "run-1",
    "step": 0,
    "event_type": "message",
    "payload": {"role": "user", "content": "light the lamp", "metadata": {}},
}
OTHER = "0f0f0f0f-0000-4000-8000-000000000000"
COPIES = [r | {"sessionId": OTHER, "forkedFrom": {"sessionId": SESSION}} for r in talk(2)]


def pi(*entries, **header) -> bytes:
    return jsonl(head(**header), *entries)


def ran(*behind, arguments=None) -> bytes:
    """A session of pi with a call, and what comes behind it."""
    call = speaks(2, 1, "assistant", call_of("c1", arguments))
    return pi(*chat(1), call, *behind)


PI_WRITERS = [
    *chat(2),
    speaks(3, 2, "user", "a"),
    speaks(4, 2, "user", "b"),
    speaks(5, 3, "assistant", "a"),
    speaks(6, 4, "assistant", "b"),
    speaks(7, 6, "user", "c"),
]


@dataclass
class Pair:
    """A session with a fault, and one without."""

    code: str
    bad: bytes
    near: bytes
    thorough: bool = False


PAIRS = [
    Pair("B101", b"\xef\xbb\xbf" + CC, word("\ufefftext")),
    Pair("B102", CHAT.decode().encode("utf-16"), jsonl(said("user", "\0a"))),
    Pair("B103", CC[:-1], CC),
    Pair("B104", CC + b'{"type":"user","mes', CC),
    Pair("B105", CC + b'{"type":"user","mes\n' + jsonl(prompt(3, 2)), word('{"type":"user","mes')),
    Pair("B106", CC.replace(b"}\n{", b"}{"), word("}{")),
    Pair("B107", raw(b"light ", b"light\n"), word("light\nthe lamp")),
    Pair("B108", CC + b"\0" * 20, word("\0\0")),
    Pair("B109", CC.replace(b"\n", b"\r\n"), word("a\r\nb")),
    Pair("B110", raw(b"lamp", b"l\xe4mp"), word("l\u00e4mp")),
    Pair("B111", CC + b"\n", word("a\n\nb")),
    Pair("B112", CC + b"WARN low\n", word("WARN low\n")),
    Pair("B113", b"[" + CC.replace(b"}\n{", b"},\n{").strip() + b"]\n", word("[{},{}]")),
    Pair(
        "B114",
        json.dumps(said("user"), indent=2).encode() + b"\n",
        b'{ "role": "user" , "content":"x"}\n',
    ),
    Pair("B115", b"<<<<<<< HEAD\n" + CC, word("<<<<<<< HEAD\n=======\n")),
    Pair("B116", CC + CC, jsonl(*talk(4))),
    Pair("B118", raw(b"light ", b"light\t"), word("light\tthe lamp")),
    Pair("B119", word("a\u2028b"), raw(b"light", rb"\u2028")),
    Pair("J201", raw(b"light", rb"\ud83c"), raw(b"light", rb"\ud83c\udf00")),
    Pair("J202", raw(b'"cwd"', b'"x":NaN,"cwd"'), word("NaN, Infinity,]")),
    Pair("J203", CC + b"null\n", raw(b'"cwd"', b'"x":null,"cwd"')),
    Pair(
        "J204",
        raw(b'"cwd"', b'"x":1,"x":2,"cwd"'),
        raw(b'"cwd"', b'"x":{"x":2},"cwd"'),
        thorough=True,
    ),
    Pair("J205", deep(3000), deep(50)),
    Pair("J206", CC + b"{'type': 'user'}\n", CC + b'{"type": "mode"}\n'),
    Pair(
        "S301",
        jsonl(linked(1, None, "user", message={"role": "user", "content": 7}), answer(2, 1)),
        CC,
    ),
    Pair("S302", CC + jsonl({"type": "kiln-telemetry"}), CC + jsonl({"type": "mode", "mode": "x"})),
    Pair(
        "S304",
        jsonl(EVENT, EVENT | {"event_id": "evt-2", "event_type": "weather"}),
        jsonl(EVENT, EVENT | {"event_id": "evt-2", "weather": "fog"}),
    ),
    Pair("T401", called(prompt(3, 2)), called(result(3, 2, "toolu_a"), prompt(4, 3))),
    Pair("T402", jsonl(*talk(2), result(3, 2, "toolu_a")), called(result(3, 2, "toolu_a"))),
    Pair(
        "T403",
        called(result(3, 2, "toolu_a"), result(4, 3, "toolu_a", "again")),
        called(result(3, 2, "toolu_a"), answer(4, 3, use("toolu_a")), result(5, 4, "toolu_a")),
    ),
    Pair(
        "T404",
        jsonl(asks("a"), said("user"), tells("a")),
        jsonl(asks("a"), tells("a"), said("user")),
    ),
    Pair(
        "T405",
        jsonl(asks("a", "a"), tells("a"), tells("a")),
        jsonl(asks("a"), tells("a"), asks("a"), tells("a", "more")),
    ),
    Pair(
        "T406",
        jsonl(asks("a", arguments='{"cut'), tells("a")),
        jsonl(asks("a", arguments='{"x":"{"}'), tells("a")),
    ),
    Pair(
        "T407",
        block(use("q", "AskUserQuestion")),
        jsonl(prompt(1, None), answer(2, 1, use("q", "AskUserQuestion")), result(3, 2, "q")),
    ),
    Pair("T408", block(FOUND, {"type": "text", "text": "x"}), block(SERVER, FOUND)),
    Pair("T409", called(result(3, 2, "")), called(result(3, 2, "toolu_a", ""))),
    Pair(
        "C601",
        block({"type": "text", "text": ""}, {"type": "text", "text": "x"}),
        called(result(3, 2, "toolu_a", "")),
    ),
    Pair("C602", thinking("[REDACTED]"), thinking("bWFkZSB1cA==")),
    Pair("C603", image("PGh0bWw+"), image(PNG)),
    Pair(
        "C604",
        jsonl(
            meta(),
            item("reasoning", encrypted_content="REDACTED", summary=[]),
            says("assistant", "x"),
        ),
        jsonl(
            meta(),
            item("reasoning", encrypted_content="bWFkZQ==", summary=[]),
            says("assistant", "x"),
        ),
    ),
    Pair("C605", jsonl(*talk(2), answer(3, 2, isApiErrorMessage=True)), word("API Error: 400")),
    Pair(
        "C606",
        jsonl(meta(), item("reasoning", summary=[]), says("user", "x")),
        jsonl(meta(), item("reasoning", summary=[]), says("assistant", "x")),
    ),
    Pair(
        "C607",
        jsonl(*CODEX[:2], COMPACTED, COMPACTED, says("user", "x", 9)),
        jsonl(*CODEX[:2], COMPACTED, says("user", "x", 9)),
    ),
    # Anthropic messages, where neighbours of one role are one message.
    Pair("S301", ants(said("user", [use("a")])), ants(said("user", [words("x"), {"type": "new"}]))),
    Pair("T401", ants(TWO, said("user", [told("a")])), ants(TWO, BOTH, said("user"))),
    Pair(
        "T401",
        ants(says_with(use("a")), says_with(use("b")), said("user", [told("b")])),
        ants(says_with(use("a")), says_with(use("b")), said("user", [told("b"), told("a")])),
    ),
    Pair("T402", ants(said("user", [told("a"), words("x")])), ants(TWO, BOTH)),
    Pair(
        "T403",
        ants(TWO, BOTH, said("user", [told("a")])),
        ants(TWO, said("user", [told("a")]), said("user", [told("b")])),
    ),
    Pair("T404", ants(TWO, said("user"), BOTH), ants(TWO, says_with(words("x")), BOTH)),
    Pair("T404", ants(says_with(use("a"), told("a"))), ants(says_with(SERVER, FOUND))),
    Pair("T405", ants(says_with(use("toolu_0")), said("user", [told("toolu_0")])), ants(TWO, BOTH)),
    Pair(
        "T405",
        ants(says_with(use("a"), use("a", x=1)), said("user", [told("a"), told("a", "")])),
        ants(TWO, BOTH),
    ),
    Pair(
        "T406",
        ants(says_with(use("a") | {"input": '{"cut'}), said("user", [told("a")])),
        ants(says_with(use("a", x={})), said("user", [told("a")])),
    ),
    Pair(
        "T407",
        ants(says_with(use("a", "ask_user"))),
        ants(says_with(use("a", "ask_user")), said("user", [told("a")])),
    ),
    Pair("T408", ants(says_with(FOUND, words("x"))), ants(says_with(SERVER, FOUND))),
    Pair(
        "T409",
        ants(says_with(use("a")), said("user", [told("")])),
        ants(says_with(use("a")), said("user", [told("a", "")])),
    ),
    Pair(
        "T410",
        ants(says_with(use("fs.read:0")), said("user", [told("fs.read:0")])),
        ants(says_with(use("fs_read-0")), said("user", [told("fs_read-0")])),
    ),
    Pair(
        "T411",
        ants(says_with(use("a", "n" * 201)), said("user", [told("a")])),
        ants(says_with(use("a", "n.0" + "n" * 197)), said("user", [told("a")])),
    ),
    Pair(
        "T411",
        called(result(3, 2, "toolu_a")).replace(b"Bash", b"B" * 201),
        called(result(3, 2, "toolu_a")).replace(b"Bash", b"B" * 200),
    ),
    Pair(
        "T412",
        ants(says_with(use("a")), said("user", [words("x"), told("a")])),
        ants(says_with(use("a")), said("user", [told("a"), words("x")])),
    ),
    Pair(
        "C601", ants(says_with(words(""), words("x"))), ants(said("user", " x"), said("assistant"))
    ),
    Pair(
        "C601",
        ants(says_with(use("a")), said("user", [told("a", [words("")])])),
        ants(says_with(use("a")), said("user", [told("a", [])])),
    ),
    Pair(
        "C602",
        ants(says_with({"type": "redacted_thinking", "data": ""}, words("x"))),
        ants(says_with({"type": "redacted_thinking", "data": "bWFkZQ=="}, words("x"))),
    ),
    Pair("C603", ants(said("user", shown("PGh0bWw+"))), ants(said("user", shown(PNG)))),
    # Responses items.
    Pair("S301", items(bare("message", role="robot", content="x")), items(bare("hologram"))),
    Pair("T401", items(bare_call("a"), said("user")), items(bare_call("a"), bare_output("a"))),
    Pair("T402", items(bare_output("a")), items(bare_call("a"), bare_output("a", []))),
    Pair(
        "T403",
        items(bare_call("a"), bare_output("a"), bare_output("a")),
        items(bare_call("a"), bare_call("b"), bare_output("b"), bare_output("a")),
    ),
    Pair(
        "T404",
        items(bare_call("a"), said("user"), bare_output("a")),
        items(bare_call("a"), said("assistant"), bare_output("a")),
    ),
    Pair(
        "T405",
        items(bare_call("call_0"), bare_output("call_0")),
        items(bare_call("a"), bare_output("a")),
    ),
    Pair(
        "T406",
        items(bare_call("a", arguments="[]"), bare_output("a")),
        items(bare_call("a"), bare_output("a")),
    ),
    Pair(
        "T407",
        items(bare_call("a", name="ask_user")),
        items(bare_call("a", name="ask_user"), bare_output("a")),
    ),
    Pair(
        "T409", items(bare_call("a"), bare_output("")), items(bare_call("a"), bare_output("a", ""))
    ),
    Pair(
        "T410",
        items(bare_call("a" * 65), bare_output("a" * 65)),
        items(bare_call("a.0:" + "a" * 60), bare_output("a.0:" + "a" * 60)),
    ),
    Pair(
        "C601",
        items(said("user", [bare("input_text", text="")])),
        items(bare_call("a"), bare_output("a", "")),
    ),
    Pair("C604", reasons("REDACTED"), reasons("bWFkZQ==")),
    Pair(
        "C606",
        items(bare("reasoning", summary=[]), said("user")),
        items(bare("reasoning", summary=[]), said("assistant")),
    ),
    Pair(
        "C608",
        items(said("assistant", id="item_1", type="message")),
        items(said("assistant", id="msg_1", type="message")),
    ),
    Pair(
        "C608",
        items(*(said("assistant", type="message", id="msg_1"),) * 2),
        items(said("assistant", type="message", id="msg_1"), bare("item_reference", id="msg_2")),
    ),
    Pair(
        "T409",
        ants(TWO, said("user", [told("a"), told("c")])),
        ants(TWO, BOTH, said("user")),
    ),
    # OpenAI chat.
    Pair(
        "T409",
        jsonl(asks("call_lamp"), tells("call_l\ufffdmp")),
        jsonl({"system": "x"}, asks("a"), tells("a")),
    ),
    Pair(
        "S301",
        jsonl(asks("a") | {"tool_calls": [{"id": "a"}]}, tells("a")),
        jsonl(asks("a") | {"tool_calls": [{"id": "a", "type": "new"}]}, tells("a")),
    ),
    Pair(
        "T410",
        jsonl(asks("a" * 65), tells("a" * 65)),
        jsonl(asks("functions.look:0", "a" * 64), tells("functions.look:0"), tells("a" * 64)),
    ),
    Pair(
        "T411",
        jsonl(asks("a"), tells("a")).replace(b"look", b"l.ok"),
        jsonl(asks("a"), tells("a")).replace(b"look", b"L-_0" * 16),
    ),
    Pair(
        "T413",
        jsonl(asks(*map(str, range(129))), *map(tells, map(str, range(129)))),
        jsonl(asks(*map(str, range(128))), *map(tells, map(str, range(128)))),
    ),
    Pair("G501", jsonl(*talk(2), prompt(3, 9)), jsonl(*talk(3))),
    Pair(
        "G502",
        jsonl(*talk(2), prompt(2, 1)),
        jsonl(
            *talk(2),
            {
                "type": "file-history-snapshot",
                "messageId": uid(2),
                "snapshot": {"trackedFileBackups": {}},
            },
        ),
    ),
    Pair(
        "G503",
        jsonl(*talk(2), prompt(3, 3)),
        jsonl(*talk(2), answer(4, 3), prompt(3, 2), prompt(5, 4)),
    ),
    Pair(
        "G504",
        jsonl(*talk(2), {k: v for k, v in prompt(3, 2).items() if k != "uuid"}),
        jsonl(*talk(2), {"type": "summary", "leafUuid": uid(2)}),
    ),
    Pair("G505", jsonl(*WRITERS), jsonl(*talk(4), prompt(5, 2), answer(6, 5))),
    Pair(
        "G506",
        jsonl(*talk(4), prompt(5, 2), answer(6, 5)),
        jsonl(
            prompt(1, None),
            answer(2, 1, use("a"), turn="m"),
            answer(3, 2, use("b"), turn="m"),
            result(4, 2, "a"),
            result(5, 3, "b"),
            answer(6, 5),
        ),
    ),
    Pair(
        "G507",
        jsonl(*talk(2), boundary(3), prompt(4, 3)),
        jsonl(*talk(2), boundary(3), prompt(4, 3, **SUMMARY), prompt(5, 4)),
    ),
    Pair(
        "G508",
        jsonl(*talk(2), boundary(3) | LOST, prompt(4, 3, **SUMMARY)),
        jsonl(*talk(2), boundary(3, 66) | KEPT, prompt(4, 3, **SUMMARY)),
    ),
    Pair(
        "G509",
        jsonl(answer(2, 1), prompt(3, 2)),
        jsonl(answer(2, 1, **ASIDE), prompt(3, 2, **ASIDE)),
    ),
    Pair(
        "G510",
        jsonl(*CODEX[:2], event("agent_message", 2, message="at ten")),
        jsonl(*CODEX, event("agent_message", 3, message="at ten")),
    ),
    Pair("M701", jsonl(*CODEX[1:]), jsonl(*CODEX)),
    Pair("M702", jsonl(meta(0, id=OTHER), *CODEX[1:]), jsonl(*CODEX)),
    Pair("M703", jsonl(CODEX[1], CODEX[0], CODEX[2]), jsonl(*CODEX)),
    Pair(
        "M704",
        jsonl(*CODEX, meta(3), says("user", "x", 4)),
        jsonl(meta(0, forked_from_id=OTHER), meta(1, id=OTHER), *CODEX[1:], meta(7)),
    ),
    Pair("M705", jsonl(*CODEX, says("user", "x")), jsonl(CODEX[0], says("user", "x"), CODEX[2])),
    Pair(
        "M706",
        jsonl(*talk(2), prompt(3, 2, sessionId=OTHER)),
        jsonl(*COPIES, prompt(3, 2, sessionId=OTHER)),
    ),
    Pair("M707", jsonl(*(r | ASIDE for r in talk(2))), jsonl(*talk(2), prompt(3, 2, **ASIDE))),
    Pair("M708", jsonl(meta(forked_from_id=OTHER), *CODEX[1:]), jsonl(*CODEX)),
    Pair("M709", jsonl(*BARE), jsonl(*CODEX)),
    # pi: the rules that its tree, its header or its shapes have a part in.
    Pair("S301", pi(*chat(1), entry(2, 1, "message", message={"role": "user"})), pi(*chat(2))),
    Pair("S302", pi(*chat(2), entry(3, 2, "kiln")), pi(*chat(2), entry(3, 2, "label"))),
    Pair("T401", ran(speaks(3, 2, "user", "x")), ran(result_of(3, 2, "c1"))),
    Pair("T401", ran(), pi(*chat(1), speaks(2, 1, "assistant", call_of("c"), stopReason="error"))),
    Pair("T402", pi(*chat(2), result_of(3, 2, "c1")), ran(result_of(3, 2, "c1"))),
    Pair(
        "T403",
        ran(result_of(3, 2, "c1"), result_of(4, 3, "c1")),
        ran(
            result_of(3, 2, "c1"),
            speaks(4, 3, "assistant", call_of("c1")),
            result_of(5, 4, "c1"),
        ),
    ),
    Pair(
        "T404",
        ran(speaks(3, 2, "user", "x"), result_of(4, 3, "c1")),
        ran(entry(3, 2, "custom", customType="x"), result_of(4, 3, "c1")),
    ),
    Pair(
        "T405",
        pi(*chat(1), speaks(2, 1, "assistant", call_of("c"), call_of("c")), result_of(3, 2, "c")),
        pi(
            *chat(1),
            speaks(2, 1, "assistant", call_of("c"), call_of("d")),
            result_of(3, 2, "c"),
            result_of(4, 3, "d"),
        ),
    ),
    Pair("T406", ran(result_of(3, 2, "c1"), arguments=[1]), ran(result_of(3, 2, "c1"))),
    Pair("T409", ran(result_of(3, 2, "")), ran(result_of(3, 2, "c1", ""))),
    Pair(
        "C603",
        pi(speaks(1, None, "user", {"type": "image", "mimeType": "image/png", "data": "PGh0bWw+"})),
        pi(speaks(1, None, "user", {"type": "image", "mimeType": "image/png", "data": PNG})),
    ),
    Pair("G501", pi(*chat(2), speaks(4, 3, "user", "x")), pi(*chat(3))),
    Pair("G502", pi(*chat(2), speaks(2, 1, "assistant", "x")), pi(*chat(3))),
    Pair("G503", pi(*chat(2), speaks(3, 3, "user", "x")), pi(*chat(3))),
    Pair(
        "G504",
        pi(*chat(1), {k: v for k, v in speaks(2, 1, "assistant", "x").items() if k != "id"}),
        pi(*chat(2), id=OTHER),
    ),
    Pair("G505", pi(*PI_WRITERS), pi(*chat(4), speaks(5, 2, "user", "x"))),
    Pair("G506", pi(*chat(4), speaks(5, 2, "user", "x")), pi(*chat(4), compaction(5, 4, 3))),
    Pair("G507", pi(*chat(4), compaction(5, 4, 3, " ")), pi(*chat(4), compaction(5, 4, 3))),
    Pair("G508", pi(*chat(4), compaction(5, 4, 99)), pi(*chat(4), compaction(5, 4, 1))),
    Pair(
        "G509",
        pi(entry(1, None, "model_change"), speaks(3, 2, "assistant", "x")),
        pi(entry(1, None, "model_change"), speaks(3, 1, "assistant", "x")),
    ),
    Pair(
        "G511",
        pi(*chat(2), *reversed(chat(4, 3))),
        pi(chat(1)[0], *reversed(chat(3, 2)), *chat(4, 4)),
    ),
    Pair("M701", jsonl(*chat(2)), pi(*chat(2))),
    Pair("M701", jsonl(head(id=7), *chat(2)), jsonl(head(version=2), *chat(2))),
    Pair("M701", b"\0" * 9 + pi(*chat(2)), pi(*chat(2)) + jsonl(head())),
    Pair("M703", jsonl(chat(1)[0], head(), *chat(2, 2)), pi(*chat(2))),
    Pair("M708", pi(*chat(2), parentSession="/a.jsonl"), pi(*chat(2))),
]
# Rules about the file itself or those beside it, or with a schema of the user's: tested apart.
APART = {"B117", "M710", "M711", "M712", "M713", "S303"}
every_pair = pytest.mark.parametrize("pair", PAIRS, ids=lambda p: p.code)


def examined(data: bytes, thorough: bool):
    name = ROLLOUT if b'"payload"' in data else "session.jsonl"
    return look(data, Options(thorough=thorough), name)


def test_every_rule_is_tested():
    """The table of rules and the table of pairs have the same codes."""
    # What redact finds is tested with it.
    codes = {code for code in rule.RULES if not code.startswith("P")}
    assert {p.code for p in PAIRS} | APART == codes


@every_pair
def test_a_fault_is_found(pair):
    """The rule says something, with its name, and points into the file."""
    found = [f for f in examined(pair.bad, pair.thorough).findings if f.code == pair.code]
    assert found
    for finding in found:
        assert finding.name == rule.RULES[pair.code].name
        assert 0 <= finding.location.start <= finding.location.end <= len(pair.bad)
        assert finding.location.line >= 1


@every_pair
def test_a_near_miss_is_sound(pair):
    """The session that is nearly like it has no fault at all."""
    report = examined(pair.near, pair.thorough)
    assert pair.code not in codes(report)
    assert [f.code for f in report.findings if f.severity is not Severity.INFORMATION] == []


@every_pair
def test_no_finding_shows_session_text(pair):
    """Messages, notes and titles hold ids and counts, and never what was said."""
    for finding in examined(pair.bad, pair.thorough).findings:
        title = finding.fix.title if finding.fix else ""
        for secret in ("light the", "it burns", "at ten", "WARN low"):
            assert secret not in " ".join([finding.message, *finding.notes, title])


@pytest.mark.parametrize(
    ("name", "severity"),
    [
        ("session.jsonl", Severity.ERROR),
        ("agent-x1.jsonl", Severity.INFORMATION),
        (f"{SESSION}.jsonl", Severity.INFORMATION),
    ],
)
def test_an_empty_file(name, severity):
    """B117: an empty file is an error, except under the names that an agent leaves empty."""
    (finding,) = look(b"", name=name).findings
    assert (finding.code, finding.severity) == ("B117", severity)
    assert finding.fix.applicability is Applicability.MANUAL
    assert "B117" not in codes(look(CC, name=name))


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        ("", "it is empty"),
        ("@@@@", "it is no base64"),
        ("PGh0bWw+", "it says image/png, its bytes are no image"),
        ("/9j/4AAQ", "it says image/png, its bytes are image/jpeg"),
        (PNG[:16] + "A" * (5 << 20), "it has 5242896 bytes, over 5 MB"),
    ],
)
def test_images(data, fault):
    """C603: an image that would be refused is named with the reason, and no byte of it."""
    (finding,) = look(image(data)).findings
    assert (finding.code, finding.message) == ("C603", f"an image would be refused: {fault}")


@pytest.mark.parametrize("words", ["ok", "longer than is allowed"])
def test_a_schema_of_the_user(words):
    """S303: a record that the user's own schema does not allow is named, others are not."""
    own = RecordValidator({"properties": {"content": {"maxLength": 5}}})
    found = codes(look(jsonl(said("user", words)), schema=own))
    assert found == (["S303"] if len(words) > 5 else [])


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o604])
@pytest.mark.parametrize("in_home", [True, False])
def test_access(tmp_path, monkeypatch, mode, in_home):
    """M710: others may read a session: a warning in the owner's home, else information."""
    folder = tmp_path / (".claude/projects/-srv-beacon" if in_home else "archive")
    monkeypatch.setattr("sesstool.checks.meta._home_of", lambda _: tmp_path)
    path = folder / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(CC)
    path.chmod(mode)
    found = [f for f in api.validate(path).findings if f.code == "M710"]
    assert len(found) == (mode != 0o600)
    for finding in found:
        expected = Severity.WARNING if in_home else Severity.INFORMATION
        assert finding.severity is expected
        assert (finding.fix is not None and finding.fix.mode == 0o600) == in_home


def test_the_home_of_an_owner():
    """The home folder of the user who runs the tests is a folder by its full path."""
    assert _home_of(os.getuid()).is_absolute()
