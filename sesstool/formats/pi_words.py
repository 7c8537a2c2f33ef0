"""What pi makes of its own records before it sends them: summaries, and commands of a person."""

from __future__ import annotations

from typing import Any

from sesstool.formats.values import mapping, text

_COMPACTED = "The conversation history before this point was compacted into the following summary:"
_BRANCH = "The following is a summary of a branch that this conversation came back from:"


def sent(value: dict[str, Any], content: Any) -> Any:
    """The content of a message as the model gets it."""
    message, kind = mapping(value.get("message")), text(value.get("type"))
    role = text(message.get("role"))
    if role == "bashExecution":
        return _command(message)
    words = text(content)
    if words and "compaction" in (kind, role.removesuffix("Summary")):
        return f"{_COMPACTED}\n\n<summary>\n{words}\n</summary>"
    if words and (kind == "branch_summary" or role == "branchSummary"):
        return f"{_BRANCH}\n\n<summary>\n{words}</summary>"
    return content


def _command(message: dict[str, Any]) -> str:
    """A command that a person ran, with what it put out."""
    output = text(message.get("output"))
    words = [f"Ran `{text(message.get('command'))}`"]
    words.append(f"```\n{output}\n```" if output else "(no output)")
    code = message.get("exitCode")
    if message.get("cancelled") is True:
        words.append("\n(command cancelled)")
    elif type(code) is int and code:
        words.append(f"\nCommand exited with code {code}")
    return "\n".join(words)
