"""Sessions as pages, Markdown and JSON: the right content, in which nothing of a session acts."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from sesstool.api import redaction, state_folder
from sesstool.audit import log
from sesstool.cli import main
from sesstool.errors import NotASessionError, ResidueError
from sesstool.export import WRITERS, folder, html, markdown, writer
from sesstool.export.sections import Choice, Reading
from sesstool.model.passages import Passage
from sesstool.records.write import cannot_write
from sesstool.text import safe
from tests.conftest import (
    Memory,
    answer,
    asks,
    blocks,
    boundary,
    jsonl,
    prompt,
    result,
    said,
    tells,
    use,
    words,
)
from tests.test_diff_html import EVIL, Page
from tests.test_output_schemas import judge, undescribed

SAMPLES = Path(__file__).parents[1] / "samples"
FORMATS = sorted(WRITERS)
# The elements that a page of ours is made of.
OURS = {
    *("html", "head", "meta", "title", "style", "body", "a", "header", "h1", "h2", "h3", "bdi"),
    *("dl", "dt", "dd", "nav", "details", "summary", "ol", "li", "span", "main", "section"),
    *("article", "div", "p", "footer", "table", "thead", "tbody", "tr", "th", "td"),
}
HOSTILE = [
    EVIL,
    "](javascript:alert(1)) ![x](http://127.0.0.1/x.png) <http://127.0.0.1> https://a.example",
    "```\n</div>\n~~~\n````\n# heading\n- [ ] item\n> quote\n    code\n---\n|a|b|\n|-|-|",
    "`" * 70 + "\n" + "``` `` `",
    "\ud800\udfff half \udc80",
    "{{ config }} {% for x in y %} {# z #}",
    "&lt;b&gt; &#60;script&#62; <!-- --> <![CDATA[ ]]> <?php ?>",
]


def rows(*records):
    """Records as lines of ASCII: also half a character can be told so."""
    return jsonl(*(json.dumps(record).encode() for record in records))


def files(path):
    """What is in the folder of a file."""
    return sorted(found.name for found in path.parent.iterdir())


def reading(data, **more):
    return Reading(Memory(data), **more)


def exported(to, data, choice=Choice(), **more):
    return "".join(writer(to)(reading(data, **more), choice))


def page(data, choice=Choice(), **more):
    return Page(exported("html", data, choice, **more))


def texts_of(shown):
    """What stands in the texts of a page, each as one."""
    found, at = [], None
    for data, around in shown.words:
        inside = next((n for n, (_, attrs) in enumerate(around) if attrs.get("class") == "text"), 0)
        if inside:
            if at is not around[inside]:
                found.append("")
                at = around[inside]
            found[-1] += data
    return found


def kept(text):
    """A text as a record holds it: two halves are one character, and one is none."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def visible(text):
    """A text as it is to be shown: newlines and tabs stay."""
    text = kept(text).replace("\r\n", "\n")
    return re.sub(r"[^\n\t]+", lambda found: safe(found[0]), text)


def tokens(text):
    """The tokens of a Markdown document, those inside of others too."""
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    for token in parser.parse(text):
        yield token
        yield from token.children or ()


def controls(text):
    """Characters that could act on a terminal, or are none."""
    bad = {"Cc", "Cf", "Cs"}
    return {c for c in text if c not in "\n\t" and unicodedata.category(c) in bad}


CONVERSATION = jsonl(
    {"type": "mode", "mode": "x"},
    prompt(1, None, "Light the lamp.\nAt six."),
    answer(2, 1, {"type": "thinking", "thinking": "oil first", "signature": "c2ln"}),
    answer(3, 2, words("I look."), use("a", command="cat log")),
    result(4, 3, "a", "lit"),
    answer(5, 4, use("b", "Edit", path="log")),
    prompt(6, 5, "Stop."),
    b'{"torn',
)


def test_a_page_has_a_heading_for_each_turn_and_one_for_all_that_is_said():
    """The headings make the outline, and each record has the anchor of its line."""
    shown = page(CONVERSATION, Choice(notes=True))
    heads = [
        (tag, "".join(d for d, around in shown.words if tag in dict(around)))
        for tag in ("h1", "h2")
    ]
    assert heads == [
        ("h1", "Session session.jsonl"),
        ("h2", "Before the first prompt1. Light the lamp.2. Stop."),
    ]
    assert [attrs["id"] for attrs in shown.of("article")] == [f"r{n}" for n in range(1, 9)]
    said_ = [d for d, around in shown.words if "h3" in dict(around)]
    assert said_ == [
        *("Note mode", "User", "Thinking", "Assistant", "Tool call Bash", "Tool result Bash"),
        *("Tool call Edit", "User", "No record"),
    ]
    links = [a["href"] for a in shown.of("a")]
    assert links[:3] == ["#session", "#r2", "#r7"]
    assert {link[1:] for link in links} <= {a["id"] for _, a in shown.elements if "id" in a}


def test_a_page_tells_the_state_of_each_call():
    """In words: completed, failed, or that there is no result."""
    spans = [d for d, around in page(CONVERSATION).words if around and around[-1][0] == "span"]
    states = [d for d in spans if not d[0].isdigit()]
    assert states == ["completed", "completed", "no result; uncertain"]


def test_a_page_says_what_it_was_made_of():
    """The hash of the bytes, the format, the counts, and the tool that made it."""
    text = exported("html", CONVERSATION, profile="share")
    facts = dict(re.findall(r"<dt>(.+?)</dt><dd><bdi>(.+?)</bdi>", text))
    assert facts["SHA-256"] == hashlib.sha256(CONVERSATION).hexdigest()
    assert facts["Agent"] == "Claude Code 2.1.300"
    assert facts["Turns"] == "2"
    assert facts["Tool calls"] == "2, 1 without a result"
    assert facts["Damage"] == "no record: 1 piece of the file"
    assert facts["Redacted"].startswith("profile share")
    assert facts["Not shown"] == "1 record about the session, without words"


def test_a_page_needs_nothing_else():
    """No script and nothing from elsewhere; the policy allows this one style and no other."""
    shown = page(jsonl(prompt(1, None, HOSTILE[0] + HOSTILE[1])))
    assert {tag for tag, _ in shown.elements} <= OURS
    for _, attrs in shown.elements:
        assert not [n for n in attrs if n in ("src", "style", "srcset") or n.startswith("on")]
        assert attrs.get("href", "#").startswith("#")
    style = re.search(r"<style>(.*?)</style>", shown.text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    (policy,) = [m["content"] for m in shown.of("meta") if "Security" in m.get("http-equiv", "")]
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    for fetching in ("url(", "@import", "@font-face"):
        assert fetching not in style


def test_thinking_long_outputs_and_long_texts_are_folded():
    """A short output is open; of a long prompt the beginning is, and nothing is lost."""
    long = "\n".join(f"line {n}" for n in range(100))
    thought = {"type": "thinking", "thinking": "oil first", "signature": "c2ln"}
    data = jsonl(
        prompt(1, None, long),
        answer(2, 1, thought, use("a"), use("b")),
        prompt(3, 2, [*blocks(result(0, None, "a", long)), *blocks(result(0, None, "b", "lit"))]),
    )
    shown = page(data)
    labels = [d for d, around in shown.words if around and around[-1][0] == "summary"]
    assert labels == [
        "1 prompt",
        "80 lines more",
        "2 words",
        "Output, 100 lines",
        "Output, 3 characters",
    ]
    assert ["open" in attrs for attrs in shown.of("details")] == [True, False, False, False, True]
    texts = texts_of(shown)
    assert "\n".join(texts[:2]) == long
    assert long in texts[2:]
    opened = page(data, Choice(expand=True))
    assert all("open" in attrs for attrs in opened.of("details"))


def test_one_long_line_is_folded_at_a_blank():
    """Whatever its length, all of it is there."""
    long = "lamp " * 1_000_000
    shown = page(jsonl(prompt(1, None, long)))
    head, rest = texts_of(shown)
    assert head + rest == long
    assert 1000 < len(head) <= 2000


def test_glued_records_have_anchors_of_their_own():
    """No id stands twice in a page."""
    data = jsonl(jsonl(said("user", "a")).strip() + jsonl(said("assistant", "b")).strip())
    assert [attrs["id"] for attrs in page(data).of("article")] == ["r1", "r1-2"]


def test_a_list_of_prompts_has_an_end(monkeypatch):
    """Of very many prompts the first are listed, and that there are more is said."""
    monkeypatch.setattr(html, "_LISTED", 3)
    data = jsonl(*(said("user", f"prompt {n}") for n in range(5)))
    shown = page(data)
    assert len(shown.of("li")) == 3
    assert "The first 3 prompts" in shown.text


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_text_in_a_page(text):
    """In messages, names of tools, ids, times and subagents; nothing of it is an element."""
    data = rows(
        prompt(1, None, text, timestamp=text, agentId=text, isSidechain=True),
        answer(2, 1, words(text), use(text, text, **{"a": text, text: text})),
        result(3, 2, text, text),
    )
    plain = rows(
        prompt(1, None, "x", timestamp="x", agentId="x", isSidechain=True),
        answer(2, 1, words("x"), use("x", "x", a="x", x="x")),
        result(3, 2, "x", "x"),
    )
    shown, harmless = page(data, name=text), page(plain, name="x")
    kinds = {tag for tag, _ in shown.elements}
    assert kinds == {tag for tag, _ in harmless.elements}
    assert controls(shown.text) == set()
    assert visible(text).strip("\n") in texts_of(shown)
    assert {a for _, attrs in shown.elements for a in attrs} == {
        a for _, attrs in harmless.elements for a in attrs
    }


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_text_in_markdown(text):
    """A parser finds no element in it but ours, and in the fences what was said."""
    data = rows(
        prompt(1, None, text, timestamp=text),
        answer(2, 1, words(text), use(text, text, a=text)),
        result(3, 2, text, text),
    )
    document = exported("md", data, name=text)
    found = list(tokens(document))
    allowed = {"heading", "paragraph", "inline", "text", "code_inline", "fence", "softbreak", "hr"}
    allowed |= {"bullet_list", "list_item"}
    assert {re.sub("_(open|close)$", "", token.type) for token in found} <= allowed
    spans = [token.content.strip() for token in found if token.type == "code_inline"]
    assert safe(text).strip() in spans  # the name of the session
    fences = [token.content.removesuffix("\n") for token in found if token.type == "fence"]
    assert fences.count(visible(text).strip("\n")) == 4
    assert controls(document) == set()


def test_a_role_that_nobody_knows_is_no_markup():
    """Those that everybody knows are words."""
    titles = [markdown._title(Passage("message", name, "")) for name in ("user", "*x*")]
    assert titles == ["User", "`*x*`"]


@pytest.mark.parametrize("text", HOSTILE)
def test_json_holds_the_text_as_it_is(text):
    """In ASCII, with every control character as an escape."""
    document = exported("json", rows(prompt(1, None, text)))
    assert document.isascii()
    assert controls(document) == set()
    (record,) = json.loads(document)["records"]
    assert record["passages"][0]["text"] == kept(text)


def test_json_tells_all_that_the_others_tell():
    """Each record with its place, and each call with what became of it; the schema knows it all."""
    value = json.loads(exported("json", CONVERSATION))
    judge("export").validate(value)
    schema = judge("export").schema
    assert undescribed(value, schema, schema) == set()
    assert [(r["line"], r["turn"]) for r in value["records"]] == [
        *((2, 1), (3, 1), (4, 1), (5, 1), (6, 1), (7, 2), (8, 2)),
    ]
    first = value["records"][0]
    assert json.loads(CONVERSATION[first["byte_start"] : first["byte_end"]])["uuid"][-1] == "1"
    calls = [p for r in value["records"] for p in r["passages"] or () if p["kind"] == "call"]
    assert [(c["name"], c["state"], c["paired"]) for c in calls] == [
        ("Bash", "completed", True),
        ("Edit", "uncertain", False),
    ]
    assert value["records"][-1]["passages"] is None
    assert value["session"]["unanswered"] == 1


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*/**/*.jsonl")), ids=lambda path: path.stem)
def test_every_sample_obeys_the_schema_and_makes_a_page(path):
    """Each element is closed, each link leads somewhere, and headings are in order."""
    try:
        session = Reading(Memory(path.read_bytes(), str(path)))
    except NotASessionError:
        pytest.skip("a sample that is no session")
    judge("export").validate(json.loads("".join(writer("json")(session, Choice()))))
    shown = Page("".join(html.page(session)))
    ids = [attrs["id"] for _, attrs in shown.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {a["href"][1:] for a in shown.of("a")} <= set(ids)
    assert "".join(writer("md")(session, Choice())).count("\n### ") == len(shown.of("h3"))


def test_the_live_branch_alone_has_the_turns_of_the_live_branch():
    """Prompts of others are not listed, and keep their numbers in the whole."""
    data = jsonl(prompt(1, None, "a"), answer(2, 1), prompt(3, 2, "no"), prompt(4, 2, "yes"))
    shown = page(data, branch="live")
    turns = "".join(data for data, around in shown.words if "h2" in dict(around))
    assert turns == "1. a3. yes"
    assert len(shown.of("li")) == 2


def test_summaries_and_what_subagents_are_told_open_no_turn():
    """A turn begins with what a person says to the session itself."""
    data = jsonl(
        prompt(1, None, "a"),
        prompt(2, 1, "look", isSidechain=True, agentId="explore"),
        boundary(3, 1),
        prompt(4, 3, "so far", isCompactSummary=True, isVisibleInTranscriptOnly=True),
        prompt(5, 4, "b"),
    )
    session = reading(data)
    assert [(p.turn, p.line, p.title) for p in session.prompts(Choice())] == [
        (1, 1, "a"),
        (2, 5, "b"),
    ]


def test_of_two_calls_under_one_id_the_second_has_no_result():
    """Nobody can tell whose a result is but by the order."""
    data = jsonl(prompt(1, None), answer(2, 1, use("a"), use("a", "Edit")), result(3, 2, "a"))
    value = json.loads(exported("json", data))
    calls = [p for r in value["records"] for p in r["passages"] if p["kind"] == "call"]
    assert [(c["name"], c["state"], c["paired"]) for c in calls] == [
        ("Bash", "completed", True),
        ("Edit", "uncertain", False),
    ]


def test_a_failure_is_that_of_the_call_that_it_answers():
    """Of two calls under one id, of a result that stands before its call, and of one id reused."""
    first, second = use("a"), use("a", "Edit")
    bad = result(3, 2, "a")
    bad["message"]["content"][0]["is_error"] = True
    told = {
        "call Bash failed, call Edit completed, result Bash failed, result Edit completed": [
            *(answer(2, 1, first, second), bad, result(4, 3, "a")),
        ],
        "call Bash completed, call Edit failed, result Bash completed, result Edit failed": [
            *(answer(2, 1, first, second), result(4, 2, "a"), bad),
        ],
        "result Bash failed, call Bash failed": [bad, answer(4, 3, first)],
        "call Bash failed, result Bash failed, call Edit completed, result Edit completed": [
            *(answer(2, 1, first), bad, answer(4, 3, second), result(5, 4, "a")),
        ],
    }
    for expected, records in told.items():
        value = json.loads(exported("json", jsonl(prompt(1, None), *records)))
        said = [p for r in value["records"] for p in r["passages"] if p["kind"] != "message"]
        assert ", ".join(f"{p['kind']} {p['name']} {p['state']}" for p in said) == expected


def test_two_results_of_a_call_both_have_its_tool():
    """As where two branches go on from it."""
    data = jsonl(prompt(1, None), answer(2, 1, use("a")), result(3, 2, "a"), result(4, 2, "a"))
    value = json.loads(exported("json", data))
    assert [r["passages"][0]["name"] for r in value["records"][1:]] == ["Bash"] * 3


def test_an_agent_that_is_known_by_name_only_is_said_to_be():
    """Its records stand in the page as they are, for there is no turn."""
    data = jsonl({"type": "turn.prompt", "input": [{"type": "text", "text": "hi"}], "time": 1})
    text = exported("md", data)
    assert "- Read: `as JSON only: what the records of this agent mean is not known`\n" in text
    assert "\n## No prompt\n" in text
    assert "- Read: " not in exported("md", CONVERSATION)


def test_a_result_without_an_id_has_the_tool_of_its_call():
    """Where it can belong to one call only."""
    data = jsonl(said("user"), asks("c"), tells(""))
    (found,) = json.loads(exported("json", data))["records"][2]["passages"]
    assert (found["name"], found["state"], found["paired"]) == ("look", "completed", True)


def test_blank_lines_are_no_damage():
    """They are neither shown nor counted."""
    value = json.loads(exported("json", jsonl(said("user")) + b"\n \n" + jsonl(said("user"))))
    assert value["session"]["fragments"] == 0
    assert [r["line"] for r in value["records"]] == [1, 4]


def test_where_a_session_comes_from_is_said():
    """A fork names its origin."""
    path = SAMPLES / "forks" / "copy-fork" / "bell-fork.jsonl"
    value = json.loads(exported("json", path.read_bytes()))
    assert value["session"]["origin"] == {
        "session": "a11e0000-f02c-4000-8000-000000000011",
        "mode": "copy",
    }
    assert "- Origin: `a fork of session a11e0000-f02c-4000-8000-000000000011`\n" in exported(
        "md", path.read_bytes()
    )


@pytest.mark.parametrize(
    ("recorded", "shown"),
    [
        ("2026-03-01T06:00:01.250Z", "2026-03-01 06:00:01 UTC"),
        ("2026-03-01T06:00:01+00:00", "2026-03-01 06:00:01 UTC"),
        ("2026-03-01T06:00:01+05:30", "2026-03-01 06:00:01 +05:30"),
        ("2026-03-01 06:00:01", "2026-03-01 06:00:01"),
        ("at dawn", "at dawn"),
        ("2026-03-01T06:00:01Z!", "2026-03-01T06:00:01Z!"),
    ],
)
def test_times_are_shown_to_the_second(recorded, shown):
    """With their zone; what is no time is shown as it is."""
    assert html.clock(recorded) == shown


@pytest.mark.parametrize("name", FORMATS)
def test_a_turn_whose_prompt_is_not_shown_has_its_title(name):
    """What a resume still reaches of it stands below it; the list of prompts has it not."""
    data = jsonl(prompt(1, None, "old"), answer(2, 1), boundary(3, 2), prompt(4, 3, "new"))
    text = exported(name, data, branch="live")
    assert "it burns" not in text
    assert "new" in text
    if name == "html":
        assert "1. <a" in text
        assert len(Page(text).of("li")) == 1


def test_line_ends_of_windows_are_line_ends():
    """In a page and in Markdown; a carriage return elsewhere is shown."""
    data = jsonl(prompt(1, None, "one\r\ntwo\rthree"))
    assert texts_of(page(data)) == ["one\ntwo␍three"]
    assert "\none\ntwo␍three\n" in exported("md", data)


def test_what_is_left_out_is_said():
    """Lines, a branch and thinking."""
    text = exported("md", CONVERSATION, Choice(3, 5, thinking=False), branch="live")
    assert "- Shown: `lines 3 to 5, what a resume reaches, no thinking`\n" in text
    assert "oil first" not in text


TEXT = st.text(st.characters(codec=None), max_size=60) | st.sampled_from(HOSTILE)
SOUP = st.binary(max_size=300) | st.lists(
    st.sampled_from(jsonl(*[said("user", "x"), asks("c"), tells("c"), boundary(3)]).split(b"\n")),
    max_size=6,
).map(b"\n".join)


@given(texts=st.lists(TEXT, min_size=4, max_size=4))
@settings(max_examples=60, deadline=None)
def test_any_text_is_only_text(texts):
    """In a page the elements are ours, and in Markdown nothing is an element."""
    one, two, three, four = texts
    data = rows(
        prompt(1, None, one, timestamp=two),
        answer(2, 1, use(three, two, a=one, b=four)),
        result(3, 2, three, four),
    )
    shown = page(data)
    assert {tag for tag, _ in shown.elements} <= OURS
    if one.strip("\n"):
        assert texts_of(shown)[0] == visible(one).strip("\n")
    document = exported("md", data)
    for text in (shown.text, document, exported("json", data)):
        assert controls(text) == set()
        text.encode()
    kinds = {token.type for token in tokens(document)}
    assert kinds.isdisjoint({"html_block", "html_inline", "image", "link_open", "code_block"})


@given(data=SOUP)
@example(data="ab".encode("utf-16"))
@settings(max_examples=60, deadline=None)
def test_any_bytes_are_exported_or_refused(data):
    """Nothing is raised but that it is no session, and no control character comes out."""
    for name in FORMATS:
        try:
            text = exported(name, data)
        except NotASessionError:
            continue
        assert controls(text) == set()


def test_deep_nesting_is_shown():
    """Arguments nested a thousand deep are text like any other."""
    deep = "[" * 900 + "]" * 900
    line = jsonl(answer(1, None, use("a", x="DEEP"))).replace(b'"DEEP"', deep.encode())
    for name in FORMATS:
        assert deep in exported(name, line)


def test_the_same_session_gives_the_same_bytes(tmp_path):
    """In another process, with another seed of hashes."""
    (tmp_path / "s.jsonl").write_bytes(CONVERSATION)
    for name in FORMATS:
        outputs = {
            subprocess.run(
                [sys.executable, "-m", "sesstool", "export", "--to", name, "s.jsonl"],
                check=True,
                capture_output=True,
                cwd=tmp_path,
                env={
                    **os.environ,
                    "PYTHONHASHSEED": seed,
                    "PYTHONPATH": str(Path(__file__).parents[1]),
                },
            ).stdout
            for seed in ("1", "2")
        }
        assert len(outputs) == 1


# The command.


@pytest.fixture
def session(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "session.jsonl"
    path.write_bytes(CONVERSATION)
    return path


def test_the_command_writes_to_stdout_or_a_private_file(session, capsysbinary):
    """The file holds the same, is for its owner alone, and replaces another with --force."""
    assert main.run(["export", "session.jsonl"]) == 0
    printed = capsysbinary.readouterr().out
    assert printed.startswith(b"<!doctype html>")
    assert main.run(["export", "session.jsonl", "-o", "a.html"]) == 0
    made = session.with_name("a.html")
    assert made.read_bytes() == printed
    assert made.stat().st_mode & 0o777 == 0o600
    assert main.run(["export", "session.jsonl", "--to", "md", "-o", "a.html"]) == 6
    assert made.read_bytes() == printed
    assert main.run(["export", "session.jsonl", "--to", "md", "-o", "a.html", "--force"]) == 0
    assert made.read_bytes().startswith(b"# Session")


@pytest.mark.parametrize("how", ["itself", "link", "hard link", "stdin", "key", "identity"])
def test_what_is_read_is_not_replaced(session, how):
    """Not with --force either, by whatever name -o calls it: a session is all that there is."""
    before, arguments = session.read_bytes(), ["session.jsonl"]
    target = session if how in ("itself", "stdin") else session.with_name("other")
    if how == "link":
        target.symlink_to(session)
    elif how == "hard link":
        target.hardlink_to(session)
    elif how == "stdin":
        arguments = ["-"]
    elif how in ("key", "identity"):
        target.write_bytes(before)
        arguments += ["--redact", "share", "--key"] if how == "key" else ["-i"]
        arguments.append(str(target))
    command = [sys.executable, "-m", "sesstool", "export", *arguments, "--force", "-o", str(target)]
    path = str(Path(__file__).parents[1])
    with session.open("rb") as stdin:
        done = subprocess.run(
            command,
            check=False,
            stdin=stdin,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )
    assert done.returncode == 2
    assert f"{target} is what is read" in done.stderr
    assert session.read_bytes() == before
    assert target.read_bytes() == before


def test_a_file_that_could_not_be_finished_is_not_there(session, monkeypatch):
    """Whatever stops it on the way, and no piece of it stays."""

    def broken(self, choice):
        yield from list(sections(self, choice))[:2]
        raise OSError(28, "No space left on device")

    sections = Reading.sections
    monkeypatch.setattr(Reading, "sections", broken)
    assert main.run(["export", "session.jsonl", "-o", "a.html"]) == 6
    assert main.run(["export", "session.jsonl", "--split", "1", "-o", "pages"]) == 6
    assert files(session) == ["session.jsonl"]


@pytest.mark.parametrize(
    "options",
    [
        ["--to", "md", "--split", "2", "-o", "x"],
        ["--to", "json", "--expand"],
        ["--split", "2"],
        ["--split", "2", "-o", "x", "--force"],
        ["--key", "k"],
        ["--to", "pdf"],
        ["--records", "x"],
        ["--records", "5:3"],
        ["--records", "0:2"],
        ["--branch", "77"],
    ],
    ids=" ".join,
)
def test_options_that_do_not_go_together_are_refused(session, options):
    """With exit code 2, and nothing is written."""
    assert main.run(["export", "session.jsonl", *options]) == 2
    assert files(session) == ["session.jsonl"]


def test_a_folder_that_cannot_be_written_is_named(session, monkeypatch, capsys):
    """And not the one that was to become it, which is gone by then."""

    def full(path, _):
        raise cannot_write(path, OSError(28, "no space")) from OSError(28, "no space left")

    monkeypatch.setattr(folder, "create", full)
    assert main.run(["export", "session.jsonl", "--split", "1", "-o", "pages"]) == 6
    assert "cannot write pages: no space left" in capsys.readouterr().err
    assert files(session) == ["session.jsonl"]


def test_pages_lead_to_each_other(session):
    """A folder of pages of so many turns each, and an index; no link leads nowhere."""
    turns = [said("user", f"turn {n}") for n in range(1, 6)]
    session.write_bytes(jsonl(said("system"), *turns))
    assert main.run(["export", "session.jsonl", "--split", "2", "-o", "pages"]) == 0
    made = session.with_name("pages")
    names = sorted(path.name for path in made.iterdir())
    assert names == ["index.html", "page-001.html", "page-002.html", "page-003.html"]
    assert {path.stat().st_mode & 0o777 for path in made.iterdir()} == {0o600}
    assert made.stat().st_mode & 0o777 == 0o700
    shown = {name: Page((made / name).read_text()) for name in names}
    for name, of in shown.items():
        for link in (a["href"] for a in of.of("a")):
            target, _, anchor = link.partition("#")
            ids = {a.get("id") for _, a in shown[target or name].elements}
            assert not anchor or anchor in ids
    assert [texts_of(shown[name])[-1] for name in names[1:]] == ["turn 2", "turn 4", "turn 5"]
    last = [a["href"] for a in shown["page-003.html"].of("a")]
    assert "page-002.html" in last
    assert "page-004.html" not in last
    assert "turns 3 to 4, lines 4 to 5" in shown["index.html"].text
    assert main.run(["export", "session.jsonl", "--split", "2", "-o", "pages"]) == 6


def test_pages_of_a_part_are_the_pages_that_there_are(session):
    """Turns that are left out have no page, and the numbers have no gap."""
    session.write_bytes(jsonl(*(said("user", f"turn {n}") for n in range(1, 8))))
    options = ["--split", "2", "--records", "4:", "-o", "pages"]
    assert main.run(["export", "session.jsonl", *options]) == 0
    made = session.with_name("pages")
    assert [texts_of(Page((made / html.file_of(n)).read_text())) for n in (1, 2, 3)] == [
        ["turn 4"],
        ["turn 5", "turn 6"],
        ["turn 7"],
    ]
    assert not (made / html.file_of(4)).exists()


SECRET = "gh" + "p_" + "Q7xW2vN9kLr4TzB8mYc3HdJ6sFa1GpUe5oRi"
PERSON = "mina.ahola@quay.fi"


@pytest.fixture
def private(tmp_path, monkeypatch):
    """A session with a token and an address, in its text and in its name."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / f"{PERSON}.jsonl"
    path.write_bytes(
        jsonl(
            prompt(1, None, f"log in with {SECRET} as {PERSON}"),
            answer(2, 1, use("a", command=f"login {SECRET}")),
            result(3, 2, "a", f"hello {PERSON}"),
        )
    )
    return path


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("profile", ["share", "resume"])
def test_a_redacted_export_holds_no_value(private, capsysbinary, name, profile):
    """Not in the text, not in the name of the session, not in what is said of it."""
    options = ["--to", name, "--redact", profile]
    assert main.run(["export", str(private), *options]) == 0
    out = capsysbinary.readouterr().out.decode()
    for value in (SECRET, PERSON, "mina", "ahola"):
        assert value not in out
    assert "login" in out
    assert profile in out


def test_its_stand_ins_are_those_of_redact(private, capsysbinary, tmp_path):
    """With one key the export of a copy is the export that redacts."""
    key = tmp_path / "key"
    key.write_bytes(b"k" * 32)
    key.chmod(0o600)
    copy = tmp_path / "copies" / "copy.jsonl"
    copy.parent.mkdir()
    redact = ["redact", "--key", str(key), "--profile", "share", "-o", str(copy), str(private)]
    assert main.run(redact) == 0
    capsysbinary.readouterr()
    assert main.run(["export", "--to", "json", str(copy)]) == 0
    plain = json.loads(capsysbinary.readouterr().out)
    options = ["--to", "json", "--redact", "share", "--key", str(key)]
    assert main.run(["export", str(private), *options]) == 0
    redacted = json.loads(capsysbinary.readouterr().out)
    assert redacted["records"] == plain["records"]
    assert redacted["session"]["sha256"] == plain["session"]["sha256"]
    assert (plain["session"]["redaction"], redacted["session"]["redaction"]) == (None, "share")


def test_a_redaction_that_is_refused_writes_nothing(private, monkeypatch, capsys):
    """And the message does not hold the value in the file's name."""

    def refused(*_, name, **__):
        raise ResidueError(f"{name} still holds what was to go", hint="report it")

    monkeypatch.setattr(redaction, "verify", refused)
    before = files(private)
    assert main.run(["export", private.name, "--redact", "share", "-o", "a.html"]) == 6
    assert files(private) == before
    assert "still holds" in capsys.readouterr().err


def test_an_encrypted_session_is_exported_with_its_key(session, capfd):
    """The hash is that of its plain text."""
    assert main.run(["keygen", "-o", "key.txt"]) == 0
    recipient = capfd.readouterr().out.strip()
    assert main.run(["encrypt", "--write", "--yes", "-r", recipient, "session.jsonl"]) == 0
    capfd.readouterr()
    assert main.run(["export", "--to", "json", "-i", "key.txt", "session.jsonl.age"]) == 0
    value = json.loads(capfd.readouterr().out)
    assert value["session"]["sha256"] == hashlib.sha256(CONVERSATION).hexdigest()
    assert main.run(["export", "session.jsonl.age", "-o", "a.html"]) == 5
    assert not session.with_name("a.html").exists()


@pytest.mark.usefixtures("session")
def test_the_log_knows_what_a_session_was_exported_to(private):
    """So that who erases it is told; a path with values is not in the log of a redacted export."""
    assert main.run(["export", "session.jsonl", "-o", "a.html"]) == 0
    assert main.run(["export", "session.jsonl", "--split", "1", "-o", "pages"]) == 0
    assert main.run(["export", private.name, "--redact", "share", "-o", "b.html"]) == 0
    lines = list(log.read(state_folder()))
    assert [Path(line["path"]).name for line in lines] == ["a.html", "pages", "b.html"]
    assert [Path(line["of"]).name for line in lines[:2]] == ["session.jsonl"] * 2
    assert "mina" not in json.dumps(lines[2])


def test_what_is_no_session_is_refused(session):
    """With exit code 3, and no file is made."""
    session.write_bytes(b"The lamp burns.\n")
    assert main.run(["export", "session.jsonl", "-o", "a.html"]) == 3
    assert files(session) == ["session.jsonl"]


def test_pages_are_written_by_the_folder_alone(session):
    """The library's function refuses a folder that holds anything."""
    target = session.with_name("pages")
    target.mkdir()
    assert folder.write(reading(CONVERSATION), Choice(), 1, target) == 2
    assert (target / "index.html").is_file()
