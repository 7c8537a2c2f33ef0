"""The settings: precedence, origins, and what a file may not say."""

from __future__ import annotations

import pytest

from sesstool import config
from sesstool.errors import ConfigError


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A home of its own; returns the user's settings file, which does not exist yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    (tmp_path / "xdg" / "sesstool").mkdir(parents=True)
    return tmp_path / "xdg" / "sesstool" / "config.toml"


@pytest.fixture
def project(tmp_path):
    """A project folder without settings."""
    folder = tmp_path / "project"
    (folder / "deep" / "down").mkdir(parents=True)
    return folder


def test_the_default_counts_where_nobody_says_otherwise(project):
    """Without files every setting has its default, and says so."""
    values = config.load(project, {})
    assert values["fail-on"] == config.Value("warning", "default")
    assert values["select"] == config.Value((), "default")
    assert list(values) == [s.name for s in config.SETTINGS]


def test_precedence_and_origin(home, project):
    """Environment before project before user before default, each with its origin."""
    home.write_text('color = "never"\nfail-on = "error"\nignore = ["C6"]\n')
    (project / "sesstool.toml").write_text('fail-on = "information"\nignore = ["M7", "B102"]\n')
    values = config.load(project / "deep" / "down", {"SESSTOOL_IGNORE": "S3, T4"})
    assert values["thorough"] == config.Value(value=False, origin="default")
    assert values["color"] == config.Value("never", str(home))
    assert values["fail-on"] == config.Value("information", str(project / "sesstool.toml"))
    assert values["ignore"] == config.Value(("S3", "T4"), "SESSTOOL_IGNORE")


def test_the_nearest_project_file_counts(project):
    """A file further up is not read, and sesstool.toml counts before pyproject.toml."""
    (project / "sesstool.toml").write_text('select = ["B1"]\n')
    near = project / "deep"
    (near / "pyproject.toml").write_text('[tool.sesstool]\nselect = ["J2"]\n')
    assert config.load(near / "down", {})["select"].value == ("J2",)
    (near / "sesstool.toml").write_text('select = ["T4"]\n')
    assert config.load(near / "down", {})["select"].value == ("T4",)


def test_a_pyproject_without_our_table_is_passed_by(project):
    """Another project's pyproject.toml does not hide the file above it."""
    (project / "sesstool.toml").write_text("thorough = true\n")
    (project / "deep" / "pyproject.toml").write_text('[tool.other]\nx = 1\n[project]\nname="x"\n')
    assert config.load(project / "deep", {})["thorough"].value is True


def test_isolated_reads_no_file(home, project):
    """Only the environment is left."""
    home.write_text("nonsense = 1\n")
    (project / "sesstool.toml").write_text('color = "never"\n')
    values = config.load(project, {"SESSTOOL_THOROUGH": "yes"}, isolated=True)
    assert values["color"].value == "auto"
    assert values["thorough"].value is True


def test_a_named_file_replaces_both(home, project):
    """With a file named neither the project's nor the user's is read."""
    home.write_text('color = "never"\n')
    (project / "sesstool.toml").write_text('fail-on = "error"\n')
    (project / "mine.toml").write_text("thorough = true\n")
    values = config.load(project, {}, explicit=project / "mine.toml")
    assert (values["color"].value, values["fail-on"].value) == ("auto", "warning")
    assert values["thorough"] == config.Value(value=True, origin=str(project / "mine.toml"))


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("selekt = []", "unknown setting selekt", "did you mean select?"),
        ("zzz = 1", "unknown setting zzz", "settings are: select, ignore"),
        ('select = "B1"', "select must be a list of strings", ""),
        ("select = [1]", "select must be a list of strings", ""),
        ("thorough = 1", "thorough must be true or false", ""),
        ("color = true", "color must be a string", ""),
        ('fail-on = "all"', "fail-on must be one of error, warning, information", ""),
        ('policy = "/p.toml"', "policy may not be set in a project's file", "as an option"),
        ("write = true", "write may not be set in a project's file", "as an option"),
        ("color = ", "is no TOML", ""),
    ],
)
def test_a_wrong_setting_is_named_with_its_file(project, text, message, hint):
    """The error names the file and the key, and has exit code 2."""
    path = project / "sesstool.toml"
    path.write_text(f"# mine\n\n{text}\n")
    with pytest.raises(ConfigError) as caught:
        config.load(project, {})
    place = f"{path} is no TOML" if "no TOML" in message else f"{path}:3: "
    assert caught.value.message.startswith(place)
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("variable", "text"), [("SESSTOOL_THOROUGH", "maybe"), ("SESSTOOL_COLOR", "blue")]
)
def test_a_wrong_variable_is_named(project, variable, text):
    """The error names the environment variable."""
    with pytest.raises(ConfigError, match=variable):
        config.load(project, {variable: text})


@pytest.mark.parametrize("text", ["tool = 1", "[tool]\nsesstool = 1"])
def test_a_pyproject_with_a_wrong_table(project, text):
    """What is no table for sesstool is an error, what is no table of tools is not ours."""
    (project / "pyproject.toml").write_text(text)
    if text == "tool = 1":
        assert config.files(project) == []
    else:
        with pytest.raises(ConfigError, match=r"pyproject\.toml:2: tool\.sesstool is no table"):
            config.files(project)


def test_a_wrong_setting_in_a_pyproject_has_its_line(project):
    """The table of the settings counts, not another one with the same key."""
    path = project / "pyproject.toml"
    path.write_text('[tool.other]\ncolor = 1\n[tool.sesstool]\nselect = [\n  "B1",\n]\ncolor = 1\n')
    with pytest.raises(ConfigError) as caught:
        config.load(project, {})
    assert caught.value.message == f"{path}:7: color must be a string"


def test_a_missing_file_that_was_named(project):
    """A named file that is not there is an error, not silence."""
    with pytest.raises(ConfigError, match="no such file"):
        config.load(project, {}, explicit=project / "none.toml")
