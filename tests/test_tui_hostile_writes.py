"""The screens that can write: no session, name or policy acts there, and nothing raises."""

import asyncio
import random

import pytest

from sesstool.text import width
from sesstool.tui.redacting import Redacting
from sesstool.tui.repairing import Repairing
from sesstool.tui.retaining import Retaining
from tests.conftest import jsonl, prompt
from tests.damages import DAMAGES
from tests.hostile import PIECES, acts
from tests.retained import Home
from tests.screens import SMALL, WIDE, running
from tests.seeds import SEEDS
from tests.test_tui_hostile import sessions
from tests.writes import driven, frame, press

KEYS = (
    "j b escape enter escape W escape A G space W escape a ] [ ctrl+r 1 2 3 tab "
    "V right_parenthesis left_parenthesis s p s question_mark escape t a"
)
TEXT = "".join(PIECES)
VALUE = "mail otto@lantern-quay.pt, key sk-ant-api03-" + "a1B2" * 24


def looked_at(screen, size=WIDE):
    """Press all keys; each frame is of the width, and nothing in it acts."""

    async def run():
        async with running(screen, size, writes=True) as pilot:
            for key in KEYS.split():
                await press(pilot, key)
                text = frame(pilot)
                assert not acts(text), key
                shown = text.split("\n")[: size[1]]
                assert all(width(line) <= size[0] for line in shown), key

    asyncio.run(run())


@pytest.mark.parametrize("size", [WIDE, SMALL])
@pytest.mark.parametrize("made", [Repairing, Redacting])
def test_a_hostile_session_is_looked_at_with_every_key(tmp_path, made, size):
    """Damaged, with values, and hostile in every place and in its name."""
    path = tmp_path / "a\x1b[31m[bold]\u202e.jsonl"
    record = prompt(1, None, f"{TEXT} {VALUE} {TEXT}", cwd=f"/home/{TEXT}".replace("\0", ""))
    torn = b'{"torn": "' + TEXT.encode() + b" otto@lantern-quay.pt"
    path.write_bytes(b"".join(sessions(TEXT)) + jsonl(record) + torn)
    looked_at(made(path), size)


@pytest.mark.parametrize("seed", sorted(SEEDS))
@pytest.mark.parametrize("made", [Repairing, Redacting])
def test_a_session_that_is_broken_in_some_way_is_looked_at(tmp_path, made, seed):
    """Each format, damaged three times over by what is drawn for it."""
    rng = random.Random(seed)
    data = SEEDS[seed]
    for damage in rng.sample(DAMAGES, 3):
        data = damage(rng, data)
    path = tmp_path / "session.jsonl"
    path.write_bytes(data)
    looked_at(made(path))


@pytest.mark.parametrize("size", [WIDE, SMALL])
def test_a_hostile_home_and_policy_are_looked_at(tmp_path, size):
    """Names of files, folders, rules and holds."""
    folder = tmp_path / ".claude" / "projects" / "x\x1b[2J[/x]\u202e"
    folder.mkdir(parents=True)
    for n, data in enumerate([jsonl(prompt(1, None, TEXT, cwd=TEXT)), b"\xff\x00", b"{}", b""]):
        (folder / f"{n}\x07[b]\u2066.jsonl").write_bytes(data)
    rules = tmp_path / "retention.toml"
    rules.write_text(
        """version = 1
[[hold]]
name = "\\u001b[31m [bold]x[/]"
reason = "\\u202e because [/x]"
match = { session = "0*" }
[[rule]]
name = "\\u001b[2J[/x]"
match = { path = "*[b]*" }
expire_after = "1d"
action = "delete"
"""
    )
    looked_at(Retaining([tmp_path / ".claude"], str(rules)), size)


@pytest.mark.parametrize("made", [Repairing, Redacting])
def test_what_is_no_file_is_told(tmp_path, made):
    """A folder, and one that is gone."""
    looked_at(made(tmp_path))
    looked_at(made(tmp_path / "gone.jsonl"))


def test_in_ascii_the_screens_have_no_other_sign(tmp_path):
    """With --ascii each sign has its twin, in rows, texts, dialogs and the last line."""
    damaged, home = tmp_path / "damaged.jsonl", Home(tmp_path)
    data = [prompt(1, None, VALUE), prompt(2, 1), b'{"torn": "' + b"x" * 300]
    damaged.write_bytes(jsonl(*data).rstrip(b"\n"))
    for screen, keys in (
        (Repairing(damaged), ("b", "escape", "W")),
        (Redacting(damaged), ("s", "s", "V", "W")),
        (Retaining([home.home], str(home.root / "trash.toml")), ("t", "G", "W")),
    ):
        for text in driven(screen, *keys, ascii=True, writes=True):
            # The edge of a notice is Textual's.
            assert text.replace("▌", "").isascii()
