"""What a text calls a value."""

import pytest

from sesstool.privacy.labels import Labels, folded, headed, labelled, pattern

PHONE = ("phone", "teléfono", "date of birth")
VALUE = "12345678"


def _said(text, labels=PHONE):
    raw = text.encode()
    start = raw.index(VALUE.encode())
    return labelled(raw, start, start + len(VALUE), pattern(labels))


@pytest.mark.parametrize(
    "text",
    [
        '"phone": "12345678"',
        '{\\"homePhone\\":\\"12345678\\"}',
        "MOBILE_PHONE=12345678",
        "phone1 => 12345678",
        "Teléfono de contacto: 12345678",
        "TELEFONO 12345678",
        "my phone is 12345678",
        "phones: 87654321, 12345678",
        "<phone>12345678</phone>",
        '<phone type="home">12345678</phone>',
        'data["phone"] = "12345678"',
        '"phone": {"value": "12345678"}',
        "Phone:\n12345678",
        "dateOfBirth: Date(12345678)",
        "id,phone,city\n1,12345678,x",
        'id,phone\n"a, b",12345678',
        "id;Teléfono\n1;12345678",
        "| id | Phone |\n|----|-------|\n| 1  | 12345678 |",
        "+----+----------+\n| id | phone    |\n+----+----------+\n|  1 | 12345678 |",
        " id |  phone\n----+----------\n  1 | 12345678\n",
        "ID   PHONE\n1    12345678",
        "INSERT INTO t (id, phone) VALUES (1, '0'), (2, '12345678');",
        "validate('phone', '12345678')",
        '["home phone", 12345678]',
        "| Phone | 12345678 |",
        '{"content":"| phone | 12345678 |',
        "stdout='id;phone\n1;12345678\n'",
        "     1\tid,phone,city\n     2\t1,12345678,x",
        "     1→id,phone,city\n     2→1,12345678,x",
        "INSERT INTO t (phone) VALUES ('12345678')",
        "date of birth=12345678",
        '{"content":"id;phone\n1;12345678\n","x":1}',
        "> | date of birth | 12345678 |",
        "phone\t12345678",
    ],
)
def test_a_label_names_a_value_in_its_place(text):
    assert _said(text)


@pytest.mark.parametrize(
    "text",
    [
        "12345678",
        "order 12345678",
        "microphone 12345678",
        "phonetic 12345678",
        '"phone": "x", "order": "12345678"',
        "phone=x order=12345678",
        "the phone rang; order 12345678",
        "The telephone rang. 12345678",
        "id,phone,city\n1,x,12345678",
        "| id | phone |\n|----|-------|\n| 12345678 | x |",
        "INSERT INTO t (id, phone) VALUES (12345678, 'x');",
        "phone,id\n\n1,12345678",
        "validate('phone', 'x', '12345678')",
        "validate('x', 'phone', 'y')(12345678)",
        "| phone | order | 12345678 |",
        "| the order of 3 phone calls | 12345678 |",
        "phone\torder\t12345678",
        "     1\tid,phone,city\n     2\t1,x,12345678",
        "INSERT INTO t (x) VALUES ('12345678')",
    ],
)
def test_the_label_of_another_value_names_none(text):
    assert not _said(text)


def test_a_heading_counts_as_a_whole_where_it_must():
    text = b"id,user interface\n1,12345678"
    start = text.index(VALUE.encode())
    end = start + len(VALUE)
    assert headed(text, start, end, pattern(["user"]), whole=False)
    assert not headed(text, start, end, pattern(["user"]))


def test_labels_are_words_without_case_accents_and_joints():
    assert folded("FechaDe_Nacimiento-Téléphone") == "fecha de nacimiento telephone"


@pytest.mark.parametrize(
    "spelled", ["date of birth", "dateOfBirth", "DATE_OF_BIRTH", "xDateOfBirthX", "dates of birth"]
)
def test_the_index_finds_a_label_however_it_is_spelled(spelled):
    text = f"{spelled}: 1".encode()
    found = Labels({7: (["date of birth", "dates of birth"], False)}).parts(text)
    assert list(found) == [7]
    assert found[7][-1][1] >= len(text)


def test_the_index_gives_a_label_in_another_to_both():
    index = Labels({1: (["número de documento"], False), 2: (["documento"], False)})
    assert sorted(index.parts("NÚMERO DE DOCUMENTO 1".encode())) == [1, 2]


def test_the_index_reaches_to_the_end_of_a_table_and_no_further():
    rows = b"1,2\n" * 300
    (part,) = Labels({1: (["phone"], True)}).parts(b"id,phone\n" + rows + b"\nother")[1]
    assert part[1] == len(b"id,phone\n" + rows) - 1
    assert not Labels({1: (["phone"], True)}).parts(b"the phone rang\n" + rows)
