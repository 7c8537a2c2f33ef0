"""Prune a home that a real agent made, by policy: who stays and who is restored still resumes.

Four sessions with a call each are made, two of them in their second turn. Two go to the trash; the
others must send the model what they sent before, and so must the one that is restored. The other
one the agent knows no longer, and no file of the home holds what was said in it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from erase import Home, provider

from sesstool.api import retaining
from sesstool.retention import policy, trash
from sesstool.retention.leftovers import leftovers

_WORDS = ("vermilion heron", "saffron lynx", "umber newt", "cobalt otter")
_ASKED = 'DO: shell {{"command": "echo the {} counts seven bridges"}}'
_ON = "and on with the {}"
_OFF = "DISABLE_TELEMETRY DISABLE_AUTOUPDATER IS_SANDBOX CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"
_POLICY = """version = 1
[defaults]
max_delete_fraction = 1.0
[[rule]]
name = "old"
match = {{ session = {} }}
expire_after = "1h"
action = "trash"
"""
Sent = tuple[list[str], list[list[Any]]]


class Claude:
    """Claude Code in a home of its own; `folder` is that home."""

    program, home = "claude", ".claude"

    def __init__(self, clients: str, work: Path, base: str) -> None:
        self.program = str(Path(clients).resolve() / "node_modules" / ".bin" / self.program)
        self.folder = work / "home" / self.home
        self.project = work / "project"
        for folder in (self.folder, self.project):
            folder.mkdir(parents=True)
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(work / "home")}
        self.environment |= {"TERM": "dumb", "LANG": "C.UTF-8", "CLAUDE_CODE_MAX_RETRIES": "0"}
        self.environment |= {"ANTHROPIC_BASE_URL": base, "ANTHROPIC_API_KEY": "dummy"}
        self.environment |= dict.fromkeys(_OFF.split(), "1")

    def run(self, *arguments: str) -> str:
        """Run a prompt; returns the session's id, "" where it fails."""
        done = subprocess.run(
            [self.program, "-p", arguments[-1], *self.flags(*arguments[1:-1])],
            cwd=self.project,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        told = re.search(r'"(?:session_)?id":"([0-9a-f-]{36})"', done.stdout)
        return told[1] if told and not done.returncode else ""

    def flags(self, *session: str) -> list[str]:
        """The options with which it resumes the session, if one is named."""
        resume = ["--resume", *session] if session else []
        return ["--output-format", "json", "--dangerously-skip-permissions", *resume]


class Pi(Claude):
    """pi, likewise."""

    program, home = "pi", ".pi/agent"

    def __init__(self, clients: str, work: Path, base: str) -> None:
        super().__init__(clients, work, base)
        stub = {"baseUrl": f"{base}/v1", "api": "openai-completions", "apiKey": "dummy"}
        models = {"providers": {"stub": stub | {"models": [{"id": "stub"}]}}}
        (self.folder / "models.json").write_text(json.dumps(models))
        self.environment |= {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1"}

    def flags(self, *session: str) -> list[str]:
        """The options with which it resumes the session, if one is named."""
        files = [str(path) for one in session for path in self.folder.rglob(f"*{one}.jsonl")]
        resume = ["--session", *(files or ["none.jsonl"])] if session else []
        return ["--provider", "stub", "--model", "stub", "--mode", "json", *resume]


AGENTS = {"claude-code": Claude, "codex": Home, "pi": Pi}


def trashed(client: str, clients: str, script: Path, work: Path) -> int:
    """Print what each session sends before and after; returns how many things are bad."""
    requests, state = work / "requests.jsonl", work / "state"
    with provider(script, requests) as base:
        agent = AGENTS[client](clients, work, base)

        def sent(session: str, words: str) -> Sent:
            """What the model is sent where a session is resumed; nothing where it is not."""
            seen = requests.stat().st_size
            if agent.run("resume", session, _ON.format(words)) != session:
                return [], []
            with requests.open("rb") as handle:
                handle.seek(seen)
                return history(handle.read().splitlines(), _ON.format(words))

        sessions = {agent.run(_ASKED.format(words)): words for words in _WORDS}
        before = {session: sent(session, words) for session, words in sessions.items()}
        gone, back, *stay = sessions
        rule = policy.parse(_POLICY.format(json.dumps([gone, back])).encode(), "a policy")
        later = datetime.now(UTC) + timedelta(hours=2)
        plan = retaining.plan([str(agent.folder)], rule, later, state=state)
        done = list(retaining.apply(plan, state=state, ignore_live=True))
        faults = [str(one.skipped) for one in done if one.skipped]
        faults += ["it took others away"] * (
            {row.group.session for row in plan.changes} != {gone, back}
        )
        after = {session: sent(session, sessions[session]) for session in (gone, back, *stay)}
        for session in (gone, back):
            faults += [f"{sessions[session]} resumes"] * bool(after[session][0])
        for entry in trash.entries(state):
            if entry.session == back:
                trash.restore(entry)
        after[back] = sent(back, sessions[back])
        print(f"{'session':20} {'before':10} {'after':10} sent: messages/calls")
        for session, words in sessions.items():
            if session != gone:
                faults += [f"{words} {fault}" for fault in _lost(before[session], after[session])]
            told = [
                f"{len(texts)}/{len(calls)}" for texts, calls in (before[session], after[session])
            ]
            print(f"{words:20} {told[0]:10} {told[1]:10}")
        # A database and a history that several share are no pieces: `--erase` is for these.
        held = [path.name for path in leftovers(agent.folder, [f"the {sessions[gone]} counts"])]
        faults += [f"{name} holds words" for name in held if not re.search("sqlite|history", name)]
    print(f"bad: {faults or 'nothing'}")
    return len(faults)


def history(lines: list[bytes], prompt: str) -> Sent:
    from resume_oracle import history as told  # noqa: PLC0415 - the path to it is set by the caller

    bodies = [json.loads(line).get("body", {}) for line in lines]
    asked = [body for body in bodies if prompt in json.dumps(body)]
    if not asked:
        return [], []
    texts, calls = told(asked[-1].get("messages") or asked[-1].get("input") or [])
    return [text for text in texts if not text.lstrip().startswith("<")], calls


def _lost(before: Sent, after: Sent) -> list[str]:
    """What a session sent once and does not send again."""
    faults = ["sent no call, or no result"] * (not before[1] or None in before[1][0])
    faults += ["sends fewer messages"] * bool(Counter(before[0]) - Counter(after[0]))
    faults += ["sends other calls or results"] * (after[1][: len(before[1])] != before[1])
    return faults
