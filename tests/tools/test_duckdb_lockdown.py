"""Kind duckdb: its SQL reaches nothing but what the task names, unless author and operator both say otherwise."""

from pathlib import Path

import pytest

from noetl.tools.duckdb_scratch import FOLDER
from tests.tools.duckdb_parts import bench, sql

# {out} is a folder that must stay empty, {file} a file that must stay unread
REFUSED = """
SELECT * FROM read_csv('/etc/passwd')
SELECT * FROM '{file}'
FROM read_text('{file}')
FROM read_blob('{file}')
FROM read_json('{file}')
FROM read_parquet('{file}')
FROM read_csv('file://{file}')
FROM sniff_csv('{file}')
FROM parquet_metadata('{file}')
FROM glob('/*')
FROM glob('{out}/*')
FROM read_text('/proc/self/environ')
FROM query('FROM read_text(''{file}'')')
CREATE MACRO f(p) AS TABLE FROM read_text(p); FROM f('{file}')
CREATE VIEW v AS FROM read_text('{file}')
PREPARE p AS FROM read_text('{file}'); EXECUTE p
CREATE TABLE t (a text); COPY t FROM '{file}'
COPY (SELECT 1) TO '{out}/x.csv'
COPY (SELECT 1) TO '{out}/x.parquet' (FORMAT parquet)
COPY (SELECT 1) TO '/dev/stdout'
EXPORT DATABASE '{out}/export'
IMPORT DATABASE '{out}/export'
ATTACH '{out}/other.duckdb' AS other
ATTACH '{file}' AS other (TYPE sqlite)
ATTACH 'host=127.0.0.1 port=1' AS other (TYPE postgres)
ATTACH 'http://127.0.0.1:1/x.duckdb' AS other
INSTALL httpfs
FORCE INSTALL httpfs
INSTALL x FROM community
LOAD httpfs
LOAD '{file}'
UPDATE EXTENSIONS
FROM 'http://127.0.0.1:1/x.csv'
FROM read_csv('https://127.0.0.1:1/x.csv')
FROM 's3://bucket/x.parquet'
CREATE SECRET s (TYPE s3, KEY_ID 'a', SECRET 'b')
CREATE PERSISTENT SECRET s (TYPE s3, KEY_ID 'a', SECRET 'b')
SELECT getenv('HOME')
SET enable_external_access = true
SET lock_configuration = false
RESET lock_configuration
RESET enable_external_access
SET memory_limit = '100GB'
SET max_temp_directory_size = '100GB'
SET threads = 100
SET temp_directory = '{out}'
SET allowed_paths = ['/etc/passwd']
SET allowed_directories = ['/']
SET extension_directory = '{out}'
SET custom_extension_repository = 'http://127.0.0.1:1'
SET allow_unsigned_extensions = true
SET autoload_known_extensions = true
SET autoinstall_known_extensions = true
SET allow_community_extensions = true
SET secret_directory = '{out}'
SET home_directory = '/'
SET file_search_path = '/etc'
SET log_query_path = '{out}/log'
SET profiling_output = '{out}/profile.json'
PRAGMA profiling_output = '{out}/profile.json'
PRAGMA enable_profiling = 'json'
CALL enable_logging(storage = 'file', storage_path = '{out}')
SET python_enable_replacements = true
FROM question
FROM connection
""".strip().splitlines()


@pytest.mark.spec("TL-01")
@pytest.mark.slow
async def test_sql_reaches_no_file_network_extension_or_setting(tmp_path: Path) -> None:
    out, file = tmp_path / "out", tmp_path / "private.csv"
    out.mkdir()
    file.write_text("word\nunseen\n", encoding="utf-8")

    async with bench(tmp_path) as db:
        found = {
            text: await db.output(query=text.format(out=out, file=file), spec={"autocommit": True}) for text in REFUSED
        }

    assert [text for text, output in found.items() if output.error is None] == []
    assert {output.error.kind for output in found.values() if output.error} == {"db_error"}
    assert "unseen" not in repr(found)
    assert list(out.iterdir()) == []


@pytest.mark.spec("TL-01")
async def test_a_refusal_says_what_to_write_instead(tmp_path: Path) -> None:
    async with bench(tmp_path) as db:
        _, message = await db.error("FROM read_csv('/etc/passwd')")

    assert "name databases under database and attach, results under read" in message


@pytest.mark.spec("TL-01")
async def test_what_a_task_reads_and_writes_opens_nothing_beside_it(tmp_path: Path) -> None:
    async with bench(tmp_path, home=tmp_path / "home") as db:
        read = {"rows": [{"a": 1}]}
        paths = await db.rows("SELECT sql FROM duckdb_views() WHERE view_name = 'rows'", read=read)
        folder = paths[0]["sql"].partition("'")[2].rpartition("/")[0]

        for query in (
            f"COPY (SELECT 1) TO '{folder}/1'",
            f"FROM glob('{folder}/*')",
            f"FROM read_text('{folder}/../lock')",
        ):
            assert (await db.error(query, read=read, write="csv"))[0] in ("db_error", "type")

    assert Path(folder).is_relative_to(tmp_path / "home" / FOLDER)


@pytest.mark.spec("TL-01")
async def test_a_value_is_never_the_name_of_a_file(tmp_path: Path) -> None:
    async with bench(tmp_path) as db:
        assert (await db.error(sql("FROM read_text(", "/etc/passwd", ")")))[0] == "db_error"


@pytest.mark.spec("TL-01")
async def test_no_variable_of_the_worker_reaches_the_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOETL_PLANTED", "planted")

    async with bench(tmp_path, is_duckdb_external_allowed=True) as db:
        opened = {"allow_external_access": True}
        found = await db.rows("SELECT content FROM read_text('/proc/self/environ')", spec=opened)

    assert "NOETL_PLANTED" not in found[0]["content"]


@pytest.mark.spec("TL-01")
async def test_external_access_needs_the_author_and_the_operator(tmp_path: Path) -> None:
    file = tmp_path / "open.csv"
    file.write_text("a\n1\n", encoding="utf-8")
    query, opened = f"FROM read_csv('{file}')", {"allow_external_access": True}

    async with bench(tmp_path) as closed, bench(tmp_path, is_duckdb_external_allowed=True) as allowed:
        kind, message = await closed.error(query, spec=opened)
        assert kind == "exception"
        assert "NOETL_DUCKDB_EXTERNAL_ACCESS" in message
        assert (await allowed.error(query))[0] == "db_error"
        assert await allowed.rows(query, spec=opened) == [{"a": 1}]
        assert (await allowed.error("SET memory_limit = '100GB'", spec=opened))[0] == "db_error"


@pytest.mark.spec("TL-01")
async def test_one_task_sees_nothing_of_the_one_before(tmp_path: Path) -> None:
    async with bench(tmp_path) as db:
        first = await db.value("1", read={"secret_rows": [{"a": 1}]})
        await db.rows("CREATE TEMP TABLE left_over AS SELECT 1; SET VARIABLE kept = 5")

        assert first == 1
        assert await db.value("getvariable('kept')") is None
        assert (await db.error("FROM left_over"))[0] == "db_error"
        assert (await db.error("FROM secret_rows"))[0] == "db_error"


@pytest.mark.spec("TL-01")
async def test_the_folder_of_a_task_is_gone_when_it_is_done(tmp_path: Path) -> None:
    async with bench(tmp_path, home=tmp_path / "home") as db:
        await db.stored("SELECT 1 AS a", "parquet", read={"rows": [{"a": 1}]})
        await db.error("SELECT nothing", read={"rows": [{"a": 1}]})
        (top,) = (tmp_path / "home" / FOLDER).iterdir()

        assert [path.name for path in top.iterdir()] == ["lock"]

    assert list((tmp_path / "home" / FOLDER).iterdir()) == []
