"""fmt: one layout, the same data, every comment."""

import textwrap

import pytest
from hypothesis import assume, given, settings

from noetl.dsl.fmt import formatted
from noetl.dsl.nodes import plain
from noetl.dsl.read import read
from noetl.dsl.rewriting.outline import comments
from tests.dsl.front import PLAYBOOKS
from tests.dsl.yaml_texts import texts


def laid_out(text: str) -> str:
    done = formatted(text, "t.yaml")
    assert done.is_done
    return done.text


def data(text: str) -> list[str]:
    return [repr(plain(document)) for document in read(text, "t").documents]


@settings(max_examples=400, deadline=None)
@given(texts())
def test_layout_keeps_data_and_comments_and_is_stable(text):
    reading = read(text, "t.yaml")
    assume(reading.documents and not reading.faults)

    done = formatted(text, "t.yaml")

    assert done.is_done
    assert data(done.text) == data(text)
    assert comments(done.text) == comments(text)
    assert formatted(done.text, "t.yaml").text == done.text


def test_the_usual_layout():
    text = """


        # a playbook
        apiVersion:   noetl.io/v2


        kind : Playbook
        workload: {a: 1,b:   [1,2 ],  }   # defaults
        workflow:
        - step: start   # first


          # the tool
          tool:
          -   kind: http
              url:
                "https://x.y"
              headers: {
                  A: 1, # one
                  # two
                  B: 2 }
              # no more
        # the end
        - step: end
          tool:
             kind: python
             code: |
                   x = 1

                     y = 2


        # bye

    """

    assert laid_out(textwrap.dedent(text)) == textwrap.dedent(
        """\
        # a playbook
        apiVersion: noetl.io/v2

        kind: Playbook
        workload: { a: 1, b: [1, 2] }   # defaults
        workflow:
          - step: start   # first

            # the tool
            tool:
              - kind: http
                url: "https://x.y"
                headers: {
                  A: 1, # one
                  # two
                  B: 2
                }
                # no more

          # the end
          - step: end
            tool:
              kind: python
              code: |
                x = 1

                  y = 2

        # bye
        """
    )


@pytest.mark.parametrize(
    "text",
    [
        "a: 'it''s'\n",
        'a: "\\u00e9\\x41"\n',
        "a: 0x1F\n",
        "a: ~\n",
        "a:\n",
        "a: &x 1\nb: *x\n",
        "<<: &x { a: 1 }\nb: *x\n",
        "a: !!str 5\n",
        "a: [b: 1, c]\n",
        "a: { b }\n",
        "a: |2\n    deeper\n  text\n",
        "a: |+\n  text\n\n\nb: 1\n",
        "a: >-\n  folded\n  text\n\n  more\n",
        "a: plain text\n  goes on\n",
        "- - 1\n  - 2\n- []\n",
        "---\na: 1\n---\nb: 2\n",
        "# only a comment above\n---\na: 1\n",
        '"a b": 1\n404: 2\n',
        "? a\n: b\n",
        "just text\n",
    ],
)
def test_what_is_as_it_should_be_stays(text):
    assert laid_out(text) == text


@pytest.mark.parametrize("text", ["a: 1\r\nb:\r\n    c: |\r\n      x\r\n", "a: 1\r\nb: 2\n"])
def test_a_text_with_windows_line_breaks_has_them_throughout(text):
    found = laid_out(text)

    assert found.count("\r\n") == found.count("\n")
    assert data(found) == data(text)


def test_a_text_without_a_last_line_break_gets_one_unless_it_were_content():
    assert laid_out("a: 1") == "a: 1\n"
    assert laid_out("a: |\n  text") == "a: |\n  text"


def test_comments_stay_with_what_they_are_in_line_with():
    text = textwrap.dedent(
        """\
        a:
            # of b
            b:
                - 1
                # in the list
            # in a
        # of c
        c: 1
        """
    )

    assert laid_out(text) == text.replace("    ", "  ")


@pytest.mark.parametrize("text", ["a: [1", "a: 1\na: 2\n", "? [a]\n: 1\n", b"\xff", "a: &a [*a]\n"])
def test_a_text_that_cannot_be_read_whole_is_left_with_its_faults(text):
    done = formatted(text, "t.yaml")

    assert done.faults
    assert not done.is_done


def test_nothing_is_laid_out_that_would_mean_something_else(monkeypatch):
    monkeypatch.setattr("noetl.dsl.fmt.layout", lambda text: "a: 2\n")

    done = formatted("a: 1\n", "t.yaml")

    assert done.is_refused
    assert done.text == "a: 1\n"


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n"])
def test_a_text_without_data_stays(text):
    assert formatted(text, "t.yaml").text == text


@pytest.mark.parametrize("path", sorted((PLAYBOOKS / "documents").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_example_of_the_documents_can_be_laid_out(path):
    text = path.read_text(encoding="utf-8")

    assert data(laid_out(text)) == data(text)
