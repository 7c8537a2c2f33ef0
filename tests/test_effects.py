"""What a tool call may have changed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sesstool.errors import NotASessionError
from sesstool.formats.events import ToolCall
from sesstool.model.effects import Effect, effects, files_read, folder_of
from sesstool.model.session import open_session
from tests.conftest import Memory

HARMLESS = frozenset({"Read", "find"})
PATCH = """*** Begin Patch
*** Add File: new lamp.txt
+*** Add File: no-header.txt
*** Update File: src/oil.py
*** Move to: src/wax.py
@@
-old
+new
*** Delete File: /srv/beacon/ash
*** End Patch
"""
PATCHED = ["new lamp.txt", "src/oil.py", "src/wax.py", "/srv/beacon/ash"]


def _files(*paths):
    return [Effect("file", path) for path in paths]


def _run(line):
    return effects("Bash", {"command": line}, HARMLESS)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Write", {"file_path": "lamp.txt", "content": "oil"}),
        ("Edit", {"file_path": "lamp.txt", "old_string": "a", "new_string": "b"}),
        ("MultiEdit", {"file_path": "lamp.txt", "edits": []}),
        ("NotebookEdit", {"notebook_path": "lamp.txt", "new_source": "x"}),
        ("write", {"path": "lamp.txt", "content": "oil"}),
        ("edit", '{"path": "lamp.txt", "edits": []}'),
        ("edit_file", {"path": "lamp.txt"}),
        ("replace", {"file_path": "lamp.txt"}),
        ("str_replace_based_edit_tool", {"command": "create", "path": "lamp.txt"}),
    ],
)
def test_a_tool_that_writes_changes_its_file(name, arguments):
    assert effects(name, arguments, HARMLESS) == _files("lamp.txt")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Read", {"file_path": "lamp.txt"}),
        ("find", {"pattern": "*"}),
        ("AskUserQuestion", {"questions": []}),
        ("TodoWrite", {"todos": []}),
        ("read_file", {"path": "lamp.txt"}),
        ("update_plan", '{"plan": []}'),
        ("wait_agent", '{"targets": ["a"]}'),
        ("write_stdin", {"session_id": 1, "chars": ""}),
        ("str_replace_based_edit_tool", {"command": "view", "path": "lamp.txt"}),
    ],
)
def test_a_tool_that_looks_or_waits_changes_nothing(name, arguments):
    assert effects(name, arguments, HARMLESS, {"AskUserQuestion"}) == []


@pytest.mark.parametrize(
    ("name", "arguments", "target"),
    [
        ("mcp__post__send_letter", {"to": "ana"}, "post"),
        ("Task", {"subagent_type": "scout", "prompt": "look"}, "scout"),
        ("Agent", {"prompt": "look"}, ""),
        ("spawn_agent", '{"agent_type": "scout", "message": "look"}', "scout"),
        ("SendMessage", {"recipient": "ana", "content": "hello"}, "ana"),
        ("WebFetch", {"url": "https://beacon.example/", "prompt": "x"}, "https://beacon.example/"),
    ],
)
def test_a_message_goes_to_a_server_or_a_recipient(name, arguments, target):
    assert effects(name, arguments, HARMLESS) == [Effect("message", target)]


@pytest.mark.parametrize(
    "arguments",
    [PATCH, {"input": PATCH}, {"patch": PATCH}, json.dumps({"input": PATCH})],
)
def test_a_patch_changes_the_files_in_its_headers(arguments):
    assert effects("apply_patch", arguments, HARMLESS) == _files(*PATCHED)


def test_a_patch_that_says_no_file_changed_one_that_is_not_known():
    assert effects("apply_patch", "*** Begin Patch", HARMLESS) == _files("")


@pytest.mark.parametrize(
    "command",
    [
        ["apply_patch", PATCH],
        ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}EOF\n"],
        f"cd /srv/beacon && apply_patch <<'EOF'\n{PATCH}EOF",
    ],
)
def test_a_shell_that_is_only_given_a_patch_ran_no_command(command):
    assert effects("shell", {"command": command}, HARMLESS) == _files(*PATCHED)


@pytest.mark.parametrize(
    "line",
    [
        f"apply_patch <<'EOF'\n{PATCH}EOF\nrm lamp\nEOF\n",
        f"apply_patch <<'EOF'\n{PATCH}EOF\nrm lamp\n",
        f"apply_patch <<EOF\n{PATCH}EOF\n",
        f"const x = await tools.apply_patch(`{PATCH}`)",
    ],
)
def test_a_patch_among_other_work_is_told_beside_the_command(line):
    assert _run(line) == [*_files(*PATCHED), Effect("command", line)]


@pytest.mark.parametrize(
    ("name", "arguments", "line"),
    [
        ("Bash", {"command": "make", "description": "build"}, "make"),
        ("bash", {"command": "make"}, "make"),
        ("exec_command", '{"cmd": "make"}', "make"),
        ("shell", '{"command": ["bash", "-lc", "make && ls"]}', "make && ls"),
        ("shell", {"command": ["/usr/bin/zsh", "-c", "make"]}, "make"),
        ("shell", {"command": ["rm", "the lamp"]}, "rm 'the lamp'"),
        ("local_shell_call", {"type": "exec", "command": ["make"]}, "make"),
        ("container.exec", {"cmd": ["make"]}, "make"),
        ("run_shell_command", {"command": "make"}, "make"),
        ("functions.exec", {"source": "await tools.x()"}, "await tools.x()"),
        ("exec", "await tools.x()", "await tools.x()"),
        ("write_stdin", {"session_id": 1, "chars": "yes\n"}, "yes\n"),
        ("Bash", None, ""),
        ("Bash", {"command": ["ls", 3]}, ""),
    ],
)
def test_a_command_is_told_as_its_line(name, arguments, line):
    assert effects(name, arguments, HARMLESS) == [Effect("command", line)]


@pytest.mark.parametrize(
    "line",
    [
        "ls -la ~/lamps",
        "pwd; which oil",
        "cat lamp.txt 2>/dev/null || echo none",
        "cd /srv/beacon && git status --short 2>&1 | head -5",
        "git --no-pager log --oneline -3",
        "git diff HEAD -- lamp.txt",
        "rg -n 'oil lamp' src",
        'grep -rn "oil" .',
        "find . -name '*.txt'",
        "sed -n 1,20p lamp.txt",
        "nl -ba lamp.txt | sed -n '1,5p'",
        "date +%Y",
    ],
)
def test_a_command_that_surely_looks_changes_nothing(line):
    assert _run(line) == []


@pytest.mark.parametrize(
    "line",
    [
        "",
        ";",
        "make",
        "echo oil > lamp",
        "echo oil >> lamp",
        "ls 2>/dev/null/lamp",
        "ls >log 2>&1",
        "ls; rm lamp",
        "ls && rm lamp",
        "ls & rm lamp",
        "ls\nrm lamp",
        "ls | xargs rm",
        "cat <(rm lamp)",
        "echo $(rm lamp)",
        "echo `rm lamp`",
        "echo 'a ; b'",
        "echo 'open",
        "LANG=C ls",
        "sudo ls",
        "./ls",
        "git push",
        "git",
        "git -c core.pager=rm log",
        "git diff --output=lamp",
        "git diff --outp lamp",
        "git diff --ext-diff",
        "rg --pre rm oil",
        "find . -delete",
        "find . '-exec' rm lamp",
        "find . -fprint lamp",
        "sed -i s/a/b/ lamp",
        "sed -n 'w lamp' oil",
        "sed -n 1,5p lamp -i",
        "date 010203042026",
        "ls " + "x" * 5000,
    ],
)
def test_a_command_in_doubt_is_an_effect(line):
    assert _run(line) == [Effect("command", line)]


def test_a_tool_that_nobody_knows_may_have_changed_something():
    for name in ("OpenGate", "", "[trimmed for fixture]"):
        assert effects(name, {"path": "west"}, HARMLESS) == [Effect("other", "")]


def test_a_file_tool_without_a_path_changed_one_that_is_not_known():
    for arguments in (None, 7, [], "torn {", {"file_path": ["a"]}, {"file_path": ""}):
        assert effects("Write", arguments, HARMLESS) == _files("")


def test_a_path_is_looked_for_under_each_of_its_names():
    assert effects("Write", {"file_path": "", "path": "lamp.txt"}, HARMLESS) == _files("lamp.txt")


def test_one_file_is_told_once():
    twice = PATCH.replace("*** End", "*** Update File: src/oil.py\n*** End")
    assert effects("apply_patch", twice, HARMLESS) == _files(*PATCHED)


NAMES = st.sampled_from(
    ["Bash", "shell", "apply_patch", "Write", "write_stdin", "Task", "mcp__", "mcp__a", "x", "Read"]
)
WORDS = st.text("lsrm git|&;<>$`'\"\\\n*{}[]()#-", max_size=30) | st.text(max_size=10)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["command", "cmd", "path", "input", "chars", "to", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(NAMES, VALUES, st.booleans())
def test_any_arguments_have_effects_of_the_four_kinds(name, arguments, as_text):
    told = effects(name, json.dumps(arguments) if as_text else arguments, HARMLESS)
    assert (told == []) or name != "Read"
    for kind, target in told:
        assert kind in {"file", "command", "message", "other"}
        assert type(target) is str


@pytest.mark.parametrize("deep", ["[" * 100_000, '{"command":' * 100_000, "9" * 10_000])
def test_hopeless_arguments_are_an_effect(deep):
    assert effects("Bash", deep, HARMLESS) == [Effect("command", deep)]
    nested: list = []
    for _ in range(100_000):
        nested = [nested]
    assert effects("Bash", {"command": nested}, HARMLESS) == [Effect("command", "")]


def test_a_patch_of_blanks_is_read_at_once():
    patch = "*** Update File: " + " " * 2_000_000 + "\n*** Update File: a\n"
    assert effects("apply_patch", patch, HARMLESS) == _files("a")


def test_every_tool_of_the_real_sessions_is_judged(shared):
    kinds = {}
    for path in sorted(shared.glob("corpus/*/**/*.jsonl")):
        try:
            session = open_session(Memory(path.read_bytes(), str(path)), "")
        except NotASessionError:  # other agents' files, and empty ones
            continue
        form = session.format
        for _, meaning in session.read():
            for event in meaning.events if meaning else ():
                if type(event) is ToolCall:
                    told = effects(event.name, event.arguments, form.harmless, form.waits)
                    kinds.setdefault(event.name, set()).update(e.kind for e in told)
    assert len(kinds) > 30
    assert {n for n, k in kinds.items() if k == {"other"}} == {
        "",
        "FailingTool",
        "OpenGate",
        "[trimmed for fixture]",
        "diagnostic_tool",
    }
    assert {n for n, k in kinds.items() if k == {"file"}} == {
        *("Edit", "MultiEdit", "Write", "apply_patch", "create", "edit", "edit_file"),
        *("replace", "write", "write_file"),
    }


@pytest.mark.parametrize(
    ("name", "arguments", "paths"),
    [
        ("create_file", {"filePath": "a"}, ["a"]),
        ("str_replace", {"file": "a", "old_str": "x"}, ["a"]),
        ("write", {"fileName": "a"}, ["a"]),
        ("edit", {"uri": "file:///srv/a"}, ["file:///srv/a"]),
        ("edit_file", {"target-file": "a", "path": ""}, ["a"]),
        ("MultiEdit", {"edits": [{"file_path": "a"}, {"file_path": "b"}]}, ["a", "b"]),
        ("MultiEdit", {"file_path": "a", "edits": [{"old_string": "x"}]}, ["a"]),
        ("write_file", {"files": ["a", "b", 3]}, ["a", "b"]),
        ("edit", {"changes": {"file": {"path": "a"}}}, ["a"]),
        ("write_file", {"path": "a", "content": {"path": "b"}}, ["a"]),
        ("move_file", {"source": "a", "destination": "b"}, ["a", "b"]),
        ("edit", {"edits": [None, [], {"path": None}]}, [""]),
        ("edit", {"path": ["a"]}, [""]),
    ],
)
def test_the_file_of_a_tool_is_found_however_its_argument_is_called(name, arguments, paths):
    assert effects(name, arguments, HARMLESS) == _files(*paths)


def test_arguments_nested_without_end_are_no_trouble():
    deep: object = {"path": "a"}
    for _ in range(5000):
        deep = {"edits": [deep]}
    assert effects("edit", deep, HARMLESS) == _files("")


@pytest.mark.parametrize(
    ("name", "arguments", "files"),
    [
        ("Read", {"file_path": "lamp.txt"}, ["lamp.txt"]),
        ("NotebookRead", {"notebook_path": "lamp.ipynb"}, ["lamp.ipynb"]),
        ("read", '{"path": "lamp.txt"}', ["lamp.txt"]),
        ("read_many_files", {"paths": ["a", "b", "a"]}, ["a", "b"]),
        ("view_image", {"path": "lamp.png"}, ["lamp.png"]),
        ("str_replace_based_edit_tool", {"command": "view", "path": "lamp.txt"}, ["lamp.txt"]),
        ("str_replace_based_edit_tool", {"command": "create", "path": "lamp.txt"}, []),
        ("Edit", {"file_path": "lamp.txt"}, []),
        ("Grep", {"path": "src", "pattern": "x"}, []),
        ("Bash", {"command": "cat 1 '' | head -n 3 && wc -l 'oil can'"}, ["1", "oil can"]),
        ("Bash", {"command": "tail -n +3 lamp.txt"}, ["lamp.txt"]),
        ("shell", {"command": ["bash", "-lc", "sed -n '1,20p' a b"]}, ["a", "b"]),
        ("exec_command", {"cmd": "nl -ba src/lamp.py; tail log"}, ["src/lamp.py", "log"]),
        ("Bash", {"command": "make lamp && cat log"}, ["log"]),
        ("Bash", {"command": "cat > lamp.txt"}, []),
        ("Bash", {"command": "cat $(which lamp)"}, []),
        ("Bash", {"command": "cat 'lamp"}, []),
        ("Bash", {"command": "cat " + 5000 * "x"}, []),
    ],
)
def test_the_files_that_a_call_reads(name, arguments, files):
    """By the members that name a file, or by what a command line shows."""
    assert files_read(name, arguments) == files


_MEMBERS = st.sampled_from(["path", "command", "cmd", "files", "workdir", "x"])


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(_MEMBERS, inner),
    )
)
def test_arguments_of_any_shape_name_files_or_none(arguments):
    """A session may say anything."""
    for name in ("Read", "Bash", "str_replace_based_edit_tool", "Edit", ""):
        assert all(type(path) is str for path in files_read(name, arguments))
    assert type(folder_of(arguments, "/srv")) is str


def test_the_folder_that_a_call_runs_in():
    """Its own counts from the session's."""
    assert folder_of({"workdir": "oil"}, "/srv") == "/srv/oil"
    assert folder_of('{"cwd": "/tank"}', "/srv") == "/tank"
    assert folder_of({"workdir": ""}, "/srv") == "/srv"
    assert folder_of("ls", "/srv") == "/srv"
