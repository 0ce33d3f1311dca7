"""What is wrong with a file is said with its place, soon, and without a traceback."""

import errno
import json
import os
import re
from pathlib import Path

import pytest

from pipeproof.cli import run
from tests.cli.made import Process

SECONDS = 2.0
BYTES = 300_000_000
PLACE = re.compile(r":[1-9][0-9]*:[1-9][0-9]*: ")

RANKS = b"ranks:\n  - 0F0; 0SEND_F0\n  - 1RECV_F0; 1F0\n"
HEAD = b"pipeproof: 1\nmicrobatches: 1\n"
PLAIN = HEAD + RANKS
DEEP = b"[" * 100_000

# Name, bytes, and what stderr says: the place where it is one, and a word of the message.
YAML: tuple[tuple[str, bytes, str], ...] = (
    ("empty", b"", r":1:1: "),
    ("blank lines", b"\n\n\n", r":1:1: "),
    ("binary", bytes(range(256)) * 8, r":3:115: byte 0x80"),
    ("a NUL byte", PLAIN + b"title: a\0b\n", r":6:9: "),
    ("an invalid byte", HEAD + b"title: caf\xff\n" + RANKS, r":3:11: byte 0xff"),
    ("a lone surrogate", HEAD + b"title: \xed\xa0\x80\n" + RANKS, r":3:8: byte 0xed"),
    ("a byte order mark", b"\xef\xbb\xbf" + PLAIN, r":1:1: .*byte order mark"),
    ("UTF-16", PLAIN.decode().encode("utf-16"), r":1:1: .*byte order mark"),
    ("CRLF and an unknown key", PLAIN.replace(b"\n", b"\r\n") + b"stage: 2\r\n", r":6:1: "),
    ("an unclosed list", HEAD + b"ranks: [0F0, 0B0\n", r":\d+:\d+: "),
    ("deep nesting", HEAD + b"title: " + DEEP, r":3:\d+: .*depth"),
    ("deep JSON", b'{"pipeproof": 1, "ranks": ' + DEEP, r":1:\d+: .*depth"),
    ("an anchor", HEAD + b"title: &a x\n" + RANKS, r":3:8: .*anchor"),
    ("an alias", HEAD + b"title: &a x\nsource: *a\n" + RANKS, r":4:9: .*alias"),
    ("a tag", HEAD + b"title: !!python/object:os.system x\n" + RANKS, r":3:8: .*tag"),
    ("a merge key", HEAD + b"<<: {stages: 2}\n" + RANKS, r":3:1: "),
    ("a duplicate key", PLAIN + b"microbatches: 2\n", r":6:1: .*again"),
    ("an unknown key", HEAD + b"transprot: strict\n" + RANKS, r":3:1: .*did you mean 'transport'"),
    ("a list for a file", b"# pipeproof: 1\n- pipeproof: 1\n", r":\d+:\d+: "),
    ("a key that is a list", PLAIN + b"[a]: 1\n", r":6:1: "),
    ("another language", PLAIN.replace(b"pipeproof: 1", b"pipeproof: 2"), r":1:12: "),
    ("no program", HEAD, r":1:1: "),
    ("two sources of programs", PLAIN + b"schedule: 1f1b\n", r":\d+:\d+: "),
    ("no microbatches", b"pipeproof: 1\n" + RANKS, r":1:1: .*microbatches"),
    ("microbatches that are a word", PLAIN.replace(b"es: 1", b"es: many"), r":2:15: 'many'"),
    ("a leading zero", PLAIN.replace(b"es: 1", b"es: 010"), r":2:15: '010'"),
    ("a time of day", PLAIN.replace(b"es: 1", b"es: 12:30"), r":2:15: '12:30'"),
    ("a huge number", PLAIN.replace(b"es: 1", b"es: " + b"9" * 5000), r":2:15: "),
    ("no for a switch", HEAD + b"fragment: no\n" + RANKS, r":3:11: 'no'"),
    ("a placement too long", HEAD + b"stages: 2\nplacement: [0, 1, 1]\n" + RANKS, r":4:12: "),
    ("an unknown transport", HEAD + b"transport: glo\n" + RANKS, r":3:12: .*did you mean 'gloo'"),
    (
        "a queue of nothing",
        HEAD + b"transport: {completion: buffered, queue: lane}\n" + RANKS,
        r":3:42: ",
    ),
    ("an unknown profile", HEAD + b"profile: torch-runtme\n" + RANKS, r":3:10: .*did you mean"),
    ("an unknown rule", PLAIN + b"rules: {select: [PQ3]}\n", r":6:18: "),
    ("an expectation without verdict", PLAIN + b"expect:\n  - {rule: PP301}\n", r":7:5: "),
    ("no operation", HEAD + b"ranks:\n  - 0F0; 0FOO\n", r":4:10: '0FOO'"),
    ("a WAIT without a start", HEAD + b"ranks:\n  - 0F0; WAIT h1\n", r":4:10: .*h1"),
    ("an open bracket", HEAD + b"ranks:\n  - |\n    0F0\n    [0SEND_F0 | 0RECV_B0\n", r":6:5: "),
    ("a message to nobody", HEAD + b"ranks:\n  - 0F0; SEND F0.0\n", r":4:10: "),
    ("an unknown attribute", HEAD + b"ranks:\n  - 0F0 gradient=1\n", r":4:9: "),
    ("an attribute twice", HEAD + b"ranks:\n  - 0F0 w=1 w=2\n", r":4:13: "),
    ("a second document", PLAIN + b"---\n" + PLAIN, r":6:1: "),
)
CSV: tuple[tuple[str, bytes, str], ...] = (
    ("more than an action", b"0F0,0F0xyz\n", r":1:5: '0F0xyz'"),
    ("no action", b"0F0,0FOO\n", r":1:5: '0FOO'"),
    ("a space in an action", b"0F0,0F 1\n", r":1:5: "),
    ("a microbatch too much", b"0F0,0UNSHARD1\n", r":1:5: "),
    ("a bubble between messages", b"0F0,0SEND_F0,,0F1\n1RECV_F0,1F0\n", r":1:14: "),
    ("an overlap of messages", b"0F0,(0F1;0SEND_F0)OVERLAP_F_B\n", r":1:5: "),
    ("an overlap that is open", b"0F0,(0F1;0B0)OVERLAP\n", r":1:5: "),
    ("a NUL byte", b"0F0,0B0\n\0", r":2:1: "),
    ("a huge stage", b"0F0," + b"9" * 5000 + b"F0\n", r":1:[15]: "),
    ("not UTF-8", b"0F0,0B0\n\xff\xfe", r":2:1: "),
)
CASES = [
    *((f"yaml, {name}", "s.yaml", data, said) for name, data, said in YAML),
    *((f"csv, {name}", "s.csv", data, said) for name, data, said in CSV),
]
NAMES = [name for name, *_ in CASES]
SLOWLY = [pytest.mark.slow if n % 4 else () for n in range(len(CASES))]


def _ends_with_its_place(code: int, err: str, said: str) -> None:
    assert code == 2
    assert re.search(said, err), err
    assert all(PLACE.search(line) for line in err.splitlines())
    assert "Traceback" not in err


@pytest.mark.parametrize("case", [case[1:] for case in CASES], ids=NAMES)
def test_a_malformed_file_exits_2_with_its_place(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    case: tuple[str, bytes, str],
) -> None:
    name, data, said = case
    (tmp_path / name).write_bytes(data)
    monkeypatch.chdir(tmp_path)

    _ends_with_its_place(run(["check", name]), capsys.readouterr().err, f"{name}{said}")


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        pytest.param(*case[1:], id=name, marks=marks)
        for name, case, marks in zip(NAMES, CASES, SLOWLY, strict=True)
    ],
)
def test_a_process_that_reads_one_ends_so_and_soon(
    process: Process, tmp_path: Path, name: str, data: bytes, said: str
) -> None:
    (tmp_path / name).write_bytes(data)
    ended = process("check", name)

    _ends_with_its_place(ended.code, ended.err, f"{name}{said}")
    assert ended.seconds < SECONDS
    assert ended.peak < BYTES


LARGE: tuple[tuple[str, bytes], ...] = (
    ("bytes.yaml", b"\xff"),
    ("spaces.yaml", b" "),
    ("digits.csv", b"1"),
    ("commas.csv", b","),
    ("cells.csv", b"0F0,"),
    ("actions.csv", b"0F0,0B0\n"),
    ("keys.yaml", b"pipeproof: 1\n"),
    ("umlauts.csv", "0F0,ä\n".encode()),
    ("nested.json", b'{"pipeproof":'),
)


@pytest.mark.parametrize(("name", "unit"), LARGE, ids=[name for name, _ in LARGE])
def test_fifty_megabytes_of_anything_end_soon(
    process: Process, tmp_path: Path, name: str, unit: bytes
) -> None:
    (tmp_path / name).write_bytes(unit * (50_000_000 // len(unit)))
    ended = process("check", name)

    assert ended.code == 2
    assert re.search(rf"{name}:\d+:\d+: ", ended.err)
    assert "Traceback" not in ended.err
    assert ended.seconds < SECONDS
    assert ended.peak < BYTES


def test_a_limit_is_named_with_how_to_raise_it(process: Process, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_bytes(b"pipeproof: 1\n" * 700_000)

    assert "limit 'bytes': --limit bytes=N" in process("check", "s.yaml").err

    (tmp_path / "s.yaml").write_bytes(PLAIN)
    assert "limit 'bytes': --limit bytes=N" in process("check", "s.yaml", "--limit", "bytes=9").err
    assert "limit" not in process("check", "s.yaml", "--limit", "bytes=10000000").err


def test_what_is_no_file_exits_2(process: Process, tmp_path: Path) -> None:
    (tmp_path / "closed.yaml").write_bytes(PLAIN)
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    os.mkfifo(tmp_path / "pipe.yaml")
    for name in ("missing.yaml", "loop.yaml", "pipe.yaml", "/dev/zero", "closed.yaml#x", "a" * 300):
        ended = process("check", name)

        assert ended.code == 2, name
        assert ":1:1: " in ended.err
        assert "Traceback" not in ended.err


def test_a_file_that_may_not_be_read_exits_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The refusal is the system's own, raised here: root would be let in."""
    closed = tmp_path / "closed.yaml"
    closed.write_bytes(PLAIN)

    def refuse(path: Path, *_: object, **__: object) -> object:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "open", refuse)
    code = run(["check", "--no-config", str(closed)])

    said = capsys.readouterr().err
    assert code == 2
    assert f"{closed}:1:1: " in said
    assert "Permission denied" in said


def test_folders_that_lead_to_each_other_end(process: Process, tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "up").symlink_to(tmp_path / "a")
    (tmp_path / "a" / "self").symlink_to(".")

    assert process("check", "a").code == 5


def test_a_json_of_another_kind_is_passed_over_in_a_folder_only(
    process: Process, tmp_path: Path
) -> None:
    (tmp_path / "index.json").write_text('{"schema": "pipeproof.cases/1", "cases": []}')

    assert process("check", ".").code == 5
    assert process("check", "index.json").code == 2


def test_a_json_that_is_a_schedule_and_wrong_is_an_error_in_a_folder(
    process: Process, tmp_path: Path
) -> None:
    (tmp_path / "s.json").write_text('{"pipeproof": 1}')

    assert process("check", ".").code == 2


def test_standard_input_is_read_within_its_limit(process: Process) -> None:
    assert re.search(r"<stdin>:1:\d+: ", process("check", "-", stdin=b"nonsense").err)
    ended = process("check", "-", stdin=b"pipeproof: 1\n" * 4_000_000)

    assert ended.code == 2
    assert "limit 'bytes'" in ended.err


def test_errors_are_json_too(process: Process, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_bytes(PLAIN + b"stage: 2\n")
    ended = process("check", "s.yaml", "--format", "json")
    file = json.loads(ended.out)["files"][0]

    assert ended.code == 2
    assert (file["verdict"], file["errors"][0]["line"], file["errors"][0]["column"]) == (
        "error",
        6,
        1,
    )


def test_a_name_with_control_characters_is_shown_without(process: Process) -> None:
    ended = process("check", "a\x1b]0;b\n.yaml")

    assert ended.code == 2
    assert "\x1b" not in ended.err
