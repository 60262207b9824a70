"""Errors that people meet, split by who must act. Each carries facts as fields; its message is made here, once.

    NoetlError
    ├─ PlaybookError            the author of a playbook
    │   ├─ InvalidPlaybook        it does not check; the findings say why
    │   ├─ InvalidDocument        the same, of a schedule or a trigger
    │   └─ UnusableSql            SQL that cannot be taken apart, or whose values do not fit it
    ├─ RequestError             whoever asked
    │   ├─ UnknownExecution       no such execution in this store
    │   ├─ AmbiguousExecution     several begin with what was typed
    │   ├─ UnknownPlaybook        nothing registered under that path, and no such file
    │   ├─ UnknownDocument        no schedule or trigger of that name
    │   ├─ MissingCredential      a credential that a playbook declares and nobody has
    │   ├─ WrongState             the execution cannot do that now
    │   ├─ TooOften               more often than was allowed; later it may be
    │   ├─ Forbidden              whoever asks may not do that; Unauthenticated: nobody knows who asks
    │   └─ PayloadTooLarge
    ├─ OperatorError            whoever runs NoETL
    │   ├─ StoreBusy              another process has the store
    │   ├─ StoreTooNew            written by a newer version
    │   ├─ StoreUnusable          damaged, unreadable, or not a store
    │   ├─ DiskFull
    │   ├─ Unreachable            a service that does not answer now: asking again may help
    │   ├─ AlreadyRunning         a server or worker under the same name
    │   ├─ DidNotStart            a server or worker that was to go on by itself; the end of its log says why
    │   ├─ KeychainUnusable       the stored credentials or their keys: missing, damaged, open to others
    │   ├─ KeychainBusy           another process writes to them
    │   ├─ TokenUnusable          a token file: missing, open to others, without a token
    │   ├─ MissingLibrary         a kind whose extra is not installed
    │   └─ UnusablePlugin         a kind of another package that is enabled and not to be had
    ├─ ResultError              a stored payload; becomes the output of the task that asked
    │   ├─ ReferenceMissing
    │   ├─ ReferenceCorrupt
    │   ├─ ResultTooLarge
    │   ├─ UnknownResultStore     nobody set up what the playbook chose
    │   ├─ ResultStoreRefused     its credential is not the playbook's, or is not taken
    │   └─ ResultStoreUnreachable passing: asking again may help
    └─ InternalError            us
        └─ BrokenInvariant        one of I1…I15; the execution stops as an incident

`exit_code` is what the command line ends with. No error carries a secret, a payload body or a stack trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar


class NoetlError(Exception):
    """Anything that NoETL itself raises at its edges."""

    exit_code: ClassVar[int] = 1


class PlaybookError(NoetlError):
    exit_code = 2


class InvalidPlaybook(PlaybookError):
    """A playbook that does not check: `report` is what the checker prints, `findings` and `source` are its own."""

    def __init__(self, name: str, report: str, findings: Sequence[object] = (), source: object = None) -> None:
        super().__init__(f'"{name}" is not a valid playbook, so nothing was started:\n{report}')
        self.name = name
        self.report = report
        self.findings = findings
        self.source = source


class InvalidDocument(InvalidPlaybook):
    """A schedule or a trigger that does not check."""

    def __init__(self, name: str, report: str, findings: Sequence[object] = (), source: object = None) -> None:
        super().__init__(name, report, findings, source)
        self.args = (f'"{name}" does not check, so nothing was applied:\n{report}',)


class UnusableSql(PlaybookError):
    kind: ClassVar[str] = "template"

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(f"line {line} of the SQL: {message}" if line else message)
        self.message = message
        self.line = line  # 0: not known where, or all of it

    def in_line(self, line: int) -> UnusableSql:
        return self if self.line else UnusableSql(self.message, line)


class RequestError(NoetlError):
    exit_code = 2


class UnknownExecution(RequestError):
    def __init__(self, execution_id: object, store: str, near: Sequence[str] = ()) -> None:
        advice = f"did you mean {' or '.join(near)}? " if near else ""
        super().__init__(f"there is no execution {execution_id} in {store}; {advice}`noetl list` names those there are")
        self.execution_id = execution_id


class NoExecution(UnknownExecution):
    """The newest one was asked for, and nothing has been run."""

    def __init__(self, store: str) -> None:
        super().__init__("last", store)
        self.args = (f"nothing has been run yet in {store}, so there is no last execution",)


class AmbiguousExecution(RequestError):
    def __init__(self, digits: str, store: str, candidates: Sequence[str]) -> None:
        super().__init__(
            f"several executions in {store} begin with {digits}, and none is just that; type more of the one you mean:"
            + "".join(f"\n{one}" for one in candidates)
        )


class UnknownPlaybook(RequestError):
    def __init__(self, path: str, version: object = None, known: str = "") -> None:
        label = f"{path}@{version}" if version is not None else path
        super().__init__(
            f'there is no file "{path}", and the catalog has no playbook "{label}"{known}; '
            "`noetl catalog list` names those there are"
        )
        self.path = path


class UnknownDocument(RequestError):
    def __init__(self, kind: str, name: str) -> None:
        super().__init__(f'there is no {kind} "{name}"; `noetl {kind} list` names those there are')
        self.name = name


class MissingCredential(RequestError):
    def __init__(self, name: str, place: object, why: object) -> None:
        super().__init__(f"{place}: the credential {name} cannot be resolved: {why}")
        self.name = name


class WrongState(RequestError):
    """The execution is not in a state in which that can be done."""


class TooOften(RequestError):
    """More often than was allowed."""


class Forbidden(RequestError):
    """Whoever asks is known, and may not do that."""


class Unauthenticated(RequestError):
    """Nobody knows who asks: there is no token, or it is not one of ours, or it has expired."""


class PayloadTooLarge(RequestError):
    def __init__(self, what: str, found_bytes: int, max_bytes: int) -> None:
        super().__init__(
            f"{what} may have {max_bytes} bytes, but has {found_bytes}; store the large part and hand over a reference"
        )


class OperatorError(NoetlError):
    exit_code = 1


class StoreBusy(OperatorError):
    exit_code = 3

    def __init__(self, store: str, holder: str) -> None:
        super().__init__(
            f"the store {store} is in use by {holder}. Wait for it, run with --wait SECONDS, or give this run a store "
            "of its own with NOETL_HOME or --store; list, show, events and replay work meanwhile"
        )
        self.holder = holder


class StoreTooNew(OperatorError):
    exit_code = 2

    def __init__(self, store: str, found: int, known: int) -> None:
        super().__init__(
            f"the store {store} has schema {found}, written by a newer NoETL; this one knows up to {known}. "
            "Upgrade NoETL, or choose another store with --store"
        )


class StoreUnusable(OperatorError):
    exit_code = 2


class DiskFull(OperatorError):
    def __init__(self, place: str) -> None:
        super().__init__(
            f"the disk of {place} is full, so nothing more can be recorded. What was recorded is safe: "
            "free some space and run `noetl resume` with the execution's id"
        )


class Unreachable(OperatorError):
    """A service that does not answer: the store, the queue, a server. Nothing is known of what was under way."""

    exit_code = 3


class AlreadyRunning(OperatorError):
    def __init__(self, what: str, process_id: int, pid_file: str) -> None:
        super().__init__(f"{what} runs already: process {process_id}, as {pid_file} says; nothing was started")
        self.process_id = process_id


class DidNotStart(OperatorError):
    def __init__(self, what: str, why: str, log_file: str, log_end: str) -> None:
        super().__init__(f"{what} did not start: {why}. The end of its log, {log_file}:\n{log_end or '(nothing)'}")


class KeychainUnusable(OperatorError):
    exit_code = 2


class KeychainBusy(OperatorError):
    exit_code = 3

    def __init__(self, place: str) -> None:
        super().__init__(f"the keychain {place} is being written to by another process. Nothing was changed; try again")


class TokenUnusable(OperatorError):
    exit_code = 2


class MissingLibrary(OperatorError):
    exit_code = 2


class UnusablePlugin(OperatorError):
    exit_code = 2


class ResultError(NoetlError):
    kind: ClassVar[str] = "ref_missing"
    retryable: ClassVar[bool] = False


class ReferenceMissing(ResultError):
    kind = "ref_missing"

    def __init__(self, locator: str) -> None:
        super().__init__(
            f"the stored result {locator} is not there; it may have been swept, since its ttl had passed (noetl sweep)"
        )


class ReferenceCorrupt(ResultError):
    kind = "ref_corrupt"

    def __init__(self, locator: str, why: str) -> None:
        super().__init__(f"the stored result {locator} is damaged: {why}")


class ResultTooLarge(ResultError):
    kind = "limit"

    def __init__(self, found_bytes: int, max_bytes: int) -> None:
        super().__init__(f"a stored result may have {max_bytes} bytes, but this has {found_bytes}")


class UnknownResultStore(ResultError):
    kind = "not_found"


class ResultStoreRefused(ResultError):
    kind = "auth"


class ResultStoreUnreachable(ResultError):
    kind = "connection"
    retryable = True

    def __init__(self, place: str, why: str) -> None:
        super().__init__(f"the result store {place} cannot be reached: {why}")


# What kept something from being recorded may be over soon: of the store itself, or of a place of results too.
STORE_AWAY = (Unreachable, DiskFull, StoreBusy)
PASSING = (*STORE_AWAY, ResultStoreUnreachable)


class InternalError(NoetlError):
    """A fault of ours."""


class BrokenInvariant(InternalError):
    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name
