"""Results are sent to a store that does not exist.

`spec.result.store` says where results that are too large for the event log are kept: a name, or a mapping with `kind`
and what that store needs. For the whole playbook it may stand under `executor.spec.result` or
`executor.spec.policy.results`.

Wrong:

    executor:
      spec:
        result:
          store: { kind: nats_objects, bucket: results }

Right:

    executor:
      spec:
        result:
          store: { kind: nats_object, bucket: results }

Spec: RS-06.
"""

from collections.abc import Iterator

from noetl.dsl.departures import is_template
from noetl.dsl.draft import Draft
from noetl.dsl.findings import WARNING, Finding, did_you_mean, listed
from noetl.dsl.nodes import Mapping, Scalar, describe
from noetl.dsl.rules import contract
from noetl.dsl.rules.result_stores import Chosen, chosen_stores

RULE = contract.Rule(code="NL704", name="unknown-result-store", spec=("RS-06",), severity=WARNING)

STORES = ("files", "sqlite", "postgres", "nats_object", "s3", "gcs", "azure")
SYNONYMS = {
    **dict.fromkeys(("file", "local", "disk", "fs", "filesystem"), "files"),
    **dict.fromkeys(("nats", "object", "object_store", "nats_kv", "kv", "jetstream"), "nats_object"),
    **dict.fromkeys(("pg", "postgresql", "db", "database"), "postgres"),
    **dict.fromkeys(("minio", "bucket", "aws"), "s3"),
    **dict.fromkeys(("gs", "google"), "gcs"),
    **dict.fromkeys(("blob", "abs", "adls"), "azure"),
}


def check(draft: Draft) -> Iterator[Finding]:
    for chosen in chosen_stores(draft):
        yield from faults(chosen)


def faults(chosen: Chosen) -> Iterator[Finding]:
    owner, key, store = chosen
    named = store.get("kind") if isinstance(store, Mapping) else store
    why = f"stores: {listed(STORES)}"
    if (isinstance(named, Scalar) and named.text in STORES) or (named is not None and is_template(named)):
        return  # a template there is a fault of its own: NL125
    if isinstance(named, Scalar) and isinstance(named.value, str) and named.value:
        synonym = SYNONYMS.get(named.text.lower())
        fix = f'did you mean "{synonym}"?' if synonym else did_you_mean(named.text, STORES, "name one of these")
        yield RULE.at(
            named.place, f'{owner} keeps results in "{named.text}", and there is no such store', why=why, fix=fix
        )
    else:
        what = "a mapping without a kind" if isinstance(store, Mapping) and named is None else describe(named)
        yield RULE.at(
            key.place, f"the result store of {owner} is {what}", why=why, fix="write store: { kind: … }, or its name"
        )
