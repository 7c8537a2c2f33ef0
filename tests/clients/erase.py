"""Erase one session of a home that the real Codex made, and see what is left, offline.

Two sessions that go and three that stay are made, one of each pair as a fork by reference. What
Codex keeps of those that go is counted, `prune --erase --clean-up` takes it away with their files,
and then no file of the home holds their prompts, and Codex lists and resumes the others.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sesstool.formats.codex import Codex
from sesstool.retention import cleanup
from sesstool.retention.leftovers import leftovers

GO = ['The vermilion heron counts "seven" bridges\nand a naïve cobalt otter.', "vermilion encore"]
STAY = ["The saffron lynx sews quietly.", "An umber newt reads maps.", "saffron encore"]
_CONFIG = """model = "stub"
model_provider = "stub"
[model_providers.stub]
name = "stub"
base_url = "{base}/v1"
env_key = "STUB_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
"""


class Home:
    """A home folder, the provider that Codex talks to in it, and Codex."""

    def __init__(self, clients: str, work: Path, base: str) -> None:
        self.codex = Path(clients).resolve() / "node_modules" / ".bin" / "codex"
        self.folder = work / "home" / ".codex"
        self.project = work / "project"
        self.folder.mkdir(parents=True)
        self.project.mkdir()
        (self.folder / "config.toml").write_text(_CONFIG.format(base=base))
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder.parent)}
        self.environment |= {"TERM": "dumb", "LANG": "C.UTF-8", "STUB_KEY": "dummy"}

    def run(self, *arguments: str) -> str:
        """Run a prompt; returns the thread's id, "" where it fails."""
        flags = ("--skip-git-repo-check", "--json", "--dangerously-bypass-approvals-and-sandbox")
        done = subprocess.run(
            [self.codex, "exec", *flags, *arguments],
            cwd=self.project,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        told = re.search(r'"thread_id":"([^"]+)"', done.stdout)
        return told[1] if told and not done.returncode else ""

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        """The answer of Codex's own server to one request."""
        with subprocess.Popen(
            [self.codex, "app-server"],
            cwd=self.project,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as server:
            assert server.stdin is not None
            assert server.stdout is not None
            client = {"clientInfo": {"name": "test", "title": "test", "version": "1"}}
            for value in (
                {"id": 0, "method": "initialize", "params": client},
                {"method": "initialized"},
                {"id": 1, "method": method, "params": params},
            ):
                server.stdin.write(json.dumps(value) + "\n")
                server.stdin.flush()
            for line in server.stdout:
                answer = json.loads(line)
                if answer.get("id") == 1 and "method" not in answer:
                    return answer["result"]
        sys.exit(f"codex app-server did not answer {method}")

    def fork(self, thread: str, prompt: str) -> str:
        """A fork by reference, which goes on with a prompt."""
        made = str(self.ask("thread/fork", {"threadId": thread})["thread"]["id"])
        return self.run("resume", made, prompt)

    def listed(self) -> set[str]:
        """The ids of the threads that Codex lists."""
        every = {"sourceKinds": ["cli", "vscode", "exec", "appServer"]}
        return {row["id"] for row in self.ask("thread/list", every)["data"]}

    def rollout(self, thread: str) -> Path:
        """The file of a thread."""
        return next(self.folder.glob(f"sessions/**/*{thread}.jsonl"))


@contextmanager
def provider(script: Path, log: Path) -> Iterator[str]:
    """The stand-in for the model; yields its address."""
    command = [sys.executable, str(script), "--port", "0", "--log", str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            told = re.search(r":(\d+)", server.stdout.readline())
            assert told
            yield f"http://127.0.0.1:{told[1]}"
        finally:
            server.kill()


def erased(clients: str, script: Path, work: Path) -> int:
    """Print what was erased and what is left; returns how many things are bad."""
    requests = work / "requests.jsonl"
    with provider(script, requests) as base:
        home = Home(clients, work, base)
        goes = [home.run(GO[0])]
        stays = [home.run(STAY[0]), home.run(STAY[1])]
        home.ask("thread/name/set", {"threadId": goes[0], "name": GO[1]})
        goes.append(home.fork(goes[0], GO[1]))
        stays.append(home.fork(stays[0], STAY[2]))
        # As an interactive Codex notes prompts, which none here is.
        typed = zip([*goes, *stays], [*GO, *STAY], strict=True)
        lines = [json.dumps({"session_id": one, "ts": 1, "text": said}) for one, said in typed]
        (home.folder / "history.jsonl").write_text("\n".join(lines) + "\n")
        print(f"{'file':28} {'pieces':>6}  what")
        held = leftovers(home.folder, GO)
        for thread in goes:
            for one in cleanup.found(Codex(), home.rollout(thread)):
                print(f"{one.path.name:28} {one.count:6}  {one.trace.what}")
        # Both at once, the fork and what it reads from, as people do it.
        flags = ("--erase", "--clean-up", "--write", "--yes", *goes)
        done = subprocess.run(
            [sys.executable, "-m", "sesstool", "prune", "--isolated", *flags],
            env=os.environ | {"HOME": str(home.folder.parent), "XDG_STATE_HOME": str(work)},
            capture_output=True,
            text=True,
            check=False,
        )
        faults = [done.stderr[-300:]] * bool(done.returncode)
        faults += [f"{path.name} still holds a prompt" for path in leftovers(home.folder, GO)]
        faults += ["no file held a prompt before"] * (len(held) < 5)
        faults += ["it lists others"] * (home.listed() != set(stays))
        faults += [f"{one} does not resume" for one in stays if not _resumed(home, one, requests)]
        # The other way: what Codex makes anew is deleted whole.
        for residue in cleanup.found(Codex(), home.rollout(stays[0])):
            if residue.trace.lost:
                cleanup.clean(residue, work / "state", ignore_live=True, whole=True)
                print(f"{residue.path.name:28} {'whole':>6}  lost: {residue.trace.lost}")
        faults += ["it lists others after that"] * (home.listed() != set(stays))
        faults += [f"{one} is dead then" for one in stays if not _resumed(home, one, requests)]
    print(f"{len(held)} files held a prompt of the erased sessions; bad: {faults or 'nothing'}")
    return len(faults)


def _resumed(home: Home, thread: str, requests: Path) -> bool:
    """Whether the thread resumes, and sends the model what was said in it first."""
    seen = requests.stat().st_size
    if home.run("resume", thread, "and on") != thread:
        return False
    with requests.open("rb") as handle:
        handle.seek(seen)
        sent = handle.read().decode()
    return any(said.split(".")[0] in sent for said in STAY[:2])
