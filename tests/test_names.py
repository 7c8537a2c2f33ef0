"""Terms, the subject, who is one person, and what is left alone."""

import json
import unicodedata

import pytest

from sesstool.api import redaction as api
from sesstool.cli.main import run
from sesstool.errors import InputError, UsageError
from sesstool.privacy import allow
from sesstool.privacy.names import Names, Subject, Term, load_terms
from sesstool.privacy.people import People, last_name
from sesstool.privacy.spelling import Folded, fold, words
from sesstool.privacy.standin import StandIns

KEY = b"a key that only these tests have"
MINA = "Mina Korhonen"


def found(names, text):
    """What is found in a text, what lies inside another left out."""
    raw = text.encode("utf-8", "surrogateescape")
    spans = {(m.start, m.end) for m in names.find(raw)}
    outer = [
        (a, b)
        for a, b in spans
        if not any((c, d) != (a, b) and c <= a and b <= d for c, d in spans)
    ]
    return [raw[a:b].decode("utf-8", "surrogateescape") for a, b in sorted(outer)]


def of(*values):
    return Names((), Subject.of(values))


def nfd(text):
    return unicodedata.normalize("NFD", text)


# --- folding ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["a Díaz b", nfd("a Díaz b"), "DIAZ", "x\xa0ŁÓDŹ Straße", "你好 Ωmega"]
)
def test_every_span_of_folded_text_leads_back_to_whole_letters(text):
    raw = text.encode()
    folded = Folded(raw)
    assert folded.text.decode() == fold(text)
    for start in range(len(folded.text)):
        for end in range(start + 1, len(folded.text) + 1):
            first, last = folded.source(start, end)
            part = folded.text[start:end].decode("utf-8", "ignore")
            assert part in fold(raw[first:last].decode("utf-8", "ignore"))


def test_bytes_that_are_no_text_are_folded_to_themselves():
    raw = b"\xff\xc3(\xe1\x80 A\xcc"
    assert Folded(raw).text == b"\xff\xc3(\xe1\x80 a\xcc"


def test_a_name_with_a_comma_has_its_surname_first():
    assert words("Korhonen, Mina Anneli") == ["Mina", "Anneli", "Korhonen"]
    assert words("mina.korhonen") == ["mina", "korhonen"]


# --- the subject -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "theirs"),
    [
        ("by Mina Korhonen.", ["Mina Korhonen"]),
        ("KORHONEN, MINA", ["KORHONEN, MINA"]),
        ("Korhonen, Mina A.", ["Korhonen, Mina A."]),
        ("Mina A. Korhonen", ["Mina A. Korhonen"]),
        ("M. Korhonen; Korhonen, M.", ["Korhonen, M.", "M. Korhonen"]),
        ("mina.korhonen@kiln-works.fi", ["mina.korhonen@kiln-works.fi"]),
        ("to mkorhonen+x@kiln-works.fi", ["mkorhonen+x@kiln-works.fi"]),
        ("/home/mina.korhonen/kiln", ["mina.korhonen"]),
        ("-home-mina-korhonen-kiln", ["mina-korhonen"]),
        ("C:\\Users\\MinaKorhonen\\x", ["MinaKorhonen"]),
        ("login mkorhonen or minak", ["minak", "mkorhonen"]),
        ("getMinaKorhonenTest", ["MinaKorhonen"]),
        ("mina_korhonen_cv.pdf", ["mina_korhonen"]),
        ("mkorhonen85", ["mkorhonen85"]),
        ("Thanks Mina! Korhonen too", ["Korhonen", "Mina"]),
        ("Mína Körhönen", ["Mína Körhönen"]),
        (nfd("Mína Körhönen"), [nfd("Mína Körhönen")]),
        ("Mina Virtanen", []),
        ("minakit domina minaret mina", []),
        ("xmkorhonen", []),
    ],
)
def test_a_name_is_found_in_every_form(text, theirs):
    assert sorted(found(of(MINA), text)) == sorted(theirs)


@pytest.mark.parametrize(
    ("value", "text", "theirs"),
    [
        ("José Díaz López", "Jose Diaz, jdiaz@x.example, josediaz", 3),
        ("Jose Diaz", "José DÍAZ", 1),
        ("Jürgen Müller", "Juergen Mueller, jmueller, MULLER", 3),
        ("Sean O'Brien", "sobrien, Sean O\u2019Brien", 2),
        ("Ana de la Cruz", "Ana de la Cruz", 1),
        ("Mark Page", "Mark the page as read, marks, markp", 0),
        ("王伟", "你好王伟先生", 1),
        ("Иван Петров", "ИВАН ПЕТРОВ", 1),
        ("+358 40 1234567", "+358401234567 040 123 4567 00358-40-1234567", 3),
        ("040 123 4567", "0401234567, 90401234567", 1),
        ("mk@kiln-works.fi", "MK@kiln-works.fi mk@other.example", 1),
        ("mkorh@kiln-works.fi", "/home/mkorh/ xmkorh", 1),
        ("__NONE__", "None NONE none", 0),
        (".*mina.*", "anything at all", 0),
    ],
)
def test_other_values_are_found_in_their_forms(value, text, theirs):
    assert len(found(of(value), text)) == theirs


@pytest.mark.parametrize(
    "value", ["", " ", "a", "ab", ".*", "(a+)+$", "x" * 10_000, "mina\nkorhonen", "\0\0\0abc"]
)
def test_a_subject_that_would_be_everybody_is_refused_without_being_shown(value):
    with pytest.raises(UsageError) as caught:
        Subject.of([value])
    assert caught.value.hint
    assert "korhonen" not in caught.value.message


@pytest.mark.parametrize(
    "value", ["[a-z]{3,}", "abc(", "a|b|c|d", "\\bmina\\b", "x" * 200, "\udcffabc"]
)
def test_what_looks_like_an_expression_is_text(value):
    names = of(value)
    assert found(names, f"1 {value} 2") == [value]
    assert found(names, "some zebra") == []


# --- terms -----------------------------------------------------------------------------------


def test_a_term_is_found_however_its_words_are_joined_and_accented():
    names = Names((Term("Acme Röcket", "CUSTOMER"), Term("kiln", whole_word=False)))
    text = "ACME-ROCKET acme_röcket AcmeRocketTest acmerockets xkilny Acme\\ Roecket"
    assert found(names, text) == [
        "ACME-ROCKET", "acme_röcket", "AcmeRocket", "kiln", "Acme\\ Roecket"
    ]  # fmt: skip


def test_terms_are_read_from_lines_and_tables(tmp_path):
    (tmp_path / "t").write_text("# ours\nAcme Rocket\n\n  Kiln Oy \n")
    assert load_terms(tmp_path / "t") == (Term("Acme Rocket"), Term("Kiln Oy"))
    (tmp_path / "t.toml").write_text('[[term]]\ntext="Kiln"\nkind="customer"\nwhole-word=false\n')
    assert load_terms(tmp_path / "t.toml") == (Term("Kiln", "CUSTOMER", whole_word=False),)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t", b"Acme\nxq\n"),
        ("t", b"Acme\n\xff\xfe\n"),
        ("t.toml", b'[[term]]\ntext = "xqzzy\n'),
        ("t.toml", b'[[term]]\ntext = 5\nkind = "xqzzy"\n'),
        ("t.toml", b'[[term]]\nxqzzy = "Acme"\n'),
        ("t.toml", b'[[term]]\ntext = "Acme"\nkind = "x-qzzy"\n'),
        ("t.toml", b'term = "xqzzy"\n'),
    ],
)
def test_bad_terms_are_refused_without_being_shown(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError) as caught:
        load_terms(tmp_path / name)
    assert "xq" not in caught.value.message + caught.value.hint
    assert caught.value.hint
    with pytest.raises(InputError):
        load_terms(tmp_path / "none")


# --- who is one person -----------------------------------------------------------------------


def stand_ins(*texts):
    """The digits of stand-ins, with what the texts show together."""
    people = People()
    for text in texts:
        people.see(text.encode())
    people.settle()
    made = StandIns(KEY)
    made.identity = people.identity
    return lambda kind, value: made.fingerprint(kind, value.encode())


def test_what_shows_a_name_is_one_person_in_every_run():
    digits = stand_ins()
    forms = [
        ("PERSON", MINA), ("PERSON", "KORHONEN, Mina"), ("PERSON", "Mína Korhonen"),
        ("EMAIL", "mina.korhonen@kiln-works.fi"), ("EMAIL", "Korhonen_Mina+x@other.example"),
        ("USER", "mina-korhonen"), ("USER", "mina.korhonen2"),
    ]  # fmt: skip
    assert len({digits(*form) for form in forms}) == 1
    others = [
        ("EMAIL", "mk@kiln-works.fi"),
        ("USER", "mkorhonen"),
        ("EMAIL", "build.bot@x.example"),
    ]
    assert len({digits(*form) for form in [*forms, *others]}) == 4


@pytest.mark.parametrize(
    "text",
    [
        "Author: Mina Korhonen <mk@kiln-works.fi>",
        "   12\tKorhonen, Mina <MK@kiln-works.fi>",
        '{"email":"mk@kiln-works.fi","age":3,"name":"Mina Korhonen"}',
        "[user]\n\tname = Mina Korhonen\n\temail = mk@kiln-works.fi\n",
        "GIT_AUTHOR_NAME='Mina Korhonen'\nGIT_AUTHOR_EMAIL='mk@kiln-works.fi'",
        '{"firstName":"Mina","lastName":"Korhonen","mail":"mk@kiln-works.fi"}',
        "user.name=Mina Korhonen\nuser.email=mk@kiln-works.fi",
    ],
)
def test_name_and_address_seen_together_are_one_person(text):
    digits = stand_ins(text)
    assert digits("EMAIL", "mk@kiln-works.fi") == digits("PERSON", MINA)
    assert digits("USER", "mkorhonen") == digits("PERSON", MINA)
    assert digits("PERSON", MINA) == stand_ins()("PERSON", MINA)


@pytest.mark.parametrize(
    "texts",
    [
        ["Mina Korhonen <team@kiln-works.fi>"],
        ["Mina Korhonen <mk@kiln-works.fi>", "Pekka Virtanen <mk@kiln-works.fi>"],
        ['[{"name":"Pekka Virtanen"},{"email":"mk@kiln-works.fi"}]'],
        ["Mina Korhonen wrote to mk@kiln-works.fi"],
        ["thanks to <mk@kiln-works.fi>"],
    ],
)
def test_an_address_of_several_people_or_none_is_nobodys(texts):
    digits = stand_ins(*texts)
    for email in ("mk@kiln-works.fi", "team@kiln-works.fi"):
        assert digits("EMAIL", email) == stand_ins()("EMAIL", email)


def test_the_order_of_what_is_seen_does_not_count():
    texts = [
        "Mina Korhonen <mk@a.example>", "Mina Anneli Korhonen <mk@a.example>",
        "Matti Korhonen <mkorhonen@a.example>", '{"login":"mko","email":"mk@a.example"}',
    ]  # fmt: skip
    asked = [("EMAIL", "mk@a.example"), ("PERSON", "Mina Anneli Korhonen"), ("USER", "mkorhonen")]
    there, back = stand_ins(*texts), stand_ins(*reversed(texts))
    assert [there(*a) for a in asked] == [back(*a) for a in asked]
    assert there(*asked[0]) == there(*asked[1]) == there("PERSON", MINA)
    # Two people could have it.
    assert there(*asked[2]) == stand_ins()(*asked[2])


@pytest.mark.parametrize(
    ("before", "name"),
    [
        ("Author: José Díaz", "José Díaz"),
        ("Cc Mina Korhonen", MINA),
        ("reviewed by Mina Korhonen", MINA),
        ("de la Cruz, Ana", "Ana de la Cruz"),
        ("a@x.example, Mina Korhonen", MINA),
        ("From: mina korhonen", "mina korhonen"),
        ("x = 3;", ""),
        ("", ""),
    ],
)
def test_the_name_before_an_address(before, name):
    assert last_name(before.encode()) == name


# --- whole sessions --------------------------------------------------------------------------


def session(tmp_path, *texts, name="s.jsonl", **more):
    """A session of so many messages."""
    records = [
        {"type": "user", "uuid": f"u{n}", "parentUuid": f"u{n - 1}" if n else None,
         "sessionId": "5e551000-0000-4000-8000-000000000001", "cwd": "/home/mina.korhonen/kiln",
         "version": "2.1.40", "timestamp": "2026-03-02T09:00:03.000Z",
         "message": {"role": "user", "content": text}, **more}
        for n, text in enumerate(texts)
    ]  # fmt: skip
    path = tmp_path / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def redacted(*paths, key=KEY, **choice):
    with api.redact(paths, api.Choice(**choice), key=key) as redaction:
        return [b"".join(file.result.chunks()).decode() for file in redaction.files]


def test_only_the_subject_goes_with_all_that_the_set_shows_to_be_theirs(tmp_path):
    one = session(
        tmp_path,
        "write to mk@kiln-works.fi, mk2@home.example and ph@kiln-works.fi about the plan",
        "Thanks Mina! - mko",
        name="one.jsonl",
        extra={"mina-korhonen": {"Mkorhonen": 1}},
    )
    two = session(
        tmp_path,
        "Author: Mina Korhonen <mk@kiln-works.fi>",
        '{"name": "Mina Korhonen", "email": "mk2@home.example"}',
        '{"login":"mko","email":"mk@kiln-works.fi"}',
        name="two.jsonl",
    )
    for subject in (MINA, "mk@kiln-works.fi", "mk2@home.example"):
        text = "".join(redacted(one, two, subject=(subject,), only_subject=True))
        assert not [p for p in ("mina", "korhonen", "mk@", "mk2@", "mko") if p in text.lower()]
        assert "ph@kiln-works.fi" in text
        assert "about the plan" in text
        assert len({part[-8:] for part in text.split("⟧")[:-1]}) == 1


def test_without_only_subject_everything_else_goes_as_well(tmp_path):
    path = session(tmp_path, "write to ph@kiln-works.fi")
    assert "ph@kiln-works.fi" not in redacted(path, subject=(MINA,))[0]


def test_a_subject_that_is_nowhere_changes_nothing(tmp_path):
    path = session(tmp_path, "None of it")
    assert redacted(path, subject=("__NONE__",), only_subject=True) == [path.read_text()]


def test_redacting_again_changes_nothing_even_where_terms_are_words_of_stand_ins(tmp_path):
    path = session(tmp_path, "Person Mina Korhonen, email mina.korhonen@kiln-works.fi, REDACTED")
    terms = tuple(map(Term, ("person", "email", "user", "redacted", "term")))
    for style in ("tag", "shape", "label"):
        once = redacted(path, subject=(MINA,), terms=terms, style=style)[0]
        again = tmp_path / "again.jsonl"
        again.write_text(once)
        assert redacted(again, subject=(MINA,), terms=terms, style=style) == [once]
        assert "korhonen" not in once.lower()
        assert "mina" not in once.lower()


def test_spellings_of_a_term_have_one_stand_in(tmp_path):
    path = session(tmp_path, "Acme Rocket, acme-rocket, ACME_ROCKET", AcmeRocket=1)
    text = redacted(path, terms=(Term("Acme Rocket", "CUSTOMER"),), only_subject=False)[0]
    assert len({part.rpartition("⟦")[2] for part in text.split("⟧") if "⟦CUSTOMER" in part}) == 1
    assert "rocket" not in text.lower()


def test_a_term_never_renames_what_the_format_is_made_of(tmp_path):
    path = session(tmp_path, "the message", toolUseResult={"message": 1, "note": 2, "note.type": 3})
    text = redacted(path, terms=tuple(map(Term, ("message", "content", "type", "note"))))[0]
    record = json.loads(text)
    assert record["message"]["content"].startswith("the ⟦TERM:")
    assert "note" not in text


def test_names_of_copies_lose_the_names_as_well(tmp_path):
    folder = tmp_path / "mina-korhonen"
    folder.mkdir()
    (tmp_path / "other").mkdir()
    paths = session(folder, "hello"), session(tmp_path / "other", "hello")
    with api.redact(paths, api.Choice(subject=(MINA,)), key=KEY) as redaction:
        assert not [file for file in redaction.files if "mina" in str(file.name)]


# --- what is left alone ----------------------------------------------------------------------


def entries(tmp_path, text):
    (tmp_path / "allow.toml").write_text(text)
    return allow.load(tmp_path / "allow.toml")


def test_an_allowed_value_stays_and_others_go(tmp_path):
    path = session(tmp_path, "Ph@Kiln-works.fi and mk@kiln-works.fi")
    lines = "".join(allow.listed(["ph@kiln-works.fi", "ph@kiln-works.fi", ""], KEY))
    assert lines.count("[[allow]]") == 1
    assert "kiln" not in lines
    text = redacted(path, allow=entries(tmp_path, lines))[0]
    assert "Ph@Kiln-works.fi" in text
    assert "mk@kiln-works.fi" not in text
    # Another key tells nothing.
    other = redacted(path, key=b"another key of these tests", allow=entries(tmp_path, lines))[0]
    assert "Ph@Kiln-works.fi" not in other


def test_entries_name_rules_and_files(tmp_path):
    one, two = (
        session(tmp_path, "mk@kiln-works.fi"),
        session(tmp_path, "mk@kiln-works.fi", name="two"),
    )
    for text in ('rule = "email"\npath = "*/s.jsonl"', 'path = "s.jsonl"\nnote = "made up"'):
        texts = redacted(one, two, allow=entries(tmp_path, f"[[allow]]\n{text}\n"))
        assert ["mk@kiln-works.fi" in text for text in texts] == [True, False]
    texts = redacted(one, allow=entries(tmp_path, '[[allow]]\nrule = "github-token"\n'))
    assert "mk@kiln-works.fi" not in texts[0]


def test_a_value_inside_an_allowed_one_stays_with_it(tmp_path):
    path = session(tmp_path, "mina.korhonen@kiln-works.fi, and Mina Korhonen")
    lines = "".join(allow.listed(["mina.korhonen@kiln-works.fi"], KEY))
    text = redacted(path, subject=(MINA,), allow=entries(tmp_path, lines))[0]
    assert "mina.korhonen@kiln-works.fi" in text
    assert "Mina Korhonen" not in text


@pytest.mark.parametrize(
    "text",
    [
        'value = "mina.korhonen"', "rule = 3", 'what = "x"', 'note = "x"', "rule =", "",
    ],
)  # fmt: skip
def test_bad_entries_are_refused_without_being_shown(tmp_path, text):
    with pytest.raises(UsageError) as caught:
        entries(tmp_path, f"[[allow]]\n{text}\n")
    assert caught.value.hint
    assert "korhonen" not in caught.value.message + caught.value.hint


# --- the command -----------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    session(tmp_path, "Thanks Mina Korhonen of Acme Rocket, ph@kiln-works.fi")
    (tmp_path / "key").write_bytes(KEY)
    (tmp_path / "terms").write_text("Acme Rocket\n")
    return tmp_path


def test_the_command_takes_terms_subject_and_allow_list(files, capfdbinary, monkeypatch):
    (files / "values").write_text("ph@kiln-works.fi\n")
    with (files / "values").open() as values:
        monkeypatch.setattr("sys.stdin", values)
        assert run(["redact", "--key", "key", "--fingerprint"]) == 0
    listed = capfdbinary.readouterr().out
    assert b"kiln" not in listed
    (files / "allow.toml").write_bytes(listed)
    options = ["--key", "key", "--allow", "allow.toml", "--terms", "terms", "--subject", MINA]
    assert run(["redact", "s.jsonl", *options, "-o", "out.jsonl"]) == 0
    text = (files / "out.jsonl").read_text()
    assert "ph@kiln-works.fi" in text
    for gone in ("korhonen", "acme", "rocket"):
        assert gone not in text.lower()
        assert gone.encode() not in b"".join(capfdbinary.readouterr()).lower()


def test_a_subject_in_a_file_is_as_one_on_the_command_line(files, monkeypatch, capfd):
    """Where others can see it in the list of processes."""
    (files / "who").write_text(f"# of the request\n\n{MINA}\n  ph@kiln-works.fi \n")
    wanted = []
    for options in (
        ["--subject", MINA, "--subject", "ph@kiln-works.fi"],
        ["--subject-file", "who"],
        ["--subject-file", "-"],
    ):
        with (files / "who").open() as values:
            monkeypatch.setattr("sys.stdin", values)
            only = ["--only-subject", "--key", "key", "--force", "-o", "out.jsonl"]
            assert run(["redact", "s.jsonl", *options, *only]) == 0
        wanted.append((files / "out.jsonl").read_text())
    assert wanted[0] == wanted[1] == wanted[2]
    assert "korhonen" not in wanted[0].lower()
    assert run(["redact", "-", "--subject-file", "-"]) == 2
    assert "hint: give a path" in capfd.readouterr().err


@pytest.mark.parametrize(
    "options",
    [
        ["--subject-file", "none"],
        ["--subject-file", "bad.toml"],
        ["--subject-file", "empty"],
        ["--subject", "xq"],
        ["--subject", ""],
        ["--subject", "xqzzy" * 2_000],
        ["--only-subject"],
        ["--terms", "bad.toml"],
        ["--terms", "none"],
        ["--allow", "hashes.toml"],
        ["--allow", "bad.toml", "--key", "key"],
        ["--fingerprint"],
        ["--fingerprint", "--key", "key"],
    ],
)
def test_the_command_refuses_with_the_next_step_and_no_value(files, capfdbinary, options):
    (files / "bad.toml").write_text("xq")
    (files / "empty").write_text("# xqzzy\n")
    (files / "hashes.toml").write_text(f"[[allow]]\nvalue = '{'0' * 32}'\n")
    assert run(["redact", "s.jsonl", *options]) in (2, 3)
    out, err = capfdbinary.readouterr()
    assert b"xq" not in out + err
    assert b"hint:" in err


def test_no_file_is_left_that_holds_a_term_or_the_subject(files, home, monkeypatch):
    rooms = files / "rooms"
    rooms.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(rooms))
    options = ["--terms", "terms", "--subject", MINA, "--write", "--in-place", "--yes"]
    assert run(["redact", "s.jsonl", *options, "--ignore-live"]) == 0
    (files / "terms").unlink()
    kept = [path for top in (files, home) for path in top.rglob("*") if path.is_file()]
    assert files / "s.jsonl" in kept
    for path in kept:
        text = path.read_bytes().lower()
        assert b"korhonen" not in text, path
        assert b"rocket" not in text, path
