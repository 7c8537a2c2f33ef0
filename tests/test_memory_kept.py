"""The state of a session's memory: in parts, between runs, of files that grow or are rewritten."""

from __future__ import annotations

import gzip
import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sesstool.api.remembering import Remembered, memory
from sesstool.caches.folder import memory_path
from sesstool.errors import NotASessionError
from sesstool.model.session import open_session
from sesstool.records.recover import HEAD_LINES
from sesstool.store import keeping
from sesstool.store import memory as memories
from sesstool.store.lineage import IDS, TURNS, Lineage
from sesstool.store.memory import SessionMemory
from tests.conftest import (
    Memory,
    answer,
    call_of,
    envelope,
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
from tests.test_memory import SAMPLE, chat, life, memory_of

CANARY = "Zq7canary"


def state(found):
    """All that a memory knows."""
    return found.as_dict(), found.saved()


def fresh(path):
    """The memory of a file, drawn from all of it."""
    return state(memory(path, cache=False))


def kept(path):
    """The file of the cache, which must be there."""
    cache = memory_path(path)
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
    return rows


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
    return rows


def codex(draw):
    rows = [meta()]
    for n, (back, tool, told) in enumerate(steps(draw)):
        rows += [event("thread_rolled_back", num_turns=back)] if back else []
        if tool == "Bash" and told is None:
            rows.append(envelope("compacted", {"message": "so far", "replacement_history": []}))
        given_ = json.dumps(GIVEN[tool])
        rows += [says("user", f"prompt {n}"), runs(f"u{n}", name=tool, arguments=given_)]
        rows += [output(f"u{n}", told)] if told else []
        rows.append(says("assistant", f"said {n}"))
    return rows


def hurt(draw, lines):
    """Some lines with damage: what a crash, a pretty printer or a person leaves."""
    for at in draw(st.lists(st.integers(0, len(lines) - 1), max_size=2)):
        line = lines[at].rstrip(b"\r\n")
        cut = draw(st.integers(0, len(line)))
        ways = {
            "torn": line[:cut] + b"\n",
            "torn and glued": line[:cut],
            "glued": line,
            "crlf": line + b"\r\n",
            "nul": line[:cut] + b"\0\0" + line[cut:] + b"\n",
            "list": b"[" + line + b"]\n",
            "noise": b"<<<<<<< HEAD\n" + line + b"\n",
            "pretty": line.replace(b",", b",\n ") + b"\n",
        }
        lines[at] = ways[draw(st.sampled_from(sorted(ways)))]
    return b"".join(lines)


def grown(path, sizes, whole):
    """Let a file grow in its place; tells each time whether a session can be seen in it."""
    path.write_bytes(b"")
    for size in sizes:
        with path.open("ab") as file:
            file.write(whole[path.stat().st_size : size])
        try:
            memory(path, cache=False)
        except NotASessionError:
            yield False
        else:
            yield True


@settings(deadline=None)
@given(sessions(), st.data())
def test_in_parts_as_in_one_go(tmp_path_factory, made, data):
    """Wherever a file is cut while it grows, by one reader, by the next run, or by the store."""
    path = tmp_path_factory.mktemp("grown") / "session.jsonl"
    whole = hurt(data.draw, jsonl(*made).splitlines(keepends=True))
    sizes = data.draw(st.lists(st.integers(1, len(whole)), max_size=4).map(sorted))
    follower = Remembered(path, cache=False)
    for session in grown(path, [*sizes, len(whole)], whole):
        if session:
            expected = fresh(path)
            follower.update()
            assert follower.memory.as_dict() == expected[0]
            assert state(memory(path)) == expected


SHORT = jsonl(
    said("user", [{"type": "text", "text": "go"}]),
    said("assistant", [{"type": "text", "text": "I look"}, use("a", "Write", file_path="a")]),
    said("user", [{"type": "tool_result", "tool_use_id": "a", "content": "ok"}]),
    said("assistant", [{"type": "text", "text": "done"}]),
)
LONG = jsonl(*[said("user", f"prompt {n}") for n in range(HEAD_LINES + 8)])
LINES = SHORT.splitlines(keepends=True)
LISTED = b"[%b]\n"
DAMAGED = {
    "sound": SHORT,
    "a torn record before a whole one": SHORT.replace(b'\n{"role"', b'\n{"{"role"', 1),
    "a record over several lines": LONG + SHORT.replace(b"[{", b"[\n{").replace(b"}]", b"}\n]"),
    "records that are told by what is learned later": b"".join(
        [
            *(jsonl({"system": "Tend the lamp."}), b'{"' + LINES[1]),
            *(LINES[2].replace(b",", b",\n"), *LINES[3:], *LINES),
        ]
    ),
    "inner objects that look like records": jsonl(
        head(),
        speaks(1, None, "user", "go"),
        speaks(2, 1, "assistant", call_of("a", {"command": "pytest"}), "I look"),
        speaks(3, 2, "toolResult", "ok", toolCallId="a", toolName="bash"),
    ),
    "a list of records": LISTED % SHORT.replace(b"}\n{", b"},\n{"),
    "a long list": LISTED % (LONG + SHORT).replace(b"}\n{", b"},\n{"),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_file_can_be_read_at_any_size(tmp_path, kind):
    """Wherever its last write was broken off."""
    whole = DAMAGED[kind]
    path = tmp_path / "session.jsonl"
    path.write_bytes(whole)
    expected = fresh(path)
    for size in range(max(60, len(whole) - 700), len(whole)):
        path.write_bytes(whole[:size])
        seen = Remembered(path, cache=False)
        try:
            seen.update()
        except NotASessionError:
            continue
        with path.open("ab") as file:
            file.write(whole[size:])
        seen.update()
        assert seen.memory.as_dict() == expected[0]


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


@settings(deadline=None)
@given(st.sampled_from([claude, pi]), st.data())
def test_the_way_that_goes_on_is_that_of_the_tree(maker, data):
    """What was not taken back is what a resume reaches."""
    rows = maker(data.draw)
    session = read(jsonl(*rows))
    found = memory_of(*rows)
    graph = session.graph
    for kind in ("goal", "said"):
        for item in found.items[kind]:
            row = graph.row_at(item.start)
            assert found.lineage.is_live(item.turn, item.start) == bool(graph.live[row])


@settings(deadline=None)
@given(st.data())
def test_a_rollback_is_that_of_the_session(data):
    """What was taken back is the same as elsewhere."""
    rows = codex(data.draw)
    session = read(jsonl(*rows))
    found = memory_of(*rows)
    for kind in ("goal", "said"):
        for item in found.items[kind]:
            live = found.lineage.is_live(item.turn, item.start)
            if (why := session.taken_back(item.start)) != "compaction":
                assert live == (why == "")


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


def test_what_was_taken_back_stays_so_when_its_turn_is_forgotten():
    """What stood before the first prompt was taken back by a prompt that hangs from nothing."""
    rows = [answer(1, None, use("u", "Write", file_path="lost")), result(2, 1, "u")]
    rows += [prompt(3, None, "start"), answer(4, 3, use("v", "Write", file_path="kept"))]
    rows.append(result(5, 4, "v"))
    assert [d["target"] for d in memory_of(*rows).as_dict()["done"]] == ["kept"]
    rows += [prompt(n, n - 1, f"prompt {n}") for n in range(6, TURNS + 50)]
    assert [d["target"] for d in memory_of(*rows).as_dict()["done"]] == ["kept"]


def test_ids_are_forgotten_and_prompts_found_by_what_they_hang_from():
    """A prompt that hangs from where a known one hangs takes that one's place."""
    rows = [prompt(1, None, "one"), answer(2, 1), prompt(3, 2, "two")]
    rows += [answer(4, 3, use("u", "Write", file_path="a")), result(5, 4, "u")]
    rows += [answer(n, n - 1) for n in range(6, IDS + 10)]
    found = memory_of(*rows, prompt(IDS + 10, 2, "three")).as_dict()
    assert (found["goal"]["text"], found["first_goal"]["text"]) == ("three", "one")
    assert (found["done"], found["taken_back"]) == ([], 1)
    assert [d["target"] for d in memory_of(*rows).as_dict()["done"]] == ["a"]


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
    state_ = json.loads(kept(session).read_bytes().partition(b"\n")[2])
    assert state_["reached"][0] == whole[:-1].rindex(b"\n") + 1


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


def test_a_reading_that_fails_leaves_nothing_half_way(session, monkeypatch):
    """The next one begins anew."""
    seen = Remembered(session)
    seen.update()
    with session.open("ab") as file:
        file.write(jsonl(*[said("user", f"prompt {n}") for n in range(9)]))
    see, fails = SessionMemory.see, iter([False, False, False, True])

    def failing(*given_):
        if next(fails):
            raise OSError("the disk is gone")
        see(*given_)

    with monkeypatch.context() as patch:
        patch.setattr(SessionMemory, "see", failing)
        with pytest.raises(OSError, match="gone"):
            seen.update()
    seen.update()
    assert state(seen.memory) == fresh(session)


def test_records_of_another_session_are_passed_over_also_later(tmp_path):
    """The first record of a transcript tells whose it is, whatever was read before."""
    rows = life("requested", "started")
    other = [row | {"session_id": "session-tower"} for row in life("requested")]
    other[0]["payload"]["content"] = "Mend the tower"
    path = tmp_path / "transcript-session-mill.jsonl"
    path.write_bytes(jsonl(*rows))
    memory(path)
    with path.open("ab") as file:
        file.write(jsonl(*other, *other))
    assert memory(path).as_dict()["goal"]["text"] == "Mend the pier"
    assert state(memory(path)) == fresh(path)


ON = jsonl(said("user", "on"))


def replaced(path, data):
    other = path.with_name("other")
    other.write_bytes(data)
    other.replace(path)


def overwritten(path, data):
    path.write_bytes(data)
    os.utime(path, (1, 1))  # no clock is asked whether time went by


@pytest.mark.parametrize(
    ("pack", "change", "more"),
    [
        (bytes, replaced, b""),
        (bytes, replaced, ON),
        (bytes, overwritten, b""),
        (gzip.compress, replaced, b""),
        (gzip.compress, overwritten, ON),
    ],
)
def test_a_change_in_the_middle_is_seen(tmp_path, pack, change, more):
    """Far from the head and from the end: by the inode, or as nothing was appended.

    A plain file that was changed where it is, and grew since, is the one that is not told.
    """
    padding = [said("system", "x" * 3000) for _ in range(4)]
    data = jsonl(*padding, *SAMPLE, *padding, said("system", "end"))
    path = tmp_path / ("talk.jsonl" if pack is bytes else "talk.jsonl.gz")
    path.write_bytes(pack(data))
    seen = Remembered(path, cache=False)
    seen.update()
    memory(path)
    change(path, pack(data.replace(b"Mend the pier", b"Mend the lamp") + more))
    reasons, found = notes(path)
    assert found == fresh(path)
    assert found[0]["first_goal" if more else "goal"]["text"] == "Mend the lamp"
    assert len(reasons) == (pack is bytes)
    assert not seen.update()
    assert state(seen.memory) == found


@pytest.mark.parametrize("cut", [0, 1, 2, 3])
def test_what_is_no_record_is_counted_once(session, cut):
    """However often the file was read meanwhile; a blank line is nothing."""
    pieces = [b"\0\0\0\n", b"\n", jsonl(said("user", "Oil the lamp")), b'{"role":"us']
    with session.open("ab") as file:
        for n, piece in enumerate(pieces):
            file.write(piece)
            file.flush()
            if n < cut:
                memory(session)
    found = memory(session)
    assert found.unread == 2
    assert (found.as_dict(), found.saved()) == fresh(session)
    assert "2 pieces of the file are no record" in found.render()


@pytest.mark.parametrize("kind", ["empty", "cut", "json", "byte", "version"])
def test_a_damaged_cache_is_of_no_use_and_no_harm(session, kind, monkeypatch):
    """It is told, and the memory is right all the same."""
    memory(session)
    right, cache = fresh(session), kept(session)
    raw = cache.read_bytes()
    if kind == "version":
        monkeypatch.setattr(memories, "VERSION", 2)
        right = fresh(session)
    at = raw.index(b"turns") + 1
    wrong = {"empty": b"", "cut": raw[:-1], "json": b"{}", "byte": raw[:at] + b"!" + raw[at + 1 :]}
    cache.write_bytes(wrong.get(kind, raw))
    reasons, found = notes(session)
    assert found == right
    what = "the memory is drawn anew, what was kept of it is of no use"
    reason = "it cannot be taken up: ValueError" if kind == "version" else "it is damaged"
    assert reasons == [f"{what}: {reason}"]
    assert notes(session)[0] == []


@pytest.mark.parametrize("odd", [None, -1, 7, 10**30, "x", [], {}, [[]], [7, ""]], ids=repr)
@pytest.mark.parametrize("name", [name for name in SEEDS if name.startswith(("5d", "tran", "20"))])
def test_a_state_of_any_shape_is_refused_or_taken(name, odd):
    """With ValueError; what is taken up goes on without any other error."""
    session = open_session(Memory(SEEDS[name], name))
    pairs = [(r, m) for r, m in session.again() if m is not None]
    found = SessionMemory(session.format)
    for record, meaning in pairs[:-2]:
        found.see(record.value, meaning, record.start, record.end, record.line)
    source, refused = Memory(SEEDS[name], name), 0
    for saved in changed(json.loads(json.dumps(found.saved())), odd):
        try:
            taken = SessionMemory.restored(
                session.format, saved, lambda place: keeping.record_at(source, place)
            )
        except ValueError:
            refused += 1
            continue
        for record, meaning in pairs[-2:]:
            taken.see(record.value, meaning, record.start, record.end, record.line)
        taken.render()
    assert refused > 20


def test_a_link_in_the_cache_leads_nowhere(session, tmp_path):
    """What is at its other end is neither read nor written; the link goes."""
    memory(session)
    right, cache, far = fresh(session), kept(session), tmp_path / "far"
    cache.rename(far)
    cache.symlink_to(far)
    before = far.read_bytes()
    reasons, found = notes(session)
    assert found == right
    assert "not the file of this user" in reasons[0]
    assert far.read_bytes() == before
    with session.open("ab") as file:
        file.write(jsonl(said("user", "Oil the lamp"), said("user", "And the hinge")))
    memory(session)
    assert not cache.is_symlink()
    assert far.read_bytes() == before
    assert notes(session)[0] == []


def test_a_file_of_another_user_in_the_cache_is_not_read(session, monkeypatch):
    """It could make the memory tell less than there is."""
    memory(session)
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    assert "not the file of this user" in notes(session)[0][0]


def test_a_cache_that_cannot_be_written_is_no_fault(session, monkeypatch):
    """It is told to who asks."""
    monkeypatch.setattr(keeping, "make_folder", lambda _: (_ for _ in ()).throw(OSError("full")))
    said_, found = notes(session)
    assert found == fresh(session)
    assert said_ == ["the state of the memory is not kept: full"]


def test_nothing_is_kept_of_what_is_packed(tmp_path):
    """A compressed session is read whole each time."""
    path = tmp_path / "talk.jsonl.gz"
    path.write_bytes(gzip.compress(jsonl(*SAMPLE)))
    found = memory(path)
    assert found.as_dict() == memory_of(*SAMPLE).as_dict()
    assert not memory_path(path).exists()


def test_old_files_of_the_cache_go(session, monkeypatch):
    """Those that nobody asked for the longest."""
    monkeypatch.setattr(keeping, "_MOST", 2)
    folder = memory_path(session).parent
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
