"""The commands that every bundle is made by, in order: written here once, run and checked by it."""

from collections.abc import Iterator, Mapping, Sequence

from pipeproof.evidence._shape import Json, Malformed, rows, table, text

__all__ = ["certify", "judge", "recheck", "require_own", "resolve", "words"]

_ASKED = "asked"


def words(options: Mapping[str, Json]) -> list[str]:
    """Return the options of reading and judging as a command takes them."""
    found: list[str] = []
    for name in ("transport", "profile", "lowering", "microbatches", "stages", "limit"):
        value = options[name]
        many = value if isinstance(value, list) else [] if value is None else [value]
        found += [f"--{name}={each}" for each in many]
    return found


def judge(options: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the command that judges schedules by their names."""
    fixed = ["pipeproof", "check", "--format=json", "--no-config", "--no-cache"]
    return [*fixed, *options, "--", *names]


def resolve(options: Sequence[str], name: str) -> list[str]:
    """Return the command that writes a schedule as run."""
    return ["pipeproof", "convert", "--to=as-run", *options, "--", name]


def certify(options: Sequence[str], name: str) -> list[str]:
    """Return the command that writes the certificate of a schedule."""
    return ["pipeproof", "certify", *options, "--", name]


def recheck(certificate: str, as_run: str) -> list[str]:
    """Return the command by which the second checker looks at a certificate."""
    return ["python", "-m", "pipeproof.recheck", certificate, as_run]


def require_own(predicate: Mapping[str, Json], accepted: Sequence[bool]) -> None:
    """Check that the commands of a bundle are those that make one, and then what was asked for.

    Args:
        predicate: what the bundle says.
        accepted: of each schedule, whether the second checker accepts its certificate.

    Raises:
        Malformed: one is another, one is missing, or its exit code is not what came of it.
    """
    told = [table(each) for each in rows(predicate["commands"])]
    own = [*_own(predicate, accepted)]
    for number, (purpose, argv, ends_well) in enumerate(own):
        each = told[number] if number < len(told) else {}
        if each.get("purpose") != purpose or each["argv"] != argv:
            _refuse(f"its command {number} is not that which makes a bundle")
        if ends_well is not None and (each["exit"] == 0) != ends_well:
            _refuse(f"the exit code of its command {number} is not what came of it")
    if any(each["purpose"] != _ASKED for each in told[len(own) :]):
        _refuse("it holds a command that makes no bundle")
    for number, each in enumerate(told):
        file = _kept(predicate, own, number)
        logs = (file or f"commands/{number:03}.out", f"commands/{number:03}.err")
        if (each["stdout"], each["stderr"]) != logs:
            _refuse(f"the logs of its command {number} are those of another")


def _own(
    predicate: Mapping[str, Json], accepted: Sequence[bool]
) -> Iterator[tuple[str, list[str], bool | None]]:
    """Yield purpose and words of each command, and whether it ended with 0, where that is told."""
    schedules = [table(each) for each in rows(predicate["schedules"])]
    options = words(table(predicate["options"]))
    yield "judge", judge(options, [text(each["name"]) for each in schedules]), None
    for each, is_accepted in zip(schedules, accepted, strict=True):
        name, as_run, certificate = text(each["name"]), each["as_run"], each["certificate"]
        yield "resolve", resolve(options, name), as_run is not None
        yield "certify", certify(options, name), None
        if isinstance(as_run, str) and isinstance(certificate, str):
            yield "recheck", recheck(certificate, as_run), is_accepted


def _kept(
    predicate: Mapping[str, Json], own: Sequence[tuple[str, list[str], bool | None]], number: int
) -> Json:
    """Return the file that holds what a command wrote, None where that is its log."""
    purpose, argv, _ = own[number] if number < len(own) else (_ASKED, [], None)
    if purpose == "judge":
        return predicate["results"]
    key = {"resolve": "as_run", "certify": "certificate"}.get(purpose)
    if key is None:
        return None
    schedules = (table(each) for each in rows(predicate["schedules"]))
    return next(each[key] for each in schedules if each["name"] == argv[-1])


def _refuse(why: str) -> None:
    raise Malformed(why)
