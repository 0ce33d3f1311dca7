"""Found cases as files: a spec, and a pytest file that shows it."""

import re
from collections.abc import Iterable
from pathlib import Path

from pipeproof.campaign.judged import read
from pipeproof.campaign.targets.target import Case
from pipeproof.campaign.written import Case as Files
from pipeproof.campaign.written import Finding, keep, written

__all__ = ["write_cases"]


def write_cases(cases: Iterable[Case], folder: Path) -> int:
    """Write each case to `folder`, which is made where there is any.

    Returns:
        How many were written: one of a rule only where it was minimised, equal ones once.

    Raises:
        OSError: they cannot be written.
    """
    names = set[str]()
    for case in cases:
        if case.rule and not case.minimised:
            continue
        files = _of_rule(case) if case.rule else _of_ourselves(case)
        keep(files, folder)
        names.add(files.name)
    return len(names)


def _of_rule(case: Case) -> Files:
    return written(read(case.text), Finding(case.of, case.command, case.mutation, case.seed))


def _of_ourselves(case: Case) -> Files:
    head = (f"# {_line(case.what)}", f"# task {case.key}")
    function = re.sub(r"[^a-z0-9]+", "_", case.name)
    return Files(case.name, "\n".join([*head, case.text]), _SELF.format(case.name, function))


def _line(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)[:500]


_SELF = '''"""All that judges says the same of {0}.yaml."""

from pathlib import Path

from pipeproof.campaign.targets.itself import judge


def test_{1}() -> None:
    text = Path(__file__).with_name("{0}.yaml").read_text(encoding="utf-8")

    assert judge(text, {{}}).get("find") is None
'''
