"""The JSON of `repair`, `resume`, `fork` and saved plans, compared with the shipped schemas."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from sesstool.cli import main
from sesstool.formats.schemas import schema_text
from tests.conftest import asks, jsonl, said

FORKS = Path(__file__).parents[1] / "samples" / "forks"
TORN = b'{"role":"tool","tool_call_id":"c1","cont'
OUTPUTS = [
    *(
        "audit",
        "changes",
        "conversion",
        "diff",
        "doctor",
        "export",
        "finding",
        "findings",
        "fork",
        "holds",
        "homes",
        "list",
        "memory",
        "plan",
    ),
    *("prune", "redaction", "repair", "resume", "search", "status", "trash", "world"),
]


def asks_to_read(path):
    """Return a message that calls a tool to read a file."""
    given = json.dumps({"path": str(path)})
    call = {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": given}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


@pytest.fixture
def session(tmp_path):
    path = tmp_path / "session.jsonl"
    path.write_bytes(jsonl(said("user"), asks("c1")) + TORN)
    return path


def judge(name):
    """Return the shipped schema of this name as a validator that knows the others."""
    known = [Resource.from_contents(json.loads(schema_text(n))) for n in OUTPUTS]
    registry = Registry().with_resources((resource.id(), resource) for resource in known)
    return Draft202012Validator(json.loads(schema_text(name)), registry=registry)


def printed(capsys, name, *arguments, code):
    """Run a command and return its JSON, which must obey a schema."""
    assert main.run([*arguments]) == code
    value = json.loads(capsys.readouterr().out)
    judge(name).validate(value)
    return value


def undescribed(value, schema, root):
    """Names of members that a schema does not describe; findings have a schema of their own."""
    if schema.get("$ref", "").startswith("#/$defs/"):
        schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    if isinstance(value, list):
        return {n for item in value for n in undescribed(item, schema.get("items", {}), root)}
    if not isinstance(value, dict) or "properties" not in schema:
        return set()
    known = schema["properties"]
    below = {n for key in known.keys() & value for n in undescribed(value[key], known[key], root)}
    return value.keys() - known.keys() | below


@pytest.mark.parametrize("name", OUTPUTS)
def test_every_output_schema_is_shipped_and_sound(name):
    """Each schema obeys its dialect and names itself."""
    schema = json.loads(schema_text(name))
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"urn:sesstool:output:{name}"


def test_a_preview_obeys_its_schema(session, capsys):
    """The preview mends two findings by one edit at the end, and nothing is written."""
    value = printed(capsys, "repair", "repair", "-f", "json", str(session), code=1)["sessions"][0]
    assert value["rules"] == {"B104": 1, "T401": 1}
    assert (value["edits"], value["written"]) == (1, [])


def test_a_written_repair_obeys_its_schema(session, capsys):
    """What was written names the file, its undo entry and the bytes that were cut."""
    arguments = ("repair", "--write", "-f", "json", str(session))
    value = printed(capsys, "repair", *arguments, code=0)["sessions"][0]
    (written,) = value["written"]
    assert written["path"] == str(session)
    assert written["cut_bytes"] == len(TORN)
    assert len(written["undo"]) == 8


def test_a_sound_session_obeys_the_schema_of_repair(session, capsys):
    """Where nothing is to mend the document has the same members."""
    session.write_text('{"role":"user","content":"Grind"}\n')
    value = printed(capsys, "repair", "repair", "-f", "json", str(session), code=0)["sessions"][0]
    assert (value["mended"], value["edits"], value["growth"]) == ([], 0, 0)


def test_a_resume_obeys_its_schema(session, capsys):
    """The open call and the torn record are told."""
    value = printed(capsys, "resume", "resume", "-f", "json", str(session), code=1)
    assert [call["id"] for call in value["open_calls"]] == ["c1"]
    assert [finding["code"] for finding in value["refusals"]] == ["T401"]
    assert [finding["code"] for finding in value["losses"]] == ["B104"]
    assert not value["acceptable"]


def test_a_snapshot_obeys_its_schema(session, tmp_path, monkeypatch, capsys):
    """What is recorded, and what has changed since, are described member by member."""
    monkeypatch.chdir(tmp_path)
    session.write_bytes(jsonl(said("user"), asks_to_read(tmp_path / "log.txt")))
    for name, more, code in (("world", [], 0), ("changes", ["--compare"], 1)):
        value = printed(capsys, name, "snapshot", "-f", "json", str(session), *more, code=code)
        schema = json.loads(schema_text(name))
        assert undescribed(value, schema, schema) == set()
        (tmp_path / "log.txt").write_text("the lamp burns")
    value = printed(capsys, "resume", "resume", "-f", "json", str(session), code=1)
    schema = json.loads(schema_text("changes"))
    assert undescribed(value["world"], schema, schema) == set()
    (change,) = value["world"]["changes"]
    assert change["kind"] == "new"


def test_a_fork_obeys_its_schema(session, capsys):
    """What is inherited, the open call, and the torn record that stayed behind are told."""
    value = printed(capsys, "fork", "fork", "-f", "json", str(session), code=0)
    assert Path(value["path"]).is_file()
    assert [call["effects"] for call in value["inherited"]] == [[{"kind": "other", "target": ""}]]
    assert [call["id"] for call in value["open_calls"]] == ["c1"]
    assert (value["records"], value["left_out"], value["at"]) == (2, 1, 2)


def test_a_saved_plan_obeys_its_schema(session, tmp_path):
    """The saved plan holds the file and the edit that the preview tells."""
    plan = tmp_path / "plan.json"
    assert main.run(["repair", "--save-plan", str(plan), str(session)]) == 1
    value = json.loads(plan.read_bytes())
    judge("plan").validate(value)
    (file,) = value["files"]
    assert file["path"] == str(session)
    assert file["findings"] == ["B104", "T401"]


def test_no_member_is_left_undescribed(session, tmp_path, capsys):
    """A member that the code adds must be described in the schema as well."""
    plan = tmp_path / "plan.json"
    main.run(["repair", "--save-plan", str(plan), str(session)])
    capsys.readouterr()
    values = {
        "plan": json.loads(plan.read_bytes()),
        "resume": printed(capsys, "resume", "resume", "-f", "json", str(session), code=1),
        "fork": printed(capsys, "fork", "fork", "-f", "json", str(session), code=0),
        "repair": printed(
            capsys, "repair", "repair", "--write", "-f", "json", str(session), code=0
        ),
    }
    for name, value in values.items():
        schema = json.loads(schema_text(name))
        assert undescribed(value, schema, schema) == set()


@pytest.mark.parametrize("pair", sorted(FORKS.glob("*/expect.json")), ids=lambda p: p.parent.name)
def test_a_comparison_obeys_its_schema(pair, monkeypatch, capsys):
    """Each member that it has is described."""
    monkeypatch.chdir(pair.parent)
    arguments = json.loads(pair.read_bytes())["arguments"]
    value = printed(capsys, "diff", "diff", *arguments, "-f", "json", "--effects", code=1)
    schema = json.loads(schema_text("diff"))
    assert undescribed(value, schema, schema) == set()
