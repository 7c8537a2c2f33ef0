"""The policy file: what it says, every refusal with its line and key, and what a match means."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from sesstool.cli import main
from sesstool.errors import ConfigError, UsageError
from sesstool.formats.schemas import schema_text
from sesstool.retention import policy, units
from sesstool.retention.matching import match
from sesstool.retention.policy import (
    ACTIONS,
    FOREVER,
    NEVER,
    PARTS,
    Archive,
    Cap,
    Defaults,
    Hold,
    Match,
    Policy,
    Protect,
    Rule,
)

SAMPLE = Path(__file__).parents[1] / "samples/retention/retention.toml"
DAY = timedelta(days=1)
SECRET = "age-secret-key-1" + "q" * 58


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A home of its own, where no link is on the way."""
    folder = (tmp_path / "home").resolve()
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / ".config"))
    monkeypatch.delenv("SESSTOOL_POLICY", raising=False)
    return folder


def parsed(text):
    """A policy of version 1 with these statements."""
    return policy.parse(f"version = 1\n{text}\n".encode(), "p.toml")


def rule(text):
    """The rule that a few statements make."""
    (one,) = parsed(f'[[rule]]\nname = "r"\n{text}').rules
    return one


def matched(text):
    """The match that an inline table makes."""
    return rule(f'expire_after = "1d"\nmatch = {{ {text} }}').match


def test_an_empty_policy_has_the_defaults():
    """Nothing but the version: the trash, a quarter at most, and nothing that is due."""
    data = b"version = 1\n"
    assert policy.parse(data, "p.toml") == Policy(
        "p.toml",
        hashlib.sha256(data).hexdigest(),
        Defaults("trash", 14 * DAY, 0.25, DAY, "last-activity", tombstone=True, fork="family"),
        Protect(0, ("pinned", "live", "damaged", "unreadable")),
        Archive(None, ()),
        (),
        (),
        (),
    )


def test_the_sample_says_what_its_page_says(home):
    """Every value of the sample policy."""
    read = policy.load(SAMPLE)
    assert read.name == str(SAMPLE)
    assert read.defaults == Defaults(grace=30 * DAY, max_delete_fraction=0.1)
    assert read.protect == Protect(2, NEVER)
    assert read.archive == Archive(home / "archive/sessions", ())
    assert read.holds == (
        Hold(
            "harbour-claim",
            Match(project=("harbour*",), tags=("insurance", "claim-7")),
            "the insurer asks for everything about the collision",
            "office@lighthouse.example",
            datetime(2026, 3, 1, tzinfo=UTC),
        ),
    )
    agents = ("claude-code", "codex")
    assert read.rules == (
        Rule(
            "logbook",
            Match(path=("*/lighthouse/*",), agent=agents),
            1825 * DAY,
            2190 * DAY,
            "archive",
        ),
        Rule(
            "tool-results",
            Match(part=("tool-results",), larger_than=1_000_000),
            None,
            28 * DAY,
            "redact-payload",
        ),
        Rule("secrets", Match(contains_rule=("P801",), encrypted=False), None, 3 * DAY, "delete"),
        Rule("the-rest", Match(), None, 180 * DAY, "trash"),
    )
    assert read.caps == (Cap("disk", Match(agent=("codex",)), 20 << 30, "largest", "archive"),)


def test_the_sample_uses_every_table():
    """The page beside it explains each hold, rule and cap by name."""
    page = (SAMPLE.parent / "README.md").read_text()
    read = policy.load(SAMPLE)
    for one in (*read.holds, *read.rules, *read.caps):
        assert f"- **{one.name}**: " in page


def test_the_example_of_the_design_loads(shared):
    """Once the two keys that it writes on one line stand on two, as TOML wants."""
    page = (shared / "design/ENCRYPTION-DURABILITY-RETENTION.md").read_text()
    (example,) = re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    read = policy.parse(re.sub(r"; (\w+ =)", r"\n\1", example).encode(), "p.toml")
    assert [one.name for one in read.rules] == ["phi", "tool-output", "default"]
    assert read.rules[0].expire_after == 2555 * DAY
    assert read.rules[2].match == Match(agent=("claude-code", "codex"), larger_than=0)
    assert read.caps[0].max_bytes == 20_000_000_000


RULE = '[[rule]]\nname = "r"\n'
DUE = RULE + 'expire_after = "1d"\n'
HOLD = '[[hold]]\nname = "h"\nreason = "a letter"\n'
CAP = '[[cap]]\nname = "c"\n'
# What stands behind the line "version = 1"; line, key and what is wrong; a part of the hint.
REFUSED = [
    ("color = 1", 2, "color", "unknown key", "known: version, defaults"),
    ("[default]", 2, "default", "unknown key", "did you mean defaults?"),
    ("[defaults]\n\ngraze = 1", 4, "defaults.graze", "unknown key", "did you mean grace?"),
    ("[protect]\nkeep = 1", 3, "protect.keep", "unknown key", "known: min_keep_per_project"),
    ("[archive]\nrecipient = []", 3, "archive.recipient", "unknown key", "mean recipients?"),
    (HOLD + "x = 1", 5, "hold[0].x", "unknown key", "known: name, match"),
    (DUE + "expires = 1", 5, "rule[0].expires", "unknown key", "did you mean expire_after?"),
    (DUE + "[rule.match]\ntag = 'a'", 6, "rule[0].match.tag", "unknown key", "mean tags?"),
    (HOLD + "match = { x = 1 }", 5, "hold[0].match.x", "unknown key", "known: agent"),
    (CAP + "max = 1", 4, "cap[0].max", "unknown key", "known: name, match, max_bytes"),
    ("hold = 1", 2, "hold", "is a number where an array is expected", "a hold is a table [[hold]]"),
    ("[rule]\nname = 'r'", 2, "rule", "is an object where an array", "a rule is a table [[rule]]"),
    ("defaults = []", 2, "defaults", "is an array where an object is expected", ""),
    (DUE + "match = 1", 5, "rule[0].match", "is a number where an object", ""),
    ("cap = [1]", 2, "cap[0]", "is a number where an object is expected", ""),
    ("[defaults]\naction = 'remove'", 3, "defaults.action", "is none of 'redact-payload'", ""),
    ("[defaults]\nage_from = 'mtime'", 3, "defaults.age_from", "is none of 'last-activity'", ""),
    ("[defaults]\nfork = 'own'", 3, "defaults.fork", "is none of 'family', 'independent'", ""),
    ("[defaults]\ntombstone = 1", 3, "defaults.tombstone", "is a number where a boolean", ""),
    ("[defaults]\ngrace = 14", 3, "defaults.grace", "is a number where a string", ""),
    ("[defaults]\ngrace = '14'", 3, "defaults.grace", "lacks a unit", "as in 90d"),
    ("[defaults]\ngrace = '0d'", 3, "defaults.grace", "is not above 0", "1d"),
    ("[defaults]\nclock_tolerance = '1s'", 3, "defaults.clock_tolerance", "an unknown unit", "h,"),
    *(
        (
            f"[defaults]\nmax_delete_fraction = {value}",
            3,
            "defaults.max_delete_fraction",
            what,
            "as in 0.25",
        )
        for value, what in [
            ("0", "is not above 0"),
            ("-0.1", "is not above 0"),
            ("1.01", "is above 1"),
            ("inf", "is above 1"),
            ("nan", "is not above 0 and at most 1"),
            ("'all'", "is a string where a number is expected"),
            ("true", "is a boolean where a number is expected"),
        ]
    ),
    ("[protect]\nmin_keep_per_project = -1", 3, "protect.min_keep_per_project", "below 0", ""),
    ("[protect]\nnever = ['open']", 3, "protect.never[0]", "is none of 'pinned'", ""),
    ("[archive]\nto = ''", 3, "archive.to", "is empty", ""),
    ("[archive]\nto = 'old'", 3, "archive.to", "is no absolute path", "begin it with / or ~"),
    ("[archive]\nrecipients = [\n'age1x',\n' ']", 3, "archive.recipients[1]", "is empty", ""),
    (f"[archive]\nrecipients = ['{SECRET}']", 3, "archive.recipients[0]", "secret key", "age1..."),
    ("[[hold]]\nreason = 'a'", 2, "hold[0]", "lacks the property 'name'", ""),
    ("[[hold]]\nname = 'a'", 2, "hold[0]", "lacks the property 'reason'", ""),
    ("[[hold]]\nname = ''\nreason = 'a'", 3, "hold[0].name", "is empty", ""),
    ("[[hold]]\nname = 'a'\nreason = ' '", 4, "hold[0].reason", "is empty", ""),
    ('[[hold]]\nname = "a\\u0007"\nreason = "a"', 3, "hold[0].name", "a control character", ""),
    (HOLD + HOLD, 6, "hold[1].name", "another hold has this name", "give it its own"),
    (DUE + DUE, 6, "rule[1].name", "another rule has this name", ""),
    (HOLD + "since = '1 March'", 5, "hold[0].since", "is no date", "2026-03-01"),
    (HOLD + "since = 07:00:00", 5, "hold[0].since", "is an object where a string", ""),
    (HOLD + "until = 2026", 5, "hold[0].until", "is a number where a string", ""),
    (HOLD + "until = 9999-12-31", 5, "hold[0].until", "is too far away", "leave it out"),
    (
        HOLD + "since = 9999-12-31T23:00:00-05:00",
        5,
        "hold[0].since",
        "is too far away",
        "leave it out",
    ),
    (HOLD + "since = 2026-03-02\nuntil = 2026-03-01", 6, "hold[0].until", "not after since", ""),
    (HOLD + "match = { part = 'tool-results' }", 5, "hold[0].match.part", "whole sessions", ""),
    ("[[hold]]\nname = 2026-03-01\nreason = 'a'", 3, "hold[0].name", "where a string", ""),
    ("[[rule]]\nexpire_after = '1d'", 2, "rule[0]", "lacks the property 'name'", ""),
    (RULE, 2, "rule[0]", "has neither retain_for nor expire_after", "as in 90d"),
    (RULE + "action = 'trash'", 2, "rule[0]", "has neither retain_for nor expire_after", ""),
    *(
        (f"{DUE}retain_for = '{text}'", 5, "rule[0].retain_for", what, "h, d, w, mo")
        for text, what in [
            ("1 year", "has an unknown unit"),
            ("1m", "has an unknown unit"),
            ("1D", "has an unknown unit"),
            ("1", "lacks a unit"),
            ("d", "is no duration"),
            ("", "is no duration"),
            ("1.5d", "is no duration"),
            ("1d 2h", "is no duration"),
            ("٣d", "is no duration"),
        ]
    ),
    (RULE + "retain_for = '0y'", 4, "rule[0].retain_for", "is not above 0", "0 is no duration"),
    (RULE + "expire_after = '-1d'", 4, "rule[0].expire_after", "is not above 0", ""),
    (RULE + "retain_for = '9999999999y'", 4, "rule[0].retain_for", "is too long", "forever"),
    (DUE + "retain_for = '25h'", 4, "rule[0].expire_after", "is before retain_for ends", ""),
    (DUE + "retain_for = 'forever'", 4, "rule[0].expire_after", "is before retain_for ends", ""),
    (DUE + "action = 'redact-payload'", 5, "rule[0].action", "needs a part", "tool-results"),
    (DUE + "match = { part = 'tool-results' }", 2, "rule[0]", "can only be redacted", "action ="),
    (
        DUE + "action = 'delete'\nmatch = { part = 'tool-results' }",
        5,
        "rule[0].action",
        "can only be redacted",
        "",
    ),
    ("[defaults]\naction = 'redact-payload'\n" + DUE, 4, "rule[0]", "needs a part", ""),
    *(
        (f"{DUE}match = {{ {text} }}", 5, f"rule[0].match.{key}", what, hint)
        for text, key, what, hint in [
            ("agent = 'claude'", "agent", "matches no agent", "did you mean claude-code?"),
            ("agent = 'codex|codecs'", "agent", "matches no agent", "did you mean codex?"),
            ("agent = 'zzz'", "agent", "matches no agent", "known: claude-code, codex"),
            ("agent = 'Codex'", "agent", "matches no agent", "did you mean codex?"),
            ("agent = ''", "agent", "holds an empty text", ""),
            ("tags = []", "tags", "is empty", ""),
            ("tags = ['a', '']", "tags", "holds an empty text", ""),
            ("tags = 'a||b'", "tags", "holds an empty text", ""),
            ("tags = 'a|'", "tags", "holds an empty text", ""),
            ("tags = ['a', 1]", "tags[1]", "is a number where a string", ""),
            ("tags = 1", "tags", "is a number where a string or an array", ""),
            ("project = 'a[bc'", "project", "has a [ that no ] closes", "[[]"),
            ("project = '[]'", "project", "has a [ that no ] closes", ""),
            ("project = '[!]'", "project", "has a [ that no ] closes", ""),
            ('session = "a\\u0000b"', "session", "holds a control character", ""),
            ("path = 'a/*'", "path", "can match no absolute path", "begin it with /, ~ or *"),
            ("path = '/a/'", "path", "ends with /", "/*"),
            ("path = '~no-such-user-here/*'", "path", "names no home folder", ""),
            ("cwd = 'src'", "cwd", "can match no absolute path", ""),
            ("part = 'thinking'", "part", "is no part that is known", "tool-results"),
            ("contains_rule = 'T401'", "contains_rule", "is no rule of redaction", "P801"),
            ("contains_rule = 'P8*'", "contains_rule", "is no rule of redaction", ""),
            ("larger_than = 'big'", "larger_than", "is no size", "20 GB"),
            ("larger_than = '1 QB'", "larger_than", "has an unknown unit", "KiB"),
            ("larger_than = '1.5 GB'", "larger_than", "is no size", ""),
            ("larger_than = '-1'", "larger_than", "is below 0", ""),
            ("larger_than = -1", "larger_than", "is below 0", ""),
            ("larger_than = 1.5", "larger_than", "is a number where an integer or a string", ""),
            ("encrypted = 'yes'", "encrypted", "is a string where a boolean", ""),
        ]
    ),
    (CAP, 2, "cap[0]", "lacks the property 'max_bytes'", ""),
    (CAP + "max_bytes = 0", 4, "cap[0].max_bytes", "is not above 0", "20 GB"),
    (CAP + "max_bytes = '0 GB'", 4, "cap[0].max_bytes", "is not above 0", ""),
    (CAP + "max_bytes = 1\norder = 'newest'", 5, "cap[0].order", "none of 'oldest-activity'", ""),
    (CAP + "max_bytes = 1\naction = 'redact-payload'", 5, "cap[0].action", "needs a part", ""),
]


@pytest.mark.parametrize(("text", "line", "key", "what", "hint"), REFUSED)
def test_what_a_policy_may_not_say(text, line, key, what, hint):
    """Each is refused with file, line and key, and with what would be right; no value is told."""
    with pytest.raises(ConfigError) as caught:
        parsed(text)
    place, _, told = caught.value.message.partition(f": {key}: ")
    assert place == f"p.toml:{line}"
    assert what in told
    assert hint in caught.value.hint
    assert "qqqq" not in f"{told}{caught.value.hint}"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "p.toml:1: lacks the property 'version'"),
        (b"\n[[rule]]\nname = 'r'\nexpire_after = '1d'", "p.toml:1: lacks the property 'version'"),
        (b"\nversion = 2", "p.toml:2: version: is not 1"),
        (b"version = '1'", "p.toml:1: version: is not 1"),
        (b"version = true", "p.toml:1: version: is not 1"),
    ],
)
def test_the_version_must_be_1(data, message):
    """A file of another version may mean something else by the same words."""
    with pytest.raises(ConfigError) as caught:
        policy.parse(data, "p.toml")
    assert caught.value.message == message
    assert "version = 1" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1h", timedelta(hours=1)),
        ("36 h", timedelta(hours=36)),
        ("1d", DAY),
        ("2w", 14 * DAY),
        ("1mo", 30 * DAY),
        ("7y", 2555 * DAY),
        ("007d", 7 * DAY),
        ("forever", FOREVER),
    ],
)
def test_durations(text, expected):
    """A month has 30 days and a year 365."""
    assert rule(f"retain_for = '{text}'").retain_for == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5", 5),
        ("5.0", 5),
        ("'0'", 0),
        ("'1 B'", 1),
        ("'1 kB'", 1000),
        ("'2MB'", 2_000_000),
        ("'20 GB'", 20_000_000_000),
        ("'3 tb'", 3 * 10**12),
        ("'1 KiB'", 1024),
        ("'1 MiB'", 1 << 20),
        ("'20 GiB'", 20 << 30),
        ("'1 TiB'", 1 << 40),
    ],
)
def test_sizes(text, expected):
    """Of 1000, or of 1024 with an i."""
    size = matched(f"larger_than = {text}").larger_than
    assert (size, type(size)) == (expected, int)


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("2026-03-01", "2026-03-01T00:00", "2026-03-02T00:00"),
        ("'2026-02-28'", "2026-02-28T00:00", "2026-03-01T00:00"),
        ("2026-03-01T08:30:00", "2026-03-01T08:30", "2026-03-01T08:30"),
        ("2026-03-01T00:00:00", "2026-03-01T00:00", "2026-03-01T00:00"),
        ("2026-03-01T00:30:00+02:00", "2026-02-28T22:30", "2026-02-28T22:30"),
        ("'2026-03-01T23:30:00-01:00'", "2026-03-02T00:30", "2026-03-02T00:30"),
        ("'2026-03-01T08:30:00Z'", "2026-03-01T08:30", "2026-03-01T08:30"),
    ],
)
def test_dates_are_in_utc(text, since, until):
    """A date begins at 00:00 and is over at 24:00; a time counts as it is."""

    def made(key):
        (hold,) = parsed(f"{HOLD}{key} = {text}").holds
        return getattr(hold, key)

    assert made("since") == datetime.fromisoformat(since).replace(tzinfo=UTC)
    assert made("until") == datetime.fromisoformat(until).replace(tzinfo=UTC)
    assert made("until").utcoffset() == timedelta(0)


def test_a_hold_of_one_day():
    """The same date begins and ends it."""
    (hold,) = parsed(HOLD + "since = 2026-03-01\nuntil = 2026-03-01").holds
    assert hold.until - hold.since == DAY


def test_units_for_a_command_line():
    """What is wrong with a text is told without its place."""
    assert units.end(date(2026, 3, 1)) == datetime(2026, 3, 2, tzinfo=UTC)
    with pytest.raises(UsageError, match=r"^is no date$"):
        units.moment("soon")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tags = 'a'", ("a",)),
        ("tags = 'a | b'", ("a", "b")),
        ("tags = ['a', 'b']", ("a", "b")),
        ("tags = ['a|b']", ("a|b",)),
        ("tags = '[[]x]'", ("[[]x]",)),
        ("tags = '[!]]'", ("[!]]",)),
        ("tags = '[]]'", ("[]]",)),
    ],
)
def test_alternatives(text, expected):
    """A text is parted at "|", a list is taken as it is."""
    assert matched(text).tags == expected


def test_paths_are_resolved_up_to_the_first_wildcard(tmp_path, home):
    """A glob through a symbolic link means what the link leads to; ~ is the home."""
    (tmp_path / "real").mkdir()
    (home / "link").symlink_to(tmp_path / "real")
    real = str((tmp_path / "real").resolve())
    assert matched("path = '~/link/a*/../b'").path == (f"{real}/a*/../b",)
    assert matched("path = '*/link/*|/*'").path == ("*/link/*", "/*")
    assert matched("path = '~'").path == (str(home),)
    # What a session recorded may go through the link.
    assert matched("cwd = '~/link/*'").cwd == (f"{home}/link/*",)


def test_a_home_with_a_wildcard_in_its_name(tmp_path, monkeypatch):
    """The home is meant, not what it would match."""
    monkeypatch.setenv("HOME", str(tmp_path / "a[b]"))
    (glob,) = matched("cwd = '~/x'").cwd
    assert match(Match(cwd=(glob,)), Facts(cwd=str(tmp_path / "a[b]/x")))
    assert not match(Match(cwd=(glob,)), Facts(cwd=str(tmp_path / "ab/x")))


def test_a_rule_without_an_action_takes_the_default():
    """And so does a cap."""
    read = parsed(f"[defaults]\naction = 'delete'\n{DUE}{CAP}max_bytes = 1")
    assert read.rules[0].action == "delete"
    assert read.caps[0] == Cap("c", Match(), 1, "oldest-activity", "delete")


def test_what_a_schema_takes_for_a_whole_number_is_one():
    """2.0 is 2."""
    kept = parsed("[protect]\nmin_keep_per_project = 2.0\nnever = []").protect
    assert (kept, type(kept.min_keep_per_project)) == (Protect(2, ()), int)


def test_expire_may_be_when_retain_ends():
    """Both at once: it goes as soon as it may."""
    both = rule("retain_for = '1y'\nexpire_after = '365d'")
    assert both.retain_for == both.expire_after == 365 * DAY


SCHEMA = json.loads(schema_text("retention"))


def test_the_schema_has_the_keys_of_the_classes():
    """Each table, each key, each choice, and none else."""
    tables = SCHEMA["properties"]
    classes = {
        "defaults": Defaults,
        "protect": Protect,
        "archive": Archive,
        "hold": Hold,
        "rule": Rule,
        "cap": Cap,
    }
    assert tables.keys() == {"version", *classes}
    for name, kind in classes.items():
        table = tables[name].get("items", tables[name])
        assert list(table["properties"]) == [one.name for one in fields(kind)]
        assert table["additionalProperties"] is False
    assert list(SCHEMA["$defs"]["match"]["properties"]) == [one.name for one in fields(Match)]
    assert tuple(SCHEMA["$defs"]["action"]["enum"]) == ACTIONS
    never = tables["protect"]["properties"]["never"]
    assert tuple(never["items"]["enum"]) == NEVER
    assert PARTS[0] in SCHEMA["$defs"]["match"]["properties"]["part"]["description"]


def test_the_schema_obeys_its_dialect():
    """And names itself."""
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$id"] == "urn:sesstool:retention"


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (
            "duration",
            ["1d", "0d", "00h", "10 mo", "7y", "forever", "1", "d", "1s", "-1d", "1D", ""],
        ),
        ("size", ["0", "1 B", "2MB", "20 GiB", "3 tb", "1.5 GB", "-1", "GB", "1 Q", "1 K", ""]),
    ],
)
def test_an_editor_refuses_what_the_code_refuses(kind, texts):
    """The patterns in the schema, which the code does not use, say the same."""
    validator = Draft202012Validator(SCHEMA["$defs"][kind])
    read = getattr(units, kind)
    for text in texts:
        try:
            read(text)
            good = True
        except UsageError:
            good = False
        assert validator.is_valid(text) == good, text


@pytest.mark.parametrize(
    "data", [b"version = 1\xff", b"version = " + b"[" * 100_000, b"\x00", b"version = 1\r\r\n"]
)
def test_any_bytes_are_refused_as_an_error(data):
    """No traceback, and the file is named."""
    with pytest.raises(ConfigError, match=r"^p\.toml is no TOML: "):
        policy.parse(data, "p.toml")


def test_a_file_that_cannot_be_read(tmp_path):
    """What is not there, a folder, and what is too large."""
    with pytest.raises(ConfigError, match="no such file"):
        policy.load(tmp_path / "retention.toml")
    with pytest.raises(ConfigError, match="directory"):
        policy.load(tmp_path)
    large = tmp_path / "large.toml"
    large.write_bytes(b"#" * ((1 << 20) + 1))
    with pytest.raises(ConfigError, match="too large"):
        policy.load(large)


@dataclass
class Facts:
    """A session of Codex, of which much is known."""

    agent: str = "codex"
    path: str = "/home/ada/.codex/sessions/a.jsonl"
    project: str = "Harbour"
    cwd: str = "/srv/harbour"
    tags: frozenset[str] = frozenset({"acme", "old"})
    session: str = "0a1b2c3d"
    models: frozenset[str] = frozenset({"gpt-9", "gpt-9-mini"})
    size: int = 1000
    encrypted: bool = False
    codes: set[str] = field(default_factory=lambda: {"P801"})

    def contains(self, code_prefix, /):
        return any(code.startswith(code_prefix) for code in self.codes)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, True),
        ({"agent": ("codex",)}, True),
        ({"agent": ("cod",)}, False),
        ({"agent": ("Codex",)}, False),
        ({"agent": ("claude-code", "co*")}, True),
        ({"path": ("/home/*/a.jsonl",)}, True),
        ({"path": ("/home/ada",)}, False),
        ({"path": ("*/.codex/*",)}, True),
        ({"project": ("Harbour",)}, True),
        ({"project": ("harbour",)}, False),
        ({"cwd": ("/srv/*",)}, True),
        ({"tags": ("acme",)}, True),
        ({"tags": ("new", "o?d")}, True),
        ({"tags": ("acm",)}, False),
        ({"session": ("0a1b*",)}, True),
        ({"session": ("0a1b",)}, False),
        ({"model": ("*-mini",)}, True),
        ({"model": ("claude*",)}, False),
        ({"part": ("tool-results",)}, True),
        ({"contains_rule": ("P802",)}, False),
        ({"contains_rule": ("P802", "P8")}, True),
        ({"larger_than": 999}, True),
        ({"larger_than": 1000}, False),
        ({"larger_than": 0}, True),
        ({"encrypted": False}, True),
        ({"encrypted": True}, False),
        ({"agent": ("codex",), "tags": ("acme",), "larger_than": 1}, True),
        ({"agent": ("codex",), "tags": ("new",)}, False),
    ],
)
def test_all_keys_must_hold(keys, expected):
    """Of each key one glob, which tells upper from lower case."""
    assert match(Match(**keys), Facts()) is expected


@pytest.mark.parametrize(
    ("key", "fact", "empty"),
    [
        ("agent", "agent", ""),
        ("path", "path", ""),
        ("project", "project", ""),
        ("cwd", "cwd", ""),
        ("session", "session", ""),
        ("model", "models", frozenset()),
        ("model", "models", frozenset({""})),
        ("tags", "tags", frozenset()),
    ],
)
def test_what_is_not_known_matches_nothing(key, fact, empty):
    """Not even *; what keeps may take it for a match, but no tag is no doubt."""
    unknown = replace(Facts(), **{fact: empty})
    assert match(Match(**{key: ("*",)}), Facts())
    assert not match(Match(**{key: ("*",)}), unknown)
    assert match(Match(**{key: ("x",)}), unknown, doubt=True) is (key != "tags")
    assert not match(Match(**{key: ("x",)}), Facts(), doubt=True)


def test_a_session_is_read_for_a_rule_only_where_all_else_holds():
    """Finding what a session contains is the dear part."""

    class Unread(Facts):
        def contains(self, code_prefix, /):  # noqa: ARG002 - as it is called
            raise AssertionError

    assert not match(Match(agent=("pi",), contains_rule=("P8",)), Unread())
    assert not match(Match(encrypted=True, contains_rule=("P8",)), Unread())


def validated(capsys, *arguments):
    """The exit code of `config validate`, and what it says."""
    code = main.run(["config", "validate", *map(str, arguments)])
    return code, capsys.readouterr().err


def test_config_validate_checks_a_policy(tmp_path, capsys):
    """By its name, or by its tables."""
    assert validated(capsys, SAMPLE) == (
        0,
        f"{SAMPLE}: policy is right (holds 1, rules 4, caps 1)\n",
    )
    other = tmp_path / "other.toml"
    other.write_text("[[rule]]\nname = 'r'\n")
    code, told = validated(capsys, other)
    assert code == 2
    assert f"{other}:1: lacks the property 'version'" in told
    named = tmp_path / "retention.toml"
    named.write_text("color = 'auto'\n")
    code, told = validated(capsys, named)
    assert code == 2
    assert f"{named}:1: color: unknown key" in told


def test_config_validate_checks_the_policy_in_use(tmp_path, home, monkeypatch, capsys):
    """The user's own, or the one that the setting names, which must be there."""
    monkeypatch.chdir(tmp_path)
    assert validated(capsys) == (0, "")
    own = home / ".config/sesstool/retention.toml"
    own.parent.mkdir(parents=True)
    assert policy.default_path() == own
    own.write_text("version = 2\n")
    code, told = validated(capsys)
    assert (code, f"{own}:1: version: is not 1" in told) == (2, True)
    monkeypatch.setenv("SESSTOOL_POLICY", str(SAMPLE))
    assert validated(capsys)[0] == 0
    monkeypatch.setenv("SESSTOOL_POLICY", str(tmp_path / "none.toml"))
    code, told = validated(capsys)
    assert (code, "no such file" in told) == (2, True)


def test_schema_prints_that_of_a_policy(capsys):
    """And lists it."""
    assert main.run(["schema", "retention"]) == 0
    assert json.loads(capsys.readouterr().out) == SCHEMA
    assert main.run(["schema"]) == 0
    assert "retention" in capsys.readouterr().out.split()
