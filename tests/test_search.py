"""The scan: whatever a person can see in a session is found, however its bytes spell it."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import time
from datetime import UTC, datetime

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sesstool.errors import InputError, UsageError
from sesstool.records.source import CHUNK
from sesstool.search import scan as module
from sesstool.search import sieve
from sesstool.search.scan import Scan, may_hold, opened
from sesstool.search.wanted import Wanted, excerpt
from tests.conftest import answer, dump, jsonl, prompt, result, use

LETTERS = "lampkKſsSiİıß_09éÉяЯ日本🎐 \n\"\\/<-'"  # noqa: RUF001 - they count as s and i


def hits(path, text="lamp", *, limit=0, context=20, **how):
    with opened(path) as scan:
        return list(scan.hits(Wanted(text, **how), limit, context))


def lines(path, text="lamp", **how):
    return [hit.line for hit in hits(path, text, **how)]


def put(path, *records):
    path.write_bytes(jsonl(*records))
    return path


def spelled(text, seed):
    """A JSON string that says a text, with characters escaped here and there in all ways."""
    chance = random.Random(seed)
    parts = []
    for char in text:
        plain = json.dumps(char, ensure_ascii=False)[1:-1]
        codes = char.encode("utf-16-be")
        units = [codes[n : n + 2].hex() for n in range(0, len(codes), 2)]
        digits = "".join(f"\\u{u.upper() if chance.random() < 0.5 else u}" for u in units)
        also = "\\/" if char == "/" else plain
        parts.append(chance.choice((plain, plain, also, digits)))
    return f'"{"".join(parts)}"'


def record(words, seed, *, inside):
    """A line that says words, as a message or as an argument inside of a string."""
    if not inside:
        return f'{{"role":"user","content":{spelled(words, seed)}}}\n'
    given = spelled(f'{{"say":{spelled(words, seed + 1)}}}', seed)
    function = f'{{"name":"tell","arguments":{given}}}'
    call = f'{{"id":"c1","type":"function","function":{function}}}'
    return f'{{"role":"assistant","content":null,"tool_calls":[{call}]}}\n'


@settings(max_examples=150, deadline=None)
@given(
    st.text(LETTERS, min_size=1, max_size=12),
    st.text(LETTERS, max_size=6),
    st.integers(0, 1 << 16),
    st.booleans(),
    st.booleans(),
)
@example("lamp", "", 3, True, True)
@example("oil lamp", "\n", 5, True, False)
def test_every_spelling_is_found(tmp_path_factory, words, around, seed, inside, case):
    """A text is found however its characters are escaped, also in a string inside of a string."""
    if not words.strip():
        return
    path = tmp_path_factory.mktemp("spelled") / "chat.jsonl"
    body = record("%", 0, inside=False) + record(around + words + around, seed, inside=inside)
    path.write_text(body, encoding="utf-8")
    query = words if case else words.swapcase() if len(words.swapcase()) == len(words) else words
    wanted = Wanted(query, case=case)
    if wanted.within(module.Passage("message", "user", around + words + around), str) is None:
        return  # what swapping the case makes of it is another text
    assert lines(path, query, case=case) == [2]
    assert may_hold(str(path), wanted)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text("lampoil .\n日", max_size=8), max_size=12),
    st.text("lampoil .日", min_size=1).filter(str.strip),
)
def test_it_finds_what_reading_all_finds(tmp_path_factory, texts, query):
    """The lines that are found are those whose texts hold the query when all are decoded."""
    rows = [{"role": "user", "content": text} for text in ["begin", *texts]]
    path = put(tmp_path_factory.mktemp("all") / "chat.jsonl", *rows)
    words = " ".join(query.split())
    said = [" ".join(row["content"].replace("\n", " ").split()) for row in rows]
    assert lines(path, query) == [n for n, text in enumerate(said, 1) if words in text]


def test_ids_and_keys_are_not_found(tmp_path):
    """What no person reads does not count: names of members, ids, paths of the session."""
    path = put(tmp_path / "a.jsonl", prompt(1, None, "hello"), answer(2, 1, use("toolu_1", x=1)))
    for text in ("sessionId", "toolu_1", "beacon", "parentUuid"):
        assert lines(path, text) == []
    assert lines(path, "Bash") == [2]


@pytest.mark.parametrize(
    ("text", "how", "found"),
    [
        ("lamp", {}, [1, 2, 3, 4]),
        ("Lamp", {"case": True}, [1]),
        ("la.p\\b", {"regex": True}, [1, 2, 3, 4]),
        ("(?i)LAMP", {"regex": True, "case": True}, [1, 2, 3, 4]),
        ("no|lit", {"regex": True}, [1]),
        ("lamp", {"roles": {"user"}}, [1]),
        ("lamp", {"roles": {"assistant"}}, [2, 3]),
        ("lamp", {"roles": {"tool"}}, [4]),
        ("lamp", {"tools": {"bash"}}, [3, 4]),
        ("lamp", {"tools": {"read"}}, []),
        ("lamp", {"since": datetime(2026, 3, 1, 6, 0, 3, tzinfo=UTC)}, [3, 4]),
        ("lamp", {"until": datetime(2026, 3, 1, 6, 0, 3, tzinfo=UTC)}, [1, 2]),
        ("lamp  oil", {}, [1]),
    ],
)
def test_what_is_asked_for_must_hold(tmp_path, text, how, found):
    """Case, expressions, roles, tools and times narrow a search; blanks stand for any blanks."""
    path = put(
        tmp_path / "a.jsonl",
        prompt(1, None, "Lamp\noil lit"),
        answer(2, 1, {"type": "text", "text": "the lamp burns"}),
        answer(3, 2, use("t1", command="fill lamp")),
        result(4, 3, "t1", "lamp is full"),
    )
    assert lines(path, text, **how) == found


def test_a_hit_tells_where_it_stands(tmp_path):
    """A hit has its line, offset, time, tool and the words around it in one line."""
    rows = [
        prompt(1, None, "x"),
        answer(2, 1, use("t1", "Read", path="lens")),
        result(3, 2, "t1", f"{'a' * 50}\n the\tlamp {'b' * 50}"),
    ]
    (hit,) = hits(put(tmp_path / "a.jsonl", *rows), context=6)
    assert (hit.line, hit.start) == (3, len(jsonl(*rows[:2])))
    assert (hit.kind, hit.name, hit.time) == ("result", "Read", "2026-03-01T06:00:03.000Z")
    assert hit.excerpt == ("…the ", "lamp", " bbbbb…")


def test_hits_over_the_limit_are_counted(tmp_path):
    """So many hits are given as are asked for, and the lines behind them counted."""
    path = put(tmp_path / "a.jsonl", *(prompt(n, n - 1 or None, "lamp") for n in range(1, 8)))
    with opened(path) as scan:
        assert len(list(scan.hits(Wanted("lamp"), 3, 10))) == 3
        assert scan.searched.more == 4


def test_lines_across_blocks(tmp_path):
    """A line that begins in one block and ends in a later one is read whole, and counted right."""
    fill = [prompt(n, None, "x" * 5000) for n in range(1, 60)]
    long = prompt(60, None, "y" * 3 * CHUNK + " lamp")
    path = put(tmp_path / "a.jsonl", *fill, long, prompt(61, None, "lamp"))
    assert lines(path) == [60, 61]
    assert may_hold(str(path), Wanted("lamp"))
    assert not may_hold(str(path), Wanted("lantern"))


@pytest.mark.parametrize("shift", range(0, 12, 3))
def test_a_word_across_blocks_of_a_long_line(tmp_path, shift):
    """A word that the end of a block cuts is seen, in a line that no block holds."""
    before = len(dump(prompt(1, None, "|")).split(b"|")[0])
    words = "x" * (CHUNK - before - shift) + " lampion" + "y" * CHUNK
    path = put(tmp_path / "a.jsonl", prompt(1, None, words))
    assert may_hold(str(path), Wanted("lampion"))
    assert lines(path, "lampion") == [1]


def test_a_line_too_long_is_told(tmp_path, monkeypatch):
    """A line over the limit is passed over and counted, and the rest is searched."""
    monkeypatch.setattr(module, "LONGEST", CHUNK)
    path = put(
        tmp_path / "a.jsonl",
        prompt(1, None, "lamp"),
        prompt(2, 1, "lamp" * CHUNK * 2),
        prompt(3, 2, "lamp"),
    )
    with opened(path) as scan:
        assert [hit.line for hit in scan.hits(Wanted("lamp"), 0, 10)] == [1, 3]
        assert scan.searched.long == 1


def test_damage_ends_no_search(tmp_path):
    """Records beside damage are found once each, and damaged ones that may say it are counted."""
    whole = [dump(prompt(n, n - 1 or None, f"lamp {n}")) for n in range(1, 6)]
    body = b"\n".join(
        [whole[0], whole[1] + whole[2], whole[3][:-3], b"lamp noise", whole[4], whole[4][:-3]]
    )
    path = tmp_path / "a.jsonl"
    path.write_bytes(body)
    with opened(path) as scan:
        found = [(hit.line, hit.excerpt.after) for hit in scan.hits(Wanted("lamp"), 0, 10)]
        assert found == [(1, " 1"), (2, " 2"), (2, " 3"), (5, " 5")]
        assert scan.searched.unread == 3


def test_a_record_over_several_lines(tmp_path):
    """A record that is printed over several lines is found by its first one."""
    rows = [{"role": "user", "content": "light"}, {"role": "user", "content": "the lamp"}]
    path = tmp_path / "chat.jsonl"
    path.write_text("".join(json.dumps(row, indent=2) + "\n" for row in rows))
    assert lines(path) == [5]


def test_packed_files_are_searched(tmp_path):
    """What is compressed is searched as if it were not."""
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(jsonl(prompt(1, None, "x"), prompt(2, 1, "lamp"))))
    assert may_hold(str(path), Wanted("lantern"))
    assert lines(path) == [2]


def test_utf16_is_told(tmp_path):
    """A file in UTF-16 cannot be searched, which is an error and not silence."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(jsonl(prompt(1, None, "lamp")).decode().encode("utf-16"))
    assert may_hold(str(path), Wanted("lamp"))
    with pytest.raises(InputError, match="UTF-16"):
        hits(path)


def test_few_lines_are_decoded(tmp_path, monkeypatch):
    """Lines without the query are not decoded, nor those where its words stand apart."""
    words = ["lamp oil", "lamp here", "oil and a lamp there", "rope", "lamp, oil", "lamp\noil"]
    path = put(tmp_path / "a.jsonl", *(prompt(n, None, one) for n, one in enumerate(words, 1)))
    seen = []
    of = Scan._of
    monkeypatch.setattr(Scan, "_of", lambda *a, **k: seen.append(a[3]) or of(*a, **k))
    assert lines(path, "lamp oil") == [1, 6]
    assert len(seen) == 3


@pytest.mark.parametrize("text", ["", "  \n"])
def test_nothing_is_not_looked_for(text):
    """A query of nothing is refused, for everything would match."""
    with pytest.raises(UsageError, match="nothing is looked for"):
        Wanted(text)


def test_a_bad_expression_is_refused():
    """An expression that cannot be read is an error of usage, with nothing on stderr."""
    with pytest.raises(UsageError, match="cannot be read"):
        Wanted("(", regex=True)


@pytest.mark.parametrize(
    "text",
    ["lamp", "(x)?lamp", "[a-z]amp?", "a{0}lamp", r"\x6camp", "l+amp", "^.*lamp$", "(lamp|no)"],
)
def test_expressions_are_found_by_what_they_need(tmp_path, text):
    """No expression is looked for by letters that a match of it can do without."""
    path = put(tmp_path / "a.jsonl", prompt(1, None, "rope"), prompt(2, 1, "lamp"))
    assert lines(path, text, regex=True) == [2]


def test_excerpts_are_short():
    """A long match is cut, and what is around it too, with an ellipsis for what is left out."""
    shown = excerpt("a" * 100 + "b" * 500 + "c" * 100, (100, 600), 5)
    assert shown == ("…aaaaa", "b" * 200 + "…", "ccccc…")


def test_a_pipe_is_not_waited_for(tmp_path):
    """A pipe in the place of a file is an error, and holds nothing up."""
    path = tmp_path / "a.jsonl"
    os.mkfifo(path)
    with pytest.raises(OSError, match="seek"):
        may_hold(str(path), Wanted("lamp"))


@given(st.lists(st.sampled_from([b"lamp", b"la", b"mp", b"x" * 9, b"\n", b"\\u006c", b"\n\n"])))
def test_windows_change_nothing(parts):
    """The same lines are found however few bytes are looked through at once."""
    data = b"".join(parts)
    of = Wanted("lamp").sieve
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sieve, "_WINDOW", 8)
        small = list(Wanted("lamp").sieve.lines(data, len(data)))
    assert small == list(of.lines(data, len(data)))
    every = [match.span() for match in re.finditer(rb"[^\n]+", data)]
    assert {*small} <= {*every}
    assert [span for span in every if of.may(data[slice(*span)])] == small


def test_a_line_with_a_million_hits_is_one_line():
    """A long line that says a word all over costs no more than one that says it once."""
    data = b"lamp " * (1 << 20) + b"\nlamp"
    begun = time.process_time()
    assert len(list(Wanted("lamp").sieve.lines(data, len(data)))) == 2
    assert time.process_time() - begun < 2


def test_long_queries(tmp_path, capfd):
    """Two very long words are found together, and what is longer than that is refused."""
    words = "a" * 1900 + " " + "b" * 1900
    path = put(tmp_path / "a.jsonl", prompt(1, None, words), prompt(2, 1, words[1:-1]))
    assert lines(path, words) == [1]
    assert not capfd.readouterr().err
    for regex in (False, True):
        with pytest.raises(UsageError, match=r"longer than 4,000 characters"):
            Wanted("lamp " * 801, regex=regex)
