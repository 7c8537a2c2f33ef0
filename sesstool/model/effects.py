"""What a tool call may have changed in the world: files, commands, messages.

Judged by the tool's name and its recorded arguments alone. What is not surely a mere look counts
as a change.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection, Iterator
from itertools import islice
from typing import Any, NamedTuple

from sesstool.model.paths import located

# Tools by their names in lower case, without `_`, `-` and `.`. Those of kind "look" change nothing
# but the agent's own notes, whoever runs them.
_NAMES = {
    "file": """
        appendfile applydiff copyfile create createfile createnewfile deletefile edit editfile
        editnotebook editnotebookfile fsappend fsreplace fswrite inserteditintofile insertcontent
        movefile multiedit multireplacestringinfile notebookedit removefile renamefile replace
        replaceinfile replacestringinfile searchandreplace searchreplace strreplace
        strreplaceeditor strreplacebasededittool write writefile writetofile
    """,
    "patch": "applypatch",
    "command": """
        bash execute shell shellcommand shellexec shellcall localshell localshellcall
        containerexec exec execcommand executecommand powershell runcommand runshellcommand
        runterminal runterminalcmd runterminalcommand
    """,
    "keys": "writestdin",
    "message": "agent spawnagent task webfetch",
    "look": """
        bashoutput cat glob grep listdir listdirectory ls read readfile searchfilecontent
        taskcreate taskget tasklist taskoutput taskupdate todowrite toolsearch toolsearchcall
        updateplan viewimage waitagent websearch
    """,
}
_KINDS = {name: kind for kind, names in _NAMES.items() for name in names.split()}
# Of those, the ones that read the file which they are given.
_READERS = frozenset(["cat", "notebookread", "read", "readfile", "readmanyfiles", "viewimage"])
# Members of arguments that name a file, written as the tools are, the surest first; what moves
# or copies one names two.
_PATHS = [
    "filepath",
    "path",
    "notebookpath",
    "absolutepath",
    "targetfile",
    "targetpath",
    "relativepath",
    "filename",
    "file",
    "uri",
    "fileuri",
]
_MOVED = [
    "source",
    "sourcepath",
    "src",
    "oldpath",
    "from",
    "destination",
    "destinationpath",
    "dest",
    "newpath",
    "to",
]
_LISTS = ["files", "paths", "filepaths", "filenames"]
# What these hold is written into a file, and tells of none.
_CONTENTS = [
    "content",
    "contents",
    "filetext",
    "newstring",
    "newstr",
    "oldstring",
    "oldstr",
    "text",
    "data",
    "value",
]
_DEEPEST = 4
_LINES = ("command", "cmd", "script", "source", "input")
_RECIPIENTS = ("subagent_type", "agent_type", "recipient", "to", "target", "channel", "id", "url")

_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): *+(.*\S)", re.MULTILINE)
_PATCH_ALONE = re.compile(
    r"""\s*(?:cd\s+[\w./~-]+\s*&&\s*)?apply_patch\s*<<\s*(['"])(\w+)\1[ \t]*\n"""
    r"(?:(?!\2\s*\n).*\n)*\2\s*"
)
_SHELL = re.compile(r"(?:.*[/\\])?(?:ba|da|z|k)?sh")

# Programs that change nothing, whatever their arguments; others are judged by `_looks`.
_HARMLESS = re.compile("cat|cd|echo|[ef]?grep|head|ls|nl|pwd|stat|tail|true|wc|which")
# Of those, the ones that show the files which they are given; and `sed -n`.
_SHOWN = re.compile(r"\b(?:cat|head|nl|sed|tail|wc)\b")
_HARMLESS_GIT = re.compile("blame|diff|log|ls-files|rev-parse|show|status")
# What else may only look, and the first word of a line where it stands there as it is.
_LOOKING = re.compile(f"{_HARMLESS.pattern}|git|rg|find|sed|date")
_FIRST = re.compile(r"\s*([\w./-]++)(?=\s)")
_SILENCED = re.compile(r"(?:[12]?>|&>)\s?(?:/dev/null|&[12])(?=[\s;|]|$)")
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


def decoded(value: Any) -> Any:
    """The object or list that a JSON text holds; any other value as it is."""
    if type(value) is str and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def effects(
    name: str, arguments: Any, harmless: Collection[str], waits: Collection[str] = ()
) -> list[Effect]:
    """What a call of this tool may have changed, each once; nothing for one that only looks.

    `harmless` and `waits` are the sets of the session's format. The arguments may be of any
    shape; a tool that nobody knows has an effect of kind "other".
    """
    if name in harmless or name in waits:
        return []
    return list(dict.fromkeys(_effects(name, arguments)))


def kind_of(name: str) -> str:
    """What a tool of this name does, in a word: "command", "file", "look"; "" where unknown."""
    return _KINDS.get(_plain(name), "")


def files_read(name: str, arguments: Any) -> list[str]:
    """The files that a call of this tool reads, each once, as they are spelled there.

    A command line tells of those that its programs only look at; words that are no files may be
    among them.
    """
    return list(dict.fromkeys(_read(name, decoded(arguments))))


def folder_of(arguments: Any, cwd: str) -> str:
    """The folder that a call runs in, where the session's is `cwd`."""
    given = decoded(arguments)
    if type(given) is not dict:
        return cwd
    named = next((v for k in ("workdir", "cwd") if type(v := given.get(k)) is str and v), "")
    return located(named, cwd) if named else cwd


def _read(name: str, given: Any) -> Iterator[str]:
    tool = _tool(name)
    if tool in _READERS or (_KINDS.get(tool) == "file" and _is_view(given)):
        yield from _paths(given if type(given) is dict else {}, _DEEPEST)
    elif _KINDS.get(tool) == "command":
        line = _command_line(_line(given))
        for program, *words in _programs(line) if _SHOWN.search(line) else ():
            if _SHOWN.fullmatch(program):
                # What `sed -n` is given first is no file, and nor is `head -n 5` told one.
                files = words[2:] if program == "sed" else words
                counts = program in ("head", "tail")
                yield from (w for w in files if not (w[0:1] in "-+" or (counts and w.isdigit())))


def _effects(name: str, arguments: Any) -> Iterator[Effect]:
    if name.startswith("mcp__"):
        yield Effect("message", name.split("__")[1])
        return
    tool = _tool(name)
    kind = _KINDS.get(tool, "message" if tool.startswith("send") else "other")
    if kind == "other":  # a session may hold many of them
        yield Effect("other", "")
        return
    given = decoded(arguments)
    fields = given if type(given) is dict else {}
    if kind == "file":
        if not _is_view(given):
            yield from _filed(tool, fields)
    elif kind == "patch":
        yield from _patched(_patch(given)) or _filed(tool, fields)
    elif kind == "command":
        yield from _commanded(given)
    elif kind == "keys":
        # Without any it only waits for what the command says.
        if fields.get("chars") != "":
            yield Effect("command", _first(fields, ("chars",)))
    elif kind == "message":
        yield Effect("message", _first(fields, _RECIPIENTS))


def _tool(name: str) -> str:
    return _plain(name.removeprefix("functions."))


def _is_view(given: Any) -> bool:
    """Whether an editor of several commands in one is asked to show a file."""
    return type(given) is dict and given.get("command") == "view"


def _plain(name: str) -> str:
    return re.sub(r"[._-]", "", name.lower())


def _filed(tool: str, fields: dict[str, Any]) -> Iterator[Effect]:
    """The files that the arguments of a tool name, or one that is not known."""
    found = list(_paths(fields, _DEEPEST))
    if tool.startswith(("move", "rename", "copy")):
        found += [v for k, v in fields.items() if _plain(k) in _MOVED and type(v) is str]
    yield from (Effect("file", path) for path in found or [""])


def _paths(fields: dict[str, Any], depth: int) -> Iterator[str]:
    """The file that an object names, and those that what is in it names."""
    own = {_plain(name): value for name, value in fields.items() if value}
    named = (own[name] for name in _PATHS if type(own.get(name)) is str)
    yield from islice(named, 1)
    for name, value in own.items():
        if depth and name not in _CONTENTS:
            for item in value if type(value) is list else [value]:
                if type(item) is dict:
                    yield from _paths(item, depth - 1)
                elif type(item) is str and type(value) is list and name in _LISTS:
                    yield item


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
    given = _line(given)
    if type(given) is list and given[:1] == ["apply_patch"]:
        yield from _patched(_patch(given)) or [Effect("file", "")]
        return
    line = _command_line(given)
    yield from (files := _patched(line))
    if not (files and _PATCH_ALONE.fullmatch(line)) and not _only_looks(line):
        yield Effect("command", line)


def _line(given: Any) -> Any:
    """The member of arguments that holds what a shell was given."""
    return next((given[k] for k in _LINES if given.get(k)), "") if type(given) is dict else given


def _command_line(given: Any) -> str:
    """The line in a text or a list of words, "" where there is none."""
    if type(given) is list and all(type(word) is str for word in given):
        if len(given) > 2 and _SHELL.fullmatch(given[0]) and re.fullmatch(r"-\w*c", given[1]):
            return str(given[2])
        return shlex.join(given)
    return given if type(given) is str else ""


def _only_looks(line: str) -> bool:
    """Whether a command line surely changes nothing; in doubt it does."""
    first = _FIRST.match(line)
    if first and not _LOOKING.fullmatch(first[1]):
        return False  # most lines: cutting one into words takes long
    programs = _programs(line)
    return bool(programs) and all(_looks(*words) for words in programs)


def _programs(line: str) -> list[list[str]]:
    """The programs of a command line with their arguments; none of one that is not plain."""
    if len(line) > _LONG:
        return []
    line = _SILENCED.sub(" ", line)
    if _DOUBTFUL.search(line.replace("&&", ";")):
        return []
    try:
        # Where a quoted text holds a separator, its halves are no shell words.
        return [words for part in _JOINED.split(line) if (words := shlex.split(part))]
    except ValueError:
        return []


def _looks(program: str, *words: str) -> bool:
    """Whether a program with these arguments only looks."""
    if program == "git":
        words = words[words[:1] == ("--no-pager",) :]
        # These write a file or run a program, and git takes them cut short.
        odd = ("--ou", "--ext")
        return bool(words and _HARMLESS_GIT.fullmatch(words[0])) and not _begins(words, odd)
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
    return bool(_HARMLESS.fullmatch(program))


def _begins(words: tuple[str, ...], heads: tuple[str, ...]) -> bool:
    return any(word.startswith(heads) for word in words)
