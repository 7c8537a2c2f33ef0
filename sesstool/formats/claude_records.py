"""The types of Claude Code's records, and the fields that a redaction must know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sesstool.formats.payloads import Payload, members, twins
from sesstool.formats.values import blocks, mapping, text

COPIED = (
    "isSidechain",
    "userType",
    "entrypoint",
    "cwd",
    "sessionId",
    "version",
    "gitBranch",
    "agentId",
    "slug",
)
"""What a record that is made has of the one beside it."""
FROZEN = """
    type subtype uuid parentUuid logicalParentUuid leafUuid sessionId session_id messageId
    requestId requestSessionId timestamp version userType entrypoint sessionKind agentId level
    promptId promptSource sourceToolAssistantUUID sourceToolUseID toolUseID parentToolUseID
    permissionMode interruptedMessageId supersedesUuids retractedMessageUuids snapshotMessageId
    operation explicit cutUuid forkedFrom.** compactMetadata.** microcompactMetadata.**
    origin.kind attachment.type snapshot.messageId snapshot.timestamp data.type effort
    toolUseResult.type toolUseResult.agentId toolUseResult.usage.** toolUseResult.status
    data.message.type data.message.uuid data.message.timestamp data.message.requestId
"""
OPAQUE = """
    toolUseResult.file.base64 toolUseResult.source.data toolUseResult.content.source.data
    attachment.content.file.base64 attachment.prompt.source.data
"""
# Types that 2.1.332 knows and that are no part of the chain; others are named as unknown.
META_TYPES = frozenset(
    [
        "summary",
        "custom-title",
        "ai-title",
        "tag",
        "relocated",
        "agent-name",
        "agent-color",
        "agent-setting",
        "pr-link",
        "bridge-session",
        "history-suppression",
        "mode",
        "permission-mode",
        "isolation-latch",
        "session-owner",
        "dev-mods",
        "atis-latch",
        "tools-used",
        "worktree-state",
        "cost-state",
        "queue-operation",
        "observer-ref",
        "ended-by-model",
        "attribution-snapshot",
        "artifact-autoreact-ledger",
        "derived-from",
        "repl-mode",
        "hybrid-organization",
        "content-replacement",
        "fork-context-ref",
        "frame-link",
        "data-flow-records",
        "data-flow-incomplete",
        "artifact-comment-monitor",
        "memory-mode",
        "file-history-snapshot",
        "file-history-delta",
        "last-prompt",
        "continued-in",
        "resume-head-vouch",
        "api-request",
        "api-request-shape",
        "api-request-blob",
        "api-request-resumed",
        "host-row",
        "speculation-accept",
        "marble-origami-commit",
        "marble-origami-snapshot",
    ]
)

# What of a result's form for the screen names things, or says what was called for.
_STAYS = frozenset(
    [
        *("type", "status", "usage", "agentId", "agentType", "resolvedModel", "mode", "toolName"),
        *("filePath", "description", "prompt", "persistedOutputPath", "outputFile", "file"),
    ]
)
_FILE_STAYS = frozenset({"type", "filePath"})
_BESIDE = ("mcpMeta/structuredContent", "mcpMeta/_meta", "hookErrors", "hookAdditionalContext")
# Attachments that tell what a hook or a task that ran on its own put out.
_HOOKS = ("hook_", "async_hook_", "task_status")


def twins_of(value: dict[str, Any], pointer: str = "") -> Iterator[Payload]:
    """What repeats the output of tools in a record, or is the output of a hook."""
    if "toolUseResult" in value:
        result, at = value["toolUseResult"], f"{pointer}/toolUseResult"
        yield from members(result, at, _STAYS)
        if "file" in mapping(result):
            yield from members(result["file"], f"{at}/file", _FILE_STAYS)
    yield from twins(pointer, *_BESIDE)
    kind = text(value.get("type"))
    if kind == "progress":
        yield from _progress(mapping(value.get("data")), f"{pointer}/data")
    elif kind == "attachment":
        yield from _attachment(value, pointer)
    elif kind == "content-replacement":
        for n, _ in enumerate(blocks(value.get("replacements"))):
            yield from twins(f"{pointer}/replacements/{n}", "replacement")
    elif kind in ("api-request-blob", "user"):
        yield from _results(mapping(value.get("message")), f"{pointer}/message")


def _progress(data: dict[str, Any], pointer: str) -> Iterator[Payload]:
    """A tool at work; a subagent tells whole records."""
    yield from twins(pointer, "output", "fullOutput", "progressMessage", "stdout", "stderr")
    yield from _told(data.get("message"), f"{pointer}/message")
    for n, record in enumerate(blocks(data.get("normalizedMessages"))):
        yield from _told(record, f"{pointer}/normalizedMessages/{n}")


def _told(record: Any, pointer: str) -> Iterator[Payload]:
    if type(record) is dict:
        yield from twins_of(record, pointer)
    elif type(record) is str:
        yield Payload(pointer, twin=True)


def _attachment(value: dict[str, Any], pointer: str) -> Iterator[Payload]:
    if text(mapping(value.get("attachment")).get("type")).startswith(_HOOKS):
        names = ("content", "stdout", "stderr", "response", "deltaSummary")
        yield from twins(f"{pointer}/attachment", *names, "blockingError/blockingError")
        for n, _ in enumerate(blocks(value.get("rendered"))):
            yield from twins(f"{pointer}/rendered/{n}", "content")


def _results(message: dict[str, Any], pointer: str) -> Iterator[Payload]:
    """The results in a message that is told once more."""
    for n, block in enumerate(map(mapping, blocks(message.get("content")))):
        if text(block.get("type")).endswith("tool_result"):
            yield from twins(f"{pointer}/content/{n}", "content")
