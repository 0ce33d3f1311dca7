"""Commands end with everything they started, and no log holds a secret."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeproof.evidence import commands
from pipeproof.evidence.commands import NOT_FOUND, Cleaner, processes

TOKEN = "tok_" + "4f" * 12


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    return tmp_path / "logs"


def test_a_command_has_its_exit_code_and_both_logs(tmp_path: Path, logs: Path) -> None:
    script = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)"

    ended = processes([sys.executable, "-c", script], tmp_path, logs)

    assert ended[:3] == (7, b"out\n", b"err\n")
    assert list(logs.iterdir()) == []


def test_pipeproof_is_the_one_that_runs_here(tmp_path: Path, logs: Path) -> None:
    (tmp_path / "pipeproof").mkdir()
    (tmp_path / "pipeproof" / "__init__.py").write_text("raise SystemExit(99)")

    ended = processes(["python", "-m", "pipeproof.recheck"], tmp_path, logs)

    assert ended.exit == 2
    assert ended.stderr.startswith(b"usage: ")


def test_a_program_that_is_not_there_has_an_exit_code(tmp_path: Path, logs: Path) -> None:
    ended = processes(["no-such-program-here"], tmp_path, logs)

    assert (ended.exit, ended.stdout) == (NOT_FOUND, b"")
    assert b"No such file" in ended.stderr


def test_a_signal_is_told_as_a_shell_does(tmp_path: Path, logs: Path) -> None:
    assert processes(["sh", "-c", "kill -TERM $$"], tmp_path, logs).exit == 128 + signal.SIGTERM


def test_what_a_command_leaves_behind_ends_with_it(tmp_path: Path, logs: Path) -> None:
    processes(["sh", "-c", "sleep 60 & echo $! >left"], tmp_path, logs)

    assert is_gone(int((tmp_path / "left").read_text()))


def is_gone(process: int) -> bool:
    for _ in range(100):
        try:
            state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
        except OSError:
            return True
        if state.rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.02)
    return False


def test_an_interrupted_command_ends_with_all_that_it_started(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from pipeproof.evidence.commands import processes\n"
        "folder = Path(sys.argv[1])\n"
        "processes(['sh', '-c', 'echo $$ >pid; sleep 60'], folder, folder)\n"
    )
    with subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", script, str(tmp_path)], stderr=subprocess.DEVNULL
    ) as ours:
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            time.sleep(0.02)
        ours.send_signal(signal.SIGINT)
        ours.wait(10)

    assert is_gone(int((tmp_path / "pid").read_text()))


def test_a_log_that_is_too_long_is_cut_and_it_is_counted(
    tmp_path: Path, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "MOST", 3)

    ended = processes(["echo", "12345"], tmp_path, logs)

    assert (ended.stdout, ended.cut) == (b"123", 3)


def test_secrets_addresses_and_places_are_taken_out_of_a_log() -> None:
    environ = {"CI_TOKEN": TOKEN, "SHORT_TOKEN": "abc", "GIT_AUTHOR_NAME": "somebody else"}
    clean = Cleaner(environ, [(Path("/home/me/work/root"), "."), (Path("/home/me"), "~")])
    log = f"{TOKEN} abc somebody else https://me:{TOKEN}@host/x /home/me/work/root/a /home/me/b"

    cleaned, number = clean(log.encode())

    assert cleaned == b"[removed] abc somebody else https://[removed]@host/x ./a ~/b"
    assert number == 4


def test_a_place_in_few_words_is_no_place_to_take_out() -> None:
    assert Cleaner({}, [(Path("/"), "."), (Path("/a"), ".")])(b"/a/b")[0] == b"/a/b"


def test_where_a_secret_stands_is_told_by_its_name() -> None:
    clean = Cleaner({"API_KEY": TOKEN}, [])

    assert clean.secret_in(b"x" + TOKEN.encode()) == "API_KEY"
    assert clean.secret_in(b"x") is None
    assert clean.text(os.fsdecode(b"\xff") + TOKEN).endswith("[removed]")


def test_names_say_what_is_secret_and_what_is_a_folder() -> None:
    secret = ("GH_PAT", "DB_PASS", "DB_PWD", "SSH_KEY", "KEY", "SENTRY_DSN", "GPG_PASSPHRASE")
    plain = ("PWD", "OLDPWD", "KEYMAP", "PATH", "COMPASS", "GIT_AUTHOR_NAME")

    assert Cleaner(dict.fromkeys((*secret, *plain), TOKEN), []).secrets.keys() == {*secret}


def test_a_secret_is_found_as_json_and_addresses_write_it() -> None:
    clean = Cleaner({"A_TOKEN": 'p\u00e4"ss/wort'}, [])

    for way in (
        'p\u00e4"ss/wort',
        'p\\u00e4\\"ss/wort',
        'p\u00e4\\"ss/wort',
        "p%C3%A4%22ss%2Fwort",
    ):
        assert clean.secret_in(f"x{way}x".encode()) == "A_TOKEN"
        assert clean(f"x{way}x".encode()) == (b"x[removed]x", 1)


def test_a_password_with_the_sign_behind_it_is_taken_out_whole() -> None:
    assert Cleaner({}, [])(b"see https://u:p@ss@h/x")[0] == b"see https://[removed]@h/x"
