"""Reading several files at once: the same result in the same order, and no hang."""

from __future__ import annotations

import os

import pytest

from sesstool.cli import workers
from sesstool.cli.main import run
from sesstool.errors import InputError
from tests.conftest import answer, jsonl, prompt, use

SOUND = jsonl(prompt(1, None), answer(2, 1))


@pytest.fixture
def folder(tmp_path):
    """A folder with sound and broken sessions, and one file that is none."""
    for number in range(6):
        (tmp_path / f"{number}.jsonl").write_bytes(SOUND)
    (tmp_path / "2.jsonl").write_bytes(SOUND + jsonl(answer(3, 2, use("c1"))))
    (tmp_path / "4.jsonl").write_bytes(b"no session\n")
    return tmp_path


@pytest.mark.parametrize("form", ["text", "json", "sarif"])
def test_two_processes_say_what_one_says(folder, form, capfdbinary):
    """Files are reported in their order, whichever process was ready first."""
    told = []
    for jobs in ("1", "2"):
        code = run(["validate", "--isolated", "-f", form, "--jobs", jobs, str(folder)])
        told.append((code, *capfdbinary.readouterr()))
    assert told[0] == told[1]
    assert told[0][0] == 1


def test_two_processes_know_the_schema(folder, tmp_path_factory, capfdbinary):
    """The schema of --schema reaches every process."""
    schema = tmp_path_factory.mktemp("schema") / "none.json"
    schema.write_text('{"required": ["beacon"]}')
    arguments = ["validate", "--isolated", "-f", "concise", "--select", "S303"]
    assert run([*arguments, "--schema", str(schema), "--jobs", "2", str(folder)]) == 1
    assert capfdbinary.readouterr().out.count(b" S303 ") == 11


def test_a_process_that_dies_is_an_error_and_no_hang():
    """A killed process ends the run with the next step."""
    with pytest.raises(InputError, match="a process died") as caught:
        list(workers.spread(os._exit, [9, 9], 2))
    assert caught.value.hint == "run it again with --jobs 1"


def test_small_folders_take_one_process(folder, monkeypatch):
    """Processes are started where there is enough to read, and never for standard input."""
    paths = sorted(folder.glob("*.jsonl"))
    assert workers.worthwhile(paths) == 1
    monkeypatch.setattr(workers, "_WORTH", 100)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    assert workers.worthwhile(paths) == 2
    assert workers.worthwhile(paths[:1]) == 1
    assert workers.worthwhile([*paths, "-"]) == 1
