"""What of a turn a format can hold: the turn as its scribe takes it, and what is lost of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

from sesstool.convert.content import as_object
from sesstool.convert.losses import Losses
from sesstool.formats.forking import written
from sesstool.formats.turns import Call, Part, Result, Scribe, Text, Turn
from sesstool.formats.wording import NO_IMAGE
from sesstool.model.moments import moment
from sesstool.model.units import canonical

# As long as the shortest limit of a provider allows.
_STEM = 40


class Fitting:
    """Makes turns fit into one format."""

    def __init__(self, scribe: type[Scribe], begun: str, losses: Losses) -> None:
        """Begin a session of a format, at a time in RFC 3339."""
        self._scribe, self._losses = scribe, losses
        self._odd_id, self._odd_name = (
            re.compile(odd) if odd else None for odd in (scribe.odd_id, scribe.odd_name)
        )
        self._ids: set[int] = set()
        self._begun, self._time = begun, ""

    def turns(self, turn: Turn) -> Iterator[Turn]:
        """The turns that one becomes: none, or several where it has too many calls."""
        scribe = self._scribe
        if turn.role == "system" and (
            scribe.system == "none" or (turn.own and scribe.system == "told")
        ):
            self._losses.add("system")
            return
        self._losses.add("time", int(bool(turn.time) and not scribe.times))
        time = self._when(turn.time)
        parts = self._parts(turn.parts, images=scribe.images and turn.role == "user")
        calls = [self._call(call) for call in turn.calls]
        if parts or calls:
            yield replace(turn, parts=parts, calls=calls[: scribe.most_calls], time=time)
        for start in range(scribe.most_calls, len(calls), scribe.most_calls):
            yield replace(turn, parts=[], calls=calls[start : start + scribe.most_calls], time=time)

    def _when(self, time: str) -> str:
        """The time of a turn: where it is not told, or is that of the last one, right behind it."""
        told = moment(time)
        when = written(told) if told is not None else self._time or self._begun
        last = moment(self._time)
        if when == self._time and last is not None:
            when = written(last + timedelta(milliseconds=1))
        self._time = when
        return when

    def _parts(self, parts: list[Part], *, images: bool) -> list[Part]:
        """The parts, with words in place of an image that cannot be carried."""
        links = self._scribe.image_links

        def fits(part: Part) -> bool:
            return isinstance(part, Text) or (images and (links or not part.url))

        self._losses.add("image", sum(not fits(part) for part in parts))
        return [part if fits(part) else Text(NO_IMAGE) for part in parts]

    def _call(self, call: Call) -> Call:
        result = call.result
        if result.error and not self._scribe.marks_errors:
            self._losses.add("error-mark")
        parts = self._parts(result.parts, images=self._scribe.result_images)
        kept = Result(parts, result.error, result.made)
        free = call.free and self._scribe.free_text
        arguments = call.arguments
        if call.free and not free:
            self._losses.add("arguments")
            arguments = {"input": arguments}
        if not free:
            arguments = self._arguments(arguments)
        return Call(self._id(call.id), self._name(call.name), arguments, kept, free)

    def _arguments(self, arguments: Any) -> Any:
        """An object, or JSON text of one, as the format has them."""
        if not self._scribe.text_arguments:
            return as_object(arguments)
        if type(arguments) is str:
            return arguments
        try:
            return json.dumps(arguments, ensure_ascii=False)
        except RecursionError:
            return canonical(arguments).decode()

    def _id(self, name: str) -> str:
        """The id that a call gets: its own where the format takes it and no call has it yet."""
        limit = self._scribe.longest_id
        plain = self._odd_id.sub("_", name) if self._odd_id else name
        fits, nth = plain[:limit] or "call", 1
        while hash(fits) in self._ids:
            nth += 1
            fits = f"{plain[:_STEM] or 'call'}_{nth}"
        self._ids.add(hash(fits))
        self._losses.add("call-id", int(fits != name))
        return fits

    def _name(self, name: str) -> str:
        plain = self._odd_name.sub("_", name) if self._odd_name else name
        fits = plain[: self._scribe.longest_name] or "tool"
        self._losses.add("tool-name", int(fits != name))
        return fits
