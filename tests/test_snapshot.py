"""`sesstool snapshot`, and that a snapshot belongs to its session wherever that goes."""

import json
import os
import shutil
from pathlib import Path

import pytest

from sesstool import api
from sesstool.api import diffing, worlds
from sesstool.cli import main
from sesstool.diff.sides import parent_of
from sesstool.encryption import keys
from sesstool.formats.registry import FORMATS
from sesstool.formats.terms import Origin
from sesstool.library.discover import discover
from sesstool.model.session import open_session
from sesstool.records.opening import open_source
from sesstool.retention.survey import survey
from tests.conftest import (
    ROLLOUT,
    SESSION,
    THREAD,
    answer,
    call_of,
    head,
    jsonl,
    meta,
    output,
    prompt,
    runs,
    said,
    says,
    says_with,
    speaks,
    use,
)

SAMPLES = Path(__file__).parents[1] / "samples"
KEY = keys.generate(pq=False)


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A folder with a file, in which the command runs."""
    (tmp_path / "log.txt").write_text("burns")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def quest(work):
    """A session that read that file."""
    path = work / f"{SESSION}.jsonl"
    call = answer(2, 1, use("a", "Read", file_path="log.txt"))
    path.write_bytes(jsonl(prompt(1, None), call | {"cwd": str(work)}))
    return path


@pytest.fixture
def run(capsys):
    """Run a command; its exit code, stdout and stderr."""

    def told(*arguments):
        code = main.run([*map(str, arguments)])
        return code, *capsys.readouterr()

    return told


def chat(tool, **given):
    call = {"name": tool, "arguments": json.dumps(given)}
    calls = [{"id": "c", "type": "function", "function": call}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def transcript(tool, **given):
    calls = [{"id": "c", "name": tool, "arguments": json.dumps(given)}]
    payload = {
        "role": "assistant",
        "content": "",
        "metadata": {"action_type": "tool_call", "tool_calls": calls},
    }
    return {
        "event_id": "evt-1",
        "timestamp": "2026-03-01T06:00:00.000000Z",
        "session_id": "session-1",
        "run_id": "run-1",
        "step": 1,
        "event_type": "message",
        "payload": payload,
        "schema_version": 1,
    }


def item(kind, **fields):
    return {"type": kind} | fields


# A session of each format that looks at log.txt in its own way; the folder is told by those whose
# agents tell it.
LOOKING = {
    "claude-code": lambda cwd: [
        prompt(1, None, cwd=cwd),
        answer(2, 1, use("a", "Read", file_path="log.txt"), cwd=cwd),
    ],
    "codex": lambda cwd: [
        meta(cwd="/"),
        says("user", "look"),
        runs("c", arguments=json.dumps({"cmd": "cat log.txt", "workdir": cwd})),
        output("c"),
    ],
    "pi": lambda cwd: [
        head(cwd=cwd),
        speaks(1, None, "user", "look"),
        speaks(2, 1, "assistant", call_of("c", {"command": "sed -n '1,5p' log.txt | head -n 2"})),
    ],
    "openai-chat": lambda _: [said("user"), chat("read_file", path="./log.txt")],
    "anthropic-messages": lambda _: [
        said("user"),
        says_with(use("a", "str_replace_based_edit_tool", command="view", path="log.txt")),
    ],
    "astorlm": lambda _: [
        {"id": "m1", "role": "user", "content": [{"type": "text", "text": "look"}]},
        {"id": "m2", "role": "assistant", "content": [use("a", "edit_file", path="log.txt")]},
    ],
    "openai-responses": lambda _: [
        item("message", role="user", content="look"),
        item("function_call", name="view_image", arguments='{"path":"log.txt"}', call_id="c"),
    ],
    "mycodeagent": lambda _: [transcript("Read", path="log.txt")],
}


@pytest.mark.parametrize("name", LOOKING)
def test_a_session_of_each_format_tells_the_file_that_it_read(work, name):
    """By its own tools, or by a command line that only looks."""
    path = work / "s.jsonl"
    path.write_bytes(jsonl(*LOOKING[name](str(work))))
    taken, place = worlds.snapshot(path, format_name=name)
    files = dict(taken.files)
    assert files[str(work / "log.txt")].size == 5
    assert taken.format == name
    assert taken.told is (name in ("claude-code", "codex", "pi"))
    assert place == work / "s.jsonl.world.json"


def test_the_files_of_subagents_are_those_of_the_session(quest, work):
    """Their to-dos are their own; what cannot be read of them is counted."""
    path = work / SESSION / "subagents/agent-1.jsonl"
    path.parent.mkdir(parents=True)
    todo = use("t", "TodoWrite", todos=[{"content": "trim", "status": "pending"}])
    calls = answer(2, 1, use("a", "Write", file_path=f"{work}/bell"), todo, cwd="/srv/aside")
    path.write_bytes(jsonl(prompt(1, None), calls) + b"torn\n")
    taken = worlds.take(quest)
    assert [name for name, _ in taken.files] == [f"{work}/bell", f"{work}/log.txt"]
    assert (taken.todos, taken.unread, taken.cwd) == ((0, 0), 1, "/srv/beacon")


def test_a_transcript_without_a_folder_counts_from_its_project(work, monkeypatch):
    """MyCodeAgent keeps transcripts in the project that it works in."""
    path = work / "memory/transcripts/transcript-session-1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(jsonl(transcript("Read", path="log.txt")))
    monkeypatch.chdir("/")
    taken = worlds.take(path)
    assert (taken.cwd, taken.told) == (str(work), False)
    assert dict(taken.files)[str(work / "log.txt")].size == 5


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("**/*.jsonl")), ids=lambda p: p.name[-40:])
def test_every_sample_has_a_world(path, tmp_path, monkeypatch):
    """Damaged or not; the session keeps its bytes, and nothing has changed right after."""
    session = tmp_path / path.name
    shutil.copyfile(path, session)
    monkeypatch.chdir(tmp_path)
    try:
        taken, place = worlds.snapshot(session)
    except api.InputError:
        assert not list(tmp_path.glob("*.world.json"))
        return
    since = worlds.compared(session)
    assert (since.path, since.then, since.changes) == (place, taken, ())
    assert session.read_bytes() == path.read_bytes()


def test_the_command_tells_what_it_recorded(quest, work, run):
    """In a few lines; the file is named on stderr."""
    (work / "gone.txt").unlink(missing_ok=True)
    code, out, err = run("snapshot", quest)
    assert code == 0
    variables = len(os.environ)
    assert out == (
        f"{quest}: claude-code session, and the world beside it\n"
        "  folder     /srv/beacon\n"
        "  git        no such folder\n"
        "  files      1 recorded\n"
        f"  variables  {variables} names, no value\n"
        "  to-dos     none\n"
    )
    assert err == f"written: {quest}.world.json\n"


def test_the_command_tells_what_has_changed(quest, work, run):
    """Exit 1 where something has; the order of the arguments is the user's."""
    run("snapshot", quest)
    taken = json.loads(Path(f"{quest}.world.json").read_text())["taken"]
    since = f"{quest}: since the snapshot of {taken}: "
    assert run("snapshot", quest, "--compare") == (0, since + "0 changes\n", "")
    (work / "log.txt").unlink()
    told = f"{since}1 change\n  missing    {work}/log.txt: 5 bytes, now missing\n"
    assert run("snapshot", quest, "--compare") == (1, told, "")
    assert run("snapshot", "--compare", quest) == (1, told, "")
    assert run("snapshot", quest, "--compare", f"{quest}.world.json") == (1, told, "")


def test_resume_tells_what_has_changed(quest, work, run):
    """In its last lines, and in its document; what has changed is no loss."""
    assert "snapshot" not in run("resume", quest)[1]
    assert json.loads(run("resume", quest, "-f", "json")[1])["world"] is None
    code = run("resume", quest)[0]
    run("snapshot", quest)
    for name in "abcdef":
        (work / name).write_text("1")
    (work / "log.txt").write_text("burns on")
    after, out, _ = run("resume", quest)
    assert after == code
    assert out.splitlines()[-2].endswith(": 1 change")
    assert out.splitlines()[-1] == f"    changed    {work}/log.txt: 5 bytes, now 8 bytes"
    (change,) = json.loads(run("resume", quest, "-f", "json")[1])["world"]["changes"]
    assert change["what"] == str(work / "log.txt")


def test_a_long_list_is_cut_and_counted(work, run):
    """The document has all of them."""
    path = work / "s.jsonl"
    names = [f"n{n:02}" for n in range(30)]
    path.write_bytes(jsonl(said("user"), *(chat("read_file", path=name) for name in names)))
    run("snapshot", path)
    for name in names:
        (work / name).write_text("1")
    _, out, _ = run("snapshot", path, "--compare")
    assert len(out.splitlines()) == 22
    assert out.splitlines()[-1] == "  and 10 more: -f json tells all"
    _, out, _ = run("resume", path)
    assert out.splitlines()[-1] == "    and 25 more: -f json tells all"
    _, out, _ = run("snapshot", path, "--compare", "-f", "json")
    assert [c["what"] for c in json.loads(out)["changes"]] == [f"{work}/{name}" for name in names]


def test_a_snapshot_that_cannot_be_read_stops_no_resume(quest, run):
    """It is told on stderr."""
    expected = run("resume", quest)[:2]
    Path(f"{quest}.world.json").write_text("{")
    code, out, err = run("resume", quest)
    assert (code, out) == expected
    assert "the snapshot beside it is not compared" in err


def test_what_the_command_refuses(quest, work, run):
    """With the exit code of the reason, and a hint."""
    assert run("snapshot", quest, "--compare")[0] == 3
    assert run("snapshot")[0] == 2
    assert run("snapshot", quest, "--compare", "--force")[0] == 2
    assert run("snapshot", work / "no.jsonl")[0] == 3
    run("snapshot", quest)
    before = Path(f"{quest}.world.json").read_bytes()
    code, _, err = run("snapshot", quest)
    assert code == 6
    assert "hint: --force" in err
    assert Path(f"{quest}.world.json").read_bytes() == before
    assert run("snapshot", quest, "--force")[0] == 0
    assert run("snapshot", quest, "-o", quest, "--force")[0] == 2
    assert run("snapshot", quest, "-o", work / "no/where.json")[0] == 6
    assert run("snapshot", f"{quest}.world.json")[0] == 3


def test_a_snapshot_goes_where_o_says(quest, work, run):
    """To stdout nothing else is written; of a file the log is told."""
    code, out, _ = run("snapshot", quest, "-o", "-")
    assert code == 0
    assert json.loads(out)["cwd"] == "/srv/beacon"
    assert not Path(f"{quest}.world.json").exists()
    assert run("snapshot", quest, "-o", work / "w.json")[0] == 0
    assert json.loads((work / "w.json").read_text())["session"] == quest.name
    assert (work / "w.json").stat().st_mode & 0o777 == 0o600
    assert str(work / "w.json") in run("audit", "show")[1]
    assert run("snapshot", quest, "--compare", work / "w.json")[0] == 0


def test_names_that_could_act_on_a_terminal_are_shown(work, run):
    """In what is recorded, and in what has changed."""
    path = work / "s.jsonl"
    path.write_bytes(
        jsonl(
            prompt(1, None, cwd="/srv/\x1b[31m"),
            answer(2, 1, use("a", "Read", file_path=f"{work}/\x1b[2J\u202e.txt")),
        )
    )
    _, out, _ = run("snapshot", path)
    assert "/srv/␛[31m" in out
    (work / "\x1b[2J\u202e.txt").write_text("1")
    _, more, _ = run("snapshot", path, "--compare")
    assert "␛[2J<U+202E>.txt" in more
    assert "\x1b" not in out + more


def test_hostile_paths_end_no_run(work, run):
    """Pipes, devices, links in a circle, halves of characters, long and empty names."""
    os.mkfifo(work / "pipe")
    (work / "circle").symlink_to(work / "circle")
    (work / "stdin").symlink_to("/proc/self/fd/0")
    (work / "folder").mkdir()
    named = ["pipe", "circle", "stdin", "folder", "/dev/zero", "/proc/self/mem", "a\0b", "\ud800"]
    named += [
        "x" * 5000,
        "x/" * 2000,
        "",
        "~",
        "file:///etc/../dev/zero",
        "c:\\x",
        "\\\\host\\x",
        "-",
    ]
    path = work / "s.jsonl"
    records = [chat("read_file", path=name) for name in named]
    records += [chat("read_file", path=value) for value in (None, 1, [], {}, ["a"])]
    records += [chat("cat", files=[1, None, "b"]), chat("bash", command="cat 'a")]
    path.write_bytes(jsonl(said("user"), *records))
    assert run("snapshot", path)[0] == 0
    files = dict(worlds.compared(path).then.files)
    assert [p for p, state in files.items() if state == "unreadable"] == sorted(
        [
            "/dev/zero",
            "/proc/self/mem",
            *(f"{work}/{n}" for n in ("circle", "folder", "pipe", "stdin")),
        ]
    )
    assert all(len(p.encode(errors="replace")) <= 4096 for p in files)
    assert run("snapshot", path, "--compare")[0] == 0


# A snapshot belongs to its session.


@pytest.fixture
def rollout(home, work):
    """A Codex session in its home, with a snapshot."""
    folder = home / ".codex/sessions/2026/03/01"
    folder.mkdir(parents=True)
    path = folder / ROLLOUT
    path.write_bytes(jsonl(*LOOKING["codex"](str(work))))
    path.chmod(0o600)
    os.utime(path, (1, 1))
    worlds.snapshot(path)
    return path


def test_a_snapshot_is_not_taken_for_a_session(rollout, quest, run):
    """Neither in a folder, nor by an id, nor for the parent of a fork."""
    worlds.snapshot(quest)
    for path in (rollout, quest):
        assert list(api.find([str(path.parent)])) == [path]
        assert [item.name for item in discover([path.parent])] == [path.name]
    assert list(api.find([THREAD[:8]])) == [rollout]
    assert diffing.related(rollout) == []
    with open_source(rollout) as source:
        session = open_session(source)
        assert parent_of(session, Origin(THREAD, "copy"), (), None) == rollout
        rollout.rename(rollout.with_name("elsewhere"))
        assert parent_of(session, Origin(THREAD, "copy"), (), None) is None
    code, _, err = run("validate", f"{quest}.world.json")
    assert code == 3
    assert f"hint: give {quest.name} beside it" in err


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_a_snapshot_is_a_part_of_a_session_of_every_format(tmp_path, form):
    """Also an encrypted one, and that of a session that is packed; links to one are links."""
    path = tmp_path / "s.jsonl"
    plain, sealed = tmp_path / "s.jsonl.world.json", tmp_path / "s.jsonl.world.json.age"
    assert list(form.parts(path)) == []
    plain.touch()
    sealed.touch()
    for name in ("s.jsonl", "s.jsonl.gz", "s.jsonl.zst.age"):
        assert list(form.parts(tmp_path / name)) == [plain, sealed]
    sealed.unlink()
    sealed.symlink_to(plain)
    assert (list(form.parts(path)), list(form.links(path))) == ([plain], [sealed])


@pytest.mark.parametrize("which", ["rollout", "quest"])
def test_retention_takes_a_snapshot_with_its_session(request, which):
    """It is one of its pieces, and no damage of it."""
    path = request.getfixturevalue(which)
    place = Path(f"{path}.world.json")
    os.utime(path, (1, 1))
    worlds.snapshot(path, force=True)
    (group,) = survey([path, place])
    assert group.modified.timestamp() == 1
    assert [piece.path for piece in group.pieces] == [path, place]
    assert group.trouble() == ("", "")
    place.unlink()
    place.symlink_to(path)
    (group,) = survey([path])
    assert group.links == (place,)


@pytest.mark.parametrize("pack", ["", ".gz"])
def test_encryption_takes_a_snapshot_with_its_session(quest, run, work, pack):
    """It is compared from there; a new one is encrypted, too, and decryption gives both back."""
    key = work / "key"
    key.write_bytes(keys.identity_file(KEY, "2026-03-01T06:00:00Z"))
    if pack:
        import gzip  # noqa: PLC0415 - one case needs it

        data = quest.read_bytes()
        quest.unlink()
        quest = quest.with_name(quest.name + pack)
        quest.write_bytes(gzip.compress(data))
    name = f"{SESSION}.jsonl.world.json"
    worlds.snapshot(quest)
    plain = (work / name).read_bytes()
    assert run("encrypt", "--write", "--yes", "-r", KEY.recipient().text, quest)[0] == 0
    assert sorted(p.name for p in work.glob("*.age")) == sorted(
        [f"{quest.name}.age", f"{name}.age"]
    )
    sealed = Path(f"{quest}.age")
    (work / "log.txt").unlink()
    assert run("snapshot", "-i", key, sealed, "--compare")[0] == 1
    assert run("snapshot", sealed, "--compare")[0] == 5
    assert "1 change" in run("resume", "-i", key, sealed)[1]
    assert run("snapshot", "-i", key, sealed)[0] == 6
    assert run("snapshot", "-i", key, sealed, "--force")[0] == 0
    assert (work / f"{name}.age").read_bytes().startswith(b"age-encryption.org/v1\n")
    assert run("snapshot", "-i", key, sealed, "-o", work / "w.json")[0] == 0
    assert (work / "w.json").read_bytes().startswith(b"age-encryption.org/v1\n")
    assert run("snapshot", "-i", key, sealed, "--compare")[0] == 0
    assert run("decrypt", "--write", "-i", key, sealed)[0] == 0
    assert (work / name).read_bytes() != plain
    assert run("snapshot", quest, "--compare")[0] == 0
    # Of two, nobody would know which counts.
    (work / f"{name}.age").write_bytes(b"")
    assert run("snapshot", quest, "--force")[0] == 6


def test_redaction_takes_values_out_of_a_snapshot(work, run):
    """Names of people in paths go from it as from the session, in copies and in place."""
    (work / "ada.lovelace@beacon.io").write_text("1")
    path = work / "s.jsonl"
    path.write_bytes(jsonl(said("user"), chat("read_file", path="ada.lovelace@beacon.io")))
    worlds.snapshot(path)
    assert b"lovelace" in (work / "s.jsonl.world.json").read_bytes()
    assert run("redact", path, "-o", work / "copies")[0] == 0
    copy = work / "copies/s.jsonl.world.json"
    assert b"lovelace" not in copy.read_bytes()
    assert worlds.compared(work / "copies/s.jsonl").then.format == "openai-chat"
    assert run("redact", path, "--write", "--in-place", "--yes")[0] == 0
    assert b"lovelace" not in (work / "s.jsonl.world.json").read_bytes()
