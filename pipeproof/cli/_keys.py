"""The keys of the configuration: what each holds, and how it reaches an option."""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import click

from pipeproof import engines, reports
from pipeproof.cli._budget import effort
from pipeproof.cli._options import limits
from pipeproof.cli._rooms import names
from pipeproof.cli._toml import Path
from pipeproof.errors import did_you_mean, printable
from pipeproof.verdict.result import Json

__all__ = ["FAILING", "KEYS", "Key", "Refuse", "Value"]

FAILING = ("refuted", "unknown", "warning", "zero", "gone")
"""What `fail-on` knows."""

Value = str | bool | tuple[str, ...]
"""What an option takes: a word, a flag, or several words."""

Refuse = Callable[[Path, str, str], None]
"""Notes a mistake: where in the value it stands, what stands there, what was expected."""

_EVERY = ("check", "baseline", "test", "show", "diagram")
_JUDGING = ("check", "baseline")
_NAME = re.compile(r"[\w.-]{1,40}", re.ASCII)
_MANY = 10**18
_ON = ("1", "true", "yes", "on")
_OFF = ("0", "false", "no", "off")


def _transports() -> Iterable[str]:
    from pipeproof.ir.transport import names as transports  # noqa: PLC0415  when needed

    return transports()


def _profiles() -> Iterable[str]:
    from pipeproof.frontends._profiles import PLANNED, PROFILES  # noqa: PLC0415  when needed

    return (*PROFILES, *PLANNED)


def _codes() -> Iterable[str]:
    from pipeproof.ir.codes import CODES  # noqa: PLC0415  when needed

    return CODES


class _Word:
    """One word, of those that are known where these are a closed set."""

    shown = 'a text, as "{}"'
    default: Json = None

    def __init__(self, example: str, known: Callable[[], Iterable[str]] | None = None) -> None:
        self.example, self.known = example, known

    def of_file(self, value: object, refuse: Refuse) -> Value:
        if not isinstance(value, str):
            refuse((), _what(value), f"write {self.shown.format(self.example)}")
            return ""
        self.check(value, (), refuse)
        return value

    def of_environ(self, text: str, refuse: Refuse) -> Value:
        self.check(text, (), refuse)
        return text

    def check(self, word: str, at: Path, refuse: Refuse) -> None:
        if self.known is None:
            if not word or not word.isprintable():
                refuse(at, printable(word), "write a path")
            return
        known = list(self.known())
        if not (word in known or self.begins(word, known)):
            meant = did_you_mean(word[:40], known)
            refuse(at, f"{printable(word)} is none that is known", f"known: {_list(known)}{meant}")

    def begins(self, word: str, known: Iterable[str]) -> bool:
        """Whether the beginning of what is known is enough."""
        del word, known
        return False

    def said(self, value: Value) -> Json:
        return value if isinstance(value, str | bool) else list(value)


class _Words(_Word):
    """Several words."""

    shown = 'a list of texts, as ["{}"]'
    default: Json = ()

    def of_file(self, value: object, refuse: Refuse) -> Value:
        if not isinstance(value, list):
            refuse((), _what(value), f"write {self.shown.format(self.example)}")
            return ()
        found: list[str] = []
        for i, each in enumerate(value):
            if not isinstance(each, str):
                refuse((i,), _what(each), f'write a text, as "{self.example}"')
                continue
            self.check(each, (i,), refuse)
            found.append(each)
        return tuple(found)

    def of_environ(self, text: str, refuse: Refuse) -> Value:
        found = tuple(filter(None, self.split(text)))
        for each in found:
            self.check(each, (), refuse)
        return found

    def split(self, text: str) -> list[str]:
        return re.split(r"[,\s]+", text)


class _Paths(_Words):
    """Several paths; in the environment with the separator of the system between them."""

    def split(self, text: str) -> list[str]:
        return text.split(os.pathsep)


class _Codes(_Words):
    """Codes of rules, or what they begin with."""

    def begins(self, word: str, known: Iterable[str]) -> bool:
        return bool(word) and any(each.startswith(word) for each in known)


class _Flag(_Word):
    """Yes or no."""

    default: Json = False

    def of_file(self, value: object, refuse: Refuse) -> Value:
        if not isinstance(value, bool):
            refuse((), _what(value), "write true or false")
        return value is True

    def of_environ(self, text: str, refuse: Refuse) -> Value:
        if text.lower() not in (*_ON, *_OFF):
            refuse((), printable(text), "write 1 or 0")
        return text.lower() in _ON


class _Numbers(_Word):
    """Numbers by name; each is looked at by the option that they reach. `texts` are sizes."""

    default: Json = None

    def __init__(
        self, example: str, option: Callable[[str], object], texts: tuple[str, ...] = ()
    ) -> None:
        super().__init__(example)
        self.option, self.texts = option, texts

    def of_file(self, value: object, refuse: Refuse) -> Value:
        if not isinstance(value, dict):
            refuse((), _what(value), f"write a table, as {{ {self.example} }}")
            return ()
        found = (self._one(name, each, refuse) for name, each in value.items())
        return tuple(filter(None, found))

    def _one(self, name: str, value: object, refuse: Refuse) -> str:
        """Return a number as the option takes it, or nothing where it is refused."""
        if not _NAME.fullmatch(name):
            refuse((name,), f"{printable(name)} is none that is known", "write a plain name")
        elif self._takes(f"{name}=1", (name,), refuse):
            amount = _amount(value, is_text=name in self.texts)
            if not amount:
                expected = 'a size, as "2GiB"' if name in self.texts else "a number"
                refuse((name,), f"{_what(value)} for {name}", f"write {expected}")
            elif self._takes(f"{name}={amount}", (name,), refuse):
                return f"{name}={amount}"
        return ""

    def of_environ(self, text: str, refuse: Refuse) -> Value:
        self._takes(text, (), refuse)
        return tuple(each.strip() for each in text.split(","))

    def _takes(self, written: str, at: Path, refuse: Refuse) -> bool:
        """Whether the option takes it; what it says where it does not is passed on."""
        try:
            self.option(written)
        except click.BadParameter as error:
            what, _, expected = error.message.partition("; ")
            refuse(at, what, expected)
            return False
        return True

    def said(self, value: Value) -> Json:
        parts = (each.partition("=") for each in value) if isinstance(value, tuple) else ()
        return {name: int(amount) if amount.isdecimal() else amount for name, _, amount in parts}


def _amount(value: object, *, is_text: bool) -> str:
    if is_text:
        return value if isinstance(value, str) and _NAME.fullmatch(value) else ""
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) >= _MANY:
        return ""
    return str(value)


@dataclass(frozen=True, slots=True)
class Key:
    """A key of the configuration.

    `kind` reads it, `commands` are those that hear it, `told` says that it changes what a command
    says of a schedule, and `is_path` that it is relative to the file in which it stands.
    """

    name: str
    kind: _Word
    help: str
    commands: tuple[str, ...] = ("check",)
    told: bool = True
    is_path: bool = False

    @property
    def variable(self) -> str:
        """The name of its environment variable."""
        return f"PIPEPROOF_{self.name.upper().replace('-', '_')}"

    @property
    def parameter(self) -> str:
        """The name under which the command holds its option."""
        return "format_" if self.name == "format" else self.name.replace("-", "_")

    @property
    def default(self) -> Json:
        """What holds where nobody says anything."""
        return {"engine": "graph", "format": "text"}.get(self.name, self.kind.default)

    def option(self, value: Value) -> Value:
        """Return a value as the option takes it."""
        return ",".join(value) if self.name == "budget" and isinstance(value, tuple) else value


def _one_limit(written: str) -> Mapping[str, int]:
    return limits(written.split(","))


KEYS: Mapping[str, Key] = {
    each.name: each
    for each in (
        Key(
            "paths",
            _Paths("schedules"),
            "what is judged where no PATH is written",
            ("check", "test", "show"),
            told=False,
            is_path=True,
        ),
        Key(
            "transport",
            _Words("nccl-lazy", _transports),
            "the transports under which schedules are judged, instead of the file's",
            (*_JUDGING, "show", "diagram"),
        ),
        Key(
            "profile",
            _Word("torch-runtime", _profiles),
            "a runtime's rules and transports",
            _EVERY,
        ),
        Key("engine", _Word("graph", lambda: (*names(engines), "all")), "what decides", _JUDGING),
        Key(
            "select",
            _Codes("PP3", _codes),
            "the rules that are judged: codes or beginnings",
            _JUDGING,
        ),
        Key("ignore", _Codes("PP3", _codes), "the rules that are left out", _JUDGING),
        Key(
            "limit",
            _Numbers("ranks = 2048", _one_limit),
            "limits of input that are raised",
            _EVERY,
        ),
        Key(
            "budget",
            _Numbers("states = 100000", effort, ("memory",)),
            "how far engines go for each schedule and transport",
            _JUDGING,
        ),
        Key("fail-on", _Words("zero", lambda: FAILING), "what fails beside what is refuted"),
        Key("baseline", _Word("baseline.json"), "the findings that are accepted", is_path=True),
        Key("format", _Word("text", lambda: names(reports)), "how results are told", told=False),
        Key("cache", _Flag(""), "whether verdicts are kept and taken up again", told=False),
    )
}
"""Every key by its name, in the order in which they are shown."""


def _what(value: object) -> str:
    """Return what stands somewhere, in the words of TOML."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return printable(value)
        case int() | float():
            return f"the number {value}" if abs(value) < _MANY else "a number"
        case list():
            return "a list"
        case dict():
            return "a table"
        case _:
            return "a date or time"


def _list(known: Iterable[str]) -> str:
    return ", ".join(known)
