"""Resume repaired sessions in the real agents, offline: what reaches the model, before and after.

    python tests/clients CLIENTS [--client NAME] [--node BIN] [--damages N] [--seed N]
        [--redact | --encrypt | --erase | --prune | --trash | --fork | --convert]

CLIENTS is a folder that agents were installed in with npm. Each damaged session of the shared
corpus, and N damages of our own to a sound one, is resumed bare, repaired (with --unsafe where
something is left), and resumed again. A row tells what was done and the messages, calls and
results that the model was sent. Exit status 1 where a session does not resume, or where
something that the damaged file still held is missing. With --redact it is sound sessions that
values are planted in, and that are redacted in place. With --encrypt a damaged session lives
through it all: repaired, encrypted, validated and compared while it is, rekeyed, decrypted. With
--erase sessions are erased from a home that Codex makes, and it must list and resume the others.
With --prune the output of tools is taken out of sound sessions by a retention policy. With --trash
a policy takes some sessions of a home that an agent makes, and one of them is restored. With --fork
sound sessions are forked, and those of a home that an agent makes also in the middle and again.
With --convert sound sessions go on in each of the other agents, and come back.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
ORACLE = SHARED / "clients" / "resume_oracle.py"
CORPUS = SHARED / "corpus"
_NEWEST = {"claude-code": "2.1.332", "codex": "0.171.0", "pi": "0.73.1"}
_NEWEST |= {"copilot": "1.0.102", "gemini-cli": "0.61.0", "qwen-code": "0.24.4"}
# What it sends of its own sound sessions has results twice, which the stand-in would refuse.
_LENIENT = ("gemini-cli",)
_BROKEN = CORPUS / "codex" / "_broken__codex-cli-0.171.0"
# Another provider's session, and what no version resumes: an empty file, the old bare shape.
_UNMENDED = ("other_provider", "bare_old", "empty_file")
# So begins what agents tell of themselves and of the folder that they run in.
_NO_HISTORY = ("<environment_context", "<session_context", "<system-reminder", "Managed memory has")
# Here the disk was full before the first prompt.
_NOTHING_SAID = "session-2026-11-29T17-00-20f521c3.jsonl"
# In these the session itself says that what stands before is no longer sent.
_TAKEN_BACK = ("compacted", "rollback")
_ELSEWHERE = {
    "claude-code": (b"", b""),
    "codex": (b'"mock"', b'"stub"'),
    "pi": (b'"cwd":"/srv/quest"', b'"cwd":"/"'),
    "qwen-code": (b"", b""),
}

sys.path[:0] = [str(ROOT), str(ORACLE.parent)]


class Case(NamedTuple):
    """A session to resume. `sound` is what it was before a damage, None where nobody knows.

    `whole` says that the damage took nothing away.
    """

    client: str
    name: str
    path: Path
    sound: Path | None = None
    whole: bool = False


def resume(options: argparse.Namespace, case: Case, path: Path) -> dict[str, Any]:
    """What the agent makes of a session file."""
    command = [sys.executable, str(ORACLE), "--clients", options.clients, "--client", case.client]
    if options.node:
        command += ["--path", options.node]
    if case.client in _LENIENT:
        command.append("--lenient")
    done = subprocess.run([*command, str(path)], capture_output=True, text=True, check=False)
    try:
        report: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        sys.exit(f"the client could not be run: {done.stderr[-300:]}")
    return report


def repair(path: Path, folder: Path) -> tuple[Path, str]:
    """A repaired copy, and the flags that it took."""
    copy = folder / path.name
    shutil.copyfile(path, copy)
    command = [sys.executable, "-m", "sesstool", "repair", "--isolated", "--write", str(copy)]
    flags: tuple[str, ...] = ()
    if subprocess.run(command, capture_output=True, cwd=ROOT, check=False).returncode == 1:
        flags = ("--unsafe", "--join-branches")
        subprocess.run([*command, *flags], capture_output=True, cwd=ROOT, check=False)
    return copy, " ".join(flags)


def missing(case: Case, sound: dict[str, Any] | None, after: dict[str, Any]) -> list[str]:
    """What the damaged file still held and the model was not sent."""
    if sound is None or case.sound is None:
        # What an agent echoes of a provider's error is never sent.
        lost = [entry for entry in after["dropped"] if not entry.startswith("API Error")]
        if case.client == "gemini-cli":
            lost = []  # what is no longer sent, the log of changes itself says
        return [] if case.path.parent.name in _TAKEN_BACK else [entry[:60] for entry in lost]
    from resume_oracle import on_disk, within  # noqa: PLC0415 - the path to it is set above

    data = case.path.read_bytes()
    texts = [text for text in sound["texts"] if not text.lstrip().startswith(_NO_HISTORY)]
    calls = [call[0] for call in sound["calls"]]
    if not case.whole:
        held: tuple[set[str], set[str]] = (set(), set())
        for line in case.sound.read_bytes().splitlines():
            if line in data:
                one = case.path.with_suffix(".line")
                one.write_bytes(line)
                said, called = on_disk(one, case.client)
                held[0].update(said)
                held[1].update(call[0] for call in called)
        texts = [text for text in texts if text in held[0]]
        calls = [call for call in calls if call in held[1]]
    lost = within(texts, after["texts"])[1] + within(calls, [c[0] for c in after["calls"]])[1]
    return [entry[:60] for entry in lost]


def told(report: dict[str, Any]) -> str:
    """A report in a few characters: messages, calls and results that were sent."""
    results = sum(call[2] is not None for call in report["calls"])
    sent = f"{len(report['texts'])}/{len(report['calls'])}/{results}"
    return sent if report["resumed"] else f"DEAD {sent}"


def prepared(client: str, path: Path, folder: Path) -> Path:
    """A copy that can be resumed here, whatever else is wrong with it.

    The stand-in for the provider goes by its own name, and pi wants the session's folder to exist.
    """
    old, new = _ELSEWHERE.get(client, (b"", b""))
    copy = folder / path.name
    folder.mkdir()
    copy.write_bytes(path.read_bytes().replace(old, new))
    return copy


def damaged(client: str, work: Path) -> list[Case]:
    """The damaged sessions of the corpus; `work` is for copies."""
    folder = CORPUS / "real-clients"
    with (folder / "INDEX.tsv").open(encoding="utf-8") as index:
        rows = [r for r in csv.DictReader(index, delimiter="\t") if r["client"] == client]
    found = []
    for n, row in enumerate(rows):
        whole = row["damage"] == "-" or row["records"] in ("0", "1")
        if not whole and "agent-" not in row["file"] and _NOTHING_SAID not in row["file"]:
            copy = prepared(client, folder / row["file"], work / f"real-{n}")
            found.append(Case(client, f"{row['version']} {row['scenario']}", copy))
    for path in sorted(_BROKEN.glob("*/*.jsonl")) if client == "codex" else ():
        if path.stat().st_size and path.parent.name not in _UNMENDED:
            copy = prepared(client, path, work / path.parent.name)
            found.append(Case(client, f"broken {path.parent.name}", copy))
    return found


def made(client: str, count: int, seed: int, folder: Path) -> list[Case]:
    """Damages of our own, single and in pairs, to a sound session."""
    from tests.damages import ADDS_NOISE, OTHER  # noqa: PLC0415 - the path to it is set above

    version = CORPUS / "real-clients" / client / _NEWEST[client] / "bag"
    largest = max(version.rglob("*.jsonl"), key=lambda path: path.stat().st_size)
    sound = prepared(client, largest, folder / "sound")
    rng, cases = random.Random(seed), []
    tables = [*ADDS_NOISE, *OTHER]
    for n in range(count):
        damages = [tables[n % len(tables)]] + ([rng.choice(OTHER)] if n >= len(tables) else [])
        data = sound.read_bytes()
        for damage in damages:
            data = damage(rng, data)
        path = folder / f"{n}" / sound.name
        path.parent.mkdir()
        path.write_bytes(data)
        whole = all(damage in ADDS_NOISE for damage in damages)
        cases.append(Case(client, "+".join(d.__name__ for d in damages), path, sound, whole))
    return cases


def sound(client: str, folder: Path) -> Iterator[Case]:
    """The sound sessions of the corpus."""
    with (CORPUS / "real-clients" / "INDEX.tsv").open(encoding="utf-8") as index:
        rows = [r for r in csv.DictReader(index, delimiter="\t") if r["client"] == client]
    for n, row in enumerate(rows):
        if (
            row["damage"] == "-"
            and row["records"] not in ("0", "1")
            and "agent-" not in row["file"]
        ):
            copy = prepared(client, CORPUS / "real-clients" / row["file"], folder / f"sound-{n}")
            yield Case(client, f"{row['version']} {row['scenario']}", copy)


def planted(line: bytes) -> bytes:
    """A record with a token, an address and a card behind every text that people would read."""
    token = "ghp_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA1bC2"  # invented; the parts are no token
    value = b" (" + token.encode() + b", ana.diaz@kiln-works.fi, 4111 1111 1111 1111)"
    try:
        json.loads(line)
    except ValueError:
        return line
    return _SAID.sub(lambda m: m[0] + value, line)


# The end of the text of a message, a thought, a tool's output.
_SAID = re.compile(
    rb'"(?:text|thinking|content|output|stdout|message)":"(?!<)[^"\\]*+(?:\\.[^"\\]*+)*+(?=")'
)


def said(report: dict[str, Any]) -> int:
    """How many messages were sent, without what Codex tells of the place where it runs."""
    own = ("<environment_context", "# AGENTS.md instructions")
    return sum(not text.startswith(own) for text in report["texts"])


def redacted(options: argparse.Namespace, folder: Path) -> int:
    """Print the table of redacted sessions; returns how many are bad.

    The values are compared with nothing but the file: a provider refuses planted thinking.
    """
    bad = 0
    print(f"{'session':44} {'sound':14} {'redacted':14} sent: messages/calls/results")
    for case in sound(options.client, folder):
        before = resume(options, case, case.path)
        if not before["resumed"]:
            continue  # a fork by reference, whose parent is not beside it
        lines = case.path.read_bytes().split(b"\n")
        case.path.write_bytes(b"\n".join(map(planted, lines)))
        flags = ("--write", "--in-place", "--yes", "--profile", "resume")
        command = [sys.executable, "-m", "sesstool", "redact", "--isolated", *flags]
        done = subprocess.run(
            [*command, str(case.path)], capture_output=True, cwd=ROOT, check=False, text=True
        )
        after = resume(options, case, case.path)
        faults = [] if after["resumed"] else ["does not resume"]
        # A message of nothing but a thought says that it went.
        faults += ["fewer messages"] * (said(after) < said(before))
        faults += ["other calls"] * (told(before).split("/")[1:] != told(after).split("/")[1:])
        faults += ["a value is left"] * (b"ana.diaz@" in case.path.read_bytes())
        faults += [done.stderr[-200:]] * bool(done.returncode)
        bad += bool(faults)
        print(f"{case.name:44} {told(before):14} {told(after):14} {faults or ''}", flush=True)
    return bad


def pruned(options: argparse.Namespace, folder: Path) -> int:
    """Print the table of sessions without the output of their tools; returns how many are bad."""
    policy = folder / "retention.toml"
    policy.write_text(
        'version = 1\n[[rule]]\nname = "out"\nmatch = { part = "tool-results" }\n'
        'expire_after = "1h"\naction = "redact-payload"\n'
    )
    stub = "[tool output removed by retention rule out]"
    command = [sys.executable, "-m", "sesstool", "prune", "--policy", str(policy), "--isolated"]
    command += ["--trust-clock", "--write", "--yes", "--all"]
    environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
    bad = 0
    print(f"{'session':44} {'sound':14} {'pruned':14} sent: messages/calls/results; stubs")
    for case in sound(options.client, folder):
        before = resume(options, case, case.path)
        if not before["resumed"]:
            continue  # a fork by reference, whose parent is not beside it
        os.utime(case.path, (0, 0))
        done = subprocess.run(
            [*command, str(case.path)],
            capture_output=True,
            env=environment,
            cwd=ROOT,
            check=False,
            text=True,
        )
        if "yet to come" in done.stdout:
            print(f"{case.name:44} not pruned: it was made with a clock that was ahead", flush=True)
            continue
        after = resume(options, case, case.path)
        stubs = [call for call in after["calls"] if stub in (call[2] or "")]
        said = [call[2] for call in after["calls"] if call[2] and call not in stubs]
        faults = [] if after["resumed"] else ["does not resume"]
        faults += ["other calls"] * (
            [c[:2] for c in before["calls"]] != [c[:2] for c in after["calls"]]
        )
        faults += ["other messages"] * (len(before["texts"]) != len(after["texts"]))
        faults += [f"{len(said)} outputs are left"] * bool(said)
        faults += [done.stderr[-200:]] * bool(done.returncode)
        bad += bool(faults)
        row = f"{case.name:44} {told(before):14} {told(after):14} {len(stubs)}"
        print(row, faults or "", flush=True)
    return bad


def copied(options: argparse.Namespace, folder: Path) -> int:
    """Print the table of forks of sessions that lie in no home; returns how many are bad."""
    from fork import fork  # noqa: PLC0415 - the path to sesstool is set by the caller

    bad = 0
    print(f"{'session':44} {'sound':14} {'fork':14} sent: messages/calls/results")
    for n, case in enumerate(sound(options.client, folder)):
        before = resume(options, case, case.path)
        if not before["resumed"]:
            continue  # a fork by reference, whose parent is not beside it
        work = folder / f"fork-{n}"
        work.mkdir()
        data = case.path.read_bytes()
        made = fork(case.path, folder / "state", "-o", str(work))
        after = resume(options, case, Path(str(made["path"])))
        faults = [] if after["resumed"] else ["does not resume"]
        faults += ["other calls or results"] * (before["calls"] != after["calls"])
        faults += ["other messages"] * (spoken(before) != spoken(after))
        faults += ["the session has other bytes"] * (case.path.read_bytes() != data)
        bad += bool(faults)
        print(f"{case.name:44} {told(before):14} {told(after):14} {faults or ''}", flush=True)
    return bad


def spoken(report: dict[str, Any]) -> list[str]:
    """The messages that were sent, without what an agent tells of the place where it runs."""
    return [text for text in report["texts"] if not text.lstrip().startswith(("<", "# AGENTS.md"))]


def encrypted(options: argparse.Namespace, folder: Path) -> int:
    """Print the table of sessions that were encrypted for a while; returns how many are bad."""

    def run(*arguments: str | Path) -> str:
        command = [sys.executable, "-m", "sesstool", *map(str, arguments)]
        environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
        environment["PYTHONPATH"] = str(ROOT)
        done = subprocess.run(
            command, capture_output=True, env=environment, cwd=folder, check=False, text=True
        )
        return f"{done.returncode} {done.stdout}"

    whom = [run("keygen", "-o", f"{n}.key").split()[-1] for n in (1, 2)]
    bad = 0
    print(f"{'session':44} {'repaired':14} {'decrypted':14} sent: messages/calls/results")
    for n, case in enumerate(damaged(options.client, folder)):
        work = folder / f"work-{n}"
        work.mkdir()
        plain, _ = repair(case.path, work)
        plain.chmod(0o600)
        twin = shutil.copyfile(plain, work / "twin.jsonl")
        before, data = resume(options, case, plain), plain.read_bytes()
        judged = run("validate", "--isolated", "-f", "concise", plain)
        sealed = plain.with_name(f"{plain.name}.age")
        steps = [run("encrypt", "--write", "--yes", "-r", whom[0], plain)[0]]
        left = plain.exists()
        again = run("validate", "--isolated", "-f", "concise", "-i", "1.key", sealed)
        same = judged == again.replace(str(sealed), str(plain))
        steps += [run("diff", "--stat", "-i", "1.key", sealed, twin)[0]]
        steps += [run("rekey", "--write", "-i", "1.key", "-r", whom[1], sealed)[0]]
        steps += [run("decrypt", "--write", "-i", "2.key", sealed)[0]]
        after = resume(options, case, plain)
        faults = ["a plain file is left"] * left + ["validate says something else"] * (not same)
        faults += [f"exit codes {steps}"] * (steps != ["0"] * 4)
        faults += ["other bytes"] * (plain.read_bytes() != data)
        faults += ["does not resume"] * (not after["resumed"])
        faults += ["sends something else"] * (told(before) != told(after))
        bad += bool(faults)
        print(f"{case.name:44} {told(before):14} {told(after):14} {faults or ''}", flush=True)
    return bad


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("clients")
    parser.add_argument("--client", choices=sorted(_NEWEST), default="claude-code")
    parser.add_argument("--node", default="", help="a folder to put before PATH")
    parser.add_argument("--damages", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--redact", action="store_true")
    parser.add_argument("--encrypt", action="store_true")
    parser.add_argument("--erase", action="store_true")
    parser.add_argument("--prune", action="store_true")
    parser.add_argument("--trash", action="store_true")
    parser.add_argument("--fork", action="store_true")
    parser.add_argument("--convert", action="store_true")
    options = parser.parse_args()
    if not ORACLE.exists():
        sys.exit(f"there is no {ORACLE}: the shared files are not beside this checkout")
    bad = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.redact:
            return int(bool(redacted(options, folder)))
        if options.erase:
            from erase import erased  # noqa: PLC0415 - the path to sesstool is set above

            script = ORACLE.with_name("stub_provider.py")
            return int(bool(erased(options.clients, script, folder)))
        if options.prune:
            return int(bool(pruned(options, folder)))
        if options.trash:
            from trash import trashed  # noqa: PLC0415 - the path to sesstool is set above

            os.environ["PATH"] = f"{options.node}:{os.environ['PATH']}".lstrip(":")
            script = ORACLE.with_name("stub_provider.py")
            return int(bool(trashed(options.client, options.clients, script, folder)))
        if options.fork:
            from fork import forked  # noqa: PLC0415 - the path to sesstool is set above

            os.environ["PATH"] = f"{options.node}:{os.environ['PATH']}".lstrip(":")
            script = ORACLE.with_name("stub_provider.py")
            bad = forked(options.client, options.clients, script, folder)
            return int(bool(bad + (copied(options, folder) if options.corpus else 0)))
        if options.convert:
            from convert import converted  # noqa: PLC0415 - the path to sesstool is set above

            def resumed(client: str, path: Path) -> dict[str, Any]:
                chosen = argparse.Namespace(**{**vars(options), "client": client})
                return resume(chosen, Case(client, path.name, path), path)

            found = ((case.name, case.path) for case in sound(options.client, folder))
            return int(bool(converted(options.client, found, resumed, prepared, folder)))
        if options.encrypt:
            return int(bool(encrypted(options, folder)))
        cases = damaged(options.client, folder) if options.corpus else []
        cases += made(options.client, options.damages, options.seed, folder)
        known: dict[Path, dict[str, Any]] = {}
        print(f"{'session':44} {'bare':14} {'after':14} sent: messages/calls/results")
        for n, case in enumerate(cases):
            if case.sound and case.sound not in known:
                known[case.sound] = resume(options, case, case.sound)
            work = folder / f"work-{n}"
            work.mkdir()
            bare = resume(options, case, case.path)
            copy, flags = repair(case.path, work)
            after = resume(options, case, copy)
            lost = missing(case, known.get(case.sound) if case.sound else None, after)
            verdict = "" if after["resumed"] and not lost else f"BAD {lost[:3]}"
            bad += bool(verdict)
            print(f"{case.name:44} {told(bare):14} {told(after):14} {flags} {verdict}", flush=True)
    print(f"{len(cases)} sessions, {bad} bad")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
