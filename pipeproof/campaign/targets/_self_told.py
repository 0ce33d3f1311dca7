"""What is said of the cases of a campaign against pipeproof itself."""

from collections import Counter
from collections.abc import Iterable, Mapping

from pipeproof.campaign.store import Row
from pipeproof.campaign.targets.target import Case, Table, Told, many
from pipeproof.campaign.task import Json

__all__ = ["told"]

_VERDICTS = ("proved", "refuted", "unknown", "none")


def told(rows: Iterable[Row], kind: str) -> Told:
    """Return what the rows of one kind of task hold."""
    seen = _Seen()
    for row in rows:
        if row.ended.task.kind == kind and row.ended.answer is not None:
            seen.add(row.key, row.ended.task.body, row.ended.answer)
    return seen.told()


class _Seen:
    def __init__(self) -> None:
        self.verdicts: dict[str, Counter[str]] = {}
        self.rules: Counter[str] = Counter()
        self.open: Counter[str] = Counter()
        self.torch: Counter[str] = Counter()
        self.mutations: dict[str, Counter[str]] = {}
        self.counts: Counter[str] = Counter()
        self.cases: list[Case] = []

    def add(self, key: str, body: Mapping[str, Json], answer: Mapping[str, Json]) -> None:
        verdict, drawn = str(answer["verdict"]), str(body["draw"])
        self.counts["cases"] += 1
        self.verdicts.setdefault(drawn, Counter())[verdict] += 1
        self.rules.update(_texts(answer.get("first")))
        self.open.update(_texts(answer.get("open")))
        for name in ("statements", "spoiled"):
            self.counts[name] += _number(answer.get(name))
        if "torch" in answer:
            self.torch[str(answer["torch"])] += 1
        if "mutation" in answer:
            self.mutations.setdefault(str(answer["mutation"]), Counter())[verdict] += 1
        if "find" in answer:
            who, seed = str(answer["find"]), str(body["seed"])
            what = f"{who}: {answer['said']}"
            self.cases.append(Case(f"self-{seed}-{who}", what, str(answer["text"]), key))

    def told(self) -> Told:
        finds = len(self.cases)
        agreed = self.counts["cases"] - finds
        covered = (
            f"{many(self.counts['cases'], 'schedule')}, drawn from seeds, judged by all engines, "
            "every counterexample replayed",
            f"{agreed} agree everywhere, {finds} do not",
            f"{self.counts['statements']} statements of certificates accepted by replay and by the "
            f"second checker, {self.counts['spoiled']} spoiled certificates refused by both",
            *self._on_tensors(),
        )
        tables = (
            _table("drawn", self.verdicts),
            _table("mutation", self.mutations),
            _counted("first rule broken", self.rules),
            _counted("left open", self.open),
        )
        cases = tuple(sorted(self.cases))
        kept = tuple(each for each in tables if each.rows)
        return Told(covered, self.counts["cases"], kept, cases, distrust=bool(cases))

    def _on_tensors(self) -> tuple[str, ...]:
        if not self.torch:
            return ()
        said = ", ".join(f"{word} {count}" for word, count in sorted(self.torch.items()))
        return (f"{self.torch.total()} of them on torch tensors: {said}",)


def _texts(value: Json | None) -> list[str]:
    return [] if value is None or isinstance(value, str | int) else [str(each) for each in value]


def _number(value: Json | None) -> int:
    return value if isinstance(value, int) else 0


def _table(title: str, counted: Mapping[str, Counter[str]]) -> Table:
    rows = [(name, *(str(counts[each]) for each in _VERDICTS)) for name, counts in counted.items()]
    return Table(title, (title, *_VERDICTS[:-1], "no schedule"), tuple(sorted(rows)))


def _counted(title: str, counts: Counter[str]) -> Table:
    rows = tuple((name, str(count)) for name, count in sorted(counts.items()))
    return Table(title, (title, "cases"), rows)
