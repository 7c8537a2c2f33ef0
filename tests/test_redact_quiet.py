"""No value in any output of `redact`, and no part of one, whatever goes wrong on the way."""

import contextlib
import errno
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import sesstool
from sesstool import api as core
from sesstool.api import publishing, redaction
from sesstool.cli import main
from sesstool.privacy.rewrite import Rewriter, Rewritten
from sesstool.privacy.ruleset import expand, shipped
from tests.conftest import SESSION, answer, jsonl, meta, output, prompt, result, runs, says, use

RULES = shipped()
PART = 5
# Lines, offsets and sizes are numbers too: a part without letters counts from this length on.
LONG = 10
# What stands where such a part may be met by chance: fingerprints, digests, times.
CHANCE = re.compile(
    r"""(?:(?<=[A-Z_]-)|(?<=:)|(?<="value":[ ]")|(?<=value=)|(?<=<code>)|(?<=REDACTED))
        [0-9a-f]{8}(?=[\s"⟧.<,;/&-]|R|$)
        |(?<=":[ ])\d{1,7}(?=[,}])|\b[0-9a-f]{16}\b|\b[0-9a-f]{32}\b|\b[0-9a-f]{64}\b
        |\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d""",
    re.VERBOSE,
)
PROFILES = ("resume", "share")
STYLES = ("tag", "shape", "label")
FORMATS = ("text", "concise", "json", "jsonl", "github", "sarif")


def made():
    """Every example of every rule as (kind, text, values)."""
    for rule in RULES:
        for number, example in enumerate(rule.examples):
            text, spans = expand(example, f"quiet {rule.id} {number}")
            if spans:
                yield rule.kind, text, [text[start:end] for start, end in spans]


TEXTS = list(made())
# One of each kind, for the tests in which it is the error that counts.
FEW = list({one[0]: one for one in TEXTS}.values())
VALUES = sorted({value for _, _, values in TEXTS for value in values}, key=len)
MAIL = next(v for v in VALUES if re.fullmatch(r"[\w.]+@[\w.]+", v))


def windows(text, size):
    return {text[at : at + size] for at in range(len(text) - size + 1)}


def told():
    """What the program says of itself, in which a part of a value can stand by chance."""
    root = Path(sesstool.__file__).parent
    code = [p.read_text() for p in root.rglob("*") if p.suffix in (".py", ".j2")]
    return "\n".join(
        [__file__, *code, *(f"{r.id} {r.kind} {r.title} {r.rotate}" for r in RULES)]
    ).lower()


@pytest.fixture(scope="module")
def parts():
    """All parts of the values that tell something of them, in lower case."""
    values = [value.lower() for value in VALUES]
    known = told()
    found = {p for value in values for p in windows(value, PART) if p.isalnum()}
    found = {p for p in found - windows(known, PART) if not p.isdigit()}
    longer = {p for value in values for p in windows(value, LONG)} - windows(known, LONG)
    return found | {p for p in longer if len(set(p)) > 3}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Sessions with a value of each kind."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    return fill(tmp_path / "sessions", FEW)


@pytest.fixture
def full(folder):
    """Sessions with the values of all rules."""
    shutil.rmtree(folder)
    return fill(folder, TEXTS)


def fill(top, texts):
    """Sessions full of values: in words, keys, calls, thinking, names of files, torn lines."""
    folder = top / f"of-{MAIL}"
    side = folder / SESSION / "tool-results"
    side.mkdir(parents=True)
    (side / f"{MAIL}.txt").write_text("\n".join(text for _, text, _ in texts))
    records = [prompt(1, None, f"write to {MAIL}", gitBranch=MAIL)]
    for n, (_, text, values) in enumerate(texts, start=1):
        nested = json.dumps({"out": json.dumps([text])})
        given = {"command": text, "env": {values[0]: {"inside": text}}, "nested": nested}
        records.append(answer(2 * n, 2 * n - 1, use(f"toolu_{n}", **given)))
        records.append(result(2 * n + 1, 2 * n, f"toolu_{n}", text, toolUseResult={text: text}))
    seal = {"type": "thinking", "thinking": f"I mail {MAIL}", "signature": "QUJD" * 20}
    last = len(records)
    records += [
        answer(last + 1, last, seal, {"type": "text", "text": "done"}),
        prompt(last + 2, last + 1, "thanks"),
    ]
    torn = f'{{"type":"user","message":{{"content":"{MAIL}'.encode()
    (folder / f"{SESSION}.jsonl").write_bytes(jsonl(*records) + torn)
    codex = [meta(instructions=MAIL, cwd=f"/srv/{MAIL}")]
    for n, (_, text, values) in enumerate(texts):
        arguments = json.dumps({values[0]: text})
        codex += [says("user", text), runs(f"c{n}", arguments=arguments), output(f"c{n}", text)]
    with gzip.open(folder / "rollout.jsonl.gz", "wb") as file:
        file.write(jsonl(*codex))
    return top


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "key"
    path.write_text("of these tests alone")
    return path


@pytest.fixture
def quiet(parts, capfd, tmp_path):
    """Run a command and look for values in all that it leaves behind; what it printed."""

    def heard(where, text):
        text = CHANCE.sub("", text.replace(str(tmp_path), "")).lower()
        found = {p for size in (PART, LONG) for p in windows(text, size) & parts}
        assert not found, f"{len(found)} parts of values in {where}"

    def run(*arguments, poured=False):
        code = main.run(["redact", *map(str, arguments)])
        out, err = capfd.readouterr()
        if not poured:
            heard("stdout", out)
        heard("stderr", err)
        left = [p for p in tmp_path.glob("*report*") if p.is_file()]
        state = core.state_folder()
        left += [p for p in state.rglob("*") if p.is_file()] if state.exists() else []
        for path in left:
            heard(path.name, path.read_bytes().decode(errors="replace"))
            heard("a name", path.name)
        assert not list((tmp_path / "temporary").iterdir())
        return code, out, err

    return run


@contextlib.contextmanager
def failing(monkeypatch, place, name, error):
    """Have a function fail, with a value in the message."""

    def fail(*_, **__):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(place, name, fail)
        yield


def reports(tmp_path):
    return ["--report", tmp_path / "report.json", "--report", tmp_path / "report.html", "--force"]


def test_the_sessions_hold_values_of_all_rules(full, quiet, tmp_path):
    """The other tests would hear nothing where nothing was found."""
    assert quiet(full, "-f", "jsonl", *reports(tmp_path))[0] == 1
    report = json.loads((tmp_path / "report.json").read_text())
    assert {one["kind"] for one in report["found"]} >= {kind for kind, _, _ in TEXTS}
    # Where two rules find the same value, the surer one tells of it.
    assert len({one["rule"] for one in report["found"]}) > 0.9 * len(RULES)
    assert len(report["files"]) == 3
    assert {f["format"] for f in report["files"]} == {"claude-code", "codex", None}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("profile", PROFILES)
def test_reports_of_all_profiles_and_styles(folder, quiet, tmp_path, key, profile, style):
    options = ["--profile", profile, "--style", style, "--key", key]
    assert quiet(folder, *options, *reports(tmp_path))[0] == 1
    assert "Redaction report" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("loud", [["-qq"], ["-vv", "--color", "always"]], ids=" ".join)
def test_all_formats_at_all_verbosities(folder, quiet, form, loud):
    code, out, _ = quiet(folder, "-f", form, *loud)
    assert code == 1
    assert "P80" in out


def test_a_check_is_one_line(folder, quiet):
    code, out, err = quiet(folder, "--check")
    assert code == 1
    told = r"\d+ places, \d+ values in 3 of 3 files, values in the names of 3 files"
    assert re.fullmatch(rf"found: {told}, profile resume\n", out)
    assert err == ""


def test_copies(folder, quiet, tmp_path, key):
    """Neither the names of copies nor what is told of them holds a value."""
    target = tmp_path / "copies"
    assert quiet(folder, "-o", target, "-v", "--key", key, *reports(tmp_path))[0] == 0
    names = [str(p.relative_to(target)) for p in target.rglob("*")]
    assert len([n for n in names if n.endswith((".jsonl", ".gz", ".txt"))]) == 3
    assert not [n for n in names if MAIL in n]


def test_a_copy_on_standard_output(folder, quiet):
    """Only the copy is on stdout."""
    (path,) = folder.rglob("*.gz")
    code, out, err = quiet(path, "-o", "-", "-f", "text", poured=True)
    assert code == 0
    assert err.startswith("profile share")
    assert MAIL not in out


def test_in_place(folder, quiet, tmp_path):
    """The log of writes has the paths, which are the user's own, and no value beside them."""
    plain = tmp_path / "plain"
    next(folder.iterdir()).rename(plain)
    next(plain.rglob("*.txt")).rename(next(plain.rglob("*.txt")).with_name("out.txt"))
    arguments = [plain, "--write", "--in-place", "--yes", "-v", *reports(tmp_path)]
    assert quiet(*arguments)[0] == 0
    assert (core.state_folder() / "audit.jsonl").is_file()
    assert not (core.state_folder() / "undo").exists()
    assert json.loads((tmp_path / "report.json").read_text())["done"] == "in place"


@pytest.mark.parametrize("loud", [[], ["-v"]])
def test_a_result_that_fails_its_verification(folder, quiet, tmp_path, monkeypatch, loud):
    """Lines that were left as they are do not pass; nothing is written, no report either."""

    def lazy(_, line, **_more):
        return Rewritten(line, settled=True)

    monkeypatch.setattr(Rewriter, "rewrite", lazy)
    target = tmp_path / "copies"
    code, out, err = quiet(folder, "-o", target, *loud, *reports(tmp_path))
    assert code == 6
    assert "did not pass verification at line" in err
    assert out.count("\n") == 1
    assert not target.exists()
    assert not list(tmp_path.glob("report*"))


def test_a_text_that_does_not_come_to_rest(folder, quiet, monkeypatch):
    """The line in which new findings come up with each round is named."""
    monkeypatch.setattr(Rewriter, "rewrite", lambda _, line, **_more: Rewritten(line))
    code, _, err = quiet(folder)
    assert code == 6
    assert "holds new findings after each round" in err


@pytest.mark.parametrize("loud", [[], ["-v"]])
@pytest.mark.parametrize(
    "place", [(redaction, "verify"), (redaction, "Redactor"), (publishing, "packed")]
)
def test_a_bug(folder, quiet, tmp_path, monkeypatch, place, loud):
    """Its message holds values; it is told by type and place."""
    error = ValueError(VALUES)
    with failing(monkeypatch, *place, error):
        target = tmp_path / "copies"
        code, _, err = quiet(folder, "-o", target, *loud, *reports(tmp_path))
    assert code == 70
    assert "ValueError at test_redact_quiet.py" in err
    assert not list(tmp_path.glob("report*"))


@pytest.mark.parametrize(
    ("error", "exit_code"),
    [(KeyboardInterrupt(MAIL), 130), (OSError(errno.ENOSPC, "no space left", MAIL), 6)],
)
@pytest.mark.parametrize("place", [(redaction, "verify"), (publishing, "packed")])
def test_an_interruption_and_a_full_disk(
    folder, quiet, tmp_path, monkeypatch, error, exit_code, place
):
    """No report tells of copies that were not made."""
    if isinstance(error, OSError):
        error = OSError(errno.ENOSPC, "no space left")
    with failing(monkeypatch, *place, error):
        arguments = [folder, "-o", tmp_path / "copies", *reports(tmp_path)]
        assert quiet(*arguments)[0] == exit_code
    assert not list(tmp_path.glob("report*"))


def test_a_report_that_cannot_be_written(folder, quiet, tmp_path, monkeypatch):
    """The copies are not made without it."""
    full = OSError(errno.ENOSPC, "no space left")
    target = tmp_path / "copies"
    with failing(monkeypatch, os, "fsync", full):
        assert quiet(folder, "-o", target, *reports(tmp_path))[0] == 6
    assert not target.exists()


def test_a_session_in_use(folder, quiet, tmp_path, monkeypatch):
    """Its name holds a value, and the message does not."""
    monkeypatch.setattr(core, "writer", lambda _: "another program has it open")
    arguments = [folder, "--write", "--in-place", "--yes", *reports(tmp_path)]
    code, _, err = quiet(*arguments)
    assert code == 4
    assert "is in use: another program has it open" in err
    assert not list(tmp_path.glob("report*"))


def test_a_session_that_changed_meanwhile(folder, quiet, monkeypatch):
    publish = publishing.publish

    def late(done, *arguments, **more):
        for file in done.files:
            with file.path.open("ab") as handle:
                handle.write(b"\n")
        return publish(done, *arguments, **more)

    monkeypatch.setattr("sesstool.cli.redact.publish", late)
    code, _, err = quiet(folder, "--write", "--in-place", "--yes")
    assert code == 6
    assert "has changed since it was read" in err


def test_files_that_cannot_be_read(folder, quiet, tmp_path):
    """A damaged archive, and a key that is none."""
    damaged = tmp_path / "damaged.jsonl.gz"
    damaged.write_bytes(next(folder.rglob("*.gz")).read_bytes()[:-9])
    assert quiet(damaged, "-v")[0] == 3
    short = tmp_path / "short-key"
    short.write_text(VALUES[-1][:12])
    assert quiet(folder, "--key", short, "-v")[0] == 2
    assert quiet(folder, "--key", tmp_path / "none", "-v")[0] == 3


def test_a_turn_that_is_not_over(folder, quiet):
    """Where the thinking that must stay holds a value, writing is refused, and the line named."""
    path = folder / "open.jsonl"
    seal = {"type": "thinking", "thinking": f"I mail {MAIL}", "signature": "QUJD" * 20}
    path.write_bytes(jsonl(prompt(1, None), answer(2, 1, seal, use("toolu_1"))))
    assert quiet(path)[0] == 1
    code, _, err = quiet(path, "--write", "--in-place", "--yes")
    assert code == 2
    assert "line 2 of" in err


def test_a_reader_that_goes_away(folder, parts, tmp_path):
    """The exit code tells it, and nothing else is said."""
    command = [sys.executable, "-m", "sesstool", "redact", "-f", "jsonl", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        err = process.stderr.read().decode()
    assert process.returncode == 141
    assert not windows(err.lower(), PART) & parts
    assert not list((tmp_path / "temporary").iterdir())


def test_only_what_the_user_gave_is_shown_of_a_path(folder, capfd):
    """A folder below it has a value in its name, and another that is given has one as well."""
    main.run(["redact", str(folder), "-f", "concise", "-q"])
    assert MAIL not in capfd.readouterr().out
    main.run(["redact", str(next(folder.iterdir())), "-f", "concise", "-q"])
    out = capfd.readouterr().out
    assert f"of-{MAIL}/{SESSION}.jsonl:1:" in out
    assert f"{MAIL}.txt" not in out
