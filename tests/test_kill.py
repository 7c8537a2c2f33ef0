"""Commands that are killed at any change that they make, and what the next run says of it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter

import pytest

from sesstool import api
from sesstool.audit import log
from sesstool.records import undo
from tests.faults import SESSIONS, at_call, command, forked, kill, look, make

sessions = pytest.mark.parametrize("name", SESSIONS)


@pytest.fixture
def folder(scratch):
    folder = scratch / "sessions"
    folder.mkdir()
    return folder


def mended(path):
    """What a repair makes of a session."""
    before = look(path)
    assert command("repair", "--write", path)() == 0
    after = look(path)
    assert command("undo", path)() == 0
    assert command("undo", "--purge", "--yes")() == 0
    assert look(path) == before != after
    return before, after


def clean(path):
    """Nothing is left over, and all that was done is in the log."""
    state = api.state_folder()
    return (
        list(path.parent.iterdir()) == [path]
        and not any(entry.unfinished for entry in undo.entries(state))
        and not [p for p in state.rglob(".*") if p.suffix != ".lock"]
        and log.verify(state) == []
    )


@sessions
def test_a_repair_that_is_killed_is_as_before_or_done_and_the_next_one_says_which(
    folder, name, capfd
):
    """And the next one does it, where it is not done."""
    path = make(folder, name)
    before, after = mended(path)
    said = set()
    for step in range(1, 200):
        if forked(command("repair", "--write", path), at_call(step, kill))[0] is not None:
            break
        capfd.readouterr()
        assert command("repair", "--write", path)() == 0
        words = capfd.readouterr()
        noted = words.err.partition(" was broken off: ")[2].partition("\n")[0]
        told = "did:" in words.out
        said.add((noted.partition(";")[0], told))
        assert look(path) == after
        assert clean(path)
        assert command("undo", path)() == 0
        assert look(path) == before
        command("undo", "--purge", "--yes")()
    assert step > 30
    assert said <= {
        ("", True),  # it had not begun
        ("the file is as before it", True),
        ("the file is its result", False),
        ("", False),  # it had ended
    }
    assert len(said) >= 3


@sessions
def test_an_undo_that_is_killed_can_be_asked_for_again(folder, name, capfd):
    """It brings back the original, or says that it is back already."""
    path = make(folder, name)
    before, _ = mended(path)
    for step in range(1, 200):
        assert command("repair", "--write", path)() == 0
        killed = forked(command("undo", path), at_call(step, kill))[0] is None
        capfd.readouterr()
        code = command("undo", path)()
        words = capfd.readouterr().err
        assert ("put back" if code == 0 else "all is undone already") in words
        assert look(path) == before
        assert clean(path)
        command("undo", "--purge", "--yes")()
        if not killed:
            break
    assert step > 15


def test_a_plan_that_is_killed_is_done_to_the_rest_by_the_next_run(folder, tmp_path, capfd):
    """Each file is as before or done, and those that are done are not done again."""
    paths = [make(folder, name) for name in ("middle", "cut")]
    befores = {path: look(path) for path in paths}
    plan = api.plan_of([api.repair(path) for path in paths])
    plan.save(tmp_path / "plan.json")
    apply = command("apply", "--write", tmp_path / "plan.json")
    assert apply() == 0
    afters = {path: look(path) for path in paths}
    for step in range(1, 400, 2):
        for path in paths:
            assert command("undo", path)() == 0
        command("undo", "--purge", "--yes")()
        assert {path: look(path) for path in paths} == befores
        if forked(apply, at_call(step, kill))[0] is not None:
            break
        capfd.readouterr()
        code = apply()
        words = capfd.readouterr().err
        assert {path: look(path) for path in paths} == afters
        assert code == 0 or "has changed since the plan was made" in words
    assert step > 80


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_a_repair_that_is_killed_at_any_system_call(folder, tmp_path):
    """The real calls of a real process, those of buffered writes among them.

    SESSTOOL_TEST_CALLS names more of them.
    """
    path = make(folder, "middle")
    before, after = mended(path)
    trace = tmp_path / "trace"
    base = ["strace", "-f", "-qq", "-o", trace]
    mend = [sys.executable, "-m", "sesstool", "repair", "--write", path]
    calls = os.environ.get("SESSTOOL_TEST_CALLS", "write,rename")
    whole = [*base, "-e", f"trace={calls}", *mend]
    if subprocess.run(whole, capture_output=True, check=False).returncode:
        pytest.skip("strace may not trace here")
    made = Counter(re.findall(r"^\d+ +(\w+)\(", trace.read_text(), re.MULTILINE))
    assert command("undo", path)() == 0
    states = set()
    for name, number in [(call, n + 1) for call, times in made.items() for n in range(times)]:
        inject = ["-e", f"trace={name}", "-e", f"inject={name}:signal=KILL:when={number}"]
        subprocess.run([*base, *inject, *mend], capture_output=True, check=False)
        assert "killed by SIGKILL" in trace.read_text()
        api.settle(path)
        states.add(look(path))
        assert clean(path)
        if look(path) != before:
            assert command("undo", path)() == 0
        assert look(path) == before
    assert states == {before, after}
