"""The state of a session's memory: in parts, between runs, of files that grow or are rewritten."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sesstool.api.remembering import Remembered, memory
from sesstool.cli import main
from sesstool.cli import memory as command
from sesstool.formats.schemas import schema_text
from sesstool.model.session import open_session
from sesstool.store import keeping
from sesstool.store.lineage import IDS, TURNS, Lineage
from sesstool.store.memory import SessionMemory
from tests.conftest import (
    Memory,
    answer,
    call_of,
    event,
    head,
    jsonl,
    loads,
    meta,
    output,
    prompt,
    read,
    result,
    runs,
    said,
    says,
    speaks,
    use,
)
from tests.seeds import SEEDS
from tests.test_formats_whole import changed
from tests.test_memory import SAMPLE, chat, memory_of
from tests.test_output_schemas import judge, undescribed

CANARY = "Zq7canary"


def state(found):
    """All that a memory knows."""
    return found.as_dict(), found.saved()


def fresh(path):
    """The memory of a file, drawn from all of it."""
    return state(memory(path, cache=False))


def kept(path):
    """The file of the cache, which must be there."""
    cache = keeping.cache_path(path)
    assert cache.is_file()
    return cache


@st.composite
def sessions(draw):
    """A session of some format with turns, calls, rewinds and damage."""
    maker = draw(st.sampled_from([claude, pi, codex]))
    return maker(draw)


def steps(draw):
    """For each turn how far back it hangs, its tool, and how its call ends."""
    step = st.tuples(
        st.sampled_from([0, 0, 0, 1, 2, 5]),
        st.sampled_from(["Write", "Bash", "TodoWrite"]),
        st.sampled_from(["ok", "Error: wet", None]),
    )
    return draw(st.lists(step, min_size=1, max_size=12))


GIVEN = {
    "Write": {"file_path": "a"},
    "Bash": {"command": "pytest"},
    "TodoWrite": {"todos": [{"content": "paint"}]},
}


def claude(draw):
    rows, ends, n = [], [], 0
    for back, tool, told in steps(draw):
        parent = ends[-1 - back] if back < len(ends) else None
        rows += [
            prompt(n + 1, parent, f"prompt {n}"),
            answer(n + 2, n + 1, use(f"u{n}", tool, **GIVEN[tool])),
        ]
        rows += [result(n + 3, n + 2, f"u{n}", told)] if told else []
        rows.append(answer(n + 4, n + 3 if told else n + 2, {"type": "text", "text": f"said {n}"}))
        ends.append(n + 4)
        n += 4
    return "session.jsonl", rows


def pi(draw):
    rows, every, n = [head()], [None], 0
    for back, tool, told in steps(draw):
        parent = every[-1 - back] if back < len(every) else None
        named = {"toolCallId": f"u{n}", "toolName": "bash", "isError": told != "ok"}
        rows.append(speaks(n + 1, parent, "user", f"prompt {n}"))
        rows.append(speaks(n + 2, n + 1, "assistant", call_of(f"u{n}", GIVEN[tool]), f"said {n}"))
        rows += [speaks(n + 3, n + 2, "toolResult", told, **named)] if told else []
        every += [n + 1, n + 2, *([n + 3] if told else [])]
        n += 3
    return "session.jsonl", rows


def codex(draw):
    rows = [meta()]
    for n, (back, tool, told) in enumerate(steps(draw)):
        rows += [event("thread_rolled_back", num_turns=back)] if back else []
        given_ = json.dumps(GIVEN[tool])
        rows += [says("user", f"prompt {n}"), runs(f"u{n}", name=tool, arguments=given_)]
        rows += [output(f"u{n}", told)] if told else []
        rows.append(says("assistant", f"said {n}"))
    return "session.jsonl", rows


@given(sessions(), st.data())
def test_in_parts_as_in_one_go(tmp_path_factory, made, data):
    """Wherever a file is cut while it grows, by one reader, by the next run, or by the store."""
    name, rows = made
    path = tmp_path_factory.mktemp("grown") / name
    whole = jsonl(*rows)
    sizes = data.draw(st.lists(st.integers(1, len(whole)), max_size=4).map(sorted))
    path.write_bytes(b"")
    follower = None
    for size in [*sizes, len(whole)]:
        with path.open("r+b") as file:  # it grows in its place
            file.seek(path.stat().st_size)
            file.write(whole[path.stat().st_size : size])
        if b"\n" not in whole[:size]:
            continue  # too little to tell what it is
        follower = follower or Remembered(path, cache=False)
        follower.update()
        expected = fresh(path)
        assert state(follower.memory) == expected
        assert state(memory(path)) == expected
    told = memory_of(*rows)
    assert state(told)[0] == fresh(path)[0]


@pytest.mark.parametrize("name", SEEDS)
def test_every_format_is_taken_up_at_every_record(name):
    """The saved state and the records behind it give what all the records give."""
    session = open_session(Memory(SEEDS[name], name))
    pairs = [(r, m) for r, m in session.again() if m is not None]
    whole = SessionMemory(session.format)
    for record, meaning in pairs:
        whole.see(record.value, meaning, record.start, record.end, record.line)
    source = Memory(SEEDS[name], name)
    for cut in range(len(pairs) + 1):
        found = SessionMemory(session.format)
        for record, meaning in pairs[:cut]:
            found.see(record.value, meaning, record.start, record.end, record.line)
        saved = json.loads(json.dumps(found.saved()))
        taken = SessionMemory.restored(
            session.format, saved, lambda place: keeping.record_at(source, place)
        )
        assert state(taken) == state(found)
        for record, meaning in pairs[cut:]:
            taken.see(record.value, meaning, record.start, record.end, record.line)
        assert state(taken) == state(whole)


@given(st.sampled_from([claude, pi]), st.data())
def test_the_way_that_goes_on_is_that_of_the_tree(maker, data):
    """What was not taken back is what a resume reaches."""
    _, rows = maker(data.draw)
    session = read(jsonl(*rows))
    found = memory_of(*rows)
    graph = session.graph
    for kind in ("goal", "said"):
        for item in found.items[kind]:
            row = graph.row_at(item.start)
            assert found.lineage.is_live(item.turn, item.start) == bool(graph.live[row])


@given(st.data())
def test_a_rollback_is_that_of_the_session(data):
    """What was taken back is the same as elsewhere."""
    _, rows = codex(data.draw)
    session = read(jsonl(*rows))
    found = memory_of(*rows)
    for kind in ("goal", "said"):
        for item in found.items[kind]:
            live = found.lineage.is_live(item.turn, item.start)
            assert live == (session.taken_back(item.start) == "")


def test_turns_that_are_forgotten_lose_no_item():
    """A goal of the first turn stays the first, and a rewind behind far turns is still one."""
    rows, n = [], 0
    for n in range(0, 3 * (TURNS + 50), 3):
        rows += [
            prompt(n + 1, n or None, f"prompt {n}"),
            answer(n + 2, n + 1, use(f"u{n}", "Write", file_path=f"f{n}")),
        ]
        rows.append(result(n + 3, n + 2, f"u{n}"))
    found = memory_of(*rows)
    told = found.as_dict()
    assert len(found.lineage.turns) == TURNS
    assert told["first_goal"] == {"text": "prompt 0", "line": 1}
    assert len(told["done"]) + told["left_out"]["done"] == TURNS + 50
    back = n + 3 - 3 * 40  # 40 turns back
    again = memory_of(*rows, prompt(n + 4, back, "another way")).as_dict()
    assert len(again["done"]) + again["left_out"]["done"] == TURNS + 10
    assert again["taken_back"] == 40


def test_ids_are_forgotten_and_prompts_found_by_what_they_hang_from():
    """A prompt that hangs from where a known one hangs takes that one's place."""
    rows = [prompt(1, None, "one"), answer(2, 1), prompt(3, 2, "two")]
    rows += [answer(n, n - 1) for n in range(4, IDS + 10)]
    found = memory_of(*rows, prompt(IDS + 10, 2, "three")).as_dict()
    assert (found["goal"]["text"], found["first_goal"]["text"]) == ("three", "one")
    assert memory_of(*rows).as_dict()["goal"]["text"] == "two"


# Between runs.


@pytest.fixture
def session(tmp_path):
    path = tmp_path / "talk.jsonl"
    path.write_bytes(jsonl(*SAMPLE))
    return path


def notes(path):
    """What a run says of the cache, and what it draws."""
    said_ = []
    found = memory(path, note=said_.append)
    return said_, state(found)


def test_the_next_run_reads_only_what_is_new(session, monkeypatch):
    """The records before are not decoded again, but for those that items are drawn from."""
    session.write_bytes(jsonl(*SAMPLE[:1], *[said("assistant", f"word {n}") for n in range(500)]))
    memory(session)
    with session.open("ab") as file:
        file.write(jsonl(*SAMPLE[1:]))
    seen = []
    see = SessionMemory.see

    def counted(*given_):
        seen.append(given_[-1])
        see(*given_)

    monkeypatch.setattr(SessionMemory, "see", counted)
    found = memory(session)
    assert seen == list(range(501, 501 + len(SAMPLE)))
    monkeypatch.undo()
    assert state(found) == fresh(session)


def test_the_cache_is_private_and_holds_no_text(tmp_path):
    """Not a word of the session, and no id."""
    path = tmp_path / "talk.jsonl"
    arguments = {"file_path": CANARY, "command": CANARY}
    rows = chat(CANARY, (CANARY, arguments, CANARY), ("Bash", arguments, f"Error: {CANARY}"))
    rows += chat(CANARY, ("Bash", {"command": f"pytest {CANARY}"}, CANARY), (CANARY, {}, None))
    rows[-1]["tool_calls"][0]["id"] = CANARY
    path.write_bytes(jsonl(*rows, said("assistant", CANARY), said("user", CANARY)))
    memory(path)
    cache = kept(path)
    assert CANARY.encode() not in cache.read_bytes()
    assert (cache.stat().st_mode & 0o777, cache.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_record_that_may_still_grow_is_read_again(session):
    """What is kept ends before the last line."""
    whole = session.read_bytes()
    memory(session)
    assert json.loads(kept(session).read_bytes())["reached"][0] == whole[:-1].rindex(b"\n") + 1


def rewritten(path):
    """Another file takes the place of the session, with the same beginning and end."""
    data = path.read_bytes()
    other = path.with_name("other")
    other.write_bytes(data.replace(b"Mend the pier", b"Mend the lamp"))
    other.replace(path)


def shortened(path):
    with path.open("r+b") as file:
        file.truncate(len(jsonl(*SAMPLE[:3])))


def changed_in_place(path):
    data = path.read_bytes()
    with path.open("r+b") as file:
        file.write(data.replace(b"Mend the pier", b"Mend the lamp"))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (rewritten, "the file was rewritten"),
        (changed_in_place, "the file was rewritten"),
        (shortened, "the file is shorter than it was"),
    ],
)
def test_a_file_that_was_rewritten_is_read_anew(session, change, reason):
    """And that is said."""
    memory(session)
    change(session)
    said_, found = notes(session)
    assert found == fresh(session)
    assert said_ == [f"the memory is drawn anew, what was kept of it is of no use: {reason}"]
    assert notes(session)[0] == []


def damaged(value):
    """Each way to make a saved state wrong."""
    yield from (b"", b"{", b"[]", b"null", b'{"file":1}', b"[" * 5000)
    for odd in (None, -1, 10**30, "x", [], {}, [[]]):
        for copy in changed(value, odd):
            yield json.dumps(copy).encode()


def test_a_damaged_cache_is_of_no_use_and_no_harm(session):
    """Whatever stands in it: no error, and the right memory or none that differs in silence."""
    memory(session)
    right, cache = fresh(session)[0], kept(session)
    value = json.loads(cache.read_bytes())
    refused = 0
    for raw in damaged(value):
        cache.write_bytes(raw)
        said_, found = notes(session)
        refused += bool(said_)
        if said_:
            assert found[0] == right
    assert refused > 100


def test_a_cache_that_cannot_be_written_is_no_fault(session, monkeypatch):
    """It is told to who asks."""
    monkeypatch.setattr(keeping, "make_folder", lambda _: (_ for _ in ()).throw(OSError("full")))
    said_, found = notes(session)
    assert found == fresh(session)
    assert said_ == ["the state of the memory is not kept: full"]


def test_nothing_is_kept_of_what_is_packed(tmp_path):
    """A compressed session is read whole each time."""
    import gzip  # noqa: PLC0415 - for this alone

    path = tmp_path / "talk.jsonl.gz"
    path.write_bytes(gzip.compress(jsonl(*SAMPLE)))
    found = memory(path)
    assert found.as_dict() == memory_of(*SAMPLE).as_dict()
    assert not keeping.cache_path(path).exists()


def test_old_files_of_the_cache_go(session, monkeypatch):
    """Those that nobody asked for the longest."""
    monkeypatch.setattr(keeping, "_MOST", 2)
    folder = keeping.cache_path(session).parent
    folder.mkdir(parents=True)
    for n in range(4):
        (folder / f"{n}.json").write_bytes(b"{}")
        os.utime(folder / f"{n}.json", (n, n))
    memory(session)
    assert sorted(p.name for p in folder.iterdir()) == sorted(["3.json", kept(session).name])


# Hostile input.


@pytest.mark.parametrize("odd", [None, [], {}, [{}], 7, True, "", "\ud800", 10**40], ids=repr)
@pytest.mark.parametrize("name", SEEDS)
def test_any_object_can_be_seen(name, odd):
    """A member of any type in any place stops nothing; what is saved can be taken up."""
    form = read(SEEDS[name], name).format
    found, at, rows = SessionMemory(form), 0, {}
    for line, value in enumerate(loads(SEEDS[name]), 1):
        for copy in [value, *changed(value, odd)]:
            found.see(copy, form.meaning(copy), at, at + 1, line)
            rows[at] = copy
            at += 1
    found.render()
    again = SessionMemory.restored(form, found.saved(), lambda place: rows[place.start])
    assert state(again) == state(found)


@given(st.integers(), st.text(max_size=8), st.text(max_size=8))
def test_steering_of_any_kind_is_taken(number, name, leaf):
    """Numbers of turns and names of leaves that make no sense."""
    rows = [meta(), says("user", name), event("thread_rolled_back", num_turns=number)]
    memory_of(*rows, says("user", leaf)).render()
    last = {"type": "last-prompt", "leafUuid": leaf, "explicit": True}
    memory_of(prompt(1, None, name), last).render()


def test_a_lineage_of_prompts_alone_is_bounded():
    """As are its ids."""
    found = memory_of(*(prompt(n, n - 1 or None, f"p{n}") for n in range(1, 3 * IDS))).lineage
    assert isinstance(found, Lineage)
    assert len(found.saved()["ids"]) == IDS
    assert len(found.turns) == TURNS


# The command.


def run(capsys, *arguments, code=0):
    assert main.run(["memory", *map(str, arguments)]) == code
    return capsys.readouterr()


def test_the_text_has_the_line_of_each_entry(session, capsys):
    """The sections are those of the message."""
    out = run(capsys, session).out
    assert out == (
        f"{session}: openai-chat, 10 records\n"
        "\n"
        "Goal\n"
        "      1  Mend the pier\n"
        "\n"
        "To do (1 of 2 done)\n"
        "      2  paint\n"
        "\n"
        "Calls without a result\n"
        "     10  Bash rm rope: no result; it may have run: check before it is repeated\n"
        "\n"
        "Verification\n"
        "      7  pytest -q: failed: 2 failed\n"
        "\n"
        "Failed\n"
        "      9  Edit lamp.txt: Error: no such text\n"
        "\n"
        "Done\n"
        "      5  Write pier.txt\n"
    )


@pytest.mark.parametrize("name", SEEDS)
def test_the_json_obeys_its_schema(tmp_path, capsys, name):
    """And no member of it is left undescribed."""
    path = tmp_path / name
    path.write_bytes(SEEDS[name])
    value = json.loads(run(capsys, "-f", "json", path).out)
    judge("memory").validate(value)
    schema = json.loads(schema_text("memory"))
    assert undescribed(value, schema, schema) == set()


def test_every_member_is_described(tmp_path, capsys):
    """A session with something in each section."""
    path = tmp_path / "talk.jsonl"
    more = chat("Now all of the lamps", ("ask_user", {"question": "Which?"}, "the old one"), "on")
    path.write_bytes(jsonl(*SAMPLE, *more))
    value = json.loads(run(capsys, "-f", "json", path).out)
    judge("memory").validate(value)
    schema = json.loads(schema_text("memory"))
    assert undescribed(value, schema, schema) == set()
    assert all(
        value[name] for name in ("todos", "open_calls", "checks", "failed", "decided", "done")
    )


def test_verbose_tells_of_the_cache(session, capsys):
    """Without -v nothing is said."""
    run(capsys, session)
    kept(session).write_bytes(b"{")
    assert run(capsys, "-v", session).err == (
        f"{session}: the memory is drawn anew, what was kept of it is of no use: it is damaged\n"
    )
    kept(session).write_bytes(b"{")
    assert run(capsys, session).err == ""


def follow(monkeypatch, *acts):
    """Have --follow find these changes, one a poll, and Ctrl-C behind them."""
    left = iter(acts)

    def sleep(seconds):
        assert seconds == 0.5
        act = next(left, None)
        if act is None:
            raise KeyboardInterrupt
        act()

    monkeypatch.setattr(command.time, "sleep", sleep)


def grow(path, *rows):
    def act():
        with path.open("ab") as file:
            file.write(jsonl(*rows))

    return act


def test_follow_prints_what_changes(session, capsys, monkeypatch):
    """One line of JSON each; a record that changes nothing prints nothing."""
    acts = (
        grow(session, said("user", "Paint the lamps")),
        lambda: None,
        grow(session, said("system", "be quick")),
        grow(session, said("assistant", "Painted, all of them.")),
    )
    follow(monkeypatch, *acts)
    got = run(capsys, "--follow", "-f", "json", session, code=130)
    values = [json.loads(line) for line in got.out.splitlines()]
    assert [value["goal"]["text"] for value in values] == [
        "Mend the pier",
        "Paint the lamps",
        "Paint the lamps",
    ]
    assert [len(value["decided"]) for value in values] == [0, 0, 1]
    assert values[-1]["records"] == 13
    for value in values:
        judge("memory").validate(value)


def test_follow_waits_for_a_line_to_be_whole(session, capsys, monkeypatch):
    """A record that is half written is none, and no damage either."""
    line = jsonl(said("user", "Paint the lamps"))

    def half(part):
        def act():
            with session.open("ab") as file:
                file.write(part)

        return act

    follow(monkeypatch, half(line[:20]), half(line[20:]))
    got = run(capsys, "--follow", session, code=130)
    assert got.out.count("\nGoal\n") == 2
    assert got.out.count("Paint the lamps") == 1


def test_follow_tells_of_files_that_go_and_come(session, capsys, monkeypatch):
    """Rewritten, gone, empty, and back."""
    data = session.read_bytes()

    def emptied():
        session.write_bytes(b"")

    def back():
        session.write_bytes(data)

    follow(
        monkeypatch,
        lambda: rewritten(session),
        session.unlink,
        lambda: None,
        emptied,
        lambda: None,
        back,
    )
    got = run(capsys, "--follow", session, code=130)
    assert got.err.splitlines()[:-1] == [
        f"{session} was rewritten: it is read from its beginning",
        f"{session} is gone; waiting for it",
        f"{session} holds no record that can be read; waiting for it",
        f"{session} was rewritten: it is read from its beginning",
    ]
    assert [line for line in got.out.splitlines() if "Mend" in line] == [
        "      1  Mend the pier",
        "      1  Mend the lamp",
        "      1  Mend the pier",
    ]


@pytest.mark.parametrize("arguments", [("-",), ("{}", "-o", "out.txt")])
def test_follow_needs_a_file_and_prints(session, capsys, arguments, monkeypatch, tmp_path):
    """A pipe does not grow, and a file of -o is whole or not at all."""
    monkeypatch.chdir(tmp_path)
    given_ = [str(session) if word == "{}" else word for word in arguments]
    assert "--follow looks at a file" in run(capsys, "--follow", *given_, code=2).err
    assert not Path("out.txt").exists()
