"""Fork sessions and resume the forks in the real agents, offline: what reaches the model.

In a home that the agent makes, a session with a call in each of two turns is forked whole and after
its first turn, and the fork is forked again. Each must send the model what the session sends, up
to where it was forked, and the session itself must send what it sent before, from the same bytes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from erase import provider
from trash import AGENTS, Sent, history

_ASKED = 'DO: shell {{"command": "echo the {} counts seven bridges"}}'
_FIRST, _SECOND = "vermilion heron", "saffron lynx"
_ON = "and on with the cobalt otter"


def fork(path: Path, state: Path, *flags: str) -> dict[str, object]:
    """What the command tells of a fork that it makes."""
    done = subprocess.run(
        [sys.executable, "-m", "sesstool", "fork", "--isolated", "-f", "json", *flags, str(path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
        env={"PATH": "", "HOME": str(state), "XDG_STATE_HOME": str(state)},
    )
    if done.returncode:
        sys.exit(f"no fork was made: {done.stderr[-300:]}")
    value: dict[str, object] = json.loads(done.stdout)
    return value


def forked(client: str, clients: str, script: Path, work: Path) -> int:
    """Print what each session sends; returns how many things are bad."""
    requests, state = work / "requests.jsonl", work / "state"
    faults: list[str] = []
    with provider(script, requests) as base:
        agent = AGENTS[client](clients, work, base)

        def sent(session: str) -> Sent:
            """What the model is sent where a session is resumed; nothing where it is not."""
            seen = requests.stat().st_size
            if agent.run("resume", session, _ON) != session:
                return [], []
            with requests.open("rb") as handle:
                handle.seek(seen)
                texts, calls = history(handle.read().splitlines(), _ON)
            return [text for text in texts if _ON not in text], calls

        session = agent.run(_ASKED.format(_FIRST))
        (path,) = (p for p in agent.folder.rglob(f"*{session}*.jsonl") if p.is_file())
        turn = path.read_bytes().count(b"\n")
        agent.run("resume", session, _ASKED.format(_SECOND))
        before = path.read_bytes()
        whole = fork(path, state)
        part = fork(path, state, "--at", _last(path, turn))
        again = fork(Path(str(whole["path"])), state)
        faults += ["the session has other bytes"] * (path.read_bytes() != before)
        own = sent(session)
        print(f"{'session':16} {'sent':8} messages/calls")
        print(f"{'itself':16} {len(own[0])}/{len(own[1])}")
        for name, made, calls in (
            ("whole", whole, 2),
            ("first turn", part, 1),
            ("again", again, 2),
        ):
            texts, given = sent(str(made["session_id"]))
            way = " by reference" if made["by_reference"] else ""
            print(f"{name:16} {len(texts)}/{len(given)}{way}")
            faults += [f"{name}: {len(given)} calls"] * (len(given) != calls)
            faults += [f"{name}: other calls or results"] * (given != own[1][:calls])
            wanted = own[0] if calls == 2 else own[0][: len(texts)]
            faults += [f"{name}: other messages"] * (not texts or texts != wanted)
            said = " ".join(texts)
            faults += [f"{name}: the second turn"] * (calls == 1 and _SECOND in said)
            faults += [f"{name}: not the first turn"] * (_FIRST not in said)
        faults += ["the session has changed"] * (not path.read_bytes().startswith(before))
        faults += ["the session sends something else"] * (sent(session)[1] != own[1])
    print(f"bad: {faults or 'nothing'}")
    return len(faults)


def _last(path: Path, line: int) -> str:
    """The last record up to a line that a fork can end with."""
    lines = path.read_bytes().splitlines()[:line]
    talk = ("user", "assistant", "message", "response_item", "event_msg")
    kinds = [json.loads(one).get("type") for one in lines]
    return str(max(n for n, kind in enumerate(kinds, 1) if kind in talk))
