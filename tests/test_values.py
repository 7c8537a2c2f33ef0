"""The table of values: what spreads over a set of files, and in which spellings."""

import base64
import json
import unicodedata

import pytest

from sesstool.privacy.values import Value, Values


def table(text, kind="PASSWORD", group="secret"):
    values = Values()
    values.learn(Value(kind, text.encode(), group, "made up"))
    return values


def found(values, text):
    raw = text if type(text) is bytes else text.encode()
    return [raw[m.start : m.end].decode() for m in values.find(raw)]


@pytest.mark.parametrize(
    ("text", "spreads"),
    [
        ("tide-Lamp-47", True),
        ("lantern7", True),
        ("lantern", False),
        ("Lanterns", False),
        ("LIGHTHOUSE", False),
        ("lighTHouse", True),
        ("ab1", False),
        ("thelighthousekeepersrope", True),
    ],
)
def test_a_secret_that_is_a_word_stays_where_it_was_found(text, spreads):
    """Taken out everywhere, a word would leave holes in all that is said."""
    assert found(table(text), f"the {text} again") == ([text] if spreads else [])


def test_values_are_found_in_any_case_and_form():
    values = table("Inês Moura", "PERSON", "personal")
    for text in ("INÊS MOURA", "inês moura", unicodedata.normalize("NFD", "Inês Moura")):
        assert found(values, f"by {text}.") == [text]
    assert found(values, "by Inês Mourao") == []


def test_the_name_of_a_folder_holds_an_address_too():
    values = table("ines.moura", "USER", "personal")
    assert found(values, "-home-ines-moura-berths") == ["ines-moura"]


@pytest.mark.parametrize("form", ["ines.moura", "Ines_Moura", "inês-moura", "inesmoura"])
def test_an_account_or_a_file_has_the_name_of_a_person_too(form):
    values = table("Inês Moura", "PERSON", "personal")
    assert found(values, f"notes/{form}.md") == [form]
    assert found(values, "Moura, moura.md, Ines") == []


@pytest.mark.parametrize("shift", range(3))
def test_base64_of_a_value_goes_as_a_whole_run(shift):
    word = "tide-Lamp-47-wick"
    run = base64.b64encode(b"x" * shift + word.encode() + b"tail").decode()
    assert found(table(word), f'k: "{run}"') == [run]


def test_values_are_told_once():
    values = table("tide-Lamp-47")
    values.learn(Value("PASSWORD", b"tide-Lamp-47", "secret", "again"))
    assert len(values) == 1
    assert json.dumps([v.title for v in values]) == '["made up"]'


@pytest.mark.parametrize("number", [2, 40])
@pytest.mark.parametrize("shift", [0, 1, 2])
def test_base64_of_values_that_begin_alike_goes(number, shift):
    """Only the beginning is looked for, and of all values that have it the right one is found."""
    words = [f"kiln-kiln-kiln-{n:04}-{'x' * (n % 7)}y" for n in range(number)]
    values = Values()
    for word in words:
        values.learn(Value("TOKEN", word.encode(), "secret", word))
    for word in words:
        run = base64.b64encode(b"x" * shift + word.encode() + b"tail")
        (match,) = values.find(b"a: " + run + b" b")
        assert (match.start, match.end, match.rule.title) == (3, 3 + len(run), word)
    other = base64.b64encode(b"x" * shift + b"kiln-kiln-kiln-none")
    assert values.find(b"a: " + other) == []
