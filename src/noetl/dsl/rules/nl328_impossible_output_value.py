"""A template compares output.status or output.error.kind with a value that it never has.

The status of an output is `ok` or `error`, and `error.kind` comes from a fixed list (a plugin puts its own name before
the kinds it adds). A comparison with another word is false in every run: the rule never matches, the retry never
happens, and nothing says why.

Wrong:

    rules:
      - when: "{{ output.status == 'failed' and output.error.kind == 'time_out' }}"
        then: { do: retry, attempts: 3 }

Right:

    rules:
      - when: "{{ output.status == 'error' and output.error.kind == 'timeout' }}"
        then: { do: retry, attempts: 3 }

Spec: TK-04, TK-19.
"""

from collections.abc import Iterator
from difflib import get_close_matches

from noetl.dsl.draft import Draft, Site, Text
from noetl.dsl.findings import WARNING, Finding, listed, near_miss
from noetl.dsl.nodes import shorten
from noetl.dsl.rules import contract
from noetl.dsl.rules.comparisons import DIFFERS, HOLDS, Compared, compared_texts
from noetl.dsl.rules.dead_arcs import routed_arcs

RULE = contract.Rule(code="NL328", name="impossible-output-value", spec=("TK-04", "TK-19"), severity=WARNING)

STATUS, KIND = ("output", "status"), ("output", "error", "kind")
STATUSES = ("ok", "error")
ERROR_KINDS = (
    "connection",
    "timeout",
    "rate_limit",
    "auth",
    "not_found",
    "client_error",
    "server_error",
    "db_constraint",
    "db_conflict",
    "db_error",
    "exception",
    "exit_code",
    "template",
    "type",
    "limit",
    "ref_missing",
    "ref_corrupt",
    "ref_misuse",
    "ctx_conflict",
    "jump_limit",
    "worker_lost",
    "child_failed",
    "cancelled",
)
LIKENESS = 0.85  # a plugin's io_error is no misspelt db_error
OTHER_WORDS = {
    **dict.fromkeys(
        ("success", "successful", "succeeded", "done", "complete", "completed", "finished", "passed"), "ok"
    ),
    **dict.fromkeys(("fail", "failed", "failure", "err", "exception", "ko"), "error"),
}


def check(draft: Draft) -> Iterator[Finding]:
    if draft.is_upstream:
        return  # UP-01: there a payload's own status can be read as output.status
    told = {id(routed.arc.when) for routed in routed_arcs(draft) if routed.is_dead}
    for text in draft.texts:
        if text.site != Site.ARC_WHEN or id(text.node) not in told:
            yield from statuses(text)
            yield from kinds(text)


def statuses(text: Text) -> Iterator[Finding]:
    for found in impossible_statuses(text):
        yield RULE.at(
            found.place,
            f'output.status is never "{shorten(found.name)}"',
            why="a status is ok or error",
            fix=meant_status(found),
        )


def impossible_statuses(text: Text) -> Iterator[Compared]:
    """What output.status is compared with and never is."""
    return (found for found in compared_texts(text, STATUS, f"{HOLDS}|{DIFFERS}") if found.name not in STATUSES)


def meant_status(found: Compared) -> str:
    word = found.name.strip().lower()
    meant = word if word in STATUSES else OTHER_WORDS.get(word) or near_miss(word, STATUSES)
    return f'did you mean "{meant}"?' if meant else "compare it with 'ok' or 'error'"


def kinds(text: Text) -> Iterator[Finding]:
    """Only near misses: any other kind may be a plugin's."""
    for found in compared_texts(text, KIND, f"{HOLDS}|{DIFFERS}"):
        miss = near_kind(found.name)
        if miss:
            yield RULE.at(
                found.place,
                f'output.error.kind is never "{shorten(found.name)}"',
                why=f"its values are {listed(ERROR_KINDS, most=len(ERROR_KINDS))}; a plugin's begin with its name",
                fix=f'did you mean "{miss}"?',
            )


def near_kind(word: str) -> str | None:
    """The kind that a word was meant to be; a word that ends with a kind has a plugin's name before it."""
    is_prefixed = any(word.endswith((f".{kind}", f":{kind}", f"_{kind}")) for kind in ERROR_KINDS)
    if word in ERROR_KINDS or is_prefixed or "." in word or ":" in word:
        return None
    plain = word.replace("-", "_").lower()
    joined = next((kind for kind in ERROR_KINDS if kind.replace("_", "") == plain.replace("_", "")), None)
    return joined or next(iter(get_close_matches(plain, ERROR_KINDS, n=1, cutoff=LIKENESS)), None)
