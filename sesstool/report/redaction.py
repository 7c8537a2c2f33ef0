"""The report of a redaction, to be handed on: what was found where, and what may be left.

It holds no value, no part of one and nothing that stands around one. `document` gives what
`schemas/output/redaction.schema.json` describes, `page` the same as HTML that needs nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from sesstool.api.redaction import Redacted, Redaction, bystanders, copies
from sesstool.privacy.tally import LENGTHS, Found, Spotted, Tally
from sesstool.privacy.values import KNOWN
from sesstool.privacy.views import DEPTH
from sesstool.report.amounts import counted
from sesstool.report.page import render
from sesstool.version import __version__

SCHEMA_VERSION = 1
_ACTIONS = ("replaced", "removed", "kept")
# The places of all files together: a page of more is read by nobody, and would fill the memory.
_PLACES = 5000
_TITLES = {"preview": "Preview", "copies": "Redacted copies", "in place": "Redacted in place"}
_TONES = {"values-found": "bad", "values-left": "care"}
_CHECKS = (
    "every line was read again by another decoder than the one that changed it",
    "lines that were valid JSON are valid JSON, and no line came or went",
    "fields that link records, or that the agent reads, are as they were",
    f"no value that was found is left outside of those, also under encodings {DEPTH} deep",
)


def document(
    redaction: Redaction, done: str, when: datetime | None = None, *, vault: bool = False
) -> dict[str, Any]:
    """The report in JSON. `done` is "preview", "copies" or "in place".

    `vault` says that the originals are kept, encrypted.
    """
    choice = redaction.choice
    room = _PLACES
    files = []
    for file in redaction.files:
        files.append(_file(file, room))
        room -= sum(len(found["first"]) for found in files[-1]["found"])
    found = [_found(one) for one in _merged(redaction.files)]
    totals = _totals(redaction, found)
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": "sesstool",
        "version": __version__,
        "time": (when or datetime.now(UTC)).isoformat(timespec="seconds"),
        "done": done,
        "verdict": _verdict(done, totals),
        "profile": choice.profile,
        "style": choice.style,
        "unreadable": choice.unreadable,
        "detectors": list(choice.detectors),
        "keyed": redaction.keyed,
        "vault": vault,
        "rules": {"digest": redaction.digest, "count": redaction.rules},
        "verification": {"passed": True, "checks": list(_CHECKS)},
        "totals": totals,
        "found": found,
        "files": files,
        "not_inspected": list(_not_inspected(redaction)),
        "residual_risks": list(_risks(redaction, done, totals, vault=vault)),
        "rotate": [
            {key: one[key] for key in ("rule", "title", "rotate", "places", "values")}
            for one in found
            if one["group"] == "secret" and one["rule"] != KNOWN
        ],
    }


def page(document_: dict[str, Any]) -> str:
    """The report as one HTML page."""
    return render(
        "redaction.html.j2",
        report=document_,
        title=_TITLES[document_["done"]],
        actions=_worded(document_["done"]),
        tone=_TONES.get(document_["verdict"]["name"], "good"),
    )


def _totals(redaction: Redaction, found: list[dict[str, Any]]) -> dict[str, int]:
    summaries = [file.summary for file in redaction.files]
    actions = Counter({a: sum(one["actions"][a] for one in found) for a in _ACTIONS})
    groups = Counter[str]()
    for one in found:
        groups[one["group"]] += one["places"]
    return {
        "files": len(summaries),
        "files_changed": sum(file.changed for file in redaction.files),
        "size": sum(file.text.source.size for file in redaction.files),
        "lines": sum(s.lines for s in summaries),
        "lines_changed": sum(s.changed for s in summaries),
        "places": actions.total(),
        **actions,
        "values": sum(one["values"] for one in found if one["rule"] != KNOWN),
        "secrets": groups["secret"],
        "personal": groups["personal"],
        "thinking_removed": sum(s.thinking for s in summaries),
        "opaque_kept": sum(s.blobs - s.dropped for s in summaries),
        "opaque_dropped": sum(s.dropped for s in summaries),
        "lines_unreadable": sum(s.unreadable for s in summaries),
    }


def _verdict(done: str, totals: dict[str, int]) -> dict[str, str]:
    if not totals["places"]:
        return {"name": "nothing-found", "text": "Nothing was found."}
    places, kept = totals["places"], totals["kept"]
    if done == "preview":
        hold = "holds a value" if places == 1 else "hold values"
        text = f"{counted(places, 'place')} {hold}. Nothing was changed."
        return {"name": "values-found", "text": text}
    if kept:
        text = (
            f"{places - kept:,} of {places:,} places no longer hold their values; {kept:,} still "
            "do, in fields that the session depends on."
        )
        return {"name": "values-left", "text": text}
    return {"name": "redacted", "text": f"None of the {places:,} places holds its value any more."}


def _merged(files: Iterable[Redacted]) -> list[Found]:
    merged = Tally()
    for file in files:
        for found in file.tally.ranked():
            merged.of(found.rule).take(found)
    return merged.ranked()


def _found(found: Found) -> dict[str, Any]:
    rule = found.rule
    return {
        "rule": rule.id,
        "group": rule.group,
        "kind": rule.kind,
        "title": found.title,
        "confidence": rule.confidence,
        "rotate": rule.rotate or None,
        "places": found.places,
        "values": len(found.values),
        "actions": {action: found.actions[action] for action in _ACTIONS},
        "views": [
            {"views": list(chain), "places": number} for chain, number in found.views.most_common()
        ],
        "lengths": {name: found.lengths[name] for name in LENGTHS if found.lengths[name]},
    }


def _file(file: Redacted, room: int) -> dict[str, Any]:
    summary, form = file.summary, file.text.form
    found = []
    for one in file.tally.ranked():
        first = one.first[: max(room, 0)]
        room -= len(first)
        found.append(
            {
                "rule": one.rule.id,
                "kind": one.rule.kind,
                "title": one.title,
                "places": one.places,
                "values": len(one.values),
                "truncated": one.places - len(first),
                "first": [_place(place) for place in first],
            }
        )
    return {
        "name": file.reported,
        "format": form.name if form else None,
        "size": file.text.source.size,
        "lines": summary.lines,
        "lines_changed": summary.changed,
        "lines_unreadable": summary.unreadable,
        "thinking_removed": summary.thinking,
        "opaque_kept": summary.blobs - summary.dropped,
        "opaque_dropped": summary.dropped,
        "found": found,
    }


def _place(place: Spotted) -> dict[str, Any]:
    return {
        "line": place.line,
        "byte": place.byte,
        "pointer": place.pointer,
        "action": place.action,
        "views": list(place.views),
        "length": place.length,
        "value": place.fingerprint,
    }


def _not_inspected(redaction: Redaction) -> Iterator[dict[str, Any]]:
    """What is no part of what was looked at, by file; a place outside of the set is told once."""
    left = "left as they are" if redaction.choice.unreadable == "skip" else "looked at as text"
    told = {file.path for file in redaction.files}
    for file in redaction.files:
        summary, name = file.summary, file.reported
        if kept := summary.blobs - summary.dropped:
            what = "signatures, ciphertext, pictures or documents, kept as they are"
            yield {"file": name, "count": kept, "what": what}
        if summary.unreadable:
            what = f"lines that are no JSON, {left}; their fields cannot be told apart"
            yield {"file": name, "count": summary.unreadable, "what": what}
        if summary.bounded:
            what = (
                "lines that hold more encodings, one inside the other, than are undone, the first "
                f"of them line {summary.first_bounded}: see what they hold before it is handed on"
            )
            yield {"file": name, "count": summary.bounded, "what": what}
        for side in copies(redaction, file):
            if side.path not in told:
                told.add(side.path)
                what = f"the agent's own file, which can hold the same, as it was: {side.fate}"
                what += f"; {side.erase}" if side.erase else ""
                # Its name is the agent's; those of the folders above can be a person's.
                yield {"file": side.path.name, "count": 1, "what": what}
    if beside := sum(path not in told for path in bystanders(redaction)):
        what = "files in the folders that were named, which are no part of a session, as they were"
        yield {"file": "other files", "count": beside, "what": what}


def _risks(
    redaction: Redaction, done: str, totals: dict[str, int], *, vault: bool
) -> Iterator[str]:
    choice = redaction.choice
    yield (
        "Names of people, customers and places in running text are found only where a rule or "
        "something else in the set gives them away. What is left around a value, such as times, "
        "roles and topics, can tell who is meant."
    )
    yield (
        "Values of fewer than 5 characters are taken out where a rule finds them, and are not "
        "looked for elsewhere."
    )
    yield (
        f"Encodings are undone up to {DEPTH} deep: JSON, percent, base64, hex and terminal "
        "sequences. Compressed or encrypted data, and other encodings, are not."
    )
    if totals["opaque_kept"]:
        yield (
            f"{totals['opaque_kept']:,} opaque fields are kept. A picture can show what was taken "
            "out of the text beside it, and the signature of a thinking block holds the whole "
            "thought, encrypted for the provider."
        )
    yield "The provider of the model was sent the session as it was, and may keep it."
    yield (
        "Backups, disk snapshots, version control, sync services, terminal scrollback and shell "
        "history may hold the session, or a value, as it was."
    )
    if done == "in place":
        yield "The bytes of the old file may be readable on the disk until they are written over."
    if done == "copies":
        yield "The sessions themselves are as they were; only the copies were changed."
    if choice.detectors:
        yield f"Only a part of the rules was used: {', '.join(choice.detectors)}."
    if choice.only_subject:
        yield "Only what is of the persons that were named was looked for, and nothing else."
    if vault:
        yield (
            "The originals are kept, encrypted, in a vault: who has it and its key can bring back "
            "what was taken out. Deleting the key erases that for good."
        )
    if redaction.keyed:
        yield (
            "Who has the key of the stand-ins can find out whether a guessed value stands behind "
            "one of them, or behind a fingerprint of this report."
        )
    if choice.style == "shape":
        yield "Stand-ins of the style shape are as long as the value, and tell its length."
    if totals["secrets"]:
        yield "A secret that was in a session is known to others: revoke it, redacted or not."


def _worded(done: str) -> dict[str, str]:
    """What becomes of a place, for people."""
    if done == "preview":
        return {"replaced": "to replace", "removed": "to remove", "kept": "to be kept"}
    return {action: action for action in _ACTIONS}
