"""The app in a terminal: what it sends there, and how it leaves it, however it ends."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
from contextlib import contextmanager, suppress

import pytest

from tests.conftest import answer, jsonl, prompt
from tests.hostile import PIECES

SECONDS = 60
LEFT = (b"\x1b[?1049l", b"\x1b[?25h")
"""The other screen is left, and the cursor is back."""


class Terminal:
    """A process on a terminal of its own; `sent` is all that it wrote there."""

    def __init__(self, arguments, size=(24, 80)):
        self.pid, self.file = pty.fork()
        if not self.pid:
            # readline, which pytest loads, tells of a size that is not this terminal's.
            env = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")}
            env |= {"TERM": "xterm-256color", "TEXTUAL_ANIMATIONS": "none"}
            command = [sys.executable, "-m", "sesstool", *arguments]
            # Not execv: what readline set is behind Python's back.
            os.execve(sys.executable, command, env)  # noqa: S606
        self.sent = b""
        self.resize(size)

    def resize(self, size):
        fcntl.ioctl(self.file, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))

    def read(self):
        """Some of what it writes; whether it goes on."""
        ready, _, _ = select.select([self.file], [], [], SECONDS)
        assert ready, "the app is silent"
        try:
            data = os.read(self.file, 1 << 16)
        except OSError:
            return False  # the other end is closed
        self.sent += data
        return bool(data)

    def until(self, *texts):
        """Read until it has written one of the texts, from now on."""
        begin = len(self.sent)
        while not any(text in self.sent[begin:] for text in texts):
            assert self.read(), "it ended"

    def press(self, keys):
        os.write(self.file, keys)

    def end(self):
        """Read to its end; its exit code."""
        while self.read():
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@contextmanager
def started(*arguments, **more):
    terminal = Terminal(arguments, **more)
    try:
        yield terminal
    finally:
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(terminal.pid, signal.SIGKILL)
            os.waitpid(terminal.pid, 0)
        with suppress(OSError):
            os.close(terminal.file)


@pytest.fixture
def session(tmp_path):
    path = tmp_path / "session.jsonl"
    told = [prompt(1, None, "Light the lamp."), answer(2, 1, {"type": "text", "text": "Lit."})]
    path.write_bytes(jsonl(*told))
    return path


@pytest.mark.parametrize(
    ("how", "code"), [(b"q", 0), (b"\x03", 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_however_it_ends_the_terminal_is_as_before(session, how, code):
    """q, ctrl+c and signals: the screen, the cursor, the mode and the file."""
    before = session.read_bytes(), session.stat().st_mtime_ns
    with started("browse", "--isolated", str(session)) as terminal:
        mode = termios.tcgetattr(terminal.file)
        terminal.until(b"READ-ONLY")
        assert termios.tcgetattr(terminal.file) != mode
        if isinstance(how, bytes):
            terminal.press(how)
        else:
            os.kill(terminal.pid, how)
        terminal.until(LEFT[0])
        assert terminal.end() == code
        assert all(part in terminal.sent for part in LEFT)
    assert (session.read_bytes(), session.stat().st_mtime_ns) == before
    assert [path.name for path in session.parent.iterdir()] == ["session.jsonl"]


def test_a_terminal_that_goes_away_ends_the_app(session):
    """The window is closed: nobody is left to wait for."""
    with started("browse", "--isolated", str(session)) as terminal:
        terminal.until(b"READ-ONLY")
        os.close(terminal.file)
        _, status = os.waitpid(terminal.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 129


def test_a_terminal_that_is_resized_is_drawn_anew(session):
    """In a wide one both panes are seen."""
    with started("browse", "--isolated", str(session)) as terminal:
        terminal.until(b"READ-ONLY")
        terminal.resize((36, 120))
        os.kill(terminal.pid, signal.SIGWINCH)
        terminal.until(b"Contents")
        terminal.press(b"q")
        assert terminal.end() == 0


def test_nothing_of_a_session_reaches_the_terminal_as_a_sequence(tmp_path):
    """Of each hostile piece the terminal sees pictures of its control characters."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(jsonl(prompt(1, None, "\n".join(PIECES)), prompt(2, 1, "END OF IT")))
    with started("browse", "--isolated", str(path), size=(60, 120)) as terminal:
        terminal.until(b"READ-ONLY")
        terminal.press(b" ")
        terminal.press(b"G")
        terminal.until(b"END OF IT")
        terminal.press(b"q")
        terminal.end()
    for piece in (b"\x1b]0;title", b"\x1b]52;c;aGk=", b"\x9b2J", "\u202e".encode(), b"\x00"):
        assert piece not in terminal.sent
    assert "␛]0;title␇".encode() in terminal.sent


def test_without_a_terminal_it_is_refused_with_the_way_that_works(session):
    """For a pipe there is show."""
    command = [sys.executable, "-m", "sesstool", "browse", str(session)]
    done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 2
    assert b"sesstool show PATH" in done.stderr
    assert not done.stdout
