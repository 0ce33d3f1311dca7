"""Where keys and values of a TOML file are found."""

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeproof.cli import _toml
from pipeproof.errors import ParseError
from pipeproof.ir.reading import place_of
from tests.cli.made import ROOT

HARD = r'''# [not.a.header] key = 1
top = "a # no comment" # one
[tool.pipeproof]
transport = ["gloo", 'strict', # a comment ] in between
   """many
lines ] " "" \""""", 1979-05-27 07:32:00]
limit = {depth = 20, "by\u0074es" = 3, ranks.x = [1, [2, {y = 3}]]}
limit2.depth = 4
"quoted key".'literal.key' = '''


def leaves(value: object, path: _toml.Path = ()) -> set[_toml.Path]:
    """Every key and index of what a file holds, also of what holds others."""
    own = {path} if path else set()
    if isinstance(value, dict):
        return own.union(*(leaves(each, (*path, key)) for key, each in value.items()))
    if isinstance(value, list):
        return own.union(*(leaves(each, (*path, i)) for i, each in enumerate(value)))
    return own


HARD += "'''it''s\n''''\n[[many]]\na = 1\n[many.sub]\nb = 2\n[[many]]\na = 3\n[many.sub]\nb=-4.5\n"


def test_every_key_and_element_is_found_and_no_other() -> None:
    for text in (HARD, HARD.replace("\n", "\r\n"), (ROOT / "pyproject.toml").read_text()):
        assert set(_toml.spots(text)) == leaves(tomllib.loads(text))


def test_a_place_is_that_of_the_key_and_of_the_value() -> None:
    found = _toml.spots(HARD)
    shown = {
        path: (place_of(HARD, spot.key), HARD[spot.value : spot.value + 3])
        for path, spot in found.items()
    }

    assert shown["tool", "pipeproof"] == ((3, 7), "[to")
    assert shown["tool", "pipeproof", "transport"] == ((4, 1), '["g')
    assert shown["tool", "pipeproof", "transport", 1] == ((4, 22), "'st")
    assert shown["tool", "pipeproof", "transport", 2][1] == '"""'
    assert shown["tool", "pipeproof", "limit", "bytes"] == ((7, 22), "3, ")
    assert shown["tool", "pipeproof", "limit", "ranks", "x", 1, 1, "y"][1] == "3}]"
    assert shown["tool", "pipeproof", "limit2", "depth"] == ((8, 8), '4\n"')
    assert shown["tool", "pipeproof", "quoted key", "literal.key"][0] == (9, 14)
    assert shown["many", 1, "sub", "b"][1] == "-4."


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a = 1\nb = \n", (2, 5)),
        ("a = 1\nb", (2, 2)),
        ('a = "x', (1, 7)),
        ("a = 1\na = 2\n", (2, 6)),
        ("a = " + "[" * 9999, (1, 1)),
        ("a = " + "9" * 9999, (1, 1)),
        ("a = 2024-99-99", (1, 9)),
    ],
)
def test_what_is_no_toml_is_told_at_its_place(text: str, place: tuple[int, int]) -> None:
    with pytest.raises(ParseError) as raised:
        _toml.read(text, "a.toml")

    (problem,) = raised.value.problems
    assert (problem.line, problem.column) == place
    assert str(problem).startswith(f"a.toml:{place[0]}:{place[1]}: this is no TOML (")


SEPARATOR = " ,# ]}\n"
_words = st.text("ab\"'\\ .#]}\t\u00e9", max_size=6)
_scalars = st.one_of(st.integers(-9, 9), st.booleans(), _words)
_values = st.recursive(
    _scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(_words, inner, max_size=3)
    ),
    max_leaves=8,
)


def written(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case dict():
            pairs = ", ".join(f"{written(k)} = {written(v)}" for k, v in value.items())
            return f"{{{pairs}}}"
        case list():
            return f"[ {SEPARATOR.join(map(written, value))} ]"
        case str():
            escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
            return f'"{escaped}"'
        case _:
            return str(value)


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(_words, _values, max_size=4))
def test_drawn_files_are_walked_as_the_reader_reads_them(content: dict[str, object]) -> None:
    text = "".join(f"{written(key)} = {written(value)}\n" for key, value in content.items())

    assert set(_toml.spots(text)) == leaves(tomllib.loads(text))
