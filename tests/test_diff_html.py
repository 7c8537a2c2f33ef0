"""The page about a comparison: it needs nothing else, and text of sessions does nothing in it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from sesstool.api import diffing
from sesstool.cli import main
from sesstool.diff.compare import Change
from sesstool.diff.words import Piece
from sesstool.report import diff_html
from sesstool.report.difference import Row, Rows, outline

EVIL = (
    "</script><img src=x onerror=alert(1)><style>*{display:none}</style></div></details>"
    "\x00\x1b[31m \u202eknul\u202c a\u200bb {{ 7 * 7 }} {% raw %} &amp; </DEL> \ufeff"
)
VISIBLE = "␀␛[31m <U+202E>knul<U+202C> a<U+200B>b {{ 7 * 7 }} {% raw %} &amp; </DEL> <U+FEFF>"
LONG = "".join(f"line {n} of the song\n" for n in range(400))
_VOID = {"meta", "link", "br"}


class Page(HTMLParser):
    """Collects the elements of a page, and checks that each is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.words, self.text = [], [], [], text
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        self.words.append((data, list(self.open)))

    def of(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]

    def within(self, **wanted):
        """The text in elements with such an attribute."""
        return "".join(
            data
            for data, around in self.words
            if any(wanted.items() <= attrs.items() for _, attrs in around)
        )


def said(role, text):
    return {"role": role, "content": text}


def call(name, arguments, id_="call_1"):
    made = {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "content": None, "tool_calls": [made]}


def result(text, id_="call_1"):
    return {"role": "tool", "tool_call_id": id_, "content": text}


SHARED = [said("user", "Light the lanterns."), said("assistant", "All of them?")]
LEFT = [
    said("user", f"Yes, the left ones. {EVIL}"),
    call("Write", '{"path": "/srv/\u202emill", "text": "oil"}'),
    result("written"),
    said("assistant", LONG),
]
RIGHT = [
    said("user", f"Yes, the right ones. {EVIL}"),
    call("Write", '{"path": "/srv/\u202emill", "text": "wick"}'),
    result("written"),
    said("assistant", LONG.replace("line 200 ", "verse 200 ")),
    said("user", "Thanks."),
]


@pytest.fixture
def pair(tmp_path):
    """Writes two sessions that begin alike, and gives their names."""

    def write(left, right):
        names = []
        for name, said_ in (("<b>left", left), ("right", right)):
            path = tmp_path / f"{name}.jsonl"
            path.write_text("".join(json.dumps(row) + "\n" for row in SHARED + said_))
            names.append(diffing.Name(path))
        return names

    return write


@pytest.fixture
def page(pair):
    """The page about two sessions."""

    def render(left, right):
        with diffing.diff(*pair(left, right)) as found:
            return Page("".join(diff_html.page(found)))

    return render


def test_the_page_needs_nothing_else(page):
    """No script, nothing from elsewhere, and a policy that forbids both."""
    shown = page(LEFT, RIGHT)
    for tag in ("script", "link", "img", "iframe", "object", "base", "form"):
        assert not shown.of(tag)
    for _, attrs in shown.elements:
        assert not [name for name in attrs if name == "src" or name.startswith("on")]
        assert attrs.get("href", "#").startswith("#")
    for fetching in ("url(", "@import", "@font-face", "http:", "https:"):
        assert fetching not in shown.text
    policy = {"http-equiv": "Content-Security-Policy"}
    (content,) = [m["content"] for m in shown.of("meta") if policy.items() <= m.items()]
    assert content.startswith("default-src 'none'; style-src 'unsafe-inline'")


def test_every_link_has_a_target(page):
    """Each difference has a link to itself, to the one before and to the one behind it."""
    shown = page(LEFT, RIGHT)
    ids = [attrs["id"] for _, attrs in shown.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    links = [a["href"][1:] for a in shown.of("a")]
    assert set(links) <= set(ids)
    labels = {a["aria-labelledby"] for _, a in shown.elements if "aria-labelledby" in a}
    assert labels <= set(ids)
    numbers = sorted(id_ for id_ in ids if re.fullmatch(r"d\d+", id_))
    assert numbers == ["d1", "d2", "d3", "d4"]
    steps = [(a["rel"], a["href"]) for a in shown.of("a") if "rel" in a]
    assert [href for rel, href in steps if rel == "prev"] == ["#d1", "#d2", "#d3"]
    assert [href for rel, href in steps if rel == "next"] == ["#d2", "#d3", "#d4"]


def test_the_page_can_be_read_by_everybody(page):
    """Language, landmarks, headings in order, and scopes in every table."""
    shown = page(LEFT, RIGHT)
    assert shown.of("html") == [{"lang": "en"}]
    assert shown.of("a")[0] == {"class": "skip", "href": "#differences"}
    for landmark in ("header", "main", "nav", "footer"):
        assert len(shown.of(landmark)) == 1
    levels = [int(tag[1]) for tag, _ in shown.elements if re.fullmatch("h[1-6]", tag)]
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert {attrs["scope"] for attrs in shown.of("th")} == {"col", "row"}


def test_what_changed_is_marked_by_words(page):
    """Deletions stand on the left, insertions on the right, each beside its sign."""
    shown = page([said("user", "one two three")], [said("user", "one 2 three")])
    marks = [(data, around[-1][0]) for data, around in shown.words if around]
    assert [mark for mark in marks if mark[1] in ("del", "ins")] == [("two", "del"), ("2", "ins")]
    assert "~ 1 USER" in " ".join(shown.within(id="d1").split())
    assert "- left, line 3 one two three" in " ".join(shown.within(id="d1").split())
    assert "+ right, line 3 one 2 three" in " ".join(shown.within(id="d1").split())


def test_spaces_that_changed_are_seen(page):
    shown = page([said("user", "a\tb\nc")], [said("user", "a b c")])
    marks = [data for data, around in shown.words if around and around[-1][0] in ("del", "ins")]
    assert marks == ["␉\t", "␊\n", " ", " "]


def test_hostile_text_is_harmless_and_seen(page):
    """Markup, template code, control and bidi characters stand there as text."""
    shown = page(LEFT, RIGHT)
    assert all(char.isprintable() or char == "\n" for char in shown.text)
    words = "".join(data for data, _ in shown.words)
    assert words.count(EVIL[: EVIL.index("\x00")] + VISIBLE) == 2
    assert words.count("<b>left.jsonl") == 1
    assert "/srv/<U+202E>mill" in words
    assert len(shown.of("style")) == 1


@pytest.mark.parametrize("evil", ["\ud800", "\x00", "\u202e", "\U000e0041", "\u2028", "\x85", "\r"])
def test_any_character_can_be_written(page, evil):
    """In texts, names of tools and of fields, and in the folds of long texts."""
    long = f"{evil} line\n" * 100
    rows = [call(f"tool{evil}", json.dumps({evil: evil})), result(long)]
    shown = page(rows, [])
    assert evil not in shown.text
    assert shown.text.encode()


def test_a_huge_text_stays_folded(page):
    """Of one without lines so much is seen as fills a screen, and the rest is there."""
    shown = page([said("assistant", "x" * 100_000), said("assistant", LONG)], [])
    row = [w for w in shown.words if any(a.get("id") in ("d1", "d2") for _, a in w[1])]
    seen = "".join(d for d, around in row if all(tag != "details" for tag, _ in around))
    assert len(seen) < 3000
    everything = "".join(data for data, _ in row)
    assert "x" * 98_400 in everything
    assert everything.count("of the song") == 400
    assert "98400 more characters" in everything
    assert "384 more lines" in everything
    assert shown.of("details").count({"class": "open"}) == 2


def test_equal_lines_around_a_change_are_folded(page):
    """Three lines before and behind it are seen; what is folded is no difference."""
    shown = page(LEFT, RIGHT)
    summaries = [data for data, around in shown.words if around and around[-1][0] == "summary"]
    assert summaries == ["List of 4 differences"] + ["197 equal lines", "196 equal lines"] * 2
    assert {} in shown.of("details")
    assert {"class": "open"} not in shown.of("details")
    seen = "".join(
        data
        for data, around in shown.words
        if ("div", {"class": "text"}) in around and all(tag != "details" for tag, _ in around)
    )
    assert re.findall(r"(?:line|verse) (\d+) of", seen) == [*map(str, range(197, 204))] * 2


@pytest.mark.parametrize("changed", [False, True])
def test_folding_loses_nothing(changed):
    """The blocks of a text are the text, whatever its lines are."""
    texts = ["", "\n", "a", "a\n" * 50, "b" * 950, "b c " * 300 + "\n", "\n\n" * 30]
    pieces = [Piece(sign, one + two) for one in texts for two in texts for sign in "=-="]
    blocks = list(diff_html._blocks(pieces, changed=changed))
    for sign in "=-":
        wanted = "".join(p.text for p in pieces if p.sign == sign)
        shown = "".join(p.text for block in blocks for p in block.pieces if p.sign == sign)
        assert shown.replace("␊", "") == wanted
    assert sum(bool(block.label) for block in blocks) > 20


def test_the_head_says_what_is_compared(page):
    words = " ".join(" ".join(data for data, _ in page(LEFT, RIGHT).words).split())
    for part in (
        "4 differences between two sessions",
        "6 records, 6 units compared",
        "They share 2 units from the beginning on and fork behind line 2 on the left",
        "messages 2 2 0 0 1",
        "tool calls 0 1 0 0 0",
        "tool results 1 0 0 0 0",
        "all 3 3 0 0 1",
        "Left, behind the fork: 1 call",
        "Touched by both: 1 file",
        "fork point",
    ):
        assert part in words


def test_a_call_leads_to_its_difference(page):
    """What changed the world links to the row in which it is told, on both sides."""
    left = [said("user", "no"), call("Write", '{"path": "/a"}', "call_7"), result("ok", "call_7")]
    shown = page(left, [call("Delete", '{"path": "/b"}', "call_8"), result("ok", "call_8")])
    links = [a["href"][1:] for a in shown.of("a") if "class" not in a and "rel" not in a]
    first, second = links[1:3]
    assert "TOOL CALL Write" in shown.within(id=first)
    assert "TOOL CALL Delete" in shown.within(id=second)


def test_the_outline_is_that_of_the_rows(pair):
    """Of changed, moved and new units the list has the same signs and places."""
    block = [said("user", f"verse {n}: " + "la " * n) for n in range(4, 9)]
    rest = [said("assistant", f"chorus {n}: " + "lo " * n) for n in range(4, 14)]
    names = pair([LEFT[0], *block, *rest], [RIGHT[0], *rest, *block, said("user", "Thanks.")])
    with diffing.diff(*names) as found:
        assert min(found.counts[kind] for kind in ("changed", "moved", "right")) > 0
        told = [row for row in Rows(found) if isinstance(row, Row) and row.number]
        assert [row.number for row in told] == list(range(1, len(told) + 1))
        for row, (sign, *units) in zip(told, outline(found), strict=True):
            assert row.sign == sign
            for side, cell, unit in zip((found.left, found.right), row[1:3], units, strict=True):
                assert (cell and cell.line) == (None if unit is None else side.line(unit))


def test_what_moved_is_told_twice(page):
    """Both rows have numbers that the list and the totals know."""
    block = [said("user", f"verse {n}: " + "la " * n) for n in range(4, 9)]
    rest = [said("assistant", f"chorus {n}: " + "lo " * n) for n in range(4, 14)]
    shown = page(block + rest, rest + block)
    words = " ".join("".join(data for data, _ in shown.words).split())
    assert "10 differences between two sessions" in words
    assert len(re.findall(r"[<] \d+ USER moved, here on the left", words)) == 5
    assert len(re.findall(r"[>] \d+ USER moved, here on the right", words)) == 5
    assert "moved: line 13 there" in shown.within(id="d1") + shown.within(id="d6")
    assert len([a for _, a in shown.elements if re.fullmatch(r"d\d+", a.get("id", ""))]) == 10


def test_sessions_that_say_the_same(page):
    shown = page(LEFT, LEFT)
    words = "".join(data for data, _ in shown.words)
    assert "No difference between two sessions" in words
    assert "Both say and do the same: 6 units." in words
    assert not shown.of("nav")


def test_a_list_too_long_says_so(page, monkeypatch):
    monkeypatch.setattr(diff_html, "_LISTED", 3)
    shown = page(LEFT, RIGHT)
    assert len(shown.of("nav")) == 1
    assert len([a for a in shown.of("a") if a["href"] == "#d4"]) == 2
    assert "1 more, not in this list" in "".join(
        d for d, around in shown.words if ("nav", shown.of("nav")[0]) in around
    )


def luminance(color):
    color = color if len(color) == 6 else "".join(c * 2 for c in color)
    parts = [int(color[n : n + 2], 16) / 255 for n in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_the_colours_contrast(page):
    """By light, by night and on paper 4.5 at the least, also of text that is marked."""
    palettes = [
        dict(re.findall(r"--(\w+): #(\w+)", block))
        for block in re.findall(r":root \{(.*?)\}", page(LEFT, RIGHT).text, re.DOTALL)
    ]
    assert len(palettes) == 3
    tones = [
        (tone, ground)
        for tone in ("ink", "soft", "link", "left", "right", "both", "moved")
        for ground in ("page", "band")
    ]
    for colors in palettes:
        for pair in [*tones, ("ink", "del"), ("ink", "ins")]:
            low, high = sorted(luminance(colors[name]) for name in pair)
            assert (high + 0.05) / (low + 0.05) >= 4.5, pair


def test_the_command_writes_the_page_once(pair, tmp_path, capsys):
    """The same bytes each time, and no file is written over."""
    names = [str(name) for name in pair(LEFT, RIGHT)]
    pages = [tmp_path / "one.html", tmp_path / "two.html"]
    for path in pages:
        assert main.run(["diff", *names, "--stat", "--html", str(path)]) == 1
    one, two = (path.read_bytes() for path in pages)
    assert one == two
    assert one.decode().startswith("<!doctype html>")
    assert main.run(["diff", *names, "--html", str(pages[0])]) == 6
    assert "exists already" in capsys.readouterr().err
    assert pages[0].read_bytes() == one


def test_forks_of_real_clients(shared):
    """Their pages are whole, and say as many differences as there are rows."""
    clients = shared / "corpus" / "real-clients"
    folders = [
        clients / "claude-code" / "2.1.332" / "fork",
        clients / "codex" / "0.171.0" / "fork",
    ]
    for folder in folders:
        files = sorted(folder.rglob("*.jsonl"))
        assert len(files) == 2
        with diffing.diff(*map(diffing.Name, files)) as found:
            shown = Page("".join(diff_html.page(found)))
        rows = [a for _, a in shown.elements if re.fullmatch(r"d\d+", a.get("id", ""))]
        counts = found.counts
        assert len(rows) == sum(counts[kind] for kind in ("changed", "left", "right"))
        assert len(shown.of("p")) > 10


def test_what_was_not_compared_is_told(pair):
    """A reader of the page alone must know what it leaves out, and of which side."""
    left, right = pair(LEFT, RIGHT)
    with right.path.open("ab") as file:
        file.write(b'{"role": "user", "content": "torn')
    with diffing.diff(left, right) as found:
        found.left.missing = "session <i>x</i> is not found"
        text = "".join(diff_html.page(found))
    ours, theirs = text.split('<section class="card right"')
    assert "1 piece that cannot be read as a record: not compared" in theirs
    assert "1 piece" not in ours
    assert "session &lt;i&gt;x&lt;/i&gt; is not found: what stands there is not compared" in ours


def test_a_page_where_only_envelopes_differ(pair):
    with diffing.diff(*pair(LEFT, [*LEFT]), told=frozenset(diffing.FACTS)) as found:
        said_ = diff_html.page(replace(found, changes=(Change("changed", 0, 1, 0, 1),)))
        assert "They say the same, in other envelopes." in "".join(said_)
