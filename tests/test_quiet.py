"""No session text in any output: a canary in every field that holds text never sings."""

import gzip
import json

import pytest

from sesstool.checks import content
from sesstool.cli import main
from tests.conftest import (
    ROLLOUT,
    answer,
    asks,
    boundary,
    dump,
    envelope,
    event,
    item,
    jsonl,
    linked,
    meta,
    output,
    prompt,
    result,
    runs,
    said,
    says,
    tells,
    use,
)

CANARY = "Zq7canary"
SONG = f"{CANARY} sings {CANARY}"
# The keys of a tool's data are text whatever they look like; elsewhere a name is structure.
ALSO = {SONG: SONG, "type": "text", "text": SONG}

CLAUDE = (
    prompt(1, None, SONG),
    linked(2, 1, "system", subtype="informational", content=SONG),
    linked(3, 2, "attachment", attachment={"type": "file", "content": SONG, SONG: 1}),
    answer(
        4,
        3,
        {"type": "thinking", "thinking": SONG, "signature": f"[{SONG}]"},
        {"type": "text", "text": SONG},
        use("toolu_1", command=SONG, **{CANARY: [SONG]}),
    ),
    result(5, 4, "toolu_1", SONG, toolUseResult={"stdout": SONG, CANARY: SONG}),
    answer(6, 5, {"type": "text", "text": ""}, use("toolu_2", "Edit", old=SONG)),
    prompt(7, 6, [{"type": "text", "text": SONG}, {"type": "hologram", "text": SONG}]),
    result(8, 7, "toolu_lost", [{"type": "text", "text": SONG}]),
    prompt(9, 8, [{"type": "image", "source": {"type": "base64", "data": SONG}}]),
    answer(10, 77, {"type": "text", "text": SONG}),
    boundary(11) | {"content": SONG},
    prompt(12, 11, {"text": SONG}),
    prompt(12, 11, SONG, isMeta=SONG),
    {"type": "summary", "summary": SONG, "leafUuid": 5},
    {"type": "custom-title", "customTitle": SONG},
    answer(13, 12, use("toolu_3", "Bash", command=SONG)),
)
CODEX = (
    meta(0, instructions=SONG, base_instructions={"text": SONG}, git={"message": SONG}),
    says("user", SONG, 1),
    item("reasoning", 2, summary=[{"type": "summary_text", "text": SONG}], encrypted_content=SONG),
    runs("call_1", 3, arguments=f'{{"cmd":"{SONG}"'),
    output("call_1", SONG, 4),
    event("agent_message", 5, message=SONG),
    runs("call_2", 6, arguments=json.dumps({CANARY: SONG})),
    item("message", 7, role="user", content=[{"type": "input_image", "image_url": f"data:{SONG}"}]),
    item("message", 8, role="assistant", content=SONG),
    item("custom_tool_call", 9, name="patch", call_id="call_3", input=SONG),
    output("call_lost", SONG, 10),
    envelope("compacted", {"message": SONG, "replacement_history": [ALSO]}, 11),
    envelope("flour_record", {"text": SONG, SONG: SONG}, 12),
    meta(13, instructions=SONG),
    {"timestamp": "2026-03-01T06:00:00.000Z", "type": "event_msg", "payload": SONG},
)
CHAT = (
    said("system", SONG),
    said("user", SONG, name=3),
    asks("c1", "c2", arguments=json.dumps({CANARY: SONG})),
    tells("c1", SONG),
    said("user", [{"type": "text", "text": ""}, {"type": "text", "text": SONG}]),
    said("user", [{"type": "image_url", "image_url": {"url": f"data:image/png,{SONG}"}}]),
    asks("c3", arguments=f"[{SONG}"),
    tells("c9", SONG),
    said("assistant", {"text": SONG}),
    said("assistant", SONG, refusal=[SONG], tool_calls=SONG),
    asks("c4", arguments=json.dumps(SONG)),
)
FILES = {
    "3e550000-0000-4000-8000-000000000001.jsonl": jsonl(*CLAUDE),
    ROLLOUT: jsonl(*CODEX),
    "chat.jsonl": jsonl(*CHAT),
}
LAST = dump(said("user", SONG))
DAMAGE = {
    "whole": lambda data: data,
    "torn-in-text": lambda data: data + LAST[: LAST.rindex(b" sings")],
    "torn-in-key": lambda data: data + b'{"role":"user","' + CANARY.encode(),
    "torn-midfile": lambda data: data[:-1].replace(b"\n", b"\n" + LAST[:-4] + b"\n", 1) + b"\n",
    "glued": lambda data: data.replace(b"}\n{", b"}{", 2),
    "nul": lambda data: data.replace(b" sings", b"\0\0\0 sings", 3),
    "newline": lambda data: data.replace(b" sings", b" \n sings", 3),
    "control": lambda data: data.replace(b" sings", b" \x1b[31m sings", 3),
    "bad-utf8": lambda data: data.replace(b" sings", b" \xff sings", 3),
    "surrogate": lambda data: data.replace(b" sings", b"\\ud83c sings", 3),
    "backslash": lambda data: data.replace(b" sings", b"\\q sings", 3),
    "noise": lambda data: data + f"{SONG}\n[{json.dumps(SONG)}]\n{json.dumps(SONG)}\n".encode(),
    "twice": lambda data: data.replace(b"{", b'{"%s":1,"%s":2,' % ((SONG.encode(),) * 2), 1),
    "markers": lambda data: b"<<<<<<< %s\n%s>>>>>>> x\n" % (CANARY.encode(), data),
    "utf-16": lambda data: data.decode().encode("utf-16"),
    "doubled": lambda data: data + data,
    "gzip": gzip.compress,
}
FOUND = """
B102 B104 B105 B106 B107 B108 B110 B112 B115 B116 B118 J201 J202 J203 J204 S301 S302
T401 T402 T406 C601 C602 C603 C604 G501 G502 M704
"""
COMMANDS = [
    *(["validate", "-f", f] for f in ("text", "concise", "json", "jsonl", "github", "sarif")),
    ["validate", "--thorough", "--statistics", "-v", "--color", "always"],
    ["repair"],
    ["repair", "-v", "--unsafe", "--join-branches"],
    ["repair", "--unsafe", "--unanswered", "drop", "-f", "json"],
    ["repair", "-f", "json"],
]


@pytest.fixture
def folder(tmp_path):
    """A folder for each kind of damage, with a session of each format."""
    for kind, damage in DAMAGE.items():
        (tmp_path / kind).mkdir()
        for name, data in FILES.items():
            suffix = ".gz" if kind == "gzip" else ""
            (tmp_path / kind / f"{name}{suffix}").write_bytes(damage(data))
    return tmp_path


@pytest.fixture
def heard(capfd):
    """Run a command; its exit code and all that it printed, in which the canary is not."""

    def run(*arguments):
        code = main.run([*map(str, arguments)])
        out, err = capfd.readouterr()
        assert CANARY not in out
        assert CANARY not in err
        assert code != 70
        return code, out, err

    return run


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_prints_session_text(folder, heard, command):
    """Every session of every damage has its findings, and none of them sings."""
    code, out, _ = heard(*command, folder)
    assert code == 1
    assert "T401" in out


def test_the_sessions_are_damaged_in_many_ways(folder, heard):
    """The rules that these sessions break are those that the other tests rely on."""
    _, out, _ = heard("validate", "--thorough", "-f", "json", folder)
    files = json.loads(out)["files"]
    assert len(files) == len(DAMAGE) * len(FILES)
    assert set(FOUND.split()) <= {f["code"] for file in files for f in file["findings"]}


def test_resume_prints_no_session_text(folder, heard):
    """What a resume would send is counted, not shown."""
    for path in sorted(folder.glob("*/*")):
        for form in ("text", "json"):
            assert heard("resume", "-f", form, path)[0] in (0, 1)


def test_a_snapshot_holds_no_session_text(folder, heard):
    """Neither what is recorded of the world beside a session, nor what is said of it."""
    for path in sorted(folder.glob("*/*")):
        file = path.with_name("world")
        if heard("snapshot", path, "-o", file, "--force")[0] == 0:
            assert CANARY not in file.read_text()
            assert heard("snapshot", path, "--compare", file)[0] == 0


def test_writing_prints_no_session_text(folder, heard):
    """Neither a repair nor its plan, its undo, nor the list of entries sings."""
    plan = folder / "plan"
    assert heard("repair", "--save-plan", plan, "--unsafe", folder / "whole")[0] == 1
    assert heard("apply", plan)[0] == 1
    assert heard("apply", "--write", plan)[0] == 0
    _, out, _ = heard("undo", "--list")
    assert len(out.splitlines()) == len(FILES)
    assert heard("undo")[0] == 0
    assert heard("repair", "--write", "-v", folder / "glued")[0] == 1


def test_a_refused_write_prints_no_session_text(folder, heard):
    """A plan for other bytes, and an undo of other bytes, are refused in silence."""
    plan, path = folder / "plan", folder / "whole" / "chat.jsonl"
    heard("repair", "--save-plan", plan, path)
    path.write_bytes(path.read_bytes() + LAST + b"\n")
    assert heard("apply", "--write", "-v", plan)[0] == 6
    heard("repair", "--write", path)
    path.write_bytes(path.read_bytes() + LAST + b"\n")
    assert heard("undo", "-v", path)[0] == 6


def test_what_is_no_session_prints_no_text(tmp_path, heard):
    """Errors about a file, a schema or a plan do not quote it."""
    path = tmp_path / "notes.jsonl"
    path.write_text(f'{{"{CANARY}":"{SONG}"}}\n{SONG}')
    assert heard("validate", path)[0] == 3
    assert heard("validate", "--schema", path, path)[0] == 2
    assert heard("apply", path)[0] == 2


@pytest.mark.parametrize("flags", [[], ["-v"]])
@pytest.mark.parametrize("command", ["validate", "repair", "resume"])
def test_a_bug_prints_no_session_text(folder, capfd, monkeypatch, command, flags):
    """A rule that fails on a record with its text in the message is told by type and place."""

    def fail(*_):
        raise ValueError(SONG) from KeyError(SONG)

    monkeypatch.setattr(content, "check", fail)
    assert main.run([command, *flags, str(folder / "whole" / "chat.jsonl")]) == 70
    out, err = capfd.readouterr()
    assert "ValueError at test_quiet.py" in err
    assert CANARY not in out + err
