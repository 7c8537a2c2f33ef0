"""Text made safe to show, and the structure of a record."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sesstool.text import _KEPT, _SHOWN, elide, from_here, quoted, safe, structure, width

RECORD = json.dumps(
    {
        "type": "assistant",
        "uuid": "a-1",
        "message": {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "the launch word is swordfish"},
                {"type": "tool_use", "id": "toolu_01", "name": "Bash", "input": {"name": "Anna"}},
            ],
        },
        "count": 4711,
    },
    separators=(",", ":"),
).encode()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ä 漢", "plain ä 漢"),
        ("\x1b[31mred", "␛[31mred"),
        ("a\nb\tc\0", "a␊b␉c␀"),
        ("\x7f\x9b", "␡<U+009B>"),
        ("x\u202ey", "x<U+202E>y"),
        ("x\u200by\ufeff", "x<U+200B>y<U+FEFF>"),
        ("\u2028\udc80", "<U+2028><U+DC80>"),
        ("\u3164", "<U+3164>"),
        ("no\u00a0break", "no\u00a0break"),
    ],
)
def test_safe_shows_what_could_act(text, shown):
    """Characters that act on a terminal, or hide, are made visible; others stay."""
    assert safe(text) == shown


@given(st.text())
def test_safe_text_can_be_printed_and_encoded(text):
    """Whatever comes in, the result has no control character and is valid UTF-8."""
    shown = safe(text)
    shown.encode()
    assert all(c.isprintable() or c.isspace() for c in shown)
    assert safe(shown) == shown


def test_width_counts_cells():
    """A wide character takes two cells, a combining one none."""
    assert width("ab") == 2
    assert width("漢a") == 3
    assert width("e\u0301") == 1


@pytest.mark.parametrize(
    ("text", "cells", "shown"),
    [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("漢字", 3, "漢…"), ("漢字", 2, "…")],
)
def test_elide_keeps_to_the_width(text, cells, shown):
    """A text that does not fit ends in an ellipsis inside the given width."""
    assert elide(text, cells) == shown


def test_structure_shows_ids_and_no_text():
    """Ids and enumerations are shown; texts, numbers and a tool's own data are not."""
    line, first, last = structure(RECORD, 0, len(RECORD), 400)
    assert line == (
        '{"type":"assistant","uuid":"a-1","message":{"role":"assistant","content":'
        '[{"type":"text","text":"…"},{"type":"tool_use","id":"toolu_01","name":"Bash",'
        '"input":{"name":"…"}}]},"count":…}'
    )
    assert (first, last) == (0, len(line))


def test_a_tools_own_data_ends_where_it_ends():
    """Below `input` nothing is shown however deep, and behind it ids are shown again."""
    raw = b'{"input":{"a":[{"id":"x"}],"name":"Anna"},"name":"Bash"}'
    line = structure(raw, 0, 1, 200)[0]
    assert line == '{"input":{"a":[{"id":"…"}],"name":"…"},"name":"Bash"}'


def test_structure_underlines_the_range():
    """The cells that come back are those of what stands for the range."""
    start = RECORD.index(b'{"type":"tool_use"')
    end = RECORD.index(b"]},")
    line, first, last = structure(RECORD, start, end, 400)
    assert line[first:last] == (
        '{"type":"tool_use","id":"toolu_01","name":"Bash","input":{"name":"…"}}'
    )


def test_structure_keeps_the_range_in_sight():
    """A narrow line shows the range and what is next to it on both sides."""
    start = RECORD.index(b'"toolu_01"')
    line, first, last = structure(RECORD, start, start + 10, 40)
    assert line[first:last] == '"toolu_01"'
    assert line.startswith("…")
    assert line.endswith("…")
    assert '"id":' in line[:first]
    assert line[last:].startswith(',"name":')
    assert width(line) <= 40


def test_structure_shows_text_when_asked():
    """With show_text the strings are there, and cannot act on the terminal."""
    raw = b'{"text":"swordfish \\u001b","raw":"a\x1b[0m"}'
    line, _, _ = structure(raw, 0, 1, 200, show_text=True)
    assert line == '{"text":"swordfish \\u001b","raw":"a␛[0m"}'


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"", " "),
        (b"\0" * 512, "…512 bytes…"),
        (b'{"type":"user","text":"swordf', '{"type":"user","text":…7 bytes…'),
        (b'{"a":NaN,"b":tru}', '{"a":NaN,"b":…3 bytes…}'),
        (b'{"what was said":"x"}', '{"…":"…"}'),
        (b'{"id":"two words"}', '{"id":"…"}'),
        (b'{"id":"\xff"}', '{"id":"…"}'),
    ],
)
def test_structure_of_broken_records(raw, shown):
    """What is no JSON is counted in bytes, and what may be text is elided."""
    assert structure(raw, 0, 0, 200)[0] == shown


def test_structure_does_not_read_the_head_of_a_giant_line():
    """Far into a line the bytes before the range are only counted, and no value is shown."""
    raw = b'{"pad":"' + b"x" * (1 << 20) + b'","id":"call-7"}'
    start = raw.index(b'"id"')
    line, first, last = structure(raw, start, start + 4, 80)
    assert line == f'…{start} bytes…"id":"…"}}'
    assert line[first:last] == '"id"'


def test_structure_without_the_head():
    """Nobody knows whose the values are: none is shown, and what stands before is left out."""
    raw = b'"type":"x","id":"call-7"},{"id":"call-8"}'
    start = raw.index(b'"id"')
    line, first, last = structure(raw, start, start + 4, 80, headless=True)
    assert line == '…"id":"…"},{"id":"…"}'
    assert line[first:last] == '"id"'


@given(st.binary(), st.integers(0, 50), st.integers(0, 50), st.integers(1, 60), st.booleans())
def test_structure_never_fails(raw, start, length, max_width, show_text):
    """Any bytes give one printable line, and a place in it of at least one cell."""
    line, first, last = structure(raw, start, start + length, max_width, show_text=show_text)
    assert safe(line) == line
    assert 0 <= first < last <= width(line)
    assert width(line) <= max(max_width, 4)


def test_a_path_in_a_command_is_one_word():
    """A file's name never runs as a command when a person pastes what is shown."""
    assert quoted("$(id) x.jsonl") == "'$(id) x.jsonl'"


def test_a_path_that_cannot_be_shown_is_still_the_path_where_it_is_pasted():
    """A newline, an escape, a mark or a byte that is no UTF-8 comes back from what is shown."""
    odd = "/srv/it's\\ a\n\x1b[31m\u202epath\udcff"
    assert safe(quoted(odd)) == quoted(odd)
    said = subprocess.run(
        ["bash", "-c", f"printf %s {quoted(odd)}"], capture_output=True, check=True
    )
    assert said.stdout == os.fsencode(odd)


def test_little_is_remembered_of_what_is_shown():
    """Whatever characters a text has, few of them are kept to be shown again."""
    text = "\x1b" + "".join(map(chr, range(0x20000)))
    assert len(safe(text)) > len(text)
    assert len(_SHOWN) <= _KEPT


def test_a_path_is_said_from_here_or_from_home(tmp_path, monkeypatch):
    """What is below this folder, or below home, is said from there; all else whole, and safely."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert from_here("a.jsonl") == "a.jsonl"
    assert from_here(tmp_path / "here" / "a\x1b.jsonl") == "a␛.jsonl"
    assert from_here(tmp_path / "b.jsonl") == "~/b.jsonl"
    assert from_here("/elsewhere/c.jsonl") == "/elsewhere/c.jsonl"
