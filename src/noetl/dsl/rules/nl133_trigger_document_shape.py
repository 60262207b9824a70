"""A Trigger document is not written as one.

It has `apiVersion: noetl.io/v2`, `kind: Trigger`, `metadata.name`, and a `spec` that names a playbook of the catalog
and one source: a `webhook` or a `nats` subject. A webhook names the keychain entry with its token or key; a secret is
never written here. A signature that covers no time can be sent again by whoever saw it, so without a
`timestamp_header` the trigger must say by `dedupe.field` what makes two messages the same.

Wrong:

    apiVersion: noetl.io/v2
    kind: Trigger
    metadata: { name: push }
    spec:
      playbook: { path: build }
      webhook: { auth: hmac, credential: hook_key, timestamp_header: null }

Right:

    apiVersion: noetl.io/v2
    kind: Trigger
    metadata: { name: push }
    spec:
      playbook: { path: build }
      webhook: { auth: hmac, credential: hook_key, timestamp_header: null }
      dedupe: { field: head_commit.id }

Spec: PB-01.
"""

import re
from collections.abc import Iterator

from noetl.dsl.findings import Finding, listed
from noetl.dsl.nodes import Mapping, Scalar, describe
from noetl.dsl.read import Reading
from noetl.dsl.rules import contract
from noetl.dsl.rules.start_faults import Fault, both, start_findings, text_entry
from noetl.dsl.start_shapes import HMAC, PLAIN, TOKEN, TRIGGER
from noetl.dsl.trigger_documents import FIELD, GROUP, HEADER, KEY, SUBJECT, TOKEN_HEADER, is_secret_header

RULE = contract.Rule(code="NL133", name="trigger-document-shape", spec=("PB-01",), is_of_text=True)

SOURCES = "a trigger has one source"
OF_SIGNATURES = ("algorithm", "timestamp_header", "tolerance_seconds")


def check(reading: Reading) -> Iterator[Finding]:
    return start_findings(RULE, reading, TRIGGER, of_spec)


def of_spec(spec: Mapping) -> Iterator[Fault]:
    given = both(spec, "webhook", "nats")
    if not given:
        yield Fault(spec, "the trigger does not say what sets it off", SOURCES, "add webhook: {…} or nats: {…}")
    elif len(given) > 1:
        yield Fault(given[1].key, "the trigger has both webhook and nats", SOURCES, "write two triggers")
    yield from of_texts(spec)
    yield from of_dedupe(spec)
    if webhook := spec.mapping("webhook"):
        yield from of_webhook(webhook, spec)


def of_texts(spec: Mapping) -> Iterator[Fault]:
    """Texts that must have a form of their own."""
    webhook, nats, dedupe = spec.mapping("webhook"), spec.mapping("nats"), spec.mapping("dedupe")
    kept = webhook.sequence("headers") if webhook else None
    forms: tuple[tuple[Scalar | None, str, re.Pattern[str], str], ...] = (
        (text_entry(spec, "event_key"), "key", KEY, "write letters, digits and _, no digit first"),
        (text_entry(dedupe, "header"), "header", HEADER, "write a name such as X-Delivery"),
        (text_entry(dedupe, "field"), "path of fields", FIELD, "write names with dots between: order.id"),
        (text_entry(webhook, "header"), "header", HEADER, "write a name such as X-Hook-Token"),
        (text_entry(webhook, "timestamp_header"), "header", HEADER, "write a name such as X-Hook-Time"),
        (text_entry(nats, "subject"), "subject", SUBJECT, "write words with dots between; * and > stand for words"),
        (text_entry(nats, "queue"), "queue group", GROUP, "write letters, digits, _ and -"),
        (text_entry(nats, "stream"), "stream", GROUP, "write letters, digits, _ and -"),
        *(
            (item, "header", HEADER, "write a name such as X-GitHub-Event")
            for item in (kept.items if kept else ())
            if isinstance(item, Scalar) and isinstance(item.value, str)
        ),
    )
    for node, what, form, fix in forms:
        if node is not None and not form.match(node.text):
            yield Fault(node, f"{describe(node)} is no {what}", f"a {what} has a form of its own", fix)


def of_dedupe(spec: Mapping) -> Iterator[Fault]:
    entry = spec.entries.get("dedupe")
    dedupe = spec.mapping("dedupe")
    if entry is None or dedupe is None:
        return
    given = both(dedupe, "header", "field")
    why = "two messages are the same if one value of them is"
    if len(given) != 1:
        found = "neither" if not given else "both"
        yield Fault(entry.key, f"dedupe has {found} header and field", why, "write one of them")
    source = spec.mapping("webhook") or spec.mapping("nats")
    if source and "field" in dedupe.entries and source.text("format") == PLAIN:
        yield Fault(dedupe.entries["field"].key, "a text has no fields", why, "use header, or format: json")


def of_webhook(webhook: Mapping, spec: Mapping) -> Iterator[Fault]:
    auth = webhook.text("auth")
    if auth == TOKEN:
        for entry in both(webhook, *OF_SIGNATURES):
            why = f"{listed(OF_SIGNATURES)} belong to auth: {HMAC}"
            yield Fault(entry.key, f"{entry.key.text} means nothing with auth: {TOKEN}", why, "delete it")
    yield from of_kept_headers(webhook, (webhook.text("header") or TOKEN_HEADER) if auth == TOKEN else "")
    timestamp = webhook.scalar("timestamp_header")
    is_undated = timestamp is not None and timestamp.value is None
    dedupe = spec.mapping("dedupe")
    if auth == HMAC and is_undated and not (dedupe and "field" in dedupe.entries):
        yield Fault(
            webhook.entries["timestamp_header"].key,
            "this signature covers no time, so the same request could be sent again and again",
            "a field of the body is signed with it; a header is not",
            "add dedupe: { field: … }, or let the sender sign a time",
        )


def of_kept_headers(webhook: Mapping, token_header: str) -> Iterator[Fault]:
    """What the playbook gets to see is written to its log."""
    kept = webhook.sequence("headers")
    for item in kept.items if kept else ():
        if isinstance(item, Scalar) and isinstance(item.value, str) and is_secret_header(item.value, token_header):
            why = "headers that the playbook gets to see are written to its log"
            yield Fault(item, f"the header {item.value} holds a secret", why, "delete it from headers")
