"""`config doctor`: what agents delete by themselves, and where that conflicts with a policy."""

import json
import os
from datetime import UTC, datetime, timedelta

import pytest

from sesstool import api
from sesstool.cli import main
from sesstool.formats import expiry
from sesstool.formats.gemini import Gemini
from sesstool.retention import holds, policy
from sesstool.retention.doctor import diagnose
from sesstool.retention.policy import Hold, Match
from tests.conftest import SESSION
from tests.test_output_schemas import judge, undescribed

NOW = datetime(2026, 3, 1, 6, tzinfo=UTC)


@pytest.fixture(autouse=True)
def system(tmp_path, monkeypatch):
    """The folder of an organization's settings, made for the test."""
    folder = tmp_path / "system"
    monkeypatch.setattr(expiry, "system_folder", lambda agent: folder / agent)
    for name in ("GEMINI_CLI_SYSTEM_SETTINGS_PATH", "GEMINI_CLI_SYSTEM_DEFAULTS_PATH"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The current folder, of a project that Claude Code was never started in."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def put(path, value):
    """Write a settings file: a value as JSON, text and bytes as they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    value = value if isinstance(value, str | bytes) else json.dumps(value)
    path.write_bytes(value if isinstance(value, bytes) else value.encode())
    return path


def keep(days):
    return {"cleanupPeriodDays": days}


def only(here):
    """The one agent that has a home."""
    (found,) = expiry.expiries(here)
    return found


def rules(*tables):
    return policy.parse("\n".join(["version = 1", *tables]).encode(), "retention.toml")


def rule(name, text, match=""):
    return f'[[rule]]\nname = "{name}"\n{f"match = {{ {match} }}" if match else ""}\n{text}\n'


def judged(found, *tables, held=()):
    return diagnose(found, rules(*tables), held, NOW)


def test_an_agent_without_a_home_is_not_told(here):
    """Where no agent has been there is nothing to tell."""
    assert expiry.expiries(here) == []


def test_without_a_setting_claude_code_deletes_after_thirty_days(home, here):
    """The default is 30 days, and the user's settings are where another would stand."""
    (home / ".claude").mkdir()
    found = only(here)
    assert (found.after, found.origin) == (timedelta(days=30), "")
    assert found.file == home / ".claude" / "settings.json"


@pytest.mark.parametrize(
    ("files", "days", "origin"),
    [
        (["user"], 60, "user"),
        (["shared", "user"], 50, "shared"),
        (["local", "shared", "user"], 40, "local"),
        (["managed", "local", "shared", "user"], 70, "managed"),
        (["drop-in", "managed", "user"], 80, "drop-in"),
        (["remote", "drop-in", "managed", "user"], 90, "remote"),
    ],
)
def test_the_settings_count_in_the_order_of_claude_code(home, here, system, files, days, origin):
    """Managed ones before local, project and user ones; the console's before those of files."""
    claude, managed = home / ".claude", system / "claude-code"
    known = {
        "user": (claude / "settings.json", 60),
        "shared": (here / ".claude" / "settings.json", 50),
        "local": (here / ".claude" / "settings.local.json", 40),
        "managed": (managed / "managed-settings.json", 70),
        "drop-in": (managed / "managed-settings.d" / "20-office.json", 80),
        "remote": (claude / "remote-settings.json", 90),
    }
    for name in files:
        put(known[name][0], keep(known[name][1]))
    found = only(here)
    assert (found.after, found.origin) == (timedelta(days=days), str(known[origin][0]))
    assert found.file == known[origin][0]


def test_the_last_drop_in_counts_and_one_without_the_setting_does_not(home, here, system):
    """Drop-ins count in the order of their names, over the file beside their folder."""
    (home / ".claude").mkdir()
    put(system / "claude-code" / "managed-settings.d" / "10.json", keep(11))
    put(system / "claude-code" / "managed-settings.d" / "20.json", keep(22))
    put(system / "claude-code" / "managed-settings.d" / "30.json", {"model": "m"})
    assert only(here).after == timedelta(days=22)


def test_the_shortest_period_of_any_project_counts(home, here, tmp_path):
    """One project that Claude Code was started in decides for the sessions of all."""
    put(home / ".claude" / "settings.json", keep(3650))
    scratch = put(tmp_path / "scratch" / ".claude" / "settings.json", keep(7))
    long = put(tmp_path / "long" / ".claude" / "settings.json", keep(9000))
    known = {str(path.parents[1]): {} for path in (scratch, long)}
    put(here / "relative" / ".claude" / "settings.json", keep(1))
    put(home / ".claude.json", {"projects": known | {"relative": {}}})
    found = only(here)
    assert (found.after, found.origin) == (timedelta(days=7), str(scratch))
    assert any("one project count for all" in note for note in found.notes)


def test_another_configuration_folder_is_followed(home, here, tmp_path, monkeypatch):
    """CLAUDE_CONFIG_DIR holds the settings and the list of projects."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    put(home / ".claude" / "settings.json", keep(5))
    put(tmp_path / "config" / "settings.json", keep(400))
    put(tmp_path / "p" / ".claude" / "settings.json", keep(300))
    put(tmp_path / "config" / ".claude.json", {"projects": {str(tmp_path / "p"): {}}})
    assert only(here).after == timedelta(days=300)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('{"cleanupPeriodDays": 0}', "is no number of 1 or more"),
        ('{"cleanupPeriodDays": "90"}', "is no number of 1 or more"),
        ('{"cleanupPeriodDays": true}', "is no number of 1 or more"),
        ('{"cleanupPeriodDays": NaN}', "is no number of 1 or more"),
        ('{"cleanupPeriodDays": 90', "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ("[90]", "holds no object"),
        (b"\xff\xfe\x00", "is no text"),
    ],
)
def test_settings_that_cannot_be_read_are_told_and_not_guessed(home, here, text, what):
    """The file is named, and no period."""
    file = put(home / ".claude" / "settings.json", text)
    found = only(here)
    assert found.after is None
    assert found.problem.startswith(str(file))
    assert what in found.problem


def test_a_folder_in_the_place_of_settings_is_told(home, here):
    """What cannot be opened is no missing file."""
    (home / ".claude" / "settings.json").mkdir(parents=True)
    assert only(here).problem.endswith("cannot be read: is a directory")


def test_comments_in_settings_are_left_out(home, here):
    """What looks like a comment within a text stays."""
    text = '// "cleanupPeriodDays": 1\n{"a": "http://kiln", /* 2 */ "cleanupPeriodDays": 45}'
    put(home / ".claude" / "settings.json", text)
    assert only(here).after == timedelta(days=45)


@pytest.mark.parametrize("days", ["1e999", "9" * 400])
def test_a_period_beyond_all_calendars_is_very_long(home, here, days):
    """It is no error, and nothing ever goes."""
    put(home / ".claude" / "settings.json", f'{{"cleanupPeriodDays": {days}}}')
    file = put(home / ".claude" / "projects" / "-srv-quest" / f"{SESSION}.jsonl", {})
    os.utime(file, (0, 0))
    found = diagnose(only(here), None, (), NOW)
    assert found.expiry.after == timedelta(days=timedelta.max.days)
    assert (found.sessions, found.overdue, found.next_at) == (1, 0, None)


@pytest.mark.parametrize(
    ("config", "note"),
    [
        ("", "the prompts in history.jsonl are kept"),
        ('[history]\npersistence = "none"', "no prompts are kept"),
        ("[history]\nmax_bytes = 100000", "leave history.jsonl beyond 100,000 bytes"),
        ("history = 3", "the prompts in history.jsonl are kept"),
    ],
)
def test_codex_deletes_no_session(home, here, config, note):
    """Its settings are of the prompts alone."""
    put(home / ".codex" / "config.toml", config)
    found = only(here)
    assert (found.agent, found.after, found.problem) == ("codex", None, "")
    assert note in found.notes[0]


def test_a_codex_file_that_is_no_toml_is_told(home, here):
    """The file is named."""
    file = put(home / ".codex" / "config.toml", "= 3")
    assert only(here).problem == f"{file} is no TOML"


@pytest.mark.parametrize(
    ("retention", "hours"),
    [
        (None, 30 * 24),
        ({"enabled": True}, 30 * 24),
        ({"enabled": False, "maxAge": "1d"}, None),
        ({"maxAge": "36h"}, 36),
        ({"maxAge": "2w"}, 14 * 24),
        ({"maxAge": "1m"}, 30 * 24),
        ({"maxCount": 50}, 24),
        ({"maxCount": 50, "maxAge": "12h"}, 12),
        ({"maxCount": 50, "minRetention": "3d"}, 72),
    ],
)
def test_gemini_deletes_after_thirty_days_unless_it_is_told_else(home, here, retention, hours):
    """A highest number of sessions lets one go as soon as the least period is over."""
    put(home / ".gemini" / "settings.json", {"general": {"sessionRetention": retention}})
    assert only(here).after == (None if hours is None else timedelta(hours=hours))


def test_the_systems_settings_of_gemini_count_before_the_users_and_its_defaults_after(
    home, here, system
):
    """Each member of the setting is looked for by itself."""
    put(
        system / "gemini-cli" / "system-defaults.json",
        {"general": {"sessionRetention": {"maxAge": "9d"}}},
    )
    put(home / ".gemini" / "settings.json", {"general": {"sessionRetention": {"enabled": True}}})
    assert only(here).after == timedelta(days=9)
    put(home / ".gemini" / "settings.json", {"general": {"sessionRetention": {"maxAge": "8d"}}})
    assert only(here).after == timedelta(days=8)
    put(
        system / "gemini-cli" / "settings.json", {"general": {"sessionRetention": {"maxAge": "7d"}}}
    )
    assert only(here).after == timedelta(days=7)


@pytest.mark.parametrize("age", ["$AGE", "0d", 30, "30", "-3d"])
def test_an_age_that_is_none_is_told(home, here, age):
    """It is not taken for the default."""
    put(home / ".gemini" / "settings.json", {"general": {"sessionRetention": {"maxAge": age}}})
    assert only(here).problem.endswith("maxAge is no duration such as 30d")


def test_qwen_deletes_only_where_it_is_told_to(home, here):
    """It is off by default, and has no period of its own."""
    file = put(home / ".qwen" / "settings.json", {})
    assert (only(here).after, only(here).problem) == (None, "")
    put(file, {"general": {"sessionRetention": {"enabled": True, "maxAge": "14d"}}})
    assert only(here).after == timedelta(days=14)
    put(file, {"general": {"sessionRetention": {"enabled": True}}})
    assert only(here).problem.endswith("is enabled, and has no maxAge")
    put(file, {"general": {"sessionRetention": {"enabled": "yes"}}})
    assert only(here).problem.endswith("enabled is neither true nor false")


def test_pi_and_opencode_delete_nothing_and_openclaw_is_not_known(home, here):
    """What is not read is told."""
    for name in (".pi/agent", ".data/opencode", ".openclaw"):
        (home / name).mkdir(parents=True)
    found = {one.title: one for one in expiry.expiries(here)}
    assert [one.after for one in found.values()] == [None, None, None]
    assert [one.title for one in found.values() if one.problem] == ["OpenClaw"]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ('retain_for = "31d"', ["retain"]),
        ('retain_for = "30d"', []),
        ('retain_for = "forever"', ["retain"]),
        ('expire_after = "30d"', ["expire"]),
        ('expire_after = "29d"', []),
        ('expire_after = "90d"\naction = "archive"', ["expire"]),
        ('expire_after = "90d"\naction = "delete"', []),
        ('expire_after = "forever"', []),
        ('retain_for = "60d"\nexpire_after = "90d"', ["retain", "expire"]),
    ],
)
def test_what_a_rule_says_against_thirty_days(home, here, text, kinds):
    """An agent that deletes sooner than a rule keeps, or no later than it acts, is a conflict."""
    (home / ".claude").mkdir()
    found = judged(only(here), rule("one", text))
    assert [one.kind for one in found.conflicts] == kinds


@pytest.mark.parametrize(
    ("match", "concerned"),
    [
        ('agent = "claude-code"', True),
        ('agent = "c*"', True),
        ('agent = "codex|pi"', False),
        ('path = "~/.claude/projects/-srv-quest*"', True),
        ('path = "*/quest/*"', True),
        ('path = "~/.codex/*"', False),
        ('tags = ["later"]', True),
    ],
)
def test_a_rule_concerns_an_agent_whose_sessions_it_may_match(home, here, match, concerned):
    """A session that is not there yet may match as well; of another agent or place none does."""
    (home / ".claude").mkdir()
    found = judged(only(here), rule("one", 'retain_for = "1y"', match))
    assert bool(found.conflicts) is concerned


@pytest.mark.parametrize(
    ("until", "kinds"),
    [(None, ["hold"]), (NOW + timedelta(days=1), ["hold"]), (NOW, [])],
)
def test_a_hold_conflicts_with_any_period(home, here, until, kinds):
    """The agent knows of no hold; one that is over is none."""
    put(home / ".claude" / "settings.json", keep(36000))
    held = [Hold("claim-7", Match(), "a claim", until=until)] * 2
    found = judged(only(here), held=held)
    assert [one.kind for one in found.conflicts] == kinds


def test_no_rule_takes_what_sesstool_cannot_open(home, here, monkeypatch):
    """A rule that acts says nothing of an agent that is known by name only; one that keeps does."""
    monkeypatch.setattr(Gemini, "repairable", False)
    (home / ".gemini").mkdir()
    act = rule("act", 'expire_after = "90d"')
    assert judged(only(here), act).conflicts == ()
    found = judged(only(here), act, rule("keep", 'retain_for = "40d"'))
    assert [one.name for one in found.conflicts] == ["keep"]
    assert found.sessions is None
    (step,) = found.steps
    assert step.startswith('write "general": {"sessionRetention": {"maxAge": "40d"}} in ')


def test_the_next_step_is_the_setting_that_ends_all_conflicts(home, here):
    """It is the longest that is needed; a rule that acts needs a month more."""
    file = home / ".claude" / "settings.json"
    file.parent.mkdir()
    tables = [
        rule("year", 'retain_for = "1y"'),
        rule("quarter", 'expire_after = "90d"', 'agent = "claude-code"'),
    ]
    found = judged(only(here), *tables)
    assert found.steps == (f'write "cleanupPeriodDays": 365 in {file}',)
    put(file, keep(365))
    assert judged(only(here), *tables).conflicts == ()
    early = judged(expiry.expiries(here)[0], rule("r", 'expire_after = "365d"')).steps
    assert early[0] == f'write "cleanupPeriodDays": 395 in {file}'
    assert early[1].startswith("or have r expire well before 365d")


def test_a_hold_needs_a_hundred_years(home, here):
    """There is no setting for never."""
    (home / ".claude").mkdir()
    held = [Hold("claim-7", Match(), "a claim")]
    (step,) = judged(only(here), held=held).steps
    assert step.startswith('write "cleanupPeriodDays": 36500 in ')


def test_an_unknown_period_is_a_conflict_where_something_must_be_kept(home, here):
    """Nothing is claimed, and nothing is passed over."""
    put(home / ".claude" / "settings.json", "{")
    assert judged(only(here)).conflicts == ()
    found = judged(only(here), rule("keep", 'retain_for = "1d"'))
    assert [one.kind for one in found.conflicts] == ["unknown"]


def test_when_sessions_go_is_told_by_the_time_of_their_files(home, here):
    """Two are past the period, and the next one goes ten days later; a twin counts, too."""
    put(home / ".claude" / "settings.json", keep(60))
    for number, (age, end) in enumerate([(61, ""), (60, ".age"), (50, ""), (1, "")]):
        name = f"{SESSION[:-1]}{number}.jsonl{end}"
        file = put(home / ".claude" / "projects" / "-srv-quest" / name, {})
        time = (NOW - timedelta(days=age)).timestamp()
        os.utime(file, (time, time))
    found = judged(only(here))
    assert (found.sessions, found.overdue) == (4, 2)
    assert found.next_at == NOW + timedelta(days=10)


def run(capsys, *arguments, code):
    assert main.run(["config", "doctor", *map(str, arguments)]) == code
    return capsys.readouterr()


@pytest.mark.usefixtures("here")
def test_conflicts_exit_with_one_and_none_with_zero(home, tmp_path, capsys):
    """The text names the rule, the period and the step; the summary counts."""
    file = put(tmp_path / "mine.toml", "version = 1\n" + rule("year", 'retain_for = "1y"'))
    put(home / ".claude" / "settings.json", keep(90))
    said = run(capsys, "--policy", file, code=1)
    assert "conflict   rule year keeps sessions for 365d" in said.out
    assert 'next       write "cleanupPeriodDays": 365 in' in said.out
    assert f"1 agent, 1 conflict with {file}" in said.err
    run(capsys, "--policy", file, "--exit-zero", code=0)
    put(home / ".claude" / "settings.json", keep(365))
    assert "conflict " not in run(capsys, "--policy", file, code=0).out


@pytest.mark.usefixtures("here")
def test_without_a_policy_holds_still_count(home, capsys):
    """Holds that were made by command have no policy file."""
    (home / ".claude").mkdir()
    assert "no retention policy is given" in run(capsys, code=0).err
    holds.add(api.state_folder(), Hold("claim-7", Match(), "a claim"))
    assert "hold claim-7 keeps sessions" in run(capsys, code=1).out


@pytest.mark.usefixtures("here")
def test_the_json_obeys_its_schema_and_leaves_nothing_undescribed(home, tmp_path, capsys):
    """With each kind of conflict, and an agent of each kind."""
    file = put(tmp_path / "mine.toml", "version = 1\n" + rule("year", 'retain_for = "forever"'))
    put(home / ".claude" / "settings.json", keep(90))
    put(home / ".qwen" / "settings.json", "{")
    (home / ".codex").mkdir()
    value = json.loads(run(capsys, "--policy", file, "-f", "json", code=1).out)
    judge("doctor").validate(value)
    schema = judge("doctor").schema
    assert undescribed(value, schema, schema) == set()
    agents = {one["agent"]: one for one in value["agents"]}
    assert [agents[name]["after_seconds"] for name in ("claude-code", "codex", "qwen")] == [
        90 * 86400,
        None,
        None,
    ]
    assert [one["conflicts"][0]["kind"] for one in value["agents"] if one["conflicts"]] == [
        "retain",
        "unknown",
    ]


@pytest.mark.usefixtures("here")
def test_hostile_names_do_not_reach_the_terminal(home, tmp_path, capsys, monkeypatch):
    """A project's folder may be called anything, and a home as well."""
    folder = tmp_path / "a\x1b[2J\u202eb"
    put(folder / ".claude" / "settings.json", keep(1))
    put(home / ".claude.json", {"projects": {str(folder): {}}})
    (home / ".claude").mkdir()
    out = run(capsys, code=0).out
    assert "a␛[2J<U+202E>b/.claude/settings.json" in out
    assert "\x1b" not in out + run(capsys, "-f", "json", code=0).out
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(folder / ".claude"))
    assert "a␛[2J<U+202E>b/.claude\n  deletes" in run(capsys, code=0).out


def test_a_folder_that_none_can_be_called_is_told(home, here):
    """A NUL in a path is no traceback."""
    put(home / ".claude.json", {"projects": {"/a\x00b": {}}})
    (home / ".claude").mkdir()
    assert only(here).problem.endswith("is no text")
