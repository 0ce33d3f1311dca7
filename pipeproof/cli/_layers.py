"""Reads what layers cost, each number as it is written."""

import json
import re
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple, NoReturn

from pipeproof.errors import ParseError, Problem, printable
from pipeproof.ir.reading import Mistakes, place_of

__all__ = ["Layers", "read_layers"]

_EXPECTED = "expected a JSON list of costs, or an object from names to costs"
_COST = "expected a number, finite and not negative"
_SPACE = re.compile(r"[ \t\r\n]*")
_LARGEST_EXPONENT = 400


class Layers(NamedTuple):
    """Layers in order: a name each, or none, and what each costs."""

    names: tuple[str, ...] | None
    costs: tuple[Fraction, ...]


class _Cost(NamedTuple):
    text: str


class _Constant(NamedTuple):
    text: str


_DECODER = json.JSONDecoder(parse_float=_Cost, parse_int=_Cost, parse_constant=_Constant)


def read_layers(text: str, file: str) -> Layers:
    """Read a list of costs, or an object from names to costs.

    Raises:
        InputError: it is neither; every mistake is named with its place.
    """
    return _Reader(text, file).read()


class _Reader:
    """Goes through the text element by element, so that each mistake has its place."""

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file, self.at = text, file, 0
        self.mistakes = Mistakes(file)
        self.names: dict[str, int] = {}
        self.costs: list[Fraction] = []

    def read(self) -> Layers:
        self._space()
        opened = self.text[self.at : self.at + 1]
        if opened not in ("[", "{"):
            self._stop("what stands here is no list and no object", _EXPECTED)
        self.at += 1
        self._elements("]" if opened == "[" else "}")
        self._space()
        if self.at < len(self.text):
            self._stop("more stands behind the costs", "expected the end of the file")
        self.mistakes.settle()
        return Layers(tuple(self.names) if opened == "{" else None, tuple(self.costs))

    def _elements(self, closing: str) -> None:
        self._space()
        if self._took(closing):
            return
        while True:
            self._space()
            if closing == "}":
                self._name()
            self._cost()
            self._space()
            if self._took(closing):
                return
            if not self._took(","):
                self._stop("the next cost does not begin", f"expected ',' or '{closing}'")

    def _name(self) -> None:
        at = self.at
        name = self._value()
        if not isinstance(name, str):
            self.at = at
            self._stop("what stands here is no name", 'expected "name": cost')
        if name in self.names:
            self._note(at, f"the layer {printable(name)} stands twice", "expected a name a layer")
        self.names[name] = at
        self._space()
        if not self._took(":"):
            self._stop(f"no cost of {printable(name)}", "expected ':'")
        self._space()

    def _cost(self) -> None:
        at = self.at
        value = self._value()
        cost = _number(value)
        if cost is None:
            shown = printable(self.text[at : self.at])
            self._note(at, f"the cost of layer {len(self.costs)} is {shown}", _COST)
        self.costs.append(cost or Fraction())

    def _value(self) -> object:
        found: object = None
        try:
            found, self.at = _DECODER.raw_decode(self.text, self.at)
        except json.JSONDecodeError as error:
            self.at = error.pos
            self._stop("this is no JSON", f"{error.msg[:1].lower()}{error.msg[1:]}")
        except RecursionError:
            self._stop("lists within lists", _EXPECTED)
        return found

    def _space(self) -> None:
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def _took(self, sign: str) -> bool:
        is_there = self.text.startswith(sign, self.at)
        self.at += is_there
        return is_there

    def _note(self, at: int, found: str, expected: str) -> None:
        self.mistakes.add(*place_of(self.text, at), found, expected)

    def _stop(self, found: str, expected: str) -> NoReturn:
        line, column = place_of(self.text, self.at)
        problem = Problem(self.file, line, column, found, expected)
        raise ParseError([*self.mistakes.found, problem])


def _number(value: object) -> Fraction | None:
    """Return the number that is written, None where it is none, negative, or out of range."""
    if not isinstance(value, _Cost):
        return None
    number = Decimal(value.text)
    if number and abs(number.adjusted()) > _LARGEST_EXPONENT:
        return None
    return Fraction(number) if number >= 0 else None
