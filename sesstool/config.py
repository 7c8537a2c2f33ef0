"""The settings: where they may stand, which one counts, and where each came from.

The environment counts before the project's file, that before the user's, that before the
default; an option given to the command counts before all of them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from platformdirs import user_config_path

from sesstool import toml
from sesstool.encryption.keyring import is_secret
from sesstool.errors import ConfigError

PROJECT_FILE = "sesstool.toml"
# A project's file can arrive together with the data: it must not decide these.
_NEVER_IN_PROJECT = frozenset(
    {"write", "key", "keys", "identity", "recipients", "vault", "policy", "plugins"}
)
_BOOLEANS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its name in files, its default (which has its type), and its choices."""

    name: str
    default: Any
    meaning: str
    choices: tuple[str, ...] = ()

    @property
    def parameter(self) -> str:
        """The name of the command's parameter."""
        return self.name.replace("-", "_")

    @property
    def variable(self) -> str:
        """The name of the environment variable."""
        return f"SESSTOOL_{self.parameter.upper()}"


@dataclass(frozen=True, slots=True)
class Value:
    """The value of a setting and its origin: a file, an environment variable, or "default"."""

    value: str | bool | tuple[str, ...] | dict[str, str]
    origin: str


THEMES = ("sesstool-dark", "sesstool-light", "high-contrast", "ansi-dark", "ansi-light")
SETTINGS = (
    Setting("select", (), "rule codes, or beginnings of codes, to check; all if empty"),
    Setting("ignore", (), "rule codes, or beginnings of codes, not to check"),
    Setting(
        "fail-on",
        "warning",
        "the least severity that makes validate exit 1",
        ("error", "warning", "information"),
    ),
    Setting(
        "output-format",
        "text",
        "how findings are shown",
        ("text", "concise", "json", "jsonl", "github", "sarif"),
    ),
    Setting("color", "auto", "when to use colour", ("auto", "always", "never")),
    Setting("thorough", default=False, meaning="run the slow checks too"),
    Setting("recipients", (), "whom encrypt and rekey encrypt for where no option says"),
    Setting("theme", "sesstool-dark", "the colours of browse and replay", THEMES),
    Setting("ascii", default=False, meaning="signs of browse and replay in ASCII alone"),
    Setting("mouse", default=True, meaning="whether browse and replay take the mouse"),
    Setting("reduced-motion", default=False, meaning="nothing moves by itself in browse"),
    Setting("keys", {}, "keys of browse and replay by the ids that F2 shows in the help"),
    Setting("policy", "", "the retention policy; if empty, `retention.toml` beside your settings"),
)
_BY_NAME = {setting.name: setting for setting in SETTINGS}


def load(
    cwd: Path,
    environment: Mapping[str, str],
    *,
    explicit: Path | None = None,
    isolated: bool = False,
) -> dict[str, Value]:
    """The value of every setting, by name. Raises ConfigError.

    `explicit` is a file to read instead of the project's and the user's; `isolated` reads
    no file at all.
    """
    values = {s.name: Value(s.default, "default") for s in SETTINGS}
    for path in () if isolated else files(cwd, explicit):
        for name, value in read(path).items():
            values[name] = Value(value, str(path))
    for setting in SETTINGS:
        if setting.variable in environment:
            text = environment[setting.variable]
            values[setting.name] = Value(_from_text(setting, text), setting.variable)
    return values


def files(cwd: Path, explicit: Path | None = None) -> list[Path]:
    """The files that are read: the user's before the project's, which counts more.

    Raises ConfigError where a pyproject.toml on the way is no TOML.
    """
    if explicit is not None:
        return [explicit]
    project = _project_file(cwd)
    user = user_config_path("sesstool") / "config.toml"
    try:
        has_user = user.is_file()
    except OSError as error:  # its folder cannot be searched
        raise _unreadable(user, error) from error
    return [*([user] if has_user else []), *([project] if project else [])]


def read(path: Path) -> dict[str, Any]:
    """The settings in a file, each checked. Raises ConfigError, which names file, line and key."""
    project = path.name in {PROJECT_FILE, "pyproject.toml"}
    data = _bytes(path)
    values = {}
    for name, value in _table(path, data).items():
        try:
            values[name] = _checked(name, value, project=project)
        except ConfigError as error:
            line = toml.line_of(data, (*_within(path), name))
            raise ConfigError(f"{path}:{line}: {error.message}", hint=error.hint) from error
    return values


def _project_file(cwd: Path) -> Path | None:
    """The nearest file upwards that has settings for sesstool."""
    for folder in (cwd, *cwd.parents):
        # Not Path.is_file, which raises where a folder cannot be searched: it may be anybody's.
        if os.path.isfile(folder / PROJECT_FILE):  # noqa: PTH113 - Path.is_file may raise
            return folder / PROJECT_FILE
        other = folder / "pyproject.toml"
        if os.path.isfile(other) and _table(other, _bytes(other)):  # noqa: PTH113 - Path.is_file may raise
            return other
    return None


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from error


def _within(path: Path) -> tuple[str, ...]:
    """The table that the settings stand in."""
    return ("tool", "sesstool") if path.name == "pyproject.toml" else ()


def _table(path: Path, data: bytes) -> dict[str, Any]:
    """The table with the settings, unchecked."""
    document = toml.parse(data, str(path))
    if path.name != "pyproject.toml":
        return document
    tool = document.get("tool")
    table = tool.get("sesstool", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        line = toml.line_of(data, _within(path))
        raise ConfigError(f"{path}:{line}: tool.sesstool is no table")
    return table


def _unreadable(path: Path, error: OSError) -> ConfigError:
    reason = (error.strerror or type(error).__name__).lower()
    return ConfigError(f"cannot read {path}: {reason}", hint="--isolated reads no settings file")


def _checked(name: str, value: Any, *, project: bool) -> Any:
    if project and name in _NEVER_IN_PROJECT:
        raise ConfigError(
            f"{name} may not be set in a project's file, which can come with the data",
            hint="give it as an option of the command",
        )
    setting = _BY_NAME.get(name)
    if setting is None:
        import difflib  # noqa: PLC0415 - for this message alone

        near = difflib.get_close_matches(name, _BY_NAME, n=1)
        hint = f"did you mean {near[0]}?" if near else f"settings are: {', '.join(_BY_NAME)}"
        raise ConfigError(f"unknown setting {name}", hint=hint)
    if isinstance(setting.default, tuple):
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return _public(tuple(value), name)
        raise ConfigError(f"{name} must be a list of strings")
    if isinstance(setting.default, dict):
        if isinstance(value, dict) and all(isinstance(item, str) for item in value.values()):
            return value
        raise ConfigError(f"{name} must be a table of strings")
    if type(value) is not type(setting.default):
        kind = "true or false" if isinstance(setting.default, bool) else "a string"
        raise ConfigError(f"{name} must be {kind}")
    return _chosen(setting, value, name)


def _public(items: tuple[str, ...], where: str) -> tuple[str, ...]:
    """The items, which are shown, and so must be no secret keys. Raises ConfigError."""
    if any(map(is_secret, items)):
        raise ConfigError(
            f"{where} holds a secret key",
            hint="take it out, keep it in a file of its own, and give the recipient: age1...",
        )
    return items


def _chosen(setting: Setting, value: Any, where: str) -> Any:
    if setting.choices and value not in setting.choices:
        raise ConfigError(f"{where} must be one of {', '.join(setting.choices)}")
    return value


def _from_text(setting: Setting, text: str) -> Any:
    """The value that an environment variable gives; a list has commas."""
    if isinstance(setting.default, tuple):
        items = tuple(item.strip() for item in text.split(",") if item.strip())
        return _public(items, setting.variable)
    if isinstance(setting.default, dict):
        pairs = [item.partition("=") for item in text.split(",") if item.strip()]
        if not all(equals for _, equals, _ in pairs):
            raise ConfigError(f"{setting.variable} must be NAME=VALUE, with commas between")
        return {name.strip(): item.strip() for name, _, item in pairs}
    if isinstance(setting.default, bool):
        if text.lower() not in _BOOLEANS:
            raise ConfigError(f"{setting.variable} must be true or false")
        return _BOOLEANS[text.lower()]
    return _chosen(setting, text, setting.variable)
