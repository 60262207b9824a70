"""What to do next: the one table of commands that outputs end with, by what has happened.

Comes in: a situation and its facts. Goes out: `next: noetl …` on standard error, a line for each command, so that each
can be pasted as it stands: quoted for the shell, with the --home, --store, --server and --token-file that were given.
Nothing where data was asked for (`--format json`) or quiet. A command whose facts are not known is left out. An address
with a password in it is not said again: these lines go to logs and screens that others read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from noetl.cli import voice
from noetl.cli.voice import say

PLACE = ("--home", "--store", "--server", "--token-file")
TAKEN: dict[str, tuple[str, ...]] = {  # of the options above, by the verbs that do not take all of them
    **dict.fromkeys(("init", "test", "check", "explain", "fmt", "migrate", "graph", "schema", "completion"), ()),
    **dict.fromkeys(("server", "worker"), ("--home",)),
    **dict.fromkeys(("import", "sweep", "replay-test"), ("--home", "--store")),  # done where the store is
    "keychain": ("--home", "--server", "--token-file"),
}
GROUPS = ("catalog", "schedule", "trigger", "keychain", "server", "worker", "token")  # verbs with verbs of their own
OF_TOKENS = ("Forbidden", "Unauthenticated")  # the token that was refused makes no other

NEXT: dict[str, tuple[str, ...]] = {
    # run, resume and rerun
    "ended.success": ("show {id}",),
    "ended.failed": ("show {id}", "rerun {id} --from-failed"),
    "ended.failed.undone": ("show {id}", "rerun {id}"),
    "ended.cancelled": ("show {id}", "rerun {id}"),
    "ended.incident": ("show {id}", "resume {id}"),
    "ended.waiting": ("signal {id} --set {assignment}", "resume {id}"),
    "ended.running": ("show {id}",),
    "stopped": ("resume {id}",),
    "left": ("resume {id}", "cancel {id}"),
    "refused.fixable": ("check --fix {file}",),
    "refused": ("explain {code}",),
    # looking
    "shown.success": ("events {id}", "rerun {id}"),
    "shown.failed": ("show {child}", "why {id} {step}", "rerun {id} --from-failed"),
    "shown.failed.undone": ("show {child}", "why {id} {step}", "rerun {id}"),
    "shown.cancelled": ("events {id}", "rerun {id}"),
    "shown.incident": ("show {child}", "events {id}", "resume {id}"),
    "shown.waiting": ("signal {id} --set {assignment}", "why {id} {step}"),
    "shown.running": ("events {id} --follow", "resume {id}", "cancel {id}"),
    "shown.unserved": ("worker start --pool {pool} --detach", "cancel {id}"),
    "listed": ("show {id}",),
    "listed.called": ("show {id}", "list --root"),  # those that others called may hide who called them
    "listed.none": ("run {file}",),
    "listed.none_like_that": ("list",),
    "read": ("show {id}",),
    "explained": ("show {id}", "rerun {id} --from {step}"),
    "compared": ("why {id} {step}", "show {id}"),
    "replay_tested": ("run {file}",),
    "replay_tested.not": ("show {id}",),
    "replayed": ("replay {id} --verify", "events {id}"),
    "verified": ("show {id}",),
    "verified.not": ("export {id}",),
    "exported": ("import {file}",),
    "exported.large": ("show {id}",),
    "imported": ("show {id}",),
    # changing
    "cancelled": ("show {id}",),
    "cancelled.undoing": ("resume {id}",),
    "signalled": ("show {id}",),
    "signalled.stopped": ("resume {id}",),
    "swept": ("doctor",),
    "swept.dry": ("sweep",),
    # what is kept
    "registered": ("run {path}",),
    "catalog": ("run {path}", "catalog show {path}"),
    "catalog.none": ("catalog register {file}",),
    "schedule.applied": ("schedule show {name}",),
    "schedule.listed": ("schedule show {name}",),
    "schedule.none": ("schedule apply {file}",),
    "schedule.shown": ("show {id}", "schedule next {name}"),
    "schedule.paused": ("schedule resume {name}",),
    "schedule.going": ("schedule next {name}",),
    "schedule.next": ("schedule show {name}",),
    "schedule.ran": ("show {id}",),
    "schedule.removed": ("schedule list",),
    "trigger.applied": ("trigger show {name}",),
    "trigger.listed": ("trigger show {name}",),
    "trigger.none": ("trigger apply {file}",),
    "trigger.shown": ("show {id}", "trigger list"),
    "trigger.removed": ("trigger list",),
    "keychain.kept": ("keychain test {name}",),
    "keychain.listed": ("keychain test {name}",),
    "keychain.none": ("keychain set {name} --kind {kind}",),
    "keychain.removed": ("keychain list",),
    "keychain.tested": ("keychain list",),
    "keychain.tested.not": ("keychain set {name} --kind {kind}",),
    "token.made": ("token list",),
    "token.listed": ("token create --role {role}",),
    "token.revoked": ("token list",),
    # servers and workers
    "server.started": ("list --server {url}", "server stop --port {port}"),  # others may run here
    "server.status": ("list --server {url}",),
    "server.status.not": ("doctor",),
    "server.none": ("server start --detach",),
    "server.draining": ("server stop --kill",),
    "worker.started": ("worker status",),
    "worker.status": ("doctor",),
    "worker.none": ("worker start --queue {url} --detach",),
    "worker.draining": ("worker stop --kill",),
    "doctor": ("run {file}",),
    "doctor.not": ("doctor",),
    # authoring
    "begun": ("check {file}", "test", "run {file}", "show last"),
    "templates": ("init --template {template}",),
    "planned": ("plan {file} --connect", "run {file}"),
    "planned.connected": ("run {file}",),
    "planned.remote": ("run {file}",),  # connections are tried where workers are
    "planned.incomplete": ("keychain set {name} --kind {kind}",),
    "planned.not": ("plan {file} --connect",),
    "tested": ("test --coverage {file}",),
    "tested.covered": ("run {file}",),
    "tested.not": ("test --update {file}",),
    "tested.again": ("test {file}",),
    "tested.wrong": ("explain {code}",),
    "tested.none": ("run {file} --record tests/NAME.test.yaml",),
    "recorded": ("test {file}",),
    "checked": ("run {file}",),
    "checked.fixable": ("check --fix {file}",),
    "checked.not": ("explain {code}",),
    "checked.unread": ("check {file}",),
    "page": ("check {file}",),
    "pages": ("explain {code}",),
    "laid_out": ("check {file}",),
    "laid_out.not": ("fmt {file}",),
    "migrated": ("check {file}",),
    "migrated.shown": ("migrate --write {file}",),
    "drawn": ("check {file}",),
    # errors
    "welcomed": ("init {folder}",),
    "welcomed.server": ("server status",),
    "welcomed.worker": ("worker status",),
    "misnamed": ("{command} {file}",),
    "UsageError": ("{command} --help",),
    "UsageError.of_noetl": ("--help",),
    "UnknownExecution": ("list",),
    "NoExecution": ("run {file}",),
    "AmbiguousExecution": ("list",),
    "UnknownPlaybook": ("catalog list",),
    "UnknownDocument": ("{verb} list",),
    "UnknownToken": ("token list",),
    "MissingCredential": ("keychain set {name} --kind {kind}", "keychain list"),
    "Forbidden": ("token create --role {role}",),
    "Unauthenticated": ("token create --role {role}",),
    "RequestError": ("{command} --help",),
    "RequestError.of_id": ("show {id}", "{command} --help"),
    "MissingLibrary": (),  # the error has the command, and it is none of ours
    "OperatorError": ("doctor",),
    "FileNotFoundError": ("{command} --help",),
    "IsADirectoryError": ("{command} --help",),
    "NotADirectoryError": ("{command} --help",),
    "ConnectionError": ("doctor",),
    "TimeoutError": ("doctor",),
}
# What a person has to put in: shown as it is, never quoted.
BLANKS = {
    "file": "FILE",
    "assignment": "ctx.NAME=VALUE",
    "role": "ROLE",
    "kind": "KIND",
    "name": "NAME",
    "url": "URL",
    "template": "TEMPLATE",
    "folder": "DIR",
}
UNNAMED = ("<stdin>", "-")
SECRETIVE = re.compile(r"://.*:.*@|password=", re.IGNORECASE)  # of a URL
ROLE = re.compile(r"needs the role (\w+)")
FACT = re.compile(r"\{(\w+)\}")
PLAIN = re.compile(r"[\w@%+=:,./-]+", re.ASCII)


def advise(situation: str, **facts: object) -> None:
    """Say what to do next; a fact that is ... is left to the person, one that is None is not known."""
    if not is_silent(voice.heard):
        for command in commands(situation, **facts):
            say(f"next: {command}", err=True)


def commands(situation: str, **facts: object) -> Iterator[str]:
    """The commands of a situation, each ready to be pasted."""
    place = given_place(voice.heard)
    known = {name: fact_of(name, fact) for name, fact in facts.items() if fact is not None}
    for template in NEXT[situation]:
        if known.keys() >= set(FACT.findall(template)):
            command = template.format(**known).strip()  # no file at all stands for the current folder
            taken = () if command.endswith("--help") else TAKEN.get(command.partition(" ")[0], PLACE)
            taken = tuple(name for name in taken if name != "--token-file" or situation not in OF_TOKENS)
            rest = [f"{name} {place_of(value)}" for name, value in place if name in taken and name not in command]
            yield " ".join(["noetl", command, *rest])


def fact_of(name: str, fact: object) -> str:
    """What stands in a command for a fact; what came from standard input is to be named by the person."""
    many = fact if isinstance(fact, list | tuple) else (fact,)
    if fact is ... or any(one in UNNAMED for one in many):
        return BLANKS[name]
    return " ".join(quoted(str(one)) for one in many)


def role_wanted(message: str) -> object:
    """The role that a refusal asks for, if it says so; else the person has to know."""
    wanted = ROLE.search(message)
    return wanted[1] if wanted else ...


def place_of(value: str) -> str:
    """A place as it was given; what may hold a password is left to the person."""
    return BLANKS["url"] if SECRETIVE.search(value) else quoted(value)


def quoted(word: str) -> str:
    """A word as the shell of this system reads it."""
    if os.name == "nt":
        return f'"{word}"' if not word or set(word) & set(" \t&|<>^()%!;,'=") else word
    if PLAIN.fullmatch(word):
        return word
    from shlex import quote  # which most words need not

    return quote(word)


# --- what was asked for ----------------------------------------------------------------------------------------------


def is_silent(words: Sequence[str]) -> bool:
    """Whether data or quiet was asked for."""
    if "--quiet" in words or "-q" in words:
        return True
    return any(form != "text" for form in values_of("--format", words))


def is_bare(words: Sequence[str]) -> bool:
    """Whether nothing but a place was given by options, so that a command can be said again without them."""
    return all(word.partition("=")[0] in PLACE for word in words if word.startswith("-"))


def given_place(words: Sequence[str]) -> list[tuple[str, str]]:
    return [(name, value) for name in PLACE for value in values_of(name, words)[-1:]]


def values_of(option: str, words: Sequence[str]) -> list[str]:
    """What was given for an option, as `--option value` or `--option=value`."""
    apart = [value for name, value in pairwise(words) if name == option]
    return apart + [word.partition("=")[2] for word in words if word.startswith(f"{option}=")]
