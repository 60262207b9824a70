"""Results in buckets: S3 and what speaks like it, Google Cloud Storage, Azure Blob Storage (obstore).

A payload is the object `<folder>/sha256/<sha256>`, so its locator is its URL and other programs can read it. It is
known whole before it is sent, so it goes straight to its name, in parts of 8 MiB and few at a time; the last request
makes it visible. It is sent again even if it is there: the same bytes under the same name, which renews its time (no
bucket can only be touched) and mends it. A process that dies while it sends leaves parts that only the bucket's own
rule for incomplete uploads removes.

Buckets have no removal on a condition: between the look at the time and the removal, somebody may store the same
content again. The sweep removes only what nobody has needed for a day, so that both must happen in one instant.

A playbook's own place is opened with its credential and nothing else: what the machine has for its operator (variables,
the cloud's metadata) is never used for it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError
from obstore.store import AzureStore, GCSStore, ObjectStore, S3Store

from noetl.errors import ResultStoreRefused, ResultStoreUnreachable, UnknownResultStore
from noetl.results.blobs import CHUNK_BYTES, SHA256, Place
from noetl.results.by_content import ByContent, Found
from noetl.results.choices import Spot
from noetl.results.contract import Kept
from noetl.results.spool import Payload, pieces_of

PART_BYTES = 8 * CHUNK_BYTES
PARTS_AT_ONCE_MAX = 2
OBJECTS_PER_STEP = 1000
CONNECT_SECONDS_MAX = 10
SILENCE_SECONDS_MAX = 30
REQUEST_SECONDS_MAX = 3600  # a large payload takes as long as it takes: silence is what ends it
RETRIES_MAX = 3
RETRY_SECONDS_MAX = 30
REASON_CHARACTERS_MAX = 300
DEFAULT_REGION = "us-east-1"
FOLDER = "sha256/"


class BucketResults(ByContent):
    """Results in a bucket; see `noetl.results.contract.Results`."""

    def __init__(self, spot: Spot, fields: Mapping[str, Any], place: Place, *, is_operators: bool) -> None:
        super().__init__(place)
        self._spot = spot
        bucket, _, folder = spot.name.partition("/")
        self._folder = f"{folder}/{FOLDER}" if folder else FOLDER
        try:
            self._bucket = opened(spot.kind, bucket, fields, is_operators)
        except (BaseError, ValueError) as fault:
            raise ResultStoreRefused(f"what opens the result store {spot} cannot be used: {_said(fault)}") from None

    async def put(self, payload: Payload) -> None:
        with self._faults():
            if payload.size <= PART_BYTES:
                await self._bucket.put_async(self._folder + payload.sha, payload.read(0, PART_BYTES))
                return
            await self._bucket.put_async(
                self._folder + payload.sha,
                pieces_of(payload, CHUNK_BYTES),
                chunk_size=PART_BYTES,
                max_concurrency=PARTS_AT_ONCE_MAX,
            )

    async def find(self, sha: str) -> Found | None:
        with self._faults():
            try:
                answer = await self._bucket.get_async(self._folder + sha)
            except FileNotFoundError:
                return None
        return Found(answer.meta["size"], self._pieces(answer.stream(min_chunk_size=CHUNK_BYTES)))

    async def _pieces(self, body: AsyncIterator[Any]) -> AsyncGenerator[bytes, None]:
        with self._faults():
            async for piece in body:
                yield bytes(piece)

    async def walk(self) -> AsyncIterator[Kept]:
        with self._faults():
            async for step in self._bucket.list(self._folder, chunk_size=OBJECTS_PER_STEP):
                for found in step:
                    sha = found["path"].removeprefix(self._folder)
                    if SHA256.fullmatch(sha):
                        stored_at = found["last_modified"].timestamp()
                        yield Kept(locator=self.place.prefix + sha, bytes=found["size"], stored_at=stored_at)

    async def discard(self, sha: str, stored_before: float) -> bool:
        with self._faults():
            try:
                found = await self._bucket.head_async(self._folder + sha)
            except FileNotFoundError:
                return False
            if found["last_modified"].timestamp() >= stored_before:
                return False
            await self._bucket.delete_async(self._folder + sha)
        return True

    async def close(self) -> None:
        """Connections are the library's, and close by themselves when they have been idle."""

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """What a bucket refuses, as an error; of the library's long texts the first line, which names no secret."""
        try:
            yield
        except FileNotFoundError:
            raise UnknownResultStore(f"there is no bucket for the result store {self._spot}: create it first") from None
        except (PermissionDeniedError, UnauthenticatedError) as fault:
            raise ResultStoreRefused(f"the result store {self._spot} refused its credential: {_said(fault)}") from None
        except (BaseError, OSError, ValueError) as fault:
            raise ResultStoreUnreachable(str(self._spot), _said(fault)) from None


def opened(kind: str, bucket: str, fields: Mapping[str, Any], is_operators: bool) -> ObjectStore:
    """The bucket of a playbook's credential or of an operator's URL; nothing is connected yet."""
    endpoint = str(fields.get("endpoint") or "")
    common: Any = {
        "client_options": {
            "connect_timeout": timedelta(seconds=CONNECT_SECONDS_MAX),
            "read_timeout": timedelta(seconds=SILENCE_SECONDS_MAX),
            "timeout": timedelta(seconds=REQUEST_SECONDS_MAX),
            "allow_http": endpoint.startswith("http://"),  # where it is written in so many words
        },
        "retry_config": {"max_retries": RETRIES_MAX, "retry_timeout": timedelta(seconds=RETRY_SECONDS_MAX)},
    }
    if kind == "s3":
        return _s3(bucket, endpoint, fields, is_operators, common)
    if kind == "gcs":
        return GCSStore(bucket, **_needed(fields, is_operators, service_account_key="service_account_key"), **common)
    return _azure(bucket, endpoint, fields, is_operators, common)


def _s3(bucket: str, endpoint: str, fields: Mapping[str, Any], is_operators: bool, common: Any) -> ObjectStore:
    region = str(fields.get("region") or DEFAULT_REGION)
    keys = _needed(fields, is_operators, access_key_id="access_key_id", secret_access_key="secret_access_key")  # noqa: S106 - names
    if is_operators:
        place: Any = {name: str(fields[name]) for name in ("endpoint", "region") if fields.get(name)}
        return S3Store(bucket, **place, **common)
    session: Any = {**keys, "token": fields.get("session_token"), "expires_at": None}
    endpoint = endpoint or f"https://s3.{region}.amazonaws.com"
    return S3Store(bucket, endpoint=endpoint, region=region, credential_provider=lambda: session, **common)


def _azure(container: str, endpoint: str, fields: Mapping[str, Any], is_operators: bool, common: Any) -> ObjectStore:
    account = _needed(fields, is_operators, account_name="account")
    place = {**account, **({"endpoint": endpoint} if endpoint else {})}
    if is_operators:
        return AzureStore(container, **place, **common)
    key = _needed(fields, is_operators, access_key="account_key")
    session: Any = {**key, "expires_at": None}
    return AzureStore(container, **place, credential_provider=lambda: session, **common)


def _needed(fields: Mapping[str, Any], is_operators: bool, **names: str) -> dict[str, Any]:
    """Fields under the library's names; the operator's may be left to the variables of the machine."""
    missing = [name for name in names.values() if not fields.get(name)]
    if missing and not is_operators:
        found = ", ".join(sorted(fields)) or "nothing"
        raise ResultStoreRefused(f"the credential of a bucket needs {', '.join(names.values())}; it has: {found}")
    return {theirs: fields[name] for theirs, name in names.items() if fields.get(name)}


def _said(fault: BaseException) -> str:
    return str(fault).strip().partition("\n")[0][:REASON_CHARACTERS_MAX]
