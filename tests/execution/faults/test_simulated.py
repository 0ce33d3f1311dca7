import pytest

from pipeproof.execution.faults.injections import injected
from pipeproof.execution.faults.node import Manner
from pipeproof.execution.faults.simulated import simulated
from pipeproof.execution.witness import WITNESSES
from pipeproof.ir.faults import Policy
from tests.execution.faults.ran import POLICIES, events, every, setting, trial

ONE_OF_EACH = (
    "missing@r2",
    "stops@r1:3",
    "delayed@r1:1F0",
    "delayed@r0:0SEND_F0",
    "dropped@r2:2SEND_B0",
    "duplicated@r0:0SEND_F0",
    "corrupted@r1:1SEND_B0",
    "misshapen@r1:1SEND_F0",
    "turned=mantissa@r1:1SEND_F0",
    "turned=sign@r0:0F0",
    "turned=exponent@r1:1B0",
    "turned=mantissa@r2:2STEP",
)
DEAD = ("missing", "stops")


@pytest.mark.parametrize("witness", WITNESSES)
def test_healthy_ranks_take_the_step_of_the_unsplit_model(witness: str) -> None:
    ended = simulated(setting(witness=witness))

    assert [each.outcome for each in ended] == ["stepped"] * 3
    assert not [each for each in ended if each.findings or each.differs]
    assert all(each.before != each.after for each in ended)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("fault", ONE_OF_EACH)
def test_a_fault_is_named_exactly_and_leaves_nothing_half_applied(
    fault: str, policy: Policy
) -> None:
    found = trial(fault, policy, (3, 1, "linear"))

    assert found.is_named, str(found)
    if fault.partition("@")[0] in DEAD and policy == "recover":
        assert list(found.broken()) == ["the policy is recover, and the ranks have not recovered"]
        assert all(each.after == each.before for each in found.ended)
    else:
        assert found.is_kept, str(found)


def test_a_simulation_is_the_same_every_time() -> None:
    own = setting()
    fault = injected("delayed=2.5@r1:1SEND_B0", own.run, events(own))

    assert simulated(own, fault, Manner()) == simulated(own, fault, Manner())


def test_a_rank_that_stops_behind_its_step_is_named_and_the_others_have_stepped() -> None:
    own = setting()
    last = max(int(at) for at in own.run.operations.position[own.run.operations.rank == 0])
    found = trial(f"stops@r0:{last + 1}")

    assert [each.answer.value for each in found.findings] == ["stopped rank"]
    assert all(each.after_step for each in found.findings)
    assert [each.outcome for each in found.ended] == ["stopped", "stepped", "stepped"]
    assert not list(found.broken())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("own", "policies"), [((3, 2, "linear"), POLICIES), ((4, 3, "transformer"), None)]
)
def test_every_fault_at_every_place_is_named_exactly(
    own: tuple[int, int, str], policies: tuple[Policy, ...] | None
) -> None:
    """Under every policy, or under each in turn."""
    found = [
        trial(fault, policy, own)
        for n, fault in enumerate(every(setting(*own)))
        for policy in policies or (POLICIES[n % len(POLICIES)],)
    ]
    wrong = [each for each in found if not each.is_named]
    broken = [
        each
        for each in found
        if list(each.broken())
        and not (each.policy == "recover" and each.injection.what.value in DEAD)
    ]
    print(len(found), len(wrong), len(broken))  # noqa: T201  the figures

    assert not [f"{each.injection.text}: {each}" for each in (*wrong, *broken)]
