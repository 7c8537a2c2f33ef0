"""Whole conversations kept in one record, as datasets keep them: judged, and left as they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sesstool.checks.context import Context, manual
from sesstool.checks.provider import provider_findings
from sesstool.checks.results import undecided
from sesstool.findings import Finding
from sesstool.formats.events import Meaning
from sesstool.model.pairing import Pairing
from sesstool.records.recover import Record

_LEFT = "sesstool leaves the inside of such records alone: mend it where the dataset is made"


def check(context: Context, record: Record, meaning: Meaning) -> Iterator[Finding]:
    """The findings about the calls and results of a record that holds a conversation.

    A call in the last message is what the model shall learn to say: it needs no result.
    """
    form = context.session.format
    pairing = Pairing(form.pairing, once=form.once)
    for inner in meaning.nested:
        pairing.see(record, inner, -1)
    pairing.finish()
    last = f"/messages/{len(meaning.nested) - 1}/"
    for call in pairing.unanswered:
        if not call.place.pointer.startswith(last):
            message = f"call {call.id} ({call.name or 'a tool'}) has no result"
            yield context.finding("T401", call.place, message, fix=manual(_LEFT))
    for one in pairing.undecided:
        yield replace(undecided(context, one), fix=manual(_LEFT))
    for result in pairing.orphans:
        message = f"result for call {result.id}, which is not in the conversation"
        yield context.finding("T402", result.place, message, fix=manual(_LEFT))
    for result, _ in pairing.duplicates:
        message = f"second result for call {result.id}"
        yield context.finding("T403", result.place, message, fix=manual(_LEFT))
    for call in pairing.reused:
        message = f"id {call.id} stands on an earlier call too"
        yield context.finding("T405", call.place, message, fix=manual(_LEFT))
    for result, _ in pairing.displaced:
        message = f"the result of call {result.id} stands where the call cannot take it"
        yield context.finding("T404", result.place, message, fix=manual(_LEFT))
    for inner in meaning.nested:
        for finding in provider_findings(context, record, inner):
            yield replace(finding, fix=manual(_LEFT))
