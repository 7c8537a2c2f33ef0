"""Repairs: right bytes, in stages, to a fixed point, and never more than is allowed."""

from __future__ import annotations

import pytest

from sesstool.checks.context import Options
from sesstool.errors import WriteError
from sesstool.repair import planner
from tests.conftest import (
    CALL,
    ROLLOUT,
    SESSION,
    THREAD,
    TURN,
    answer,
    asks,
    bare,
    bare_call,
    bare_output,
    blocks,
    boundary,
    codes,
    dump,
    envelope,
    event,
    item,
    jsonl,
    loads,
    look,
    mend,
    meta,
    output,
    plan,
    prompt,
    rest,
    result,
    runs,
    said,
    says,
    says_with,
    talk,
    tells,
    told,
    uid,
    use,
    words,
)


def test_a_lost_codex_message_is_rebuilt():
    """A message that only an event tells comes back as an item, word by word."""
    told = event(
        "item_completed", 2, item={"type": "AgentMessage", "content": [{"text": "at ten"}]}
    )
    before = [meta(0), says("user", "tide?", 1), told, says("user", "thanks", 3)]
    made = loads(mend(jsonl(*before)))
    assert rest(made, 3) == before
    assert made[3]["payload"] == says("assistant", "at ten")["payload"]
    assert made[3]["ordinal"] == 4


def test_a_header_is_rebuilt_with_the_flag_only():
    """A plain repair leaves a rollout without its header; a guess writes one in front."""
    torn = dump(meta(0))[:80]
    context = envelope("turn_context", {"cwd": "/srv/beacon", "model": "m"}, 1)
    body = jsonl(context, says("user", "x", 2))
    assert mend(torn + b"\n" + body, name=ROLLOUT) == torn + b"\n" + body
    made = mend(torn + b"\n" + body, name=ROLLOUT, unsafe=True)
    assert made.endswith(b"\n" + body)
    header = loads(made)[0]
    assert (header["type"], header["ordinal"]) == ("session_meta", 0)
    assert header["payload"]["id"] == THREAD
    assert header["payload"]["cwd"] == "/srv/beacon"
    assert "recovered" in header["payload"]["originator"]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ({"history_mode": "quantum"}, {"history_mode": "legacy"}),
        ({"history_mode": None}, {"history_mode": "legacy"}),
        ({"source": 5}, {}),
        ({"account_scoped": None, "context_window": [1]}, {}),
    ],
)
def test_a_header_that_codex_cannot_read(wrong, right):
    """A member that Codex does not know makes it read no header: with the flag it goes."""
    body = jsonl(says("user", "x"))
    sound = meta()
    for key in wrong:
        sound["payload"].pop(key, None)
    broken = {**sound, "payload": sound["payload"] | wrong}
    assert codes(look(jsonl(broken) + body, name=ROLLOUT))[0] == "M701"
    assert mend(jsonl(broken) + body, name=ROLLOUT) == jsonl(broken) + body
    header = loads(mend(jsonl(broken) + body, name=ROLLOUT, unsafe=True))[0]
    assert header["payload"] == sound["payload"] | right


def test_a_paginated_rollout_without_ordinals_is_numbered():
    """In that mode the last record must have a number, also where no record has one."""
    data = jsonl(meta(history_mode="paginated"), says("user", "x"), says("assistant", "y"))
    assert codes(look(data)) == ["M705"]
    assert mend(data) == data
    assert [r["ordinal"] for r in loads(mend(data, unsafe=True))] == [0, 1, 2]


def test_faults_behind_each_other_need_one_repair():
    """A torn line, the call it left open and the parent it took away are mended at once."""
    lines = [*map(dump, CALL), dump(result(3, 2, "a"))[:70], dump(prompt(4, 3)), b"\0" * 9]
    before = b"\n".join(lines) + b"\n" + b'{"type":"us'
    outcome = plan(before)
    assert {"B105", "B108", "T401", "B104"} <= {f.code for f in outcome.mended}
    assert codes(outcome.after) == []
    after = outcome.edits.apply(before)
    assert not plan(after).edits
    assert loads(after)[-1] == prompt(4, 3)


def test_the_bytes_of_other_records_stay():
    """Odd spacing, big numbers and unknown fields of untouched records are kept."""
    odd = b'{ "type":"mode",  "n":123456789012345678901234567890, "x":1.0e5 }'
    before = jsonl(*CALL, odd, prompt(4, 3))
    assert odd in mend(before).split(b"\n")


def test_what_was_mended_is_told_by_its_place_in_the_file():
    """Findings of later stages name lines and bytes of the file, not of a text in between."""
    lines = [*map(dump, talk(2)), dump(answer(3, 2, use("a"))), dump(prompt(4, 3))]
    before = lines[0] + lines[1] + b"\n" + b"\0" * 30 + b"\n".join(lines[2:]) + b"\n"
    mended = {f.code: f.location for f in plan(before).mended}
    assert sorted(mended) == ["B106", "B108", "T401"]
    place = mended["T401"]
    assert before[place.start : place.end] == dump(use("a"))
    assert (place.line, place.column) == (2, place.start - before.index(b"\n"))


def test_unsafe_fixes_wait_for_the_flag():
    """What guesses is left alone without the flag."""
    before = jsonl(*talk(2)).replace(b'"cwd"', b'"x":NaN,"cwd"', 1)
    assert not plan(before).edits
    assert b'"x":null' in mend(before, unsafe=True)


WRITERS = [*talk(2), prompt(3, 2), prompt(4, 2), answer(5, 3), answer(6, 4), prompt(7, 6)]


def test_branches_are_joined_with_their_own_flag_only():
    """Two writers stay apart, with `--unsafe` too; `--join-branches` hangs one behind the other."""
    before = jsonl(*WRITERS)
    assert not plan(before).edits
    assert not plan(before, unsafe=True).edits
    made = loads(mend(before, "--join-branches"))
    assert made == [*WRITERS[:3], prompt(4, 5), *WRITERS[4:]]
    assert codes(look(jsonl(*made))) == []


@pytest.mark.parametrize(
    ("select", "mended"), [(("T",), {"T401"}), (("B104",), {"B104"}), (("S", "M7"), set())]
)
def test_select(select, mended):
    """Only the rules that are named are mended, by code or the beginning of one."""
    before = jsonl(*CALL, prompt(4, 3)) + b'{"cut'
    outcome = plan(before, select=select)
    assert {f.code for f in outcome.mended} == mended
    assert {"T401", "B104"} - mended <= set(codes(outcome.after))


def test_a_record_that_goes_leaves_no_gap():
    """What hung from a record that is cut hangs from its parent, in the same step."""
    before = [*talk(2), result(3, 2, "x"), prompt(4, 3), prompt(5, 3)]
    made = loads(mend(jsonl(*before), select=("T402",)))
    assert made == [*talk(2), prompt(4, 2), prompt(5, 2)]


LOST = "[Tool result missing due to internal error]"


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (("real", LOST), ["real"]),
        ((LOST, "real"), ["real"]),
        (("real", "real"), ["real"]),
        (("real", "other"), ["real", "other"]),
    ],
)
def test_of_two_results_the_real_one_stays(words, left):
    """A placeholder or a copy goes; of two real results none goes without the flag."""
    made = loads(mend(jsonl(asks("a"), *(tells("a", w) for w in words), said("user"))))
    assert [r["content"] for r in made if r["role"] == "tool"] == left


def test_an_id_on_two_records():
    """A copy in another place gets a new id; where both say different things, none is touched."""
    again = [*talk(2), prompt(3, 2), answer(2, 3), prompt(5, 2)]
    made = loads(mend(jsonl(*again)))
    assert made[3]["uuid"] == made[4]["parentUuid"] != uid(2)
    assert made[:3] == again[:3]
    other = jsonl(*talk(2), prompt(3, 2), answer(2, 1, use("a")), result(5, 2, "a"))
    assert mend(other) == other
    assert codes(look(mend(other, unsafe=True))) == ["G506"]


def test_unanswered_calls_can_be_dropped():
    """Asked so, the call goes and the chain is closed; words beside it stay."""
    drop = Options(drop_unanswered=True)
    made = loads(mend(jsonl(*CALL, prompt(3, 2)), options=drop))
    assert made == [CALL[0], prompt(3, 1)]
    words = {"type": "text", "text": "I look"}
    made = loads(mend(jsonl(CALL[0], answer(2, 1, words, use("a")), prompt(3, 2)), options=drop))
    assert blocks(made[1]) == [words]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param([*talk(2), *talk(2)], talk(2), id="doubled"),
        pytest.param([*talk(2), prompt(4, 3)], [*talk(2), prompt(4, 2)], id="dangling"),
        pytest.param([*talk(2), prompt(3, 3)], [*talk(2), prompt(3, 2)], id="cycle"),
        pytest.param([*talk(3), talk(2)[1], answer(4, 3)], talk(4), id="copy"),
        pytest.param(
            [*talk(2), result(3, 2, "x"), prompt(4, 3)], [*talk(2), prompt(4, 2)], id="orphan"
        ),
        pytest.param(
            [*talk(3), answer(4, 3, {"type": "text", "text": ""}), prompt(5, 4)],
            [*talk(3), prompt(5, 3)],
            id="empty",
        ),
        pytest.param(
            [asks("a"), said("user"), tells("a")],
            [asks("a"), tells("a"), said("user")],
            id="displaced",
        ),
        pytest.param(
            [asks("a"), tells("a"), tells("a"), said("user")],
            [asks("a"), tells("a"), said("user")],
            id="result-twice",
        ),
        pytest.param(
            [meta(), output("a"), runs("a")], [meta(), runs("a"), output("a")], id="output-first"
        ),
        pytest.param([says("user", "x"), meta()], [meta(), says("user", "x")], id="header-behind"),
        pytest.param(
            [asks("a", arguments="{"), tells("a")], [asks("a"), tells("a")], id="arguments"
        ),
    ],
)
def test_right_records_are_left(before, after):
    """Each fault is mended to exactly these records."""
    assert loads(mend(jsonl(*before))) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            [*talk(2), boundary(3, 2), prompt(4, 3)], [*talk(2), prompt(4, 2)], id="no-summary"
        ),
        pytest.param([meta(), says("user", "x", 1), runs("a"), output("a")], None, id="ordinal"),
        pytest.param(
            [asks("a"), tells("a"), tells("a", "other"), said("user")],
            [asks("a"), tells("a"), said("user")],
            id="two-answers",
        ),
    ],
)
def test_right_records_are_left_by_a_guess(before, after):
    """With the flag, more is mended, and nothing is left of it."""
    made = mend(jsonl(*before), unsafe=True)
    assert codes(look(made)) == []
    if after is not None:
        assert loads(made) == after


def test_a_result_hangs_from_its_own_call():
    """A result whose parent is lost hangs from its call, not from the record before."""
    before = [*TURN, result(4, 3, "b"), result(5, 99, "a"), prompt(6, 5)]
    assert loads(mend(jsonl(*before))) == [*before[:4], result(5, 2, "a"), before[5]]


def test_a_lost_first_message_is_named():
    """A talk that begins with an answer gets a message under the id that is missing."""
    before = [answer(2, 1), prompt(3, 2)]
    first, *others = loads(mend(jsonl(*before)))
    assert others == before
    assert (first["uuid"], first["parentUuid"], first["type"]) == (uid(1), None, "user")
    assert "lost" in first["message"]["content"]


@pytest.mark.parametrize(
    "bad",
    [{"type": "thinking", "thinking": "b", "signature": "[REDACTED]"}, None],
    ids=["C602", "C601"],
)
def test_what_hangs_from_a_record_that_goes_hangs_from_its_parent(bad):
    """Not from the record before it in the file, which may be of another branch."""
    refused = answer(4, 1, bad or {"type": "text", "text": ""})
    records = [prompt(1, None), prompt(2, 1), answer(3, 2), refused, prompt(5, 2), answer(6, 4)]
    kept = loads(mend(jsonl(*records)))
    assert kept == [*records[:3], records[4], answer(6, 1)]


def test_thinking_goes_whole_and_the_rest_stays():
    """A block whose signature is none is cut; the signed one keeps its bytes."""
    good = {"type": "thinking", "thinking": "a", "signature": "bWFkZSB1cA=="}
    bad = {"type": "thinking", "thinking": "b", "signature": "[REDACTED]"}
    words = {"type": "text", "text": "x"}
    before = [prompt(1, None), answer(2, 1, good, bad, words), answer(3, 2, bad), prompt(4, 3)]
    made = loads(mend(jsonl(*before)))
    assert made == [prompt(1, None), answer(2, 1, good, words), prompt(4, 2)]


def test_a_line_of_reasoning_is_cut_whole():
    """Of Codex, the reasoning item goes with its line and no other changes."""
    bad = item("reasoning", encrypted_content="REDACTED", summary=[])
    before = [meta(), says("user", "x"), bad, says("assistant", "y")]
    assert loads(mend(jsonl(*before))) == rest(before, 2)


def test_every_rule_has_a_stage():
    """The first stage names bytes and JSON; the longest name of a rule decides."""
    assert planner._stage("B104") == ("B", "J", "M701")
    assert planner._stage("B116")[0] == "B116"
    assert planner._stage("T401") == ("T401",)
    assert planner._stage("X000") == ()


def test_rules_that_never_rest_are_an_error(monkeypatch):
    """A repair that would go round and round changes nothing and says so."""
    monkeypatch.setattr(planner, "_ROUNDS", 1)
    with pytest.raises(WriteError, match="does not come to rest"):
        plan(jsonl(*CALL, prompt(3, 2)))


def test_nothing_to_do():
    """A sound session has no edit, no mode, and is mended by nothing."""
    outcome = plan(jsonl(*talk(4)))
    assert (bool(outcome.edits), outcome.mode, outcome.mended) == (False, None, ())
    assert outcome.before.findings == outcome.after.findings == ()
    assert outcome.session.id == SESSION


def test_a_list_of_records_waits_for_a_flag():
    """Records in a list in the middle of a file are freed by --unsafe alone; other lists go."""
    first, second, third = said("user"), said("assistant"), said("user")
    data = jsonl(first) + b"[" + dump(second) + b", " + dump(third) + b"]\n[1, 2]\n"
    assert mend(data) == data.replace(b"[1, 2]\n", b"")
    assert mend(data, unsafe=True) == jsonl(first, second, third)


def test_another_notation_is_left_alone():
    """An object in Python's notation is reported and keeps its bytes, whatever the flag."""
    data = jsonl(said("user")) + b"{'role': 'user', 'content': 'x'}\n" + jsonl(said("assistant"))
    assert mend(data, unsafe=True) == data


@pytest.mark.parametrize(
    ("data", "left"),
    [
        pytest.param(
            jsonl(CALL[0])
            + b"{'uuid': '"
            + str(uid(2)).encode()
            + b"', 'type': 'user'}\n"
            + jsonl(prompt(3, 2)),
            ["J206", "G501"],
            id="parent",
        ),
        pytest.param(
            jsonl(meta())
            + b"{'type': 'response_item', 'payload': {'call_id': 'call_a'}}\n"
            + jsonl(output("call_a")),
            ["J206", "T402"],
            id="call",
        ),
        pytest.param(
            jsonl(asks("a")) + b"{'role': 'tool', 'tool_call_id': 'a', 'content': 'x'}\n",
            ["T401", "J206"],
            id="result",
        ),
    ],
)
def test_what_an_unread_line_holds_is_not_replaced(data, left):
    """A line in another notation stays; what hangs from it waits until it is mended."""
    report = look(data)
    assert codes(report) == left
    held = next(f for f in report.findings if f.code != "J206")
    assert (held.severity.value, held.cause[:4]) == ("information", "J206")
    assert mend(data) == data


def test_results_that_nobody_can_tell_apart_are_left():
    """Two results without ids behind two calls: nothing goes, and no answer is made up."""
    nameless = {"role": "tool", "content": "x"}
    data = jsonl(asks("a", "b"), nameless, nameless, said("user"))
    assert codes(look(data)) == ["T401", "T401", "T409", "T409"]
    assert mend(data) == data
    one = jsonl(asks("a", "b"), nameless, tells("a"), said("user"))
    assert loads(mend(one))[1]["tool_call_id"] == "b"


def test_tool_messages_of_an_agent_that_keeps_no_calls():
    """Where no result names a call and the file holds none, nothing is taken out."""
    data = jsonl(said("user"), said("assistant"), {"role": "tool", "content": "x"}, said("user"))
    report = look(data)
    assert {f.severity.value for f in report.findings if f.code == "T402"} == {"information"}
    assert mend(data) == data


def test_a_new_id_changes_the_id_alone():
    """Neither a name nor a result that reads like the old id is touched."""
    made = loads(mend(jsonl(asks("1", "1"), tells("1", "1"), tells("1", "1"))))
    assert [r["content"] for r in made[1:]] == ["1", "1"]
    calls = made[0]["tool_calls"]
    assert [c["id"] for c in calls] == [r["tool_call_id"] for r in made[1:]]
    assert len({c["id"] for c in calls}) == 2
    twice = [use("Bash", "Bash"), use("Bash", "Bash", x="y")]
    made = loads(mend(jsonl(prompt(1, None), answer(2, 1, *twice), result(3, 2, "Bash"))))
    assert {b["name"] for b in blocks(made[1])} == {"Bash"}


def test_a_codex_call_that_stands_twice():
    """The API wants each id once: a copy far above its call is cut, another call is renamed."""
    right = [meta(), says("user", "x"), says("assistant", "y"), runs("a"), output("a")]
    assert loads(mend(jsonl(*right[:2], runs("a"), *right[2:]))) == right
    other = runs("a", arguments='{"cmd":"pwd"}')
    made = [r["payload"].get("call_id") for r in loads(mend(jsonl(*right[:2], other, *right[2:])))]
    assert made[-2:] == ["a", "a"]
    assert made[2] == made[3] != "a"


def test_a_message_in_parts_is_not_told_twice():
    """An event joins the texts of an item in its own way."""
    parts = [{"type": "output_text", "text": t} for t in ("A", "B")]
    told = item("message", role="assistant", content=parts)
    assert codes(look(jsonl(meta(), told, event("agent_message", message="AB")))) == []


def test_a_fork_by_reference_may_answer_its_parent():
    """The call of a result may stand in the thread that a Codex fork goes on from."""
    base = {"thread_id": THREAD, "end_ordinal_exclusive": 2, "end_byte_offset": 300}
    report = look(jsonl(meta(history_base=base), output("a")))
    assert [(f.code, f.severity.value) for f in report.findings] == [("T402", "information")]


def test_a_result_that_came_too_early_moves_alone():
    """What hangs from a result that stands before its call hangs where it should."""
    right = [*CALL, result(3, 2, "a"), answer(4, 3, use("b")), result(5, 4, "b"), prompt(6, 5)]
    early = [*right[:2], right[4], *right[2:4], right[5]]
    assert loads(mend(jsonl(*early))) == right


def test_the_id_that_a_record_lost_to_another():
    """Of two records with one id, that before a record whose parent is missing gets its id."""
    wrong = [*talk(3)[:2], prompt(5, 2), *talk(6, 4)]
    wrong[3]["parentUuid"] = uid(3)
    assert loads(mend(jsonl(*wrong))) == [*talk(3)[:2], prompt(5, 2) | {"uuid": uid(3)}, *wrong[3:]]


def test_a_doubled_file_with_one_wrong_link():
    """Of a record that stands twice with two parents, the one that follows on is right."""
    wrong = [*talk(4), prompt(5, 2), answer(6, 5)]
    assert loads(mend(jsonl(*talk(6), *wrong))) == talk(6)
    assert loads(mend(jsonl(*wrong, *talk(6)))) == talk(6)


def test_a_late_result_in_a_tree_comes_back_to_its_call():
    """It moves behind its call in file and tree, and what hung from it closes the gap."""
    late = [
        prompt(1, None),
        answer(2, 1, use("t1")),
        answer(3, 2),
        result(4, 3, "t1"),
        prompt(5, 4),
    ]
    mended = loads(mend(jsonl(*late)))
    assert [r["uuid"] for r in mended] == [uid(n) for n in (1, 2, 4, 3, 5)]
    parents = {r["uuid"]: r["parentUuid"] for r in mended}
    assert parents[uid(4)] == uid(2)
    assert parents[uid(5)] == uid(3)


def test_arguments_of_the_wrong_type_keep_what_they_say():
    """An object where JSON text is wanted is written as text; nothing is thrown away."""
    call = asks("c1")
    call["tool_calls"][0]["function"]["arguments"] = {"lamp": "north"}
    (mended,) = [r for r in loads(mend(jsonl(call, tells("c1")))) if "tool_calls" in r]
    assert mended["tool_calls"][0]["function"]["arguments"] == '{"lamp":"north"}'


def test_a_real_result_behind_a_placeholder_takes_its_place():
    """The placeholder goes, the result that came late moves to its call, and all comes to rest."""
    late = [
        prompt(1, None),
        answer(2, 1, use("t1")),
        result(3, 2, "t1", "[Tool call interrupted: the session ended]"),
        answer(4, 3),
        prompt(5, 4),
        result(6, 2, "t1", "it burns"),
    ]
    mended = mend(jsonl(*late))
    assert [r["uuid"] for r in loads(mended)] == [uid(n) for n in (1, 2, 6, 4, 5)]
    assert mend(mended) == mended


TWO = says_with(use("a"), use("b"))


def made_up(block):
    """Whether a result is one that a repair wrote, for a call whose outcome is unknown."""
    return block["is_error"] and "[sesstool]" in block["content"] and "unknown" in block["content"]


def test_a_missing_result_joins_its_siblings():
    """In Anthropic messages an answer stands beside the other results, before the words."""
    before = [said("user"), TWO, said("user", [told("b"), words("go on")]), says_with(words("x"))]
    made = loads(mend(jsonl(*before)))
    assert rest(made, 2) == rest(before, 2)
    first, second, text = made[2]["content"]
    assert (first, text) == (told("b"), words("go on"))
    assert second["tool_use_id"] == "a"
    assert made_up(second)


def test_missing_results_share_one_message():
    """Where no result is there, the answers of a turn stand together in one new message."""
    before = [said("user"), TWO, said("assistant"), said("user", "next")]
    made = loads(mend(jsonl(*before)))
    assert rest(made, 2) == before
    assert made[2]["role"] == "user"
    assert [b["tool_use_id"] for b in made[2]["content"]] == ["a", "b"]
    assert all(map(made_up, made[2]["content"]))


@pytest.mark.parametrize(
    ("found", "ids"),
    [("b", [["a"], ["a"], ["b"], ["b"]]), ("a", [["a"], ["b"], ["a", "b"]])],
)
def test_a_lost_message_is_answered_behind_its_calls(found, ids):
    """Calls of messages before the first that is answered get a message of their own."""
    calls = [says_with(use("a")), says_with(use("b"))]
    made = loads(mend(jsonl(said("user"), *calls, said("user", [told(found)]), said("assistant"))))
    names = [[b.get("id") or b["tool_use_id"] for b in m["content"]] for m in made[1:-1]]
    assert names == ids


def test_a_result_with_the_id_of_no_call():
    """It belongs to the only call left where one message answers the turn, or damage shows."""
    calls = says_with(use("a"), use("c"))
    made = mend(jsonl(said("user"), calls, said("user", [told("a"), told("b", "real")])))
    assert made == jsonl(said("user"), calls, said("user", [told("a"), told("c", "real")]))
    right = [asks("call_lamp"), tells("call_lamp", "real"), said("user")]
    assert loads(mend(jsonl(right[0], tells("call_l\ufffdmp", "real"), right[2]))) == right


def test_halves_of_two_turns_are_no_pair():
    """A result and the call behind it are lost: what is left is not taken for one."""
    made = loads(mend(jsonl(said("user"), asks("call_1"), tells("call_2", "two"), said("user"))))
    assert [r.get("tool_call_id") for r in made] == [None, None, "call_1", None]
    assert "two" not in made[2]["content"]


def test_the_second_of_two_calls_gets_the_id_of_the_only_result_left():
    """No result is taken out, and none is made up."""
    results = said("user", [told("a"), told("b", "real")])
    made = mend(jsonl(said("user"), says_with(use("a"), use("a")), results))
    assert made == jsonl(said("user"), says_with(use("a"), use("b")), results)


def test_results_move_in_front_of_the_words():
    """The blocks change places and keep their bytes, and so does all between them."""
    spaced = (
        b'{"role":"user", "content":[ {"type":"text","text":"x"} ,\t{"text":"y","type":"text"}, '
    )
    result = b'{ "type":"tool_result","tool_use_id":"a","n":1.0e3 }'
    before = jsonl(said("user"), says_with(use("a")), spaced + result + b" ]}")
    line = mend(before).split(b"\n")[2]
    assert line == (
        b'{"role":"user", "content":[ ' + result + b' ,\t{"type":"text","text":"x"}, '
        b'{"text":"y","type":"text"} ]}'
    )


def test_a_late_result_moves_as_a_line_or_as_a_block():
    """A message of late results moves as it is; of others the block goes to its siblings."""
    head, late = (
        [said("user"), TWO],
        b'{"role":"user","content":[ %s,%s ]}'
        % (
            dump(told("a")),
            dump(told("b")),
        ),
    )
    before = jsonl(*head, said("user", "wait"), late)
    assert mend(before) == jsonl(*head, late, said("user", "wait"))
    mixed = [
        said("user", [told("a")]),
        says_with(words("x")),
        said("user", [told("b"), words("y")]),
    ]
    made = loads(mend(jsonl(*head, *mixed)))
    assert made[2:] == [said("user", [told("a"), told("b")]), mixed[1], said("user", [words("y")])]


def test_a_result_of_the_model_moves_to_the_user():
    """A result in the model's own message goes into a message of the user behind it."""
    before = [said("user"), says_with(use("a"), told("a"), words("x")), said("user", "y")]
    made = loads(mend(jsonl(*before)))
    assert made[1:3] == [says_with(use("a"), words("x")), said("user", [told("a")])]
    assert made[3] == before[2]


@pytest.mark.parametrize(
    ("turn", "key"),
    [
        (lambda i: [says_with(use(i)), said("user", [told(i)])], "tool_use_id"),
        (lambda i: [bare_call(i), bare_output(i)], "call_id"),
    ],
)
def test_an_id_that_may_stand_once_is_renamed_with_its_result(turn, key):
    """The later call and its result get one new name; the first ones keep theirs."""
    before = [said("user"), *turn("call_0"), said("user", "again"), *turn("call_0")]
    made = loads(mend(jsonl(*before)))
    assert made[:4] == before[:4]
    call, answer = (dump(r).decode() for r in made[4:])
    (name,) = {b[key] for b in (made[5].get("content") or [made[5]])}
    assert name.startswith("call_0_")
    assert call.count(name) == answer.count(name) == 1


def test_an_id_that_is_not_taken_gets_one_name_everywhere():
    """A call and its result are mended apart, and still belong together."""
    odd = "functions.read:0"
    made = loads(mend(jsonl(said("user"), says_with(use(odd)), said("user", [told(odd)]))))
    name = made[1]["content"][0]["id"]
    assert name == made[2]["content"][0]["tool_use_id"]
    assert name.startswith("functions_read_0_")


def test_names_of_tools():
    """The end of a long name is cut; odd characters are replaced with the flag only."""
    long = jsonl(said("user"), says_with(use("a", "n" * 300)), said("user", [told("a")]))
    assert loads(mend(long))[1]["content"][0]["name"] == "n" * 200
    odd = jsonl(asks("a"), tells("a")).replace(b"look", b"fs.look")
    assert mend(odd) == odd
    assert loads(mend(odd, unsafe=True))[0]["tool_calls"][0]["function"]["name"] == "fs_look"


def test_ids_of_items_are_cut():
    """An item without a fitting id of its own is sound; a second reference goes whole."""
    sound = [bare_call("a", id="fc_1"), bare_output("a"), bare("item_reference", id="msg_1")]
    wrong = said("assistant", type="message", id="item_9")
    made = loads(mend(jsonl(said("user"), *sound, wrong, sound[2])))
    assert made == [said("user"), *sound, said("assistant", type="message")]
    plain = bare("reasoning", id="item_1", summary=[])
    (finding,) = look(jsonl(*sound, plain, said("assistant"))).findings
    assert (finding.code, str(finding.fix.applicability)) == ("C608", "manual")


def test_a_conversation_in_one_record_is_judged_and_left():
    """What a provider refuses in a dataset's conversation is told, and no byte is changed."""
    turn = [says_with(use("a.b")), said("user", [words("x"), told("a.b")])]
    data = jsonl({"system": "s", "messages": [said("user"), *turn, *turn, said("assistant")]})
    found = look(data).findings
    assert sorted({f.code for f in found}) == ["T405", "T410", "T412"]
    assert {str(f.fix.applicability) for f in found} == {"manual"}
    assert mend(data) == data
