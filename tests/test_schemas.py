"""The shipped record schemas, and the two engines that judge by them."""

import copy
import json
import os
import random
import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from referencing.exceptions import Unresolvable

from sesstool.errors import UsageError
from sesstool.formats import registry, schemas
from sesstool.formats.schemas import RecordValidator, Violation

ROOT = Path(__file__).parents[1]
CORPUS = ROOT.parent / "shared" / "corpus"
FORMATS = [f.schema for f in registry.FORMATS if f.schema]
SEEDS = [7, 1961, int(os.environ.get("SESSTOOL_TEST_SEED", "40"))]
CANARY = "heron-on-the-weir"
ODD = [None, True, 0, -1, 1.0, 1.5, 2**64, "", "\n", "user\n", "\u2028", [], {}, [""], [{}]]

# Format, kinds of record, place in them ("." is the top), the properties that must stand there.
NEEDED = """
claude-code user,assistant . type uuid parentUuid sessionId timestamp message
claude-code user,assistant message role content
claude-code user message/content/* type text tool_use_id source
claude-code user message/content/*/source type media_type data
claude-code user message/content/*/content/* type text
claude-code assistant message/content/* type thinking signature data id name input
claude-code system,progress . type uuid parentUuid sessionId timestamp
claude-code system compactMetadata/preservedSegment headUuid anchorUuid tailUuid
claude-code system compactMetadata/preservedMessages anchorUuid uuids
claude-code attachment . type uuid parentUuid sessionId timestamp attachment
claude-code attachment attachment type
claude-code queue-operation . type operation
claude-code file-history-snapshot . type messageId snapshot
claude-code file-history-snapshot snapshot trackedFileBackups
claude-code content-replacement . type replacements
claude-code summary,custom-title,last-prompt,worktree-state,relocated,flour-telemetry . type
codex session_meta,response_item,event_msg . timestamp type payload
codex turn_context,compacted,world_state . timestamp type payload
codex session_meta payload id timestamp cwd originator cli_version
codex session_meta payload/base_instructions text
codex session_meta payload/history_base thread_id end_ordinal_exclusive end_byte_offset
codex response_item payload type role content summary name arguments call_id input output
codex response_item payload status action encrypted_content
codex response_item payload/content/* type text image_url
codex response_item payload/output/* type text
codex response_item payload/action type
codex event_msg payload type message num_turns
codex turn_context payload cwd model
codex compacted payload message
codex compacted payload/replacement_history/* type encrypted_content
codex flour_record . timestamp type
anthropic-messages user,assistant,system . role content
anthropic-messages user content/* type text tool_use_id source
anthropic-messages user content/*/source type media_type data url
anthropic-messages user content/*/content/* type text
anthropic-messages assistant content/* type thinking signature data text id name input
anthropic-messages system content/* type text
openai-responses user . role content
openai-responses message . role content
openai-responses message content/* type text image_url refusal
openai-responses reasoning . summary
openai-responses function_call . name arguments call_id
openai-responses function_call_output,custom_tool_call_output . type call_id output
openai-responses function_call_output output/* type text
openai-responses custom_tool_call . name input call_id
openai-responses function_call,custom_tool_call,reasoning,compaction,juggling . type
openai-responses local_shell_call . type action status
openai-responses local_shell_call action type
openai-responses compaction . encrypted_content
openai-chat system,user . role content
openai-chat user content/* type text image_url
openai-chat user content/*/image_url url
openai-chat assistant . role
openai-chat assistant tool_calls/* id function custom
openai-chat assistant tool_calls/*/function name arguments
openai-chat assistant tool_calls/*/custom name input
openai-chat assistant function_call name arguments
openai-chat tool . role tool_call_id content
openai-chat function . role name content
pi session,model_change,compaction,branch_summary,beacon-telemetry . type
pi message . type message
pi message message role content toolCallId
pi message message/content/* type text data mimeType thinking id name arguments
pi custom_message . type content
qwen user,assistant,tool_result . type uuid parentUuid sessionId message
qwen user,assistant,tool_result message parts
qwen user message/parts/*/inlineData data mimeType
qwen assistant message/parts/*/functionCall name
qwen tool_result message/parts/*/functionResponse response
qwen system systemPayload/compressedHistory/* parts
qwen system,beacon-telemetry . type uuid parentUuid sessionId
kimi _system_prompt,user,system . role content
kimi _usage . role token_count
kimi user content/* type text image_url
kimi user content/*/image_url url
kimi assistant,_beacon . role
kimi assistant content/* type think
kimi assistant tool_calls/* id function
kimi assistant tool_calls/*/function name arguments
kimi tool . role tool_call_id content
droid session_start,todo_state,beacon-telemetry . type
droid message . type message
droid message message role content
droid message message/content/* type text tool_use_id id name input
grok system,user,tool_result . type content
grok assistant,reasoning,beacon-telemetry . type
grok assistant tool_calls/* id name arguments
grok tool_result . tool_call_id
cursor user,assistant . message
cursor user,assistant message content
cursor user,assistant message/content/* type text
cursor assistant message/content/* name
mycodeagent message . event_id timestamp session_id run_id step event_type payload
mycodeagent message payload role content
mycodeagent message payload/metadata/tool_calls/* id
mycodeagent state_transition . event_id timestamp session_id run_id step event_type payload
mycodeagent tool_lifecycle . event_id timestamp session_id run_id step event_type payload
mycodeagent tool_lifecycle payload tool_call_id status
mycodeagent checkpoint . event_id timestamp session_id run_id step event_type payload
mycodeagent checkpoint payload checkpoint_id
mycodeagent terminal,weather . event_id timestamp session_id run_id step event_type payload
copilot-cli session.start,user.message,system.message,assistant.turn_start . type data id timestamp
copilot-cli assistant.message,tool.execution_start,tool.execution_complete . type data id timestamp
copilot-cli assistant.turn_end,session.usage_record,session.compaction_complete . type data id
copilot-cli assistant.turn_end,session.usage_record,session.compaction_complete . timestamp
copilot-cli session.shutdown,beacon.telemetry . type data id timestamp
copilot-cli session.start,user.message,system.message,assistant.turn_start . parentId
copilot-cli assistant.message,tool.execution_start,tool.execution_complete . parentId
copilot-cli assistant.turn_end,session.usage_record,session.compaction_complete . parentId
copilot-cli session.shutdown,beacon.telemetry . parentId
copilot-cli session.start data sessionId version producer copilotVersion startTime
copilot-cli user.message data content
copilot-cli system.message data role content
copilot-cli assistant.turn_start,assistant.turn_end data turnId
copilot-cli assistant.message data messageId content
copilot-cli assistant.message data/toolRequests/* toolCallId name
copilot-cli tool.execution_start data toolCallId toolName
copilot-cli tool.execution_complete data toolCallId success
copilot-cli tool.execution_complete data/result content
copilot-cli session.usage_record data usage
copilot-cli session.compaction_complete data success
copilot-cli session.shutdown data shutdownType modelMetrics
gemini user . content
gemini user,gemini,info . id type
gemini user content/*/functionResponse name response
gemini gemini content/*/functionCall name
gemini gemini toolCalls/* id name
gemini gemini toolCalls/*/result/*/functionResponse name response
astorlm system,user,assistant . role content
astorlm system content/* type text
astorlm user content/* type text tool_use_id content
astorlm assistant content/* type text thinking id name input
"""

# Of the files that stand for an agent's own, those that are damaged.
DAMAGED = {
    "quest-badmiddle",
    "quest-truncated",
    "transcript-session-bad_middle",
    "transcript-session-truncated_tail",
}
# How the corpus calls the clients of formats that have other names.
CLIENTS = {"copilot": "copilot-cli", "gemini-cli": "gemini", "qwen-code": "qwen"}
# In these, records have ids; elsewhere only bare items have.
WITH_IDS = ("pi", "copilot-cli", "droid", "gemini")
NO_STRING = "is a number where a string is expected"
NO_INTEGER = "is a number where an integer is expected"
NO_LINK = "is a number where a string or null is expected"
NO_CONTENT = "is null where a string or an array is expected"
NO_OBJECT = "is a string where an object is expected"
NO_SPEAKER = "is none of 'system', 'developer', 'user', 'assistant'"
NO_ROLE = "is none of 'system', 'developer', 'user', 'assistant', 'tool', 'function'"
WRONG = [
    ("claude-code", "user", "/uuid", "", "has a length below 1"),
    ("claude-code", "user", "/parentUuid", 7, NO_LINK),
    ("claude-code", "user", "/isSidechain", "no", "is a string where a boolean is expected"),
    ("claude-code", "user", "/message", [], "is an array where an object is expected"),
    ("claude-code", "user", "/message/role", "assistant", "is not 'user'"),
    ("claude-code", "user", "/message/content", None, NO_CONTENT),
    ("claude-code", "user", "/message/content/0", "a", "is a string where an object is expected"),
    ("claude-code", "user", "/message/content/0/type", "thinking", "is not allowed here"),
    ("claude-code", "assistant", "/message/content/0/type", "tool_result", "is not allowed here"),
    ("claude-code", "assistant", "/message/id", 3, NO_STRING),
    ("claude-code", "last-prompt", "/leafUuid", 5, NO_LINK),
    ("codex", "session_meta", "/ordinal", -1, "is below 0"),
    ("codex", "session_meta", "/ordinal", 1.5, NO_INTEGER),
    ("codex", "response_item", "/payload/arguments", 1, NO_STRING),
    ("codex", "response_item", "/payload/content", "a", "is a string where an array is expected"),
    ("anthropic-messages", "user", "/content", None, NO_CONTENT),
    ("anthropic-messages", "user", "/content/0/type", "tool_use", "is not allowed here"),
    (
        "anthropic-messages",
        "assistant",
        "/role",
        "tool",
        "is none of 'user', 'assistant', 'system'",
    ),
    ("anthropic-messages", "assistant", "/content/0/input", "{}", NO_OBJECT),
    (
        "openai-responses",
        "function_call",
        "/arguments",
        {},
        "is an object where a string is expected",
    ),
    ("openai-responses", "message", "/role", "tool", NO_SPEAKER),
    ("openai-chat", "system", "/content", None, NO_CONTENT),
    ("openai-chat", "assistant", "/tool_calls/0/function/arguments", 1, NO_STRING),
    ("openai-chat", "tool", "/role", "robot", NO_ROLE),
    ("pi", "model_change", "/parentId", 7, NO_LINK),
    ("pi", "session", "/version", "3", "is a string where an integer is expected"),
    ("pi", "message", "/message/content", None, NO_CONTENT),
    ("pi", "message", "/message/content/0/text", 3, NO_STRING),
    ("pi", "compaction", "/firstKeptEntryId", 3, NO_STRING),
    ("mycodeagent", "message", "/step", "one", "is a string where an integer is expected"),
    ("mycodeagent", "message", "/payload", [], "is an array where an object is expected"),
    ("mycodeagent", "message", "/payload/content", 1, NO_STRING),
    ("mycodeagent", "message", "/payload/metadata/tool_calls/0/id", "", "has a length below 1"),
    ("mycodeagent", "checkpoint", "/payload/checkpoint_id", 1, NO_STRING),
    ("mycodeagent", "checkpoint", "/payload/retain_start_idx", 1.5, NO_INTEGER),
    ("copilot-cli", "user.message", "/data/content", None, "is null where a string is expected"),
    ("copilot-cli", "session.start", "/parentId", 7, NO_LINK),
    ("copilot-cli", "assistant.message", "/data/toolRequests/0/name", "", "has a length below 1"),
    (
        "copilot-cli",
        "tool.execution_complete",
        "/data/result",
        "red",
        "is a string where an object or null is expected",
    ),
    ("gemini", "gemini", "/toolCalls", "x", "is a string where an array or null is expected"),
    ("gemini", "gemini", "/toolCalls/0/name", 3, NO_STRING),
    ("gemini", "user", "/content/0/text", None, "is null where a string is expected"),
    ("astorlm", "user", "/content", "words", "is a string where an array is expected"),
    ("astorlm", "user", "/content/0/content", [], "is an array where a string is expected"),
    ("astorlm", "user", "/content/0/type", "tool_use", "is not allowed here"),
    ("astorlm", "assistant", "/content/0/type", "tool_result", "is not allowed here"),
    ("astorlm", "assistant", "/content/0/input", [], "is an array where an object is expected"),
]


@pytest.fixture(params=FORMATS)
def name(request):
    return request.param


@pytest.fixture
def validator(name):
    return RecordValidator.shipped(name)


def examples(name):
    """Read the examples in a shipped schema."""
    return json.loads(schemas.schema_text(name))["examples"]


def kind_of(record):
    """Name the kind of an example: its type or its role; add what else tells kinds apart."""
    return record.get("type") or record.get("role") or record.get("event_type") or ""


def places(value, at=""):
    """Every container in a value with each of its keys, and the JSON pointer of the place."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key, f"{at}/{key}"
            yield from places(value[key], f"{at}/{key}")


def mutant(records, rng):
    """Make a copy of one of the records with one to three random changes."""
    record = copy.deepcopy(rng.choice(records))
    for _ in range(rng.randint(1, 3)):
        if spots := list(places(record)):
            box, key, _ = rng.choice(spots)
            donor, there, _ = rng.choice(list(places(rng.choice(records))))
            box[key] = copy.deepcopy(rng.choice([*ODD, *[donor[there]] * len(ODD)]))
            if rng.random() < 0.3:
                del box[key]
    return record


def broken_by(validator, record):
    return [(v.pointer, v.message) for v in validator.explain(record)]


def test_sound_records_of_every_type_are_valid(validator, name):
    """A record that an agent may write breaks nothing, whatever else it holds."""
    for record in examples(name):
        assert broken_by(validator, record) == []
        assert validator.valid(record)


def test_a_lack_is_named_at_its_place(validator, name):
    """A record needs these properties and no others, and each that is gone is named."""
    lacks = set()
    for record in examples(name):
        if (name not in WITH_IDS and "id" in record) or not kind_of(record):
            continue  # bare items, and conversations, have tests of their own
        for number, (box, key, pointer) in enumerate(places(record)):
            cut = copy.deepcopy(record)
            del list(places(cut))[number][0][key]
            if isinstance(box, dict) and not validator.valid(cut):
                parent = pointer.rpartition("/")[0]
                assert broken_by(validator, cut) == [(parent, f"lacks the property '{key}'")]
                place = re.sub("[0-9]+", "*", parent[1:]) or "."
                lacks.add((kind_of(record), place, key))
    rows = [row.split() for row in NEEDED.split("\n") if row.startswith(name)]
    wanted = [one for _, kinds, at, *keys in rows for one in product(kinds.split(","), [at], keys)]
    assert lacks == set(wanted)


@pytest.mark.parametrize(("name", "wrong"), [(name, wrong) for name, *wrong in WRONG])
def test_a_wrong_value_is_named_at_its_place(validator, name, wrong):
    """A value that the agent or its provider cannot use is one violation, in plain words."""
    kind, pointer, value, message = wrong
    of_kind = [one for one in examples(name) if kind_of(one) == kind]
    spots = [(one, *spot) for one in of_kind for spot in places(one) if spot[-1] == pointer]
    record, box, key, _ = spots[0]
    box[key] = value
    assert not validator.valid(record)
    assert (pointer, message) in broken_by(validator, record)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({}, "lacks the properties 'timestamp', 'type', 'payload'"),
        ({"payload": {}, "timestamp": "t"}, "lacks the property 'type'"),
        ({"type": "compacted", "timestamp": "t"}, "lacks the property 'payload'"),
        ({"type": "function_call_output", "output": ""}, "lacks the property 'call_id'"),
        ({"id": "t1"}, "lacks the property 'timestamp'"),
    ],
)
def test_codex_tells_the_bare_shape_from_the_envelope(record, message):
    """What a record of Codex lacks depends on which of its two shapes it has."""
    assert broken_by(RecordValidator.shipped("codex"), record) == [("", message)]


def test_a_conversation_is_judged_message_by_message():
    """The pointer of a violation leads into the conversation."""
    record = {"messages": [{"role": "user", "content": ""}, {"role": "user"}]}
    broken = broken_by(RecordValidator.shipped("openai-chat"), record)
    assert broken == [("/messages/1", "lacks the property 'content'")]


def test_the_examples_reach_every_definition(name):
    """No definition is out of use, and the mutants below start from all of them."""
    schema = json.loads(schemas.schema_text(name))
    for definition in schema["$defs"]:
        shut = RecordValidator({**schema, "$defs": {**schema["$defs"], definition: {"not": {}}}})
        assert not all(map(shut.valid, examples(name))), definition


@pytest.mark.parametrize("seed", SEEDS)
def test_both_engines_judge_mutants_alike(validator, name, seed):
    """The fast filter calls valid exactly what jsonschema calls valid."""
    rng = random.Random(seed)
    records = examples(name)
    verdicts = []
    for _ in range(1000):
        record = mutant(records, rng)
        verdicts.append(not validator.explain(record))
        assert validator._filter.is_valid(record) == verdicts[-1], (seed, record)
    assert 100 < sum(verdicts) < 900, "the mutants are all alike"


def test_shipped_schemas_keep_to_what_both_engines_read_alike(name):
    """The filter is only right while no schema uses a keyword on which the engines differ."""
    schema = json.loads(schemas.schema_text(name))
    assert schemas.diverging(schema) == set()
    assert "format" not in {word for word, _ in schemas.keywords(schema)}
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_the_lint_sees_every_diverging_keyword():
    """A keyword is found wherever a schema may stand, and a property name is no keyword."""
    nested = {"$defs": {"a": {"items": {"anyOf": [{"pattern": "a"}, {"multipleOf": 0.1}]}}}}
    assert schemas.diverging(nested) == {"pattern", "multipleOf"}
    assert schemas.diverging({"$ref": "https://mill.example/a.json"}) == {"$ref"}
    assert schemas.diverging({"properties": {"pattern": {}}, "enum": [{"pattern": 1}]}) == set()


def test_violations_hold_no_text_of_the_record(validator, name):
    """Neither a value nor a key that only the record has gets into a violation."""
    for record in examples(name):
        for number in range(len(list(places(record)))):
            for spoilt in (CANARY, [CANARY], {CANARY: CANARY}, {"type": CANARY}):
                copied = copy.deepcopy(record)
                box, key, _ = list(places(copied))[number]
                box[key] = spoilt
                assert CANARY not in str(validator.explain(copied))


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"additionalProperties": {"const": None}}, "holds something that is not null"),
        ({"additionalProperties": False}, "has a property that the schema does not allow"),
        ({"propertyNames": {"maxLength": 2}}, "has a property name that the schema does not allow"),
        ({"patternProperties": {"^h": {"const": 1}}}, "holds something that is not 1"),
        ({"maxProperties": 0}, "is not what the schema allows"),
        ({"enum": [1, "a"]}, "is none of 1, 'a'"),
        ({"oneOf": [True, True]}, "has not exactly one of the shapes that the schema allows"),
    ],
)
def test_violations_of_any_schema_hold_no_text_of_the_record(schema, message):
    """A schema of the user's may judge unknown keys; the violation does not repeat them."""
    assert broken_by(RecordValidator(schema), {CANARY: CANARY}) == [("", message)]


def test_the_deepest_error_is_told():
    """Where alternatives fail, the one that came furthest says why."""
    near = {"properties": {"a": {"properties": {"b": {"type": "string"}}}}}
    validator = RecordValidator({"anyOf": [{"required": ["z"]}, near]})
    expected = Violation("/a/b", "is a number where a string is expected", "type")
    assert validator.explain({"a": {"b": 5}}) == [expected]


@pytest.mark.parametrize("value", ["\ud800", float("nan"), float("-inf"), 10**400, {"\ud800": 1}])
def test_values_that_the_filter_cannot_take_are_judged(value):
    """What JSON's looser readers let through is judged like all else, without an error."""
    validator = RecordValidator.shipped("claude-code")
    record = examples("claude-code")[0]
    assert validator.valid({**record, "extra": value, "\ud800": value})
    assert validator.explain({**record, "extra": value}) == []
    assert not validator.valid({**record, "isMeta": value})
    assert [v.pointer for v in validator.explain({**record, "isMeta": value})] == ["/isMeta"]


def test_deep_nesting_is_judged_without_an_error():
    """A record nested deeper than jsonschema can follow gets a verdict all the same."""
    deep = {}
    for _ in range(900):
        deep = {"a": deep}
    tree = RecordValidator({"type": "object", "additionalProperties": {"$ref": "#"}})
    assert tree.valid(deep)
    assert broken_by(tree, deep) == [("", "is nested too deeply to be judged")]


def test_jsonschema_has_the_last_word():
    """A record that only the filter refuses is explained by nothing."""
    validator = RecordValidator({"type": "number"})
    assert not validator.valid(float("inf"))
    assert validator.explain(float("inf")) == []


def test_a_schema_of_the_users_judges(tmp_path):
    """A file of the user's is read, and patterns in it are judged by jsonschema alone."""
    path = tmp_path / "own.json"
    path.write_text('{"properties": {"mill": {"pattern": "^[a-z]+$"}}}')
    validator = RecordValidator.from_file(path)
    assert validator.valid({"mill": "oak\n"}), "jsonschema lets $ stand before a last newline"
    expected = [("/mill", "does not match the pattern '^[a-z]+$'")]
    assert broken_by(validator, {"mill": "9"}) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is no JSON at line 1, column 2"),
        ("[]", "is no JSON object"),
        ('{"$defs": {"a/b": {"type": "strnig"}}}', "is no valid JSON Schema at /$defs/a~1b/type"),
        (
            '{"properties": {"a": {"pattern": "("}}}',
            "is no valid JSON Schema at /properties/a/pattern",
        ),
        ('{"pattern": "\\\\p{L}"}', "is no valid JSON Schema at /pattern"),
        ('{"properties": 5}', "is no valid JSON Schema at /properties"),
        ('{"const": "\\ud800"}', "is no valid JSON Schema at its root"),
        (
            '{"$ref": "#/$defs/gone"}',
            "refers to a schema that it does not hold, and none is fetched",
        ),
    ],
)
def test_a_broken_schema_of_the_users_is_refused(tmp_path, text, message):
    """The error says which file, what is wrong and where, and what to do."""
    path = tmp_path / "own.json"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        RecordValidator.from_file(path)
    assert caught.value.message == f"the schema {path} {message}"
    assert caught.value.hint


def test_a_schema_that_cannot_be_read_is_refused(tmp_path):
    """The system's reason is part of the error."""
    with pytest.raises(UsageError, match=r"cannot read the schema .*: no such file or directory"):
        RecordValidator.from_file(tmp_path / "none.json")


@pytest.mark.filterwarnings("ignore::DeprecationWarning:jsonschema")
def test_a_reference_to_another_document_is_not_followed(tmp_path):
    """Neither engine fetches: a file stands for the network, which a test may not use."""
    (tmp_path / "other.json").write_text("{}")
    schema = {"properties": {"a": {"$ref": (tmp_path / "other.json").as_uri()}}}
    with pytest.raises(UsageError, match="none is fetched"):
        RecordValidator(schema)
    with pytest.raises(Unresolvable):
        schemas._judge(schema).is_valid({"a": 1})


def test_an_unknown_name_is_answered_with_the_known_ones():
    """Every record schema has a name, and the hint lists them."""
    assert set(FORMATS) <= set(schemas.names())
    with pytest.raises(UsageError, match="no schema is named flour") as caught:
        schemas.schema_text("flour")
    assert ", ".join(schemas.names()) in caught.value.hint


def test_an_installed_package_holds_its_schemas(tmp_path, monkeypatch):
    """Package data comes before the folder of a checkout."""
    folder = tmp_path / "schemas" / "output"
    folder.mkdir(parents=True)
    (folder / "flour.schema.json").write_text("{}")
    monkeypatch.setattr(schemas.resources, "files", lambda _: tmp_path)
    assert schemas.names() == ["flour"]
    assert schemas.schema_text("flour") == "{}"


def test_valid_records_never_load_jsonschema():
    """A sound file does not pay for the slow engine."""
    code = (
        "import sys; from sesstool.formats.schemas import RecordValidator as R;"
        "assert R.shipped('openai-chat').valid({'role': 'user', 'content': ''});"
        "assert 'jsonschema' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_real_sessions_are_valid(validator, name):
    """Nothing that a real agent wrote and can read breaks its schema."""
    if not CORPUS.is_dir():
        pytest.skip("the folder of real sessions is not here")
    files = [p for p in CORPUS.glob(f"{name}/*generated*/**/*.jsonl") if p.stem not in DAMAGED]
    for row in (CORPUS / "real-clients" / "INDEX.tsv").read_text().splitlines():
        path, client, _, _, _, damage, *_ = row.split("\t")
        if CLIENTS.get(client, client) == name and damage == "-":
            files.append(CORPUS / "real-clients" / path)
    # Where no client could be run, what people keep to test the readers that they write.
    files = files or [p for p in CORPUS.glob(f"{name}/**/*.jsonl") if "drift" not in p.stem]
    assert files or name == "grok"  # nobody keeps any of Grok CLI's
    for path in files:
        for number, text in enumerate(path.read_bytes().splitlines(), 1):
            assert not text or validator.valid(json.loads(text)), f"{path}:{number}"
