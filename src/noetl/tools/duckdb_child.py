"""The program of a warm child of kind duckdb: questions in, answers out, over the socket it is given (children.py).

A question is a JSON mapping of statements, database, attached, reads, out, write_format, folder, threads, memory_mb,
disk_mb, rows_bytes_max, keeps_all, is_autocommit, is_external_allowed (duckdb_runs.py). An answer:

    answers   what each statement gave: columns, rows, affected_rows (duckdb_session.py)
    fault     null, or why it failed: kind, retryable, message, hint, line, exception_type (duckdb_faults.py)

DuckDB counts most of its memory itself; a soft limit of the process's stands behind it for what it does not count. A
child that ran out of memory or in which DuckDB broke says that it is spent.
"""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from noetl.tools.duckdb_faults import fault_of, is_fatal
from noetl.tools.duckdb_session import Session, opened
from noetl.tools.python_child import Questions, frame, is_large, least, limit_descriptors, memory_bytes, send

MEBIBYTE: Final = 1024 * 1024
BESIDES_BYTES: Final = 512 * MEBIBYTE  # stacks of threads, the interpreter, rows on their way into JSON


def serve(descriptor: int) -> None:
    """Answer until the worker closes its end."""
    os.set_inheritable(descriptor, False)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core file would hold secrets
    limit_descriptors()
    data_bytes = memory_bytes("VmData")
    questions = Questions(descriptor)
    while (found := questions.next()) is not None:
        answer, is_reusable = answered(json.loads(found[1]), data_bytes)
        send(descriptor, frame(answer, is_reusable=is_reusable))


def answered(question: dict[str, Any], data_bytes: int) -> tuple[bytes, bool]:
    """The answer, and whether this child can be asked again."""
    session: Session | None = None
    fault, is_spent = None, False
    answers: list[dict[str, Any]] = []
    with limited(question, data_bytes):
        try:
            with opened(question) as connection:
                session = Session(connection, question)
                answers = session.answers()
        except BaseException as raised:
            answers, fault = [], fault_of(raised, session, question)
            is_spent = is_fatal(raised)
    return encoded(answers, fault), not (is_spent or is_large())


def encoded(answers: list[dict[str, Any]], fault: dict[str, Any] | None) -> bytes:
    """The answer as JSON; rows are JSON already, and are not read again."""
    written = [
        f'{{"columns":{json.dumps(answer["columns"])},"affected_rows":{answer["affected_rows"]},'
        f'"rows":[{",".join(answer["rows"])}]}}'
        for answer in answers
    ]
    return f'{{"fault":{json.dumps(fault)},"answers":[{",".join(written)}]}}'.encode()


@contextmanager
def limited(question: dict[str, Any], data_bytes: int) -> Iterator[None]:
    """Soft limits of memory and of the size of files for one question. A database may grow by as much as its disk."""
    memory_max = data_bytes + question["memory_mb"] * MEBIBYTE + BESIDES_BYTES
    file_max = largest_file(question) + question["disk_mb"] * MEBIBYTE
    limits = {resource.RLIMIT_FSIZE: file_max} | ({resource.RLIMIT_DATA: memory_max} if data_bytes else {})
    before = {limit: resource.getrlimit(limit) for limit in limits}
    for limit, most in limits.items():
        hard = before[limit][1]
        resource.setrlimit(limit, (least(hard, most), hard))
    try:
        yield
    finally:
        for limit, pair in before.items():
            resource.setrlimit(limit, pair)


def largest_file(question: dict[str, Any]) -> int:
    files = [*([question["database"]] if question["database"] else []), *question["attached"].values()]
    paths = (Path(file["path"]) for file in files)
    return max((path.stat().st_size for path in paths if path.exists()), default=0)
