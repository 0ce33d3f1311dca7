"""The text of a first spec, with comments that say what stands there."""

__all__ = ["SCHEMA_FILE", "first_spec", "known_spec", "written_spec"]

SCHEMA_FILE = "pipeproof.schema.json"

_HEAD = f"""\
# yaml-language-server: $schema={SCHEMA_FILE}
#
# A schedule of pipeline-parallel training. `pipeproof check` on this file says whether it is
# legal in every interleaving of its ranks; `pipeproof show` draws its timeline.

pipeproof: 1  # the version of the language
"""
_OWN = """\
title: Two stages, one forward and one backward in turn

# The model is cut into stages, a batch into microbatches; both are numbered from 0.
stages: 2
microbatches: 3
placement: [0, 1]  # the rank of each stage; `loop` and `v` are words for the usual ones

# When a message moves. `strict` is every transport whose ends meet (rendezvous) and one whose
# sends never wait (buffered); the schedule is legal only if it is so under each of them. Others:
# gloo, nccl-lazy, nccl-eager, a list of names, or a mapping that says each property.
transport: strict

# The program of each rank, in the order in which it runs; `;` and line ends separate. A number,
# a word, a number is: which stage does what for which microbatch.
#   0F1       forward of stage 0 for microbatch 1     0SEND_F1  send its activation to stage 1
#   1RECV_F1  stage 1 receives that activation        1B1       backward of stage 1
#   1SEND_B1  send its gradient to stage 0            0STEP     the optimizer updates stage 0
ranks:
  - |  # rank 0: two forwards first, so that rank 1 has work while the first gradient comes back
    0F0; 0SEND_F0
    0F1; 0SEND_F1
    0RECV_B0; 0B0
    0F2; 0SEND_F2
    0RECV_B1; 0B1
    0RECV_B2; 0B2
    0STEP
  - |  # rank 1: the last stage computes the loss, and goes backward at once
    1RECV_F0; 1F0; 1B0
    1RECV_F1; 1SEND_B0; 1F1; 1B1
    1RECV_F2; 1SEND_B1; 1F2; 1B2
    1SEND_B2
    1STEP
"""
_KNOWN = """\
title: {title}

# The model is cut into stages, a batch into microbatches; both are numbered from 0.
stages: {stages}
microbatches: {microbatches}

# A known schedule, generated as torch does it, with the messages that torch adds. The runtime's
# profile brings its transports (when a message moves) and its own rules.
schedule: {schedule}
profile: torch-runtime
"""
_WRITTEN = """\
title: {title}

# The model is cut into stages, a batch into microbatches; both are numbered from 0.
stages: {stages}
microbatches: {microbatches}
placement: {placement}  # the rank of each stage

# The runtime's profile brings its transports (when a message moves) and its own rules.
profile: torch-runtime

# The program of each rank, in the order in which it runs. A number, a word, a number is: which
# stage does what for which microbatch. F is a forward, B a backward (or I, its input gradient,
# and W, its weight gradient); SEND_F and RECV_F move an activation, SEND_B and RECV_B a gradient;
# UNSHARD and RESHARD gather and drop the weights of a stage, REDUCE_GRAD reduces its gradient.
{ranks}"""
_END = """
# What this file must show: `pipeproof test` compares it with the verdict.
expect:
  - {verdict: proved}

# More that a file may say; what it does not say is not judged.
# bounds: {live: 2}                    # the most forwards on a rank that wait for their backward
# costs: {F: 1, B: 2, comm: 0}         # times, for `pipeproof show`
# storage: {stash: {slots: 2}}         # buffers that microbatches share
# weights: {policy: flush}             # which version of the weights operations must read
# gradients: {coefficients: sum}       # what a step must have added up
# rules: {ignore: [PP506]}             # by code, or by how codes begin
"""


def first_spec() -> str:
    """Return a spec of two stages on two ranks, which is legal under every strict transport."""
    return f"{_HEAD}{_OWN}{_END}"


def known_spec(title: str, stages: int, microbatches: int, schedule: str) -> str:
    """Return a spec that names a known schedule; `schedule` is the value of that key."""
    own = _KNOWN.format(title=title, stages=stages, microbatches=microbatches, schedule=schedule)
    return f"{_HEAD}{own}{_END}"


def written_spec(title: str, stages: int, microbatches: int, placement: str, ranks: str) -> str:
    """Return a spec that holds the programs of a schedule; `ranks` is that key with its value."""
    own = _WRITTEN.format(
        title=title, stages=stages, microbatches=microbatches, placement=placement, ranks=ranks
    )
    return f"{_HEAD}{own}{_END}"
