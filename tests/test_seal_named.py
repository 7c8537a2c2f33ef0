"""The same where a file system knows no files without a name: a leftover may hold plain text."""

from __future__ import annotations

import pytest

from tests.faults import at_call, command, forked, kill
from tests.sealed import NEW, holders, without_nameless
from tests.test_seal_kill import home, killed_at_any_step, names

__all__ = ["home"]


@names
def test_it_is_so_where_each_file_has_a_name(home, name, monkeypatch):
    """As on file systems that know none without."""
    without_nameless(monkeypatch)
    killed_at_any_step(home, name, 2)


AFTER = {
    "decrypt": ["decrypt", "--write"],
    "rekey": ["rekey", "--write", "-r", NEW.recipient().text],
    "repair": ["repair", "--write"],
    "encrypt": ["encrypt", "--write", "--yes", "-r", NEW.recipient().text],
}


@pytest.mark.parametrize("after", AFTER)
def test_a_draft_of_plain_text_goes_with_whatever_comes_next(home, after, monkeypatch):
    """Be it a command that works on the encrypted files; until then it is private."""
    home.begin("decrypt")
    home.keep()
    without_nameless(monkeypatch)
    run = command(*home.commands()["decrypt"])
    key = [] if after == "encrypt" else ["-i", home.keys["old"]]
    seen = 0
    for step in range(1, 200, 2):
        if forked(run, at_call(step, kill))[0] is not None:
            break
        left = [path for path in holders(home.home) if path.name.startswith(".sesstool-")]
        if left:
            seen += 1
            assert {path.stat().st_mode & 0o777 for path in left} == {0o600}
            assert command(*AFTER[after], *key, home.path_for("decrypt"))() == 0
            assert not list(home.home.rglob(".*")), step
            assert home.problem() is None
        home.back()
    assert seen > 5
