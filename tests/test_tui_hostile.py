"""Whatever a session holds, nothing of it acts: in no widget, title, notice or clipboard."""

import asyncio
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.screens import SMALL, WIDE, frame_text, running, settled  # isort: skip - as it says

from sesstool.api.viewing import open_view
from sesstool.errors import AuthError, InputError
from sesstool.text import width
from sesstool.tui.contents import Contents, items
from sesstool.tui.conversation import Conversation
from sesstool.tui.lines import cut
from sesstool.tui.talk import Shown, Talk
from tests.conftest import (
    answer,
    asks,
    chat,
    dump,
    head,
    jsonl,
    meta,
    prompt,
    result,
    runs,
    said,
    speaks,
    talk,
    tells,
    use,
)
from tests.hostile import PIECES, TEXTS, acts

CELLS = 60


def drawn(path, shown=None):
    """All lines of all records of a file, and of the list of its places."""
    with open_view(path) as view:
        for _ in view.read():
            pass
        talk_ = Talk(view, shown or Shown(thinking=True, notes=True))
        lines, key = [], talk_.first()
        while key is not None:
            lines += talk_.draw(key, CELLS)
            key = talk_.after(key)
        rows = items(view, [], [])
        contents = Contents(view, rows, str)
        return [*lines, *(cut(contents.draw(n, CELLS), CELLS) for n in range(len(rows)))]


def sessions(text):
    """A session of each kind of format with a text in every place that is free."""
    yield jsonl(
        prompt(1, None, text, cwd=text, gitBranch=text, version=text),
        answer(2, 1, {"type": "thinking", "thinking": text, "signature": "c"}, turn="m"),
        answer(3, 2, use(text, text, command=text, other={text: text}), turn="m"),
        result(4, 3, text, text),
        prompt(5, 4, [{"type": "image", "source": {"data": text, "media_type": text}}]),
    )
    yield jsonl(
        meta(cwd=text), runs(text, arguments=text, name=text), {"type": text, "payload": {}}
    )
    yield jsonl(said("user", text), asks(text, arguments=text), tells(text, text))
    yield jsonl(head(cwd=text), speaks(1, None, "user", {"type": "text", "text": text}))
    yield json.dumps(text).encode("utf-8", "surrogatepass") + b"\n"


def dumped(data, tmp_path_factory, name="session.jsonl"):
    path = tmp_path_factory.mktemp("hostile") / name
    path.write_bytes(data)
    return path


@given(TEXTS)
def test_no_text_of_a_session_acts_or_breaks_a_line(tmp_path_factory, text):
    """Every span is safe, and no line is wider than it may be."""
    for data in sessions(text):
        for line in drawn(dumped(data, tmp_path_factory)):
            shown = "".join(span.text for span in line)
            assert not acts(shown)
            assert "\n" not in shown
            assert width(shown) <= CELLS


@given(st.binary(max_size=200) | st.binary(max_size=60).map(lambda b: jsonl(*talk(3)) + b))
def test_any_bytes_are_shown(tmp_path_factory, data):
    """What is no session is shown line by line; what seems packed or encrypted is refused."""
    path = dumped(data, tmp_path_factory)
    if data.lstrip().startswith((b"age", b"-----", b"\x1f\x8b", b"\x28\xb5\x2f\xfd")):
        with suppress(AuthError, InputError):
            drawn(path)
        return
    lines = drawn(path)
    assert not any(acts(span.text) for line in lines for span in line)


@pytest.mark.parametrize("size", [WIDE, SMALL])
def test_a_hostile_session_is_browsed_with_every_key(tmp_path, size):
    """No key makes anything act or raise, whatever the session says."""
    path = tmp_path / "session.jsonl"
    text = "".join(PIECES)
    path.write_bytes(b"".join(sessions(text)) + jsonl(*chat(4)) + b'{"torn": "' + text.encode())
    screen = Conversation(open_view(path))
    keys = (
        "t a o w space j j j m G v ] [ } { ) ( > < n N b enter y Y ctrl+d ctrl+u tab enter 1 2 "
        "pagedown g question_mark f2 escape ctrl+r"
    )

    async def run():
        async with running(screen, size) as pilot:
            for key in keys.split():
                await pilot.press(key)
                await settled(pilot)
                assert not acts(frame_text(pilot.app)), key
            for key in ("slash", "f", "colon"):
                await pilot.press(key)
                await settled(pilot)
                await pilot.press(*"[/x]", "enter")
                await settled(pilot)
                assert not acts(frame_text(pilot.app)), key

    asyncio.run(run())


def test_what_is_told_of_a_hostile_name_does_not_act(tmp_path):
    """A notice shows a text as it is, made safe, and reads no markup in it."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(jsonl(*talk(3)))
    screen = Conversation(open_view(path))

    async def run():
        async with running(screen) as pilot:
            pilot.app.say("".join(PIECES))
            pilot.app.say("[bold red]\x1b[31m[/x]")
            await settled(pilot)
            return frame_text(pilot.app)

    text = asyncio.run(run())
    assert not acts(text)
    assert "[bold red]␛[31m[/x]" in text


ACTING = "\x1b[201~rm -r ~\x07\x9b2J\u202ecod\u2028"


def copied(path, key):
    """What the clipboard gets, and the frame."""

    async def run():
        async with running(Conversation(open_view(path))) as pilot:
            await pilot.press(key)
            await settled(pilot)
            return pilot.app.clipboard, frame_text(pilot.app)

    return asyncio.run(run())


def test_what_is_copied_does_not_act_where_it_is_pasted(tmp_path):
    """Controls of a text are made visible; its lines and tabs stay."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(dump(prompt(1, None, f"one\n\ttwo {ACTING}")) + b"\n")
    text, frame = copied(path, "y")
    assert text == "one\n\ttwo ␛[201~rm -r ~␇<U+009B>2J<U+202E>cod<U+2028>"
    assert f"copied the text: {len(text)} characters" in frame


def test_a_raw_line_that_is_copied_means_the_same_and_does_not_act(tmp_path):
    """What JSON may hold as it is, and a terminal acts on, is escaped there."""
    path = tmp_path / "session.jsonl"
    record = prompt(1, None, ACTING)
    path.write_text(json.dumps(record, ensure_ascii=False) + "\n", encoding="utf-8")
    text, _ = copied(path, "Y")
    assert json.loads(text) == record
    assert text.isprintable()
