"""What sesstool says in a session in place of something that was lost.

Such text is read by a model that decides what to do next, so it claims no more than the file
proves: a call that may have run is never said not to have run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from sesstool.formats.terms import Evidence

MARK = "[sesstool]"
_LOST = {
    "never started": (
        "the session was interrupted before this {name} call was started. It did not run."
    ),
    "failed": "this {name} call failed; its own result was not recorded.",
    "uncertain": (
        "interrupted: no result of this {name} call was recorded. Its outcome is unknown: it may "
        "have run in part or in full. Inspect what it changed before repeating it."
    ),
}
_PLACEHOLDERS = (
    MARK,
    "aborted",
    "[Tool result missing",
    "[Tool call interrupted",
    "[Orphaned tool result",
    "[Request interrupted by user",
    "No result provided",
    "Tool call was interrupted",
)

INJECTED = re.compile(r"\s*(?:</?[a-z][\w-]*>|# AGENTS\.md instructions|Caveat: )")
"""So begins what agents put into a person's place."""


STOPPED = frozenset({"turn_aborted", "abort"})
"""What agents call a record which says that a person broke off a turn."""
BEGUN = frozenset({"task_started", "turn_started"})
OVER = frozenset({"task_complete", "turn_complete"}) | STOPPED
"""What agents that tell it call the records which say that a turn begins, or is over."""
STOPPED_WORDS = ("[Request interrupted by user", "<turn_aborted>")
"""So begins what they say of it in a person's place."""


def answer_text(evidence: Evidence, name: str) -> str:
    """The text of the result that a repair writes for a call of tool `name`."""
    if evidence.output and evidence.state in ("completed", "failed"):
        return evidence.output
    state = evidence.state if evidence.state in _LOST else "uncertain"
    return f"{MARK} " + _LOST[state].format(name=name or "tool")


def doubt(name: str, *, harmless: bool) -> str:
    """What is to be said of a call of tool `name` of which nobody knows whether it ran."""
    effect = (
        "changes nothing, so that it can be asked for again"
        if harmless
        else "may have changed something before the session was interrupted"
    )
    return f"{name or 'a tool'} {effect}"


FIRST_PROMPT = f"{MARK} the first message of this session was lost."

NO_IMAGE = f"{MARK} an image was left out when this session was converted."


def is_placeholder(content: Any) -> bool:
    """Whether a result was made up by an agent, or by a repair, for one that was lost."""
    if type(content) is list and content and type(content[0]) is dict:
        content = content[0].get("text")
    return type(content) is str and content.startswith(_PLACEHOLDERS)


def is_blank(content: Any) -> bool:
    """Whether a message's content says nothing at all."""
    if type(content) is list:
        return all(type(b) is dict and not str(b.get("text", "")).strip() for b in content)
    return content is None or (type(content) is str and not content.strip())


def removed_text(what: str, size: int, sha256: str) -> str:
    """What stands in place of a block that was taken out."""
    return f"{MARK} {what} removed: {size} bytes, sha256 {sha256}"


def has_word(value: str, words: Sequence[str]) -> bool:
    """Whether one of some lower-case words stands in a text in any case.

    A regular expression that ignores case takes twenty times as long.
    """
    lower = value.lower()
    for word in words:  # noqa: SIM110 - half the cost of any() where texts are many
        if word in lower:
            return True
    return False
