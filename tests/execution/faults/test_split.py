import pytest

from pipeproof.errors import UnsupportedFeatureError
from pipeproof.execution.faults.split import part, refused
from tests.execution.faults.campaign import text
from tests.execution.faults.ran import of_text, setting


def test_an_event_needs_the_messages_that_it_waits_for_on_its_own_rank() -> None:
    found = part(setting())
    needs = {
        found.events.text(found.events.rows[event // 2][0]): len(messages)
        for event, messages in found.needs.items()
        if messages and event < found.events.ends
    }

    assert needs == {
        f"{stage}RECV_{what}{m}": 1
        for stage, what in ((1, "F"), (2, "F"), (0, "B"), (1, "B"))
        for m in range(2)
    }


def test_a_message_is_handed_out_and_taken_in_elsewhere() -> None:
    sender, receiver = part(setting()), part(setting())
    events = sender.events
    number = events.sent[next(r for r in range(99) if events.text(r) == "0SEND_F0")]
    first = next(n for n, rows in enumerate(events.rows) if events.text(rows[0]) == "1RECV_F0")
    sender.play([0, 1, 2])
    carried = sender.hands_out(number)
    receiver.play([2 * first])
    receiver.takes_in(number, carried.data)
    receiver.play([2 * first + 1, 2 * first + 2])

    assert not receiver.met
    assert not receiver.is_own(number)
    assert str(receiver.ledger[0].operation) == "rank 1, stage 1, microbatch 0, forward"


@pytest.mark.parametrize(
    ("instead", "said"),
    [
        ("0STEP\n    0F1\n    0B1", "F behind the step"),
        ("COLL a ranks=0,1,2\n    0STEP", "COLL between ranks"),
    ],
)
def test_what_the_ranks_cannot_run_apart_is_refused(instead: str, said: str) -> None:
    whole = text().replace("0STEP", instead)
    for rank in ("1", "2"):
        if "COLL" in instead:
            whole = whole.replace(f"{rank}STEP", f"COLL a ranks=0,1,2\n    {rank}STEP")
    if "F1" in instead:
        whole = whole.replace("    0F1\n", "", 1).replace("    0B1\n", "", 1)
    own = of_text(whole)

    assert said in refused(own.run)
    with pytest.raises(UnsupportedFeatureError, match=said):
        part(own)
    assert not refused(setting().run)
