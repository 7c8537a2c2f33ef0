"""What a text calls a value: by its key, by the words before it, by the heading of its column.

A number alone says little: `"nif": "…"`, `NIF do titular: …`, or a table with a column `NIF` say
what it is. Labels are compared without case and accents, and by words: the label `date of birth`
is also `dateOfBirth`, `DATE_OF_BIRTH` and `date-of-birth`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any

import re2

# How far before a value its label may stand, how far above a row the heading of its table.
_NEAR = 96
_TABLE = 1 << 14
_HEADINGS = 5
_LONGEST = 512
# How far behind a label the value that it names may end.
_FAR = 192

_PLAIN = str.maketrans(
    {c: unicodedata.normalize("NFD", c)[0] for c in map(chr, range(0xC0, 0x180))}
    | {"ß": "s", "ł": "l", "đ": "d", "ø": "o"}
)
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NO_LETTER = re.compile(r"[\W_]")
_NO_WORD = re.compile(r"[\W_]+")
_KEY = re.compile(
    r"""(?:["'`](?P<quoted>[^"'`\n]{1,48})["'`]\]?|(?<![\w.-])(?P<bare>[\w.\-\[\]]{1,48}))\s*
    (?P<is>=>|:=|==?|:)\s*(?:new\s)?(?:[A-Za-z_.]{0,24}[\[({]\s*)*(?:[bru]?["'`])?\s*$""",
    re.VERBOSE,
)
_TAG = re.compile(r"<(?P<name>[\w:.-]{1,48})(?P<rest>\s[^<>]*)?>\s*$")
# A key and its value as the first two arguments of a call, or as the first two cells of a row.
_PAIRED = re.compile(
    r"""[(\[]\s*(["'])(?P<argument>[^"'\n]{1,48})\1\s*,\s*["']?$
    |^[\s>+|-]*(?P<cell>[^\W\d][^|\t\n:;,=]{0,39})[ ]?[|\t]\s*["'`]?$""",
    re.VERBOSE,
)
# Where a text begins that stands under a key.
_QUOTED = re.compile(r"""\A.*(?:["']\s?:|=)\s?["'](?=[^"']*$)""")
_QUOTED_BYTES = re.compile(_QUOTED.pattern.encode())
# Where what is said of one value ends and that of the next begins.
_BREAK = re.compile(
    r"""[;|&{}\t]|["']\s*,|,\s*["']|(?<=[^\W\d]{5})[.!?]\s|\bVALUES\s*\(|\)\s*,\s*\(""",
    re.IGNORECASE,
)
_LIST = re.compile(
    r"""\+?\(?\d[\d ().+/-]{4,}\d["']?\s*(?:[,/]|\s(?:y|e|and|or|o|ou|und|oder|et))\s*["']?$"""
)
_LONG_NUMBER = re.compile(r"\d{5,}|\d(?:[ ./-]?\d){6,}")
# Names that leave it to another one to say what the value is.
_NEUTRAL = re.compile(
    r"\b(?:value|valor|wert|valeur|valore|number|numero|num|nummer|nr|no|raw|text|string|str|val"
    r"|formatted|default|content|type|home|main|id|code|dd|td|b|strong|span|data|field)\b"
)
# The letter beside a label that tells where its word begins or ends: `xPhone`, `phoneX`.
_HANGING = re.compile(r"^(?:[a-z](?=[A-Z])|[^\x00-\x7f]+(?=[A-Za-z]))|(?<=[^\WA-Z_])[A-Z]$|\ufffd$")
_NO_HEADING = re.compile(rb"[{}]|=[^=\s]|\w: ")
_MARKS = re.compile(rb"[|\t;,]|  ")
_RULE = re.compile(r"^[\s|+:=-]+$")
# How tools number the lines of what they show.
_NUMBERED = re.compile(r"^ {0,6}\d{1,6}(?:\t|→)")
_VALUES = re.compile(rb"\)\s*VALUES\s*\(", re.IGNORECASE)
_INSERT = re.compile(r"\(([^()]{1,2000})\)\s*VALUES\b", re.IGNORECASE)


def pattern(labels: Iterable[str]) -> re.Pattern[str]:
    """The expression that finds labels in text as `folded` gives it."""
    words = sorted({folded(label).strip().replace(" ", " ?") for label in labels}, key=len)
    return re.compile(
        r"(?<![a-z0-9])(?:" + "|".join(reversed(words)) + r")(?:s|es)?[0-9]{0,2}(?![a-z0-9])"
    )


@lru_cache(maxsize=1024)
def folded(text: str) -> str:
    """Words in lower case, without accents, one space between them."""
    return _NO_WORD.sub(" ", _HUMP.sub(" ", text).lower().translate(_PLAIN))


class Labels:
    """Where in a text the labels of rules stand, and how far what they name may."""

    def __init__(self, rules: Mapping[int, tuple[Iterable[str], bool]]) -> None:
        """Index the labels: of each rule, by its number, and whether they must head a column."""
        self._keys, self._headings = (
            _Index({n: labels for n, (labels, heading) in rules.items() if heading is wanted})
            for wanted in (False, True)
        )

    def parts(self, text: bytes) -> dict[int, list[tuple[int, int]]]:
        """The parts of a text, of each rule, in which a value can stand that has a label."""
        parts: dict[int, list[tuple[int, int]]] = {}
        seen = table = 0
        for match, numbers in self._keys.among(text, 0, len(text)):
            start, end = match.span()
            # One heading speaks for its line, and its table for the labels in it.
            if start >= max(seen, table):
                table = _table(text, start, end)
                seen = text.find(b"\n", end) + 1 or len(text)
            _add(parts, numbers, start, max(end + _FAR, table))
        self._below_headings(text, parts)
        return parts

    def _below_headings(self, text: bytes, parts: dict[int, list[tuple[int, int]]]) -> None:
        """Add the tables of which a label may be a whole heading."""
        position = 0
        while match := self._headings.cell(text, position):
            begin = text.rfind(b"\n", 0, match.end() - 1) + 1
            until = text.find(b"\n", match.end() - 1)
            position = len(text) if until < 0 else until
            table = _table(text, match.end() - 1, match.end() - 1)
            if table:
                for found, numbers in self._headings.among(text, begin, table):
                    _add(parts, numbers, found.start(), table)
                position = max(position, table)


def _add(
    parts: dict[int, list[tuple[int, int]]], numbers: Iterable[int], start: int, until: int
) -> None:
    """Take in that rules are to look at a part of the text; parts that touch are one."""
    for number in numbers:
        some = parts.setdefault(number, [])
        if not some or some[-1][1] < start:
            some.append((start, until))
        elif some[-1][1] < until:
            some[-1] = (some[-1][0], until)


class _Index:
    """Finds labels, and tells whose they are."""

    def __init__(self, rules: Mapping[int, Iterable[str]]) -> None:
        by_words: dict[str, set[int]] = {}
        spelled: dict[str, str] = {}
        for number, labels in rules.items():
            for label in labels:
                words = folded(label)
                by_words.setdefault(words, set()).add(number)
                if words not in spelled or not label.isascii():
                    spelled[words] = label.lower()
        # Of labels one in the other the longest is found: it speaks for the rest.
        self._numbers = {
            words.replace(" ", ""): {
                number
                for other, some in by_words.items()
                if f" {other} " in f" {words} "
                for number in some
            }
            for words in by_words
        }
        names = [spelled[n] for n in sorted(spelled, key=len, reverse=True)]
        self._expression = _expression(_anywhere(names)) if names else None
        self._cell = _expression(_whole_cell(names)) if names else None

    def among(self, text: bytes, start: int, end: int) -> Iterator[tuple[Any, Iterable[int]]]:
        """The labels in a part of a text, each with the numbers of its rules."""
        if self._expression is None:
            return
        known: dict[bytes, Iterable[int]] = {}
        for match in self._expression.finditer(text, start, end):
            found = match[0]
            if found not in known:
                known[found] = self._rules_of(found.decode("utf-8", "replace"))
            if known[found]:
                yield match, known[found]

    def cell(self, text: bytes, start: int) -> Any:
        """The next match of a label that is a cell of a row, None where there is none."""
        return self._cell and self._cell.search(text, start)

    def _rules_of(self, found: str) -> Iterable[int]:
        words = _HANGING.sub("", found)
        words = folded(words).replace(" ", "").rstrip("0123456789")
        for name in (words, words.removesuffix("s"), words.removesuffix("es")):
            if name in self._numbers:
                return self._numbers[name]
        return ()


def _expression(regex: str) -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.never_capture = True
    options.max_mem = 1 << 26
    return re2.compile(regex.encode("latin-1"), options)


def _anywhere(labels: list[str]) -> str:
    """What finds labels as they are spelled in any text; a letter may hang on either end."""
    lower = "|".join(_spelling(label) for label in labels)
    hump = "|".join(_spelling(" ".join(w.capitalize() for w in label.split())) for label in labels)
    behind = r"(?:s|es)?[0-9]{0,2}(?:\b|[^a-z0-9]|$)"
    return rf"(?:\b|_|[\x80-\xff])(?i:{lower}){behind}|[a-z](?:{hump}){behind}"


def _whole_cell(labels: list[str]) -> str:
    """What finds a label with the marks of cells on both sides, or the ends of the line."""
    lower = "|".join(_spelling(label) for label in labels)
    inside = r"[^A-Za-z0-9|\t;,\n]{0,8}"
    return (
        rf"(?m:(?:^|[|\t;,(]|  |\xe2\x86\x92){inside}"
        rf"(?i:{lower})(?:s|es)?[0-9]{{0,2}}{inside}(?:$|[|\t;,)\n]|  ))"
    )


def _spelling(label: str) -> str:
    parts = []
    for c in label:
        if c == " ":
            parts.append(r"[ _./-]{0,2}")
        elif c.isascii():
            parts.append(re.escape(c))
        else:
            forms = {c.lower(), c.upper(), c.lower().translate(_PLAIN)}
            spelled = "|".join(sorted(form.encode().decode("latin-1") for form in forms))
            parts.append(f"(?:{spelled})")
    return "".join(parts)


def _table(text: bytes, start: int, end: int) -> int:
    """Where the table ends that a label may head, 0 where its line is no heading."""
    begin = text.rfind(b"\n", max(start - _LONGEST, 0), start) + 1
    if not begin and start > _LONGEST:
        return 0
    until = text.find(b"\n", end, end + _LONGEST)
    line = _QUOTED_BYTES.sub(b"", text[begin : end + _LONGEST if until < 0 else until])
    if not _VALUES.search(line) and (_NO_HEADING.search(line) or not _MARKS.search(line)):
        return 0
    if b"(" not in line and until < 0:
        return 0
    blank = text.find(b"\n\n", end, end + _TABLE)
    return min(len(text), end + _TABLE) if blank < 0 else blank


def labelled(text: bytes, start: int, end: int, labels: re.Pattern[str]) -> bool:
    """Whether one of the labels is the key of a value, stands before it, or heads its column."""
    before = _before(text, start)
    said = _by_key_or_words(before, labels)
    if said is not None:
        return said
    if not before.strip(" \t\"'`([{>*-") and _above(text, start, labels):
        return True
    return headed(text, start, end, labels, whole=False)


def _before(text: bytes, start: int) -> str:
    """What stands before a value on its line, without the escapes of quotes."""
    near = text[max(start - _NEAR, 0) : start]
    return near[near.rfind(b"\n") + 1 :].replace(b"\\", b"").decode("utf-8", "replace")


def _by_key_or_words(before: str, labels: re.Pattern[str]) -> bool | None:
    """What the key of a value, or the words before it, say of the labels; None if nothing."""
    for _ in range(4):
        if (":" in before or "=" in before) and (match := _KEY.search(before)):
            name = match["quoted"] or match["bare"]
        elif before.rstrip().endswith(">") and (match := _TAG.search(before)):
            name = match["name"] + (match["rest"] or "")
        else:
            break
        name = folded(name)
        if labels.search(name):
            return True
        if match.re is _KEY and match["bare"]:
            phrase = folded(before[: match.end("bare")][-48:])
            if any(found.end() == len(phrase) for found in labels.finditer(phrase)):
                return True
        prose = match.re is _KEY and not match["quoted"] and match["is"] == ":"
        if prose and (not _NEUTRAL.search(name) or labels.search(folded(before[-32:]))):
            break
        if not _NEUTRAL.search(name):
            return False
        before = before[: match.start()].rstrip()
        if before.endswith((",", "}")):
            return False
    if paired := _PAIRED.search(_QUOTED.sub("", before)):
        name = folded(paired["argument"] or paired["cell"])
        if len(name.split()) <= 4 and labels.search(name):
            return True
    while match := _LIST.search(before):
        before = before[: match.start()]
    segment = _BREAK.split(before)[-1]
    segment = _LONG_NUMBER.split(segment)[-1]
    return True if labels.search(folded(segment[-56:])) else None


def _above(text: bytes, start: int, labels: re.Pattern[str]) -> bool:
    """Whether the line above a value that begins its line is a label."""
    until = text.rfind(b"\n", 0, start)
    if until < 0:
        return False
    line = text[max(text.rfind(b"\n", 0, until) + 1, until - 64) : until]
    words = folded(line.decode("utf-8", "replace"))
    return len(words.split()) <= 4 and bool(labels.search(words))


def headed(
    text: bytes, start: int, end: int, labels: re.Pattern[str], *, whole: bool = True
) -> bool:
    """Whether one of the labels heads the column of a value: of a table, or of an INSERT.

    `whole` asks that it is all that the heading says.
    """
    begin = text.rfind(b"\n", max(start - _LONGEST, 0), start) + 1
    if not begin and start > _LONGEST:
        return False
    row = text[begin:start].decode("utf-8", "replace")
    behind = text[end : end + 3].decode("utf-8", "replace").lstrip(" \"'")[:1]
    mark = next((m for m in "|\t;," if m in row or m == behind), "")
    floor = max(begin - _TABLE, 0)
    blank = text.rfind(b"\n\n", floor, begin)
    top = floor if blank < 0 else blank + 2
    if mark in ("", ",") and (insert := _columns(text, top, start)):
        column, names = insert
        return column < len(names) and _heading(names[column], labels, whole=whole)
    lines = _first_lines(text, top, begin)
    if _NUMBERED.match(row) and any(map(_NUMBERED.match, lines)):
        lines, row = [_NUMBERED.sub("", line) for line in lines], _NUMBERED.sub("", row)
        mark = next((m for m in "|\t;," if m in row or m == behind), "")
    if not mark:
        return any(_over(line, row, text[start:end], labels, whole=whole) for line in lines)
    column = _cells(row, mark)
    ruled = [line for line, below in pairwise(lines) if _RULE.match(below) and mark in line]
    head = next((line for line in ruled or lines if mark in line and not _RULE.match(line)), "")
    cells = head.split(mark)
    return (
        column < len(cells)
        and all(len(cell) <= 40 and len(cell.split()) <= 6 for cell in cells)
        and _heading(cells[column], labels, whole=whole)
    )


def _first_lines(text: bytes, top: int, end: int) -> list[str]:
    lines = []
    for _ in range(_HEADINGS):
        until = text.find(b"\n", top, end)
        if until < 0:
            break
        if until - top <= _LONGEST:
            lines.append(_QUOTED.sub("", text[top:until].decode("utf-8", "replace")))
        top = until + 1
    return lines


def _cells(row: str, mark: str) -> int:
    """How many cells of a row end before its end."""
    if '"' not in row:
        return row.count(mark)
    return sum(part.count(mark) for part in row.split('"')[::2])


def _heading(cell: str, labels: re.Pattern[str], *, whole: bool) -> bool:
    words = folded(cell).strip()
    if whole:
        return bool(labels.fullmatch(words))
    return len(words.split()) <= 5 and bool(labels.search(words))


def _over(line: str, row: str, value: bytes, labels: re.Pattern[str], *, whole: bool) -> bool:
    """Whether a label stands in a line right over the value, in columns of a fixed width."""
    if "  " not in line or _RULE.match(line):
        return False
    left, right = len(row), len(row) + len(value.decode("utf-8", "replace"))
    # As `folded` has it, but each character in its column.
    plain = f"  {_NO_LETTER.sub(' ', line.lower().translate(_PLAIN))}  "
    for match in labels.finditer(plain):
        start, end = match.start() - 2, match.end() - 2
        alone = plain[start : start + 2] == plain[end + 2 : end + 4] == "  "
        if start < right and end > left and (alone or not whole):
            return True
    return False


def _columns(text: bytes, top: int, start: int) -> tuple[int, list[str]] | None:
    """The column of a value in the rows of an INSERT, and the names of its columns."""
    above = text[max(top, start - (1 << 12)) : start].decode("utf-8", "replace")
    found = list(_INSERT.finditer(above))
    if not found:
        return None
    last = found[-1]
    values = last.string[last.end() :]
    row = values[values.rfind("(") + 1 :]
    column = _cells(row.replace("'", '"'), ",")
    return column, last[1].split(",")
