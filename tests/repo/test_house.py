"""The house is in order: tests mirror modules, rules have pages, pages tell the truth."""

import json
import re
import tomllib
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pytest
import yaml

import pipeproof
from pipeproof.api import judge_text
from pipeproof.cli import run
from pipeproof.semantics.logic import Rule
from pipeproof.semantics.rules.traces import trace_rules

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "pipeproof"
TESTS = ROOT / "tests"
PAGES = ROOT / "docs" / "rules"
FREE = {"oracle", "interpreter", "properties", "golden", "repo", "conformance", "benchmarks", "cli"}
RULE_TESTS = Path("semantics/rules/test_rules.py")
LONGEST = 400
ONE_FILE_SO_THAT_IT_NEEDS_NOTHING_OF_THE_PACKAGE = {"pipeproof/recheck.py"}
FENCE = re.compile(r"^```yaml (refuted|proved)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OF_TRACE = re.compile(
    r"^```(yaml schedule|json refuted|json conforms)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
HEADINGS = ["What it is", "Why it breaks training", "Example", "Fixed", "Source"]


def modules() -> list[Path]:
    """Public modules of rooms, relative to the package; `_private` ones are tested through them."""
    found = (path.relative_to(PACKAGE) for path in PACKAGE.glob("*/**/*.py"))
    return sorted(path for path in found if not path.name.startswith("_"))


def is_rule(module: Path) -> bool:
    return module.parts[:2] == ("semantics", "rules")


def rule_modules() -> list[Path]:
    return [module for module in modules() if is_rule(module)]


def is_free(module: Path) -> bool:
    return module.parts[0] in FREE


def page_names() -> dict[str, str]:
    """Code and name of each page, by the module that its rule stands in."""
    names = (path.stem.partition("-") for path in PAGES.glob("*.md"))
    return {name.replace("-", "_"): f"{code} {name}" for code, _, name in names}


@dataclass(frozen=True, slots=True)
class Block:
    page: Path
    said: str
    text: str

    @property
    def id(self) -> str:
        return f"{self.page.stem}-{self.said}"


def blocks() -> list[Block]:
    return [
        Block(page, said, text)
        for page in sorted(PAGES.glob("*.md"))
        for said, text in FENCE.findall(page.read_text(encoding="utf-8"))
    ]


def test_every_module_has_its_test() -> None:
    wanted = {
        module.with_name(f"test_{module.name}")
        for module in modules()
        if not is_rule(module) and not is_free(module)
    }
    missing = sorted(str(test) for test in wanted if not (TESTS / test).exists())

    assert not missing


def is_of_a_module(test: Path) -> bool:
    """Whether a test is named after a module, `_private` or not, alone or with a word behind it.

    A folder of the package that holds no module is tested by the files beside its name.
    """
    folder, words = PACKAGE / test.parent, test.stem.removeprefix("test_").split("_")
    names = ["_".join(words[:n]) for n in range(1, len(words) + 1)]
    if any((folder / f"{mark}{name}.py").exists() for name in names for mark in ("", "_")):
        return True
    return folder.is_dir() and not any(folder.glob("*.py"))


def test_every_test_has_its_module() -> None:
    stray = []
    for path in TESTS.rglob("test_*.py"):
        test = path.relative_to(TESTS)
        if not is_free(test) and test != RULE_TESTS and not is_of_a_module(test):
            stray.append(str(test))

    assert not sorted(stray)


def test_rules_are_tested_by_their_pages() -> None:
    assert (TESTS / RULE_TESTS).exists()


def test_every_rule_has_a_page_and_every_page_a_rule() -> None:
    assert {module.stem for module in rule_modules()} == set(page_names())


@pytest.mark.parametrize("module", rule_modules(), ids=lambda module: module.stem)
def test_a_rule_is_named_as_its_module_and_its_page(module: Path) -> None:
    rule = import_module(".".join(("pipeproof", *module.with_suffix("").parts))).RULE

    assert rule.name.replace("-", "_") == module.stem
    assert page_names()[module.stem] == f"{rule.code} {rule.name}"


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.stem)
def test_a_page_has_its_title_its_sections_and_both_blocks(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    code, _, name = page.stem.partition("-")

    assert text.startswith(f"# {code} {name}\n")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == HEADINGS
    if code in {rule.code for rule in trace_rules()}:
        said = [said for said, _ in OF_TRACE.findall(text)]
        assert said == ["yaml schedule", "json refuted", "json conforms"]
    else:
        assert [said for said, _ in FENCE.findall(text)] == ["refuted", "proved"]


@pytest.mark.parametrize("block", blocks(), ids=lambda block: block.id)
def test_what_a_page_says_is_so(block: Block) -> None:
    verdict = judge_text(block.text, f"{block.page.name} ({block.said})")

    assert verdict.verdict == block.said
    if block.said == "refuted":
        assert verdict.first_rule == first_rule_expected(block)


@pytest.mark.parametrize("rule", trace_rules(), ids=lambda rule: rule.name)
def test_what_a_page_says_of_a_trace_is_so(rule: Rule, tmp_path: Path) -> None:
    text = (PAGES / f"{rule.code}-{rule.name}.md").read_text(encoding="utf-8")
    (_, schedule), (_, refuted), (_, conforms) = OF_TRACE.findall(text)
    file, trace = tmp_path / "schedule.yaml", tmp_path / "trace.json"
    file.write_text(schedule, encoding="utf-8")

    trace.write_text(refuted, encoding="utf-8")
    report = tmp_path / "report.json"
    assert run(["conform", str(trace), str(file), "--format", "json", "-o", str(report)]) == 1
    (transport,) = json.loads(report.read_text(encoding="utf-8"))["transports"]
    assert [each["rule"] for each in transport["violations"]] == [rule.code]

    trace.write_text(conforms, encoding="utf-8")
    assert run(["conform", str(trace), str(file), "-o", str(report)]) == 0


def first_rule_expected(block: Block) -> str:
    """The rule that the block's first refuted entry expects; PP302 only warns, beside PP301."""
    entries = yaml.safe_load(block.text)["expect"]
    expected = next(str(entry["rule"]) for entry in entries if entry["verdict"] == "refuted")
    code = block.page.stem.partition("-")[0]
    assert expected == ("PP301" if code == "PP302" else code), "a page shows its own rule"
    return expected


def test_the_version_is_one() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert project["version"] == pipeproof.__version__


def test_the_version_has_a_heading_in_the_changelog() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    assert f"## {pipeproof.__version__}" in changelog.splitlines()


def test_the_readme_shows_code_early_and_ends_soon() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()

    assert any(line.startswith("```") for line in lines[:15])
    assert len(lines) < 90


def test_no_module_is_too_long() -> None:
    length = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for folder in (PACKAGE, TESTS)
        for path in folder.rglob("*.py")
    }

    long = {path for path, lines in length.items() if lines > LONGEST}
    assert long <= ONE_FILE_SO_THAT_IT_NEEDS_NOTHING_OF_THE_PACKAGE
