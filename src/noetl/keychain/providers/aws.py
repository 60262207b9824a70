"""Provider aws: AWS Secrets Manager, GetSecretValue over HTTP, signed with Signature Version 4.

Who asks is in the operator's environment: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN. The region is
`keychain.aws_region`, AWS_REGION or AWS_DEFAULT_REGION; `keychain.aws_url` names another endpoint. The declaration says
`secret` (name or ARN), and `version` or `stage`. No SDK: one request needs none.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import msgspec

from noetl.keychain.endpoint import mapping_in, refused_by
from noetl.keychain.providers.contract import Fetched, Means, wanted
from noetl.secret import CredentialUnavailable, Declared
from noetl.web.guard import PORTS, Target, target_of
from noetl.web.messages import Answer, Request

SERVICE = "secretsmanager"
ALGORITHM = "AWS4-HMAC-SHA256"
OK = 200
PASSING = ("ThrottlingException", "InternalServiceError", "ServiceUnavailableException")

_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-\d{1,2}")
_FAULT_NAME = re.compile(r"[A-Za-z]{1,80}")


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Who signs, and where."""

    key_id: str
    secret_key: str
    session_token: str
    region: str


class AwsProvider:
    def __init__(self, means: Means) -> None:
        self._means = means
        self._region = region_of(means)
        domain = "amazonaws.com.cn" if self._region.startswith("cn-") else "amazonaws.com"
        url = means.settings.keychain_aws_url or f"https://{SERVICE}.{self._region}.{domain}"
        self._target = target_of(url)
        self._endpoint = means.endpoint(self._target.host)

    async def fetch(self, declared: Declared) -> Fetched:
        name = wanted(declared, "secret", "secret_id", "path")
        self._means.check_allowed("aws", name)
        asked = {"SecretId": name}
        asked |= {"VersionId": version} if (version := wanted(declared, "version", default="")) else {}
        asked |= {"VersionStage": stage} if (stage := wanted(declared, "stage", default="")) else {}
        what = f'AWS Secrets Manager in {self._region} (asked for "{name}")'
        request = Request(
            method="POST",
            target=self._target,
            headers={"content-type": "application/x-amz-json-1.1", "x-amz-target": f"{SERVICE}.GetSecretValue"},
            body=msgspec.json.encode(asked),
        )
        answer = await self._endpoint.ask(signed(request, self._identity(), self._means.clock.now()), what)
        if answer.status != OK:
            raise refusal(what, answer)
        return fetched(what, mapping_in(what, answer))

    def _identity(self) -> Identity:
        """Read at each use: whoever runs the worker may have put new keys there."""
        means = self._means
        identity = Identity(
            key_id=means.variable("AWS_ACCESS_KEY_ID", "aws"),
            secret_key=means.variable("AWS_SECRET_ACCESS_KEY", "aws"),
            session_token=means.environment.get("AWS_SESSION_TOKEN", ""),
            region=self._region,
        )
        means.remember(identity.secret_key)
        means.remember(identity.session_token)
        return identity

    async def close(self) -> None:
        await self._endpoint.close()


def region_of(means: Means) -> str:
    environment = means.environment
    region = (
        means.settings.keychain_aws_region or environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    )
    if not region or not _REGION.fullmatch(region):
        raise LookupError("provider aws needs a region such as eu-central-1: keychain.aws_region, or AWS_REGION")
    return region


def fetched(what: str, body: Mapping[str, Any]) -> Fetched:
    text, version = body.get("SecretString"), str(body.get("VersionId") or "")
    if isinstance(text, str):
        return Fetched(text=text, version=version)
    try:
        return Fetched(text=base64.b64decode(body["SecretBinary"], validate=True).decode(), version=version)
    except (KeyError, TypeError, binascii.Error, UnicodeDecodeError):
        raise LookupError(f"{what} has no text under that name") from None


def refusal(what: str, answer: Answer) -> CredentialUnavailable:
    """The name of the fault, which AWS gives; its message may show more than is wanted here."""
    try:
        name = str(mapping_in(what, answer).get("__type") or "").rpartition("#")[2]
    except CredentialUnavailable:
        name = ""
    fault = refused_by(what, answer, name if _FAULT_NAME.fullmatch(name) else "")
    fault.retryable = fault.retryable or name in PASSING
    return fault


# --- signing ---------------------------------------------------------------------------------------------------------


def signed(request: Request, identity: Identity, now: float) -> Request:
    """A request with an empty path and query, signed with Signature Version 4."""
    moment = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%SZ")
    headers = {**request.headers, "host": host_of(request.target), "x-amz-date": moment}
    if identity.session_token:
        headers["x-amz-security-token"] = identity.session_token
    names = ";".join(sorted(headers))
    lines = "".join(f"{name}:{headers[name].strip()}\n" for name in sorted(headers))
    body = request.body if isinstance(request.body, bytes) else b""
    canonical = "\n".join((request.method, "/", "", lines, names, sha256(body).hexdigest()))
    scope = f"{moment[:8]}/{identity.region}/{SERVICE}/aws4_request"
    to_sign = "\n".join((ALGORITHM, moment, scope, sha256(canonical.encode()).hexdigest()))
    signature = hmac.new(signing_key(identity, moment[:8]), to_sign.encode(), sha256).hexdigest()
    headers["authorization"] = (
        f"{ALGORITHM} Credential={identity.key_id}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return msgspec.structs.replace(request, headers=headers)


def signing_key(identity: Identity, date: str) -> bytes:
    key = f"AWS4{identity.secret_key}".encode()
    for word in (date, identity.region, SERVICE, "aws4_request"):
        key = hmac.new(key, word.encode(), sha256).digest()
    return key


def host_of(target: Target) -> str:
    """As the Host header has it."""
    return target.host if target.port == PORTS[target.scheme] else f"{target.host}:{target.port}"
