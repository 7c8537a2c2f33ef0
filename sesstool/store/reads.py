"""Placeholder of the file check."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any


def noted(path: Path | str) -> dict[str, Any]:
    """What a file is now."""
    now = Path(path).stat()
    return {"path": str(path), "mtime": now.st_mtime_ns, "size": now.st_size, "sha256": ""}


def as_mycodeagent(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The entry in MyCodeAgent's shape."""
    return dict(entry)
