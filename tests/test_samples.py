"""Every sample beside its expectation: a new sample needs no code."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from sesstool import api
from sesstool.api import redaction
from sesstool.findings import Severity
from sesstool.records.edits import EditSet

SAMPLES = Path(__file__).parents[1] / "samples"
# The pairs in forks/ have expectations of their own, see test_diff_samples.py.
FILES = sorted(SAMPLES.glob("*/*.jsonl"))
every_sample = pytest.mark.parametrize(
    "sample", FILES, ids=lambda p: p.relative_to(SAMPLES).as_posix(), indirect=True
)
# The beginnings of keys of well-known services, and any long run of mixed letters and digits.
_CREDENTIAL = re.compile(
    rb"sk-|ghp_|AKIA|xox[abp]-|-----BEGIN|(?=\w*[0-9])(?=\w*[A-Z])(?=\w*[a-z])\w{40}"
)


@pytest.fixture
def sample(request, tmp_path):
    """A private copy of a sample with its side file, and what is expected of it."""
    path = tmp_path / request.param.name
    for file in (request.param, request.param.with_suffix(".meta.json")):
        if file.exists():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    path.chmod(0o600)
    return path, json.loads(request.param.with_suffix(".expect.json").read_text())


def mend(path, expect):
    return api.repair(path, choice=api.Choice(unsafe=expect["repaired"]["unsafe"]))


def untouched(data: bytes, edits: EditSet) -> list[bytes]:
    """The lines of a file that no edit touches, at their edges neither."""
    edges = [0, *(m.end() for m in re.finditer(rb"\n", data)), len(data)]
    return [
        data[start:end]
        for start, end in pairwise(edges)
        if start < end and not any(e.start < end and e.end >= start for e in edits)
    ]


def test_samples_are_there():
    """There are good, damaged, forked and private samples, and each has its expectation."""
    assert {p.parent.name for p in FILES} == {"good", "damaged", "forked", "private"}
    assert all(p.with_suffix(".expect.json").exists() for p in FILES)
    assert len(list(SAMPLES.rglob("*.expect.json"))) == len(FILES)


@every_sample
def test_findings(sample):
    """Validate says exactly what is expected, and changes nothing."""
    path, expect = sample
    before = path.read_bytes()
    report = api.validate(path)
    found = [[f.code, f.location.line, str(f.severity)] for f in report.findings]
    assert (report.format, found) == (expect["format"], expect["findings"])
    assert path.read_bytes() == before


@every_sample
def test_repair(sample):
    """A repair leaves what is expected, keeps every other line, and has no second helping."""
    path, expect = sample
    before = path.read_bytes()
    repair = mend(path, expect)
    left = [f for f in repair.outcome.after.findings if f.severity is not Severity.INFORMATION]
    assert [f.code for f in left] == expect["repaired"]["left"]
    if repair:
        api.apply(api.plan_of([repair]))
    after = path.read_bytes()
    assert after == repair.outcome.edits.apply(before)
    rest = iter(after.splitlines(keepends=True))
    assert all(line in rest for line in untouched(before, repair.outcome.edits))
    assert not mend(path, expect)


@every_sample
def test_resume(sample):
    """Resume counts the messages that are sent, of those that there are."""
    path, expect = sample
    report = api.resume(path)
    assert [report.sent, report.present] == expect["sent"]


@pytest.mark.parametrize("path", list((SAMPLES / "good").glob("*.jsonl")), ids=lambda p: p.stem)
def test_good_samples_have_no_fault(path):
    """A good sample expects no finding and no change."""
    expect = json.loads(path.with_suffix(".expect.json").read_text())
    assert expect["findings"] == []
    assert not api.repair(path).outcome.edits


@pytest.mark.parametrize("path", sorted(SAMPLES.rglob("*.jsonl")), ids=lambda p: p.stem)
def test_no_sample_holds_what_looks_like_a_credential(path):
    """A sample must not set off a scanner for secrets."""
    assert not _CREDENTIAL.search(path.read_bytes())


@pytest.mark.parametrize("path", list((SAMPLES / "private").glob("*.jsonl")), ids=lambda p: p.stem)
@pytest.mark.parametrize("profile", ["resume", "share"])
def test_private_samples_lose_what_is_expected(path, profile):
    """Each value goes, by the rules that are expected, and what is near it stays."""
    expect = json.loads(path.with_suffix(".expect.json").read_text())["redacted"]
    with redaction.redact([path], redaction.Choice(profile=profile)) as done:
        (file,) = done.files
        after = b"".join(file.result.chunks()).decode()
    assert dict(file.summary.rules) == expect["rules"]
    assert [value for value in expect["gone"] if value in after] == []
    assert [text for text in expect["kept"] if text not in after] == []
