"""What the records of Copilot CLI hold: frozen members, and those that its reader insists on."""

from __future__ import annotations

import re
from typing import Any

from sesstool.formats.values import blocks, mapping, text

FROZEN = """
    type id parentId timestamp ephemeral agentId
    data.sessionId data.version data.producer data.copilotVersion data.startTime data.resumeTime
    data.selectedModel data.newModel data.previousModel data.reasoningEffort data.eventCount
    data.messageId data.originatingMessageId data.interactionId data.turnId data.apiCallId
    data.requestId data.providerCallId data.parentAgentTaskId data.parentToolCallId data.phase
    data.toolCallId data.toolName data.mcpServerName data.mcpToolName data.model data.success
    data.toolRequests.toolCallId data.toolRequests.name data.toolRequests.type data.role
    data.delivery data.source data.agentMode data.usage.** data.modelMetrics.**
    data.providerModelMetrics.** data.toolTelemetry.metrics.** data.hookInvocationId data.hookType
    data.shutdownType data.checkpointNumber data.compactionTokensUsed.** data.error.code
"""
OPAQUE = (
    "data.reasoningOpaque data.encryptedContent data.attachments.data data.result.contents.data"
)
_NAMES = {str: "text", int: "a number", bool: "true or false", dict: "an object"}
_SILENT = """
    abort assistant.reasoning hook.end hook.start session.compaction_start
    session.context_changed session.error session.handoff session.import_legacy session.info
    session.mode_changed session.model_change session.plan_changed session.resume
    session.remote_steerable_changed session.task_complete session.title_changed
    session.truncation session.warning session.workspace_file_changed skill.invoked
    subagent.completed subagent.deselected subagent.failed subagent.selected subagent.started
    tool.user_requested
"""
# Records that say nothing to the model; what of `data` their reader insists on.
META: dict[str, dict[str, type]] = {
    "session.start": {
        "sessionId": str,
        "version": int,
        "producer": str,
        "copilotVersion": str,
        "startTime": str,
    },
    "assistant.turn_start": {"turnId": str},
    "assistant.turn_end": {"turnId": str},
    "tool.execution_start": {"toolCallId": str, "toolName": str},
    "session.usage_record": {"usage": dict},
    "session.shutdown": {"shutdownType": str, "modelMetrics": dict},
    **{kind: {} for kind in _SILENT.split()},
}
# The others.
TALK: dict[str, dict[str, type]] = {
    "user.message": {"content": str},
    "assistant.message": {"messageId": str, "content": str},
    "tool.execution_complete": {"toolCallId": str, "success": bool},
    "system.message": {"role": str, "content": str},
    "system.notification": {"content": str},
    "session.compaction_complete": {"success": bool},
}
KNOWN = META | TALK
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")


def is_id(value: Any) -> bool:
    """Whether a value is a UUID, as the ids of records are."""
    return bool(_UUID.fullmatch(text(value)))


def is_time(value: Any) -> bool:
    """Whether a value is a time with its offset from UTC."""
    return bool(_TIME.fullmatch(text(value)))


def envelope_refusal(value: dict[str, Any]) -> str:
    """Why the agent's reader stops at the envelope of a record, "" where it does not.

    It passes over records of types that it does not know.
    """
    if text(value.get("type")) not in KNOWN:
        return ""
    if not is_id(value.get("id")):
        return "the id is no UUID"
    if "parentId" not in value or not (value["parentId"] is None or is_id(value["parentId"])):
        return "the parentId is neither a UUID nor null"
    return "" if is_time(value.get("timestamp")) else "the timestamp is no time with an offset"


def data_refusal(value: dict[str, Any]) -> str:
    """The same of what a record says."""
    kind, data = text(value.get("type")), value.get("data")
    if kind not in KNOWN:
        return ""
    if type(data) is not dict:
        return "data is no object"
    for name, wanted in KNOWN[kind].items():
        found = data.get(name)
        if type(found) is not wanted and not (wanted is int and type(found) is float):
            return f"{name} is not {_NAMES[wanted]}"
    for request in map(mapping, blocks(data.get("toolRequests"))):
        if not all(type(request.get(name)) is str for name in ("toolCallId", "name")):
            return "a tool request has no toolCallId or no name"
    result = data.get("result")
    if kind == "tool.execution_complete" and result is not None:
        return "" if type(mapping(result).get("content")) is str else "the result has no content"
    return ""
