"""What is said of the mutants of schedules: killed, equivalent, or let through."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pipeproof.campaign.judged import number_of, text_of
from pipeproof.campaign.mutate import mutant
from pipeproof.campaign.store import Row
from pipeproof.campaign.targets import configured
from pipeproof.campaign.targets.target import Case, Table, Told, many
from pipeproof.campaign.task import Json
from pipeproof.ir.spec_text import write_spec

__all__ = ["Asking", "told"]

_FATES = ("killed", "equivalent", "unknown", "differs")
_UNKNOWN = "unknown"
_LET = "lets through"


class Asking(NamedTuple):
    """What is asked of the rows: the `kind` of task, how many schedules, of which mutations.

    With `blames` it is a find what torch lets through.
    """

    kind: str
    bases: int
    mutations: int
    blames: bool


class _Mutant(NamedTuple):
    """A mutant that there is: where it comes from and what became of it."""

    key: str
    body: Mapping[str, Json]
    answer: Mapping[str, Json]

    @property
    def name(self) -> str:
        return text_of(self.body, "mutation")

    @property
    def text(self) -> str:
        document = mutant(self.body)
        assert document is not None  # noqa: S101  its answer says that there is one
        return write_spec(document, None)

    def said(self, key: str) -> str:
        return str(self.answer.get(key, ""))


def told(asking: Asking, rows: Sequence[Row]) -> Told:
    """Return what is said of the rows of a campaign around schedules."""
    found = {row.key: row for row in rows}
    mutants = list(_mutants(asking, rows))
    groups = configured.illegal(rows)
    differing = [_differing(each) for each in mutants if each.said("fate") == "differs"]
    let = list(_let_through(mutants, found)) if asking.blames else []
    cases = (*differing, *configured.cases(groups, found), *let)
    tables = (
        _table(mutants),
        _rules(mutants),
        _torch(mutants),
        configured.table(each for each in rows if not _is_proved_base(each)),
    )
    covered = tuple(_covered(asking, rows, mutants))
    kept = tuple(each for each in tables if each.rows)
    decided = {each.said("digest") for each in mutants if each.said("fate") != _UNKNOWN}
    unknown = sum(1 for each in mutants if each.said("fate") == _UNKNOWN)
    own = _own(rows)
    return Told(
        covered,
        len(decided),
        kept,
        tuple(sorted(cases)),
        distrust=bool(differing),
        undecided=unknown + configured.undecided(rows),
        refuted=sum(1 for each in own if each == "refuted"),
    )


def _is_proved_base(row: Row) -> bool:
    """Whether it is one of the schedules themselves, and legal: of these the number is told."""
    task, answer = row.ended.task, row.ended.answer
    if task.kind != configured.KIND or not configured.is_base(task.body):
        return False
    return answer is not None and answer["verdict"] == "proved"


def _mutants(asking: Asking, rows: Iterable[Row]) -> Iterator[_Mutant]:
    for row in rows:
        task, answer = row.ended.task, row.ended.answer
        if task.kind == asking.kind and answer is not None and answer["applies"]:
            yield _Mutant(row.key, task.body, answer)


def _own(rows: Iterable[Row]) -> list[str]:
    """Return the verdicts on the schedules themselves, empty where there is no answer."""
    ended = (each.ended for each in rows)
    return [
        str(each.answer["verdict"]) if each.answer else ""
        for each in ended
        if each.task.kind == configured.KIND and configured.is_base(each.task.body)
    ]


def _covered(asking: Asking, rows: Iterable[Row], mutants: Sequence[_Mutant]) -> Iterator[str]:
    judged = sum(1 for each in rows if each.ended.task.kind == configured.KIND)
    own = _own(rows)
    proved = sum(1 for each in own if each == "proved")
    yield f"{many(asking.bases, 'schedule')}, {proved} of them proved, and their mutants"
    refuted = sum(1 for each in own if each == "refuted")
    if refuted:
        yield f"{refuted} of them refuted before anything is changed: their mutants show little"
    fates = Counter(each.said("fate") for each in mutants)
    names = len({each.name for each in mutants})
    yield f"{names} of {asking.mutations} mutations change something in them"
    different = len({each.said("digest") for each in mutants})
    counts = ", ".join(f"{fates[fate]} {fate}" for fate in _FATES)
    yield f"{many(len(mutants), 'mutant')}, {different} of them different: {counts}"
    witnesses = Counter(each.said("witness") for each in mutants)
    by = ", ".join(f"{name} {count}" for name, count in sorted(witnesses.items()))
    yield f"each judged by the graph engine and by a witness: {by}"
    if judged > len(own):
        yield f"{many(judged - len(own), 'configuration')} beside them"


def _table(mutants: Iterable[_Mutant]) -> Table:
    counts: dict[str, Counter[str]] = {}
    digests: dict[str, set[str]] = {}
    for each in mutants:
        counts.setdefault(each.name, Counter())[each.said("fate")] += 1
        digests.setdefault(each.name, set()).add(each.said("digest"))
    rows = [
        (
            name,
            str(own.total()),
            str(len(digests[name])),
            *(str(own[fate]) for fate in _FATES),
        )
        for name, own in sorted(counts.items())
    ]
    return Table("mutations", ("mutation", "mutants", "different", *_FATES), tuple(rows))


def _rules(mutants: Iterable[_Mutant]) -> Table:
    counts = Counter(each.said("rule") for each in mutants if each.said("fate") == "killed")
    rows = tuple((rule, str(count)) for rule, count in sorted(counts.items()))
    return Table("killed by", ("killed by", "mutants"), rows)


def _torch(mutants: Iterable[_Mutant]) -> Table:
    """Return how many of the illegal mutants that torch was asked about it lets through."""
    asked: Counter[str] = Counter()
    let: Counter[str] = Counter()
    for each in mutants:
        if each.said("fate") == "killed" and each.said("torch") not in ("", "-"):
            asked[each.said("rule")] += 1
            let[each.said("rule")] += each.said("torch") == _LET
    rows = tuple((rule, str(asked[rule]), str(let[rule])) for rule in sorted(asked))
    return Table("torch", ("illegal by", "torch asked", "lets through"), rows)


def _differing(each: _Mutant) -> Case:
    seed = number_of(each.body, "seed") or 0
    name = f"mutant-{each.name}-{seed}-{each.key[:8]}"
    what = f"the graph engine and {each.said('witness')} differ: {each.said('said')}"
    return Case(name, what, each.text, each.key, mutation=each.name, seed=seed)


def _let_through(mutants: Iterable[_Mutant], rows: Mapping[str, Row]) -> Iterator[Case]:
    """Yield the shortest illegal mutant of each rule and mutation that torch lets through."""
    groups: dict[tuple[str, str], list[_Mutant]] = {}
    for each in mutants:
        if each.said("fate") == "killed" and each.said("torch") == _LET:
            groups.setdefault((each.said("rule"), each.name), []).append(each)
    for (rule, name), alike in sorted(groups.items()):
        least = min(alike, key=lambda each: (len(text_of(each.body, "text")), each.key))
        transport = least.said("transport")
        task = configured.minimising(least.text, rule, transport)
        row = rows.get(task.key)
        answer = None if row is None else row.ended.answer
        small = answer is not None and bool(answer.get("found"))
        what = f"torch lets {rule} through, after {name}: {many(len(alike), 'mutant')}"
        yield Case(
            name=f"torch lets {rule} through after {name}",
            what=what,
            text=str(answer["text"]) if answer is not None and small else least.text,
            key=task.key,
            rule=rule,
            transport=transport,
            of=configured.origin(least.body),
            command=f"pipeproof hunt --check torch --mutation {name} around it",
            mutation=name,
            seed=number_of(least.body, "seed") or 0,
            minimised=small,
        )
