"""Validate, repair and care for the session files that AI agents leave on disk; and keep new ones.

`SessionStore` keeps the sessions of an agent of one's own, `Recorder` records its runs; all else
that is public is in `sesstool.api`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sesstool.version import __version__

if TYPE_CHECKING:
    from sesstool.api.storing import Recorder, ResumeState, SessionStore, StoredSession

__all__ = ["Recorder", "ResumeState", "SessionStore", "StoredSession", "__version__"]


def __getattr__(name: str) -> object:
    """Import what is asked for only then: a command needs none of it."""
    if name in __all__:
        from sesstool.api import storing  # noqa: PLC0415 - start-up time

        return getattr(storing, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
