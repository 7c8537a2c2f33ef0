"""The types of Claude Code's records, and the fields that a redaction must know."""

from __future__ import annotations

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
