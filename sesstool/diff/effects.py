"""What a tool call may have changed in the world: files, commands, messages.

Judged by the tool's name and its recorded arguments alone. What is not surely a mere look counts
as a change.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from sesstool.diff.fields import decoded

# Names as they stand in the tables: in lower case, without `_` and `-`.
_FILES = frozenset(
    [
        "write",
        "writefile",
        "createfile",
        "edit",
        "editfile",
        "multiedit",
        "notebookedit",
        "replace",
        "searchreplace",
        "strreplace",
        "strreplaceeditor",
        "strreplacebasededittool",
        "deletefile",
    ]
)
_COMMANDS = frozenset(
    [
        "bash",
        "shell",
        "shellcommand",
        "shellexec",
        "shellcall",
        "localshell",
        "localshellcall",
        "containerexec",
        "exec",
        "execcommand",
        "executecommand",
        "powershell",
        "runcommand",
        "runshellcommand",
        "runterminal",
        "runterminalcmd",
        "runterminalcommand",
    ]
)
_MESSAGES = frozenset(["agent", "spawnagent", "task", "webfetch"])
# Tools that look, whoever runs them, and those that only keep the agent's own notes.
_LOOKS = frozenset(
    [
        "bashoutput",
        "cat",
        "glob",
        "grep",
        "listdir",
        "listdirectory",
        "ls",
        "read",
        "readfile",
        "searchfilecontent",
        "taskcreate",
        "taskget",
        "tasklist",
        "taskoutput",
        "taskupdate",
        "todowrite",
        "toolsearch",
        "toolsearchcall",
        "updateplan",
        "viewimage",
        "waitagent",
        "websearch",
    ]
)
_PATHS = ("file_path", "path", "notebook_path", "absolute_path", "target_file", "filename")
_LINES = ("command", "cmd", "commands", "script", "source", "input")
_RECIPIENTS = ("subagent_type", "agent_type", "recipient", "to", "target", "channel", "id", "url")

_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): *(.*\S)", re.MULTILINE)
_PATCH_ALONE = re.compile(
    r"""\s*(?:cd\s+[\w./~-]+\s*&&\s*)?apply_patch\s*<<\s*(['"])(\w+)\1[ \t]*\n"""
    r"(?:(?!\2\s*\n).*\n)*\2\s*"
)
_SHELL = re.compile(r"(?:.*[/\\])?(?:ba|da|z|k)?sh")

# Programs that change nothing, whatever their arguments; the rest is judged by `_looks`.
_HARMLESS_PROGRAMS = frozenset(
    [
        "cat",
        "cd",
        "echo",
        "egrep",
        "fgrep",
        "grep",
        "head",
        "ls",
        "nl",
        "pwd",
        "stat",
        "tail",
        "true",
        "wc",
        "which",
    ]
)
_HARMLESS_GIT = frozenset(["blame", "diff", "log", "ls-files", "rev-parse", "show", "status"])
_SILENCED = re.compile(r"(?<=\s)(?:[12]?>|&>)\s?(?:/dev/null|&[12])(?=[\s;|]|$)")
_JOINED = re.compile(r"&&|\|\||[;|]")
_DOUBTFUL = re.compile(r"[\r\n<>`$(){}&]")
_LONG = 4096


class Effect(NamedTuple):
    """What one call may have changed.

    `kind` is "file", "command", "message" or "other"; `target` the path as recorded, the command
    line, the server or recipient, and "" where none is known.
    """

    kind: str
    target: str


def effects(
    name: str, arguments: Any, harmless: Collection[str], waits: Collection[str] = ()
) -> list[Effect]:
    """What a call of this tool may have changed, each once; nothing for one that only looks.

    `harmless` and `waits` are the sets of the session's format. The arguments may be of any
    shape; a tool that nobody knows has an effect of kind "other".
    """
    if name in harmless or name in waits:
        return []
    return list(dict.fromkeys(_effects(name, decoded(arguments))))


def _effects(name: str, given: Any) -> Iterator[Effect]:
    if name.startswith("mcp__"):
        yield Effect("message", name.split("__")[1])
        return
    fields = given if type(given) is dict else {}
    tool = name.removeprefix("functions.").lower().translate({ord(c): None for c in "._-"})
    if tool in _LOOKS:
        return
    if tool in _FILES:
        # Editors of several commands in one: this one shows a file.
        if fields.get("command") != "view":
            yield Effect("file", _first(fields, _PATHS))
    elif tool == "applypatch":
        yield from _patched(_patch(given)) or [Effect("file", _first(fields, _PATHS))]
    elif tool in _COMMANDS:
        yield from _commanded(given)
    elif tool == "writestdin":
        # Without keys it only waits for what the command says.
        if fields.get("chars") != "":
            yield Effect("command", _first(fields, ("chars",)))
    elif tool in _MESSAGES or tool.startswith("send"):
        yield Effect("message", _first(fields, _RECIPIENTS))
    else:
        yield Effect("other", "")


def _first(fields: dict[str, Any], keys: tuple[str, ...]) -> str:
    """The first of these members that is a text with something in it."""
    return next((v for k in keys if type(v := fields.get(k)) is str and v), "")


def _patch(given: Any) -> str:
    """The text of a patch; several come as one."""
    if type(given) is dict:
        given = list(given.values())
    if type(given) is list:
        return "\n".join(part for part in given if type(part) is str)
    return given if type(given) is str else ""


def _patched(patch: str) -> list[Effect]:
    return [Effect("file", path) for path in _PATCHED.findall(patch)]


def _commanded(given: Any) -> Iterator[Effect]:
    """The effects of what a shell was given."""
    if type(given) is dict:
        given = next((given[k] for k in _LINES if given.get(k)), "")
    lines = _command_lines(given)
    for line in lines:
        yield from (files := _patched(line))
        if not (files and _PATCH_ALONE.fullmatch(line)) and not _only_looks(line):
            yield Effect("command", line)


def _command_lines(given: Any) -> list[str]:
    """The command lines in a text, or in a list of words; one that is empty where there is none."""
    if type(given) is str:
        return [given]
    if type(given) is not list or not all(type(word) is str for word in given):
        return [""]
    if len(given) > 2 and _SHELL.fullmatch(given[0]) and re.fullmatch(r"-\w*c", given[1]):
        return [given[2]]
    return [shlex.join(given)]


def _only_looks(line: str) -> bool:
    """Whether a command line surely changes nothing; in doubt it does."""
    if len(line) > _LONG:
        return False
    line = _SILENCED.sub(" ", line)
    if _DOUBTFUL.search(line.replace("&&", ";")):
        return False
    try:
        # Where a quoted text holds a separator, its halves are no shell words.
        programs = [shlex.split(part) for part in _JOINED.split(line)]
    except ValueError:
        return False
    return any(programs) and all(_looks(*words) for words in programs if words)


def _looks(program: str, *words: str) -> bool:
    """Whether a program with these arguments only looks."""
    if program == "git":
        words = words[words[:1] == ("--no-pager",) :]
        # These write a file or run a program, and git takes them cut short.
        odd = ("--ou", "--ext")
        return bool(words) and words[0] in _HARMLESS_GIT and not _begins(words, odd)
    if program == "rg":
        return not _begins(words, ("--pre", "--hostname-bin"))
    if program == "find":
        return not _begins(words, ("-delete", "-exec", "-fls", "-fprint", "-ok"))
    if program == "sed":
        script = r"\d+(,\d+)?p"
        plain = len(words) > 1 and words[0] == "-n" and re.fullmatch(script, words[1])
        return bool(plain) and not _begins(words[2:], ("-",))
    if program == "date":
        return all(word.startswith("+") for word in words)
    return program in _HARMLESS_PROGRAMS


def _begins(words: tuple[str, ...], heads: tuple[str, ...]) -> bool:
    return any(word.startswith(heads) for word in words)
