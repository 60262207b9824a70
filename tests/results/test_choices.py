"""What is written to choose a store of results, and what is taken for a place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl.errors import UnknownResultStore
from noetl.results.choices import Choice, Spot, choice_of, configured, spot_in, spot_of

SHA = "ab" * 32
SPOTS = [
    (Spot(kind="files"), f"sha256:{SHA}"),
    (Spot(kind="sqlite"), f"sqlite:sha256:{SHA}"),
    (Spot(kind="postgres", name="noetl_result"), f"postgres:noetl_result/sha256:{SHA}"),
    (Spot(kind="postgres", name="etl.results"), f"postgres:etl.results/sha256:{SHA}"),
    (Spot(kind="nats_object", name="noetl-results"), f"nats:noetl-results/sha256:{SHA}"),
    (Spot(kind="s3", name="acme/etl/large"), f"s3://acme/etl/large/sha256/{SHA}"),
    (Spot(kind="gcs", name="acme"), f"gs://acme/sha256/{SHA}"),
    (Spot(kind="azure", name="acme/etl"), f"az://acme/etl/sha256/{SHA}"),
]


@pytest.mark.spec("RS-06")
@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (None, None),
        ("files", Choice(kind="files")),
        ("postgres", Choice(kind="postgres")),
        ({"kind": "nats_object", "bucket": "noetl-results"}, Choice(kind="nats_object", name="noetl-results")),
        ({"kind": "postgres", "table": "big", "auth": "pg"}, Choice(kind="postgres", name="big", auth="pg")),
        (
            {"kind": "s3", "bucket": "acme", "prefix": "/etl/", "auth": "aws"},
            Choice(kind="s3", name="acme/etl", auth="aws"),
        ),
        ({"kind": "azure", "container": "acme", "auth": "az"}, Choice(kind="azure", name="acme", auth="az")),
        ({"kind": "s3", "auth": "aws", "bucket": "acme", "color": "red"}, Choice(kind="s3", name="acme", auth="aws")),
    ],
)
def test_a_choice_is_a_name_or_a_mapping(written: object, expected: Choice | None) -> None:
    assert choice_of(written) == expected


@pytest.mark.parametrize(
    "written",
    [5, [], "disk", "", "{{ workload.store }}", {}, {"kind": None}, {"kind": "disk"}, {"kind": "s3", "auth": ["a"]},
     {"kind": "s3", "bucket": 5}, {"kind": "s3", "prefix": "etl"}, {"kind": "files", "bucket": "b"}],
)  # fmt: skip
def test_what_is_no_choice_is_refused(written: object) -> None:
    with pytest.raises(UnknownResultStore):
        choice_of(written)


@pytest.mark.spec("RS-02")
@pytest.mark.parametrize(("spot", "locator"), SPOTS)
def test_a_locator_names_its_place(spot: Spot, locator: str) -> None:
    assert spot.locator_prefix + SHA == locator
    assert spot_in(locator) == spot


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("postgres", ""),
        ("postgres", "Results"),
        ("postgres", 'r"; DROP TABLE x; --'),
        ("postgres", "a.b.c"),
        ("postgres", "pg_catalog.pg_class; --"),
        ("nats_object", "a.b"),
        ("nats_object", "a>"),
        ("nats_object", ""),
        ("s3", "acme/../other"),
        ("s3", "acme//other"),
        ("s3", "acme/etl/"),
        ("s3", "user:password@host"),
        ("s3", "acme?x=1"),
        ("s3", "a"),
        ("gcs", "../acme"),
        ("files", "etc"),
    ],
)
def test_what_is_no_place_is_refused(kind: str, name: str) -> None:
    with pytest.raises(UnknownResultStore):
        spot_of(kind, name)


@given(st.text(max_size=200))
def test_any_text_names_a_proved_place_or_none(text: str) -> None:
    for locator in (text, f"postgres:{text}/sha256:{SHA}", f"s3://{text}/sha256/{SHA}", f"nats:{text}/sha256:{SHA}"):
        spot = spot_in(locator)

        assert spot is None or spot_of(spot.kind, spot.name) == spot
        assert spot is None or ".." not in spot.name


@pytest.mark.parametrize(
    ("url", "spot", "opens"),
    [
        ("files", Spot(kind="files"), ""),
        ("sqlite", Spot(kind="sqlite"), ""),
        ("postgresql://u:p@db/x", Spot(kind="postgres", name="noetl_result"), "postgresql://u:p@db/x"),
        (
            "postgresql://u@/x?host=%2Ftmp&table=etl.big",
            Spot(kind="postgres", name="etl.big"),
            "postgresql://u@/x?host=%2Ftmp",
        ),
        ("nats://n:4222", Spot(kind="nats_object", name="noetl-results"), "nats://n:4222"),
        ("tls://n:4222/large", Spot(kind="nats_object", name="large"), "tls://n:4222"),
        ("s3://acme/etl/?endpoint=http://h:1&region=eu", Spot(kind="s3", name="acme/etl"), ""),
    ],
)
def test_the_operator_writes_urls(url: str, spot: Spot, opens: str) -> None:
    found = configured(url)

    assert (found.spot, found.url) == (spot, opens)


def test_options_of_a_bucket_stand_in_its_url() -> None:
    assert configured("s3://acme?endpoint=http://h:1&region=eu").options == {"endpoint": "http://h:1", "region": "eu"}


def test_a_message_about_a_url_shows_no_password() -> None:
    with pytest.raises(UnknownResultStore) as refused:
        configured("mysql://u:hunter2@db/x")

    assert "hunter2" not in str(refused.value)
