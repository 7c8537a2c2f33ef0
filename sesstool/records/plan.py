"""`Plan`: edits that can be shown, saved, loaded and applied once."""

from __future__ import annotations

import json
import os
from base64 import b64decode, b64encode
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sesstool.errors import UsageError
from sesstool.records.edits import Edit, EditSet, OverlapError
from sesstool.records.source import Fingerprint
from sesstool.records.write import create

SCHEMA_VERSION = 1
_PERMISSIONS = 0o777
# What decoding raises for a file that is no plan.
_DAMAGED = (ArithmeticError, ValueError, TypeError, LookupError, RecursionError, OverlapError)
_AGAIN = "make the plan again, with repair --save-plan"


@dataclass(frozen=True, slots=True)
class FilePlan:
    """What to do to one file, and the state that it was made for.

    `edits` are over the decompressed plain text, and `codec` is "", "gz", "zst", or "age" for a
    file that is encrypted. `mode` holds
    new permission bits, or is None to keep them. `findings` are the codes of the rules that
    ask for the change, `titles` says it in words without session text.
    """

    path: Path
    before: Fingerprint
    codec: str
    edits: EditSet
    mode: int | None = None
    findings: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.edits) or self.mode is not None


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do to some files. `made` is an ISO 8601 time, `version` that of sesstool."""

    files: tuple[FilePlan, ...]
    made: str
    version: str

    def save(self, path: Path) -> None:
        """Write the plan to a new private file, for it may hold session text.

        Raises WriteError, also where the file exists already, and UsageError where a session is
        encrypted.
        """
        for file in self.files:
            if file.codec == "age":
                raise UsageError(
                    f"{file.path} is encrypted, and a plan would hold its text in the clear",
                    hint="repair it without a plan: --write -i FILE",
                )
        value = {
            "schema_version": SCHEMA_VERSION,
            "made": self.made,
            "version": self.version,
            "files": [_encoded(file) for file in self.files],
        }
        create(path, [json.dumps(value, indent=1).encode(), b"\n"])

    @classmethod
    def load(cls, path: Path) -> Plan:
        """The plan in a file. Raises UsageError where the file holds none that can be read."""
        try:
            value = json.loads(path.read_bytes())
            version = int(value["schema_version"])
            if version > SCHEMA_VERSION:
                raise UsageError(
                    f"cannot read the plan {path}: a newer sesstool made it",
                    hint="apply it with that version, or make the plan again",
                )
            files = tuple(_decoded(file) for file in value["files"])
            return cls(files, str(value["made"]), str(value["version"]))
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise UsageError(f"cannot read the plan {path}: {reason}", hint=_AGAIN) from error
        except _DAMAGED as error:
            raise UsageError(
                f"cannot read the plan {path}: it is damaged, or no plan of sesstool", hint=_AGAIN
            ) from error


def _encoded(file: FilePlan) -> dict[str, Any]:
    return {
        # From wherever the plan is applied; a symbolic link stays what it is.
        "path": os.path.abspath(file.path),  # noqa: PTH100 - resolve() would follow links
        "before": asdict(file.before),
        "codec": file.codec,
        "edits": [
            {
                "start": edit.start,
                "end": edit.end,
                "text": b64encode(edit.text).decode(),
                "content": edit.content,
            }
            for edit in file.edits
        ],
        "mode": file.mode,
        "findings": file.findings,
        "titles": file.titles,
    }


def _decoded(value: dict[str, Any]) -> FilePlan:
    mode = value["mode"]
    if mode is not None and mode & ~_PERMISSIONS:
        raise ValueError("a repair sets nothing but who may read, write and run")
    return FilePlan(
        Path(value["path"]),
        Fingerprint(**value["before"]),
        str(value["codec"]),
        EditSet(
            Edit(
                int(edit["start"]),
                int(edit["end"]),
                b64decode(edit["text"], validate=True),
                bool(edit["content"]),
            )
            for edit in value["edits"]
        ),
        None if mode is None else int(mode),
        tuple(map(str, value["findings"])),
        tuple(map(str, value["titles"])),
    )
