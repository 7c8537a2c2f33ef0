"""The gate: no line in which something is found is held back."""

import base64
import importlib.util
import json
import urllib.parse

import pytest

from sesstool.privacy import ruleset
from sesstool.privacy.gate import Gate
from sesstool.privacy.scan import Scanner

RULES = ruleset.shipped()


def _line(text, *, ascii_only=True):
    return json.dumps({"type": "user", "content": text}, ensure_ascii=ascii_only).encode()


WRAPPERS = {
    "ascii": _line,
    "utf8": lambda text: _line(text, ascii_only=False),
    "slash": lambda text: _line(text).replace(b"/", b"\\/"),
    "twice": lambda text: _line(json.dumps({"out": f"first\n{text}"})),
    "thrice": lambda text: _line(json.dumps({"out": json.dumps([f"{text}\n"])})),
    "units": lambda text: b'{"text":"%s"}' % "".join(f"\\u{ord(c):04x}" for c in text).encode(),
    "percent": lambda text: _line("https://kiln.example/?q=" + urllib.parse.quote(text, safe="")),
    "base64": lambda text: _line(base64.b64encode(f"the text: {text}".encode()).decode()),
    "hex": lambda text: _line(f"the text: {text}".encode().hex()),
    "colour": lambda text: _line(f"\x1b[1m{text[:9]}\x1b[0m{text[9:]}"),
    "html": lambda text: _line(text.replace("&", "&amp;").replace('"', "&quot;")),
}


@pytest.fixture(scope="module")
def scanner():
    return Scanner(RULES)


@pytest.fixture(scope="module", params=["hyperscan", "re2"])
def gate(request):
    fast = request.param == "hyperscan"
    if fast and importlib.util.find_spec("hyperscan") is None:
        pytest.skip("the extra `fast` is not installed")
    return Gate(RULES, fast=fast)


def _texts():
    for rule in RULES:
        for example in rule.examples:
            yield ruleset.expand(example, rule.id)[0]


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_line_in_which_something_is_found_is_let_through(gate, scanner, wrapper):
    lines = [WRAPPERS[wrapper](text) for text in _texts()]
    chunk = b"\n".join(lines) + b"\n"
    passed = {chunk[start:end] for start, end in gate.lines(chunk)}
    assert passed <= set(lines)
    held = [n for n, line in enumerate(lines) if line not in passed]
    missed = [n for n in held if scanner.scan(lines[n], escaped=True)]
    assert not missed


def test_lines_come_in_order_and_once(gate):
    lines = [_line(text) for text in _texts()]
    chunk = b"\n".join(lines)
    spans = list(gate.lines(chunk))
    assert spans == sorted(set(spans))
    assert all(start == 0 or chunk[start - 1] == ord("\n") for start, _ in spans)
    assert all(end == len(chunk) or chunk[end] == ord("\n") for _, end in spans)


@pytest.mark.parametrize("fast", [True, False])
def test_lines_without_anything_are_held_back(fast):
    """Of secrets with anchors; of what needs a label every line has the bare form."""
    anchored = (rule for rule in RULES if rule.group == "secret" and rule.anchors)
    gate = Gate(anchored, fast=fast)
    line = (
        b'{"parentUuid":"0b1f6f9e-3c55-4e1c-9a44-5f4f34b0a4f1","cwd":"/home/user/src",'
        b'"type":"assistant","uuid":"78633074-b797-4386-bee2-947631162427",'
        b'"timestamp":"2026-01-05T14:20:40.188Z","message":{"role":"assistant",'
        b'"content":[{"type":"text","text":"The harbour lamp is lit.\\nAll is \\"well\\"."}]}}\n'
    )
    assert list(gate.lines(line * 3)) == []


def test_with_and_without_the_extra_the_lines_are_the_same():
    if importlib.util.find_spec("hyperscan") is None:
        pytest.skip("the extra `fast` is not installed")
    chunk = b"\n".join(make(text) for make in WRAPPERS.values() for text in _texts())
    assert list(Gate(RULES).lines(chunk)) == list(Gate(RULES, fast=False).lines(chunk))
