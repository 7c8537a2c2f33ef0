"""What changed inside a text."""

import random
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sesstool.diff import words as module
from sesstool.diff.words import lines, words

BOTH = pytest.mark.parametrize("compare", [words, lines])


def _shown(pieces):
    """The pieces as one text: what is gone in brackets, what is new in braces."""
    marks = {"=": "{}", "-": "[{}]", "+": "{{{}}}"}
    return "".join(marks[sign].format(text) for sign, text in pieces)


def _side(pieces, sign):
    return "".join(piece.text for piece in pieces if piece.sign in ("=", sign))


def _check(compare, left, right):
    """The pieces, which make up both texts and are mirrored when the sides change."""
    pieces = compare(left, right)
    assert _side(pieces, "-") == left
    assert _side(pieces, "+") == right
    signs = "".join(piece.sign for piece in pieces)
    assert not any(pair in signs for pair in ("==", "--", "++", "+-"))
    assert all(piece.text for piece in pieces)
    back = [(sign.translate({43: "-", 45: "+"}), text) for sign, text in compare(right, left)]
    assert sorted(back) == sorted(pieces)
    assert [p for p in back if p[0] == "="] == [p for p in pieces if p.sign == "="]
    return pieces


@pytest.mark.parametrize(
    ("left", "right", "shown"),
    [
        ("", "", ""),
        ("lit", "lit", "lit"),
        ("", "lit", "{lit}"),
        ("lit", "", "[lit]"),
        ("the lamp burns", "the oil burns", "the [lamp]{oil} burns"),
        ("light the lamp now", "light an oil lamp now", "light [the ]{an oil }lamp now"),
        ("one two three", "four five six", "[one two three]{four five six}"),
        ("f(lamp, oil)", "f(lamp, wax)", "f(lamp, [oil]{wax})"),
        ("lamp_one", "lamp_two", "lamp_[one]{two}"),
        ("lamp1", "lamp2", "[lamp1]{lamp2}"),
        ("a  b", "a b", "a[  ]{ }b"),
        ("a\nb", "c\nd", "[a]{c}\n[b]{d}"),
        ("a\r\nb", "a\nb", "a[\r\n]{\n}b"),
        ("灯火很亮", "灯光很亮", "灯[火]{光}很亮"),
        ("ランプ", "ランタ", "ラン[プ]{タ}"),
        ("naïve", "naive", "[naïve]{naive}"),
        ("cafe\u0301 x", "cafe x", "[cafe\u0301]{cafe} x"),
        ("x👩‍🚀y", "x👩‍🔧y", "x[👩‍🚀]{👩‍🔧}y"),
        ("👍🏽", "👍🏿", "[👍🏽]{👍🏿}"),
        ("🇩🇪🇫🇷", "🇩🇪🇫🇮", "🇩🇪[🇫🇷]{🇫🇮}"),
        ("\ud83d\ude00", "\ud83d\ude01", "[\ud83d\ude00]{\ud83d\ude01}"),
    ],
)
def test_the_words_that_changed_are_told(left, right, shown):
    assert _shown(_check(words, left, right)) == shown


@pytest.mark.parametrize(
    ("left", "right", "shown"),
    [
        ("one\ntwo\n", "one\ntwo\n", "one\ntwo\n"),
        ("one\ntwo\n", "one\nsix\ntwo\n", "one\n{six\n}two\n"),
        ("a\nlight the lamp\nz\n", "a\nlight the oil\nz\n", "a\nlight the [lamp]{oil}\nz\n"),
        ("a\nlight the lamp\nz\n", "a\nput it out\nz\n", "a\n[light the lamp\n]{put it out\n}z\n"),
        (
            "a\nlight the lamp\nz\n",
            "a\nfirst of all\nlight the oil\nz\n",
            "a\n{first of all\n}light the [lamp]{oil}\nz\n",
        ),
        (
            "the old lamp burns\nthe new lamp burns\n",
            "the new lamp smokes\nthe old lamp smokes\n",
            "[the old lamp burns\n]the new lamp [burns]{smokes}\n{the old lamp smokes\n}",
        ),
        ("end", "end\n", "end{\n}"),
        (
            "in May the old lamp burns\n",
            "at six the old lamp burns\n",
            "[in May]{at six} the old lamp burns\n",
        ),
        ("a\u2028b\n", "a\u2028c\n", "a\u2028[b]{c}\n"),
    ],
)
def test_the_lines_that_changed_are_told(left, right, shown):
    assert _shown(_check(lines, left, right)) == shown


ALPHABET = "ab \n.,_\u0301é火🇩🇪\u200d👩\ud83d\ude00\r"
TEXTS = st.text(ALPHABET, max_size=30) | st.text(max_size=20)


@BOTH
@given(left=TEXTS, right=TEXTS)
@example(left="a.b", right="b.a")
def test_pieces_make_up_both_texts(compare, left, right):
    _check(compare, left, right)


@BOTH
@given(text=TEXTS)
def test_a_text_has_no_change_from_itself(compare, text):
    assert compare(text, text) == ([("=", text)] if text else [])


def _cuts(pieces, sign):
    at = 0
    for piece in pieces:
        if piece.sign in ("=", sign):
            yield at
            at += len(piece.text)


@given(TEXTS, TEXTS)
def test_no_piece_begins_inside_a_character(left, right):
    for sign, text in (("-", left), ("+", right)):
        for at in _cuts(words(left, right), sign):
            assert at == 0 or not unicodedata.category(text[at]).startswith("M")
            assert at == 0 or text[at - 1] != "\u200d"
            assert not "\udc00" <= text[at] <= "\udfff" or at == 0


def _talk(seed, count, between=" "):
    chance = random.Random(seed)
    return between.join(f"word{chance.randrange(500)}" for _ in range(count))


@pytest.fixture
def given_to_align(monkeypatch):
    """How many values the alignment was given, call by call."""
    seen, inner = [], module.align

    def align(left, right):
        seen.append(len(left) + len(right))
        return inner(left, right)

    monkeypatch.setattr(module, "align", align)
    return seen


def test_a_word_in_a_line_of_ten_megabytes_is_found(given_to_align):
    text = _talk(1, 1_250_000)
    at = text.index(" ", 5_000_000)
    pieces = words(text, text[:at] + " lamp" + text[at:])
    assert [p for p in pieces if p.sign != "="] == [("+", "lamp ")]
    assert sum(given_to_align) < 100


def test_ideographs_in_a_long_line_are_found():
    text = "灯火" * 150_000
    pieces = _check(words, text[:200_000] + "光" + text[200_000:], text)
    assert [p for p in pieces if p.sign != "="] == [("-", "光")]


def test_marks_stay_with_their_letters_in_a_long_line():
    left, right = ("e\u0301" * 100_000 + tail for tail in ("e\u0301a", "e\u0302a"))
    pieces = _check(words, left, right)
    assert [p.text[-2:] for p in pieces] == ["e\u0301", "e\u0301", "e\u0302", "a"]


def test_a_long_text_with_nothing_in_common_is_replaced_as_a_whole(given_to_align):
    left, right = "a b " * 2_500_000, "c d " * 2_500_000
    assert words(left, right) == [("-", left), ("+", right)]
    assert given_to_align == []


def test_a_long_text_of_lines_is_compared_by_lines(given_to_align):
    line = [f"light the lamp {n}\n" for n in range(400_000)]
    other = list(line)
    other[200_000] = "light the oil 200000\n"
    pieces = words("".join(line), "".join(other))
    assert [p for p in pieces if p.sign != "="] == [("-", "lamp"), ("+", "oil")]
    assert given_to_align == [800_000, 16]


def test_the_words_of_very_many_lines_are_not_looked_at(given_to_align):
    left, right = (
        "".join(f"{n}\nlight the {word} {n}\n" for n in range(100_000)) for word in ("lamp", "oil")
    )
    pieces = lines(left, right)
    assert ("-", "lamp") in pieces
    assert ("-", " lamp ") in pieces  # here only the equal ends were looked for
    assert sum(given_to_align[1:]) < module._WORK


def test_lines_beyond_a_bound_are_not_cut_at_their_ends(monkeypatch):
    monkeypatch.setattr(module, "_WORK", 0)
    monkeypatch.setattr(module, "_CUTS", 1)
    assert _shown(lines("a b c\n=\na b c\n", "a x c\n=\na x c\n")) == (
        "a[ b ]{ x }c\n=\n[a b c\n]{a x c\n}"
    )


def test_of_too_many_lines_only_equal_ends_are_found(given_to_align, monkeypatch):
    monkeypatch.setattr(module, "_MOST_LINES", 5)
    pieces = lines("a\nb\nc\n", "a\nx\nc\n")
    assert _shown(pieces) == "a[\nb\n]{\nx\n}c\n"
    assert given_to_align == []
    assert _shown(lines("a\nb\nc\n", "a\nx\nc")) == "a\n[b\n]{x\n}c[\n]"
    assert given_to_align


def test_a_word_that_changed_in_each_of_many_lines_is_found_in_each():
    left, right = (
        "".join(f"light the {word} {n}\n" for n in range(1_000)) for word in ("lamp", "oil")
    )
    assert [p.text for p in lines(left, right) if p.sign != "="] == ["lamp", "oil"] * 1_000


def test_many_lines_against_many_are_not_searched_for_like_ones(given_to_align):
    left, right = _talk(1, 100_000, "\n").replace("w", "x"), _talk(2, 99_000, "\n")
    assert lines(left, right) == [("-", left), ("+", right)]
    assert given_to_align == [199_000]


@BOTH
@given(left=TEXTS, right=TEXTS, long=st.integers(0, 12), work=st.sampled_from([0, 300, 900, 3000]))
def test_pieces_make_up_both_texts_beyond_every_bound(compare, left, right, long, work):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_LONG", long)
        patch.setattr(module, "_WORK", work)
        patch.setattr(module, "_EACH", 20)
        patch.setattr(module, "_WINDOW", 3)
        patch.setattr(module, "_CUTS", work % 7)
        patch.setattr(module, "_MOST_LINES", long)
        _check(compare, left, right)
