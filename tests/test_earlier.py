"""A session that only grew is redacted from where it grew, as if it were read whole."""

from __future__ import annotations

import sqlite3
import stat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sesstool.api import publishing, redaction
from sesstool.privacy import ruleset
from sesstool.privacy.redactor import Choice
from sesstool.privacy.ruleset import Rule
from tests.conftest import jsonl, prompt, said

MINA = "mina.korhonen@harbour.org"
KEY = bytes(range(32))
# Finds by what stands before, so that a value can stand elsewhere unseen.
CODES = Rule("code", "secret", "CODE", "code word", 0.8, r"code (?P<value>\w{8,})", ("code ",))


@pytest.fixture(autouse=True)
def few_rules(monkeypatch):
    """Addresses and codes alone: the others take half a second to compile, in each run."""
    rules = (*(rule for rule in ruleset.shipped() if rule.kind == "EMAIL"), CODES)
    monkeypatch.setattr(ruleset, "shipped", lambda: rules)


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state"


@pytest.fixture
def session(tmp_path):
    return tmp_path / "s.jsonl"


def redact(*paths, state, key=KEY, resume=True, **choice):
    """Redact in place; returns for each file from which line on it was looked at."""
    chosen = Choice(**choice)
    with redaction.redact(paths, chosen, key=key, resume=state if resume else None) as redacted:
        publishing.publish(redacted, state=state)
        return [file.text.number for file in redacted.files]


def say(*texts):
    return jsonl(*(said("user", text) for text in texts))


def append(path, data):
    with path.open("ab") as file:
        file.write(data)


def test_only_what_came_is_looked_at(session, state):
    session.write_bytes(say(MINA, "lamp", MINA))
    assert redact(session, state=state) == [1]
    assert redact(session, state=state) == [4]
    before = session.read_bytes()
    append(session, say("oil", MINA))
    assert redact(session, state=state) == [4]
    data = session.read_bytes()
    assert data.startswith(before + say("oil"))
    assert MINA.encode() not in data
    assert len(set(data.split(b"\n")[::2][:3])) == 1  # one person, one stand-in
    append(session, say("oil"))
    assert redact(session, state=state) == [6]
    assert redact(session, state=state) == [7]


def test_a_last_line_without_an_end_is_looked_at_again(session, state):
    session.write_bytes(say(MINA, MINA)[:-1])
    redact(session, state=state)
    append(session, b"\n" + say(MINA))
    assert redact(session, state=state) == [2]
    session.write_bytes(session.read_bytes() + b'{"role":"user","content":"mina.korhonen@har')
    redact(session, state=state)
    append(session, b'bour.org"}\n')
    assert redact(session, state=state) == [4]
    assert b"mina" not in session.read_bytes()


def test_what_the_new_part_teaches_is_taken_out_of_the_old_one(session, tmp_path, state):
    """By the session itself, and by another one of the set."""
    for teacher in (session, tmp_path / "other.jsonl"):
        session.write_bytes(say(MINA, "the word is lampLight7", "no more"))
        redact(session, state=state)
        assert b"lampLight7" in session.read_bytes()
        append(session, say("well"))
        append(teacher, say("take the code lampLight7"))
        files = (session,) if teacher == session else (session, teacher)
        assert redact(*files, state=state)[0] == 1
        assert b"lampLight7" not in session.read_bytes()


def test_what_was_taken_out_before_need_not_be_looked_for(session, state):
    session.write_bytes(say("the code lampLight7", MINA))
    redact(session, state=state)
    append(session, say("the code lampLight7", MINA))
    assert redact(session, state=state) == [3]


def test_each_value_is_looked_for_from_where_it_was_not_looked_for_yet(session, state):
    """Only the part that came between is searched for what was found before that."""
    session.write_bytes(say("the code lamp_Light_7"))
    redact(session, state=state)
    append(session, say("lamp_Light_7", "lamp_Light_7"))  # nothing tells of it any more
    assert redact(session, state=state) == [2]
    append(session, say(MINA))
    assert redact(session, state=state) == [4]
    append(session, say("the code lamp_Light_7"))
    assert redact(session, state=state) == [1]
    assert b"lamp_Light_7" not in session.read_bytes()
    append(session, say(MINA))
    assert redact(session, state=state) == [6]
    append(session, say("the code lamp_Light_7"))
    assert redact(session, state=state) == [7]


def test_a_text_that_is_still_streaming_is_looked_at_from_its_beginning(session, state):
    """What began in the part that was redacted may end in the new one."""
    pieces = ["it is anna@", "quay", ".org now"]
    records = [
        {"type": "response.output_text.delta", "item_id": "m", "sequence_number": n, "delta": text}
        for n, text in enumerate(pieces)
    ]
    session.write_bytes(say("lamp", "oil", "wick") + jsonl(*records[:2]))
    redact(session, state=state)
    append(session, jsonl(records[2]))
    assert redact(session, state=state) == [4]
    assert "⟦EMAIL:" in session.read_text()
    assert b"quay" not in session.read_bytes()


@pytest.mark.parametrize(
    "other",
    [{"key": bytes(32)}, {"style": "shape"}, {"profile": "share"}, {"detectors": ("email",)}],
    ids=str,
)
def test_a_redaction_of_another_kind_looks_at_all(session, state, other):
    session.write_bytes(say(MINA, MINA))
    redact(session, state=state)
    append(session, say(MINA))
    assert redact(session, state=state, **other) == [1]


def test_a_file_that_is_another_or_was_changed_is_looked_at_whole(session, state):
    session.write_bytes(say(MINA, "lamp"))
    redact(session, state=state)
    data = session.read_bytes()
    session.write_bytes(data.replace(b"lamp", b"oils"))
    assert redact(session, state=state) == [1]
    session.write_bytes(data[:-20])
    assert redact(session, state=state) == [1]
    copy = session.with_name("copy.jsonl")
    copy.write_bytes(session.read_bytes())
    copy.replace(session)  # another inode
    assert redact(session, state=state) == [1]
    assert redact(session, state=state)[0] > 1


def test_other_rules_look_at_all(session, state, monkeypatch):
    session.write_bytes(say(MINA))
    redact(session, state=state)
    monkeypatch.setattr(ruleset, "shipped", lambda: (CODES,))
    assert redact(session, state=state) == [1]


def test_without_a_key_and_with_lines_that_are_left_alone_nothing_is_remembered(session, state):
    session.write_bytes(say(MINA))
    for options in ({"key": b""}, {"unreadable": "skip"}):
        redact(session, state=state, **options)
        assert not (state / "redacted.sqlite").exists()


def test_what_is_kept_is_the_owners_alone_and_holds_no_value(session, state):
    session.write_bytes(say(MINA, "the code lampLight7"))
    redact(session, state=state)
    path = state / "redacted.sqlite"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    data = path.read_bytes().lower()
    assert b"mina" not in data
    assert b"harbour" not in data
    assert b"lampLight7" not in data


def test_what_is_damaged_full_or_locked_does_no_harm(session, state):
    session.write_bytes(say(MINA))
    redact(session, state=state)
    path = state / "redacted.sqlite"
    for size in (0, 100, 5000):
        path.write_bytes(path.read_bytes()[:size])
        append(session, say(MINA))
        assert redact(session, state=state) == [1]
        assert redact(session, state=state)[0] > 1
    path.write_bytes(b"no database at all" * 100)
    append(session, say(MINA))
    assert redact(session, state=state) == [1]
    assert MINA.encode() not in session.read_bytes()
    path.unlink()
    path.mkdir()
    append(session, say(MINA))
    assert redact(session, state=state) == [1]
    assert MINA.encode() not in session.read_bytes()


def test_values_that_no_file_needs_any_more_are_forgotten(session, state):
    for number in range(3):
        session.write_bytes(say(f"anna{number}@quay.org"))
        redact(session, state=state)
    with sqlite3.connect(state / "redacted.sqlite") as database:
        [(known,)] = database.execute("SELECT count(*) FROM values_known")
        [(sessions,)] = database.execute("SELECT count(*) FROM sessions")
    database.close()
    assert (known, sessions) == (1, 1)


SEALED = {"type": "thinking", "thinking": f"is it {MINA}", "signature": "c2lnbmVk" * 8}
LINES = [
    *(say(f"write to {who}@quay.org") for who in ("anna", "bo", "Anna")),
    say("the code lampLight7"),
    say("lampLight7"),
    say('anna@quay.org "code" oilcan77 \\ é'),
    say("oilcan77"),
    jsonl(prompt(1, None, f"hello {MINA}")),
    b"no record anna@quay.org\n",
    b"\xff\xfe\0 code lampLight7\n",
    b"\n",
    b"anna@qu",
    b"ay.org",
]
CHUNKS = st.lists(
    st.lists(st.sampled_from(LINES), max_size=4).map(b"".join), min_size=2, max_size=4
)


@given(CHUNKS, st.sampled_from(["resume", "share"]), st.sampled_from(["tag", "shape", "label"]))
@settings(deadline=None, max_examples=40)
def test_in_steps_it_comes_out_as_read_whole(tmp_path_factory, parts, profile, style):
    """Each step leaves what it would leave where nothing is remembered."""
    folder = tmp_path_factory.mktemp("grown")
    one, two, state = folder / "one.jsonl", folder / "two.jsonl", folder / "state"
    first = say("a", "b")
    one.write_bytes(first)
    two.write_bytes(first)
    for part in parts:
        append(one, part)
        append(two, part)
        redact(one, state=state, profile=profile, style=style)
        redact(two, state=folder / "other", resume=False, profile=profile, style=style)
        assert one.read_bytes() == two.read_bytes()


WHOLE = [line for line in LINES if line.endswith(b"\n") and b"lampLight7" not in line]


@given(st.lists(st.sampled_from([w for w in WHOLE if b"oilcan" not in w]), max_size=8), st.data())
@settings(deadline=None, max_examples=20)
def test_values_that_rules_find_go_alike_at_once_and_in_steps(tmp_path_factory, parts, data):
    folder = tmp_path_factory.mktemp("grown")
    one, two = folder / "one.jsonl", folder / "two.jsonl"
    one.write_bytes(say("a"))
    for part in parts:
        append(one, part)
        if data.draw(st.booleans()):
            redact(one, state=folder / "state")
    redact(one, state=folder / "state")
    two.write_bytes(say("a") + b"".join(parts))
    redact(two, state=folder / "other")
    assert one.read_bytes() == two.read_bytes()
