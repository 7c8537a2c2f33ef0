"""Values that a reader takes for the same differ, and are told to the digit."""

from __future__ import annotations

import json
import re

import pytest

from sesstool.cli.main import run
from sesstool.model.exact import exact, rounded
from sesstool.model.units import canonical
from tests.conftest import answer, jsonl, prompt, use

DEEP = "[" * 450, "]" * 450


def nested(inside, levels=DEEP):
    return f"{levels[0]}{inside}{levels[1]}"


DIFFERENT = [
    ("18446744073709551616", "18446744073709551617"),
    ("-9223372036854775809", "-9223372036854775810"),
    ("1" * 400 + "2", "1" * 400 + "3"),
    ("1" * 9000 + "2", "1" * 9000 + "3"),
    ("1e400", "1e500"),
    ("1e400", "Infinity"),
    ("NaN", "null"),
    ("NaN", "Infinity"),
    ("Infinity", "-Infinity"),
    ("null", "-Infinity"),
    (nested("1"), nested("2")),
    (nested("18446744073709551616"), nested("18446744073709551617")),
    (nested("1", ("[" * 1000, "]" * 1000)), nested("2", ("[" * 1000, "]" * 1000))),
    (nested("1", ('{"a":' * 450, "}" * 450)), nested("2", ('{"a":' * 450, "}" * 450))),
    ('"\\ud83d"', '"\\ud83e"'),
    ('"\\ud83d"', '"\\ufffd"'),
    (b'"\xff"', b'"\xfe"'),
]


@pytest.fixture
def write(tmp_path):
    """Write a session whose only call was given this JSON text; returns its path."""

    def write(name, value):
        value = value if type(value) is bytes else value.encode()
        lines = jsonl(prompt(1, None), answer(2, 1, use("c1", "Bash", x="HERE")))
        path = tmp_path / f"{name}.jsonl"
        path.write_bytes(lines.replace(b'"HERE"', value))
        return str(path)

    return write


@pytest.mark.parametrize(("left", "right"), DIFFERENT)
def test_what_differs_is_told(write, tmp_path, capsys, left, right):
    """Also in every output, and each side is equal to itself."""
    one, other = write("a", left), write("b", right)
    page = tmp_path / "page.html"
    assert run(["diff", one, one]) == run(["diff", other, other]) == 0
    assert run(["diff", one, other, "--whole", "--html", str(page)]) == 1
    assert page.stat().st_size > 10_000
    capsys.readouterr()
    assert run(["diff", one, other, "-f", "json"]) == 1
    out = capsys.readouterr().out
    assert not re.search(r"[:\[,] ?-?(NaN|Infinity)", out)
    assert '"changed": 1' in out


def test_a_document_holds_all_digits(write, capsys):
    run(["diff", write("a", "NaN"), write("b", "18446744073709551617"), "-f", "json"])
    changes = json.loads(capsys.readouterr().out)["changes"]
    (change,) = (c for c in changes if c["kind"] == "changed")
    contents = [change[side]["units"][0]["content"]["x"] for side in ("left", "right")]
    assert contents == [{"number": "NaN"}, 18446744073709551617]


def test_arguments_kept_as_text_are_exact(tmp_path):
    def kept(name, number):
        call = {"id": "c1", "type": "function"}
        call["function"] = {"name": "pay", "arguments": f'{{"sum": {number}}}'}
        path = tmp_path / name
        asks = {"role": "assistant", "content": None, "tool_calls": [call]}
        path.write_bytes(jsonl({"role": "user", "content": "pay"}, asks))
        return str(path)

    assert run(["diff", kept("a", 2**64), kept("b", 2**64 + 1)]) == 1
    assert run(["diff", kept("a", 2**64), kept("b", 2**64)]) == 0


def test_a_record_that_is_nested_too_deep_is_told(write, capsys):
    """Nothing can tell whether two of them are the same, so they are counted as damage."""
    deep = nested("1", ("[" * 1500, "]" * 1500))
    run(["diff", write("a", deep), write("b", deep)])
    assert capsys.readouterr().out.count("1 piece that cannot be read as a record") == 2


def test_the_values_of_sound_and_of_healed_records():
    assert exact(b'{"a": NaN, "b": [-Infinity, 1,], "c": "NaN"}') == {
        "a": {"number": "NaN"},
        "b": [{"number": "-Infinity"}, 1],
        "c": "NaN",
    }
    assert exact(b'{"a": "x\x01\xff", "b": 1.5}') == {"a": "x\x01\udcff", "b": 1.5}
    assert rounded(b'{"a": 9999999999999999999}')
    assert not rounded(b'{"a": 999999999999999999}')


@pytest.mark.parametrize("value", [{"b": [1, {}, []], "a": {"c": "ü"}}, [[], {}, None, True, 1.5]])
def test_json_of_any_depth_is_json(value):
    """The fallback writes what the fast way writes, but for escapes."""
    deep = value
    for _ in range(700):
        deep = [deep]
    text = canonical(deep).decode()
    assert text[:700] + text[-700:] == "[" * 700 + "]" * 700
    assert text[700:-700] == json.dumps(value, sort_keys=True, separators=(",", ":"))
