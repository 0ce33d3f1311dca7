"""Found cases as files: a spec, and a pytest file that shows it."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from pipeproof.campaign.targets.target import Case
from pipeproof.campaign.task import Json

__all__ = ["write_cases"]


def write_cases(cases: Iterable[Case], folder: Path, campaign: Mapping[str, Json]) -> int:
    """Write each case to `folder`, which is made where there is any; return how many there are."""
    number = 0
    for case in cases:
        folder.mkdir(parents=True, exist_ok=True)
        head = [f"# {line}" for line in (_line(case.what), f"task {case.key}")]
        text = "\n".join([*head, case.text])
        (folder / f"{case.name}.yaml").write_text(text, encoding="utf-8", newline="\n")
        shows = _SELF.format(name=case.name, function=case.name.replace("-", "_"))
        (folder / f"test_{case.name.replace('-', '_')}.py").write_text(
            shows, encoding="utf-8", newline="\n"
        )
        number += 1
    return number


def _line(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)[:500]


_SELF = '''"""All that judges says the same of {name}.yaml."""

from pathlib import Path

from pipeproof.campaign.targets.itself import judge


def test_{function}() -> None:
    text = Path(__file__).with_name("{name}.yaml").read_text(encoding="utf-8")

    assert judge(text, {{}}).get("find") is None
'''
