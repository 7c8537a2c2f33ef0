"""Where two sessions part, when they go on with the same words."""

from __future__ import annotations

import pytest

from sesstool.api import diffing
from tests.conftest import (
    THREAD,
    answer,
    asks,
    jsonl,
    meta,
    output,
    prompt,
    result,
    runs,
    said,
    says,
    talk,
    tells,
    uid,
    use,
)

OTHER = "0123abcd-0000-7000-8000-00000000f02c"
FORKED = {"forkedFrom": {"sessionId": "5e551000-0000-4000-8000-000000000001"}}


@pytest.fixture
def parted(tmp_path):
    """How many units two sessions share, how many are equal, and the calls that both inherit."""

    def parted(left, right):
        names = []
        for name, records in ((THREAD, left), (OTHER, right)):
            path = tmp_path / f"rollout-2026-03-01T06-00-00-{name}.jsonl"
            path.write_bytes(jsonl(*records))
            names.append(diffing.Name(path))
        with diffing.diff(*names) as found, diffing.diff(*names[::-1]) as back:
            assert back.fork == found.fork[::-1]
            inherited = len(diffing.world(found).inherited)
            return found.fork[0] + 1, found.counts["equal"], inherited

    return parted


def more(first, parent):
    """The same prompt, call and result, under ids that begin at a number."""
    yield prompt(first, parent, "again")
    yield answer(first + 1, first, use(f"c{first}", command="make"))
    yield result(first + 2, first + 1, f"c{first}")


def test_ids_tell_where_two_forks_with_the_same_words_part(parted):
    assert parted([*talk(4), *more(5, 4)], [*talk(4), *more(15, 4)]) == (4, 7, 0)


def test_a_copy_with_new_ids_tells_the_old_ones(parted):
    """`forkedFrom` of each record names the one it was copied from."""
    copied = [
        record | {"forkedFrom": FORKED["forkedFrom"] | {"messageUuid": uid(n)}}
        for n, record in enumerate(talk(14, first=11), 1)
    ]
    assert parted([*talk(4), *more(5, 4)], [*copied, *more(25, 14)]) == (4, 7, 0)


def test_one_record_with_a_new_id_is_no_fork(parted):
    """Where the same ids come again, the sides had not parted."""
    again = [*talk(2), prompt(13, 2), answer(4, 13), *talk(6)[4:]]
    assert parted(talk(6), again) == (6, 6, 0)


def test_a_fork_by_reference_shares_what_stands_in_its_parent(parted):
    """Messages of Codex have no id: the place in the file tells."""
    base = [meta(0), says("user", "light it", 1), says("assistant", "it burns", 2)]
    own = [says("user", "again", 4), runs("c2", 5), output("c2", "ok", 6)]
    history = {
        "thread_id": THREAD,
        "end_ordinal_exclusive": 3,
        "end_byte_offset": len(jsonl(*base)),
    }
    child = [meta(3, id=OTHER, forked_from_id=THREAD, history_base=history), *own]
    parent = [*base, says("user", "again", 3), runs("c1", 4), output("c1", "ok", 5)]
    assert parted(parent, child) == (2, 5, 0)


def test_two_runs_of_one_prompt_made_each_call_twice(parted):
    """No ids are shared, so what they say alike is; the calls have other ids and are not."""
    left = [said("user", "look"), asks("c1"), tells("c1")]
    right = [said("user", "look"), asks("c2"), tells("c2")]
    assert parted(left, right) == (3, 3, 0)
    assert parted(left, left) == (3, 3, 1)
