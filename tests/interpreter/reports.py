"""Schedules from public bug reports, and whether they are legal: text, and what is wrong."""

from tests.interpreter.reports_more import MORE

REPORTS: tuple[tuple[str, str, str], ...] = (
    (
        "b29-label-overwritten-before-loss-fixed",
        "",
        """\
pipeproof: 1
stages: 2
microbatches: 2
placement: [1, 0]
fragment: true
transport: rendezvous
ranks:
  - |
    LOAD Y.0 buf=y
    RECV F0.0 from=1 buf=x
    1F0 in=x out=o
    1L0 in=o label=y out=l
    LOAD Y.1 buf=y
  - |
    SEND F0.0 to=0
""",
    ),
    (
        "b29-label-overwritten-before-loss",
        "PP503",
        """\
pipeproof: 1
stages: 2
microbatches: 2
placement: [1, 0]
fragment: true
transport: rendezvous
ranks:
  - |
    LOAD Y.0 buf=y
    LOAD Y.1 buf=y
    RECV F0.0 from=1 buf=x
    1F0 in=x out=o
    1L0 in=o label=y out=l
  - |
    SEND F0.0 to=0
""",
    ),
    (
        "b31-single-gradient-slot-fixed",
        "",
        """\
pipeproof: 1
stages: 2
microbatches: 2
placement: loop
fragment: true
transport: rendezvous
ranks:
  - |
    RECV B1.0 from=1
    RECV B1.1 from=1
  - |
    1B0
    1B1
    SEND B1.0 to=0
    SEND B1.1 to=0
""",
    ),
    (
        "b31-single-gradient-slot",
        "PP503",
        """\
pipeproof: 1
stages: 2
microbatches: 2
placement: loop
fragment: true
transport: rendezvous
ranks:
  - |
    RECV B1.0 from=1
    RECV B1.1 from=1
  - |
    1B0 gout=h
    1B1 gout=h
    SEND B1.0 to=0 buf=h
    SEND B1.1 to=0 buf=h
""",
    ),
    (
        "b44-forward-into-sending-buffer-fixed",
        "",
        """\
pipeproof: 1
stages: 2
microbatches: 2
placement: loop
fragment: true
transport: rendezvous
ranks:
  - |
    0F0 out=a
    SEND F0.0 to=1 buf=a h=s0
    WAIT s0
    0F1 out=a
    SEND F0.1 to=1 buf=a
  - |
    RECV F0.0 from=0
    RECV F0.1 from=0
""",
    ),
    (
        "b44-forward-into-sending-buffer",
        "PP502",
        """\
pipeproof: 1
stages: 2
microbatches: 2
placement: loop
fragment: true
transport: rendezvous
ranks:
  - |
    0F0 out=a
    SEND F0.0 to=1 buf=a h=s0
    0F1 out=a
    WAIT s0
    SEND F0.1 to=1 buf=a
  - |
    RECV F0.0 from=0
    RECV F0.1 from=0
""",
    ),
    (
        "b46-freed-before-wait-fixed",
        "",
        """\
pipeproof: 1
stages: 2
microbatches: 1
placement: loop
fragment: true
transport: rendezvous
ranks:
  - |
    WRITE q req0
    SEND req0 to=1 buf=q h=q
    WAIT q
    FREE q
  - |
    RECV req0 from=0
""",
    ),
    (
        "b46-freed-before-wait",
        "PP504",
        """\
pipeproof: 1
stages: 2
microbatches: 1
placement: loop
fragment: true
transport: rendezvous
ranks:
  - |
    WRITE q req0
    SEND req0 to=1 buf=q h=q
    FREE q
    WAIT q
  - |
    RECV req0 from=0
""",
    ),
    (
        "b48-receive-over-unsent-gradient-fixed",
        "",
        """\
pipeproof: 1
stages: 2
microbatches: 2
placement: loop
fragment: true
transport: rendezvous
ranks:
  - |
    0SEND_F0
    0RECV_B0
    0SEND_F1
  - |
    1RECV_F0 buf=in0
    1F0 in=in0 out=o keep=in0
    1L0 in=o out=l
    1B0 gin=l gout=in0
    1SEND_B0 buf=in0
    1RECV_F1 buf=in0
""",
    ),
    (
        "b48-receive-over-unsent-gradient",
        "PP503",
        """\
pipeproof: 1
stages: 2
microbatches: 2
placement: loop
fragment: true
transport: rendezvous
ranks:
  - |
    0SEND_F0
    0SEND_F1
    0RECV_B0
  - |
    1RECV_F0 buf=in0
    1F0 in=in0 out=o keep=in0
    1L0 in=o out=l
    1B0 gin=l gout=in0
    1RECV_F1 buf=in0
    1SEND_B0 buf=in0
""",
    ),
    (
        "b54-used-before-wait-fixed",
        "",
        """\
pipeproof: 1
stages: 2
microbatches: 1
placement: loop
fragment: true
transport: rendezvous
ranks:
  - |
    RECV v0 from=1 buf=y h=r
    WAIT r
    USE y v0
  - |
    SEND v0 to=0
""",
    ),
    (
        "b54-used-before-wait",
        "PP501",
        """\
pipeproof: 1
stages: 2
microbatches: 1
placement: loop
fragment: true
transport: rendezvous
ranks:
  - |
    RECV v0 from=1 buf=y h=r
    USE y v0
    WAIT r
  - |
    SEND v0 to=0
""",
    ),
    *MORE,
)
