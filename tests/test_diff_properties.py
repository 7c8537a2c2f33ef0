"""What holds for any two sessions: the changes of A give B, and B against A mirrors A against B."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sesstool.api import diffing
from sesstool.report.difference import Rows
from tests.conftest import (
    answer,
    call_of,
    entry,
    head,
    item,
    jsonl,
    meta,
    output,
    prompt,
    result,
    result_of,
    runs,
    said,
    says,
    speaks,
    tells,
    use,
)

_ALL = frozenset(diffing.FACTS)
_OTHER = {"left": "right", "right": "left"}
_FORMATS = ("claude-code", "codex", "openai-chat", "pi")
_SETTINGS = settings(
    max_examples=150,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


class Said(NamedTuple):
    """A unit to be written in any format: what it is, which of few texts, and its number."""

    kind: str
    text: int
    number: int


# Few texts, and long enough that some are alike: what is hard to align.
_TEXTS = [f"the {what} of the lamp burns {how}" for what in ("oil", "wick") for how in "abc"]
_KINDS = st.sampled_from(["user", "assistant", "call", "result"])
_CHOICE = st.integers(0, len(_TEXTS) - 1)
_TALKS = st.lists(st.tuples(_KINDS, _CHOICE), max_size=24)
_EDITS = st.lists(
    st.tuples(
        st.sampled_from(["insert", "delete", "change", "move", "duplicate"]),
        st.integers(0, 99),
        st.integers(0, 99),
        st.integers(1, 6),
        st.tuples(_KINDS, _CHOICE),
    ),
    max_size=6,
)


def edited(talk, edits):
    """A talk after some edits. What stays or moves keeps its number, what is new gets another."""
    talk, new = list(talk), 1000
    for what, where, to, size, (kind, text) in edits:
        at = where % (len(talk) + 1)
        block = talk[at : at + size]
        if what in ("delete", "move"):
            del talk[at : at + size]
        if what == "change" and block:
            talk[at] = block[0]._replace(text=text)
        elif what == "move":
            over = to % (len(talk) + 1)
            talk[over:over] = block
        elif what == "duplicate":
            talk[at:at] = [unit._replace(number=new + n) for n, unit in enumerate(block)]
        elif what == "insert":
            talk.insert(at, Said(kind, text, new))
        new += 10
    return talk


def claude_code(talk):
    before = None
    for kind, text, n in talk:
        words = _TEXTS[text]
        if kind == "call":
            yield answer(n, before, use(f"c{n}", command=words))
        elif kind == "result":
            yield result(n, before, f"c{n}", words)
        elif kind == "user":
            yield prompt(n, before, words)
        else:
            yield answer(n, before, {"type": "text", "text": words})
        before = n


def codex(talk):
    yield meta()
    for kind, text, n in talk:
        words = _TEXTS[text]
        if kind == "call":
            yield runs(f"c{n}", arguments=f'{{"cmd":"{words}"}}')
        elif kind == "result":
            yield output(f"c{n}", words)
        else:
            yield says(kind, words)
    yield item("ghost_snapshot")


def openai_chat(talk):
    for kind, text, n in talk:
        words = _TEXTS[text]
        if kind == "call":
            function = {"name": "look", "arguments": f'{{"at":"{words}"}}'}
            call = {"id": f"c{n}", "type": "function", "function": function}
            yield said("assistant", None, tool_calls=[call])
        elif kind == "result":
            yield tells(f"c{n}", words)
        else:
            yield said(kind, words)


def pi(talk):
    yield head()
    yield entry(9999, None, "model_change", provider="harbour", modelId="keeper-1")
    before = 9999
    for kind, text, n in talk:
        words = _TEXTS[text]
        if kind == "call":
            yield speaks(n, before, "assistant", call_of(f"c{n}", {"command": words}))
        elif kind == "result":
            yield result_of(n, before, f"c{n}", words)
        else:
            yield speaks(n, before, kind, words)
        before = n


WRITERS = dict(zip(_FORMATS, (claude_code, codex, openai_chat, pi), strict=True))


@pytest.fixture(scope="module")
def write(tmp_path_factory):
    """What writes a talk to a file, and names it as a side."""
    folder = tmp_path_factory.mktemp("talks")

    def write(name, form, talk):
        path = folder / f"{name}.jsonl"
        # What has no record is in no format.
        records = list(WRITERS[form](talk)) or [said("system", "nothing")]
        path.write_bytes(jsonl(*records))
        return diffing.Name(path)

    return write


@st.composite
def sessions(draw):
    """A talk, what became of it, and a format for each."""
    talk = [Said(kind, text, n + 1) for n, (kind, text) in enumerate(draw(_TALKS))]
    form = draw(st.sampled_from(_FORMATS))
    other = draw(st.sampled_from([form, form, *_FORMATS]))
    return form, talk, other, edited(talk, draw(_EDITS))


def told(side):
    """What the units of a side say."""
    units = map(side.unit, range(len(side)))
    return [(u.kind, u.name, u.words, u.error) for u in units]


def applied(done):
    """What a side becomes by the changes: from the left one only what is told to stay."""
    left, right = told(done.left), told(done.right)
    out = []
    for change in done.changes:
        if change.kind == "equal":
            out += left[change.left : change.left_end]
        elif change.kind == "moved":
            size = change.right_end - change.right
            out += left[change.elsewhere : change.elsewhere + size]
        else:
            out += right[change.right : change.right_end]
    return out


def pairs(done):
    """Each unit of a side with its kind and, where it has one, its partner."""
    found = set()
    for kind, a, a_end, b, b_end, elsewhere in done.changes:
        if kind in ("equal", "changed"):
            found |= {(kind, a + n, b + n) for n in range(a_end - a)}
        elif kind == "moved":
            found |= {(kind, a + n, elsewhere + n) for n in range(a_end - a)}
            found |= {(kind, elsewhere + n, b + n) for n in range(b_end - b)}
        else:
            found |= {(kind, n, -1) for n in range(a, a_end)}
            found |= {(kind, -1, n) for n in range(b, b_end)}
    return found


def _moved_over_what_is_new():
    """One unit is new on the left where the other side has one that moved."""
    user, b = "user", [Said("user", 0, 21), Said("user", 0, 22), Said("user", 0, 1)]
    a = [Said(user, text, n + 1) for n, text in enumerate((0, 0, 1, 2, 0, 1))]
    a.append(Said("assistant", 0, 7))
    return "claude-code", a, "claude-code", [*b, Said(user, 2, 4), Said("assistant", 1, 7)]


@_SETTINGS
@given(sessions())
@example(_moved_over_what_is_new())
def test_the_changes_applied_to_one_side_give_the_other(write, drawn):
    """And they tell all of both sides, in order, and call equal only what is."""
    form, a, other, b = drawn
    with diffing.diff(write("a", form, a), write("b", other, b)) as done:
        left, right = told(done.left), told(done.right)
        assert applied(done) == right
        one = two = 0
        for change in done.changes:
            assert (change.left, change.right) == (one, two)
            one, two = change.left_end, change.right_end
            if change.kind == "equal":
                assert left[change.left : one] == right[change.right : two]
            if change.kind == "changed":
                assert left[change.left] != right[change.right]
                assert left[change.left][0] == right[change.right][0]
        assert (one, two) == (len(left), len(right))
        assert done.differs == (left != right)
        assert all(sum(n == m for _, n, _ in pairs(done)) == 1 for m in range(len(left)))
        assert all(sum(n == m for _, _, n in pairs(done)) == 1 for m in range(len(right)))


@_SETTINGS
@given(sessions())
def test_as_many_are_equal_as_can_be(write, drawn):
    """The equal ones are a longest common subsequence, by the plainest way there is."""
    form, a, other, b = drawn
    with diffing.diff(write("a", form, a), write("b", other, b)) as done:
        left, right = told(done.left), told(done.right)
        best = [0] * (len(right) + 1)
        for one in left:
            row = [0]
            for n, two in enumerate(right):
                row.append(best[n] + 1 if one == two else max(row[-1], best[n + 1]))
            best = row
        assert done.counts["equal"] == best[-1]


@_SETTINGS
@given(sessions(), st.sampled_from([frozenset(), _ALL]))
def test_with_the_sides_exchanged_all_is_mirrored(write, drawn, facts):
    """Pairs are the same pairs, and what one side has alone is what the other lacked."""
    form, a, other, b = drawn
    names = write("a", form, a), write("b", other, b)
    with diffing.diff(*names, told=facts) as there, diffing.diff(*names[::-1], told=facts) as back:
        swapped = {(_OTHER.get(kind, kind), m, n) for kind, n, m in pairs(back)}
        assert pairs(there) == swapped
        assert there.fork == back.fork[::-1]


@_SETTINGS
@given(sessions())
def test_a_session_is_equal_to_itself(write, drawn):
    """By its envelopes too; and a copy that says the same is equal where those do not count."""
    form, a, other, _ = drawn
    name = write("a", form, a)
    with diffing.diff(name, name, told=_ALL) as done:
        assert not done.differs
        assert done.counts["equal"] == len(done.left)
        world = diffing.world(done)
        assert world.left == world.right == world.both == ()
    if form == other:
        again = [unit._replace(number=unit.number + 500) for unit in a]
        with diffing.diff(name, write("b", other, again)) as done:
            assert not done.differs


@_SETTINGS
@given(sessions())
def test_the_pieces_of_a_change_say_both_texts(write, drawn):
    """What is marked as common or as one side's own is all that this side says."""
    form, a, other, b = drawn
    with diffing.diff(write("a", form, a), write("b", other, b)) as done:
        units = {
            (done.left.line(c.left), done.right.line(c.right)): (c.left, c.right)
            for c in done.changes
            if c.kind == "changed" and done.left.kind(c.left) != "call"
        }
        for row in Rows(done):
            lines = getattr(row, "left", None) and row.right and (row.left.line, row.right.line)
            if lines in units:
                one, other = units[lines]
                (part,) = row.left.parts
                text = ["".join(p.text for p in part.pieces if p.sign in f"={s}") for s in "-+"]
                assert text == [done.left.unit(one).words, done.right.unit(other).words]


def test_the_same_in_every_run(write):
    """No order hangs on the seed of hashes, even where ids stand several times."""
    a = [Said("call", n % 3, n % 2) for n in range(30)]
    b = [Said("call", 3 + n % 3, (n * 7 + n // 5) % 2) for n in range(30)]
    names = [str(write(name, "openai-chat", talk).path) for name, talk in (("a", a), ("b", b))]
    outputs = {
        subprocess.run(
            [sys.executable, "-m", "sesstool", "diff", *names],
            check=False,
            capture_output=True,
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
        ).stdout
        for seed in range(4)
    }
    (once,) = outputs
    assert b"~ 1|1 TOOL CALL look" in once
