"""What agents delete by themselves: after what time, by which setting, in which file.

A setting that cannot be read is told, and nothing is guessed in its place. Where the facts come
from stands at each agent.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

from sesstool.records.source import read_file

_START = "whenever it starts"
_CLAUDE_DAYS = 30
_CLAUDE_SWEEPS = (
    "projects/*/*.jsonl",
    "subagents and tool results",
    "file-history",
    "image-cache",
    "paste-cache",
    "plans",
    "tasks",
    "debug",
    "session-env",
    "shell-snapshots",
    "backups",
)
_NOT_SEEN = (
    "not seen here: settings that device management gives, and the options --settings and "
    "--setting-sources, without which the user's own do not count"
)
_ANY_PROJECT = "settings of one project count for all sessions whenever it is started there"
# Text in quotes stays; a comment goes.
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*+")|//[^\n]*+|/\*.*?\*/', re.DOTALL)
_AGE = re.compile(r"([0-9]{1,9})([hdwm])")
_HOURS = {"h": 1, "d": 24, "w": 7 * 24, "m": 30 * 24}


@dataclass(frozen=True, slots=True)
class Expiry:
    """What an agent deletes of its sessions by itself.

    `agent` is the name of the format, or of the agent where there is none. `after` is None where
    nothing is deleted by age, and where `problem` says why that is not known. `when` says by what
    time, and at what moment. `origin` is the file that has the `setting`, "" where none has it.
    `edit` is what to write into `file`, %d for the days; both are empty where there is no setting.
    """

    agent: str
    title: str
    home: Path
    after: timedelta | None = None
    when: str = ""
    setting: str = ""
    origin: str = ""
    file: Path | None = None
    edit: str = ""
    sweeps: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    problem: str = ""


class _Unknown(Exception):  # noqa: N818 - it becomes the problem of a Expiry
    """Why a setting is not known: a file, and what is wrong with it."""


class _Value(NamedTuple):
    """A setting, and the file that has it; None for the agent's default."""

    value: Any
    file: Path | None = None


def expiries(here: Path) -> list[Expiry]:
    """What each agent deletes that has a home here; `here` is the current folder."""
    found = []
    for expiry, settled in _AGENTS:
        base = expiry()
        if not os.path.isdir(base.home):  # noqa: PTH112 - Path.is_dir may raise
            continue
        try:
            found.append(settled(base, here))
        except _Unknown as unknown:
            found.append(replace(base, problem=str(unknown)))
    return found


def system_folder(agent: str) -> Path:
    """Where an organization puts the settings of an agent: "claude-code" or "gemini-cli"."""
    if sys.platform == "darwin":
        names = {"claude-code": "ClaudeCode", "gemini-cli": "GeminiCli"}
        return Path("/Library/Application Support", names[agent])
    if sys.platform == "win32":
        places = {"claude-code": "C:/Program Files/ClaudeCode"}
        return Path(places.get(agent, "C:/ProgramData/gemini-cli"))
    return Path("/etc", agent)


def _claude_code() -> Expiry:
    """See code.claude.com/docs/en/settings and /claude-directory."""
    home = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    return Expiry(
        "claude-code",
        "Claude Code",
        home,
        when=f"by the time of the file, {_START}",
        setting="cleanupPeriodDays",
        file=home / "settings.json",
        edit='"cleanupPeriodDays": %d',
        sweeps=_CLAUDE_SWEEPS,
        notes=(_NOT_SEEN,),
    )


def _claude_code_days(expiry: Expiry, here: Path) -> Expiry:
    """The shortest period that may count: of the managed settings, else of any project.

    anthropics/claude-code#90148: the value of the project that was started last counts for the
    sessions of all. #53662, #38555: of managed settings the first source counts, its drop-ins in
    the order of their names.
    """
    for files in _claude_code_managed(expiry.home):
        values = [value for file in files if (value := _days(file))]
        if values:
            return _shortest(expiry, [values[-1]])
    own = _days(expiry.home / "settings.json") or _Value(_CLAUDE_DAYS)
    values = [own]
    for folder in dict.fromkeys([here, *_claude_code_projects(expiry.home)]):
        local, shared = (folder / ".claude" / f"settings{end}.json" for end in (".local", ""))
        values.append(_days(local) or _days(shared) or own)
    return _shortest(expiry, values)


def _claude_code_managed(home: Path) -> Iterator[list[Path]]:
    """The files of each source of managed settings, what counts more after what counts less."""
    yield [home / "remote-settings.json"]
    folder = system_folder("claude-code")
    yield [
        folder / "managed-settings.json",
        *sorted((folder / "managed-settings.d").glob("*.json")),
    ]


def _claude_code_projects(home: Path) -> list[Path]:
    """The folders that Claude Code was started in, as it keeps them. Raises _Unknown."""
    beside = home if os.environ.get("CLAUDE_CONFIG_DIR") else home.parent
    projects = _json(beside / ".claude.json").get("projects")
    folders = map(Path, projects if isinstance(projects, dict) else ())
    return [folder for folder in folders if folder.is_absolute()]


def _days(file: Path) -> _Value | None:
    """The cleanupPeriodDays of a settings file, if it has one. Raises _Unknown.

    anthropics/claude-code#51779: 0 is refused since 2.1.89; #23710: before that nothing was kept.
    """
    days = _json(file).get("cleanupPeriodDays")
    if days is None:
        return None
    if type(days) not in (int, float) or not days >= 1:
        raise _Unknown(f"{file}: cleanupPeriodDays is no number of 1 or more, and is refused")
    return _Value(days, file)


def _shortest(expiry: Expiry, values: list[_Value]) -> Expiry:
    days, file = min(values, key=lambda one: one.value)
    several = len({one.value for one in values}) > 1
    return replace(
        expiry,
        after=timedelta(days=min(days, timedelta.max.days)),
        origin=str(file or ""),
        file=file or expiry.file,
        notes=((_ANY_PROJECT,) if several else ()) + expiry.notes,
    )


def _codex() -> Expiry:
    """Sessions are never deleted (openai/codex#6015, #37435), and there is no setting for it."""
    home = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")
    return Expiry("codex", "Codex", home)


def _codex_history(expiry: Expiry, _here: Path) -> Expiry:
    """What becomes of history.jsonl, and of old sessions; see developers.openai.com/codex."""
    file = expiry.home / "config.toml"
    try:
        import tomllib  # noqa: PLC0415 - few have such a file

        history = tomllib.loads(_text(file)).get("history")
    except (ValueError, RecursionError) as error:
        raise _Unknown(f"{file} is no TOML") from error
    history = history if isinstance(history, dict) else {}
    size, kept = history.get("max_bytes"), history.get("persistence")
    if kept == "none":
        prompts = "no prompts are kept in history.jsonl (history.persistence)"
    elif type(size) is int:
        prompts = (
            f"the oldest prompts leave history.jsonl beyond {size:,} bytes (history.max_bytes)"
        )
    else:
        prompts = "the prompts in history.jsonl are kept"
    packed = "where local_thread_store_compression is on, sessions of 7 days become .jsonl.zst"
    return replace(expiry, notes=(prompts, packed))


def _gemini() -> Expiry:
    """See geminicli.com/docs/reference/configuration, and google-gemini/gemini-cli#27268."""
    home = Path(os.environ.get("GEMINI_CLI_HOME") or Path.home()) / ".gemini"
    return Expiry(
        "gemini",
        "Gemini CLI",
        home,
        when=f"by the last update of the session, {_START}",
        setting="general.sessionRetention",
        file=home / "settings.json",
        edit='"general": {"sessionRetention": {"maxAge": "%dd"}}',
        sweeps=("tmp/*/chats", "tmp/*/tool-outputs", "tmp/*/logs"),
        notes=("not seen here: the settings of a project, which count for its own sessions",),
    )


def _gemini_age(expiry: Expiry, _here: Path) -> Expiry:
    """The period: 30 days unless it is set, since google-gemini/gemini-cli#18854."""
    folder = system_folder("gemini-cli")
    places = [
        Path(os.environ.get("GEMINI_CLI_SYSTEM_SETTINGS_PATH") or folder / "settings.json"),
        expiry.home / "settings.json",
        Path(os.environ.get("GEMINI_CLI_SYSTEM_DEFAULTS_PATH") or folder / "system-defaults.json"),
    ]
    expiry = _retention(expiry, places, _Value(value=True), _Value("30d"))
    most = _member(places, "maxCount")
    if expiry.after is not None and most is not None and most.value is not None:
        least = _age(_member(places, "minRetention") or _Value("1d"), "minRetention")
        note = "maxCount is set: of more sessions the oldest go, whatever their age above that"
        return replace(
            expiry,
            after=min(least, expiry.after),
            origin=str(most.file),
            file=most.file,
            edit='take "maxCount" out, and write "maxAge": "%dd"',
            notes=(note, *expiry.notes),
        )
    return expiry


def _qwen() -> Expiry:
    """See qwenlm.github.io/qwen-code-docs, Data and privacy."""
    home = Path.home() / ".qwen"
    return replace(
        _gemini(),
        agent="qwen",
        title="Qwen Code",
        home=home,
        when=f"by age, {_START}",
        file=home / "settings.json",
        sweeps=("projects/*/chats", "tool outputs"),
    )


def _qwen_age(expiry: Expiry, _here: Path) -> Expiry:
    """The period, if one is set: it is off by default."""
    return _retention(expiry, [expiry.home / "settings.json"], _Value(value=False), None)


def _retention(expiry: Expiry, files: list[Path], enabled: _Value, age: _Value | None) -> Expiry:
    """What general.sessionRetention says; the first of the files that has a member counts."""
    on = _member(files, "enabled") or enabled
    if on.value is False:
        return replace(expiry, origin=str(on.file or ""))
    if on.value is not True:
        raise _Unknown(f"{on.file}: {expiry.setting}.enabled is neither true nor false")
    age = _member(files, "maxAge") or age
    if age is None:
        raise _Unknown(f"{on.file}: {expiry.setting} is enabled, and has no maxAge")
    return replace(
        expiry,
        after=_age(age, "maxAge"),
        origin=str(age.file or ""),
        file=age.file or expiry.file,
    )


def _member(files: Iterable[Path], name: str) -> _Value | None:
    """A member of general.sessionRetention. Raises _Unknown."""
    for file in files:
        general = _json(file).get("general")
        table = general.get("sessionRetention") if isinstance(general, dict) else None
        if isinstance(table, dict) and name in table:
            return _Value(table[name], file)
    return None


def _age(age: _Value, name: str) -> timedelta:
    found = _AGE.fullmatch(age.value) if isinstance(age.value, str) else None
    if found is None or not int(found[1]):
        raise _Unknown(f"{age.file}: {name} is no duration such as 30d")
    return timedelta(days=min(int(found[1]) * _HOURS[found[2]] / 24, timedelta.max.days))


def _pi() -> Expiry:
    """Nothing is deleted: there is no setting for it, and no code (pi 0.74)."""
    agent = os.environ.get("PI_CODING_AGENT_DIR")
    return Expiry("pi", "pi", Path(agent or Path.home() / ".pi" / "agent"))


def _openclaw() -> Expiry:
    """See docs.openclaw.ai, sessions and cron jobs: its gateway does it, by openclaw.json."""
    return Expiry("pi", "OpenClaw", Path.home() / ".openclaw")


def _openclaw_unknown(expiry: Expiry, _here: Path) -> Expiry:
    file = expiry.home / "openclaw.json"
    raise _Unknown(f"{file}: its session.maintenance and cron.sessionRetention are not read")


def _opencode() -> Expiry:
    """Nothing is deleted: anomalyco/opencode#4980; #34875 and #40855 ask for it."""
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return Expiry("opencode", "OpenCode", data / "opencode")


def _as_it_is(expiry: Expiry, _here: Path) -> Expiry:
    return expiry


_AGENTS: tuple[tuple[Callable[[], Expiry], Callable[[Expiry, Path], Expiry]], ...] = (
    (_claude_code, _claude_code_days),
    (_codex, _codex_history),
    (_pi, _as_it_is),
    (_openclaw, _openclaw_unknown),
    (_gemini, _gemini_age),
    (_qwen, _qwen_age),
    (_opencode, _as_it_is),
)


def _json(file: Path) -> dict[str, Any]:
    """The object in a settings file, {} where there is no file. Raises _Unknown."""
    text = _text(file)
    try:
        value = json.loads(_COMMENT.sub(r"\1", text)) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise _Unknown(f"{file} is no JSON") from error
    if not isinstance(value, dict):
        raise _Unknown(f"{file} holds no object")
    return value


def _text(file: Path) -> str:
    """What a file holds, "" where there is none. Raises _Unknown."""
    try:
        return read_file(file).decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise _Unknown(f"{file} cannot be read: {reason}") from error
    except ValueError as error:  # no UTF-8, or a NUL in the path
        raise _Unknown(f"{file} is no text") from error
