"""Settings: who wins, where data lives, and what a wrong value is answered with."""

import re
from pathlib import Path

import pytest

from noetl.config import load, user_data
from noetl.errors import RequestError

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "project" / "deep"
    place.mkdir(parents=True)
    return place


def settings(folder, environ=None, **flags):
    return load(environ={"HOME": str(folder / "user"), **(environ or {})}, folder=folder, **flags)


def write(folder, text):
    (folder / "noetl.toml").write_text(text)


def test_without_anything_the_defaults_hold(folder):
    found = settings(folder, {"XDG_DATA_HOME": str(folder / "data")})

    assert found.home == folder / "data" / "noetl"
    assert found.store_url == f"sqlite:///{folder}/data/noetl/noetl.db"
    assert found.store_path == folder / "data" / "noetl" / "noetl.db"
    assert (found.slots, found.http_allow, found.script_roots) == (128, (), ())
    assert found.process_slots >= 1


def test_a_flag_wins_over_a_variable_and_that_over_the_file(folder):
    write(folder, 'home = "from-file"\nslots = 3\nprocess_slots = 7\n')
    environ = {"NOETL_HOME": "from-variable", "NOETL_SLOTS": "5"}

    assert settings(folder, environ, home="from-flag").home == folder / "from-flag"
    assert settings(folder, environ).home == folder / "from-variable"
    assert settings(folder).home == folder / "from-file"
    assert (settings(folder, environ).slots, settings(folder, environ).process_slots) == (5, 7)


def test_an_empty_variable_is_an_unset_one(folder):
    assert settings(folder, {"NOETL_SLOTS": "", "NOETL_HOME": ""}).slots == 128


def test_the_nearest_file_upward_holds_and_its_paths_are_relative_to_it(folder):
    write(folder.parent, 'store.url = "sqlite:///runs.db"\n[script]\nroots = ["scripts", "/opt/shared"]\n')

    found = settings(folder)

    assert found.store_path == folder.parent / "runs.db"
    assert found.script_roots == (folder.parent / "scripts", Path("/opt/shared"))


def test_data_lives_in_the_nearest_noetl_folder_upward(folder):
    (folder.parent / ".noetl").mkdir()
    (folder / ".noetl").write_text("a file of that name is not it")

    assert settings(folder).home == folder.parent / ".noetl"


@pytest.mark.parametrize(
    ("platform", "environ", "wanted"),
    [
        ("linux", {"HOME": "/home/ann"}, "/home/ann/.local/share"),
        ("linux", {"HOME": "/home/ann", "XDG_DATA_HOME": "/data"}, "/data"),
        ("linux", {"HOME": "/home/ann", "XDG_DATA_HOME": "relative"}, "/home/ann/.local/share"),
        ("darwin", {"HOME": "/Users/ann"}, "/Users/ann/Library/Application Support"),
        ("win32", {"LOCALAPPDATA": "/profiles/ann/Local"}, "/profiles/ann/Local"),
    ],
)
def test_the_user_s_data_directory_is_the_system_s(platform, environ, wanted):
    assert user_data(environ, platform) == Path(wanted)


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("sqlite:///runs.db", "{folder}/runs.db"),
        ("sqlite:////var/runs.db", "/var/runs.db"),
        ("sqlite:///../r.db", "{up}/r.db"),
    ],
)
def test_three_slashes_are_relative_and_four_absolute(folder, url, wanted):
    found = settings(folder, store=url)

    assert str(found.store_path) == wanted.format(folder=folder, up=folder.parent)
    assert settings(folder, store=found.store_url).store_path == found.store_path


@pytest.mark.parametrize(
    "url", ["runs.db", "sqlite:///", "sqlite://", "sqlite:///:memory:", "mysql://h/d", "sqlite:///a?b"]
)
def test_a_wrong_store_is_refused_with_what_is_wanted(folder, url):
    with pytest.raises(RequestError) as caught:
        settings(folder, store=url)

    assert re.match(r"store\.url \(from --store\) must be sqlite:///relative/file\.db, ", str(caught.value))


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_a_store_that_several_servers_share_is_named_by_its_url(folder, scheme):
    found = settings(folder, {"NOETL_STORE_URL": f"{scheme}://ann:hunter2@db/noetl"})

    assert (found.store_url, found.is_shared) == ("postgresql://ann:hunter2@db/noetl", True)
    assert not settings(folder).is_shared
    with pytest.raises(RequestError, match="--server") as caught:
        _ = found.store_path
    assert "hunter2" not in str(caught.value)


def test_a_password_in_a_wrong_url_is_not_repeated(folder):
    with pytest.raises(RequestError) as caught:
        settings(folder, store="mysql://ann:hunter2@db/noetl")

    assert 'but is "mysql://…"' in str(caught.value)


@pytest.mark.spec("RS-06")
def test_results_go_where_the_role_has_them_unless_the_operator_lists_stores(folder):
    urls = "s3://acme/etl?region=eu,postgresql://u:p@db/x,files"

    assert settings(folder).results_stores == ()
    assert settings(folder, {"NOETL_RESULTS_STORES": urls}).results_stores == tuple(urls.split(","))


@pytest.mark.parametrize("url", ["mysql://u:hunter2@db/x", "disk", "s3://"])
def test_a_wrong_result_store_is_refused_without_its_password(folder, url):
    with pytest.raises(RequestError, match=r"results\.stores \(from NOETL_RESULTS_STORES\) must be a list") as caught:
        settings(folder, {"NOETL_RESULTS_STORES": url})

    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("value", ["0", "many", "-1", "1.5", "٣", "9" * 30])
def test_a_wrong_number_names_key_origin_wanted_and_found(folder, value):
    with pytest.raises(RequestError) as caught:
        settings(folder, {"NOETL_SLOTS": value})

    assert str(caught.value) == (
        f"slots (from NOETL_SLOTS) must be a whole number from 1 to 100000, but is {value!r}"
    )  # fmt: skip


def test_a_wrong_value_in_the_file_is_named_with_its_line(folder):
    write(folder, "slots = 3\nprocess_slots = true\n")

    with pytest.raises(RequestError, match=r"process_slots \(from .*noetl\.toml:2\) must be a whole number"):
        settings(folder)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("slotz = 3", r'noetl\.toml:1: there is no setting "slotz"; did you mean "slots"\?'),
        ("[http]\nallows = []", r'noetl\.toml:2: there is no setting "http\.allows"; did you mean "http\.allow"\?'),
        ("[qqqq]\na = 1", r'there is no setting "qqqq"; the settings are: home, store\.url'),
        ("slots == 3", r"noetl\.toml is not TOML: .*line 1"),
        ("slots = [3]", r"must be a whole number"),
        ("home = 3", r"home \(from .*:1\) must be a path, but is 3"),
        ("http.allow = [1]", r"must be a list of at most 1000 texts"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_what_to_do(folder, text, advice):
    write(folder, text)

    with pytest.raises(RequestError, match=advice):
        settings(folder)


def test_hosts_come_with_commas_in_a_variable_and_as_a_list_in_the_file(folder):
    write(folder, '[http]\nallow = ["db.local", "10.0.0.0/8"]\n')

    assert settings(folder).http_allow == ("db.local", "10.0.0.0/8")
    assert settings(folder, {"NOETL_HTTP_ALLOW": "a.local, ::1 ,"}).http_allow == ("a.local", "::1")


@pytest.mark.parametrize("word", ["http://a.local", "a b", "10.0.0.1/8", "10.0.0.0/40"])
def test_what_is_no_host_and_no_network_is_refused(folder, word):
    with pytest.raises(
        RequestError, match=r"http\.allow \(from NOETL_HTTP_ALLOW\) must be a list of hosts and networks"
    ):
        settings(folder, {"NOETL_HTTP_ALLOW": word})


def test_a_home_that_is_a_file_is_refused(folder):
    (folder / "taken").write_text("")

    with pytest.raises(RequestError, match=r"home \(from --home\) must be a folder, but is the file"):
        settings(folder, home="taken")


@pytest.mark.spec("KC-05")
def test_a_key_is_not_shown_when_it_is_put_into_keychain_key(folder):
    with pytest.raises(RequestError) as raised:
        settings(folder, {"NOETL_KEYCHAIN_KEY": "planted-s3cret"})

    assert 'must be "file" or "keyring"; a key itself belongs into NOETL_MASTER_KEY' in str(raised.value)
    assert "planted" not in str(raised.value)


@pytest.mark.parametrize(("written", "expected"), [("true", True), ("1", True), ("False", False), ("0", False)])
def test_a_flag_is_true_or_false(folder, written, expected):
    assert settings(folder, {"NOETL_PYTHON_INLINE": written}).python_inline is expected


@pytest.mark.parametrize("written", ["yes", "2", "tru"])
def test_a_flag_that_is_neither_is_refused(folder, written):
    with pytest.raises(RequestError, match=r"python\.inline \(from NOETL_PYTHON_INLINE\) must be true or false"):
        settings(folder, {"NOETL_PYTHON_INLINE": written})
