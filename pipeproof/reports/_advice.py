"""What a rule is good for, and what to change where it is broken: a sentence or two each."""

from collections.abc import Mapping
from inspect import cleandoc
from types import MappingProxyType

from pipeproof.semantics.rules import all_rules

__all__ = ["advice", "why"]

_WHY = "Why it breaks training:"
_ADVICE: Mapping[str, str] = MappingProxyType(
    {
        "PP101": "Write the operation into the program of the rank that holds its stage; where "
        "another stands twice, one of the two may be meant.",
        "PP102": "Remove one of the two, or correct its microbatch where another was meant.",
        "PP103": "Correct the stage, microbatch or rank that it names.",
        "PP104": "Move it into the program of the rank that holds its stage.",
        "PP105": "Add the ends that are missing, or remove those that are too many.",
        "PP106": "Make all ranks do the same there, or all leave it out.",
        "PP201": "Add the other end to the program of the peer, or remove this one.",
        "PP202": "Put the receives into the order of the sends, or the sends into that of the "
        "receives.",
        "PP203": "Give both ends the same shape, dtype and layout.",
        "PP204": "Send and receive it on one communicator.",
        "PP205": "Let all ranks enter the collectives of their group in one order.",
        "PP301": "Break the circle: on one of the ranks, move what the other waits for in front of "
        "where it stands, as a receive before the send, or both in one bracket.",
        "PP302": "Order sends and receives so that each meets its partner without a buffer.",
        "PP303": "Add the receive to the program of the peer, or remove the send.",
        "PP401": "Move what makes its input, or the receive that brings it, in front of it.",
        "PP402": "Move it behind its forward.",
        "PP403": "Move what makes its gradient, or the receive that brings it, in front of it.",
        "PP404": "Move it behind the I of its stage and microbatch.",
        "PP405": "Move it behind what makes, loads or receives the value.",
        "PP406": "Unshard the stage in front of it, and reshard behind the last that computes "
        "with it.",
        "PP501": "Put the WAIT, or what else completes the transfer, in front of the read.",
        "PP502": "Wait for the transfer before its storage is written again, or write to another "
        "slot, of a larger pool if need be.",
        "PP503": "Move the write behind the last read of what is there, or write to another slot.",
        "PP504": "Move what gives the storage back behind its last use.",
        "PP505": "Keep each value in a slot of its own until it is read, or correct the slot that "
        "is named.",
        "PP506": "Run a backward before the next forward here, drop what is held earlier, or allow "
        "more.",
        "PP507": "Drop what is held before the program ends.",
        "PP601": "Update when the microbatches in flight are through, or keep the version that the "
        "forward read for its backward (weights: policy stash).",
        "PP602": "Move the update so that it reads the version that the policy asks for, or name "
        "the policy that is meant.",
        "PP603": "Let fewer updates pass between its forward and its step, or allow more.",
        "PP604": "Keep more versions, or move the STEP behind the last read of the old one.",
        "PP605": "Move it behind the COMMIT of the version.",
        "PP701": "Add the backward that is missing, or move what clears the gradient in front of "
        "it.",
        "PP702": "Remove what adds it again, or clear the gradient in between.",
        "PP703": "Correct the coefficients, and the scaling after them, so that they add up to "
        "what is asked.",
        "PP704": "Move the reduction behind the last B or W of its stage.",
        "PP705": "Reduce the gradient between its last contribution and its use.",
        "PP706": "Move the STEP behind the last B or W of its stage, and behind what tells of a "
        "fault.",
        "PP707": "Add a TIE between the last contribution and the STEP.",
        "PP708": "Clear the gradient before the first contribution of the step.",
        "PP709": "Add a NORM over all ranks between the last change of the gradient and the STEP.",
        "PP801": "Recompute in the state that the forward ran in, and in its turn.",
        "PP802": "Recompute before the update, or with the version that the forward read.",
        "PP803": "Save where nothing of the rank is under way, or name what is (SAVE async=…).",
        "PP804": "Go on from the place and the state that were saved, on all ranks the same.",
        "PP902": "Shorten the chain of operations that takes longest, or allow more time.",
    }
)


def why(code: str) -> str:
    """Return why breaking a rule breaks training, nothing of a rule that is not known."""
    doc = next((cleandoc(rule.doc) for rule in all_rules() if rule.code == code), "")
    after = doc.partition(_WHY)[2].strip()
    return " ".join(after.partition("\n\n")[0].split())


def advice(code: str) -> str:
    """Return what to change where a rule is broken, nothing of a rule that is not known."""
    return _ADVICE.get(code, "")
