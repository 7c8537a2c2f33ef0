"""The world beside a session: what is recorded of it, and what has changed since."""

import hashlib
import json
import os
import resource
import shutil
import stat
import subprocess
import sys

import pytest

from sesstool import api
from sesstool.api import worlds
from sesstool.audit import log
from sesstool.cli import main
from sesstool.errors import InputError, WriteError
from sesstool.store import git as asked
from sesstool.store import world
from sesstool.store.git import Git, repository
from sesstool.store.reads import Read
from sesstool.store.world import Change, Todos, World, compare, of_json
from tests.conftest import SESSION, answer, jsonl, loads, prompt, uid, use

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder of a session that lies elsewhere, in an environment of few names."""
    for name in set(os.environ) - {"PATH", "HOME", "XDG_STATE_HOME"}:
        monkeypatch.delenv(name)
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def session(folder, *calls, name="s.jsonl"):
    """A session that made some calls in a folder."""
    path = folder.parent / name
    records = [prompt(1, None), answer(2, 1, *calls)]
    path.write_bytes(jsonl(*(record | {"cwd": str(folder)} for record in records)))
    return path


def git(folder, *words):
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def committed(folder, **files):
    git(folder, "init", "-q", "-b", "main")
    for name, words in files.items():
        (folder / name).write_text(words)
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first", "--allow-empty")


def head(folder):
    done = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def since(path):
    found = worlds.compared(path)
    assert found is not None
    return list(found.changes)


def test_a_snapshot_tells_folder_files_variables_and_todos(folder):
    """Each file that was read or changed, as it is; of variables the names alone."""
    (folder / "log.txt").write_text("burns")
    todos = [{"content": "trim the wick", "status": s} for s in ("pending", "completed", "open")]
    path = session(
        folder,
        use("a", "Read", file_path="log.txt"),
        use("b", "Write", file_path=str(folder / "new.txt"), content="oil"),
        use("c", "TodoWrite", todos=todos),
    )
    taken, place = worlds.snapshot(path)
    now = (folder / "log.txt").stat()
    burns = hashlib.sha256(b"burns").hexdigest()
    read = Read(str(folder / "log.txt"), now.st_mtime_ns, 5, burns)
    missing = str(folder / "new.txt")
    assert place == path.with_name("s.jsonl.world.json")
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert taken.files == ((read.path, read), (missing, "missing"))
    assert (taken.cwd, taken.told) == (str(folder), True)
    assert (taken.format, taken.session_id) == (
        "claude-code",
        SESSION,
    )
    assert set(taken.variables) - {"PYTEST_CURRENT_TEST"} == {"HOME", "PATH", "XDG_STATE_HOME"}
    assert taken.todos == Todos(2, 2)
    text = place.read_text()
    assert "wick" not in text
    assert os.environ["PATH"] not in text
    assert of_json(json.loads(text), "") == taken


@needs_git
def test_a_snapshot_tells_what_git_tells(folder):
    """The commit, the branch, and what is not committed."""
    committed(folder, a="1", b="2")
    (folder / "a").write_text("3")
    (folder / "neu é").write_text("4")
    git(folder, "rm", "-q", "--cached", "b")
    dirty = (("a", ".M"), ("b", "??"), ("b", "D."), ("neu é", "??"))
    assert worlds.take(session(folder)).git == Git(head(folder), "main", dirty)


@needs_git
def test_a_repository_without_commit_and_one_without_branch(folder):
    """Neither is an error."""
    git(folder, "init", "-q", "-b", "main")
    assert repository(str(folder)) == Git("", "main")
    committed(folder)
    git(folder, "checkout", "-q", "--detach")
    assert repository(str(folder)) == Git(head(folder), "")


def test_what_git_cannot_tell_is_said(folder, monkeypatch):
    """A folder that is gone, one without a repository, no git, and a repository that is none."""
    assert repository(str(folder / "gone")).trouble == "no such folder"
    for path in ("", "work", "/\0", "/proc/self/cwd", "/\ud800"):
        assert repository(path).trouble == "no such folder"
    assert repository(str(folder)).trouble == "no repository"
    (folder / ".git").mkdir()
    if shutil.which("git"):
        assert repository(str(folder)).trouble == "git cannot read the repository"
    monkeypatch.setenv("PATH", ".")
    (folder / "git").write_text("#!/bin/sh\ntouch ran")
    (folder / "git").chmod(0o755)
    monkeypatch.chdir(folder)
    assert repository(str(folder)).trouble == "git is not installed"
    assert not (folder / "ran").exists()


def without(monkeypatch, name):
    """Leave one variable out of the environment of git."""
    made = asked._environment

    def less(settings):
        own = made(settings)
        del own[name]
        return own

    monkeypatch.setattr(asked, "_environment", less)


@needs_git
def test_a_hostile_repository_runs_nothing_and_is_not_written(folder, monkeypatch):
    """Its monitor, hooks and filters are not started, and its index keeps its bytes."""
    committed(folder, **{"a": "1", "c": "1", ".gitattributes": "* filter=bad=.x\n"})
    trap = folder.parent / "trap"
    trap.write_text(f"#!/bin/sh\necho ran >> {folder.parent}/ran\ncat\n")
    trap.chmod(0o755)
    for name in (
        *("core.fsmonitor", "core.sshCommand", "core.pager", "diff.external", "core.editor"),
        *("filter.bad=.x.clean", "filter.bad=.x.process", "filter.bad=.x.smudge"),
        *("core.alternateRefsCommand", "core.askPass", "alias.status"),
    ):
        git(folder, "config", name, str(trap))
    git(folder, "config", "filter.bad=.x.required", "true")
    for name in ("post-index-change", "pre-auto-gc", "fsmonitor-watchman", "query-watchman"):
        (folder / ".git/hooks" / name).write_text(trap.read_text())
        (folder / ".git/hooks" / name).chmod(0o755)
    (folder / "a").write_text("2")  # as long as it was: git must look into it
    os.utime(folder / "a", (1, 1))
    os.utime(folder / "c", (1, 1))  # the same as it was, which git would note in its index
    index = (folder / ".git/index").read_bytes()
    assert repository(str(folder)).dirty == (("a", ".M"),)
    assert not (folder.parent / "ran").exists()
    assert (folder / ".git/index").read_bytes() == index
    without(monkeypatch, "GIT_OPTIONAL_LOCKS")  # as an older git has it
    repository(str(folder))
    assert not (folder.parent / "ran").exists()
    # The trap would go off.
    subprocess.run(["git", "status"], cwd=folder, check=False, capture_output=True)
    assert (folder.parent / "ran").exists()


@needs_git
@pytest.mark.parametrize("kind", ["many", "long", "more than is read"])
def test_filters_without_end_are_not_run(kind, folder, monkeypatch):
    """They cannot all be switched off, so git is not asked."""
    committed(folder, **{"a": "1", ".gitattributes": "* filter=x\n"})
    marker = folder.parent / "ran"
    names = ["x" * 200_000] if kind == "long" else [f"x{n}" for n in range(30_000)]
    if kind == "more than is read":
        names = [f"x{n}" for n in range(9)]
        monkeypatch.setattr(asked, "_BYTES", 40)
    with (folder / ".git/config").open("a") as file:
        for name in (*names, "x"):
            file.write(f'[filter "{name}"]\n\tclean = touch {marker}\n')
    os.utime(folder / "a", (1, 1))
    assert "cannot be asked" in repository(str(folder)).trouble
    assert not marker.exists()


@needs_git
def test_a_repository_that_lacks_objects_fetches_none(folder, monkeypatch):
    """That of a partial clone would start what its remote names; so it would with an older git."""
    without(monkeypatch, "GIT_NO_LAZY_FETCH")
    committed(folder, a="1")
    marker = folder.parent / "ran"
    git(folder, "config", "extensions.partialClone", "origin")
    git(folder, "config", "remote.origin.promisor", "true")
    git(folder, "config", "remote.origin.url", str(folder.parent / "far"))
    git(folder, "config", "remote.origin.uploadpack", f"touch {marker};")
    git(folder.parent, "clone", "-q", "--bare", str(folder), "far")
    for thing in (folder / ".git/objects").glob("??/*"):
        thing.unlink()
    repository(str(folder))
    assert not marker.exists()
    subprocess.run(["git", "status"], cwd=folder, check=False, capture_output=True)
    assert marker.exists()


@needs_git
def test_git_that_waits_for_ever_is_ended(folder, monkeypatch):
    """A pipe in the place of a file of the repository is told by the time it takes."""
    committed(folder, a="1")
    (folder / ".git/info/exclude").unlink(missing_ok=True)
    os.mkfifo(folder / ".git/info/exclude")
    monkeypatch.setattr(asked, "SECONDS", 0.2)
    assert repository(str(folder)).trouble == "git took more than 0.2 s"


@needs_git
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only its time is bounded")
def test_git_that_reads_without_end_has_bounded_memory(folder, monkeypatch):
    """A device in the place of a branch fills memory faster than time goes by."""
    committed(folder, a="1")
    (folder / ".git/refs/heads/main").unlink()
    (folder / ".git/refs/heads/main").symlink_to("/dev/zero")
    monkeypatch.setattr(asked, "_MEMORY", 64 << 20)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert repository(str(folder)).trouble == "git cannot read the repository"
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss <= max(before, 128 << 10)


@needs_git
def test_the_environment_does_not_lead_git_elsewhere(folder, monkeypatch):
    """GIT_DIR is for who runs git by hand."""
    committed(folder, a="1")
    (folder.parent / "other").mkdir()
    committed(folder.parent / "other", b="1")
    mine = head(folder)
    monkeypatch.setenv("GIT_DIR", str(folder.parent / "other/.git"))
    assert repository(str(folder)).head == mine


@needs_git
def test_of_many_dirty_files_the_first_are_told(folder, monkeypatch):
    """In the order of their paths; what is left out is no change later on."""
    git(folder, "init", "-q", "-b", "main")
    for name in "abc":
        (folder / name).write_text(name)
    monkeypatch.setattr(asked, "MOST", 2)
    first = repository(str(folder))
    assert first == Git("", "main", (("a", "??"), ("b", "??")), more=True)
    (folder / "a").unlink()
    second = repository(str(folder))
    assert second == Git("", "main", (("b", "??"), ("c", "??")))
    made = world_of(git=first)
    assert compare(made, world_of(git=second)) == (Change("clean", "a", "??", ""),)
    monkeypatch.setattr(asked, "_BYTES", 45)
    cut = repository(str(folder))
    assert (cut.dirty, cut.more) == ((), True)
    assert compare(world_of(git=second), world_of(git=cut)) == ()


@needs_git
def test_the_session_and_its_snapshot_are_no_dirty_files(folder):
    """Else each snapshot would be the first change after itself."""
    committed(folder)
    path = session(folder)
    path = path.rename(folder / path.name)
    assert worlds.snapshot(path)[0].git.dirty == ()
    assert since(path) == []


@needs_git
def test_each_change_of_git_is_told(folder):
    """Another commit, another branch, a file that is dirty now, and one that is not any more."""
    committed(folder, a="1", b="1")
    (folder / "a").write_text("2")
    path = session(folder)
    worlds.snapshot(path)
    assert since(path) == []
    then = head(folder)
    git(folder, "checkout", "-q", "-b", "wick")
    git(folder, "commit", "-q", "-a", "-m", "second")
    (folder / "b").write_text("2")
    assert since(path) == [
        Change("head", "", then, head(folder)),
        Change("branch", "", "main", "wick"),
        Change("dirty", "b", "", ".M"),
        Change("clean", "a", ".M", ""),
    ]
    shutil.rmtree(folder / ".git")
    assert since(path) == [Change("git", "", "a repository", "no repository")]


def test_each_change_of_a_file_is_told(folder):
    """Other content of the same size, another size, gone, new, unreadable; the rest is silent."""
    names = ("grown", "other", "gone", "pipe", "same", "touched")
    for name in names:
        (folder / name).write_text("1")
    calls = [use(name, "Read", file_path=name) for name in (*names, "new", "never")]
    path = session(folder, *calls)
    worlds.snapshot(path)
    (folder / "grown").write_text("22")
    (folder / "other").write_text("2")
    os.utime(folder / "other", (1, 1))
    os.utime(folder / "touched", (1, 1))
    (folder / "gone").unlink()
    (folder / "pipe").unlink()
    os.mkfifo(folder / "pipe")
    (folder / "new").write_text("333")
    at = f"{folder}/"
    assert since(path) == [
        Change("changed", at + "grown", "1 bytes", "2 bytes"),
        Change("changed", at + "other", "1 bytes", "1 bytes, other content"),
        Change("missing", at + "gone", "1 bytes", "missing"),
        Change("new", at + "new", "missing", "3 bytes"),
        Change("unreadable", at + "pipe", "1 bytes", "unreadable"),
    ]


def test_a_file_that_was_not_hashed_is_told_so(folder, monkeypatch):
    """Past the bytes that are hashed in all, time and size must do."""
    for name in "abc":
        (folder / name).write_text("12345")
    path = session(folder, *(use(name, "Read", file_path=name) for name in "abc"))
    hashed = world.hashed
    monkeypatch.setattr(world, "hashed", lambda paths: hashed(paths, 11))
    taken, _ = worlds.snapshot(path)
    assert [bool(read.sha256) for _, read in taken.files] == [True, True, False]
    os.utime(folder / "c", (1, 1))
    told = "5 bytes, another time, and it was not hashed"
    assert since(path) == [Change("changed", f"{folder}/c", "5 bytes", told)]


def test_variables_and_todos(folder, monkeypatch):
    """A variable that is gone is told, a new one is not; of to-dos how many are open."""
    monkeypatch.setenv("LAMP_OIL", "1")
    monkeypatch.setenv("A", "1")
    path = session(folder, use("a", "TodoWrite", todos=[{"content": "trim", "status": "pending"}]))
    worlds.snapshot(path)
    monkeypatch.delenv("LAMP_OIL")
    monkeypatch.delenv("A")
    monkeypatch.setenv("NEW", "1")
    session(folder, use("a", "TodoWrite", todos=[{"content": "trim", "status": "completed"}]))
    assert since(path) == [
        Change("variable", "A"),
        Change("variable", "LAMP_OIL"),
        Change("to-dos", "", "1", "0"),
    ]


def world_of(**more):
    base = World(
        "",
        "",
        "",
        "",
        "",
        told=False,
        git=Git(),
        files=(),
        more_files=False,
        variables=(),
        todos=Todos(),
    )
    return World(**{f: more.get(f, getattr(base, f)) for f in base.__dataclass_fields__})


def test_a_snapshot_is_not_overwritten(folder):
    """Without force, and a link never: it leads to another file."""
    path = session(folder)
    _, place = worlds.snapshot(path)
    before = place.read_bytes()
    with pytest.raises(WriteError):
        worlds.snapshot(path)
    assert place.read_bytes() == before
    worlds.snapshot(path, force=True)
    place.rename(place.with_name("elsewhere"))
    place.symlink_to(place.with_name("elsewhere"))
    with pytest.raises(WriteError):
        worlds.snapshot(path, force=True)


def test_the_snapshot_of_another_session_is_told(folder, capsys):
    """Its to-dos are not those of this one."""
    mine, theirs = session(folder), session(folder, name="other.jsonl")
    other = jsonl(*(r | {"sessionId": uid(9)} for r in loads(theirs.read_bytes())))
    theirs.write_bytes(other)
    _, place = worlds.snapshot(theirs)
    assert main.run(["snapshot", str(mine), "--compare", str(place)]) == 0
    assert f"it is that of another session, {uid(9)}" in capsys.readouterr().out
    assert main.run(["snapshot", str(theirs), "--compare"]) == 0
    assert "another session" not in capsys.readouterr().out
    found = worlds.compared(mine, place)
    assert found is not None
    assert (found.as_json()["of"], found.as_json()["session_id"]) == (uid(9), SESSION)


def test_a_session_that_is_not_there_has_no_snapshot(folder, capsys):
    """The error is about the session, not the snapshot that it does not have either."""
    assert main.run(["snapshot", str(folder / "none.jsonl"), "--compare"]) == 3
    assert "no such file" in capsys.readouterr().err


def test_the_log_knows_each_snapshot(folder):
    """That beside the session is no copy: it goes where that goes."""
    path = session(folder)
    worlds.snapshot(path)
    worlds.snapshot(path, folder.parent / "elsewhere.json")
    told = [(line["action"], line["path"]) for line in log.read(api.state_folder())]
    assert told == [
        ("snapshot", f"{path}.world.json"),
        ("copy", str(folder.parent / "elsewhere.json")),
    ]
    assert log.copies(api.state_folder(), path) == [folder.parent / "elsewhere.json"]


def test_without_a_snapshot_nothing_is_compared(folder):
    """Beside the session there is none."""
    assert worlds.compared(session(folder)) is None


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "nul", "[" * 100_000, '{"schema_version": 2}', "9" * 5000, "\0"]
)
def test_what_is_no_snapshot_is_refused(folder, text):
    """Whatever its bytes are."""
    path = session(folder)
    path.with_name("s.jsonl.world.json").write_text(text)
    with pytest.raises(InputError):
        worlds.compared(path)


def test_a_snapshot_with_any_value_of_another_type_is_refused(folder):
    """Each member of it, at any depth."""
    path = session(folder, use("a", "Read", file_path="x"))
    (folder / "x").write_text("1")
    _, place = worlds.snapshot(path)
    whole = json.loads(place.read_text())
    whole["git"]["dirty"] = [{"path": "a", "status": "??"}]
    for steps in _places(whole):
        for wrong in (None, 1.5, [1], {"a": 1}):
            value = json.loads(json.dumps(whole))
            at = value
            for step in steps[:-1]:
                at = at[step]
            at[steps[-1]] = wrong
            place.write_text(json.dumps(value))
            try:
                worlds.compared(path)
            except InputError:
                continue
            pytest.fail(f"{steps} may be {wrong}")


def _places(value, steps=()):
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*steps, key)
        if isinstance(inner, dict | list):
            yield from _places(inner, (*steps, key))
