"""A line without its values: what changes, what stays, and that it is JSON still."""

import json
import re

import pytest

from sesstool.formats.registry import by_name
from sesstool.privacy.rewrite import Rewriter
from sesstool.privacy.ruleset import Rule, expand, shipped
from sesstool.privacy.scan import Scanner
from sesstool.privacy.standin import StandIns, stand_ins
from sesstool.privacy.values import Value, Values

WORD = Rule("word", "secret", "TOKEN", "a word", 0.9, "zq[0-9]{8}", ("zq",))
NUMBER = Rule("number", "personal", "CARD", "a number", 0.9, "4[0-9]{15}", boundary="digits")
TOKEN, OTHER = "zq12345678", "zq87654321"
SEAL = "QUJD" * 20


@pytest.fixture
def rewriter():
    return make()


def make(form="claude-code", *, share=False, values=None, text=True, style="tag"):
    scanner = Scanner([WORD, NUMBER], values)
    return Rewriter(
        by_name(form) if form else None,
        scanner,
        StandIns(b"k" * 32, style),
        share=share,
        text=text,
    )


def stand_in(value=TOKEN, kind="TOKEN"):
    return StandIns(b"k" * 32).of(kind, value.encode()).decode()


def line(value, **options):
    return json.dumps(value, **options).encode()


def said(content, **more):
    message = {"role": "assistant", "content": content}
    return {"type": "assistant", "uuid": "u1", "message": message} | more


def test_a_value_in_a_string_is_replaced_and_the_rest_keeps_its_bytes(rewriter):
    raw = b'{ "type":"user","n":1.50, "text":"a \\u00e9 ' + TOKEN.encode() + b' \\/b"}'
    done = rewriter.rewrite(raw)
    assert done.line == raw.replace(TOKEN.encode(), stand_in().encode())
    assert [(p.pointer, p.action) for p in done.places] == [("/text", "replaced")]


def test_a_clean_line_keeps_its_bytes(rewriter):
    raw = b'{"a" : "nothing", "b":[1,2 , 3e5],"\\u0061":null}'
    done = rewriter.rewrite(raw)
    assert done.line == raw
    assert done.places == []


@pytest.mark.parametrize("depth", range(4))
def test_a_value_in_json_in_json_is_replaced_and_all_levels_decode(rewriter, depth):
    inner = {"out": f'first\n{TOKEN}\nlast "quoted"'}
    for _ in range(depth):
        inner = {"inside": json.dumps(inner)}
    done = rewriter.rewrite(line(inner))
    value = json.loads(done.line)
    for _ in range(depth):
        value = json.loads(value["inside"])
    assert value == {"out": f'first\n{stand_in()}\nlast "quoted"'}


def test_equal_values_get_equal_stand_ins_in_message_and_result(rewriter):
    content = [{"type": "tool_result", "tool_use_id": "t1", "content": f"a {TOKEN}"}]
    done = rewriter.rewrite(line(said(content, toolUseResult={"stdout": f"b {TOKEN}"})))
    value = json.loads(done.line)
    assert value["message"]["content"][0]["content"] == f"a {stand_in()}"
    assert value["toolUseResult"]["stdout"] == f"b {stand_in()}"


def test_keys_are_replaced_as_values_are(rewriter):
    done = rewriter.rewrite(line({"env": {TOKEN: 1}}))
    assert json.loads(done.line) == {"env": {stand_in(): 1}}


def test_keys_that_become_the_same_are_told_apart():
    rewriter = make(style="label")
    done = rewriter.rewrite(line({"env": {TOKEN: 1, OTHER: 2}}))
    assert json.loads(done.line) == {"env": {"[[TOKEN]]": 1, "[[TOKEN]]-2": 2}}


def test_a_number_stays_a_number_of_as_many_digits(rewriter):
    done = rewriter.rewrite(b'{"card": 4111111111111111, "n": 3}')
    assert json.loads(done.line) == {"card": 10**15, "n": 3}


def test_a_frozen_field_stays_and_is_reported(rewriter):
    raw = line(said([{"type": "text", "text": "hello"}]) | {"uuid": TOKEN})
    done = rewriter.rewrite(raw)
    assert done.line == raw
    assert [(p.pointer, p.action) for p in done.places] == [("/uuid", "kept")]


def test_what_is_named_like_a_frozen_field_in_a_tools_input_is_text(rewriter):
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"id": TOKEN}}
    value = json.loads(rewriter.rewrite(line(said([call]))).line)
    assert value["message"]["content"][0]["input"] == {"id": stand_in()}


def test_an_opaque_field_is_not_looked_into(rewriter):
    block = {"type": "thinking", "thinking": "hm", "signature": f"{SEAL}+{TOKEN}+{SEAL}"}
    raw = line(said([block]))
    done = rewriter.rewrite(raw)
    assert (done.line, done.places, done.blobs) == (raw, [], 1)


def test_a_document_in_the_place_of_a_picture_is_text(rewriter):
    source = {"type": "text", "media_type": "text/plain", "data": f"a {TOKEN} b"}
    done = rewriter.rewrite(line(said([{"type": "document", "source": source}])))
    assert TOKEN.encode() not in done.line


def test_share_empties_opaque_fields_and_keeps_their_blocks():
    block = {"type": "thinking", "thinking": f"a {TOKEN}", "signature": SEAL}
    done = make(share=True).rewrite(line(said([block])))
    kept = {"type": "thinking", "thinking": f"a {stand_in()}", "signature": ""}
    assert json.loads(done.line)["message"]["content"] == [kept]
    assert done.dropped == 1


def test_a_signed_thinking_block_goes_whole(rewriter):
    thinking = {"type": "thinking", "thinking": f"a {TOKEN}", "signature": SEAL}
    text = {"type": "text", "text": f"b {TOKEN}"}
    done = rewriter.rewrite(line(said([thinking, text])))
    kept = {"type": "text", "text": f"b {stand_in()}"}
    assert json.loads(done.line)["message"]["content"] == [kept]
    assert {(p.pointer, p.action) for p in done.places} == {
        ("/message/content/0/thinking", "removed"),
        ("/message/content/1/text", "replaced"),
    }


def test_two_thinking_blocks_go_and_what_stands_between_stays(rewriter):
    thinking = {"type": "thinking", "thinking": f"a {TOKEN}", "signature": SEAL}
    text = {"type": "text", "text": "b"}
    for content in ([thinking, text, thinking], [text, thinking, thinking]):
        done = rewriter.rewrite(line(said(content)))
        assert json.loads(done.line)["message"]["content"] == [text]


def test_a_message_of_thinking_alone_says_that_it_went(rewriter):
    thinking = {"type": "thinking", "thinking": f"a {TOKEN}", "signature": SEAL}
    done = rewriter.rewrite(line(said([thinking])))
    (block,) = json.loads(done.line)["message"]["content"]
    assert block["type"] == "text"
    assert block["text"].startswith("[sesstool")


def test_a_thinking_block_without_values_stays(rewriter):
    thinking = {"type": "thinking", "thinking": "hm", "signature": SEAL}
    text = {"type": "text", "text": TOKEN}
    done = rewriter.rewrite(line(said([thinking, text])))
    assert json.loads(done.line)["message"]["content"][0] == thinking


@pytest.mark.parametrize(
    ("raw", "readable"),
    [
        (b'{"type":"user","text":"' + TOKEN.encode(), False),
        (TOKEN.encode() + b"\xff\xfe\x00", False),
        (b'{"a":"x"}{"b":"' + TOKEN.encode() + b'"}', False),
        (b'"' + TOKEN.encode() + b'"', False),
    ],
)
def test_a_line_that_is_no_record_is_redacted_as_text(rewriter, raw, readable):
    done = rewriter.rewrite(raw)
    assert done.line == raw.replace(TOKEN.encode(), stand_in().encode())
    assert done.readable is readable


def test_a_line_that_is_no_record_can_be_left_alone():
    raw = b'{"text":"' + TOKEN.encode()
    assert make(text=False).rewrite(raw).line == raw


def test_a_known_value_is_replaced_where_no_rule_finds_it():
    values = Values()
    values.learn(Value("PERSON", b"Mina Korhonen", "personal", "a name"))
    raw = line({"text": "MINA KORHONEN, mina korhonen and Mina Korhonens"})
    done = make(values=values).rewrite(raw)
    name = stand_in("Mina Korhonen", "PERSON")
    assert json.loads(done.line) == {"text": f"{name}, {name} and Mina Korhonens"}


@pytest.mark.parametrize("style", ["tag", "shape", "label"])
@pytest.mark.parametrize("share", [False, True])
def test_a_second_time_changes_nothing(style, share):
    rewriter = make(style=style, share=share)
    thinking = {"type": "thinking", "thinking": f"a {TOKEN}", "signature": SEAL}
    value = said([thinking, {"type": "text", "text": f"{TOKEN} 4111111111111111"}])
    once = rewriter.rewrite(line(value | {"env": {TOKEN: OTHER}})).line
    again = rewriter.rewrite(once)
    assert again.line == once
    assert [p for p in again.places if p.action != "kept"] == []


def test_a_replacement_holds_no_newline_and_nothing_that_json_escapes():
    for style in ("tag", "shape", "label"):
        text = StandIns(b"k" * 32, style).of("TOKEN", b'a"b\\c\nd' * 5).decode()
        assert json.dumps(text, ensure_ascii=False) == f'"{text}"'


def test_a_reasoning_item_that_holds_values_says_nothing_any_more():
    """Its ciphertext belongs to the summary; the record stays, and what counts records is right."""
    item = {"type": "reasoning", "id": "rs_1", "encrypted_content": SEAL}
    summary = [
        {"type": "summary_text", "text": f"a {TOKEN}"},
        {"type": "summary_text", "text": "b"},
    ]
    record = {"timestamp": "t", "type": "response_item", "payload": item | {"summary": summary}}
    done = make("codex").rewrite(line(record))
    empty = item | {"encrypted_content": None, "summary": []}
    assert json.loads(done.line)["payload"] == empty
    assert [p.action for p in done.places] == ["removed"]


def test_stand_ins_of_any_length_are_known_again():
    for length in range(1, 60):
        for kind, value in (
            ("TOKEN", b"x" * length),
            ("TOKEN", b"gh" + b"p_" + b"y" * length),
            ("EMAIL", b"m" * length + b"@b.co"),
            ("IBAN", b"SE4" + b"5" * length),
            ("PHONE", b"+4" + b"5" * length),
        ):
            text = b" " + StandIns(b"k" * 32, "shape").of(kind, value) + b","
            assert stand_ins(text) == [(1, len(text) - 1)]


@pytest.mark.parametrize(
    ("kind", "value", "form"),
    [
        ("EMAIL", b"mina.korhonen@kiln-works.fi", rb"REDACTED[0-9a-f]{8}@ex\.invalid"),
        (
            "EMAIL",
            b"mina.korhonen@kiln-works.example.fi",
            rb"REDACTED[0-9a-f]{8}RED@example\.invalid",
        ),
        ("EMAIL", b"m@b.co", rb"REDACTED[0-9a-f]{4}@e\.invalid"),
        ("IBAN", b"SE4550000000058398257466", rb"XX00REDACTED[0-9a-f]{8}REDA"),
        ("PHONE", b"+358 40 123 45 67", rb"\+000 \d\d \d{3} \d\d \d\d"),
        ("PHONE", b"(040) 123-4567", rb"\(000\) 000-0000"),
        ("CARD", b"4111 1111 1111 1111", rb"0000 0000 0000 0001"),
        ("CARD", b"4111111111111111", rb"0000000000000001"),
    ],
)
def test_style_shape_keeps_the_form_and_is_nobodys(kind, value, form):
    """A host that is reserved, a country that is none, a check digit that is wrong."""
    made = StandIns(b"k" * 32, "shape").of(kind, value)
    assert re.fullmatch(form, made)
    if len(value) > 20 or kind != "EMAIL":
        assert len(made) == len(value)
    rewriter = Rewriter(None, Scanner(shipped()), StandIns(b"k" * 32, "shape"), share=False)
    assert rewriter.found(b'{"tel": "' + made + b'", "card": "' + made + b'"}') == []


def test_style_shape_tells_one_number_or_address_from_another():
    drawn = StandIns(b"k" * 32, "shape")
    for kind, one, other in (
        ("EMAIL", b"mina@kiln-works.fi", b"anna@kiln-works.fi"),
        ("PHONE", b"+358401234567", b"+358401234568"),
    ):
        assert drawn.of(kind, one) != drawn.of(kind, other)
        assert drawn.of(kind, one) == drawn.of(kind, one)


def test_every_example_of_a_number_or_address_is_redacted_once_in_style_shape():
    rewriter = Rewriter(None, Scanner(shipped()), StandIns(b"k" * 32, "shape"), share=False)
    for rule in shipped():
        if rule.kind in ("EMAIL", "PHONE", "CARD", "IBAN"):
            for number, example in enumerate(rule.examples):
                text, _ = expand(example, f"shape {number}")
                once = rewriter.rewrite(text.encode())
                assert once.settled
                assert rewriter.rewrite(once.line).places == []
