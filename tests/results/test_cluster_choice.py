"""Where results go in a cluster: what every machine can reach, unless the operator says otherwise (RS-06)."""

from pathlib import Path

import pytest

from noetl.config import Settings, url_of
from noetl.errors import ResultStoreRefused, UnknownResultStore
from noetl.results.choices import NATS, Spot, configured, results_stores_of
from noetl.results.stores import NoCredentials, Stores

QUEUE = "nats://user:hunter2@queue.example.com:4222"


def settings_of(folder: Path, **fields) -> Settings:
    return Settings(home=folder, store_url=url_of(folder / "noetl.db"), **fields)


@pytest.mark.spec("RS-06")
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ()),
        ({"queue_url": QUEUE}, (QUEUE,)),
        ({"queue_url": QUEUE, "results_stores": ("s3://acme",)}, ("s3://acme",)),
        ({"queue_url": QUEUE, "results_stores": ("files",)}, ("files",)),  # a folder that all machines share
    ],
)
def test_results_go_to_the_queue_unless_the_operator_lists_stores(tmp_path, fields, expected):
    assert results_stores_of(settings_of(tmp_path, **fields)) == expected


def test_the_certificates_of_the_queue_are_those_of_its_results(tmp_path):
    file = tmp_path / "ca of ours.pem"

    (url,) = results_stores_of(settings_of(tmp_path, queue_url=QUEUE, queue_ca_file=file))
    found = configured(url)

    assert (found.spot, found.url) == (Spot(kind=NATS, name="noetl-results"), QUEUE)
    assert found.options == {"ca_file": str(file)}


async def test_a_file_of_certificates_that_is_not_there_is_named(tmp_path):
    stores = Stores(tmp_path, (f"{QUEUE}?ca_file={tmp_path}/gone.pem",), is_shared=True)

    with pytest.raises(ResultStoreRefused, match=r"gone\.pem") as caught:
        await stores.for_writing(None, NoCredentials())

    assert "hunter2" not in str(caught.value)


@pytest.mark.spec("RS-06")
@pytest.mark.parametrize("store", ["files", "sqlite"])
async def test_in_a_cluster_a_playbook_cannot_choose_the_disk_of_one_machine(tmp_path, store):
    shared, own = Stores(tmp_path, (QUEUE,), is_shared=True), Stores(tmp_path, (QUEUE,))

    with pytest.raises(UnknownResultStore, match=r"results\.stores has none of that kind"):
        await shared.for_writing(store, NoCredentials())

    assert await own.for_writing(store, NoCredentials())
    await own.close()
