"""Sessions of Qwen Code and Kimi CLI with each damage: what is found, and what a repair leaves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sesstool import api
from sesstool.findings import Severity
from tests.conftest import codes, dump, jsonl, loads, look, mend, plan

SESSION = "0a1b2c3d-0021-4000-8000-00000000beac"
WORDS = "Light the lamps.\nAll of them."


def qid(n: int | None) -> str | None:
    return None if n is None else f"{n:08x}-0021-4000-8000-00000000beac"


def record(n: int, parent: int | None, kind: str, *parts: Any, **more: Any) -> dict[str, Any]:
    """One of Qwen Code's."""
    out = {"uuid": qid(n), "parentUuid": qid(parent), "sessionId": SESSION}
    out |= {"timestamp": f"2026-03-01T07:{n:02}:00.000Z", "type": kind, "cwd": "/srv/beacon"}
    if parts:
        role = "model" if kind == "assistant" else "user"
        out["message"] = {"role": role, "parts": list(parts)}
    return out | more


def part(words: str) -> dict[str, Any]:
    return {"text": words}


def called(name: str) -> dict[str, Any]:
    return {"functionCall": {"id": name, "name": "edit", "args": {}}}


def answered(name: str) -> dict[str, Any]:
    response = {"output": "done"}
    return {"functionResponse": {"id": name, "name": "edit", "response": response}}


QWEN = [
    record(0, None, "user", part(WORDS)),
    record(1, 0, "assistant", called("c1"), called("c2")),
    record(2, 1, "system", subtype="ui_telemetry", systemPayload={}),
    record(3, 2, "tool_result", answered("c1")),
    record(4, 3, "tool_result", answered("c2")),
    record(5, 4, "assistant", part("They are lit.")),
    record(6, 5, "user", part("The café too?")),
    record(7, 6, "assistant", called("c3")),
    record(8, 7, "tool_result", answered("c3")),
    record(9, 8, "assistant", part("The café, too.")),
]


def chat_call(name: str) -> dict[str, Any]:
    return {"type": "function", "id": name, "function": {"name": "Shell", "arguments": "{}"}}


def chat_result(name: str) -> dict[str, Any]:
    return {"role": "tool", "content": "done", "tool_call_id": name}


KIMI: list[dict[str, Any]] = [
    {"role": "_system_prompt", "content": "You keep the lighthouse."},
    {"role": "_checkpoint", "id": 0},
    {"role": "user", "content": WORDS},
    {"role": "assistant", "content": "At once.", "tool_calls": [chat_call("c1"), chat_call("c2")]},
    {"role": "_usage", "token_count": 90},
    chat_result("c1"),
    chat_result("c2"),
    {"role": "assistant", "content": "They are lit."},
    {"role": "user", "content": "The café too?"},
    {"role": "assistant", "content": "Yes.", "tool_calls": [chat_call("c3")]},
    chat_result("c3"),
    {"role": "assistant", "content": "The café, too."},
]
Q, K = ([dump(one) + b"\n" for one in records] for records in (QWEN, KIMI))
NAMES = {"qwen": f"{SESSION}.jsonl", "kimi": "context.jsonl"}


def qwen_sends(data: bytes) -> list[str]:
    """The texts and calls that Qwen Code would send, by its own rules.

    Written apart from sesstool, for the checks of repairs: objects are found in any line, the way
    goes from the last record up, and stops where a parent is missing or comes again.
    """
    records = []
    for line in data.decode("utf-8", "replace").split("\n"):
        at = line.find("{")
        while at >= 0:
            try:
                value, at = json.JSONDecoder().raw_decode(line, at)
                records.append(value)
                at = line.find("{", at)
            except ValueError:
                break
    if len({one["sessionId"] for one in records}) != 1:
        return ["refused"]
    by_id: dict[str, list[Any]] = {}
    for one in records:
        by_id.setdefault(one["uuid"], []).append(one)
    way: list[Any] = []
    here = records[-1]["uuid"]
    while here in by_id and by_id[here][0] not in way:
        way[:0] = by_id[here]
        here = by_id[here][0]["parentUuid"]
    return [
        part.get("text") or next(iter(part.values()))["id"]
        for one in way
        for part in one.get("message", {}).get("parts", ())
    ]


SAID = qwen_sends(b"".join(Q))


def without(records: list[bytes], *lost: int) -> bytes:
    return b"".join(line for n, line in enumerate(records) if n not in lost)


def with_one(records: list[bytes], at: int, line: bytes) -> bytes:
    """A line more, in front of one of them."""
    return b"".join([*records[:at], line, *records[at:]])


def changed(records: list[dict[str, Any]], at: int, **fields: Any) -> bytes:
    return jsonl(*records[:at], records[at] | fields, *records[at + 1 :])


def all_of(records: list[bytes], *, but: dict[int, bytes | None] | None = None) -> list[bytes]:
    """The lines that should be left: those of the sound session, some replaced or (None) gone."""
    lines: list[bytes | None] = [*records]
    for n, line in (but or {}).items():
        lines[n] = line
    return [line for line in lines if line is not None]


MADE = b"<a result that a repair made>"
# What the damage is, the damaged bytes, the findings with their lines, the lines after the repair.
QWEN_CASES = [
    ("torn tail", b"".join(Q)[:-60], "B104:10", all_of(Q, but={9: None})),
    ("NUL line", with_one(Q, 5, bytes(40) + b"\n"), "B108:6", Q),
    ("NUL run before a record", with_one(Q, 5, bytes(40)), "B108:6", Q),
    ("glued records", without(Q, 4).replace(Q[5], Q[4][:-1] + Q[5]), "B106:5", Q),
    ("split record", b"".join(Q).replace(b".\\nAll", b".\nAll"), "B107:1", Q),
    (
        "invalid UTF-8",
        b"".join(Q).replace("café too".encode(), b"caf\xc3 too"),
        "B110:7",
        all_of(Q, but={6: Q[6].replace("café".encode(), "caf\ufffd".encode())}),
    ),
    ("result lost", without(Q, 4), "T401:2 G501:5", all_of(Q, but={4: MADE})),
    ("interrupted", without(Q, 8, 9), "T401:8", [*Q[:8], MADE]),
    (
        "call lost",
        without(Q, 7),
        "G501:8 T402:8",
        all_of(Q, but={7: None, 8: None, 9: jsonl(QWEN[9] | {"parentUuid": qid(6)})}),
    ),
    ("record twice", with_one(Q, 6, Q[5]), "G502:7", Q),
    ("id of another record", changed(QWEN, 5, uuid=qid(4)), "G502:6 G501:7", Q),
    (
        "record lost",
        without(Q, 5),
        "G501:6",
        all_of(Q, but={5: None, 6: jsonl(QWEN[6] | {"parentUuid": qid(4)})}),
    ),
    ("circle", changed(QWEN, 5, parentUuid=qid(7)), "G503:6", Q),
    (
        "empty answer",
        jsonl(
            *QWEN[:6],
            record(16, 5, "assistant", message={"role": "model", "parts": []}),
            QWEN[6] | {"parentUuid": qid(16)},
            *QWEN[7:],
        ),
        "C601:7",
        Q,
    ),
    (
        "empty part",
        b"".join(Q).replace(b'{"text":"They', b'{"text":""},{"text":"They'),
        "C601:6",
        Q,
    ),
    ("noise", with_one(Q, 5, b"npm WARN deprecated\n"), "B112:6", Q),
    ("BOM", b"\xef\xbb\xbf" + b"".join(Q), "B101:1", Q),
    ("stub before a record", with_one(Q, 5, Q[5][:70]), "B105:6", Q),
    ("arguments as text", b"".join(Q).replace(b'"args":{}', b'"args":"{}"', 1), "T406:2", Q),
]
KIMI_CASES = [
    ("torn tail", b"".join(K)[:-20], "B104:12", all_of(K, but={11: None})),
    ("NUL line", with_one(K, 5, bytes(40) + b"\n"), "B108:6", K),
    ("NUL run before a record", with_one(K, 5, bytes(40)), "B108:6", K),
    ("glued records", without(K, 4).replace(K[5], K[4][:-1] + K[5], 1), "B106:5", K),
    ("split record", b"".join(K).replace(b".\\nAll", b".\nAll"), "B107:3", K),
    (
        "invalid UTF-8",
        b"".join(K).replace("café too".encode(), b"caf\xc3 too"),
        "B110:9",
        all_of(K, but={8: K[8].replace("café".encode(), "caf\ufffd".encode())}),
    ),
    ("result lost", without(K, 6), "T401:4", all_of(K, but={6: MADE})),
    ("interrupted", without(K, 10, 11), "T401:10", [*K[:10], MADE]),
    ("call lost", without(K, 9), "T402:10", all_of(K, but={9: None, 10: None})),
    ("result twice", with_one(K, 7, K[6]), "T403:8", K),
    ("answer twice", with_one(K, 4, K[3]), "G502:5", K),
    ("result late", b"".join([*K[:6], *K[7:9], K[6], *K[9:]]), "T404:9", K),
    (
        "two writers",
        with_one(K, 10, b'{"role":"user","content":"And the pier?"}\n'),
        "T404:12",
        [*K[:11], b'{"role":"user","content":"And the pier?"}\n', K[11]],
    ),
    ("noise", with_one(K, 5, b"npm WARN deprecated\n"), "B112:6", K),
    ("BOM", b"\xef\xbb\xbf" + b"".join(K), "B101:1", K),
    ("stub before a record", with_one(K, 7, K[7][:30]), "B105:8", K),
    ("cut arguments", b"".join(K).replace(b'"{}"', b'"{\\"c"', 1), "T406:4", K),
]


@pytest.mark.parametrize(
    ("agent", "data", "found", "left"),
    [
        pytest.param(agent, *rest, id=f"{agent}: {name}")
        for agent, cases in (("qwen", QWEN_CASES), ("kimi", KIMI_CASES))
        for name, *rest in cases
    ],
)
def test_each_damage_is_found_and_mended(agent, data, found, left, tmp_path):
    """The codes and lines are these; a safe repair leaves these bytes; undo gives the old ones."""
    path = tmp_path / NAMES[agent]
    path.write_bytes(data)
    path.chmod(0o600)
    report = api.validate(path)
    assert report.format == agent
    assert " ".join(f"{f.code}:{f.location.line}" for f in report.findings) == found
    repair = api.repair(path)
    assert repair.outcome.after.findings == ()
    api.apply(api.plan_of([repair]))
    lines = path.read_bytes().splitlines(keepends=True)
    made = [n for n, line in enumerate(left) if line == MADE]
    assert [line for n, line in enumerate(lines) if n not in made] == [x for x in left if x != MADE]
    assert all(b"[sesstool] interrupted" in lines[n] for n in made)
    api.undo(str(path))
    assert path.read_bytes() == data


@pytest.mark.parametrize("case", QWEN_CASES, ids=lambda case: case[0])
def test_qwen_code_would_send_all_that_is_left(case):
    """After the repair its own rules reach every record: nothing of the file is cut off."""
    _, data, _, left = case
    after = mend(data, name=NAMES["qwen"])
    told = [json.loads(line) for line in after.splitlines()]
    texts = [
        part.get("text") or next(iter(part.values()))["id"]
        for one in told
        for part in one.get("message", {}).get("parts", ())
    ]
    assert qwen_sends(after) == texts
    assert len(told) == len(left)


def test_what_qwen_code_loses_by_itself():
    """The check that is apart from sesstool sees what a lost record costs."""
    assert qwen_sends(without(Q, 5)) == SAID[-4:]


def test_the_answer_takes_the_place_of_the_result_that_was_lost():
    """It has the id that the next record names, and hangs from what the lost one hung from."""
    made = loads(mend(without(Q, 4), name=NAMES["qwen"]))[4]
    assert (made["uuid"], made["parentUuid"], made["sessionId"]) == (qid(4), qid(3), SESSION)
    assert made["type"] == "tool_result"
    told = made["message"]["parts"][0]["functionResponse"]
    assert (told["id"], told["name"]) == ("c2", "edit")
    assert told["response"]["error"].startswith("[sesstool] interrupted")
    assert made["toolCallResult"] == {"callId": "c2", "status": "error"}


def test_telemetry_proves_that_a_call_failed():
    """What the screen was told of a call is no result, but tells how it ended."""
    event = {"event.name": "qwen-code.tool_call", "call_id": "c2", "success": False}
    records = [*QWEN[:2], QWEN[2] | {"systemPayload": {"uiEvent": event}}, *QWEN[3:4]]
    told = loads(mend(jsonl(*records), name=NAMES["qwen"]))[-1]["message"]["parts"][0]
    assert (
        "failed; its own result was not recorded" in told["functionResponse"]["response"]["error"]
    )


def test_the_first_message_that_was_lost():
    """Something stands in its place, under the id that the next record names."""
    after = mend(without(Q, 0), name=NAMES["qwen"])
    first, *others = after.splitlines(keepends=True)
    assert others == Q[1:]
    assert (json.loads(first)["uuid"], json.loads(first)["parentUuid"]) == (qid(0), None)
    assert qwen_sends(after)[1:] == SAID[1:]


def test_two_writers_of_a_tree():
    """A plain repair leaves both; what joins them makes one way of all records."""
    tail = [
        record(10, 5, "user", part("a")),
        record(11, 5, "user", part("b")),
        record(12, 10, "assistant", part("a")),
        record(13, 11, "assistant", part("b")),
        record(14, 13, "user", part("c")),
    ]
    data = b"".join(Q[:6]) + jsonl(*tail)
    assert codes(look(data, name=NAMES["qwen"])) == ["G505"]
    assert mend(data, name=NAMES["qwen"]) == data
    joined = mend(data, "--join-branches", unsafe=True, name=NAMES["qwen"])
    assert sorted(qwen_sends(joined)[-5:]) == ["a", "a", "b", "b", "c"]


def test_records_of_two_sessions():
    """Qwen Code loads neither: an error, and only a person can part them."""
    data = b"".join(Q[:6]) + jsonl(*(one | {"sessionId": "another"} for one in QWEN[6:]))
    (finding,) = look(data, name=NAMES["qwen"]).findings
    assert (finding.code, finding.severity) == ("M706", Severity.ERROR)
    assert mend(data, name=NAMES["qwen"]) == data
    assert qwen_sends(data) == ["refused"]


def test_one_message_in_several_records():
    """Records of one id and one parent are one message: no fault, and results hang behind all."""
    two = record(1, 0, "assistant", called("c2"))
    sound = [QWEN[0], record(1, 0, "assistant", called("c1")), two, *QWEN[2:]]
    assert look(jsonl(*sound), name=NAMES["qwen"]).findings == ()
    twice = jsonl(*sound[:3], two, *sound[3:])
    assert codes(look(twice, name=NAMES["qwen"])) == ["G502", "T405"]
    assert mend(twice, name=NAMES["qwen"]) == jsonl(*sound)
    lost = [*sound[:5], *sound[6:]]
    after = mend(jsonl(*lost), name=NAMES["qwen"])
    assert [one["uuid"] for one in loads(after)] == [one["uuid"] for one in sound]
    assert qwen_sends(after) == SAID


def test_a_compaction_without_a_history():
    """It would hide all that stands before it; only --unsafe takes it out."""
    hollow = record(16, 5, "system", subtype="chat_compression")
    hollow["systemPayload"] = {"compressedHistory": []}
    records = [*QWEN[:6], hollow, QWEN[6] | {"parentUuid": qid(16)}, *QWEN[7:]]
    data = jsonl(*records)
    assert codes(look(data, name=NAMES["qwen"])) == ["G507"]
    assert plan(data, name=NAMES["qwen"]).edits.apply(data) == data
    assert mend(data, unsafe=True, name=NAMES["qwen"]) == b"".join(Q)


def test_real_sessions_of_qwen_code(shared: Path):
    """What it wrote whole has no error; torn records are all that a crash left."""
    top = shared / "corpus" / "real-clients" / "qwen-code"
    files = [*top.rglob("projects/**/*.jsonl")]
    assert len(files) > 10
    for path in files:
        data = path.read_bytes()
        report = look(data, name=path.name)
        errors = {f.code for f in report.findings if f.severity is Severity.ERROR}
        crashed = {"full-disk-on": {"B105"}, "kill-write": {"B104"}}
        assert report.format == "qwen"
        assert errors == crashed.get(path.relative_to(top).parts[1], set()), path
