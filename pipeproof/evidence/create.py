"""Making a bundle: check, convert, certify and recheck each schedule, and what else was asked."""

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, NoReturn

from pipeproof.errors import ParseError, Problem, printable
from pipeproof.evidence import _own, commands, repository
from pipeproof.evidence._boundaries import boundaries
from pipeproof.evidence._result import Summary, entries, summary
from pipeproof.evidence._shape import Json
from pipeproof.evidence.bundle import Draft, drafting
from pipeproof.evidence.commands import Cleaner, Ended, Run
from pipeproof.evidence.environment import environment, tool
from pipeproof.evidence.manifest import SCHEMA, SCHEMA_FILE, schema_text, sha256

__all__ = ["Created", "Options", "Plan", "Scheduled", "create"]

RESULTS = "results/check.json"
_EPOCH = "SOURCE_DATE_EPOCH"
_MOST_SECONDS = 253402300799  # the last second that has four digits of a year


class Scheduled(NamedTuple):
    """A schedule that is to be checked: its name, its file from the root, and which one in it."""

    name: str
    path: str
    case: int | None = None
    imports: str | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """With which options schedules are read and judged; the names are those of the command."""

    transport: tuple[str, ...] = ()
    profile: str | None = None
    lowering: str | None = None
    microbatches: int | None = None
    stages: int | None = None
    limit: tuple[str, ...] = ()

    def words(self) -> list[str]:
        """Return them as a command takes them."""
        return _own.words(self.plain())

    def plain(self) -> dict[str, Json]:
        """Return them as JSON holds them."""
        return {
            "transport": [*self.transport],
            "profile": self.profile,
            "lowering": self.lowering,
            "microbatches": self.microbatches,
            "stages": self.stages,
            "limit": [*self.limit],
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """What a bundle is made of.

    `root` is the folder that paths start from and commands run in; `asked` are more commands,
    each as it is typed; `stored` says where the bundle will be kept.
    """

    root: Path
    schedules: tuple[Scheduled, ...]
    options: Options = field(default_factory=Options)
    asked: tuple[str, ...] = ()
    stored: str | None = None


class Created(NamedTuple):
    """A bundle that was made: its id, what was found of each schedule, and what was run."""

    id: str
    schedules: tuple[tuple[str, str], ...]
    commands: tuple[tuple[str, int], ...]
    rejected: tuple[str, ...]
    check: int


def create(plan: Plan, output: str, environ: Mapping[str, str], run: Run | None = None) -> Created:
    """Make the bundle of a plan in a folder `output`, which must not stand there yet.

    Raises:
        ParseError: a file cannot be read, a command is none, a secret would get into the bundle,
            or it cannot be written.
    """
    places = [(plan.root, "."), (Path.home(), "~")]
    asked = [_split(each) for each in plan.asked]
    with drafting(output) as (draft, logs):
        making = _Making(plan, draft, logs, Cleaner(environ, places), run or commands.processes)
        begun = _now(environ)
        inputs = making.inputs()
        schedules = making.judged()
        for words in asked:
            making.command(words, "asked")
        draft.put(SCHEMA_FILE, schema_text())
        making.require_same(inputs)
        fixed = _EPOCH in environ
        variables = {name: making.clean.text(value) for name, value in environ.items()}
        predicate: dict[str, Json] = {
            "schema": SCHEMA,
            "tool": tool(),
            "repository": repository.described(plan.root, making.paths()).plain(),
            "options": plan.options.plain(),
            "inputs": inputs,
            "results": RESULTS,
            "schedules": schedules,
            "commands": making.commands,
            "boundaries": boundaries(making.summaries, asks=bool(asked)),
            "times": {"started": begun, "finished": _now(environ), "fixed": fixed},
            "runs": [{**each, **({"milliseconds": 0} if fixed else {})} for each in making.runs],
            "environment": environment(variables),
            "stored": None if plan.stored is None else making.clean.text(plan.stored),
        }
        draft.seal(predicate)
        making.require_no_secret()
        return making.created()


class _Making:
    """What is known of a bundle while it is made."""

    def __init__(self, plan: Plan, draft: Draft, logs: Path, clean: Cleaner, run: Run) -> None:
        self.plan, self.draft, self.logs, self.clean, self._run = plan, draft, logs, clean, run
        self.commands: list[Mapping[str, Json]] = []
        self.runs: list[Mapping[str, Json]] = []
        self.summaries: list[Summary] = []
        self.rejected: list[str] = []

    def paths(self) -> list[str]:
        """Return the files that are checked, and those that they import, once each."""
        named = ((each.path, each.imports) for each in self.plan.schedules)
        return list(dict.fromkeys(path for pair in named for path in pair if path is not None))

    def inputs(self) -> list[Json]:
        found: list[Json] = []
        for number, path in enumerate(self.paths()):
            try:
                data = (self.plan.root / path).read_bytes()
            except OSError as error:
                _refuse(path, f"it cannot be read ({error.strerror})", "name a file")
            suffix = Path(path).suffix.lower()
            known = suffix if suffix in {".yaml", ".yml", ".json", ".csv"} else ""
            file = f"inputs/{number:03}{known}"
            self.draft.put(file, data)
            found.append({"path": path, "file": file, "sha256": sha256(data)})
        return found

    def judged(self) -> list[Json]:
        """Judge every schedule; return what was found of each."""
        words = self.plan.options.words()
        names = [each.name for each in self.plan.schedules]
        self.command(_own.judge(words, names), "judge", RESULTS)
        result = self.draft.contents.get(RESULTS, b"")
        try:
            told = entries(result)
            found = [summary(each) for each in told]
        except ValueError as error:
            said = self.draft.contents[str(self.commands[0]["stderr"])].decode("utf-8", "replace")
            why = f"`pipeproof check` gave no result ({error}): {said[-400:]}"
            _refuse(names[0], why, "check it alone first")
        if [each.name for each in found] != names:
            _refuse(names[0], "`pipeproof check` told of other schedules", "check it alone first")
        self.summaries = found
        pairs = zip(self.plan.schedules, found, strict=True)
        return [self._schedule(n, each, said) for n, (each, said) in enumerate(pairs)]

    def _schedule(self, number: int, each: Scheduled, found: Summary) -> Json:
        words = self.plan.options.words()
        as_run = f"as-run/{number:03}.json"
        certificate = f"certificates/{number:03}.json"
        has_run = self.command(_own.resolve(words, each.name), "resolve", as_run)
        shown = self.command(_own.certify(words, each.name), "certify", certificate)
        statements = self._rechecked(certificate, as_run) if shown and has_run else 0
        return {
            **each._asdict(),
            **found.plain(),
            "as_run": as_run if has_run else None,
            "certificate": certificate if shown else None,
            "statements": statements,
        }

    def _rechecked(self, certificate: str, as_run: str) -> int:
        self.command(_own.recheck(certificate, as_run), "recheck", folder=self.draft.folder)
        if self.commands[-1]["exit"] != 0:
            self.rejected.append(certificate)
            return 0
        found: object = json.loads(self.draft.contents[certificate])
        statements = found.get("statements") if isinstance(found, dict) else None
        return len(statements) if isinstance(statements, list) else 0

    def command(
        self, argv: Sequence[str], purpose: str, keep: str | None = None, folder: Path | None = None
    ) -> bool:
        """Run a command and keep its logs; `keep` is the file of its result, if it has one.

        Returns:
            Whether there is a result.
        """
        ended = self._run(argv, folder or self.plan.root, self.logs)
        number = len(self.commands)
        is_result = keep is not None and ended.stdout != b""
        stdout = keep if keep is not None and is_result else f"commands/{number:03}.out"
        out, err = (
            (ended.stdout, 0) if is_result else self.clean(ended.stdout),
            self.clean(ended.stderr),
        )
        self._keep(argv, purpose, ended, (stdout, f"commands/{number:03}.err"), (out, err))
        return is_result

    def _keep(
        self,
        argv: Sequence[str],
        purpose: str,
        ended: Ended,
        files: tuple[str, str],
        logs: tuple[tuple[bytes, int], tuple[bytes, int]],
    ) -> None:
        for file, (data, _) in zip(files, logs, strict=True):
            self.draft.put(file, data)
        words = [self.clean.text(each) for each in argv] if purpose == "asked" else [*argv]
        self.commands.append(
            {
                "argv": words,
                "purpose": purpose,
                "exit": ended.exit,
                "stdout": files[0],
                "stderr": files[1],
            }
        )
        removed = sum(number for _, number in logs)
        self.runs.append({"milliseconds": ended.milliseconds, "removed": removed, "cut": ended.cut})

    def require_same(self, inputs: Sequence[Json]) -> None:
        """Check that no file was changed while it was checked.

        Raises:
            ParseError: one was.
        """
        for path, each in zip(self.paths(), inputs, strict=True):
            file = each["file"] if isinstance(each, Mapping) else None
            try:
                now = (self.plan.root / path).read_bytes()
            except OSError:
                now = None
            if now != self.draft.contents[str(file)]:
                _refuse(path, "it was changed while it was checked", "make the bundle again")

    def require_no_secret(self) -> None:
        """Check that no file of the bundle holds a secret.

        Raises:
            ParseError: one does.
        """
        for name, data in self.draft.contents.items():
            held = self.clean.secret_in(data)
            if held is not None:
                found = f"it would hold the value of the variable {printable(held)}"
                _refuse(name, found, "take it out of what is checked, or out of the environment")

    def created(self) -> Created:
        manifest: object = json.loads(self.draft.contents["manifest.json"])
        predicate = manifest["predicate"] if isinstance(manifest, dict) else {}
        asked = (each for each in self.commands if each["purpose"] == "asked")
        return Created(
            str(predicate["id"]),
            tuple((each.name, each.verdict) for each in self.summaries),
            tuple((shlex.join(_texts(each["argv"])), _number(each["exit"])) for each in asked),
            tuple(self.rejected),
            _number(self.commands[0]["exit"]),
        )


def _texts(value: Json) -> Iterable[str]:
    return [str(each) for each in value] if isinstance(value, list) else []


def _number(value: Json) -> int:
    return value if isinstance(value, int) else 0


def _split(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        _refuse(
            "--run", f"{printable(command)} is no command ({error})", "quote it as a shell does"
        )
    if not words or "\0" in command:
        _refuse("--run", f"{printable(command)} is no command", "write a program and its arguments")
    return words


def _now(environ: Mapping[str, str]) -> str:
    fixed = environ.get(_EPOCH)
    if fixed is None:
        at = datetime.now(UTC)
    elif fixed.isascii() and fixed.isdecimal() and int(fixed[:20]) <= _MOST_SECONDS:
        at = datetime.fromtimestamp(int(fixed), UTC)
    else:
        _refuse(_EPOCH, f"{printable(fixed)} is no time", "write seconds since 1970 in digits")
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def _refuse(path: str, found: str, expected: str) -> NoReturn:
    raise ParseError([Problem(path, 1, 1, found, expected)])
