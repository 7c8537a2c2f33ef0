"""Records out of damaged bytes: what is found, what is left over, and what the edits make of it."""

from __future__ import annotations

import json
import random
import time
import tracemalloc

import pytest

from sesstool.records.edits import EditSet
from sesstool.records.heal import Kind
from sesstool.records.recover import records, utf16
from tests.conftest import (
    Memory,
    bare,
    bare_call,
    bare_output,
    dump,
    jsonl,
    loads,
    prompt,
    said,
    talk,
)

ONE, TWO, THREE = (said("user", w) for w in ("one", 'two {not} a "record"', '{"role":"user"}'))
A, B, C = map(dump, (ONE, TWO, THREE))
# The beginning of a record, cut inside a string, in a key, and behind a comma.
STUBS = [b'{"role":"assistant","content":"half', b'{"role":"assistant","cont', b'{"role":"user",']
LATIN = '{"role":"user","content":"caf\xe9 cr\xe8me"}'.encode("latin-1")


def scan(data: bytes):
    """Kinds of defects in order, values, and the bytes after all edits."""
    found = list(records(Memory(data)))
    kinds = [d.kind for r in found for d in r.defects]
    edits = EditSet(e for r in found for d in r.defects for e in d.edits)
    return kinds, [r.value for r in found if r.value is not None], edits.apply(data)


DAMAGES = [
    pytest.param(jsonl(A, B, C), [], [A, B, C], id="sound"),
    pytest.param(jsonl(A, B + C), [Kind.GLUED], [A, B, C], id="glued"),
    pytest.param(jsonl(A + b" " + B + C), [Kind.GLUED] * 2, [A, B, C], id="glued-with-space"),
    pytest.param(A + B + C, [Kind.GLUED] * 2 + [Kind.NO_NEWLINE], [A, B, C], id="whole-file"),
    pytest.param(jsonl(A, b"\0" * 30 + B), [Kind.NUL], [A, B], id="nul-before"),
    pytest.param(jsonl(A + b"\0" * 30, B), [Kind.NUL], [A, B], id="nul-behind"),
    pytest.param(jsonl(A, b"\0" * 30, B), [Kind.NUL], [A, B], id="nul-line"),
    pytest.param(jsonl(A + b"\0\0" + B), [Kind.NUL], [A, B], id="nul-between"),
    pytest.param(jsonl(A[:9] + b"\0\0" + A[9:], B), [Kind.NUL], [A, B], id="nul-inside"),
    pytest.param(jsonl(A, B) + b"\0" * 9, [Kind.NUL], [A, B], id="nul-tail"),
    pytest.param(b"\0" * 9 + jsonl(A, B), [Kind.NUL], [A, B], id="nul-head"),
    pytest.param(b"\xef\xbb\xbf" + jsonl(A, B), [Kind.BOM], [A, B], id="bom"),
    pytest.param(jsonl(A, b"\xef\xbb\xbf" + B), [Kind.BOM], [A, B], id="bom-inside"),
    pytest.param(A + b"\r\n" + B + b"\r\n", [Kind.CRLF] * 2, [A, B], id="crlf"),
    pytest.param(jsonl(A) + B, [Kind.NO_NEWLINE], [A, B], id="no-newline"),
    pytest.param(jsonl(A, b"", b" \t", B), [Kind.BLANK] * 2, [A, B], id="blank-lines"),
    pytest.param(jsonl(A, b"null", b"[1]", b'"x"', b"7", B), [Kind.NOT_OBJECT] * 4, [A, B], id="n"),
    pytest.param(jsonl(A, b"WARN 9 %", B), [Kind.NOISE], [A, B], id="noise-line"),
    pytest.param(jsonl(A, b"WARN: {x} " + B), [Kind.NOISE], [A, B], id="noise-before"),
    pytest.param(jsonl(A, B + b" WARN: {x}"), None, [A, B], id="noise-behind"),
    pytest.param(jsonl(A, STUBS[0], B), [Kind.TORN], [A, B], id="torn-line"),
    pytest.param(
        jsonl(A, b'{"role":"user","content":[', B, b"]}", C), None, [A, B, C], id="torn-around"
    ),
    pytest.param(jsonl(A) + STUBS[0], [Kind.TORN_TAIL], [A], id="torn-tail"),
    pytest.param(jsonl(b"[" + A, b"," + B + b"]"), [Kind.ARRAY] * 3, [A, B], id="array-2-lines"),
    pytest.param(jsonl(b"[", A + b",", B, b"]"), [Kind.ARRAY] * 3, [A, B], id="array-lines"),
    pytest.param(jsonl(b"[" + A + b", " + B + b"]"), [Kind.ARRAY] * 3, [A, B], id="array-one-line"),
    pytest.param(
        jsonl(b"<<<<<<< HEAD", A, b"=======", B, b">>>>>>> other", C),
        [Kind.MERGE_MARKER] * 3,
        [A, B, C],
        id="merge-markers",
    ),
    pytest.param(jsonl(A, B.replace(b"two ", b"two\n")), [Kind.BROKEN], None, id="raw-newline"),
    pytest.param(jsonl(A, LATIN, B), [Kind.INVALID_UTF8], None, id="latin-1"),
    pytest.param(
        jsonl(A, rb'{"role":"user","content":"\ud83c"}'), [Kind.SURROGATE], None, id="sur"
    ),
    pytest.param(jsonl(A, b'{"role":"user","n":NaN,}'), [Kind.NONSTRICT], None, id="nonstrict"),
    pytest.param(jsonl(A, rb'{"role":"user","c":"\q"}'), [Kind.NONSTRICT], None, id="bad-escape"),
    pytest.param(
        jsonl(A, json.dumps(TWO, indent=2).encode(), B), [Kind.PRETTY], None, id="pretty-printed"
    ),
]


@pytest.mark.parametrize(("data", "kinds", "left"), DAMAGES)
def test_damage(data, kinds, left):
    """Each damage is named, every whole record found, and the edits leave strict lines."""
    found, values, after = scan(data)
    if kinds is not None:
        assert found == kinds
    if left is not None:
        assert after == jsonl(*left)
    assert [json.loads(line) for line in after.splitlines()] == values
    assert scan(after) == ([], values, after)


def test_texts_are_kept_to_the_letter():
    """A raw newline stays part of the text; what was invalid becomes U+FFFD."""
    _, values, _ = scan(jsonl(A, b'{"role":"user","content":"a\nb\n\nc"}', LATIN))
    assert [v["content"] for v in values[1:]] == ["a\nb\n\nc", "caf\ufffd cr\ufffdme"]


@pytest.mark.parametrize("stub", STUBS)
@pytest.mark.parametrize("whole", [B, C])
def test_a_stub_glued_to_a_record_is_cut(stub, whole):
    """Only the stub goes: the record that was written behind it is whole again."""
    _, values, after = scan(jsonl(A, stub + whole, A))
    assert after == jsonl(A, whole, A)
    assert len(values) == 3


def test_a_record_behind_a_stub_may_be_torn_too():
    """Two torn pieces on one line leave no record, and the lines around it stay."""
    kinds, values, after = scan(jsonl(A, STUBS[0] + STUBS[2], B))
    assert after == jsonl(A, B)
    assert set(kinds) == {Kind.TORN}
    assert len(values) == 2


SHORT = said("developer", "keep the mill")
ITEMS = [bare("message", **said("user", "one")), bare_call("c"), bare_output("c")]


@pytest.mark.parametrize("cut", [20, -2])
@pytest.mark.parametrize("stub", ITEMS)
def test_a_short_record_behind_a_stub(stub, cut):
    """No other record begins as it does, and each of its keys stands in the others."""
    data = jsonl(dump(stub)[:cut] + dump(SHORT), *ITEMS)
    _, values, left = scan(data)
    assert values == [SHORT, *ITEMS]
    assert left == jsonl(SHORT, *ITEMS)


@pytest.mark.parametrize(
    ("part", "behind"),
    [
        ({"text": "x", "role": "user"}, b""),
        ({"role": "user"}, b""),
        (SHORT, b'},"na'),
        (SHORT, b"}"),
    ],
)
def test_a_short_part_of_a_torn_line_is_no_record(part, behind):
    """It has a key that no record has, or only one; or the record goes on behind it."""
    torn = b'{"type":"message","extra":{"x":' + dump(part) + behind
    _, values, left = scan(jsonl(*ITEMS, torn, *ITEMS))
    assert values == ITEMS * 2
    assert left == jsonl(*values)


def test_inner_objects_of_a_torn_line_are_no_records():
    """A torn record's parts look like objects and are none of the session's records."""
    lines = [dump(r) for r in talk(3)]
    block = b'[{"type":"text","text":"x"},{"type":"tool_use","id":"t","input":{"a":1,"b":{}}}]'
    torn = lines[1].partition(b'"content":')[0] + b'"content":' + block + b',"usage":{"x":1'
    for piece in (torn, torn.partition(b'],"usage"')[0]):
        for data in (jsonl(lines[0], piece, lines[2]), jsonl(lines[0], lines[2]) + piece):
            _, values, _ = scan(data)
            assert values == [json.loads(lines[0]), json.loads(lines[2])]


def test_inner_objects_of_a_beheaded_line_are_no_records():
    """Nor are they where the head is gone, and a part begins as the records here do."""
    data = jsonl({"type": "mode", "mode": "x"}, *talk(2))
    cut = b'"x"],"edits":[{"type":"clear","keep":"all"}],"effort":{"type":"none"},"n":1}\n'
    kinds, values, left = scan(data + cut)
    assert (kinds, len(values), left) == ([Kind.NOISE], 3, data)


def test_a_record_behind_noise_in_an_array():
    """The comma behind it is that of the array of records."""
    data = b"[\n" + A + b",\nWARN 9 % " + B + b",\n" + C + b"\n]\n"
    _, values, left = scan(data)
    assert [dump(v) for v in values] == [A, B, C]
    assert loads(left) == values


def test_json_in_a_string_is_no_record():
    """A tool's output may quote whole records: the line stays one record."""
    inner = jsonl(*talk(4)).decode()
    record = prompt(9, None, inner + '"}{"')
    assert scan(jsonl(*talk(2), record)) == ([], [*talk(2), record], jsonl(*talk(2), record))


def test_separators_inside_strings_end_no_line():
    """U+2028 and its like, and an escaped CR LF, are text."""
    record = said("user", "a\u2028b\x85c\r\n")
    assert scan(jsonl(record)) == ([], [record], jsonl(record))


def test_offsets_and_lines():
    """Records know their line and bytes, also on a line with several and behind a broken one."""
    data = jsonl(A + B, b'{"role":"user","content":"x\ny"}', C)
    found = [(r.line, r.start, r.end) for r in records(Memory(data))]
    n = len(A) + len(B)
    assert found == [
        (1, 0, len(A)),
        (1, len(A), n),
        (2, n + 1, n + 32),
        (4, n + 33, n + 33 + len(C)),
    ]
    assert all(r.raw == data[r.start : r.end] for r in records(Memory(data)))


WIDE = [
    ("utf-16", b"\xff\xfe", "utf-16-le"),
    ("utf-16", b"\xfe\xff", "utf-16-be"),
    ("utf-16-le", b"", "utf-16-le"),
    ("utf-16-be", b"", "utf-16-be"),
    ("utf-32", b"\xff\xfe\0\0", "utf-32-le"),
    ("utf-32", b"\0\0\xfe\xff", "utf-32-be"),
]


@pytest.mark.parametrize(("name", "mark", "codec"), WIDE)
def test_wide_encodings(name, mark, codec):
    """UTF-16 and UTF-32 are one fragment that names the fault, with and without a mark."""
    data = mark + jsonl(A, B).decode().encode(codec)
    assert utf16(data[:256]) == name
    (record,) = records(Memory(data))
    assert (record.value, record.start, record.end) == (None, 0, len(data))
    assert [d.kind for d in record.defects] == [Kind.UTF16]
    assert data.decode(name).lstrip("\ufeff") == jsonl(A, B).decode()


@pytest.mark.parametrize("head", [b"", b"{", b'{"a', b"\0\0\0\0{", b"\xef\xbb\xbf{}", b"\0{}\0"])
def test_other_heads_are_not_wide(head):
    """UTF-8 with a mark, NUL bytes and short files are not taken for UTF-16."""
    assert utf16(head) == ""


def test_any_bytes_go_through():
    """However bytes are mangled, edits never overlap, and leave the records that were found."""
    made = random.Random(5)
    base = jsonl(A, B, C, A)
    for _ in range(300):
        data = bytearray(base)
        for _ in range(made.randrange(1, 6)):
            at = made.randrange(len(data))
            data[at : at + made.randrange(3)] = made.choice(
                [b"\0", b"\n", b'"', b"{", b"}", b"\xff", b""]
            )
        _, values, after = scan(bytes(data))
        assert scan(after) == ([], values, after)


HOSTILE = [
    pytest.param(b'{"a":', id="nested"),
    pytest.param(b'{"a":"', id="quotes"),
    pytest.param(b'"{', id="strings"),
    pytest.param(b"{", id="braces"),
    pytest.param(b"[{", id="arrays"),
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_lines_are_fast(piece):
    """A megabyte of openings is read in seconds and holds no record."""
    data = piece * ((1 << 20) // len(piece))
    start = time.process_time()
    assert all(r.value is None for r in records(Memory(data)))
    assert time.process_time() - start < 15


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_lines_take_bounded_memory(piece):
    """Memory grows with the length of the line only, by a small factor."""
    data = piece * ((1 << 17) // len(piece))
    tracemalloc.start()
    try:
        for _ in records(Memory(data)):
            pass
        assert tracemalloc.get_traced_memory()[1] < 64 * len(data)
    finally:
        tracemalloc.stop()
