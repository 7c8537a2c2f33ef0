"""A repair of which a person chooses the rules."""

import shlex
import shutil
from pathlib import Path

import pytest

from sesstool.api import mending
from sesstool.api.mending import Wish
from sesstool.cli.main import run
from tests.conftest import jsonl, talk

DAMAGED = sorted((Path(__file__).parents[1] / "samples" / "damaged").glob("*.jsonl"))
samples = pytest.mark.parametrize("sample", DAMAGED, ids=lambda path: path.stem)


def after(preview):
    """The bytes that the repair of a preview would leave."""
    with mending.api.reopened(preview.repair) as source:
        edited = mending.EditedSource(source, preview.repair.outcome.edits)
        return edited.read(0, edited.size)


@samples
def test_each_choice_is_what_its_command_does(sample, tmp_path):
    """Whatever is chosen, the command that is told for it writes the same bytes."""
    path = tmp_path / sample.name
    shutil.copy(sample, path)
    first = mending.preview(path)
    able = [row for row in first.rows if row.state in ("chosen", "open")]
    wishes = [Wish(), Wish(every=True), *(first.wish.toggled(row) for row in able)]
    for wish in wishes:
        shutil.copy(sample, path)
        preview = mending.preview(path, wish)
        expected = after(preview)
        run(shlex.split(preview.command)[1:])
        assert path.read_bytes() == expected, preview.command


@samples
def test_what_is_toggled_is_no_longer_as_it_was(sample):
    """A fix that is left out is not made, one that is chosen is; toggled twice all is as before."""
    first = mending.preview(sample)
    for row in first.rows:
        if row.state not in ("chosen", "open"):
            continue
        other = mending.preview(sample, first.wish.toggled(row))
        mended = {(f.code, f.location.start) for f in other.repair.outcome.mended}
        made = (row.finding.code, row.start) in mended
        assert made == (row.state == "open")
        again = [one for one in other.rows if one[0].code == row.finding.code]
        if again and again[0].state in ("chosen", "open"):
            back = mending.preview(sample, other.wish.toggled(again[0]))
            assert after(back) == after(first)


def test_a_plain_wish_is_the_plain_command():
    """Nothing but the safe fixes, and no option."""
    for sample in DAMAGED:
        preview = mending.preview(sample)
        assert preview.command == f"sesstool repair --write {sample}"
        assert all(
            row.finding.fix.applicability == "safe"
            for row in preview.rows
            if row.state == "chosen" and row.finding.fix
        )


def test_a_guess_is_made_only_where_it_is_wished_for():
    """Choosing one unsafe rule does not choose another, nor what comes up behind it."""
    sample = next(path for path in DAMAGED if "torn-header" in path.name)
    first = mending.preview(sample)
    torn = next(row for row in first.rows if row.finding.code == "B105")
    chosen = mending.preview(sample, first.wish.toggled(torn))
    assert {f.code for f in chosen.repair.outcome.mended} == {"B105"}
    assert chosen.choice.unsafe
    assert "M701" not in chosen.choice.select


def test_joining_branches_is_chosen_by_its_own_option():
    """It waits for `--join-branches`, and `--unsafe` has nothing to do with it."""
    sample = next(path for path in DAMAGED if path.stem == "two-writers")
    first = mending.preview(sample, Wish(every=True))
    assert [row.state for row in first.rows] == ["open"]
    chosen = mending.preview(sample, Wish().toggled(first.rows[0]))
    assert [row.state for row in chosen.rows] == ["chosen"]
    assert chosen.command == f"sesstool repair --write --join-branches {sample}"
    assert chosen.wish.toggled(chosen.rows[0]) == Wish()


def test_a_row_tells_what_becomes_of_its_finding():
    """Mended, gone with another, coming up behind another, or left to a person."""
    by_name = {path.stem: mending.preview(path) for path in DAMAGED}
    states = {
        name: [(row.finding.code, row.state, row.follows) for row in preview.rows]
        for name, preview in by_name.items()
    }
    assert states["lost-result"] == [("T401", "chosen", False), ("G501", "gone", False)]
    assert ("T405", "chosen", True) in states["lamp-room-refused"]
    assert states["pi-glued-header"] == [("M701", "gone", False), ("B106", "chosen", False)]


def test_a_change_tells_what_stands_around_it():
    """The bytes that go and come, and what stays on their lines."""
    sample = next(path for path in DAMAGED if path.stem == "interrupted")
    preview = mending.preview(sample)
    row = next(row for row in preview.rows if row.finding.code == "B106")
    change = mending.changes(preview.repair, preview.edits(row))[0]
    assert (change.start, change.size, change.new) == (856, 0, 1)
    assert change.before == b""
    assert change.after == b"\n"
    assert change.head.endswith(b'"}')
    assert change.tail.startswith(b'{"')
    cut = next(row for row in preview.rows if row.finding.code == "B104")
    change = mending.changes(preview.repair, preview.edits(cut))[0]
    assert (change.size, change.after) == (402, b"")


def test_what_reaches_the_model_then_is_told():
    """The resume report is that of the repaired session, not of the one on disk."""
    sample = next(path for path in DAMAGED if path.stem == "unanswered-claude-code")
    repaired, left = mending.preview(sample), mending.preview(sample, Wish(off=frozenset({"T401"})))
    assert mending.resumed(repaired.repair).acceptable
    assert not mending.resumed(left.repair).acceptable


def test_a_sound_session_has_no_rows(tmp_path):
    """Nothing is wrong, and nobody has it open."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(jsonl(*talk(4)))
    preview = mending.preview(path)
    assert not preview.rows
    assert not preview.repair
    assert mending.in_use(path) == ""


def test_of_very_many_findings_the_first_are_listed(monkeypatch):
    """The others are counted."""
    monkeypatch.setattr(mending, "MOST", 2)
    sample = next(path for path in DAMAGED if path.stem == "interrupted")
    preview = mending.preview(sample)
    assert len(preview.rows) == 2
    assert preview.more == 2
