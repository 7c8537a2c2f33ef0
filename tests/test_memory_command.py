"""The command `memory`: what it prints, and how it follows a session that grows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sesstool.cli import main
from sesstool.cli import memory as command
from sesstool.formats.schemas import schema_text
from tests.conftest import jsonl, said
from tests.seeds import SEEDS
from tests.test_memory import SAMPLE, chat
from tests.test_memory_kept import kept, rewritten
from tests.test_output_schemas import judge, undescribed


@pytest.fixture
def session(tmp_path):
    path = tmp_path / "talk.jsonl"
    path.write_bytes(jsonl(*SAMPLE))
    return path


def run(capsys, *arguments, code=0):
    assert main.run(["memory", *map(str, arguments)]) == code
    return capsys.readouterr()


def test_the_text_has_the_line_of_each_entry(session, capsys):
    """The sections are those of the message."""
    out = run(capsys, session).out
    assert out == (
        f"{session}: openai-chat, 10 records\n"
        "\n"
        "Goal\n"
        "      1  Mend the pier\n"
        "\n"
        "To do (1 of 2 done)\n"
        "      2  paint\n"
        "\n"
        "Calls without a result\n"
        "     10  Bash rm rope: no result; it may have run: check before it is repeated\n"
        "\n"
        "Verification\n"
        "      7  pytest -q: failed: 2 failed\n"
        "\n"
        "Failed\n"
        "      9  Edit lamp.txt: Error: no such text\n"
        "\n"
        "Done\n"
        "      5  Write pier.txt\n"
    )


@pytest.mark.parametrize("name", SEEDS)
def test_the_json_obeys_its_schema(tmp_path, capsys, name):
    """And no member of it is left undescribed."""
    path = tmp_path / name
    path.write_bytes(SEEDS[name])
    value = json.loads(run(capsys, "-f", "json", path).out)
    judge("memory").validate(value)
    schema = json.loads(schema_text("memory"))
    assert undescribed(value, schema, schema) == set()


def test_every_member_is_described(tmp_path, capsys):
    """A session with something in each section."""
    path = tmp_path / "talk.jsonl"
    more = chat("Now all of the lamps", ("ask_user", {"question": "Which?"}, "the old one"), "on")
    path.write_bytes(jsonl(*SAMPLE, *more))
    value = json.loads(run(capsys, "-f", "json", path).out)
    judge("memory").validate(value)
    schema = json.loads(schema_text("memory"))
    assert undescribed(value, schema, schema) == set()
    assert all(
        value[name] for name in ("todos", "open_calls", "checks", "failed", "decided", "done")
    )


def test_verbose_tells_of_the_cache(session, capsys):
    """Without -v nothing is said."""
    run(capsys, session)
    kept(session).write_bytes(b"{")
    assert run(capsys, "-v", session).err == (
        f"{session}: the memory is drawn anew, what was kept of it is of no use: it is damaged\n"
    )
    kept(session).write_bytes(b"{")
    assert run(capsys, session).err == ""


def follow(monkeypatch, *acts):
    """Have --follow find these changes, one a poll, and Ctrl-C behind them."""
    left = iter(acts)

    def sleep(seconds):
        assert seconds == 0.5
        act = next(left, None)
        if act is None:
            raise KeyboardInterrupt
        act()

    monkeypatch.setattr(command.time, "sleep", sleep)


def grow(path, *rows):
    def act():
        with path.open("ab") as file:
            file.write(jsonl(*rows))

    return act


def test_follow_prints_what_changes(session, capsys, monkeypatch):
    """One line of JSON each; a record that changes nothing prints nothing."""
    acts = (
        grow(session, said("user", "Paint the lamps")),
        lambda: None,
        grow(session, said("system", "be quick")),
        grow(session, said("assistant", "Painted, all of them.")),
    )
    follow(monkeypatch, *acts)
    got = run(capsys, "--follow", "-f", "json", session, code=130)
    values = [json.loads(line) for line in got.out.splitlines()]
    assert [value["goal"]["text"] for value in values] == [
        "Mend the pier",
        "Paint the lamps",
        "Paint the lamps",
    ]
    assert [len(value["decided"]) for value in values] == [0, 0, 1]
    assert values[-1]["records"] == 13
    for value in values:
        judge("memory").validate(value)


def test_follow_waits_for_a_line_to_be_whole(session, capsys, monkeypatch):
    """A record that is half written is none, and no damage either."""
    line = jsonl(said("user", "Paint the lamps"))

    def half(part):
        def act():
            with session.open("ab") as file:
                file.write(part)

        return act

    follow(monkeypatch, half(line[:20]), half(line[20:]))
    got = run(capsys, "--follow", session, code=130)
    assert got.out.count("\nGoal\n") == 2
    assert got.out.count("Paint the lamps") == 1


def test_follow_tells_of_files_that_go_and_come(session, capsys, monkeypatch):
    """Rewritten, gone, empty, and back."""
    data = session.read_bytes()

    def emptied():
        session.write_bytes(b"")

    def back():
        session.write_bytes(data)

    follow(
        monkeypatch,
        lambda: rewritten(session),
        session.unlink,
        lambda: None,
        emptied,
        lambda: None,
        back,
    )
    got = run(capsys, "--follow", session, code=130)
    assert got.err.splitlines()[:-1] == [
        f"{session} was rewritten: it is read from its beginning",
        f"{session} is gone; waiting for it",
        f"{session} holds no record that can be read; waiting for it",
        f"{session} was rewritten: it is read from its beginning",
    ]
    assert [line for line in got.out.splitlines() if "Mend" in line] == [
        "      1  Mend the pier",
        "      1  Mend the lamp",
        "      1  Mend the pier",
    ]


@pytest.mark.parametrize("arguments", [("-",), ("{}", "-o", "out.txt")])
def test_follow_needs_a_file_and_prints(session, capsys, arguments, monkeypatch, tmp_path):
    """A pipe does not grow, and a file of -o is whole or not at all."""
    monkeypatch.chdir(tmp_path)
    given_ = [str(session) if word == "{}" else word for word in arguments]
    assert "--follow looks at a file" in run(capsys, "--follow", *given_, code=2).err
    assert not Path("out.txt").exists()


def test_of_an_agent_known_by_name_only_nothing_is_claimed(tmp_path, capsys):
    """An empty memory would say that nothing was done."""
    path = tmp_path / "events.jsonl"
    path.write_bytes(jsonl({"type": "metadata", "protocol_version": "1", "created_at": 1}))
    for arguments in (["memory"], ["snapshot"], ["snapshot", "-o", "-"]):
        assert main.run([*arguments, str(path), "--format", "kimi-code"]) == 3
        told = capsys.readouterr().err
        assert "by name only" in told
        assert "hint: sesstool show" in told
    assert list(tmp_path.iterdir()) == [path]
