"""What a session shows at a glance: right where its ends tell, silent where they do not."""

from __future__ import annotations

import csv
import json
import os
import random
from datetime import UTC, datetime
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from sesstool import api
from sesstool.encryption import age
from sesstool.encryption.keyring import Keys
from sesstool.errors import NotASessionError
from sesstool.findings import Severity
from sesstool.formats.terms import Origin
from sesstool.library.discover import Item, discover
from sesstool.library.ends import open_ends
from sesstool.library.glance import ENDS, STATES, Glance, look
from sesstool.records.opening import open_source
from sesstool.records.packed import compress
from sesstool.records.recover import records
from sesstool.records.source import FileSource
from sesstool.text import safe, width
from tests.conftest import (
    ROLLOUT,
    SESSION,
    THREAD,
    answer,
    asks,
    boundary,
    call_of,
    chat,
    event,
    head,
    jsonl,
    meta,
    prompt,
    result,
    runs,
    said,
    says,
    speaks,
    talk,
    tells,
    use,
)
from tests.damages import DAMAGES
from tests.sealed import NEW, OLD
from tests.seeds import SEEDS

NAME = f"{SESSION}.jsonl"


def at(path: Path, data: bytes) -> Item:
    """The item of a file that holds these bytes."""
    path.write_bytes(data)
    (item,) = discover([path])
    return item


@pytest.fixture
def seen(tmp_path):
    """Makes a file and gives what it shows."""
    return lambda data, name=NAME: look(at(tmp_path / name, data))


def test_a_claude_code_session(seen):
    """All that its records tell."""
    records = [prompt(1, None), answer(2, 1, use("toolu_a")), result(3, 2, "toolu_a"), answer(4, 3)]
    assert seen(jsonl(*records)) == Glance(
        state="ok",
        why="no damage is seen at its beginning and end",
        format="claude-code",
        score=100,
        reason="100 % of the records have a Claude Code envelope",
        id=SESSION,
        title="light the lamp",
        started=datetime(2026, 3, 1, 6, 0, 1, tzinfo=UTC),
        last=datetime(2026, 3, 1, 6, 0, 4, tzinfo=UTC),
        model="claude-test",
        cwd="/srv/beacon",
        ends="answer",
        records=4,
        exact=True,
        good=datetime(2026, 3, 1, 6, 0, 4, tzinfo=UTC),
        good_end=len(jsonl(*records)) - 1,
    )


def test_a_codex_rollout(seen):
    """The header names the session that it was forked from; what Codex put in is no title."""
    injected = says("user", "<environment_context>\n<cwd>/srv</cwd></environment_context>")
    rules = says("user", "# AGENTS.md instructions for /srv\n\nno oil")
    rows = [meta(forked_from_id="0123abcd-0000-7000-8000-00000000beef"), injected, rules]
    rows += [says("user", "trim the wick"), says("assistant", "it is trimmed")]
    told = seen(jsonl(*rows), ROLLOUT)
    assert (told.format, told.id, told.title) == ("codex", THREAD, "trim the wick")
    assert told.origin == Origin("0123abcd-0000-7000-8000-00000000beef", "copy")
    assert (told.cwd, told.ends, told.records) == ("/srv/beacon", "answer", 5)
    assert told.started == told.last == datetime(2026, 3, 1, 6, tzinfo=UTC)


def test_a_subagent_names_the_session_that_it_is_a_part_of(seen):
    """By its header in Codex, by each record in Claude Code."""
    parent = "0123abcd-0000-7000-8000-00000000beef"
    told = seen(jsonl(meta(thread_source="subagent", parent_thread_id=parent)), ROLLOUT)
    assert (told.owner, told.id) == (parent, THREAD)
    rows = [prompt(1, None, isSidechain=True, agentId="a1"), answer(2, 1, isSidechain=True)]
    told = seen(jsonl(*rows), "agent-a1.jsonl")
    assert (told.owner, told.id, told.ends) == (SESSION, "", "answer")


def test_a_session_of_pi(seen):
    """Its header has the folder, and the path of the session that it was forked from."""
    first = head(parentSession=f"/srv/2026_{SESSION}.jsonl")
    told = seen(jsonl(first, *chat(3)), f"2026-03-01T06-00-00-000Z_{THREAD}.jsonl")
    assert (told.format, told.id, told.cwd) == ("pi", THREAD, "/srv/beacon")
    assert (told.title, told.ends) == ("words 1", "prompt")
    assert told.origin == Origin(SESSION, "copy")


def test_messages_without_times(seen):
    """What nobody tells is empty, and no fault."""
    told = seen(jsonl(said("user", "who is there"), said("assistant")), "talk.jsonl")
    assert (told.state, told.format, told.title) == ("ok", "openai-chat", "who is there")
    assert (told.started, told.last, told.model, told.cwd, told.id) == (None, None, "", "", "")


CUSTOM = {"type": "custom-title", "customTitle": "The long night", "sessionId": SESSION}
MODEL = {"type": "ai-title", "aiTitle": "Lamps", "sessionId": SESSION}
OLDER = {"type": "summary", "summary": "Another session", "leafUuid": "x"}
TYPED = "<command-name>/lamp</command-name>\n<command-args>north</command-args>"


@pytest.mark.parametrize(
    ("records", "title"),
    [
        ([*talk(2), CUSTOM, MODEL], "The long night"),
        ([*talk(2), MODEL], "Lamps"),
        ([*talk(2), MODEL, MODEL | {"aiTitle": "Wicks"}], "Wicks"),
        ([*talk(2), MODEL, MODEL | {"aiTitle": " "}], "light the lamp"),
        ([OLDER, *talk(2)], "light the lamp"),
        ([OLDER, answer(1, None)], "Another session"),
        ([prompt(1, None, TYPED), prompt(2, 1, "trim it")], "trim it"),
        ([prompt(1, None, TYPED)], "/lamp north"),
        ([prompt(1, None, "meta", isMeta=True), prompt(2, 1, "trim it")], "trim it"),
        ([prompt(1, None, isVisibleInTranscriptOnly=True), prompt(2, 1, "trim it")], "trim it"),
        ([prompt(1, None, [{"type": "text", "text": "two\n lines"}])], "two lines"),
        ([prompt(1, None, "a\x1b]0;x\x07\u202eb")], "a␛]0;x␇<U+202E>b"),
        ([prompt(1, None, "火" * 300)], "火" * 99 + "…"),
        ([answer(1, None)], ""),
    ],
)
def test_the_title_of_a_claude_code_session(seen, records, title):
    """A person's own, else the model's, else the first prompt; in one line, safe to show."""
    assert seen(jsonl(*records)).title == title


def test_the_titles_of_other_agents(seen):
    """Codex and pi write down what a session is called."""
    rows = [meta(), says("user", "hi"), event("thread_name_updated", thread_name="Oil")]
    assert seen(jsonl(*rows), ROLLOUT).title == "Oil"
    info = {"type": "session_info", "id": "0000000f", "parentId": None, "name": "Wicks"}
    assert seen(jsonl(head(), *chat(2), info), "pi.jsonl").title == "Wicks"


@pytest.mark.parametrize(
    ("records", "ends", "state"),
    [
        ([prompt(1, None)], "prompt", "ok"),
        ([prompt(1, None), answer(2, 1)], "answer", "ok"),
        ([prompt(1, None), answer(2, 1, use("a"))], "call", "repairable"),
        ([prompt(1, None), answer(2, 1, use("a"), use("b")), result(3, 2, "a")], "call",
         "repairable"),
        ([prompt(1, None), answer(2, 1, use("a")), result(3, 2, "a")], "result", "ok"),
        ([prompt(1, None), answer(2, 1, use("a", "AskUserQuestion"))], "question", "ok"),
        ([prompt(1, None), answer(2, 1, use("a")), prompt(3, 2), answer(4, 3)], "answer", "ok"),
        ([*talk(2), boundary(3, 2), prompt(4, 3, "so far", isCompactSummary=True)], "compaction",
         "ok"),
        ([*talk(2), prompt(3, 2, isSidechain=True, agentId="x")], "answer", "ok"),
        ([*talk(2), {"type": "mode", "mode": "plan", "sessionId": SESSION}], "answer", "ok"),
    ],
)  # fmt: skip
def test_what_a_session_ends_with(seen, records, ends, state):
    """The last thing that was said or done in it, and whether somebody waits for it."""
    told = seen(jsonl(*records))
    assert (told.ends, told.state) == (ends, state)


def test_times_and_models_of_a_session_that_went_on(seen):
    """The last time is the latest, wherever it stands; the model is the one used last."""
    rows = [prompt(1, None), answer(3, 1), answer(2, 3)]
    rows[2]["message"]["model"] = "claude-newer"
    told = seen(jsonl(*rows))
    assert told.last == datetime(2026, 3, 1, 6, 0, 3, tzinfo=UTC)
    assert told.model == "claude-newer"


def test_a_call_that_the_provider_runs_waits_for_nobody(seen):
    """It has its result in the same answer, or none at all."""
    search = use("srvtoolu_a") | {"type": "server_tool_use"}
    assert seen(jsonl(prompt(1, None), answer(2, 1, search))).ends == "answer"


def test_what_other_formats_end_with(seen):
    """Calls and results are told alike in all of them."""
    assert seen(jsonl(meta(), says("user", "hi"), runs("c")), ROLLOUT).ends == "call"
    rows = [head(), speaks(1, None, "user", "hi"), speaks(2, 1, "assistant", call_of("c"))]
    assert seen(jsonl(*rows), "pi.jsonl").ends == "call"
    assert seen(jsonl(said("user"), asks("c"), tells("c")), "talk.jsonl").ends == "result"


# Damage.


def test_a_torn_tail_is_told_at_each_byte(seen):
    """But where the line is whole and only its newline is missing."""
    whole = jsonl(*talk(3))
    start = whole.rindex(b"\n", 0, -1) + 1
    for end in range(start + 1, len(whole) - 1):
        told = seen(whole[:end])
        assert (told.state, told.torn, told.records) == ("damaged", True, 2), end
        assert told.why == "its last record is cut off"
    for sound in (whole[:start], whole[:-1], whole):
        told = seen(sound)
        assert (told.state, told.torn) == ("ok", False)


@pytest.mark.parametrize(
    ("line", "why"),
    [(b'{"cut', "torn-record"), (b"\0" * 40, "nul-bytes"), (b"killed", "noise-line")],
)
@pytest.mark.parametrize("place", ["head", "tail"])
def test_damage_at_either_end_is_told(seen, line, why, place):
    """By its kind."""
    records = jsonl(*talk(2000))
    damaged = line + b"\n" + records if place == "head" else records + line + b"\n" + jsonl(MODEL)
    told = seen(damaged)
    assert (told.state, told.torn, told.exact) == ("damaged", False, False)
    assert told.why == f"seen at its beginning or end: {why}"


def test_damage_in_the_middle_is_not_seen(seen):
    """Ok says what the reason says: no damage at the ends."""
    records = jsonl(*talk(1000)), jsonl(*talk(2000, 1001))
    told = seen(b"killed\n".join(records))
    assert (told.state, told.why) == ("ok", "no damage is seen at its beginning and end")


def test_what_harms_no_record_is_no_damage(seen):
    """Blank lines, a byte order mark, CRLF, no newline at the end."""
    data = jsonl(*talk(2)).replace(b"\n", b"\r\n\r\n")
    told = seen(b"\xef\xbb\xbf" + data.rstrip())
    assert (told.state, told.records) == ("ok", 2)


# Long lines and large files.


def test_a_long_file_is_read_at_its_ends_and_counted_in_parts(tmp_path, monkeypatch):
    """Of 30 MB it reads less than two, and is right within one in twenty."""
    rows = 60_000
    item = at(tmp_path / NAME, jsonl(prompt(1, None), *talk(rows, 2)))
    assert item.size > 20_000_000
    sizes = []
    read = FileSource.read

    def counted(self: FileSource, start: int, end: int) -> bytes:
        sizes.append(end - start)
        return read(self, start, end)

    monkeypatch.setattr(FileSource, "read", counted)
    told = look(item)
    assert sum(sizes) < 2_000_000
    assert not told.exact
    assert abs(told.records - rows) < rows / 20
    assert told.last == datetime(2026, 3, 1, 6, 40, 0, tzinfo=UTC)
    assert (told.title, told.ends) == ("light the lamp", "answer")


def test_a_brief_look_sees_what_a_long_one_does(tmp_path):
    """However long the first record is: the two ends may meet at any place."""
    path = tmp_path / ROLLOUT
    for size in range(1, 70_000, 997):
        header = meta(base_instructions={"text": "x" * size})
        data = jsonl(header, says("user", "trim it"), says("assistant", "done"))
        for end in (0, 1, 30):
            item = at(path, data[: len(data) - end])
            brief, long = look(item, brief=True), look(item)
            assert (brief.state, brief.ends, brief.torn) == (long.state, long.ends, long.torn)
            assert brief.state == ("damaged" if end == 30 else "ok"), (size, end)


def test_a_prompt_behind_64_kb_is_found(seen):
    """And one behind a megabyte is not looked for."""
    for size, title in ((100_000, "trim it"), (1_100_000, "")):
        rows = [answer(1, None, {"type": "text", "text": "x" * size}), prompt(2, 1, "trim it")]
        told = seen(jsonl(*rows, *(answer(n, n - 1) for n in range(3, 400))))
        assert (told.format, told.title, told.ends) == ("claude-code", title, "answer")


@pytest.mark.parametrize("size", [100_000, 3_000_000])
def test_a_last_record_of_any_length(seen, size):
    """Whether it is torn is told, though one of megabytes is not looked into."""
    data = jsonl(*talk(800), answer(801, 800, {"type": "text", "text": "x" * size}))
    assert not seen(data).torn
    assert not seen(data[:-1]).torn
    assert size > 1_000_000 or seen(data).records == 801
    told = seen(data[:-20])
    assert (told.torn, told.state) == (True, "damaged")


# Packed, encrypted, empty, and no session at all.


@pytest.mark.parametrize("codec", ["gz", "zst"])
def test_a_compressed_session(seen, codec):
    """Of a long one the end is not looked at, so that its records are not counted."""
    short, long = jsonl(*talk(4)), jsonl(*talk(8000))
    told = seen(b"".join(compress(iter([short]), codec)), f"{NAME}.{codec}")
    assert (told.title, told.ends, told.records, told.exact) == (
        "light the lamp",
        "answer",
        4,
        True,
    )
    packed = b"".join(compress(iter([long]), codec))
    told = seen(packed, f"{NAME}.{codec}")
    assert (told.state, told.title, told.records) == ("ok", "light the lamp", -1)
    assert (told.exact, told.torn, told.id) == (False, False, SESSION)
    told = seen(b"".join(compress(iter([short]), codec))[:-9], f"{NAME}.{codec}")
    assert (told.state, told.why) == ("unreadable", "the compressed data is damaged or cut")


def test_a_compressed_session_is_not_decompressed_whole(tmp_path, monkeypatch):
    """Nothing is spooled, whatever it would hold."""
    bomb = zstandard.compress(jsonl(*talk(2)) + b" " * 50_000_000)
    item = at(tmp_path / f"{NAME}.zst", bomb)
    monkeypatch.setattr("sesstool.records.packed.scratch", None)
    assert look(item).title == "light the lamp"


def test_an_encrypted_session(tmp_path):
    """Locked without a key that opens it; with one it is like others, and a change shows."""
    plain = jsonl(*talk(200))
    sealed = b"".join(age.encrypt([plain], [OLD.recipient()]))
    item = at(tmp_path / f"{NAME}.age", sealed)
    for wrong in (None, Keys(given=[NEW]), Keys([tmp_path / f"{NAME}.age"])):
        told = look(item, wrong)
        assert (told.state, told.title, told.records) == ("encrypted", "", -1)
        assert told.why
    keys = Keys(given=[OLD])
    told = look(item, keys)
    assert (told.state, told.title, told.ends) == ("ok", "light the lamp", "answer")
    assert (told.records, told.exact) == (200, True)
    told = look(at(tmp_path / f"{NAME}.age", sealed[:-1] + b"~"), keys)
    assert (told.state, told.title) == ("damaged", "")
    packed = b"".join(age.encrypt(compress(iter([plain]), "zst"), [OLD.recipient()]))
    assert look(at(tmp_path / f"{NAME}.zst.age", packed), keys).records == 200


def test_an_empty_file_and_what_is_no_session(seen):
    """The reason is in words, without the path."""
    assert seen(b"").state == "empty"
    told = seen(b'{"level":"info"}\n' * 3, "app.jsonl")
    assert (told.state, told.records) == ("unknown", 3)
    assert told.why == "it is no session that sesstool knows: 3 records looked at"
    told = seen(b"\x89PNG\r\n\x1a\n", "lamp.jsonl")
    assert (told.state, told.why) == ("unknown", "it holds no record that can be read")


def test_what_cannot_be_read_is_told(tmp_path):
    """With the reason in words."""
    told = look(Item(str(tmp_path), "lost.jsonl", "pi"))
    assert (told.state, told.why) == ("unreadable", "no such file or directory")
    told = look(Item(str(tmp_path), "x", trouble="it is a link to nothing"))
    assert (told.state, told.why) == ("unreadable", "it is a link to nothing")


# Any bytes.


def sound(told: Glance) -> None:
    """What holds of every glance."""
    assert told.state in STATES
    assert told.ends in ("", *ENDS)
    assert safe(told.title) == told.title
    assert width(told.title) <= 200
    assert told.why == safe(told.why)


@pytest.mark.parametrize("name", SEEDS)
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda one: one.__name__)
def test_no_damage_raises(seen, name, damage):
    """A glance at it tells something sound, and of a sound session no damage."""
    assert seen(SEEDS[name], name).state in ("ok", "repairable")
    for number in range(4):
        sound(seen(damage(random.Random(number), SEEDS[name]), name))


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_value_raises(tmp_path_factory, data):
    """Whatever stands in the place of any member of any record."""
    name = data.draw(st.sampled_from(sorted(SEEDS)))
    records = [json.loads(line) for line in SEEDS[name].splitlines()]
    record = data.draw(st.sampled_from(records))
    while type(record) is dict and record:
        key = data.draw(st.sampled_from(sorted(record)))
        if type(record[key]) is not dict or data.draw(st.booleans()):
            record[key] = data.draw(ANY)
            break
        record = record[key]
    folder = tmp_path_factory.mktemp("any")
    lines = "\n".join(json.dumps(one) for one in records).encode("utf-8", "surrogatepass")
    sound(look(at(folder / name, lines)))


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300))
def test_no_bytes_raise(tmp_path_factory, data):
    """Also where they begin like a compressed or encrypted file."""
    folder = tmp_path_factory.mktemp("any")
    for start in (b"", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"age-encryption.org/v1\n", b"\xff\xfe"):
        sound(look(at(folder / NAME, start + data)))


def test_deep_values_raise_nothing(seen):
    """However deep: in a prompt, in a call, in a title."""
    deep = "[" * 5000 + "]" * 5000
    for record in (
        prompt(1, None, "@"),
        answer(1, None, use("a", "@")),
        CUSTOM | {"customTitle": "@"},
    ):
        text = json.dumps(record).replace('"@"', deep)
        sound(seen(jsonl(*talk(4, 2)) + text.encode() + b"\n"))


# Real sessions.


def test_real_sessions_are_judged_as_the_rules_do(shared):
    """What a glance calls damaged has an error; what it read whole it counts exactly."""
    looked = 0
    for item in discover([shared / "corpus"]):
        if item.size > 1_000_000:
            continue
        told = look(item)
        sound(told)
        try:
            report = api.validate(item.path)
        except NotASessionError:
            assert told.state == "unknown", item.path
            continue
        codes = {f.code for f in report.findings if f.severity is Severity.ERROR}
        looked += 1
        assert told.state == "empty" or told.format == report.format, item.path
        assert told.state not in ("damaged", "repairable") or codes, item.path
        assert told.ends != "call" or any(code[0] == "T" for code in codes), item.path
        if told.exact:
            assert told.records == report.records, item.path
            damaged = {code for code in codes if code[0] in "BJ"}
            assert (told.state == "damaged") >= bool(damaged), item.path
    assert looked > 500


def test_real_clients_are_told_with_their_facts(shared):
    """Title, folder, model and times of the sessions that they wrote, as their index has them."""
    top = shared / "corpus" / "real-clients"
    with (top / "INDEX.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    seen = {str(i.path.relative_to(top)): look(i) for i in discover([top])}
    for row in rows:
        told = seen.get(row["file"])
        if (
            told is None
            or told.state == "empty"
            or row["client"] not in ("claude-code", "codex", "pi")
        ):
            continue
        torn = row["final_newline"] == "no"
        assert told.torn == torn, row["file"]
        if int(row["records"]) < 3:
            continue
        assert told.title, row["file"]
        assert told.cwd == "/srv/quest", row["file"]
        assert told.started is not None
        assert told.last is not None
        assert told.started <= told.last
        if row["damage"].startswith("unanswered calls at the end") and row["unanswered"] != "0":
            assert (told.ends, told.state) == ("call", "repairable"), row["file"]


@pytest.mark.parametrize("name", SEEDS)
def test_ends_hold_the_records_that_a_reader_finds(name: str, tmp_path: Path) -> None:
    """Sound lines are read by a shorter way, to the same records; others are left to the reader."""
    path = tmp_path / NAME
    for more in (
        b"",
        b'{"cut": ',
        b"\r\n",
        b"\n[]\n",
        b'{"a":1}{"b":2}\n',
        b"{}\n",
        b"7\n",
        b'{"a":1}\r\n',
    ):
        path.write_bytes(SEEDS[name] + more)
        with open_source(path) as source:
            every = [(r.start, r.end, r.raw, r.value, r.defects) for r in records(source)]
        with open_ends(path, None, 1 << 20) as ends:
            assert [(r.start, r.end, r.raw, r.value, r.defects) for r in ends.records] == every


def test_a_brief_look_reads_few_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each end of a file one piece is read, not one for each step through it."""
    path = tmp_path / NAME
    path.write_bytes(jsonl(*talk(400)))
    pieces = []
    real = os.pread
    monkeypatch.setattr(os, "pread", lambda *asked: pieces.append(asked) or real(*asked))
    assert look(Item(str(tmp_path), NAME), brief=True).title == "light the lamp"
    assert len(pieces) == 2
