"""Ten steps on four ranks, with one bit turned in step 4 on the last rank: found and recovered.

python examples/ten_steps/run.py               # turned while the step is replayed
python examples/ten_steps/run.py --in step     # turned in the step itself, so that weights differ

Needs torch: pip install 'pipeproof[torch]'.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pipeproof import api
from pipeproof.frontends import spec
from pipeproof.ir.reading import ReadOptions

HERE = Path(__file__).parent
STEPS, MICROBATCHES, FAULTY, LAST = 10, 2, 4, 3


def main(arguments: Sequence[str]) -> int:
    """Run the steps, print what was decided of each, and return 0 if all is as it should be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--in", dest="where", choices=("replay", "step"), default="replay")
    where = parser.parse_args(arguments).where
    with tempfile.TemporaryDirectory() as folder:
        return _run(where, Path(folder))


def _run(where: str, folder: Path) -> int:
    from pipeproof.execution.checkpoints.boundaries import by_steps
    from pipeproof.execution.checkpoints.copies import Copies
    from pipeproof.execution.checkpoints.state import DRAINED, Setting, parts_of, unequal
    from pipeproof.execution.checkpoints.training import Training
    from pipeproof.execution.faults.ledgers import Bit, Flip

    read = spec.read(
        (HERE / "schedule.yaml").read_text(encoding="utf-8"), "schedule.yaml", ReadOptions()
    )
    model = api.models(read[0])(api.transports_of(read[0])[0].name, STEPS)
    assert model is not None
    setting = Setting(model.frame.run, model.frame.transport.match)
    clean = setting.begin()
    order = by_steps(clean, model.happens_before)
    bit = Flip(LAST, (FAULTY - 1) * MICROBATCHES + 1, "backward", Bit.SIGN)
    training = Training(
        setting,
        order,
        Copies(folder, 4),
        trained={FAULTY: bit} if where == "step" else {},
        replayed={(FAULTY, 2): bit} if where == "replay" else {},
    )
    training.run()
    for attempt in training.attempts:
        print(f"step {attempt.step:2}  {attempt.decision.status.value}: {attempt.decision.reason}")
        for each in attempt.decision.excluded:
            print(f"         {each}")
        if attempt.recovery is not None:
            print(
                f"         going on behind step {attempt.recovery.step}, {attempt.recovery.reason}"
            )
    for events in order:
        clean.play(events)
    ends = (parts_of(each, setting, moment=DRAINED) for each in (clean, training.live))
    odd = [name for pair in zip(*ends, strict=True) for name in unequal(*pair)]
    print(f"step {STEPS} is {'not ' if odd else ''}bitwise that of a run in which nothing happened")
    return int(bool(odd))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
