"""Makes homes of Claude Code and Codex with many small sessions, one each 45 minutes."""

from __future__ import annotations

import json
import os
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

_RECORDS = 20
_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
_PROJECTS = 40


def make(folder: Path, count: int) -> None:
    """Write so many sessions of 20 records, every other one of each agent."""
    for number in range(count):
        began = _BEGAN + timedelta(minutes=45 * number)
        name = str(uuid.UUID(int=(number << 64) + 5))
        project = f"p{number % _PROJECTS}"
        path, rows = (_claude if number % 2 else _codex)(name, project, began)
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        ended = (began + timedelta(minutes=1)).timestamp()
        os.utime(file, (ended, ended))


def make_small(projects: Path, count: int) -> None:
    """Write so many sessions of two records into Claude Code's folder of projects."""
    folders = [projects / f"-srv-p{number}" for number in range(_PROJECTS)]
    for folder in folders:
        folder.mkdir(parents=True)
    for number in range(count):
        name = str(uuid.UUID(int=(number << 64) + 5))
        _, rows = _claude(name, "p", _BEGAN)
        lines = "".join(json.dumps(row) + "\n" for row in rows[:2])
        (folders[number % _PROJECTS] / f"{name}.jsonl").write_text(lines)


def _claude(name: str, project: str, began: datetime) -> tuple[str, list[object]]:
    rows: list[object] = []
    parent = None
    for number in range(_RECORDS):
        own = str(uuid.uuid5(uuid.UUID(name), str(number)))
        words = "the lamp is lit at dusk " * 12
        role = "assistant" if number % 2 else "user"
        message: dict[str, object] = {"role": role, "content": words}
        if role == "assistant":
            message |= {"id": own, "model": "m", "content": [{"type": "text", "text": words}]}
        rows.append(
            {
                "parentUuid": parent,
                "isSidechain": False,
                "cwd": f"/srv/{project}",
                "sessionId": name,
                "version": "2.1.300",
                "type": role,
                "message": message,
                "uuid": own,
                "timestamp": (began + timedelta(seconds=number)).isoformat(),
            }
        )
        parent = own
    return f".claude/projects/-srv-{project}/{name}.jsonl", rows


def _codex(name: str, project: str, began: datetime) -> tuple[str, list[object]]:
    time = began.isoformat()
    header = {
        "id": name,
        "timestamp": time,
        "cwd": f"/srv/{project}",
        "originator": "codex",
        "cli_version": "0.171.0",
        "base_instructions": {"text": "watch the light " * 1000},
    }
    rows: list[object] = [
        {"timestamp": time, "ordinal": 0, "type": "session_meta", "payload": header}
    ]
    for number in range(1, _RECORDS):
        role, kind = ("user", "input_text") if number % 2 else ("assistant", "output_text")
        content = [{"type": kind, "text": "the fog came in " * 20}]
        payload = {"type": "message", "role": role, "content": content}
        when = (began + timedelta(seconds=number)).isoformat()
        rows.append(
            {"timestamp": when, "ordinal": number, "type": "response_item", "payload": payload}
        )
    file = f"rollout-{began:%Y-%m-%dT%H-%M-%S}-{name}.jsonl"
    return f".codex/sessions/{began:%Y/%m/%d}/{file}", rows
