"""A redaction that is decided value by value."""

from pathlib import Path

import pytest

from sesstool.api import reviewing
from sesstool.api.publishing import publish
from sesstool.api.redaction import Choice
from sesstool.cli.main import run
from sesstool.privacy.standin import load_key
from tests.conftest import jsonl, prompt

SAMPLE = Path(__file__).parents[1] / "samples" / "private" / "harbour-desk.jsonl"
VALUES = (
    "tide-Lamp-47-wick",
    "anchor-Rope-93-salt",
    "imoura",
    "ines.moura@harbour-desk.pt",
    "Inês Moura",
    "+351 912 345 678",
)


@pytest.fixture
def key_file(tmp_path):
    path = tmp_path / "key"
    path.write_text("tHe-key-of-the-stand-ins-of-this-test\n")
    return path


@pytest.fixture
def review(key_file):
    made = reviewing.review(SAMPLE, Choice(), load_key(key_file))
    yield made
    made.close()


def text_of(pieces):
    return "".join(piece.text for piece in pieces)


def test_each_value_is_listed_once_with_its_places(review):
    """Secrets first, then what stands in the most places; no item holds its value."""
    told = [(item.kind, item.places, item.state) for item in review.items]
    assert told == [
        ("PASSWORD", 2, "redact"),
        ("PASSWORD", 2, "redact"),
        ("USER", 16, "redact"),
        ("EMAIL", 3, "redact"),
        ("PERSON", 3, "redact"),
        ("PHONE", 1, "redact"),
    ]
    assert not [value for value in VALUES if value in repr(review.items)]


def test_the_value_of_a_place_is_read_where_it_is_asked_for(review):
    """It is that of the bytes, however it is spelled there."""
    found = {review.value(item, item.sites[0]) for item in review.items}
    assert found == set(VALUES)


def test_no_text_around_a_place_shows_a_value(review):
    """Neither the value itself nor another one near it."""
    for item in review.items:
        for site in item.sites:
            pieces = review.around(site)
            assert [p.what for p in pieces].count("value") >= 1
            assert not [value for value in VALUES if value in text_of(pieces)]


def test_what_comes_in_its_place_is_what_the_redaction_puts_there(review):
    """The stand-in that is told stands in the line that comes of it."""
    file = review.redaction.files[0]
    after = file.result.read(0, file.result.size).decode()
    for item in review.items:
        made = review.stand_in(item, item.sites[0])
        assert made == f"⟦{item.kind}:{item.fingerprint}⟧"
        assert made in after


@pytest.mark.parametrize("number", range(6))
def test_a_value_that_is_kept_is_left_alone_and_the_others_go(review, number, key_file, tmp_path):
    """The copy is that of the command with the same allow list, byte for byte."""
    key = load_key(key_file)
    item = review.items[number]
    entries = review.entries(item, key)
    made = reviewing.review(SAMPLE, reviewing.allowing(Choice(profile="share"), entries), key)
    with made.redaction:
        assert {i.name for i in made.items} == {i.name for i in review.items} - {item.name}
        publish(made.redaction, tmp_path / "mine")
    allow = tmp_path / "allow.toml"
    allow.write_text("".join(f'[[allow]]\nvalue = "{entry.value}"\n' for entry in entries))
    options = ["-o", f"{tmp_path}/other/", "--key", str(key_file), "--allow", str(allow)]
    run(["redact", *options, str(SAMPLE)])
    copies = [(tmp_path / name / SAMPLE.name).read_bytes() for name in ("mine", "other")]
    assert copies[0] == copies[1]
    assert review.value(item, item.sites[0]).encode() in copies[0]


def test_a_kept_value_stays_masked_around_others(review, key_file):
    """That it is left alone does not have it shown."""
    key = load_key(key_file)
    user = next(item for item in review.items if item.kind == "USER")
    choice = reviewing.allowing(Choice(), review.entries(user, key))
    made = reviewing.review(SAMPLE, choice, key)
    with made.redaction:
        for site in user.sites:
            assert "imoura" not in text_of(made.around(site, [user]))


@pytest.mark.parametrize("lines", range(0, 30, 7))
def test_a_review_is_stopped_wherever_it_is(key_file, lines):
    """Also where nothing is found; another one is wanted by then, or the app ends."""
    left = [lines]

    def stopped():
        left[0] -= 1
        return left[0] < 0

    assert reviewing.review(SAMPLE, Choice(), load_key(key_file), stopped=stopped) is None
    assert left[0] == -1


def test_what_must_stay_is_told(tmp_path, key_file):
    """A value in an id, which records are linked by."""
    path = tmp_path / "session.jsonl"
    record = prompt(1, None, "write to nobody")
    record["uuid"] = "otto@lantern-quay.pt"
    path.write_bytes(jsonl(record))
    made = reviewing.review(path, Choice(), load_key(key_file))
    with made.redaction:
        assert [(item.kind, item.state) for item in made.items] == [("EMAIL", "stays")]
        assert not made.changes


def test_places_are_counted_beyond_those_that_can_be_gone_through(tmp_path, key_file, monkeypatch):
    """A value in very many places."""
    monkeypatch.setattr(reviewing, "SITES", 3)
    path = tmp_path / "session.jsonl"
    path.write_bytes(
        jsonl(*(prompt(n, n - 1 or None, "mail otto@lantern-quay.pt") for n in range(1, 10)))
    )
    made = reviewing.review(path, Choice(), load_key(key_file))
    with made.redaction:
        item = next(item for item in made.items if item.kind == "EMAIL")
        assert (item.places, len(item.sites)) == (9, 3)


def test_a_text_of_any_length_around_a_place_is_cut(tmp_path, key_file):
    """A line of a megabyte is not shown whole."""
    path = tmp_path / "session.jsonl"
    words = f"{'x ' * 250_000} otto@lantern-quay.pt {'y ' * 250_000}"
    path.write_bytes(jsonl(prompt(1, None, words)))
    made = reviewing.review(path, Choice(), load_key(key_file))
    with made.redaction:
        item = next(item for item in made.items if item.kind == "EMAIL")
        assert len(text_of(made.around(item.sites[0]))) <= 2 * 160
