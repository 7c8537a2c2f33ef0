"""Sessions of Mill: `~/.mill/runs/NAME.jsonl`.

The first line begins the session; then a line each for what was said, for each tool that was asked
for, and for each answer of a tool, anywhere between its call and the next prompt.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from glob import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from sesstool.formats.base import Format
from sesstool.formats.events import Event, Meaning, Message, Meta, ToolCall, ToolResult, Unknown
from sesstool.formats.terms import Question, Score
from sesstool.formats.values import fields_of, mapping, share, text
from sesstool.formats.wording import answer_text, is_placeholder

_ROLES = {"person": "user", "model": "assistant"}


class Mill(Format):
    """See the module."""

    name = "mill"
    title = "Mill"
    pairing = "order"
    call_key = result_key = "call"
    time_key = "at"
    fields = fields_of("mill at who tool call folder name model failed", "")
    waits = frozenset({"ask_miller"})
    harmless = frozenset({"look"})
    resumes = "mill --continue"
    variables = ("MILL_HOME",)

    def score(self, values: Sequence[dict[str, Any]], path: Path | None) -> Score:
        """Every record of Mill says what it is in a member of the agent's name."""
        ours = share(values, (type(value.get("mill")) is str for value in values))
        return Score(ours, f"{ours} % of the records are of Mill")

    def meaning(self, value: dict[str, Any]) -> Meaning:
        """What a record means, however wrong it is."""
        return Meaning(
            _events(value),
            session=text(value.get("name")),
            time=text(value.get("at")),
            cwd=text(value.get("folder")),
            model=text(value.get("model")),
        )

    def own_schema(self) -> str:
        """The schema lies in the package."""
        return files(__name__).joinpath("record.schema.json").read_text(encoding="utf-8")

    def answer(self, question: Question) -> bytes:
        """The result that Mill would have written, at the time of the call."""
        failed = question.evidence.state != "completed"
        out = answer_text(question.evidence, question.name)
        record = {"mill": "result", "call": question.call_id, "out": out, "failed": failed}
        if at := text(question.record.get("at")):
            record["at"] = at
        return json.dumps(record, separators=(",", ":")).encode()

    def home(self, path: Path) -> Path | None:
        """Mill has all sessions in one folder, with none below it."""
        return _home() if path.absolute().parent == _home() / "runs" else None

    def folders(self) -> Iterable[Path]:
        """The same folder."""
        return [_home() / "runs"]

    def session_id(self, path: Path) -> str:
        """The name of the file, in Mill's own folder."""
        return path.stem if self.home(path) else ""

    def find(self, prefix: str, ending: str = "") -> Iterable[Path]:
        """The files whose names begin so."""
        return (_home() / "runs").glob(f"{escape(prefix)}*.jsonl{ending}")


def _home() -> Path:
    return Path(os.environ.get("MILL_HOME") or Path.home() / ".mill").absolute()


def _events(value: dict[str, Any]) -> list[Event]:
    kind, call_id = text(value.get("mill")), text(value.get("call"))
    if kind == "said":
        role = _ROLES.get(text(value.get("who")), "system")
        return [Message("/words", role, value.get("words"), prompt=role == "user")]
    if kind == "call":
        given = mapping(value.get("arguments"))
        return [ToolCall("", call_id, text(value.get("tool")), given)]
    if kind == "result":
        out, failed = value.get("out"), value.get("failed") is True
        return [ToolResult("", call_id, out, failed, placeholder=is_placeholder(out))]
    return [Meta("", kind) if kind == "begun" else Unknown("", kind)]
