"""One record closely: the call, its result, its state and how that is known."""

import pytest

from sesstool.api import inspecting
from sesstool.api.inspecting import Spot
from sesstool.api.viewing import open_view
from sesstool.findings import Finding, Location, Severity
from sesstool.model.effects import Effect
from sesstool.records.jsonspan import locate
from sesstool.records.pretty import pretty
from tests.conftest import answer, dump, jsonl, meta, prompt, result, runs, use

FAILED = {"type": "tool_result", "tool_use_id": "b", "content": "No such file", "is_error": True}
QUEST = [
    prompt(1, None, "Find the silver key."),
    answer(2, 1, use("a", "Bash", command="ls /well"), use("b", "Read", file_path="/well/rope")),
    result(3, 2, "a", "a bucket", timestamp="2026-03-01T06:00:05.500Z"),
    prompt(4, 3, [FAILED]),
    answer(5, 4, use("c", "Bash", command="lift rope")),
    prompt(6, 5, "Stop."),
    answer(7, 6, use("d", "Read", file_path="/well/map")),
]


@pytest.fixture
def seen(tmp_path):
    """Open a session and read it."""

    def look(*records, read=True):
        path = tmp_path / "session.jsonl"
        path.write_bytes(jsonl(*records))
        view = open_view(path)
        views.append(view)
        if read:
            for _ in view.read():
                pass
        return view, [0, *(n + 1 for n, byte in enumerate(path.read_bytes()) if byte == 10)]

    views = []
    yield look
    for view in views:
        view.close()


def test_a_call_is_told_with_its_result(seen):
    """Both places, how long it took, what it may have changed, where."""
    view, starts = seen(*QUEST)
    found = inspecting.inspect(view, starts[1])
    assert found.call == Spot(starts[1], 2, "/message/content/0")
    assert found.result == Spot(starts[2], 3, "/message/content/0")
    assert (found.state, found.why) == ("completed", "its result is there")
    assert found.seconds == 3.5
    assert found.effects == ()
    assert found.asked.text == "ls /well"
    assert found.answered.text == "a bucket"
    assert found.cwd == QUEST[0]["cwd"]


def test_of_two_calls_in_a_record_the_pointer_tells_which(seen):
    """The second has failed."""
    view, starts = seen(*QUEST)
    found = inspecting.inspect(view, starts[1], "/message/content/1")
    assert (found.asked.name, found.state) == ("Read", "failed")
    assert found.why == "its result tells of a failure"
    assert found.result.start == starts[3]


def test_a_result_leads_to_its_call(seen):
    """Looked at from the result all is told of the call as well."""
    view, starts = seen(*QUEST)
    found = inspecting.inspect(view, starts[3])
    assert (found.passage.kind, found.call) == ("result", Spot(starts[1], 2, "/message/content/1"))
    assert found.asked.name == "Read"


def test_a_result_without_a_call_says_so(seen):
    """Nothing is guessed."""
    view, starts = seen(prompt(1, None), result(2, 1, "z"))
    found = inspecting.inspect(view, starts[1])
    assert (found.call, found.why) == (None, "no call of this id stands above it")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (5, "no result; Bash may have changed something before the session was interrupted"),
        (7, "no result; Read changes nothing, so that it can be asked for again"),
    ],
)
def test_an_unanswered_call_is_uncertain_and_why(seen, line, why):
    """What the tool can do decides what is to be feared."""
    view, starts = seen(*QUEST)
    found = inspecting.inspect(view, starts[line - 1])
    assert (found.state, found.why, found.result) == ("uncertain", why, None)


def test_what_an_event_proves_is_the_reason(seen):
    """Codex keeps the output of a command in an event as well."""
    event = {
        "timestamp": "2026-03-01T06:00:00.000Z",
        "type": "event_msg",
        "payload": {
            "type": "exec_command_end",
            "call_id": "c1",
            "exit_code": 0,
            "aggregated_output": "lit",
            "formatted_output": "lit",
        },
    }
    view, starts = seen(meta(), runs("c1"), event)
    found = inspecting.inspect(view, starts[1])
    assert found.state == "completed"
    assert found.why == "no result; its output stands elsewhere in the file"


def test_what_a_call_may_have_changed(seen):
    """A file that is written, a command that does more than look."""
    writes = use("a", "Write", file_path="/srv/map", content="x")
    view, starts = seen(prompt(1, None), answer(2, 1, writes, use("b", "Bash", command="rm map")))
    found = inspecting.inspect(view, starts[1])
    assert found.effects == (Effect("file", "/srv/map"),)
    other = inspecting.inspect(view, starts[1], "/message/content/1")
    assert other.effects == (Effect("command", "rm map"),)


def test_before_the_session_is_read_nothing_is_claimed(seen):
    """State and result are then unknown."""
    view, starts = seen(*QUEST, read=False)
    found = inspecting.inspect(view, starts[4])
    assert (found.state, found.why) == ("", "still reading the session")
    assert inspecting.position(view, found.call) == (0, 0)


def test_a_record_that_is_no_call(seen):
    """A prompt is told as what it says, bytes that are no record with their fault."""
    view, starts = seen(*QUEST, b'{"torn')
    assert inspecting.inspect(view, starts[0]).passage.text == "Find the silver key."
    torn = inspecting.inspect(view, starts[7])
    assert torn.passage is None
    assert torn.fault == "6 bytes are no record"


def test_calls_are_numbered_and_follow_each_other(seen):
    """Two calls of one record are two steps."""
    view, starts = seen(*QUEST)
    spot = inspecting.inspect(view, starts[1]).call
    way = []
    while spot is not None:
        way.append((spot.line, spot.pointer[-1], inspecting.position(view, spot)))
        spot = inspecting.step(view, spot.start, spot.pointer, 1)
    assert way == [(2, "0", (1, 4)), (2, "1", (2, 4)), (5, "0", (3, 4)), (7, "0", (4, 4))]
    back = inspecting.step(view, starts[4], "/message/content/0", -1)
    assert (back.line, back.pointer) == (2, "/message/content/1")
    assert inspecting.step(view, starts[1], "/message/content/0", -1) is None
    # From a record without a call the nearest one counts.
    assert inspecting.step(view, starts[2], "", 1).line == 5


def test_the_calls_of_one_tool(seen):
    """With what they were given, their states and how long they took."""
    view, starts = seen(*QUEST)
    found = [like for like in inspecting.alike(view, starts[4], "Bash") if like]
    told = sorted((like.spot.line, like.words, like.state, like.seconds) for like in found)
    assert told == [(2, "ls /well", "completed", 3.5), (5, "lift rope", "uncertain", None)]


def test_the_findings_of_a_record(seen):
    """Those in its line, and no others."""
    view, starts = seen(*QUEST)

    def finding(line, start):
        return Finding("T401", "x", Severity.ERROR, "m", Location("p", line, 1, start, start + 1))

    here = finding(5, starts[4] + 3)
    others = [finding(4, starts[4] - 2), finding(6, starts[5]), finding(0, 0)]
    assert inspecting.at_record(view, starts[4], [*others, here]) == [here]


RECORD = {"b": [1, {"x": [], "y": {}}, "a" * 70], "a": {"k": 'q"\\', "n": None}, "é": 1.50}


def lines(data, pointer=""):
    """Each line as text, with > before what is meant."""
    for line in pretty(data, pointer):
        key = data[slice(*line.key)].decode() + ": " if line.key[1] else ""
        text = key + data[slice(*line.value)].decode() + "," * line.comma
        yield (">" if line.meant else " ") + "  " * line.depth + text


def test_json_in_lines_keeps_every_byte_in_order():
    """Keys stand in their order, twice where they do, numbers as they are written."""
    data = b'{"b":1.50,"a":{"k":[1e400,12345678901234567890],"long":"%s"},"b":[]}' % (b"x" * 70)
    told = list(lines(data))
    assert told == [
        " {",
        '   "b": 1.50,',
        '   "a": {',
        '     "k": [1e400,12345678901234567890],',
        f'     "long": "{"x" * 70}"',
        "   },",
        '   "b": []',
        " }",
    ]


def test_the_value_at_a_pointer_is_meant():
    """It alone, and its way to it is in lines of its own, however short it is."""
    data = dump({"c": [{"t": 1}, {"u": {"v": 2}}]})
    assert list(lines(data, "/c/1")) == [
        " {",
        '   "c": [',
        '     {"t":1},',
        '>    {"u":{"v":2}}',
        "   ]",
        " }",
    ]


def test_what_stands_behind_the_value_is_not_meant():
    """Nor what holds it."""
    data = dump({"c": [{"t": 1}, 2], "d": 3})
    meant = [line[0] for line in lines(data, "/c/0")]
    assert "".join(meant) == "  >    "


def test_every_value_of_a_record_is_in_its_lines():
    """Put together again they are the record."""
    data = dump(RECORD)
    text = "".join(line.strip(" >") for line in lines(data)).replace('": ', '":')
    assert text == data.decode()
    assert locate(data, "/a/k") is not None


def test_deep_nesting_ends_in_one_line():
    """Depth costs neither time nor a traceback."""
    data = b"[" * 5000 + b"]" * 5000
    told = list(pretty(data))
    assert len(told) == 2 * 40 + 1
    assert max(line.depth for line in told) == 40
