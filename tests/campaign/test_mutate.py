"""Each mutation breaks what it names, and is the same mutant wherever it is drawn."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeproof.campaign.judged import read
from pipeproof.campaign.mutate import describe, mutant, mutate, mutations, perform, written_out
from pipeproof.ir.canonical import canonical

ROOT = Path(__file__).parents[2]
SPECS = ROOT / "specs"

# Mutation, schedule that is legal, and what the mutant of seed 0 breaks first.
BREAKS = (
    ("swap", "legal/norm-of-own-rank-fixed", "PP403"),
    ("move", "legal/assigned-where-added-fixed", "PP402"),
    ("drop", "legal/channels-last-into-first-fixed", "PP201"),
    ("drop-operation", "legal/latest-instead-of-stash-fixed", "PP101"),
    ("duplicate", "legal/forward-not-redone-after-rollback-fixed", "PP605"),
    ("relabel", "legal/activation-sent-after-backward-fixed", "PP103"),
    ("relabel-stage", "legal/broadcast-is-no-barrier-fixed", "PP104"),
    ("misplace", "legal/norm-of-own-rank-fixed", "PP405"),
    ("backward-first", "legal/activation-sent-after-backward-fixed", "PP402"),
    ("weight-gradient-first", "legal/gradient-over-kept-input-fixed", "PP404"),
    ("reshard-early", "legal/backward-after-reshard-fixed", "PP406"),
    ("skip-step", "legal/mirror-gradients-not-summed-fixed", "PP106"),
    ("drop-message", "legal/loop-where-v-is-built-fixed", "PP401"),
    ("cross-messages", "legal/crossed-sends-fixed", "PP202"),
    ("redirect-message", "legal/communicators-made-in-a-ring-fixed", "PP201"),
    ("split-communicator", "legal/activation-sent-after-backward-fixed", "PP204"),
    ("change-shape", "legal/activation-sent-after-backward-fixed", "PP203"),
    ("split-group", "legal/crossed-sends-fixed", "PP301"),
    ("join-group", "legal/one-microbatch-gpipe", "PP301"),
    ("drop-signal", "recovery/late-operation-not-raised-fixed", "PP706"),
    ("skip-wait", "legal/added-during-reduction-fixed", "PP501"),
    ("wait-late", "legal/added-during-reduction-fixed", "PP501"),
    ("never-waited", "legal/output-freed-before-sent-fixed", "PP501"),
    ("reorder-collective", "legal/collective-against-message-fixed", "PP301"),
    ("miss-collective", "legal/collective-against-message-fixed", "PP205"),
    ("shrink-pool", "legal/overlap-needs-both-stashes-fixed", "PP503"),
    ("shrink-bound", "legal/eviction-over-the-bound-fixed", "PP506"),
    ("free-early", "legal/extra-input-overwritten-fixed", "PP504"),
    ("share-storage", "legal/gradient-over-kept-input-fixed", "PP503"),
    ("read-other", "legal/extra-input-overwritten-fixed", "PP505"),
    ("one-storage", "legal/send-slot-unguarded-fixed", "PP502"),
    ("hold-more", "legal/eviction-over-the-bound-fixed", "PP507"),
    ("hold-for-ever", "legal/activation-sent-after-backward-fixed", "PP507"),
    ("mixed-version", "legal/broadcast-is-no-barrier-fixed", "PP602"),
    ("drop-stash", "legal/latest-instead-of-stash-fixed", "PP601"),
    ("keep-fewer-versions", "legal/stashed-version-retired-fixed", "PP604"),
    ("skip-gather", "legal/bucket-forgotten-after-update-fixed", "PP601"),
    ("update-early", "legal/activation-sent-after-backward-fixed", "PP706"),
    ("read-across-update", "legal/ties-in-different-order-fixed", "PP403"),
    ("withdraw", "legal/backward-before-validation-fixed", "PP402"),
    ("wrong-coefficient", "legal/activation-sent-after-backward-fixed", "PP703"),
    ("scale-again", "legal/activation-sent-after-backward-fixed", "PP703"),
    ("assign-for-add", "legal/added-during-reduction-fixed", "PP701"),
    ("clear-between", "legal/activation-sent-after-backward-fixed", "PP701"),
    ("repeat-contribution", "legal/activation-sent-after-backward-fixed", "PP102"),
    ("leave-stale", "legal/activation-sent-after-backward-fixed", "PP708"),
    ("reduce-early", "legal/activation-sent-after-backward-fixed", "PP704"),
    ("drop-reduction", "legal/added-during-reduction-fixed", "PP705"),
    ("reduce-again", "legal/added-during-reduction-fixed", "PP102"),
    ("drop-tie", "legal/mirror-gradients-not-summed-fixed", "PP707"),
    ("partial-norm", "legal/norm-before-last-backward-fixed", "PP709"),
    ("close-early", "legal/added-during-reduction-fixed", "PP704"),
    ("recompute-other", "legal/recomputed-outside-autocast-fixed", "PP801"),
    ("recompute-version", "recovery/late-operation-not-raised-fixed", "PP802"),
    ("reorder-state", "legal/running-statistics-out-of-order-fixed", "PP801"),
    ("restore-less", "legal/restored-from-other-layout-fixed", "PP804"),
    ("resume-elsewhere", "legal/resumed-without-data-position-fixed", "PP804"),
    ("save-early", "legal/saved-before-the-update-fixed", "PP803"),
)
KNOWN = (
    "pipeproof: 1\nmicrobatches: 2\ntransport: rendezvous-edge\nschedule: {name: 1f1b, ranks: 2}\n"
)
DRAWN = """
import hashlib, sys
from pipeproof.campaign.judged import read
from pipeproof.campaign.minimise import minimise
from pipeproof.campaign.mutate import mutate, mutations
from pipeproof.ir.canonical import canonical

found = hashlib.sha256()
for path in sys.argv[1:]:
    schedule = read(open(path, encoding="utf-8").read()).schedule
    for name in mutations():
        mutant = mutate(schedule, name, 7)
        found.update((name + ("" if mutant is None else canonical(mutant))).encode())
illegal = sys.argv[1].replace("legal/", "illegal/").replace("-fixed", "")
found.update(minimise(read(open(illegal, encoding="utf-8").read())).text.encode())
print(found.hexdigest())
"""


def text_of(name: str) -> str:
    return (SPECS / f"{name}.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "spec", "rule"), BREAKS, ids=[each[0] for each in BREAKS])
def test_a_mutation_breaks_a_legal_schedule(name: str, spec: str, rule: str) -> None:
    answer = perform({"text": text_of(spec), "mutation": name, "seed": 0})

    assert (answer["applies"], answer["verdict"]) == (1, "refuted")
    under = answer["under"]
    assert isinstance(under, list)
    assert {each["first"] for each in under if each["first"]} == {rule}


def test_every_mutation_is_shown_to_break_something() -> None:
    assert sorted(each[0] for each in BREAKS) == sorted(mutations())


def test_together_they_break_rules_of_every_family() -> None:
    assert {rule[:3] for _, _, rule in BREAKS} == {f"PP{n}" for n in range(1, 9)}


def test_what_was_agreed_on_is_there() -> None:
    asked = (
        "swap drop duplicate relabel move cross-messages shrink-pool free-early skip-wait "
        "update-early wrong-coefficient mixed-version reduce-early drop-reduction "
        "split-communicator reorder-collective drop-message assign-for-add recompute-other "
        "restore-less"
    )

    assert set(asked.split()) <= set(mutations())


@pytest.mark.parametrize("name", mutations())
def test_each_is_described_in_one_sentence(name: str) -> None:
    assert describe(name).endswith(".")


def test_every_mutation_stands_in_the_documentation_as_it_is_described() -> None:
    page = (ROOT / "docs" / "hunt.md").read_text(encoding="utf-8")
    wanted = [f"| `{name}` | {describe(name)[:-1]} | " for name in mutations()]

    assert [row for row in wanted if row not in page] == []


def test_a_name_that_is_no_mutation_is_refused() -> None:
    schedule = read(KNOWN).schedule

    with pytest.raises(ValueError, match=r"no mutation 'dance'; write one of swap"):
        mutate(schedule, "dance", 0)


def test_the_order_of_hashes_is_no_part_of_a_mutant_nor_of_what_is_minimised() -> None:
    names = ("legal/eviction-over-the-bound-fixed", "legal/added-during-reduction-fixed")
    paths = [str(SPECS / f"{name}.yaml") for name in names]
    seen = {
        subprocess.run(  # noqa: S603  this very interpreter
            [sys.executable, "-c", DRAWN, *paths],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT,
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(seen) == 1


def test_the_original_stays_as_it_is() -> None:
    schedule = read(text_of("legal/eviction-over-the-bound-fixed")).schedule
    before = canonical(schedule)
    changed = [mutate(schedule, name, 0) for name in mutations()]

    assert any(changed)
    assert canonical(schedule) == before


def test_another_seed_is_another_place() -> None:
    schedule = read(text_of("legal/one-microbatch-gpipe")).schedule
    seen = {canonical(found) for n in range(9) if (found := mutate(schedule, "swap", n))}

    assert len(seen) > 1


@pytest.mark.parametrize("seed", range(2))
def test_a_mutant_is_never_the_schedule_itself(seed: int) -> None:
    for name in ("legal/eviction-over-the-bound-fixed", "legal/added-during-reduction-fixed"):
        schedule = read(text_of(name)).schedule
        before = canonical(schedule)
        for mutation in mutations():
            changed = mutate(schedule, mutation, seed)
            assert changed is None or canonical(changed) != before


def test_what_has_nothing_to_change_has_no_mutant() -> None:
    schedule = read("pipeproof: 1\nmicrobatches: 1\nranks: [0F0]\n").schedule

    assert mutate(schedule, "swap", 0) is None
    assert perform(
        {"text": "pipeproof: 1\nmicrobatches: 1\nranks: [0F0]\n", "mutation": "swap"}
    ) == {"applies": 0}


def test_a_known_schedule_is_changed_before_or_after_its_messages_stand_there() -> None:
    before = mutant({"text": KNOWN, "mutation": "drop-message", "seed": 0})
    after = mutant({"text": KNOWN, "mutation": "drop-message", "seed": 0, "written-out": 1})

    assert before is None
    assert after is not None
    whole = written_out(read(KNOWN)).schedule
    assert len(after.schedule.operations) == len(whole.operations) - 1


def test_what_messages_would_write_over_is_changed_behind_them() -> None:
    found = mutant({"text": KNOWN, "mutation": "wrong-coefficient", "seed": 0})

    assert found is not None
    every = [each for rank in (0, 1) for each in found.schedule.operations.program(rank)]
    assert [each for each in every if " c=" in each]
    assert len(every) == len(written_out(read(KNOWN)).schedule.operations)


def test_a_mutant_of_a_known_schedule_is_written_with_its_messages() -> None:
    found = mutant({"text": KNOWN, "mutation": "swap", "seed": 1})

    assert found is not None
    assert found.schedule.lowering == "as-written"
    assert "SEND_F" in " ".join(found.schedule.operations.program(0))


def test_hostile_text_of_a_file_stays_where_it_stands() -> None:
    lines = text_of("legal/one-microbatch-gpipe").splitlines()
    kept = "\n".join(line for line in lines if not line.startswith("title:"))
    title = r'x\u202e\n::error::\n- {verdict: proved} <b> "'.replace('"', r"\"")
    answer = perform({"text": f'{kept}\ntitle: "{title}"\n', "mutation": "swap", "seed": 0})

    assert isinstance(answer["text"], str)
    assert read(answer["text"]).title == 'x\u202e\n::error::\n- {verdict: proved} <b> "'
    assert not [line for line in answer["text"].splitlines() if line.startswith(("::", "- {"))]
