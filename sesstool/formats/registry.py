"""The table of formats, and which of them a file is.

Detection looks at records from all over the head of a file, never at the first line alone:
headers are what damage takes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sesstool.errors import NotASessionError, UsageError
from sesstool.formats.anthropic_messages import AnthropicMessages
from sesstool.formats.astorlm import AstorLM
from sesstool.formats.base import Format
from sesstool.formats.claude_code import ClaudeCode
from sesstool.formats.claude_history import ClaudeHistory
from sesstool.formats.codex import Codex
from sesstool.formats.copilot_cli import CopilotCLI
from sesstool.formats.cursor import Cursor
from sesstool.formats.droid import Droid
from sesstool.formats.gemini import Gemini, is_document
from sesstool.formats.goose import Goose
from sesstool.formats.grok import Grok
from sesstool.formats.kimi import Kimi
from sesstool.formats.mycodeagent import MyCodeAgent
from sesstool.formats.openai_agents import OpenAIAgents
from sesstool.formats.openai_chat import OpenAIChat
from sesstool.formats.openai_responses import OpenAIResponses
from sesstool.formats.opencode import OpenCode
from sesstool.formats.others import NAMED
from sesstool.formats.pi import Pi
from sesstool.formats.plugins import plugged
from sesstool.formats.qwen import Qwen
from sesstool.records.source import SNAPSHOT

# Of two that are as likely, the first is taken.
_OWN: tuple[Format, ...] = (
    ClaudeCode(),
    Codex(),
    MyCodeAgent(),
    AstorLM(),
    Goose(),
    OpenAIChat(),
    AnthropicMessages(),
    OpenAIResponses(),
    Pi(),
    Qwen(),
    Kimi(),
    Droid(),
    Grok(),
    Cursor(),
    OpenCode(),
    OpenAIAgents(),
    ClaudeHistory(),
    CopilotCLI(),
    Gemini(),
    *NAMED,
)
_PLUGGED = plugged({form.name for form in _OWN})
FORMATS: tuple[Format, ...] = (*_OWN, *_PLUGGED)
"""Those of sesstool, and behind them those of plug-ins."""
_BY_NAME = {form.name: form for form in FORMATS}
TARGETS = tuple(form.name for form in FORMATS if form.scribe is not None)
"""The names of those that a session can be converted to."""
ENOUGH = 50
"""Per cent of the sampled records that must be of a format."""
CERTAIN = 90
"""Per cent from which on no plug-in is asked whether the file is of its format instead."""
SAMPLE = 64
# How agents name what they keep beside a session; it is one JSON object.
_SIDE_FILE = ".meta.json"


def by_name(name: str) -> Format:
    """The format of this name. Raises UsageError."""
    if known := _BY_NAME.get(name):
        return known
    raise UsageError(f"there is no format {name}", hint=f"known: {', '.join(_BY_NAME)}")


class Homes:
    """The agents' homes that paths lie in. Each folder is looked at once."""

    def __init__(self) -> None:
        """Know none yet."""
        self._known: dict[Path, tuple[Format, Path] | None] = {}

    def of(self, path: Path) -> tuple[Format, Path] | None:
        """The format and the home folder of the agent that keeps such a file, if one does."""
        folder = path.parent
        if folder not in self._known:
            found = ((known, known.home(path)) for known in FORMATS)
            self._known[folder] = next(((f, home) for f, home in found if home), None)
        return self._known[folder]


def is_likely(known: Format, values: Sequence[dict[str, Any]], path: Path) -> bool:
    """Whether the first readable records of a file are enough to take it for such a session."""
    return known.score(values, path).value >= ENOUGH


def detect(values: Sequence[dict[str, Any]], path: Path | None, name: str) -> tuple[Format, str]:
    """The format of a file whose first readable records are `values`, and the reason.

    `name` is for the message. Raises NotASessionError where no format is likely enough.
    """
    best, reason, value = None, "", 0
    for known in FORMATS:
        if value >= CERTAIN and known in _PLUGGED:
            break
        score = known.score(values, path)
        if score.value > value:
            best, reason, value = known, score.reason, score.value
    if best is not None and value >= ENOUGH:
        return best, reason
    if not values and path is not None:
        for known in FORMATS:
            if known.home(path):
                return known, f"lies in a home of {known.title}"
    if path is not None and path.name.endswith(SNAPSHOT):
        session = path.name.removesuffix(SNAPSHOT)
        raise NotASessionError(
            f"{name} is no session, but a snapshot of the world beside one",
            hint=f"give {session} beside it",
        )
    if path is not None and path.name.endswith(_SIDE_FILE):
        session = path.name.removesuffix(_SIDE_FILE) + ".jsonl"
        raise NotASessionError(
            f"{name} is no session, but the side file of one", hint=f"give {session} beside it"
        )
    if any(map(is_document, values)):
        raise NotASessionError(
            f"{name} is a session of Gemini CLI before 0.40: one document, and no lines",
            hint="resume it in a newer Gemini CLI, which writes it anew as .jsonl beside it",
        )
    if not values:
        raise NotASessionError(
            f"{name} holds no record that can be read",
            hint="check that it is the right file: a session is one JSON object a line",
        )
    closest = f"; the closest is {best.title} ({value} %)" if best else ""
    raise NotASessionError(
        f"{name} is no session that sesstool knows: {len(values)} records looked at{closest}",
        hint="name the format with --format if you know it",
    )
