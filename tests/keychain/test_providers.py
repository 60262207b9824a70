"""Secrets that others keep: variables and files that the operator allows."""

import os

import pytest

from tests.keychain.parts import PLANTED, fetched, refusal, secret_file

# --- what a secret becomes -------------------------------------------------------------------------------------------


@pytest.mark.spec("KC-04")
@pytest.mark.parametrize(
    ("text", "declaration", "expected"),
    [
        (PLANTED, {}, {"value": PLANTED}),
        ('{"user": "app", "password": "planted-s3cret"}', {}, {"user": "app", "password": PLANTED}),
        ('{"user": "app", "password": "planted-s3cret"}', {"field": "password"}, {"value": PLANTED}),
        ("planted-s3cret", {"kind": "bearer"}, {"token": PLANTED}),
        ('{"key": "planted-s3cret"}', {"kind": "bearer", "field": "key"}, {"token": PLANTED}),
    ],
)
async def test_a_secret_becomes_fields_or_a_value(tmp_path, text, declaration, expected):
    entry = await fetched(
        tmp_path,
        {"APP": text},
        settings={"keychain_env_allow": ("APP",)},
        provider="env",
        variable="APP",
        **declaration,
    )

    assert expected.items() <= entry.items()


async def test_a_field_that_is_not_there_is_named_with_those_that_are(tmp_path):
    message = await refusal(
        tmp_path,
        {"APP": '{"password": "planted-s3cret", "user": "app"}'},
        settings={"keychain_env_allow": ("APP",)},
        provider="env",
        variable="APP",
        field="pasword",
    )

    assert 'the secret has no field "pasword"; it has: password, user' in message


async def test_an_unknown_provider_is_named_with_those_there_are(tmp_path):
    message = await refusal(tmp_path, provider="vualt")

    assert 'there is no provider "vualt"; the providers are: env, file, vault, aws, gcp, azure' in message


# --- env -------------------------------------------------------------------------------------------------------------


@pytest.mark.spec("KC-04")
@pytest.mark.parametrize("allow", ["APP_TOKEN", "APP_*", "*"])
async def test_an_allowed_variable_can_be_had(tmp_path, allow):
    entry = await fetched(
        tmp_path,
        {"APP_TOKEN": PLANTED},
        settings={"keychain_env_allow": (allow,)},
        provider="env",
        variable="APP_TOKEN",
    )

    assert entry["value"] == PLANTED


@pytest.mark.parametrize(
    ("allow", "variable"),
    [
        ((), "APP_TOKEN"),
        (("APP",), "APP_TOKEN"),
        (("OTHER_*",), "APP_TOKEN"),
        (("*",), "NOETL_MASTER_KEY"),
        (("*",), "NOETL_SECRET_OTHER"),
        (("NOETL_*",), "NOETL_VAULT_TOKEN"),
        (("*",), "noetl_master_key"),
    ],
)
async def test_a_variable_that_is_not_allowed_cannot_be_had(tmp_path, allow, variable):
    message = await refusal(
        tmp_path, {variable: PLANTED}, settings={"keychain_env_allow": allow}, provider="env", variable=variable
    )

    assert f'the variable "{variable}" is not allowed' in message
    assert "keychain.env_allow" in message


async def test_an_allowed_variable_that_is_not_set_is_named(tmp_path):
    message = await refusal(tmp_path, settings={"keychain_env_allow": ("*",)}, provider="env", variable="APP_TOKEN")

    assert '"APP_TOKEN" is not set' in message


# --- file ------------------------------------------------------------------------------------------------------------


@pytest.mark.spec("KC-04")
@pytest.mark.parametrize("mode", [0o400, 0o600, 0o640])
async def test_a_file_under_an_allowed_folder_can_be_had_without_its_line_end(tmp_path, mode):
    path = secret_file(tmp_path / "secrets", mode=mode)
    settings = {"keychain_file_roots": (tmp_path / "secrets",)}

    absolute = await fetched(tmp_path, settings=settings, provider="file", path=str(path))
    relative = await fetched(tmp_path, settings=settings, provider="file", path="password")

    assert absolute["value"] == relative["value"] == PLANTED


async def test_links_within_an_allowed_folder_are_followed_as_mounted_secrets_have_them(tmp_path):
    roots = tmp_path / "secrets"
    secret_file(roots / "..2026", "password")
    (roots / "..data").symlink_to("..2026")
    (roots / "password").symlink_to("..data/password")

    entry = await fetched(tmp_path, settings={"keychain_file_roots": (roots,)}, provider="file", path="password")

    assert entry["value"] == PLANTED


@pytest.mark.parametrize("path", ["../outside", "/etc/passwd", "link", "folder/../../outside", ".", "", "a\0b"])
async def test_no_path_leads_out_of_the_allowed_folders(tmp_path, path):
    secret_file(tmp_path, "outside")
    (tmp_path / "secrets" / "folder").mkdir(parents=True)
    (tmp_path / "secrets" / "link").symlink_to(tmp_path / "outside")

    await refusal(tmp_path, settings={"keychain_file_roots": (tmp_path / "secrets",)}, provider="file", path=path)


async def test_no_file_can_be_had_unless_the_operator_allows_its_folder(tmp_path):
    path = secret_file(tmp_path / "secrets")

    message = await refusal(tmp_path, provider="file", path=str(path))

    assert "keychain.file_roots (NOETL_KEYCHAIN_FILE_ROOTS) lists: none" in message


@pytest.mark.parametrize("mode", [0o644, 0o602, 0o620, 0o666])
async def test_a_file_that_is_open_to_others_is_refused(tmp_path, mode):
    secret_file(tmp_path / "secrets", mode=mode)

    message = await refusal(
        tmp_path, settings={"keychain_file_roots": (tmp_path / "secrets",)}, provider="file", path="password"
    )

    assert "is open to others" in message
    assert "chmod" in message


async def test_a_pipe_a_folder_and_a_large_file_are_no_secrets(tmp_path):
    roots = tmp_path / "secrets"
    secret_file(roots, "large", "x" * (1024 * 1024 + 1))
    (roots / "folder").mkdir()
    os.mkfifo(roots / "pipe", 0o600)

    messages = [
        await refusal(tmp_path, settings={"keychain_file_roots": (roots,)}, provider="file", path=name)
        for name in ("large", "folder", "pipe", "missing")
    ]

    expected = ("bytes, but has more", "is not a file", "is not a file", "cannot be read")
    assert [words for words, message in zip(expected, messages, strict=True) if words not in message] == []
