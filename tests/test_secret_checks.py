"""What tells a secret from names, words, code and samples."""

import pytest

from sesstool.privacy import secret_checks, seed_checks
from sesstool.privacy.candidate import Candidate
from sesstool.privacy.ruleset import expand


def _candidate(value, key="password", sign="="):
    text, _ = expand(f"{key}{sign}{value}", value)
    data = text.encode()
    return Candidate(data, len(key + sign), len(data), key.encode())


@pytest.mark.parametrize(
    "value", ["<alnum:24>", "<hex:32>", "<base64url:43>", "<base64:40>", "<uppernum:20>"]
)
def test_what_a_machine_drew_is_random(value):
    assert secret_checks.random(_candidate(value), "")


def test_drawn_letters_with_a_dot_are_no_member_of_an_object():
    for value in ("<alnum:9>.<alnum:7>", "<alpha:4>7<alpha:4>.<alpha:3>4<alpha:3>"):
        assert secret_checks.secret(_candidate(value), "bare")
    for value in ("cfg.dbPassword1", "MyApp.V1Dto", "Aes256.EncKeyB64", "utils.sha256Hex"):
        assert not secret_checks.secret(_candidate(value), "bare")


@pytest.mark.parametrize(
    "value",
    [
        "getUserById",
        "authentication_backend",
        "next-page-2",
        "2024-11-02T10:00:00Z",
        "1.22.333",
        "correcthorsebattery",
        "<hex:8>-<hex:4>-<hex:4>-<hex:4>-<hex:12>",
    ],
)
def test_words_names_dates_and_ids_are_not_random(value):
    assert not secret_checks.random(_candidate(value), "")


@pytest.mark.parametrize(
    "value",
    [
        "${DB_PASSWORD}",
        "$DB_PASSWORD",
        "{{ vault.password }}",
        "os.environ[0]",
        "process.env.DB_PASSWORD",
        "get_password(1)",
        "self.password2",
        "/run/secrets/db_password1",
        "id_rsa2.pem",
        "https://kiln.fi/x1",
        "your_password_1",
        "changeme123",
        "<password1>",
        "ACCESS_TOKEN",
        "none",
        "xxxxxxxx1",
    ],
)
def test_references_code_paths_and_samples_are_no_secrets(value):
    assert not any(
        secret_checks.secret(_candidate(value), kind) for kind in ("literal", "bare", "token")
    )


@pytest.mark.parametrize("kind", ["any", "literal", "bare", "variable"])
def test_a_made_up_password_is_a_secret_wherever_it_stands(kind):
    assert secret_checks.secret(_candidate("<lower:7>48!<upper:2>"), kind)


def test_a_word_is_a_password_only_where_all_is_a_literal():
    candidate = _candidate("swordfish")
    assert secret_checks.secret(candidate, "any")
    assert secret_checks.secret(candidate, "literal")
    assert not secret_checks.secret(candidate, "bare")


@pytest.mark.parametrize(
    "key", ["password_hash", "maxTokens", "token_type", "cacheKey", "next_token", "publicKey"]
)
def test_a_name_that_is_about_secrets_gives_none(key):
    assert not secret_checks.secret(_candidate("<alnum:32>", key), "token")


@pytest.mark.parametrize(
    "key", ["clientSecret", "API_KEY", "auth0_client_secret", "token_secret", "sshPrivateKey"]
)
def test_a_name_of_a_secret_gives_one(key):
    assert secret_checks.secret(_candidate("<alnum:32>", key), "token")


def test_basic_is_a_user_name_and_a_password():
    assert secret_checks.basic(_candidate("bWluYTprOHdvcmQ0dGlsbg=="), "")
    assert not secret_checks.basic(_candidate("bWluYQ=="), "")
    assert not secret_checks.basic(_candidate("authentication"), "")


def test_a_seed_phrase_is_of_the_list_and_not_a_part_of_it():
    words = "legal winner thank year wave sausage worth useful legal winner thank yellow"
    assert seed_checks.seed_phrase(_candidate(words), "")
    assert not seed_checks.seed_phrase(_candidate(" ".join(sorted(words.split()))), "")
    assert not seed_checks.seed_phrase(_candidate(words.replace("year", "yearly")), "")


def test_a_key_without_a_body_is_none():
    begin = "-----BEGIN PRIVATE KEY-----"
    assert secret_checks.key_body(_candidate(begin + "<base64:64>"), "")
    assert not secret_checks.key_body(_candidate(begin + " a very long key " * 5), "")
