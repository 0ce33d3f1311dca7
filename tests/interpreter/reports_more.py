"""More schedules from public bug reports, and what is wrong with them."""

MORE: tuple[tuple[str, str, str], ...] = (
    (
        "b60-weights-swapped-in-flight-fixed",
        "",
        """\
pipeproof: 1
stages: 1
microbatches: 2
placement: loop
fragment: true
transport: rendezvous
weights: {policy: stash, updates: microbatch}
ranks:
  - |
    0F0
    0F1
    0B0 w=stash wv=0
    0STEP
    0B1 w=stash wv=0
""",
    ),
    (
        "b60-weights-swapped-in-flight",
        "PP601",
        """\
pipeproof: 1
stages: 1
microbatches: 2
placement: loop
fragment: true
transport: rendezvous
weights: {policy: stash, updates: microbatch}
ranks:
  - |
    0F0
    0F1
    0B0
    0STEP
    0B1
""",
    ),
    (
        "b62-bucket-not-gathered-fixed",
        "",
        """\
pipeproof: 1
stages: 1
microbatches: 1
placement: loop
fragment: true
transport: rendezvous
ranks:
  - |
    0STEP
    0GATHER bucket=A
    0F0 bucket=A
    0GATHER bucket=C
    0F0 bucket=C
    0GATHER bucket=B
""",
    ),
    (
        "b62-bucket-not-gathered",
        "PP601",
        """\
pipeproof: 1
stages: 1
microbatches: 1
placement: loop
fragment: true
transport: rendezvous
ranks:
  - |
    0STEP
    0GATHER bucket=A
    0F0 bucket=A
    0F0 bucket=C
    0GATHER bucket=B
    0GATHER bucket=C
""",
    ),
    (
        "b73-gradient-lost-on-resize-fixed",
        "",
        """\
pipeproof: 1
stages: 1
microbatches: 2
placement: loop
transport: rendezvous
ranks:
  - |
    0F0
    0B0
    0F1
    0B1
    0STEP
""",
    ),
    (
        "b73-gradient-lost-on-resize",
        "PP701",
        """\
pipeproof: 1
stages: 1
microbatches: 2
placement: loop
transport: rendezvous
ranks:
  - |
    0F0
    0B0
    0ZERO
    0F1
    0B1
    0STEP
""",
    ),
    (
        "b75-sum-instead-of-mean-fixed",
        "",
        """\
pipeproof: 1
stages: 1
microbatches: 2
placement: loop
transport: rendezvous
gradients: {coefficients: mean}
ranks:
  - |
    0F0
    0B0 c=1/2
    0F1
    0B1 c=1/2
    0STEP
""",
    ),
    (
        "b75-sum-instead-of-mean",
        "PP703",
        """\
pipeproof: 1
stages: 1
microbatches: 2
placement: loop
transport: rendezvous
gradients: {coefficients: mean}
ranks:
  - |
    0F0
    0B0
    0F1
    0B1
    0STEP
""",
    ),
    (
        "b79-divided-twice-fixed",
        "",
        """\
pipeproof: 1
stages: 1
microbatches: 2
placement: loop
transport: rendezvous
gradients: {coefficients: mean}
ranks:
  - |
    0F0
    0B0 c=1/2
    0F1
    0B1 c=1/2
    0STEP
""",
    ),
    (
        "b79-divided-twice",
        "PP703",
        """\
pipeproof: 1
stages: 1
microbatches: 2
placement: loop
transport: rendezvous
gradients: {coefficients: mean}
ranks:
  - |
    0F0
    0B0 c=1/4
    0F1
    0B1 c=1/4
    0STEP
""",
    ),
    (
        "b81-shards-differ-at-tie-fixed",
        "",
        """\
pipeproof: 1
stages: 2
microbatches: 1
placement: loop
fragment: true
transport: rendezvous
gradients: {tied: [[0, 1]]}
ranks:
  - |
    0B0 param=E
    0TIE ranks=0,1 param=E
    0REDUCE shard=1
    0STEP
  - |
    1B0 param=E
    1TIE ranks=0,1 param=E
    1REDUCE shard=0
    1STEP
""",
    ),
    (
        "b81-shards-differ-at-tie",
        "PP707",
        """\
pipeproof: 1
stages: 2
microbatches: 1
placement: loop
fragment: true
transport: rendezvous
gradients: {tied: [[0, 1]]}
ranks:
  - |
    0B0 param=E
    0REDUCE shard=1
    0TIE ranks=0,1 param=E
    0STEP
  - |
    1B0 param=E
    1REDUCE shard=0
    1TIE ranks=0,1 param=E
    1STEP
""",
    ),
)
