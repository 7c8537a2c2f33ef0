"""The sample agent against a stand-in provider: two days, a kill, a fork."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from sesstool import SessionStore, api

AGENT = Path(__file__).parents[1] / "samples" / "agent" / "agent.py"


@pytest.fixture
def provider(shared, tmp_path):
    """The stand-in for the model: its address, and what it was asked."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    asked = tmp_path / "asked.jsonl"
    stub = shared / "clients" / "stub_provider.py"
    command = [sys.executable, str(stub), "--port", str(port), "--log", str(asked)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        base = f"http://127.0.0.1:{port}/v1"
        try:
            _wait_for(port, process)
            yield base, lambda: [json.loads(line) for line in asked.read_text().splitlines()]
        finally:
            process.kill()


def _wait_for(port, process):
    while process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except OSError:
            continue
        return
    raise AssertionError("the provider has ended")


@pytest.fixture
def agent(provider, tmp_path):
    """Runs the agent in a folder of its own, and gives the process."""
    folder = tmp_path / "market"
    folder.mkdir()
    state = tmp_path / "state"
    env = os.environ | {"OPENAI_BASE_URL": provider[0], "XDG_STATE_HOME": str(state)}

    def run(*words):
        return subprocess.Popen(
            [sys.executable, "-u", str(AGENT), *words],
            cwd=folder,
            env=env,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    run.folder = folder
    return run


def said(process, answer=""):
    """What an agent that ends well prints."""
    out, err = process.communicate(answer, timeout=60)
    assert (process.returncode, err) == (0, "")
    return out


def buy(thing, price):
    return f"DO: buy {json.dumps({'thing': thing, 'price': price})}"


def test_the_agent_is_short():
    """Under 100 lines, and without a library but sesstool."""
    assert len(AGENT.read_text().splitlines()) < 100


def test_a_session_survives_a_kill_in_the_middle_of_a_tool(agent, provider):
    """The next day names the call of which nobody knows, and the provider takes the history."""
    _, asked = provider
    said(agent("errands", 'DO: talk_to {"who": "chandler", "words": "How much is oil?"}'))
    assert "buy oil" in said(agent("errands", buy("oil", 3)), "y\n")
    killed = agent("errands", buy("rope", 9))
    with killed:
        assert killed.stdout.read(len("buy rope for 9 coins?")) == "buy rope for 9 coins?"
        killed.send_signal(signal.SIGKILL)
    store = SessionStore(agent.folder / "sessions", "mycodeagent")
    [call] = store.resume("errands").uncertain
    assert (call.tool, json.loads(call.arguments)) == ("buy", {"thing": "rope", "price": 9})
    out = said(agent("errands", "And now?"))
    assert 'nobody knows whether this was done: buy {"thing": "rope", "price": 9}' in out
    assert (agent.folder / "purchases.txt").read_text() == "oil 3\n"
    assert {request["status"] for request in asked()} == {200}
    last = asked()[-1]["body"]["messages"]
    assert [m["role"] for m in last[-3:]] == ["assistant", "tool", "user"]
    assert "INTERRUPTED_UNCERTAIN" in last[-2]["content"]
    assert api.validate(store.path("errands")).findings == ()


def test_a_fork_leaves_the_original_as_it_is(agent, provider):
    """And the provider takes what both have, with what only the fork has."""
    _, asked = provider
    said(agent("errands", buy("oil", 3)), "y\n")
    store = SessionStore(agent.folder / "sessions", "mycodeagent")
    before = store.path("errands").read_bytes()
    said(agent("errands", "--fork", "dearer", "Two of them."))
    assert store.path("errands").read_bytes() == before
    assert [one.id for one in store.list()] == ["dearer", "errands"]
    shared = store.resume("errands").messages
    assert store.resume("dearer").messages[: len(shared)] == shared
    assert asked()[-1]["status"] == 200
    assert asked()[-1]["body"]["messages"][-1]["content"] == "Two of them."
