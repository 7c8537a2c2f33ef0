"""What a text says under its encodings, and where that stands in the text."""

import base64
import json
import urllib.parse

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sesstool.privacy.views import SEAM, View, Views

VALUES = st.text('abcXYZ0189 _-.:/@"\\ñ→🚀', min_size=1, max_size=40).map(
    lambda text: f"the beginning <{text}> and the end"
)


def _json(text, draw):
    style = draw(st.sampled_from(["ascii", "utf8", "slash", "all"]))
    if style == "all":
        units = text.encode("utf-16-be")
        return "".join(f"\\u{units[n : n + 2].hex()}" for n in range(0, len(units), 2))
    out = json.dumps(text, ensure_ascii=style == "ascii")[1:-1]
    return out.replace("/", "\\/") if style == "slash" else out


def _percent(text, draw):
    return urllib.parse.quote(text, safe=draw(st.sampled_from(["", "/:@"])))


def _terminal(text, draw):
    at = draw(st.integers(0, len(text)))
    code = draw(
        st.sampled_from(["\x1b[31m", "\x1b[0;1;38;5;120m", "\x1b]0;title\x07", "\x1b]8;;\x1b\\"])
    )
    return text[:at] + code + text[at:]


def _html(text, draw):
    quote = draw(st.sampled_from(["&quot;", "&#34;", "&#x22;"]))
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', quote)


def _escape(text, _draw):
    return "".join(f"\\x{byte:02x}" for byte in text.encode())


def _base64(text, draw):
    encode = draw(st.sampled_from([base64.b64encode, base64.urlsafe_b64encode]))
    digits = encode(text.encode("utf-8", "surrogatepass")).decode()
    return digits.rstrip("=") if draw(st.booleans()) else digits


def _hex(text, draw):
    digits = text.encode("utf-8", "surrogatepass").hex()
    return digits.upper() if draw(st.booleans()) else digits


CODINGS = {
    "json": _json,
    "percent": _percent,
    "terminal": _terminal,
    "html": _html,
    "escape": _escape,
    "base64": _base64,
    "hex": _hex,
}
# A terminal's sequence in another one makes no sense.
NESTED = st.lists(st.sampled_from(sorted(CODINGS)), max_size=4).filter(
    lambda codings: codings.count("terminal") < 2
)


def _found(text, value):
    """The spans in a text of what says a value in one of its views."""
    spans = set()
    for view in Views(View(text)):
        at = view.text.find(value)
        while at >= 0:
            spans.add(view.source(at, at + len(value)))
            at = view.text.find(value, at + 1)
    return spans


@settings(max_examples=300, deadline=None)
@given(st.data(), VALUES, NESTED)
def test_a_value_under_encodings_is_found_with_exactly_the_bytes_that_stand_for_it(
    data, value, codings
):
    encoded = value
    for coding in codings:
        encoded = CODINGS[coding](encoded, data.draw)
    before = data.draw(st.sampled_from(["", 'x = "', "see (", "line\n"]))
    behind = data.draw(st.sampled_from(["", '"', ")", "\nline"]))
    text = (before + encoded + behind).encode("utf-8", "surrogatepass")
    start = len(before.encode())
    span = (start, start + len(encoded.encode("utf-8", "surrogatepass")))
    assert _covers(_found(text, value.encode()), span, codings)


def _covers(spans, span, codings):
    if "terminal" not in codings:
        return span in spans
    # A sequence that begins or ends the value is no part of it.
    return any(span[0] <= start and end <= span[1] for start, end in spans)


def test_far_apart_escapes_bring_only_what_is_near():
    text = b"%41 " + b"word " * 10_000 + b"%42"
    plain, percent = list(Views(View(text)))
    assert plain.text is text
    assert percent.text.startswith(b"A word")
    assert percent.text.endswith(b"word B")
    assert SEAM in percent.text
    assert len(percent.text) < 2000
    at = percent.text.index(b"B")
    assert percent.source(at, at + 1) == (len(text) - 3, len(text))


@pytest.mark.parametrize("width", [64, 76])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n    ", "\n> "])
def test_base64_that_was_wrapped_is_one_run(width, end):
    secret = "the value of it stands in the middle of a longer text " * 6
    digits = base64.b64encode(secret.encode()).decode()
    lines = [digits[n : n + width] for n in range(0, len(digits), width)]
    block = end.join(lines)
    text = f"file:\n{block}\nend".encode()
    assert (6, 6 + len(block)) in _found(text, b"stands in the middle of a longer text")


def test_text_inside_binary_base64_is_found():
    digits = base64.b64encode(
        bytes(range(120, 256)) * 3 + b"user=somebody@kiln.fi ok" + b"\xff" * 90
    )
    found = _found(b"blob " + digits + b" end", b"somebody@kiln.fi")
    assert len(found) == 1
    assert all(start >= 5 and end <= 5 + len(digits) for start, end in found)


@pytest.mark.parametrize(
    "text",
    [
        b'{"uuid":"0b1f6f9e-3c55-4e1c-9a44-5f4f34b0a4f1","sha":"' + b"9a0b" * 10 + b'"}',
        b"/home/user/projects/compass/src/navigation/harbour_signals.py",
        b"toolu_01A09q90qw90lq917835lq9 msg_01XFDUDYJgAACzvnptvVoYEL",
    ],
)
def test_ids_hashes_and_paths_are_opened_as_nothing(text):
    assert len(list(Views(View(text)))) == 1


def test_views_are_bounded_and_say_so():
    text = b"\\" * 3000 + b"%25" * 2000 + b"&amp;" * 1000
    views = Views(View(text))
    total = sum(len(view.text) for view in views)
    assert total <= 18 * len(text)
    nested = Views(View(b"\\%255C&amp;\x1b[m" * 4000))
    assert sum(len(view.text) for view in nested) <= 18 * 16 * 4000


@given(st.binary(max_size=200).map(lambda raw: raw.replace(b"a", b"\\").replace(b"b", b"\\u00")))
def test_any_bytes_have_views_whose_spans_lie_in_the_text(raw):
    for view in Views(View(raw)):
        for at in range(len(view.text)):
            start, end = view.source(at, at + 1)
            assert 0 <= start <= end <= len(raw)


def test_a_long_text_maps_as_a_short_one():
    """Parts of a view are cut between encoded characters only."""
    for escape in ('\\"', "\\\\", "\\u0041", "\\ud83d\\ude00", "\\ud83dx", "\\n\\t "):
        text = (escape * 30_000).encode() + b" end"
        view = next(v for v in Views(View(text)) if v.chain == ("json",))
        plain = json.loads(f'"{escape}"').encode("utf-8", "surrogatepass")
        assert view.text == plain * 30_000 + b" end"
        at = view.text.index(b"end")
        assert view.source(at, at + 3) == (len(text) - 3, len(text))
