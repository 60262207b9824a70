"""Webhooks: a request from anywhere in, a start out, if it shows that it may.

Authentication is the trigger's own (security 17, 26): a token, compared by its SHA-256 in constant time, or an HMAC of
the raw body and the time in a header. A trigger that is not there, one that is no webhook, a secret that cannot be had
and a wrong one are refused with the same words after the same time, so that nobody learns names by asking. A signed
request that is sent again within its time is the same message, and gets the same execution.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import logging
from collections.abc import Callable
from typing import Any

from noetl.clock import Clock
from noetl.dsl.start_shapes import BODY_BYTES_MAX, HMAC
from noetl.dsl.trigger_documents import TriggerDocument, Webhook
from noetl.errors import NoetlError, PayloadTooLarge, TooOften, Unauthenticated, UnknownDocument
from noetl.keychain.contract import Keychain
from noetl.secret import Declared, Secret
from noetl.starting.messages import BadMessage, Message, body_of, field_of
from noetl.starting.once import Begun
from noetl.starting.trigger_starts import TriggerStarts
from noetl.starting.triggers import Trigger

__all__ = ["BODY_BYTES_MAX", "Hooks"]

REFUSED_AFTER_SECONDS = 0.1
REFUSED = "there is no such hook, or the request does not show that it may use it"
ANY_KIND = "secret_manager"
SECRET_FIELDS = ("value", "token", "key", "secret", "password")  # the first that a credential has
DECOY = Webhook(auth=HMAC, credential="", header="X-NoETL-Signature")
SIGNATURE_CHARS_MAX = 512
HEADER_CHARS_MAX = 1000
BEARER = "Bearer "
Header = Callable[[str], str | None]  # by name; None: it is not there, or more than once
log = logging.getLogger("noetl.control")


class Hooks:
    """See above."""

    def __init__(self, starts: TriggerStarts, keychain: Keychain, clock: Clock) -> None:
        self.starts = starts
        self.keychain = keychain
        self.clock = clock

    async def receive(self, name: str, header: Header, body: bytes) -> Begun:
        """Start what a request asks for. Raises Unauthenticated, TooOften, BadMessage, and as `TriggerStarts.start`."""
        began = self.clock.monotonic()
        trigger = await self._found(name)
        webhook = trigger.document.webhook if trigger else None
        secret = await self._secret(name, webhook)
        signed = genuine(webhook or DECOY, secret, header, body)
        if trigger is None or webhook is None or secret is None or signed is None:
            await self.clock.sleep(max(0.0, REFUSED_AFTER_SECONDS - (self.clock.monotonic() - began)))
            raise Unauthenticated(REFUSED)
        try:
            self._check_time(webhook, header)
            return await self._start(trigger.document, webhook, header, body, signed)
        except NoetlError as error:
            self.starts.refused(name, str(error))
            raise

    async def _found(self, name: str) -> Trigger | None:
        try:
            return await self.starts.triggers.one(name)
        except UnknownDocument:
            return None

    async def _secret(self, name: str, webhook: Webhook | None) -> bytes | None:
        """What the sender must know; None: it is not to be had, which people see and the sender does not."""
        if webhook is None:
            return None
        try:
            fields = await self.keychain.resolve(Declared(name=webhook.credential, kind=ANY_KIND))
        except LookupError as error:
            why = f'the credential "{webhook.credential}" cannot be had: {error}'
            self.starts.refused(name, why)
            log.warning("a hook has no secret", extra={"action": "hook_without_secret", "trigger": name})
            return None
        return secret_of(fields)

    def _check_time(self, webhook: Webhook, header: Header) -> None:
        """The signature is right, so the sender may know what is wrong with its time."""
        if webhook.auth != HMAC or webhook.timestamp_header is None:
            return
        given = header(webhook.timestamp_header) or ""
        off_seconds = abs(self.clock.now() - int(given)) if is_seconds(given) else None
        if off_seconds is None:
            raise Unauthenticated(f"{webhook.timestamp_header} must be seconds since 1970")
        if off_seconds > webhook.tolerance_seconds:
            raise Unauthenticated(
                f"the request was signed {off_seconds:.0f} s away from now, and {webhook.tolerance_seconds} are allowed"
            )

    async def _start(
        self, document: TriggerDocument, webhook: Webhook, header: Header, body: bytes, signed: str
    ) -> Begun:
        if len(body) > webhook.body_bytes_max:
            raise PayloadTooLarge("a body for this hook", len(body), webhook.body_bytes_max)
        wait_seconds = self.starts.rates.wait_seconds(document.name, document.rate_per_minute)
        if wait_seconds:
            raise TooOften(
                f"this hook may be used {document.rate_per_minute} times a minute; wait {wait_seconds:.1f} s"
            )
        found = body_of(body, webhook.format)
        kept = {name: value[:HEADER_CHARS_MAX] for name in webhook.headers if (value := header(name)) is not None}
        message = Message(body=found, headers=kept, id=id_of(document, webhook, header, found, signed))
        return await self.starts.start(document, message)


def secret_of(fields: Any) -> bytes | None:
    for name in SECRET_FIELDS:
        value = fields.get(name)
        text = value.reveal() if isinstance(value, Secret) else value
        if isinstance(text, str) and text:
            return text.encode("utf-8", "surrogatepass")
    return None


def is_seconds(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 12


def genuine(webhook: Webhook, secret: bytes | None, header: Header, body: bytes) -> str | None:
    """What tells this request from others, if it shows that it may: its signature, or nothing ("") for a token."""
    given = header(webhook.header) or ""
    expected = secret or b"nobody knows this"
    if webhook.auth != HMAC:
        shown = given.removeprefix(BEARER).encode("utf-8", "surrogatepass")
        is_right = hmac.compare_digest(hashlib.sha256(shown).digest(), hashlib.sha256(expected).digest())
        return "" if is_right else None
    time = header(webhook.timestamp_header) if webhook.timestamp_header else None
    if webhook.timestamp_header:
        body = (time or "").encode("utf-8", "surrogatepass") + b"." + body
    signature = hmac.digest(expected, body, webhook.algorithm)
    return signature.hex() if hmac.compare_digest(signature, signature_of(given, len(signature))) else None


def signature_of(text: str, size_bytes: int) -> bytes:
    """A signature as senders write it: in hexadecimal or base64, perhaps after `sha256=`."""
    if len(text) > SIGNATURE_CHARS_MAX:
        return b""
    word, _, rest = text.partition("=")
    coded = rest if rest and word.isalnum() and len(word) < len(rest) and not set(rest) <= {"="} else text
    try:
        if len(coded) == 2 * size_bytes:
            return bytes.fromhex(coded)
        return base64.b64decode(coded, validate=True)
    except (ValueError, binascii.Error):
        return b""


def id_of(document: TriggerDocument, webhook: Webhook, header: Header, body: Any, signed: str) -> str | None:
    """By what the message is told from others. Raises BadMessage where the sender should have said it, and did not."""
    dedupe = document.dedupe
    if dedupe is not None and dedupe.field is not None:
        return f"field:{field_of(body, dedupe.field)}"
    if dedupe is not None and dedupe.header is not None:
        value = header(dedupe.header)
        if not value:
            raise BadMessage(f"the request has no {dedupe.header}, by which it is told from others")
        return f"header:{value}"
    return f"signature:{signed}" if signed and webhook.timestamp_header else None
