"""Which store is used: chosen by a task, named by a reference, opened with whose credential."""

import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from noetl.errors import ReferenceMissing, RequestError, ResultStoreRefused, ResultStoreUnreachable, UnknownResultStore
from noetl.references import Reference
from noetl.results.choices import KINDS
from noetl.results.stores import OPEN_MAX, NoCredentials, Stores
from noetl.secret import sealed

PAYLOAD = b'{"rows": [1, 2, 3]}'
BUCKET = {"kind": "s3", "bucket": "acme", "auth": "aws"}
KEYS = {"access_key_id": "AKIA", "secret_access_key": "hunter2", "endpoint": "http://127.0.0.1:9"}


class Wallet:
    """The credentials of one playbook."""

    def __init__(self, **entries: dict[str, Any]) -> None:
        self.entries = entries

    async def resolve(self, name: str) -> Mapping[str, Any]:
        if name not in self.entries:
            raise LookupError(f'this playbook declares no credential "{name}"')
        return sealed(self.entries[name])


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[Stores]:
    made = Stores(tmp_path / "noetl.results")
    yield made
    await made.close()


@pytest.mark.spec("RS-06")
async def test_without_a_choice_the_operators_first_store_is_used(tmp_path: Path) -> None:
    stores = Stores(tmp_path / "noetl.results", ["sqlite", "files"])

    reference = await (await stores.for_writing(None, NoCredentials())).store(PAYLOAD)

    assert reference.locator.startswith("sqlite:")
    assert (tmp_path / "noetl.results.db").exists()
    assert await stores.store(PAYLOAD) == reference
    await stores.close()


@pytest.mark.spec("RS-06")
@pytest.mark.parametrize(("choice", "start"), [("files", "sha256:"), ({"kind": "sqlite"}, "sqlite:sha256:")])
async def test_a_task_chooses_among_the_operators_stores(stores: Stores, choice: object, start: str) -> None:
    reference = await (await stores.for_writing(choice, NoCredentials())).store(PAYLOAD)

    assert reference.locator.startswith(start)
    assert await (await stores.for_reading(reference, NoCredentials())).fetch(reference) == PAYLOAD


async def test_what_is_in_files_is_read_after_the_first_store_has_changed(tmp_path: Path, stores: Stores) -> None:
    reference = await stores.store(PAYLOAD)
    others = Stores(tmp_path / "noetl.results", ["sqlite"])

    assert await others.fetch(reference) == PAYLOAD

    await others.close()


@pytest.mark.spec("RS-06")
@pytest.mark.parametrize("later", [["files"], ["files", "sqlite"]])
async def test_what_is_named_by_its_sha_is_found_in_whichever_store_was_the_first_then(
    tmp_path: Path, later: list[str]
) -> None:
    before = Stores(tmp_path / "noetl.results", ["sqlite"])
    in_sqlite = await before.store(PAYLOAD)
    by_sha = msgspec.structs.replace(in_sqlite, type="blob", locator=f"sha256:{in_sqlite.sha256}")
    now = Stores(tmp_path / "noetl.results", later)

    assert await now.fetch(by_sha) == PAYLOAD
    assert b"".join([piece async for piece in now.stream(by_sha)]) == PAYLOAD

    for stores in (before, now):
        await stores.close()


async def test_what_is_named_by_its_sha_and_in_this_machines_files_needs_no_other_store(tmp_path: Path) -> None:
    stores = Stores(tmp_path / "noetl.results", ["files", "postgresql://nobody@127.0.0.1:1/none"])
    reference = await stores.store(PAYLOAD)

    assert await stores.fetch(reference) == PAYLOAD
    with pytest.raises(ResultStoreUnreachable):  # nobody knows whether it is there
        await stores.fetch(Reference(type="blob", locator=f"sha256:{'0' * 64}"))

    await stores.close()


@pytest.mark.parametrize("kind", ["postgres", "s3", "gcs", "azure", "nats_object"])
async def test_a_store_that_nobody_set_up_is_refused_with_what_to_do(stores: Stores, kind: str) -> None:
    with pytest.raises(UnknownResultStore, match=r"results\.stores has none of that kind.*auth"):
        await stores.for_writing(kind, NoCredentials())


async def test_another_bucket_than_the_operators_needs_a_credential(tmp_path: Path) -> None:
    stores = Stores(tmp_path / "noetl.results", ["files", "s3://operators?endpoint=http://127.0.0.1:9&region=x"])

    with pytest.raises(ResultStoreRefused, match="needs auth"):
        await stores.for_writing({"kind": "s3", "bucket": "secret-bucket"}, NoCredentials())

    await stores.close()


@pytest.mark.spec("KC-07")
async def test_a_place_of_its_own_is_opened_with_a_credential_that_the_playbook_declares(stores: Stores) -> None:
    with pytest.raises(ResultStoreRefused, match=r'"aws".*declares no credential') as refused:
        await stores.for_writing(BUCKET, Wallet())

    assert refused.value.kind == "auth"
    assert await stores.for_writing(BUCKET, Wallet(aws=KEYS))


async def test_a_credential_that_cannot_be_had_now_is_worth_another_attempt(stores: Stores) -> None:
    class Unavailable(LookupError):
        retryable = True

    class Away:
        async def resolve(self, name: str) -> Mapping[str, Any]:
            raise Unavailable("the vault does not answer")

    with pytest.raises(ResultStoreUnreachable, match="the vault does not answer") as refused:
        await stores.for_writing(BUCKET, Away())

    assert refused.value.retryable


@pytest.mark.spec("KC-07")
async def test_a_reference_opens_nothing_that_the_reading_playbook_may_not_open(stores: Stores) -> None:
    reference = Reference(type="object_store", locator=f"s3://acme/sha256/{'a' * 64}", auth_reference="aws")

    with pytest.raises(ResultStoreRefused, match='"aws"'):
        await stores.for_reading(reference, Wallet(other=KEYS))
    with pytest.raises(UnknownResultStore, match="no credential"):
        await stores.for_reading(msgspec.structs.replace(reference, auth_reference=None), Wallet(aws=KEYS))

    assert await stores.for_reading(reference, Wallet(aws=KEYS))


@pytest.mark.parametrize(
    "locator", ["", "x", "file:///etc/passwd", f"s3://a b/sha256/{'a' * 64}", "sha256/" + "a" * 64]
)
async def test_what_is_no_locator_leads_nowhere(stores: Stores, locator: str) -> None:
    with pytest.raises(ReferenceMissing):
        await stores.for_reading(Reference(type="blob", locator=locator), NoCredentials())


async def test_a_credential_without_its_keys_says_which_it_lacks_and_shows_no_value(stores: Stores) -> None:
    with pytest.raises(ResultStoreRefused, match="access_key_id, secret_access_key") as refused:
        await stores.for_writing(BUCKET, Wallet(aws={"secret_access_key": "hunter2"}))

    assert "hunter2" not in str(refused.value)


async def test_one_place_with_one_credential_is_opened_once_and_a_rotated_one_anew(stores: Stores) -> None:
    first = await stores.for_writing(BUCKET, Wallet(aws=KEYS))
    again = await stores.for_writing(BUCKET, Wallet(aws=dict(KEYS)))
    rotated = await stores.for_writing(BUCKET, Wallet(aws=KEYS | {"secret_access_key": "hunter3"}))

    assert first is again
    assert rotated is not first


async def test_the_number_of_open_stores_is_bounded(stores: Stores) -> None:
    first = await stores.for_writing(BUCKET, Wallet(aws=KEYS))

    for number in range(OPEN_MAX):
        await stores.for_writing(BUCKET | {"prefix": f"p{number}"}, Wallet(aws=KEYS))

    assert await stores.for_writing(BUCKET, Wallet(aws=KEYS)) is not first


@pytest.mark.parametrize(
    ("choice", "module", "extra"),
    [
        ({"kind": "postgres", "auth": "it"}, "noetl.results.postgres", "postgres"),
        ({"kind": "nats_object", "auth": "it"}, "noetl.results.nats", "nats"),
        ({"kind": "s3", "bucket": "acme", "auth": "it"}, "noetl.results.s3", "s3"),
    ],
)
async def test_a_library_that_is_not_installed_is_named(
    stores: Stores, monkeypatch: pytest.MonkeyPatch, choice: object, module: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)  # as if importing it failed

    with pytest.raises(UnknownResultStore, match=rf'pip install "noetl\[{extra}\]"'):
        await stores.for_writing(choice, Wallet(it={"url": "nats://127.0.0.1:9"}))


@pytest.mark.spec("RS-08")
async def test_walking_and_removing_reach_all_of_the_operators_stores(stores: Stores) -> None:
    references = [
        await (await stores.for_writing(kind, NoCredentials())).store(PAYLOAD) for kind in ("files", "sqlite")
    ]

    assert {kept.locator async for kept in stores.walk()} == {one.locator for one in references}

    for reference in references:
        assert await stores.remove(reference.locator, stored_before=float("inf"))
    assert not [kept async for kept in stores.walk()]


def test_a_setting_that_names_no_place_is_refused_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"results\.stores"):
        Stores(tmp_path, ["files", "s3://acme/../other"])


async def test_looking_makes_nothing(tmp_path: Path, stores: Stores) -> None:
    assert [kept async for kept in stores.walk()] == []
    assert list(tmp_path.iterdir()) == []


def test_the_checker_knows_the_same_kinds() -> None:
    from noetl.dsl.rules.nl704_unknown_result_store import STORES

    assert set(STORES) == set(KINDS)
