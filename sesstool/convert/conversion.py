"""A session of one format as the bytes of one of another format."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from sesstool.convert.exchanges import Exchanges
from sesstool.convert.fitting import Fitting
from sesstool.convert.losses import Losses
from sesstool.convert.sent import Way
from sesstool.errors import InputError
from sesstool.formats.turns import Scribe

_HALF = re.compile("[\ud800-\udfff]")


def lines(way: Way, scribe: Scribe, losses: Losses) -> Iterator[bytes]:
    """The lines of the new session, with their ends; at the end `losses` holds what is lost.

    Raises InputError for a record that cannot be written.
    """
    fitting = Fitting(type(scribe), scribe.header.time, losses)
    empty = True
    for record in scribe.begin():
        yield line(record)
    for turn in Exchanges(way, losses).turns():
        for fitted in fitting.turns(turn):
            empty = empty and fitted.role == "system"
            for record in scribe.turn(fitted):
                yield line(record)
    if empty:
        raise InputError(
            f"{way.session.source.name} holds no message that a resume would send",
            hint="sesstool show --notes prints what it holds",
        )


def line(record: object) -> bytes:
    """A record as JSON with its line end; half a character becomes the sign for that."""
    try:
        text = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (ValueError, RecursionError) as error:
        raise InputError(
            "the arguments of a call are nested too deep, or hold what JSON cannot",
            hint="sesstool validate tells which",
        ) from error
    return _HALF.sub("\ufffd", text).encode() + b"\n"
