"""The report of a redaction, and what `redact` prints: right numbers, and a page for people."""

import base64
import json
import re
import resource
from datetime import UTC, datetime
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from jsonschema import Draft202012Validator

from sesstool import api as core
from sesstool.api import redaction
from sesstool.cli import main
from sesstool.cli.spool import Spool
from sesstool.formats.schemas import schema_text
from sesstool.privacy.ruleset import expand
from sesstool.privacy.tally import FIRST, LENGTHS, length_class
from sesstool.report import redaction as report
from tests.conftest import (
    SESSION,
    answer,
    entry,
    head,
    jsonl,
    prompt,
    result,
    said,
    speaks,
    use,
)

MAIL = "mina.korhonen@" + "kiln.fi"
OTHER = "aleksi@" + "kiln.fi"
TOKEN = expand("ghp_<alnum:36>", "report")[0]
SEAL = {"type": "thinking", "thinking": "hm", "signature": "QUJD" * 20}
SESSION_FILE = f"{SESSION}.jsonl"
WHEN = datetime(2026, 3, 1, 6, tzinfo=UTC)


@pytest.fixture
def session(tmp_path):
    """Four places of two values: a token in a call and its result, an address in key and text."""
    path = tmp_path / "work" / SESSION_FILE
    path.parent.mkdir()
    call = use("toolu_1", command=f"curl -H 'Authorization: {TOKEN}'", env={MAIL: "on"})
    records = [
        prompt(1, None, f"to {MAIL}"),
        answer(2, 1, SEAL, call),
        result(3, 2, "toolu_1", f"used {TOKEN}"),
        answer(4, 3, {"type": "text", "text": "done"}),
    ]
    path.write_bytes(jsonl(*records))
    return path


@pytest.fixture
def reported(tmp_path):
    """Run `redact` with a JSON report, which must obey its schema and be described by it."""
    number = 0

    def run(*arguments, code):
        nonlocal number
        number += 1
        path = tmp_path / f"{number}.json"
        given = [str(argument) for argument in arguments]
        assert main.run(["redact", "-q", *given, "--report", str(path)]) == code
        value = json.loads(path.read_text())
        schema = json.loads(schema_text("redaction"))
        Draft202012Validator(schema).validate(value)
        assert undescribed(value, schema, schema) == set()
        return value

    return run


def undescribed(value, schema, root):
    """Names of members that a schema does not describe."""
    if schema.get("$ref", "").startswith("#/$defs/"):
        schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    if isinstance(value, list):
        return {n for item in value for n in undescribed(item, schema.get("items", {}), root)}
    if not isinstance(value, dict) or "properties" not in schema:
        return set()
    known = schema["properties"]
    below = {n for key in known.keys() & value for n in undescribed(value[key], known[key], root)}
    return value.keys() - known.keys() | below


def found(value, rule):
    return next(one for one in value["found"] if one["rule"] == rule)


def test_what_was_found_is_counted(session, reported):
    """Places, values, actions and lengths are those of the session."""
    value = reported(session, code=1)
    totals = value["totals"]
    assert (totals["places"], totals["replaced"], totals["kept"]) == (4, 4, 0)
    assert (totals["secrets"], totals["personal"], totals["values"]) == (2, 2, 2)
    assert (totals["files"], totals["files_changed"], totals["lines_changed"]) == (1, 1, 3)
    assert totals["size"] == session.stat().st_size
    token = found(value, "github-token")
    assert (token["places"], token["values"]) == (2, 1)
    assert token["lengths"] == {"32 to 63": 2}
    assert token["views"] == [{"views": [], "places": 2}]
    assert value["rotate"][0]["rotate"] == "https://github.com/settings/tokens"
    assert value["verdict"]["name"] == "values-found"
    assert value["rules"]["count"] > 1
    assert re.fullmatch("[0-9a-f]{16}", value["rules"]["digest"])


def test_places_are_where_the_values_stand(session, reported):
    """A place has its line, byte and pointer; a key that is a value is no part of a pointer."""
    (file,) = reported(session, code=1)["files"]
    data = session.read_bytes()
    first = {one["rule"]: one["first"] for one in file["found"]}
    assert [p["byte"] for p in first["github-token"]] == [
        data.index(TOKEN.encode()),
        data.rindex(TOKEN.encode()),
    ]
    assert [(p["line"], p["pointer"]) for p in first["email"]] == [
        (1, "/message/content"),
        (2, "/message/content/1/input/env/*"),
    ]


def test_equal_values_have_one_fingerprint(session, reported, tmp_path):
    """In all runs with one key, and in none without."""
    key = tmp_path / "key"
    key.write_text("of these tests alone")

    def prints(*options):
        value = reported(session, *options, code=1)
        (file,) = value["files"]
        (mail,) = {p["value"] for o in file["found"] if o["rule"] == "email" for p in o["first"]}
        return value["keyed"], mail

    assert prints("--key", key) == prints("--key", key)
    assert prints()[1] != prints()[1]
    assert (prints("--key", key)[0], prints()[0]) == (True, False)


def test_views_and_torn_lines_are_told(tmp_path, reported):
    """What stands under encodings, and what is no JSON."""
    path = tmp_path / "chat.jsonl"
    torn = b'{"role":"user","content":"' + MAIL.encode()
    hidden = base64.b64encode(f"the token is {TOKEN}".encode()).decode()
    path.write_bytes(jsonl(said("user", f"{TOKEN} as {hidden}\n"), said("assistant")) + torn)
    value = reported(path, code=1)
    chains = [view["views"] for view in found(value, "github-token")["views"]]
    assert sorted(chains) == [[], ["base64"]]
    assert value["totals"]["lines_unreadable"] == 1
    assert [(one["count"], one["file"]) for one in value["not_inspected"]] == [(1, "chat.jsonl")]
    (mail,) = next(one for one in value["files"][0]["found"] if one["rule"] == "email")["first"]
    assert mail["pointer"] == ""


def test_many_places_are_counted_and_few_are_listed(tmp_path, reported, monkeypatch):
    """There can be millions: the first of each rule and file, and no more than a page holds."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(jsonl(*(said("user", f"{MAIL} {OTHER}") for _ in range(20))))
    (one,) = reported(path, code=1)["files"][0]["found"]
    assert (one["places"], len(one["first"]), one["truncated"]) == (40, FIRST, 40 - FIRST)
    monkeypatch.setattr(report, "_PLACES", 3)
    (one,) = reported(path, code=1)["files"][0]["found"]
    assert (one["places"], len(one["first"]), one["truncated"]) == (40, 3, 37)


@pytest.mark.parametrize(
    ("size", "name"),
    [
        (1, "under 16"),
        (15, "under 16"),
        (16, "16 to 31"),
        (63, "32 to 63"),
        (64, "64 to 255"),
        (255, "64 to 255"),
        (256, "256 or more"),
        (1 << 20, "256 or more"),
    ],
)
def test_lengths_of_short_values_are_not_told_apart(size, name):
    assert length_class(size) == name
    assert name in LENGTHS


def test_what_is_not_inspected(session, reported, monkeypatch):
    """Opaque fields, and the agent's own files that hold the same: each once."""
    home = session.parent / ".claude"
    project = home / "projects" / "-srv-work"
    project.mkdir(parents=True)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home))
    (home / "history.jsonl").write_text("{}\n")
    (project / "sessions-index.json").write_text("{}")
    session.rename(project / SESSION_FILE)
    (project / SESSION_FILE.replace("0", "1")).write_bytes((project / SESSION_FILE).read_bytes())
    value = reported(project, code=1)
    names = [one["file"] for one in value["not_inspected"]]
    assert sorted(names) == sorted([SESSION_FILE, SESSION_FILE.replace("0", "1"), "history.jsonl"])
    assert value["totals"]["opaque_kept"] == 2


def test_sharing_drops_what_cannot_be_inspected(session, reported, tmp_path):
    value = reported(session, "-o", tmp_path / "copy.jsonl", code=0)
    assert (value["done"], value["profile"]) == ("copies", "share")
    assert (value["totals"]["opaque_dropped"], value["totals"]["opaque_kept"]) == (1, 0)
    assert value["not_inspected"] == []
    assert value["verdict"]["name"] == "redacted"


def test_values_that_stay_are_no_clean_verdict(tmp_path, reported):
    """A frozen field keeps its value: the report says so, and so does the exit code."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(jsonl(head(), speaks(1, None, "user", "hi"), entry(2, 1, MAIL)))
    value = reported(path, "-o", tmp_path / "copy.jsonl", code=0)
    assert value["verdict"]["name"] == "values-left"
    assert value["totals"]["kept"] == 1
    assert main.run(["redact", "--check", str(tmp_path / "copy.jsonl")]) == 1


def test_nothing_found(tmp_path, reported):
    path = tmp_path / "chat.jsonl"
    path.write_bytes(jsonl(said("user"), said("assistant")))
    value = reported(path, code=0)
    assert value["verdict"] == {"name": "nothing-found", "text": "Nothing was found."}
    assert (value["found"], value["rotate"]) == ([], [])


def test_names_of_files_hold_no_value(session, reported):
    folder = session.parent / f"for {MAIL}"
    folder.mkdir()
    session.rename(folder / SESSION_FILE)
    (folder.parent / "chat.jsonl").write_bytes(jsonl(said("user"), said("assistant")))
    names = [file["name"] for file in reported(folder.parent, code=1)["files"]]
    assert "chat.jsonl" in names
    (other,) = [name for name in names if name != "chat.jsonl"]
    assert re.fullmatch(rf"for EMAIL-[0-9a-f]{{8}}/{SESSION}\.jsonl", other)


def test_a_report_is_refused_before_the_work(session, tmp_path, capsys):
    """A name that says no kind, and one that is taken."""
    taken = tmp_path / "taken.html"
    taken.write_text("mine")
    for name, code in (("report.txt", 2), (taken, 6)):
        assert main.run(["redact", str(session), "--report", str(tmp_path / name)]) == code
    assert taken.read_text() == "mine"
    assert "add --force" in capsys.readouterr().err
    assert main.run(["redact", str(session), "--force", "--report", str(taken)]) == 1
    assert "Redaction report" in taken.read_text()


def test_a_report_is_private(session, tmp_path):
    path = tmp_path / "report.json"
    main.run(["redact", str(session), "--report", str(path)])
    assert path.stat().st_mode & 0o777 == 0o600


# The page.

_VOID = {"meta", "link", "br"}


class Page(HTMLParser):
    """Collects the elements of a page, and checks that each is closed."""

    def __init__(self):
        super().__init__()
        self.open, self.elements, self.words = [], [], []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), list(self.open)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "title"):
            self.words.append(data)

    def of(self, tag):
        return [attrs for name, attrs, _ in self.elements if name == tag]


@pytest.fixture
def page(session):
    """The page about a session and a file with a name that is markup."""
    (session.parent / "<b>&.jsonl").write_bytes(jsonl(said("user", MAIL), said("assistant")))
    with redaction.redact(list(core.find([str(session.parent)]))) as done:
        text = report.page(report.document(done, "preview", WHEN))
    parsed = Page()
    parsed.feed(text)
    parsed.close()
    assert parsed.open == []
    return text, parsed


def test_the_page_needs_nothing_else(page):
    """No script, no other file, and names stand there as text."""
    text, parsed = page
    assert not parsed.of("script")
    assert not parsed.of("link")
    assert not parsed.of("img")
    assert "url(" not in text
    assert "@import" not in text
    assert "&lt;b&gt;&amp;.jsonl" in text
    assert {a["href"][:8] for a in parsed.of("a")} == {"https://", "#left", "#rotate"}
    assert MAIL not in text
    assert TOKEN not in text


def test_the_page_can_be_read_by_everybody(page):
    """Language, one title, headings in order, and a caption and scopes in every table."""
    _, parsed = page
    assert parsed.of("html") == [{"lang": "en"}]
    levels = [int(tag[1]) for tag, _, _ in parsed.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert len(parsed.of("caption")) == len(parsed.of("table")) > 3
    assert all(attrs.get("scope") in ("col", "row") for attrs in parsed.of("th"))


def test_the_page_says_it_all(page):
    _, parsed = page
    words = " ".join(" ".join(parsed.words).split())
    for part in (
        "Preview: 2 files. 2026-03-01 06:00:00 UTC",
        "5 places hold values. Nothing was changed.",
        "Verification: passed",
        "GitHub token",
        "e-mail address",
        "Not inspected",
        "What can be left all the same",
        "What to revoke",
        "https://github.com/settings/tokens",
    ):
        assert part in words


def luminance(color):
    color = color if len(color) == 6 else "".join(c * 2 for c in color)
    parts = [int(color[n : n + 2], 16) / 255 for n in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_the_colours_of_the_page_contrast(page):
    """By light, by night and on paper: 4.5 at the least, on either background."""
    palettes = [
        dict(re.findall(r"--(\w+): #(\w+)", block))
        for block in re.findall(r":root \{(.*?)\}", page[0], re.DOTALL)
    ]
    assert len(palettes) == 3
    for colors in palettes:
        for name in ("ink", "soft", "link", "good", "bad", "care"):
            for ground in ("page", "band"):
                low, high = sorted(luminance(colors[n]) for n in (name, ground))
                assert (high + 0.05) / (low + 0.05) >= 4.5


# What is printed.


def printed(capsys, *arguments):
    code = main.run(["redact", *map(str, arguments)])
    return code, *capsys.readouterr()


def test_findings_are_counted_by_rule(tmp_path, capsys):
    """Three places of twenty, and the others where they are asked for."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(jsonl(*(said("user", MAIL) for _ in range(20))))
    size = path.stat().st_size // 20
    first = path.read_bytes().index(MAIL.encode())
    code, out, err = printed(capsys, path)
    assert code == 1
    assert out.splitlines()[1:] == [
        f"{path}: 20 places",
        "  P802 warning e-mail address [email]: 20 places, 1 value",
        *(f"    --> line {n + 1}  byte {first + n * size}  /content" for n in range(3)),
        "        and 17 more; -v lists all",
        "",
    ]
    assert err.splitlines() == [
        "20 places to replace in 1 file; 1 value",
        f"next: sesstool redact -o FILE {path}",
        f"next: sesstool redact --write --in-place {path}",
    ]
    _, out, _ = printed(capsys, path, "-v")
    assert out.count(f"{path}:") == 20
    assert f"{path}:20:{first + 1}: P802 warning e-mail address" in out


def test_a_check_says_one_line(session, tmp_path, capsys):
    """Exit code 1 where anything was found, 0 elsewhere."""
    code, out, err = printed(capsys, "--check", session)
    assert (code, err) == (1, "")
    assert out == "found: 4 places, 2 values in 1 of 1 file, profile resume\n"
    clean = tmp_path / "chat.jsonl"
    clean.write_bytes(jsonl(said("user"), said("assistant")))
    code, out, _ = printed(capsys, "--check", clean)
    assert (code, out) == (0, "nothing found: 1 file, profile resume\n")


@pytest.mark.parametrize(
    ("form", "pattern"),
    [
        ("json", '"code": "{}"'),
        ("jsonl", '"code": "{}"'),
        ("sarif", '"ruleId": "{}"'),
        ("github", "({})"),
        ("concise", ": {} "),
    ],
)
def test_every_place_is_a_finding(session, capsys, form, pattern):
    """These formats have all of them, and what is said of the file as a whole."""
    code, out, _ = printed(capsys, session, "-f", form)
    assert code == 1
    assert [out.count(pattern.format(one)) for one in ("P801", "P802", "P804")] == [2, 2, 1]


def test_columns_count_characters(tmp_path, capsys):
    """An offset counts bytes, and a column does not."""
    path = tmp_path / "chat.jsonl"
    path.write_text('{"role":"user","content":"ñandú ' + f'{MAIL} ñ {OTHER}"' + "}\n")
    _, out, _ = printed(capsys, path, "-f", "jsonl")
    line = path.read_text()
    places = [json.loads(one) for one in out.splitlines()]
    assert [p["column"] for p in places] == [line.index(MAIL) + 1, line.index(OTHER) + 1]
    assert [p["byte_start"] for p in places] == [
        path.read_bytes().index(one.encode()) for one in (MAIL, OTHER)
    ]


def test_findings_on_disk_are_those_that_were_put_there(session):
    """File by file, as often as they are read."""
    with Spool() as spool, redaction.redact([session], told=spool.add) as done:
        (file,) = done.files
        findings = spool.of(file)
        assert len(findings) == len(list(findings)) == len(list(findings)) == 5
        assert findings[0].location.line == 1
        assert [f.code for f in findings] == ["P802", "P801", "P802", "P801", "P804"]


def test_more_files_than_may_be_open(tmp_path, capsys):
    """The limit is raised where the system lets us."""
    for number in range(120):
        path = tmp_path / f"{number}.jsonl"
        path.write_bytes(jsonl(said("user", MAIL), said("assistant")))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, hard))
    try:
        code, out, _ = printed(capsys, "--check", tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert code == 1
    assert out.startswith("found: 120 places, 1 value in 120 of 120 files")


@pytest.mark.parametrize("vault", [True, False])
def test_a_vault_is_told_of(session, tmp_path, capsys, vault):
    """Not where it is: the report is handed on."""
    (tmp_path / "k").write_bytes(bytes(range(40)))
    kept = ["--vault", tmp_path / "secret-vault", "-i", tmp_path / "k"] if vault else []
    reports = [tmp_path / "r.json", tmp_path / "r.html"]
    told = [option for report in reports for option in ("--report", report)]
    assert printed(capsys, session, "-o", tmp_path / "out", *kept, *told)[0] == 0
    content, html = json.loads(reports[0].read_text()), reports[1].read_text()
    assert content["vault"] is vault
    assert ("<dt>Vault</dt>" in html) is vault
    assert any("in a vault" in risk for risk in content["residual_risks"]) is vault
    assert "secret-vault" not in html + reports[0].read_text()
