"""Formats of packages that are installed beside sesstool."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import click
import pytest

from sesstool.checks.context import Options
from sesstool.checks.engine import examine
from sesstool.errors import InputError
from sesstool.formats import guarded, plugins, registry
from sesstool.formats.base import Format
from sesstool.formats.forking import Forker
from sesstool.formats.terms import Tracker
from sesstool.formats.turns import Scribe
from tests.conftest import Memory, jsonl, said, talk

ROOT = Path(__file__).parents[1]
MILL = Path(__file__).parent / "plugin"
PIP = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
NO_NETWORK = ["--no-index", "--no-deps"]


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """The scripts of a fresh environment with sesstool and the example, each from its wheel."""
    folder = tmp_path_factory.mktemp("fresh")
    building = [
        subprocess.Popen([*PIP, "wheel", *NO_NETWORK, "--no-build-isolation", "-w", folder, path])
        for path in (ROOT, MILL)
    ]
    venv.create(folder / "venv", with_pip=False)
    assert [process.wait() for process in building] == [0, 0]
    scripts = folder / "venv" / "bin"
    python = [*PIP, "--python", scripts / "python"]
    wheels = sorted(folder.glob("*.whl"))
    subprocess.run([*python, "install", *NO_NETWORK, "--no-compile", *wheels], check=True)
    # What sesstool needs is not installed again; the installed wheels stand before it.
    own = sysconfig.get_path("purelib", "venv", vars={"base": str(folder / "venv")})
    Path(own, "outer.pth").write_text(str(Path(click.__file__).parents[1]))
    return scripts


@pytest.fixture
def runs(home):
    """The folder with two sessions of Mill, in a home where only Mill has been."""
    folder = shutil.copytree(MILL / "runs", home / ".mill" / "runs")
    for path in folder.iterdir():
        path.chmod(0o600)
        os.utime(path, (1_772_000_000, 1_772_000_000))
    return folder


def run(scripts, *arguments, code=0):
    """What the installed command prints."""
    done = subprocess.run(
        [scripts / "sesstool", *arguments],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == code, done.stderr
    assert "plug-in" not in done.stderr
    return done.stdout


def test_every_command_knows_the_format_of_a_package(fresh, runs, monkeypatch):
    """Found, shown, checked, compared, repaired as others are; and unknown when it has gone."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.chdir(runs)
    listed = json.loads(run(fresh, "list", "--agent", "mill", "-f", "json"))["sessions"]
    assert [(one["id"], one["agent"], one["state"]) for one in listed] == [
        ("oats", "mill", "repairable"),
        ("rye", "mill", "ok"),
    ]
    assert "~/.mill/runs: 2 sessions" in run(fresh, "config", "homes")
    assert "  next: cd /srv/mill && mill --continue oats" in run(fresh, "status")
    found = json.loads(run(fresh, "validate", "oats.jsonl", "-f", "json", code=1))
    (one,) = found["files"]
    assert (one["format"], [f["code"] for f in one["findings"]]) == ("mill", ["T401"])
    told = run(fresh, "resume", "oats", code=1)
    assert "open call  line 5: grind c2: uncertain" in told
    assert "resume     mill --continue oats" in told
    assert "2  Is the rye dry?" in run(fresh, "memory", "rye")
    assert "Tool call look: rye" in run(fresh, "show", "rye")
    assert "RESULT look  two «sacks»" in run(fresh, "search", "sacks")
    assert "nothing shared first" in run(fresh, "diff", "oats", "rye", code=1)
    assert "byte 401  /words" in run(fresh, "redact", "rye", code=1)
    assert json.loads(run(fresh, "schema", "mill"))["title"] == "One record of a Mill session"
    assert "Is the rye dry?" in run(fresh, "export", "--to", "md", "rye")
    run(fresh, "repair", "--write", "-q", "oats")
    *_, answered = map(json.loads, (runs / "oats.jsonl").read_bytes().splitlines())
    assert (answered["call"], answered["failed"], answered["mill"]) == ("c2", True, "result")
    assert answered["out"].startswith("[sesstool] interrupted: no result of this grind call")
    assert run(fresh, "validate", "--isolated", "rye.jsonl", code=3) == ""
    python = [*PIP, "--python", fresh / "python"]
    subprocess.run([*python, "uninstall", "-y", "sesstool-mill"], check=True)
    assert run(fresh, "validate", "rye.jsonl", code=3) == ""


BASE = """
from sesstool.formats.base import Format
from sesstool.formats.events import Meaning, Message, ToolCall
from sesstool.formats.terms import Score, Tracker

class Own(Format):
    name = "own"
    title = "Own"

    def score(self, values, path):
        return Score(100 if all("own" in value for value in values) else 0, "has own")

    def meaning(self, value):
        return Meaning([Message("/own", "user", value.get("own"), prompt=True)])
"""
OWN = jsonl({"own": "a canary"}, {"own": "another canary"})


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Puts packages into a folder of the path, as pip leaves them; gives their formats."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(guarded, "_told", set())

    def installed(*packages):
        for number, (name, code) in enumerate(packages):
            module = f"plug_{tmp_path.name}_{number}"
            (tmp_path / f"{module}.py").write_text(code)
            info = tmp_path / f"{name}-1.0.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
            (info / "entry_points.txt").write_text(f"[{plugins.GROUP}]\nown = {module}:Own\n")
        found = plugins.plugged({form.name for form in registry.FORMATS})
        monkeypatch.setattr(registry, "_PLUGGED", found)
        monkeypatch.setattr(registry, "FORMATS", (*registry.FORMATS, *found))
        return found

    return installed


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import no_such_module", "cannot be imported: ModuleNotFoundError at plug_"),
        ("raise SystemExit(3)", "cannot be imported: SystemExit at plug_"),
        ("def f(:", "cannot be imported: SyntaxError"),
        ("", "cannot be imported: AttributeError"),
        ("Own = 3", "is no subclass of sesstool.formats.base.Format"),
        (BASE.replace("def meaning", "def other"), "cannot be made: TypeError"),
        (BASE.replace('"Own"', '" "'), "has no title"),
        (BASE.replace('"Own"', "None"), "has a title that is no str"),
        (BASE.replace('name = "own"', ""), "has another name than its entry point"),
        (BASE + '    pairing = "somewhere"', "has a pairing that is none of direct, next, order"),
        (BASE + "    waits = {'ask'}", "has a waits that is no frozenset"),
    ],
)
def test_what_is_no_format_is_left_out_with_a_word(install, capsys, code, why):
    """The warning names the package, what is wrong and the next step, and nothing is raised."""
    assert install(("bad-plug", code)) == ()
    told = capsys.readouterr().err
    assert told.startswith(f"sesstool: warning: the plug-in bad-plug is left out: own {why}")
    assert told.endswith("\nsesstool: hint: pip uninstall bad-plug, or set SESSTOOL_PLUGINS=off\n")
    assert told.count("\n") == 2


def test_no_plugin_takes_the_name_of_another_format(install, capsys):
    """Of two plug-ins the first by its package's name stays."""
    (form,) = install(("a-plug", BASE), ("b-plug", BASE))
    assert form.release == "a-plug 1.0"
    told = capsys.readouterr().err
    assert "the plug-in b-plug is left out: own has the name of another format" in told
    assert plugins.plugged({"own"}) == ()


@pytest.mark.parametrize(
    ("name", "data"),
    [("METADATA", None), ("entry_points.txt", b"[sesstool.formats]\n\xff = x:Y\n")],
)
def test_a_package_that_is_installed_by_halves_is_told(install, tmp_path, capsys, name, data):
    """What cannot be read of it keeps nothing from going on."""
    path = tmp_path / "half-1.0.dist-info" / name
    install(("half", BASE))
    path.unlink()
    if data is not None:
        path.write_bytes(data)
    capsys.readouterr()
    plugins.plugged(set())
    assert "hint: pip uninstall half, or" in capsys.readouterr().err


def test_a_variable_turns_plugins_off(install, monkeypatch):
    """With SESSTOOL_PLUGINS=off no code of theirs is loaded."""
    monkeypatch.setenv("SESSTOOL_PLUGINS", "off")
    assert install(("own-plug", BASE)) == ()


def test_the_working_folder_holds_no_plugins(install, tmp_path, monkeypatch):
    """What lies beside untrusted sessions is not run, though Python would import it."""
    monkeypatch.chdir(tmp_path)
    assert install(("own-plug", BASE)) == ()


def test_without_a_plugin_nothing_of_importlib_metadata_is_loaded():
    """The start of a command does not pay for what nobody has."""
    code = "import sys, sesstool.formats.registry as r; print('importlib.metadata' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_certain_session_is_never_given_to_a_plugin(install):
    """One that claims every record gets only what no format of sesstool is sure of."""
    install(
        ("own-plug", BASE.replace('100 if all("own" in value for value in values) else 0', "100"))
    )
    assert registry.detect(talk(3), None, "it")[0].name == "claude-code"
    assert registry.detect([said("user")] * 9 + [{"x": 1}], None, "it")[0].name == "openai-chat"
    assert registry.detect([{"x": 1}], None, "it")[0].name == "own"


def test_a_plugin_that_fails_when_it_is_asked_harms_no_other_session(install, tmp_path):
    """Whatever it raises while sessions are looked for or told apart is told once, by its place."""
    asked = "".join(
        f"    def {name}(self, *args): raise KeyError('a canary')\n"
        for name in sorted(guarded.EVERYWHERE)
    )
    install(("sour-plug", BASE + asked))
    good, unknown = tmp_path / "good.jsonl", tmp_path / "unknown.jsonl"
    good.write_bytes(jsonl(said("user", "Is it dusk?")) + b"{")
    unknown.write_bytes(OWN)
    for arguments, code in (["list"], 0), (["validate", unknown, unknown, good], 3):
        done = subprocess.run(
            [sys.executable, "-m", "sesstool", *arguments],
            env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"},
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path.parent,
        )
        assert (done.returncode, "canary" in done.stderr) == (code, False)
        asked = "folders" if arguments == ["list"] else "score"
        told = f"the plug-in sour-plug failed in {asked} of own: KeyError at plug_"
        assert done.stderr.count(told) == 1
        assert "Traceback" not in done.stderr
    assert f"{good}:2:1" in done.stdout


TRACKED = "    def tracker(self, path): return Sour()\nclass Sour(Tracker):\n"


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (
            "    def meaning(self, value): return value['missing']",
            "meaning of own: KeyError at plug",
        ),
        ("    def meaning(self, value): return None", "meaning of own: TypeError"),
        ("    def meaning(self, value): return Meaning([None])", "meaning of own: TypeError"),
        (
            "    def meaning(self, value): return Meaning([ToolCall('', None, '', {})])",
            "meaning of own: TypeError",
        ),
        ("    def tracker(self, path): return 5", "tracker of own: TypeError"),
        (TRACKED + "    def see(self, *args): 1 / 0", "see of own: ZeroDivisionError at plug"),
        (TRACKED + "    def faults(self, source): yield 5", "faults of own: TypeError"),
    ],
)
def test_a_plugin_that_fails_at_a_session_fails_for_that_one(install, code, why):
    """It is an error of that file, exit code 3, that names the package and no text."""
    install(("sour-plug", BASE + code))
    with pytest.raises(InputError) as caught:
        examine(Memory(OWN), Options())
    assert caught.value.message.startswith(f"the plug-in sour-plug failed in {why}")
    assert "canary" not in caught.value.message
    assert caught.value.hint == "tell its authors; SESSTOOL_PLUGINS=off reads without it"


def test_a_plugin_that_fails_at_a_fork_is_an_error(install):
    """What writes forks and sessions of other formats is guarded as well."""
    code = "class Sour(Format.forker):\n    def name(self): 1 / 0\n\nclass Own"
    (form,) = install(("sour-plug", BASE.replace("class Own", code) + "    forker = Sour"))
    with pytest.raises(InputError, match="the plug-in sour-plug failed in name of own"):
        form.forker(None, "new", None).name()


def test_a_schema_of_a_plugin_judges_its_records(install):
    """What it does not allow is S301; one that is no schema is an error for the session."""
    schema = '{"properties": {"own": {"type": "number"}}}'
    code = BASE + f"    repairable = False\n    def own_schema(self): return {schema!r}"
    install(("own-plug", code))
    report = examine(Memory(OWN), Options())[1]
    assert [f.code for f in report.findings] == ["S301", "S301"]


@pytest.mark.parametrize("schema", ["[]", "{", '{"type": 3}'])
def test_what_is_no_schema_is_an_error(install, schema):
    """And it names the plug-in."""
    install(("own-plug", BASE + f"    def own_schema(self): return {schema!r}"))
    with pytest.raises(InputError, match=r"the plug-in own-plug 1\.0 has no valid JSON Schema"):
        examine(Memory(OWN), Options())


@pytest.mark.parametrize("base", [Format, Tracker, Forker, Scribe])
def test_what_every_method_gives_is_known(base):
    """A method that is new has its kind of result in the tables of the guard."""
    methods = guarded.methods_of(base)
    gives = {getattr(base, name).__annotations__["return"] for name in methods}
    assert methods
    assert gives <= guarded.GIVES.keys() | guarded.GIVES_EACH.keys()
    if base is Format:
        assert set(methods) >= guarded.EVERYWHERE
