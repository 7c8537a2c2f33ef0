"""What `prune` and `trash list` print, and the page that `prune --report` writes."""

import json
import os
import re
import sys
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest

from sesstool import api
from sesstool.api import retaining
from sesstool.audit import log, tombstones
from sesstool.cli import main
from sesstool.errors import WriteError
from sesstool.formats.registry import by_name
from sesstool.report import retention as report
from sesstool.report.retention_page import Heads, page
from sesstool.retention import holds, policy, trash
from sesstool.retention.cleanup import places
from sesstool.retention.policy import Hold, Match
from tests.conftest import answer, jsonl, prompt
from tests.test_output_schemas import judge, undescribed

# A run takes its clock as it is, and ages are told in whole days.
NOW = datetime.now(UTC).replace(microsecond=0)
OLDEST, OLD, HELD, YOUNG = (f"0{n}000000-0000-4000-8000-00000000000{n}" for n in (1, 2, 3, 4))
WORDS = "the lamp of the northern canary"
HOSTILE = "a\x1b[2J\u202e<script>&b"
POLICY = """version = 1
[defaults]
max_delete_fraction = 1.0
[[hold]]
name = "claim-7"
match = {{ session = "{held}" }}
reason = "the insurer asks"
by = "office@kiln.example"
[[rule]]
name = "old"
match = {{ agent = "claude-code" }}
expire_after = "90d"
[[rule]]
name = "oldest"
expire_after = "300d"
action = "delete"
"""


def session(home, name, age, cwd="/srv/lamp"):
    """A Claude Code session of so many days, with a title and an output: 2,000 bytes."""
    time = NOW - timedelta(days=age)
    stamp = time.isoformat().replace("+00:00", "Z")
    more = {"sessionId": name, "cwd": cwd, "timestamp": stamp}
    title = {"type": "custom-title", "customTitle": WORDS, "sessionId": name}
    first = 10 * int(name[-1])  # what begins with the same record is a fork
    records = [prompt(first, None, WORDS, **more), answer(first + 1, first, **more), title]
    path = home / ".claude" / "projects" / "-srv-lamp" / f"{name}.jsonl"
    side = path.with_suffix("") / "tool-results" / "x.txt"
    side.parent.mkdir(parents=True)
    data = jsonl(*records)
    path.write_bytes(data)
    side.write_text(WORDS.ljust(2000 - len(data)))
    for file in (path, side):
        os.utime(file, (time.timestamp(), time.timestamp()))
    return path


@pytest.fixture
def rules(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(POLICY.format(held=HELD))
    return path


@pytest.fixture
def lamp(home):
    """Four sessions: one to delete, one for the trash, one that is held, one too young."""
    return [session(home, *one) for one in ((OLDEST, 400), (OLD, 100), (HELD, 500), (YOUNG, 5))]


def planned(rules, **more):
    return retaining.plan([], policy.load(rules), NOW, **more)


def prune(capsys, rules, *arguments, code):
    given = ["prune", "--policy", rules, "--trust-clock", *arguments]
    assert main.run([str(one) for one in given]) == code
    return capsys.readouterr()


@pytest.mark.usefixtures("lamp")
def test_each_row_says_why_and_the_rest_is_counted(rules):
    """What is deleted stands first; what stays is counted by its reason."""
    assert report.to_text(planned(rules), None, every=False).splitlines() == [
        "ACTION  SESSION         AGE    SIZE  FILES  WHY",
        "claude-code in /srv/lamp",
        "delete  01000000-0000  400d  2.0 kB      2  older than 300d (rule oldest)",
        "trash   02000000-0000  100d  2.0 kB      2  older than 90d (rule old)",
        "",
        "What stays, and why (--all tells each):",
        "  1  hold claim-7 until released",
        "  1  newer than 90d (rule old)",
    ]


@pytest.mark.usefixtures("lamp")
def test_with_all_each_session_that_stays_is_a_row(rules):
    """They come after what goes, the oldest first, and nothing is counted."""
    lines = report.to_text(planned(rules), None, every=True).splitlines()
    assert [line[:13].split()[0] for line in lines[2:]] == ["delete", "trash", "keep", "keep"]
    assert lines[4].endswith("hold claim-7 until released")


def test_ids_that_begin_alike_are_shown_until_they_differ(home, rules):
    """Also where one is in the trash; a hostile one is cut."""
    alike = OLDEST[:13]
    for end in ("-a1", "-a2", "x" * 90 + "1", "x" * 90 + "2"):
        session(home, alike + end, 400)
    text = report.to_text(planned(rules), None, every=False)
    shown = [line.split()[1] for line in text.splitlines() if line.startswith(("delete", "trash"))]
    assert sorted(shown) == [f"{alike}-a1", f"{alike}-a2", *[alike + "x" * 51] * 2]


def test_of_what_stays_a_reason_is_counted_without_its_place(home, rules):
    """The lines at which two are damaged differ."""
    for name, tear in ((OLDEST, b"{"), (OLD, b"{}\n{")):
        path = session(home, name, 400)
        before = path.stat()
        path.write_bytes(path.read_bytes() + tear)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert report.to_text(planned(rules), None, every=False).endswith("\n  2  damaged\n")
    assert "damaged: line 5" in report.to_text(planned(rules), None, every=True)


def test_what_stays_of_a_session_that_goes_is_told(home, rules, tmp_path):
    """Another name of a file, and a link, which may lead to what is somebody else's."""
    path = session(home, OLDEST, 400)
    (tmp_path / "second").hardlink_to(path)
    link = path.with_suffix("") / "tool-results" / "link.txt"
    (tmp_path / "else").write_text("mine")
    link.symlink_to(tmp_path / "else")
    text = report.to_text(planned(rules), None, every=False)
    assert "\n    stays: other names (hard links) of 1 file\n" in text
    assert f"\n    stays: {link}: a link, and may be somebody else's\n" in text


def test_projects_stand_apart_and_hostile_names_are_made_visible(home, rules):
    """A folder may be called anything; a row never leaves its line."""
    session(home, OLDEST, 400, "/srv/" + HOSTILE)
    session(home, OLD, 100, "/srv/海図室")
    text = report.to_text(planned(rules), None, every=False)
    assert "claude-code in /srv/a␛[2J<U+202E><script>&b\ndelete" in text
    assert "claude-code in /srv/海図室\ntrash" in text


def test_reasons_are_wrapped_below_themselves(home, rules):
    """A terminal of 80 columns is not overrun, a pipe gets whole lines."""
    session(home, OLDEST, 400)
    name = "what-the-works-council-and-the-office-agreed-on"
    rules.write_text(rules.read_text().replace('"oldest"', f'"{name}"'))
    plan = planned(rules)
    row, more = report.to_text(plan, None, every=False, columns=80).splitlines()[2:4]
    assert row.endswith("older than 300d (rule")
    assert more == " " * row.index("older") + f"{name})"
    assert f"(rule {name})\n" in report.to_text(plan, None, every=False)


@pytest.mark.usefixtures("lamp")
def test_the_summary_counts_what_goes_and_what_stays(rules):
    """Of a preview with the size, of a run as it ended."""
    plan = planned(rules)
    assert report.summary(plan, None) == "1 delete, 1 trash (4.0 kB); 2 of 4 sessions stay"
    done = list(retaining.apply(plan))
    assert report.summary(plan, done) == "1 deleted, 1 in the trash"
    until = f"{datetime.now(UTC) + timedelta(days=14):%Y-%m-%d}"
    assert report.afterwards(done).startswith(f"next: sesstool trash restore ID, until {until}")
    assert report.afterwards([done[0]]) == ""


def test_nothing_to_do_is_said(home, rules):
    """There is no table then."""
    session(home, YOUNG, 5)
    plan = planned(rules)
    assert report.summary(plan, None) == "nothing to do; 1 of 1 sessions stay"
    assert report.to_text(plan, None, every=False).startswith("What stays")


@pytest.mark.usefixtures("lamp")
def test_a_run_tells_the_entry_of_each_row_and_why_one_was_skipped(rules, home):
    """What changed since the plan is skipped, and stays."""
    plan = planned(rules)
    with (home / ".claude" / "projects" / "-srv-lamp" / f"{OLD}.jsonl").open("a") as file:
        file.write("\n")
    done = list(retaining.apply(plan))
    deleted, skipped = report.to_text(plan, done, every=False).splitlines()[2:4]
    assert re.match(r"delete  01000000-0000  400d  2.0 kB  [0-9a-f]{8}  older than 300d", deleted)
    assert re.match(r"trash   02000000-0000  100d  2.0 kB  skipped   /.* has changed", skipped)
    assert report.summary(plan, done) == "1 deleted; 1 skipped"


@pytest.mark.usefixtures("lamp")
def test_quiet_prints_the_result_alone(rules, capsys):
    """The table is the result; a run that was asked for is not."""
    said = prune(capsys, rules, "-q", code=1)
    assert said.err == ""
    assert said.out.startswith("ACTION")


@pytest.mark.usefixtures("lamp")
def test_the_next_command_is_one_that_works(rules, tmp_path, capsys):
    """The report of the preview is there, so the command has none."""
    said = prune(capsys, rules, "--report", tmp_path / "page.html", code=1)
    assert f"next: sesstool prune --write --policy {rules} --trust-clock\n" in said.err
    assert f"report: {tmp_path / 'page.html'}" in said.err


def described(name, text):
    """A document that obeys its schema, and has nothing that this does not describe."""
    value = json.loads(text)
    judge(name).validate(value)
    schema = judge(name).schema
    assert undescribed(value, schema, schema) == set()
    return value


@pytest.mark.usefixtures("lamp")
def test_the_json_of_a_preview_obeys_its_schema(rules, capsys):
    """With --all every session is in it."""
    value = described("prune", prune(capsys, rules, "--all", "-f", "json", code=1).out)
    assert [one["action"] for one in value["sessions"]] == ["delete", "trash", "keep", "keep"]
    assert [len(one["files"]) for one in value["sessions"]] == [2, 2, 2, 2]
    assert value["sessions"][0]["created"] == (NOW - timedelta(days=400)).isoformat()
    assert value["done"] is None


@pytest.mark.usefixtures("lamp")
def test_the_json_of_a_run_and_of_the_trash_obey_their_schemas(rules, capsys):
    """The run names its entries; that of the trash is in the list."""
    run = ("--write", "--yes", "-f", "json")
    value = described("prune", prune(capsys, rules, *run, code=0).out)
    deleted, trashed = value["done"]
    assert (deleted["action"], trashed["action"]) == ("delete", "trash")
    assert main.run(["trash", "list", "-f", "json"]) == 0
    (entry,) = described("trash", capsys.readouterr().out)["entries"]
    assert (entry["id"], entry["session"]) == (trashed["entry"], OLD)


@pytest.mark.usefixtures("lamp")
def test_the_json_of_a_purge_and_of_a_skipped_session_obeys_its_schema(rules, home):
    """An entry whose grace is over has the form of the trash's list."""
    list(retaining.apply(planned(rules)))
    session(home, OLDEST[:-1] + "9", 400).chmod(0o600)
    plan = retaining.plan([], policy.load(rules), datetime.now(UTC) + timedelta(days=20))
    (ended,) = plan.ended
    path = Path(plan.changes[0].group.path)
    path.write_bytes(path.read_bytes() + b"\n")
    value = described("prune", report.to_json(plan, list(retaining.apply(plan)), every=True))
    assert [one["id"] for one in value["trash"]] == [ended.id]
    judge("trash").validate({"schema_version": 1, "entries": value["trash"]})
    assert {one["action"]: bool(one["skipped"]) for one in value["done"]}["purge"] is False
    assert any(one["skipped"] for one in value["done"])


class Page(HTMLParser):
    """The tags with their attributes, and the text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data

    def of(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def written(rules, *, run):
    """The page of a run or of its preview, as text."""
    plan, state = planned(rules), api.state_folder()
    before = Heads.of(state)
    done = list(retaining.apply(plan)) if run else None
    held = holds.read(state)
    heads = (before, Heads.of(state))
    return page(plan, done, holds=held, trash=trash.entries(state), heads=heads, when=NOW)


@pytest.mark.usefixtures("lamp")
def test_the_page_needs_nothing_else(rules):
    """No script, no other file, no network, and a policy that forbids them."""
    text = written(rules, run=True)
    parsed = Page(text)
    assert not {"script", "link", "img", "iframe", "object", "form", "base"} & {
        tag for tag, _ in parsed.tags
    }
    assert not re.search(r"url\(|@import|https?://|\son\w+=", text)
    assert any("default-src 'none'" in one.get("content", "") for one in parsed.of("meta"))


@pytest.mark.usefixtures("lamp")
def test_the_page_can_be_read_by_everybody_and_printed(rules):
    """A language, one first heading, a caption for each table, scopes, dark, print."""
    text = written(rules, run=True)
    parsed = Page(text)
    assert parsed.of("html") == [{"lang": "en"}]
    assert len(parsed.of("h1")) == len(parsed.of("main")) == 1
    assert len(parsed.of("caption")) == len(parsed.of("table")) > 3
    assert all(one.get("scope") for one in parsed.of("th"))
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


@pytest.mark.usefixtures("lamp")
def test_the_page_tells_who_what_why_and_by_which_policy(rules):
    """Each session with its files; holds, the trash, and what is beyond reach."""
    holds.add(api.state_folder(), Hold("acme", Match(tags=("a",)), "a letter", "legal"))
    text = Page(written(rules, run=True)).text
    plan = policy.load(rules)
    for told in (
        *(OLDEST, OLD, HELD, YOUNG),
        *(str(rules), plan.sha256),
        *("older than 300d (rule oldest)", "hold claim-7 until released", "newer than 90d"),
        *("claim-7", "the insurer asks", "office@kiln.example", "acme", "a letter"),
        *(f"{NOW - timedelta(days=400):%Y-%m-%d}", f"{NOW:%H:%M} UTC", "400 d", "2.0 kB"),
        *(*places(by_name("claude-code")), "It is not legal advice"),
    ):
        assert told in text
    # What goes for good before the rest, and the oldest of each first.
    assert sorted((OLDEST, OLD, HELD, YOUNG), key=text.index) == [OLDEST, OLD, HELD, YOUNG]
    (entry,) = trash.entries(api.state_folder())
    assert f"entry {entry.id}" in " ".join(text.split())
    assert f"{entry.until:%Y-%m-%d}" in text


@pytest.mark.usefixtures("lamp")
def test_the_page_names_the_newest_lines_of_the_logs(rules):
    """Before and after: with them nobody can take the run's lines away unseen."""
    holds.add(api.state_folder(), Hold("acme", Match(tags=("a",)), "a letter"))
    before = str(log.CHAIN.head(api.state_folder()))
    text = Page(written(rules, run=True)).text
    assert before in text
    assert str(log.CHAIN.head(api.state_folder())) in text
    assert str(tombstones.CHAIN.head(api.state_folder())) in text
    # Two files to the trash, two deleted, and those two purged.
    assert "6 lines" in text
    assert "1 line" in text


@pytest.mark.usefixtures("lamp")
@pytest.mark.parametrize("run", [True, False])
def test_the_page_holds_no_text_and_no_title(rules, run):
    """What was said, and what it is called, stay where they are."""
    assert "canary" not in written(rules, run=run)


def test_hostile_names_are_text_on_the_page(home, rules):
    """They are neither markup, nor do they turn the text around."""
    holds.add(api.state_folder(), Hold(HOSTILE, Match(), "a reason"))
    path = session(home, OLDEST, 400)
    path.rename(path.with_name(f"{HOSTILE}.jsonl".replace("/", "")))
    text = written(rules, run=False)
    assert "a␛[2J&lt;U+202E&gt;&lt;script&gt;&amp;b" in text
    assert not {"\x1b", "\u202e"} & set(text)
    assert "<script" not in text


@pytest.mark.usefixtures("lamp")
def test_the_page_is_the_same_for_the_same_preview(rules):
    """Its bytes depend on what was found, and on the time that is given."""
    assert written(rules, run=False) == written(rules, run=False)


@pytest.mark.usefixtures("lamp")
def test_a_preview_says_that_nothing_is_changed(rules):
    """And what a run of that size would be refused for."""
    rules.write_text(rules.read_text().replace("1.0", "0.1"))
    text = Page(written(rules, run=False)).text
    assert "Nothing is changed yet: 1 delete, 1 trash" in text
    assert "Such a run is refused: 2 of 4 sessions would go" in text


def test_the_agents_own_files_are_named(home, rules):
    """What repeats the prompts of all sessions is beyond reach."""
    session(home, OLDEST, 400)
    history = home / ".claude" / "history.jsonl"
    history.write_text("{}\n")
    assert f"{history}: it may repeat what a session held" in Page(written(rules, run=False)).text


def test_what_was_taken_out_of_shared_files_is_told(home, rules, capsys, tmp_path):
    """The history was cleaned, and so is not named; that another line says the same is."""
    session(home, OLDEST, 400)
    history = home / ".claude" / "history.jsonl"
    lines = [{"display": WORDS, "sessionId": name} for name in (OLDEST, YOUNG)]
    history.write_bytes(jsonl(*lines))
    os.utime(history, (NOW.timestamp() - 3600, NOW.timestamp() - 3600))
    run = ("--clean-up", "--write", "--yes", "-f", "json", "--report", tmp_path / "page.html")
    value = described("prune", prune(capsys, rules, *run, code=0).out)
    (done,) = value["done"]
    (left,) = done["left"]
    assert (done["cleaned"], left.startswith(str(history))) == (1, True)
    text = Page((tmp_path / "page.html").read_text()).text
    assert "1 line or row taken out of shared files" in text
    assert f"left: {left}" in text
    assert f"{history}: it may repeat" not in text


@pytest.mark.usefixtures("lamp")
@pytest.mark.parametrize(
    ("name", "code", "what"),
    [
        ("there.html", 6, "it exists already"),
        ("page.json", 2, "is not .html"),
        ("nowhere/page.html", 6, "there is no folder"),
    ],
)
def test_a_report_that_could_not_be_written_is_refused_before_the_run(
    rules, lamp, tmp_path, capsys, name, code, what
):
    """Nothing was done then."""
    (tmp_path / "there.html").write_text("mine")
    said = prune(capsys, rules, "--write", "--yes", "--report", tmp_path / name, code=code)
    assert what in said.err
    assert all(path.exists() for path in lamp)
    assert (tmp_path / "there.html").read_text() == "mine"


def test_a_report_that_fails_after_the_run_undoes_nothing(
    rules, lamp, tmp_path, capsys, monkeypatch
):
    """It is said, with exit code 6, and the run stands."""

    def full(*_args, **_more):
        raise WriteError("cannot write it: no space left on device")

    monkeypatch.setattr(sys.modules["sesstool.cli.prune"], "create", full)
    said = prune(capsys, rules, "--write", "--yes", "--report", tmp_path / "page.html", code=6)
    assert "no space left" in said.err
    assert "1 deleted, 1 in the trash" in said.err
    assert [path.exists() for path in lamp] == [False, False, True, True]


@pytest.mark.usefixtures("lamp")
def test_the_report_is_private(rules, tmp_path, capsys):
    """It names projects and people."""
    file = tmp_path / "page.html"
    prune(capsys, rules, "--write", "--yes", "--report", file, code=0)
    assert file.stat().st_mode & 0o777 == 0o600
    assert "What was done" in file.read_text()
