"""Sessions of the OpenAI Agents SDK: rows of the SQLite file that a program gives `SQLiteSession`.

They are read as lines: the first is the session's row, the others are those of its messages, each
with an item of the Responses API, or a message of a role and a content, in `message_data`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sesstool.formats.events import Meaning, Meta, Unknown
from sesstool.formats.payloads import Payload
from sesstool.formats.readonly import ReadOnly
from sesstool.formats.responses_items import ITEM_FROZEN, ITEM_OPAQUE, item_events, item_payloads
from sesstool.formats.terms import ASKING, Score
from sesstool.formats.values import fields_of, mapping, share, text
from sesstool.records.databases import id_in

_DATA = "message_data"


class OpenAIAgents(ReadOnly):
    """See the module."""

    fields = fields_of("id session_id created_at updated_at", "") | fields_of(
        ITEM_FROZEN, ITEM_OPAQUE, f"{_DATA}."
    )
    name = "openai-agents"
    title = "OpenAI Agents SDK"
    call_key = result_key = "call_id"
    waits = ASKING

    def score(self, values: Sequence[dict[str, Any]], path: Path | None) -> Score:
        """See `Format.score`."""
        ours = share(values, map(_is_ours, values))
        return Score(ours, f"{ours} % of the records are rows of the OpenAI Agents SDK")

    def meaning(self, value: dict[str, Any]) -> Meaning:
        """See `Format.meaning`."""
        time = text(value.get("created_at"))
        time = f"{time.replace(' ', 'T', 1)}Z" if " " in time else time
        out = Meaning(session=text(value.get("session_id")), time=time)
        item = value.get(_DATA)
        if type(item) is dict:
            typed = item if "type" in item or "role" not in item else {"type": "message"} | item
            out.events = item_events(typed, f"/{_DATA}")
        elif _is_ours(value) and _DATA not in value:
            out.events.append(Meta("", "session"))
        else:
            out.events.append(Unknown("", ""))
        return out

    def payloads(self, value: dict[str, Any]) -> Iterable[Payload]:
        """See `Format.payloads`."""
        return item_payloads(mapping(value.get(_DATA)), f"/{_DATA}")

    def session_id(self, path: Path) -> str:
        """See `Format.session_id`."""
        return id_in(path) if path.parent.is_file() else ""


def _is_ours(value: dict[str, Any]) -> bool:
    if _DATA in value:
        return "session_id" in value
    return {"session_id", "created_at", "updated_at"} <= value.keys() and len(value) == 3
