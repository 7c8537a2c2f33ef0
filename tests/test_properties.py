"""What holds for any bytes and any damage, shown on thousands of made-up and real sessions.

`SESSTOOL_EXAMPLES` says how many examples all the properties take together.
"""

from __future__ import annotations

import csv
import io
import os
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from random import Random

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sesstool.cli.main import run
from sesstool.formats import registry
from sesstool.records.edits import EditSet
from sesstool.records.source import EditedSource
from tests import properties
from tests.conftest import SHARED, Memory
from tests.damages import ADDS_NOISE, DAMAGES
from tests.mutations import lines, trailing_comma, utf16
from tests.properties import PLAIN, UNSAFE, value_of
from tests.seeds import SEEDS

_EXAMPLES = int(os.environ.get("SESSTOOL_EXAMPLES", "2000"))
_CORPUS = SHARED / "corpus"
_COMMANDS = (
    ("validate",),
    ("validate", "--thorough", "-f", "json"),
    ("repair", "--diff"),
    ("repair", "--unsafe", "--join-branches", "-f", "json"),
    ("repair", "--unanswered", "drop"),
    ("resume",),
    ("fork", "--force"),
    ("show", "--thinking"),
    ("export", "--expand", "--notes"),
    ("export", "--to", "md", "--branch", "live"),
    ("export", "--to", "json"),
)


def share(percent: int) -> settings:
    """A part of the examples; the same ones in every run."""
    return settings(
        max_examples=max(_EXAMPLES * percent // 100, 1),
        derandomize=True,
        deadline=None,
        database=None,
        # One home folder for all examples of a test is right: none of them writes there.
        suppress_health_check=[
            HealthCheck.function_scoped_fixture,
            HealthCheck.too_slow,
            HealthCheck.data_too_large,
        ],
    )


PIECES = st.sampled_from(
    [
        *(b"{", b"}", b"[", b"]", b'"', b":", b",", b"\\", b"\n", b"\r\n", b" ", b"\0", b"\xff"),
        *(b"\xef\xbb\xbf", b"\xff\xfe", b"<<<<<<< a", b"=======", b"NaN", b"1", b"null", b"\\u"),
        *(b'{"', b'":', b'":"', b'"}\n', b"\\ud800", b"\xc3", b"\xa9", b"x", b'{"a":1}'),
        *(b'"role":"user"', b'"type":"user"', b'"content":""', b'"uuid":"a"', b'"parentUuid":"a"'),
        *(b'"payload":{', b'"type":"response_item"', b'"call_id":"c"', b'"type":"function_call"'),
        *(line + b"\n" for data in SEEDS.values() for line in lines(data)),
    ]
)
SOUP = st.lists(PIECES, max_size=40).map(b"".join) | st.binary(max_size=300)
FORMATS = st.sampled_from([f.name for f in registry.FORMATS if f.repairable])
RANDOM = st.integers(0, 2**63).map(Random)
# A record that gets an id and is moved, between two copies of a result: all go through one edit.
GIVEN_AND_MOVED = (
    b'{"type":"message","id":"3","parentId":"2","message":{"role":"toolResult","toolCallId":"c"}}\n'
    b'{"type":"custom-title","customTitle":"mill"}\n'
)


@cache
def real_sessions() -> dict[str, bytes]:
    """Sessions that real programs wrote whole, the small ones; path → bytes."""
    with (_CORPUS / "real-clients" / "INDEX.tsv").open() as index:
        paths = [
            _CORPUS / "real-clients" / row["file"]
            for row in csv.DictReader(index, delimiter="\t")
            if row["client"] in ("claude-code", "codex", "pi")
            and row["damage"] == "-"
            and row["file"].endswith(".jsonl")
            and 0 < int(row["bytes"]) < 60_000
        ]
    paths += list((_CORPUS / "openai-chat").rglob("*.jsonl"))
    return {str(path): path.read_bytes() for path in sorted(paths) if path.is_file()}


def damaged(rng: Random, data: bytes, damages) -> bytes:
    for damage in damages:
        data = damage(rng, data) if data else data
    return data


@given(data=SOUP, chunk=st.integers(1, 9))
@share(15)
def test_reading_accounts_for_every_byte(data, chunk):
    """Any bytes become records, fragments and separators; without edits they stay as they are."""
    properties.reads_every_byte(data, chunk)
    source = EditedSource(Memory(data, step=chunk), EditSet())
    assert b"".join(source.chunks()) == source.read(0, source.size) == data


@given(data=SOUP, format_name=FORMATS)
@example(data=GIVEN_AND_MOVED + GIVEN_AND_MOVED.partition(b"\n")[0], format_name="pi")
@share(20)
def test_any_bytes_are_repaired_in_order(data, format_name):
    """Whatever the bytes, taken for whatever format, a repair keeps its promises."""
    properties.hold(data, "talk.jsonl", format_name)


@given(rng=RANDOM, name=st.sampled_from(sorted(SEEDS)), damage=st.sampled_from(DAMAGES))
@share(20)
def test_one_damage(rng, name, damage):
    """After any one damage to a sound session a repair keeps its promises."""
    properties.hold(damage(rng, SEEDS[name]), name)


@given(
    rng=RANDOM,
    name=st.sampled_from(sorted(SEEDS)),
    damages=st.lists(st.sampled_from(DAMAGES), min_size=2, max_size=3),
)
@share(20)
def test_several_damages(rng, name, damages):
    """After damage to a damaged session, too."""
    properties.hold(damaged(rng, SEEDS[name], damages), name)


@given(rng=RANDOM, name=st.sampled_from(sorted(SEEDS)), damage=st.sampled_from(ADDS_NOISE))
@share(15)
def test_what_adds_noise_is_undone(rng, name, damage):
    """Damage that takes nothing away is mended so that each record is what it was."""
    choice = UNSAFE if damage in (utf16, trailing_comma) else PLAIN
    data = damage(rng, SEEDS[name])
    outcome = properties.planned(data, name, choice)
    assert outcome is not None
    result = outcome.edits.apply(data)
    assert [*map(value_of, lines(result))] == [*map(value_of, lines(SEEDS[name]))]


@pytest.mark.skipif(not _CORPUS.is_dir(), reason=f"{_CORPUS} is absent: no real sessions")
@given(rng=RANDOM, damages=st.lists(st.sampled_from(DAMAGES), max_size=2), data=st.data())
@share(5)
def test_damaged_real_sessions(rng, damages, data):
    """The promises hold for the files of real programs, sound and damaged."""
    name = data.draw(st.sampled_from(sorted(real_sessions())))
    properties.hold(damaged(rng, real_sessions()[name], damages), name)


@given(
    rng=RANDOM,
    name=st.sampled_from(sorted(SEEDS)),
    damages=st.lists(st.sampled_from(DAMAGES), max_size=2),
    soup=st.none() | SOUP,
    command=st.sampled_from(_COMMANDS),
)
@share(5)
def test_the_command_never_breaks(rng, name, damages, soup, command, tmp_path):
    """Every reading command ends with an exit code that says what it found."""
    path = tmp_path / name
    path.write_bytes(damaged(rng, SEEDS[name], damages) if soup is None else soup)
    path.chmod(0o600)
    with redirect_stdout(_stream()), redirect_stderr(_stream()) as talk:
        code = run([*command, str(path)])
        talk.flush()
    assert code in (0, 1, 3), talk.buffer.getvalue().decode()


def _stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
