"""What is remembered of single events: short lines, safe to show.

Each function is pure: it says the same of the same event whenever it is read again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from sesstool.formats.base import Format
from sesstool.formats.events import Message, ToolCall, ToolResult
from sesstool.formats.terms import ASKING
from sesstool.formats.values import blocks, mapping, text
from sesstool.formats.wording import INJECTED, MARK
from sesstool.model.effects import Effect, decoded, effects
from sesstool.model.passages import named
from sesstool.model.units import flat
from sesstool.text import safe

GOAL, LONG = 400, 160
"""The most characters of a goal, and of any other text."""
_NAME = 60
TODOS = 20
"""The most to-dos of one list."""

State = Literal["ok", "running", "failed", "refused"]
Role = Literal["effect", "check", "ask", "todo", "task", "look"]
# How far texts are looked into, in characters.
_HEAD, _FRONT = 4096, 400
# A result larger than this is not decoded as JSON.
_DECODED = 1 << 20
_ASKING = frozenset(re.sub(r"[._-]", "", name.lower()) for name in ASKING) | {"exitplanmode"}
TASKS = ("taskcreate", "taskupdate")
_PLANS = frozenset({"updateplan", "setplan", "managetodolist", "updatetodolist"})
# Members of a call's arguments that tell what it is about, the best first.
_ABOUT = (
    *("command", "cmd", "file_path", "path", "filename", "pattern", "query", "url", "name"),
    *("title", "subject", "description", "question", "prompt", "message"),
)

# Programs that test, lint, type-check or build, behind what may stand before a program.
_BEFORE = r"""
    (?:\w++=\S*+\s++ | (?:uv|poetry|pdm|hatch|pipenv|rye)\s++run\s++ | npx\s++
    | sudo\s++ | time\s++ | timeout\s++\S++\s++ | bundle\s++exec\s++ | python[\d.]*+\s++-m\s++
    | (?>[\w.~/-]*/)(?=[\w-]) )*+
"""
_PROGRAMS = r"""
    pytest | py\.test | tox | nox | unittest | ruff | flake8 | pylint | mypy | pyright
    | lint-imports
    | (?:black|isort|prettier)\b.*\s--?check
    | (?:npm|pnpm|yarn|bun|deno)\s++(?:run\s++)?(?:test|lint|build|check|typecheck|type-check|ci)
    | tsc | eslint | biome | vitest | jest | mocha | playwright\s++test | node\s++--test
    | cargo\s++(?:\+\S++\s++)?(?:test|build|check|clippy|nextest|fmt)
    | go\s++(?:test|build|vet) | golangci-lint | cmake\s++--build | ninja | ctest
    | make(?=\s*+$) | make\s++(?:-\S++\s++)*+(?:all|build|check|test|lint|ci)
    | bazel\s++(?:test|build) | gradlew?\s.*(?:test|build|check|lint|assemble)
    | mvnw?\s.*(?:test|verify|package|compile|install) | dotnet\s++(?:test|build)
    | swift\s++(?:test|build) | xcodebuild | mix\s++test | rspec | rake\s++test | rubocop | phpunit
    | composer\s++test | shellcheck
"""
_CHECK = re.compile(rf"\s*+{_BEFORE}(?:{_PROGRAMS})(?![\w-])", re.VERBOSE)
_JOINED = re.compile(r"&&|\|\||[;|\n]")
_HEREDOC = re.compile(r"<<-?\s*['\"]?\w+['\"]?(?=.*\n)")
_TRIMMED = re.compile(r"\s*(?:2>&1|\|\s*(?:tail|head|cat|grep)\b[^|;&]*)\s*$")

_EXIT = re.compile(r"(?:exit code|exited with code|exit status)\W{0,3}(-?\d+)", re.IGNORECASE)
_RUNNING = re.compile(r"(?:process|command) (?:is )?running (?:with|in)", re.IGNORECASE)
# How programs that verify end where something is wrong.
_COUNTED = re.compile(r"(?<![\d.])[1-9]\d* (?:failed|failures?|errors?)\b", re.IGNORECASE)
_TRACEBACK = "Traceback (most recent call last)"
_ERROR = re.compile(r"\W{0,3}(?:error\b|unsupported call\b|traceback \(most)", re.IGNORECASE)
_REFUSED = re.compile(
    r"\W{0,3}(?:the user (?:doesn't want|does not want|rejected|declined|denied)"
    r"|(?:\w+ ){0,3}(?:rejected|declined|denied) by (?:the )?user"
    r"|user (?:rejected|declined|denied))",
    re.IGNORECASE,
)
_SAID = re.compile(r"the user said:\s*(.+)", re.DOTALL)
_ANSWERED = re.compile(r"User has answered your questions?: *(.*?)(?:\. You can now continue.*)?$")
_FRAME = re.compile(r"</?tool_use_error>|^(?:Error: )?Exit code \d+\s*$", re.MULTILINE)
_OUTPUT = re.compile(r"^Output:\s*\n", re.MULTILINE)
_SENTENCE = re.compile(r".+?[.!?…](?=\s|$)|.+$")
_COMMAND = re.compile(r"<command-name>\s*([^<]+?)\s*</command-name>")
_ARGUMENTS = re.compile(r"<command-args>\s*([^<]+?)\s*</command-args>")
_BOX = re.compile(r"^[ \t]*+(?:[-*]|\d{1,4}\.)[ \t]*+\[(.)\][ \t]*+(.+)$", re.MULTILINE)
# Transitions that tell of more than the next step.
_KEPT_ON = ("stop_hook_blocking", "model_recovery_failed", "unrecoverable_error")
_CREATED = re.compile(r"#(\w{1,20})")
_ENDED = frozenset({"completed", "complete", "done", "cancelled", "canceled", "deleted", "skipped"})


class Called(NamedTuple):
    """What is remembered of a call: its tool, what it is about, and what kind of call it is.

    `role` is "effect" where it may change the world, "check" where it tests, lints or builds, "ask"
    where it asks a person, "todo" and "task" where it notes what is to do, else "look". `more` are
    the to-dos of a list, or the id, state and words of a task.
    """

    tool: str
    target: str
    role: Role
    more: tuple[str, ...] = ()


class Outcome(NamedTuple):
    """What is remembered of a result.

    `state` is "ok", "running" where it went on in the background, "failed", or "refused" where a
    person said no. `first` and `last` are its first and last line with something in them.
    """

    state: State
    first: str
    last: str


def one_line(words: str, most: int = LONG) -> str:
    """The beginning of a text in one line, safe to show, of at most so many characters."""
    words = safe(" ".join(words[: 8 * most].split()))
    return words if len(words) <= most else words[: most - 1] + "…"


def goal(event: Message) -> str:
    """What a person asked for, "" where the agent itself put the words in."""
    words = flat(event.content, named)
    if not INJECTED.match(words):
        return "" if words.startswith(("[Request interrupted", MARK)) else one_line(words, GOAL)
    name, given = _COMMAND.search(words[:_HEAD]), _ARGUMENTS.search(words[: 2 * _HEAD])
    return one_line(f"{name[1]} {given[1]}", GOAL) if name and given else ""


def conclusion(event: Message) -> str:
    """How a message of the model begins: its first sentences, until they say something."""
    content = event.content
    if type(content) is list:
        held = [mapping(b) for b in content]
        content = "\n".join(t for b in held if type(t := b.get("text")) is str)
    if type(content) is not str:
        return ""
    said, head = "", content[:_HEAD]
    prose = head.partition("```")[0]  # words, where any stand before code
    for found in _SENTENCE.finditer(" ".join((prose if prose.strip() else head).split())):
        said += found[0] + " "
        if len(said) > LONG // 4:
            break
    return one_line(said)


def called(event: ToolCall, form: Format) -> Called:
    """What is remembered of a call."""
    name, given = event.name, decoded(event.arguments)
    tool, plain = one_line(name, _NAME), re.sub(r"[._-]", "", name.lower())
    fields = mapping(given)
    if name in form.waits or plain in _ASKING:
        return Called(tool, _question(fields), "ask")
    if listed := todos(name, given):
        return Called(tool, "", "todo", _open_todos(listed))
    if plain in TASKS:
        number = text(fields.get("taskId")) or str(fields.get("taskId", ""))
        words = text(fields.get("subject")) or text(fields.get("description"))
        more = (one_line(number, 20), one_line(text(fields.get("status")), 20), one_line(words))
        return Called(tool, more[2], "task", more)
    found = effects(name, given, form.harmless, form.waits)
    lines = [e.target for e in found if e.kind == "command"]
    if lines and is_check(lines[0]):
        return Called(tool, one_line(_trimmed(lines[0])), "check")
    return Called(tool, _target(found, given), "effect" if found else "look")


def _target(found: list[Effect], given: Any) -> str:
    """What a call is about: what it changed, else the best of its arguments."""
    targets = list(dict.fromkeys(effect.target for effect in found if effect.target))
    if targets:
        more = f" and {len(targets) - 3} more" if len(targets) > 3 else ""
        return one_line(", ".join(_short(target) for target in targets[:3]) + more)
    if type(given) is str:
        return one_line(given)
    fields = mapping(given)
    told = [v for key in _ABOUT if type(v := fields.get(key)) is str and v]
    told += [v for v in fields.values() if type(v) is str and v]
    return one_line(told[0]) if told else ""


def _short(target: str) -> str:
    """A path, or a command line without the text that it writes."""
    if found := _HEREDOC.search(target[:_HEAD]):
        return target[: found.end()][:LONG] + " …"
    return target[: 2 * LONG]


def is_check(line: str) -> bool:
    """Whether a command line tests, lints, type-checks or builds."""
    return any(_CHECK.match(part) for part in _JOINED.split(line[:_HEAD]))


def _trimmed(line: str) -> str:
    """The line without what only cuts its output."""
    line = " ".join(line[:_HEAD].split())
    while (shorter := _TRIMMED.sub("", line)) != line:
        line = shorter
    return line


def _question(fields: dict[str, Any]) -> str:
    """What a person is asked."""
    asked = [text(mapping(q).get("question")) for q in blocks(fields.get("questions"))]
    if any(asked):
        return one_line(" / ".join(filter(None, asked)))
    plan = text(fields.get("plan")) or text(fields.get("plan_content"))
    if plan:
        return one_line("the plan: " + plan.lstrip("# \n").partition("\n")[0])
    return _target([], fields)


def todos(name: str, given: Any) -> list[tuple[str, str]] | None:
    """The states and words of the to-dos that a call notes, None where it is no such call."""
    plain = re.sub(r"[._-]", "", name.lower())
    if plain in _PLANS or (plain.startswith(("todo", "writetodo")) and "read" not in plain):
        return list(_todos(mapping(given)))
    return None


def _todos(fields: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The states and words of the to-dos in a call's arguments."""
    for given in fields.values():
        value = decoded(given)
        if type(value) is str:
            boxes = list(_BOX.finditer(value[: 16 * _HEAD]))
            if boxes:
                yield from (("done" if box[1] in "xX" else "", box[2]) for box in boxes)
                return
        elif type(value) is list and any(type(item) is dict for item in value):
            for item in map(mapping, value):
                keys = ("content", "step", "title", "text", "task", "subject", "description")
                words = next((w for key in keys if (w := text(item.get(key)))), "")
                ended = item.get("done") is True or item.get("completed") is True
                if words:
                    yield "done" if ended else text(item.get("status")), words
            return


def _open_todos(listed: list[tuple[str, str]]) -> tuple[str, ...]:
    """How many of a list are done, and those that are not, with the state that is told."""
    rest = [(state, words) for state, words in listed if not is_ended(state)]
    head = f"{len(listed) - len(rest)} of {len(listed)} done"
    if len(rest) > TODOS:
        head += f", {len(rest) - TODOS} more to do"
    return head, *(todo(state, words) for state, words in rest[:TODOS])


def todo(state: str, words: str) -> str:
    """A to-do with its state, where that is more than that it waits."""
    state = state.lower().replace("_", " ").replace("-", " ")
    waits = state in ("", "pending", "todo", "not started", "open")
    return one_line(words if waits else f"{words} ({state[:20]})")


def is_ended(state: str) -> bool:
    """Whether a to-do of this state needs nothing more."""
    return state.lower() in _ENDED


def outcome(call: Called, event: ToolResult, form: Format) -> Outcome:
    """What is remembered of a result; its lines only where they are of use.

    Of what was answered `first` is the answer, of a new task its id.
    """
    failed, words = _unpacked(flat(event.content, named))
    head = words[:_HEAD]
    if _REFUSED.match(head):
        said = _SAID.search(head)
        return Outcome("refused", _first(said[1]) if said else "", "")
    exited = _EXIT.search(head[:_FRONT])
    # Those whose results have no member that tells of an error.
    flagless = form.provider in ("openai-chat", "openai-responses")
    failed = failed or event.error or bool(exited and int(exited[1][:9]))
    state: State = "running" if _RUNNING.search(head[:_FRONT]) else "ok"
    if failed or (flagless and _ERROR.match(head)):
        state = "failed"
    if state != "failed" and call.role in ("effect", "look", "todo"):
        return Outcome(state, "", "")
    wanted = {"ask": _ANSWERED, "task": _CREATED}.get(call.role)
    if wanted and state == "ok" and (found := wanted.search(head)):
        return Outcome(state, one_line(found[1]), "")
    if framed := _OUTPUT.search(head):
        words = words[framed.end() :]
    last = _first("\n".join(reversed(_end(words))))
    if state == "ok" and call.role == "check" and _COUNTED.search(last):
        state = "failed"  # behind a pipe the exit code is that of another program
    return Outcome(state, _first(words), last)


def _end(words: str) -> list[str]:
    """The last lines of a text."""
    return words[-_HEAD:].strip().splitlines()


def _first(words: str) -> str:
    """The first line of a text with something in it, without what frames errors."""
    head = words[:_HEAD]
    if head.lstrip().startswith(_TRACEBACK):
        return one_line(_end(words)[-1])
    for line in _FRAME.sub("", head).splitlines():
        if line.strip():
            return one_line(line)
    return ""


def _unpacked(words: str) -> tuple[bool, str]:
    """Whether a result that is JSON tells of a failure, and the text that it holds."""
    if words[:1] != "{" or len(words) > _DECODED:
        return False, words
    held = decoded(words)
    if type(held) is not dict:
        return False, words
    code = mapping(held.get("metadata")).get("exit_code", held.get("exit_code"))
    error = held.get("error")
    failed = (
        (type(code) is int and code != 0)
        or text(held.get("status")).lower() in ("error", "failed", "failure")
        or held.get("success") is False
        or held.get("ok") is False
        or bool(error)
    )
    said = [text(mapping(error).get("message")) or text(error)] if failed else []
    said += [text(held.get(key)) for key in ("output", "text", "stdout", "message", "content")]
    return failed, next(filter(None, said), words)


PHASES = ("requested", "started", "completed", "failed")
"""How far a call got, where a format tells."""


def phase(value: dict[str, Any], form: Format) -> tuple[str, str]:
    """The call that a record tells the life of, and how far it got; "" for none."""
    if form.name != "mycodeagent" or value.get("event_type") != "tool_lifecycle":
        return "", ""
    payload = mapping(value.get("payload"))
    told = text(payload.get("status"))
    return text(payload.get("tool_call_id")), told if told in PHASES else ""


def base(value: dict[str, Any], form: Format) -> str:
    """The session whose own file this one goes on from, by its first record; "" for none."""
    origin = form.origin(value)
    return one_line(origin.session) if origin is not None and origin.mode == "reference" else ""


def ending(value: dict[str, Any], form: Format) -> str:
    """Why a run ended, or was kept from ending, where a record tells; "" for all others."""
    if form.name != "mycodeagent":
        return ""
    kind, payload = value.get("event_type"), mapping(value.get("payload"))
    reason = text(payload.get("reason"))
    if kind == "terminal" or (kind == "state_transition" and reason in _KEPT_ON):
        return one_line(reason.replace("_", " "))
    return ""
