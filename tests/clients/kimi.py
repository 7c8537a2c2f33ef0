"""Resume damaged and repaired sessions in the real Kimi CLI, offline: what reaches the model.

    python tests/clients/kimi.py KIMI

KIMI is the command of kimi-cli, before 1.52, which runs no session any more. The damages are those
of `tests/test_damaged_agents.py`. Exit status 1 where a repaired session does not resume, or where
something that it holds was not sent.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from hashlib import md5
from pathlib import Path
from typing import Any
from uuid import uuid4

ROOT = Path(__file__).resolve().parents[2]
CLIENTS = ROOT.parent / "shared" / "clients"
sys.path[:0] = [str(ROOT), str(CLIENTS)]
_PROMPT = "Go on after the pause."
_CONFIG = """
default_model = "stub"
[models.stub]
provider = "stub"
model = "stub"
max_context_size = 1000000
[providers.stub]
type = "openai_legacy"
base_url = "%s/v1"
api_key = "dummy"
"""


def resume(kimi: str, data: bytes, work: Path) -> dict[str, Any]:
    """What the agent sends of a session: its texts, its calls, and whether all went well."""
    from resume_oracle import history  # noqa: PLC0415 - the path to it is set above

    project, home, log = work / "project", work / "home", work / "requests.jsonl"
    name = str(uuid4())
    folder = home / "sessions" / md5(str(project).encode(), usedforsecurity=False).hexdigest()
    session = folder / name / "context.jsonl"
    for one in (project, session.parent):
        one.mkdir(parents=True)
    session.write_bytes(data)
    listed = {"path": str(project), "kaos": "local", "last_session_id": name}
    (home / "kimi.json").write_text(json.dumps({"work_dirs": [listed]}))
    script = CLIENTS / "stub_provider.py"
    with subprocess.Popen(
        [sys.executable, script, "--port", "0", "--log", log], stdout=subprocess.PIPE, text=True
    ) as provider:
        assert provider.stdout is not None
        port = re.search(r":(\d+)", provider.stdout.readline())
        assert port is not None
        (home / "config.toml").write_text(_CONFIG % f"http://127.0.0.1:{port[1]}")
        own = {"HOME": str(work), "KIMI_SHARE_DIR": str(home), "TERM": "dumb"}
        command = [kimi, "--print", "--session", name, "-p", _PROMPT, "--work-dir", str(project)]
        done = subprocess.run(
            command, env={**os.environ, **own}, cwd=project, capture_output=True, check=False
        )
        provider.kill()
    requests = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    asked = [one for one in requests if _PROMPT in json.dumps(one.get("body", {}))]
    texts, calls = history(asked[-1]["body"]["messages"]) if asked else ([], [])
    resumed = done.returncode == 0 and bool(asked) and not any(one["error"] for one in asked)
    return {"resumed": resumed, "texts": [t for t in texts if _PROMPT not in t], "calls": calls}


def told(report: dict[str, Any]) -> str:
    """A report in a few characters: messages, calls and results that were sent."""
    results = sum(call[2] is not None for call in report["calls"])
    sent = f"{len(report['texts'])}/{len(report['calls'])}/{results}"
    return sent if report["resumed"] else f"DEAD {sent}"


def main() -> int:
    from tests.conftest import loads, mend  # noqa: PLC0415 - the path to it is set above
    from tests.test_damaged_agents import KIMI_CASES  # noqa: PLC0415 - as above

    bad = 0
    print(f"{'damage':26} {'bare':14} {'repaired':14} sent: messages/calls/results")
    for name, data, _, _ in KIMI_CASES:
        with tempfile.TemporaryDirectory() as work:
            after = mend(data, name="context.jsonl")
            bare = resume(sys.argv[1], data, Path(work, "bare"))
            report = resume(sys.argv[1], after, Path(work, "repaired"))
        records = [one for one in loads(after) if not one["role"].startswith("_")]
        calls = sum(len(one.get("tool_calls", ())) for one in records)
        texts = sum(bool(one.get("content")) and one["role"] != "tool" for one in records)
        lost = (len(report["texts"]), len(report["calls"])) != (texts, calls)
        verdict = "" if report["resumed"] and not lost else "BAD"
        bad += bool(verdict)
        print(f"{name:26} {told(bare):14} {told(report):14} {verdict}", flush=True)
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
