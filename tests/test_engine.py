"""One run of the rules: order, foreign formats, progress, causes."""

from __future__ import annotations

from itertools import pairwise

from sesstool.checks import engine
from sesstool.checks.context import Options
from sesstool.findings import Applicability
from tests.conftest import (
    ROLLOUT,
    Memory,
    answer,
    codes,
    dump,
    event,
    jsonl,
    look,
    meta,
    prompt,
    result,
    said,
    says,
    talk,
    use,
)


def test_findings_are_in_order_of_place():
    """Findings go from the first byte to the last, those about the file at the end."""
    data = b"WARN\n" + jsonl(prompt(1, None), answer(2, 1, use("a")), prompt(3, 9)) + b'{"cut'
    places = [f.location.start for f in look(data).findings]
    assert len(places) > 3
    assert all(a <= b for a, b in pairwise(places))


def test_a_format_that_is_only_named_is_never_repaired():
    """Of a foreign session only bytes and JSON are judged, and every fix is manual."""
    foreign = {"type": "turn.prompt", "input": [{"type": "text", "text": "x"}], "time": 1}
    report = look(jsonl(foreign, foreign) + b'{"cut')
    assert codes(report) == ["B104"]
    assert report.findings[0].fix.applicability is Applicability.MANUAL


def test_progress_is_told():
    """Every thousandth line or so, the offset reached is told."""
    told: list[int] = []
    data = jsonl(*(said("user", str(n)) for n in range(3000)))
    engine.examine(Memory(data), Options(), progress=told.append)
    assert len(told) == 2
    assert told == sorted(told)


def test_a_consequence_names_its_cause():
    """What a torn line left open names the finding about that line."""
    call = answer(2, 1, use("toolu_lamp_1"))
    torn = dump(result(3, 2, "toolu_lamp_1"))[:-12]
    report = look(jsonl(prompt(1, None), call, torn, prompt(4, 3)))
    by_code = {f.code: f for f in report.findings}
    assert sorted(by_code) == ["B105", "G501", "T401"]
    assert by_code["T401"].cause == by_code["G501"].cause == by_code["B105"].key


def test_a_doubled_file_is_one_finding():
    """A file that holds everything twice has not a finding for each record."""
    assert codes(look(jsonl(*talk(4), *talk(4)))) == ["B116"]


def test_a_repeated_chat_is_information():
    """Plain messages may be said twice: that is told, and never cut."""
    report = look(jsonl(*[said("user", "again?"), said("assistant", "yes")] * 2))
    (finding,) = report.findings
    assert (finding.code, finding.severity) == ("B116", "information")
    assert finding.fix.applicability is Applicability.MANUAL
    assert codes(look(jsonl(said("user"), said("user")))) == []


def test_a_dead_branch_has_no_errors():
    """Calls and results that no resume reaches are information at most."""
    dead = [answer(2, 1, use("a"), use("b")), result(3, 2, "a"), result(4, 3, "a", "x")]
    report = look(jsonl(prompt(1, None), *dead, result(5, 4, "z"), prompt(6, 1)))
    assert set(codes(report)) == {"T401", "T402", "G506"}
    assert {str(f.severity) for f in report.findings} == {"information"}


def test_what_a_compaction_replaced_is_not_lost():
    """A message that only an event tells is no loss where a compaction follows."""
    compacted = {"timestamp": "t", "type": "compacted", "payload": {"message": "so far"}}
    told = event("agent_message", message="at ten")
    assert codes(look(jsonl(meta(), told, says("user", "x")), name=ROLLOUT)) == ["G510"]
    assert codes(look(jsonl(meta(), told, compacted, says("user", "x")), name=ROLLOUT)) == []


def test_a_copied_header_right_behind_the_first_is_sound():
    """Older forks hold the header of the session they came from on the second line."""
    assert codes(look(jsonl(meta(), meta(id="x"), says("user", "x")), name=ROLLOUT)) == []


def test_what_is_left_over_holds_a_rewriting_back():
    """A file that another program rewrote is mended safely only where nothing is left over."""
    array = b"[" + b",\n".join(map(dump, talk(3))) + b"]\n"
    whole, left_over = look(array), look(array.replace(b"]\n", b',\n{"cut'))
    assert {f.fix.applicability for f in whole.findings} == {Applicability.SAFE}
    assert {f.fix.applicability for f in left_over.findings} == {Applicability.UNSAFE}
    assert {f.fix.flag for f in left_over.findings} == {"--unsafe"}
