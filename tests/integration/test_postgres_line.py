"""A line to PostgreSQL: several statements in one round trip, of which one that fails keeps the later ones from being
done; and a line that breaks, or is late, tells whoever waits."""

import asyncio

import psycopg
import pytest

from noetl.stores import postgres_line
from noetl.stores.postgres_database import connected, database_of
from noetl.stores.postgres_line import PREPARED_MAX, Line
from noetl.stores.postgres_values import Bigints, Blobs, Documents, Doubles, Integers, Texts

LARGE_BYTES = 8 * 1024 * 1024  # more than a socket takes at once


@pytest.fixture
async def line(database_url):
    made = Line(await connected(database_of(database_url)))
    yield made
    await made.close()


@pytest.fixture
async def table(line):
    await line.ask((b"CREATE TABLE kept (n bigint PRIMARY KEY)", ()))
    yield b"INSERT INTO kept VALUES (%s)"
    await line.ask((b"DROP TABLE kept", ()))


async def kept(line):
    (rows,) = await line.ask((b"SELECT n FROM kept ORDER BY n", ()))
    return [n for (n,) in rows]


@pytest.mark.parametrize("value", [None, True, -1, 2**63 - 1, 1.5, "ü", "", b"\x00\xff"])
async def test_a_value_comes_back_as_it_went(line, value):
    statement = b"SELECT %s" if value is not None else b"SELECT %s::integer"

    ((found,),) = (await line.ask((statement, [value])))[0]

    assert found == value


@pytest.mark.parametrize(
    "column",
    [
        Bigints([1, None, -(2**62)]),
        Bigints([7]),
        Bigints([None]),
        Integers([]),
        Integers([1, 2, 3]),
        Doubles([0.5, None]),
        Texts(["a", None, ""]),
        Blobs([b"\x00"]),
    ],
)
async def test_a_column_comes_back_as_it_went(line, column):
    (rows,) = await line.ask((b"SELECT * FROM unnest(%s)", [column]))

    assert [value for (value,) in rows] == list(column)


async def test_documents_come_back_as_the_bytes_that_they_were(line):
    (rows,) = await line.ask((b"SELECT * FROM unnest(%s)", [Documents([b'{"a":  1}'])]))

    assert rows == [(b'{"a":  1}',)]


async def test_names_stand_for_values_in_any_order_and_as_often_as_one_likes(line):
    (rows,) = await line.ask((b"SELECT %(b)s, %(a)s, %(b)s", {"a": 1, "b": "two"}))

    assert rows == [("two", 1, "two")]


async def test_a_number_that_no_column_holds_is_refused_before_it_is_sent(line):
    with pytest.raises(psycopg.DataError):
        await line.ask((b"SELECT %s", [2**63]))

    assert await line.ask((b"SELECT 1", ())) == [[(1,)]]


async def test_a_value_that_cannot_be_sent_keeps_those_before_it_from_being_sent(line, table):
    with pytest.raises(psycopg.DataError):
        await line.ask((table, [1]), (table, [2**63]))

    assert await kept(line) == []


async def test_what_comes_after_a_statement_that_fails_is_not_done(line, table):
    trip = [(b"BEGIN", ()), (table, [1]), (table, [1]), (table, [2]), (b"COMMIT", ())]

    with pytest.raises(psycopg.errors.UniqueViolation):
        await line.ask(*trip)
    assert not line.is_idle
    await line.ask((b"ROLLBACK", ()))

    assert line.is_idle
    assert await kept(line) == []


async def test_a_statement_that_could_not_be_parsed_can_be_asked_again(line, table):
    for _ in range(2):
        with pytest.raises(psycopg.errors.UndefinedTable):
            await line.ask((b"SELECT * FROM kept", ()), (b"SELECT * FROM missing", ()), (b"SELECT 3", ()))

    assert await line.ask((b"SELECT 3", ())) == [[(3,)]]


async def test_more_statements_than_are_remembered_are_answered_all_the_same(line):
    for number in range(PREPARED_MAX + 5):
        (rows,) = await line.ask((b"SELECT %d + %%s" % number, [1]))

        assert rows == [(number + 1,)]


async def test_more_than_a_socket_takes_at_once_goes_there_and_back(line):
    (rows,) = await line.ask((b"SELECT %s", [b"x" * LARGE_BYTES]))

    assert len(rows[0][0]) == LARGE_BYTES


async def test_it_is_told_how_many_rows_were_changed(line, table):
    await line.ask((table, [1]), (table, [2]))

    assert await line.change(b"DELETE FROM kept WHERE n > %s", [0]) == 2
    assert await line.change(b"DELETE FROM kept WHERE n > %s", [0]) == 0


async def test_whoever_waits_is_told_that_the_server_ended_the_connection(line):
    with pytest.raises(psycopg.OperationalError):
        await line.ask((b"SELECT pg_terminate_backend(pg_backend_pid())", ()), (b"SELECT 1", ()))

    assert line.has_ended
    with pytest.raises(psycopg.OperationalError):
        await line.ask((b"SELECT 1", ()))


async def test_a_connection_that_was_lost_leaves_no_socket_in_the_event_loop(line):
    number = line._wire.socket

    with pytest.raises(psycopg.OperationalError):
        await line.ask((b"SELECT pg_terminate_backend(pg_backend_pid())", ()), (b"SELECT 1", ()))

    assert not asyncio.get_running_loop().remove_reader(number)


async def test_the_answer_to_a_question_that_was_given_up_answers_no_other(line, monkeypatch):
    monkeypatch.setattr(postgres_line, "ANSWER_SECONDS_MAX", 0.05)
    with pytest.raises(TimeoutError):
        await line.ask((b"SELECT pg_sleep(0.1)", ()))
    monkeypatch.undo()

    with pytest.raises(psycopg.OperationalError):
        await line.ask((b"SELECT 1", ()))

    assert line.has_ended


async def test_a_line_whose_question_was_cancelled_is_of_no_more_use(line):
    asked = asyncio.create_task(line.ask((b"SELECT pg_sleep(30)", ())))
    await asyncio.sleep(0)

    asked.cancel()
    await asyncio.wait([asked])

    assert line.has_ended


async def test_a_server_that_takes_too_long_is_given_up(line, monkeypatch):
    monkeypatch.setattr(postgres_line, "ANSWER_SECONDS_MAX", 0.05)

    with pytest.raises(TimeoutError):
        await line.ask((b"SELECT pg_sleep(30)", ()))


async def test_closing_ends_the_wait_of_whoever_asked(line):
    asked = asyncio.create_task(line.ask((b"SELECT pg_sleep(30)", ())))
    await asyncio.sleep(0)

    await line.close()

    with pytest.raises(psycopg.OperationalError):
        await asked


async def test_the_connection_can_be_lent_and_is_taken_back(line):
    await line.ask((b"SELECT 1", ()))

    lent = await (await line.lend().execute("SELECT 2")).fetchone()
    line.take_back()

    assert lent == (2,)
    assert await line.ask((b"SELECT 1", ())) == [[(1,)]]
