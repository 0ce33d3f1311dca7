"""What a qualification runs: the commands of the README, and the tests that need a GPU."""

import importlib.util
import shlex
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.repo.command_lines import parse

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
NEWS = """\
```console
$ pipeproof check a.yaml --transport gloo
a.yaml: refuted
```

```sh
python3 -m venv .venv && .venv/bin/pip install -e . && .venv/bin/pipeproof test specs/illegal/b.yaml
pipeproof show c.yaml   # a comment
```

```yaml
pipeproof: 1
```
"""


def loaded() -> ModuleType:
    file = ROOT / "examples/workflows/qualify.py"
    spec = importlib.util.spec_from_file_location("qualify", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


qualify = loaded()


def test_what_a_readme_has_one_type_is_found_with_its_exit_code_and_output() -> None:
    assert list(qualify.commands(NEWS)) == [
        ("pipeproof check a.yaml --transport gloo", 1, "a.yaml: refuted\n"),
        ("pipeproof test specs/illegal/b.yaml", 1, None),
        ("pipeproof show c.yaml   # a comment", 0, None),
    ]


def test_every_command_of_the_readme_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [line for line, _, _ in qualify.commands(README)]
    monkeypatch.chdir(tmp_path)
    for line in found:
        words = shlex.split(line, comments=True)
        assert words[0] == "pipeproof"
        for word in words[1:]:
            if word.endswith((".yaml", ".csv", ".json")):
                (tmp_path / word).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / word).touch()
        parse(words[1:])

    assert len(found) > 10


@pytest.mark.parametrize(
    ("code", "printed", "right"),
    [(0, None, True), (0, "hello\n", True), (1, None, False), (0, "hallo\n", False)],
)
def test_a_command_that_ends_or_prints_otherwise_is_told(
    code: int,
    printed: str | None,
    right: bool,  # noqa: FBT001  from the table
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert qualify.run("python -c 'print(\"hello\")'", tmp_path, code, printed) is right
    assert ("FAILED" in capfd.readouterr().out) is not right


def test_one_check_that_fails_fails_all(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Path] = []

    def passes(folder: Path) -> bool:
        seen.append(folder)
        return True

    monkeypatch.setattr(qualify, "COPIED", ("README.md",))
    monkeypatch.setattr(qualify, "CHECKS", {"fails": lambda _: False, "passes": passes})

    assert qualify.main(["passes"]) == 0
    assert qualify.main(["fails", "passes"]) == 1
    assert len(seen) == 2
    assert not any(folder.exists() for folder in seen)


@pytest.mark.parametrize("argv", [[], ["readmee"], ["readme", "x"]])
def test_a_check_that_does_not_exist_is_refused(argv: list[str]) -> None:
    assert qualify.main(argv) == 2


def test_the_tests_of_a_gpu_are_those_that_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def run(command: str, folder: Path) -> bool:
        ran.append(command)
        return folder == ROOT

    monkeypatch.setattr(qualify, "run", run)

    assert qualify.gpu_tests(ROOT)
    (command,) = ran
    assert command.startswith("python -m pytest -m gpu tests/")
    assert "tests/execution/streams/test_cuda.py" in command
    assert "tests/ir" not in command


def test_nothing_that_is_copied_is_the_package() -> None:
    assert "pipeproof" not in qualify.COPIED
    assert all((ROOT / name).exists() for name in qualify.COPIED)


@pytest.mark.slow  # a minute: each command of the README on tensors, traces, pages
def test_the_commands_of_the_readme_do_what_it_says() -> None:
    assert sys.prefix != sys.base_prefix, "in a virtual environment, whose pipeproof is meant"
    assert qualify.main(["readme"]) == 0
