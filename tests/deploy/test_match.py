"""What deploy/ says to NoETL is what NoETL understands: every command line, every variable, every settings file."""

import click
import pytest

from noetl.cli.group import noetl
from noetl.config import SETTINGS
from tests.deploy.texts import CHART, PAGES, VARIABLE, command_lines, command_lines_in_prose, files

VARIABLES = {setting.variable for setting in SETTINGS}
NOT_SETTINGS = {
    "NOETL_MASTER_KEY": "read by the keychain",
    "NOETL_UID": "of compose.yaml: whom its containers run as",
    "NOETL_GID": "as above",
    "NOETL_SERVER_PASSWORD": "of nats.conf: a variable of NATS",
    "NOETL_WORKER_PASSWORD": "as above",
    "NOETL_SERVER": "as above: what a server may say and hear",
    "NOETL_WORKER": "as above",
}


def parse(words: list[str]) -> click.Context:
    """Read a command line as click does, down to its verb, and run nothing."""
    command, context = noetl, None
    name = "noetl"
    while True:
        context = command.make_context(name, list(words), parent=context)
        if not isinstance(command, click.Group):
            return context
        name, found, words = command.resolve_command(context, [*context._protected_args, *context.args])
        command = found


@pytest.mark.parametrize(("where", "words"), [pytest.param(*line, id=line[0]) for line in command_lines()])
def test_every_command_line_is_one_that_noetl_takes(where, words):
    assert parse(words).command.name == words[1]


@pytest.mark.parametrize(
    ("where", "words"), [pytest.param(where, words, id=" ".join(words)) for where, words in command_lines_in_prose()]
)
def test_every_command_that_a_comment_or_a_page_shows_is_one_that_noetl_takes(where, words):
    assert parse(words).command is not noetl


@pytest.mark.parametrize(
    "words", [["server", "begin"], ["worker", "start", "--threads", "2"], ["worker", "scale", "x"]]
)
def test_a_command_line_that_noetl_does_not_take_is_seen(words):
    with pytest.raises(click.UsageError):
        parse(words)


def test_every_variable_is_one_that_noetl_reads():
    texts = {path: path.read_text("utf-8") for path in (*files(), *PAGES) if path.exists()}
    found = {(path.name, name) for path, text in texts.items() for name in VARIABLE.findall(text)}

    wrong = {(where, name) for where, name in found if name not in VARIABLES | NOT_SETTINGS.keys()}

    assert {name for _, name in found} >= {"NOETL_HOME", "NOETL_STORE_URL", "NOETL_QUEUE_URL"}
    assert {(where, name) for where, name in wrong if not name.startswith("NOETL_SECRET_")} == set()


def test_the_chart_is_of_this_version():
    from noetl import __version__

    assert f'appVersion: "{__version__}"' in (CHART / "Chart.yaml").read_text("utf-8")
