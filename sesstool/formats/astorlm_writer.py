"""Writes a session as one of astorLM: messages of blocks with ids, and a side file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from sesstool.formats.anthropic_writer import AnthropicScribe, block_of, blocks_of, results_of
from sesstool.formats.turns import Header, Turn


class AstorScribe(AnthropicScribe):
    """See the module. astorLM keeps words alone, of people and of tools."""

    images = result_images = False

    def __init__(self, header: Header) -> None:
        """See `Scribe`."""
        super().__init__(header)
        self._count = 0

    def turn(self, turn: Turn) -> Iterator[dict[str, Any]]:
        """See `Scribe.turn`."""
        if turn.role == "assistant":
            yield self._message("assistant", blocks_of(turn))
            if turn.calls:
                yield self._message("user", results_of(turn, as_text=True))
        else:
            yield self._message(turn.role, [block_of(part) for part in turn.parts])

    def side(self, path: Path) -> tuple[Path, bytes]:
        """See `Scribe.side`: without one there is no session."""
        name = path.name.removesuffix(".jsonl")
        begun = int(datetime.fromisoformat(self.header.time).timestamp() * 1000)
        told = {"id": name, "metadata": {}, "createdAt": begun, "updatedAt": begun}
        return path.with_name(f"{name}.meta.json"), json.dumps(told, indent=2).encode()

    def _message(self, role: str, content: list[dict[str, Any]]) -> dict[str, Any]:
        self._count += 1
        name = uuid5(NAMESPACE_OID, f"{self.header.id}/{self._count}")
        return {"id": str(name), "role": role, "content": content}
