"""Credentials at rest: what comes back, what does not open, and that no moment of a rotation loses one."""

import asyncio
import sqlite3

import msgspec
import pytest

from noetl.clock import SystemClock
from noetl.errors import KeychainBusy, KeychainUnusable, RequestError
from noetl.keychain.key_file import KeyFile
from noetl.keychain.key_variable import KeyVariable
from noetl.keychain.ring import Ring
from noetl.keychain.sealing import Key
from noetl.keychain.stored import CREDENTIAL_BYTES_MAX, Credential, StoredCredentials
from noetl.keychain.strongbox import REFERENCES
from noetl.keychain.strongbox_memory import MemoryStrongbox
from noetl.keychain.strongbox_sqlite import SqliteStrongbox

PLANTED = "planted-s3cret"


@pytest.fixture(params=["memory", "sqlite"])
def box(request, tmp_path):
    return MemoryStrongbox() if request.param == "memory" else SqliteStrongbox(tmp_path / "keychain.db")


@pytest.fixture
def keys(tmp_path):
    return KeyFile(tmp_path / "keychain.keys")


@pytest.fixture
def stored(box, keys):
    return StoredCredentials(box, keys, SystemClock())


async def keep(stored, name, fields, kind="bearer", **options):
    (row,) = await stored.set_all([Credential(name=name, kind=kind, fields=fields)], **options)
    return row


async def fields_of(stored, name):
    _, fields = await stored.read(name)
    return fields


async def refusal(stored, name):
    with pytest.raises(KeychainUnusable) as raised:
        await stored.read(name)
    return str(raised.value)


@pytest.mark.spec("KC-05")
async def test_fields_come_back_as_they_were_given(stored):
    fields = {"token": PLANTED, "number": 5, "deep": {"a": ["b", None, True]}, "schön": "名"}

    row = await keep(stored, "api", fields)

    assert await fields_of(stored, "api") == fields
    assert (row.version, row.kind, row.origin, row.fields) == (
        1,
        "bearer",
        "stored",
        ("deep", "number", "schön", "token"),
    )


async def test_what_is_not_there_is_none(stored):
    assert await stored.read("api") is None


async def test_setting_again_replaces_and_counts_up(stored):
    first = await keep(stored, "api", {"token": "old"})

    second = await keep(stored, "api", {"token": PLANTED})

    assert await fields_of(stored, "api") == {"token": PLANTED}
    assert (first.version, second.version) == (1, 2)
    assert second.created_at == first.created_at


async def test_references_that_did_not_change_keep_their_version(stored):
    await keep(stored, "api", {"token": {"env": "A"}}, origin=REFERENCES)

    same = await keep(stored, "api", {"token": {"env": "A"}}, origin=REFERENCES)
    other = await keep(stored, "api", {"token": {"env": "B"}}, origin=REFERENCES)

    assert (same.version, other.version) == (1, 2)


async def test_a_value_is_not_replaced_by_a_reference_unasked(stored):
    await keep(stored, "api", {"token": PLANTED})

    with pytest.raises(RequestError, match="noetl keychain remove api"):
        await keep(stored, "api", {"token": {"env": "A"}}, origin=REFERENCES)
    assert await fields_of(stored, "api") == {"token": PLANTED}


async def test_of_several_all_are_kept_or_none(stored):
    await keep(stored, "b", {"token": PLANTED})
    given = [Credential(name=name, kind="bearer", fields={"token": {"env": "A"}}) for name in "ab"]

    with pytest.raises(RequestError):
        await stored.set_all(given, REFERENCES)

    assert [row.name for row in await stored.rows()] == ["b"]


async def test_a_credential_has_a_bound(stored):
    with pytest.raises(RequestError, match=f"may have {CREDENTIAL_BYTES_MAX} bytes"):
        await keep(stored, "api", {"token": "x" * CREDENTIAL_BYTES_MAX})


def test_a_credential_on_its_way_in_does_not_show_its_fields():
    assert PLANTED not in repr(Credential(name="api", kind="bearer", fields={"token": PLANTED}))


# --- seals -----------------------------------------------------------------------------------------------------------


@pytest.mark.spec("KC-05")
async def test_swapped_rows_do_not_open(stored, box):
    await keep(stored, "a", {"token": "of a"})
    await keep(stored, "b", {"token": "of b"})
    a, b = await box.rows()

    def swap(turn):
        turn.put(msgspec.structs.replace(a, nonce=b.nonce, ciphertext=b.ciphertext))
        turn.put(msgspec.structs.replace(b, nonce=a.nonce, ciphertext=a.ciphertext))

    await box.change(swap)

    for name in "ab":
        said = await refusal(stored, name)
        assert f'"{name}" was changed or swapped with another' in said
        assert "of a" not in said


@pytest.mark.spec("KC-05")
@pytest.mark.parametrize(
    "edit",
    [
        {"version": 2},
        {"kind": "api_key"},
        {"origin": "document"},
        {"fields": ("key",)},
        {"nonce": bytes(12)},
        {"ciphertext": b""},
        {"name": "other"},
    ],
    ids=lambda edit: next(iter(edit)),
)
async def test_an_edited_row_does_not_open(stored, box, edit):
    row = await keep(stored, "a", {"token": PLANTED})
    edited = msgspec.structs.replace(row, **edit)

    await box.change(lambda turn: turn.put(edited))

    assert "its seal does not fit" in await refusal(stored, edited.name)


@pytest.mark.spec("KC-05")
async def test_an_old_row_put_back_under_a_newer_version_does_not_open(stored, box):
    old = await keep(stored, "a", {"token": "revoked"})
    new = await keep(stored, "a", {"token": PLANTED})

    await box.change(lambda turn: turn.put(msgspec.structs.replace(old, version=new.version)))

    assert "its seal does not fit" in await refusal(stored, "a")


@pytest.mark.spec("KC-05")
async def test_a_missing_key_is_named(stored, keys):
    row = await keep(stored, "a", {"token": PLANTED})
    other = Key.fresh()
    keys.save(Ring([other]))

    said = await refusal(stored, "a")

    assert f"sealed with the key {row.key_id}, which is not in {keys.where} (there: {other.id})" in said


async def test_without_its_ring_nothing_opens_and_no_new_ring_is_made(stored, tmp_path):
    await keep(stored, "a", {"token": PLANTED})
    (tmp_path / "keychain.keys").unlink()

    assert "the key ring" in await refusal(stored, "a")
    with pytest.raises(KeychainUnusable, match="is missing"):
        await keep(stored, "b", {"token": PLANTED})
    assert not (tmp_path / "keychain.keys").exists()


async def test_what_cannot_be_opened_can_be_removed(stored, tmp_path):
    await keep(stored, "a", {"token": PLANTED})
    (tmp_path / "keychain.keys").unlink()

    assert await stored.remove("a") is True

    await keep(stored, "a", {"token": "anew"})
    assert await fields_of(stored, "a") == {"token": "anew"}


# --- rotation --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("KC-05", "KC-06")
async def test_a_rotation_seals_everything_anew_and_drops_the_old_key(stored, keys, box):
    before = [await keep(stored, name, {"token": name}) for name in "abc"]

    rotation = await stored.rotate()

    after = await box.rows()
    assert {row.key_id for row in after} == {rotation.key_id} == set(keys.load().ids)
    assert rotation.dropped_key_ids == [before[0].key_id]
    assert not {row.ciphertext for row in before} & {row.ciphertext for row in after}
    assert [row.version for row in after] == [1, 1, 1]
    assert [await fields_of(stored, name) for name in "abc"] == [{"token": name} for name in "abc"]


async def test_a_rotation_that_cannot_open_a_row_changes_nothing(stored, keys, box):
    await keep(stored, "a", {"token": PLANTED})
    row = await keep(stored, "b", {"token": PLANTED})
    await box.change(lambda turn: turn.put(msgspec.structs.replace(row, ciphertext=b"")))
    rows, ids = await box.rows(), keys.load().ids

    with pytest.raises(KeychainUnusable, match='"b" was changed'):
        await stored.rotate()

    assert await box.rows() == rows
    assert keys.load().ids == ids


async def test_given_keys_rotate_to_the_first_and_say_which_can_go(box):
    old, new = Key.fresh(), Key.fresh()
    await keep(StoredCredentials(box, KeyVariable(old.as_text()), SystemClock()), "a", {"token": PLANTED})
    both = StoredCredentials(box, KeyVariable(f"{new.as_text()},{old.as_text()}"), SystemClock())

    rotation = await both.rotate()

    assert (rotation.key_id, rotation.resealed, rotation.dropped_key_ids) == (new.id, 1, [old.id])
    alone = StoredCredentials(box, KeyVariable(new.as_text()), SystemClock())
    assert await fields_of(alone, "a") == {"token": PLANTED}


async def test_setting_reading_and_rotating_at_once_lose_nothing(tmp_path):
    def another():
        return StoredCredentials(
            SqliteStrongbox(tmp_path / "keychain.db"), KeyFile(tmp_path / "keychain.keys"), SystemClock()
        )

    names = [f"n{number}" for number in range(8)]
    await asyncio.gather(*(keep(another(), name, {"token": name}) for name in names))

    rounds = [another().rotate() for _ in range(4)]
    sets = [keep(another(), f"new{number}", {"token": "new"}) for number in range(4)]
    reads = [fields_of(another(), name) for name in names for _ in range(5)]
    found = await asyncio.gather(*rounds, *sets, *reads)

    assert found[8:] == [{"token": name} for name in names for _ in range(5)]
    assert [await fields_of(another(), row.name) for row in await another().rows()] == [
        {"token": "new" if row.name.startswith("new") else row.name} for row in await another().rows()
    ]


# --- the file --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("KC-05")
async def test_the_files_are_private_and_show_no_value(tmp_path, keys):
    stored = StoredCredentials(SqliteStrongbox(tmp_path / "keychain.db"), keys, SystemClock())

    await keep(stored, "api", {"token": PLANTED, "note": "another-s3cret"})

    files = list(tmp_path.iterdir())
    assert sorted(path.name for path in files) == ["keychain.db", "keychain.keys"]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    with sqlite3.connect(tmp_path / "keychain.db") as connection:
        dump = "\n".join(connection.iterdump())
    connection.close()
    for text in (PLANTED, "another-s3cret"):
        assert text not in dump
        assert all(text.encode() not in path.read_bytes() for path in files)


async def test_a_database_that_somebody_else_holds_is_busy_and_not_changed(tmp_path, keys):
    path = tmp_path / "keychain.db"
    await keep(StoredCredentials(SqliteStrongbox(path), keys, SystemClock()), "a", {"token": PLANTED})
    impatient = StoredCredentials(SqliteStrongbox(path, busy_seconds_max=0.0), keys, SystemClock())
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")

    with pytest.raises(KeychainBusy):
        await keep(impatient, "b", {"token": PLANTED})
    found = await fields_of(impatient, "a")

    holder.close()
    assert found == {"token": PLANTED}


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"not a database, but long enough to look at" * 40, "not a database"), (None, "another program")],
    ids=["text", "another program's"],
)
async def test_a_file_that_is_no_keychain_is_refused_and_left_alone(tmp_path, keys, content, words):
    path = tmp_path / "keychain.db"
    if content is None:
        other = sqlite3.connect(path)
        other.execute("CREATE TABLE mine (x)")
        other.close()
    else:
        path.write_bytes(content)
    before = path.read_bytes()

    with pytest.raises(KeychainUnusable, match=words):
        await keep(StoredCredentials(SqliteStrongbox(path), keys, SystemClock()), "a", {"token": PLANTED})

    assert path.read_bytes() == before


async def test_a_keychain_of_a_later_schema_is_refused(tmp_path, keys):
    path = tmp_path / "keychain.db"
    stored = StoredCredentials(SqliteStrongbox(path), keys, SystemClock())
    await keep(stored, "a", {"token": PLANTED})
    other = sqlite3.connect(path)
    other.execute("PRAGMA user_version=2")
    other.close()

    assert "has schema 2, and this NoETL knows 1" in await refusal(stored, "a")
