"""Timelines as pictures: a lane a rank, a box an operation. Needs matplotlib."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from types import MappingProxyType

import matplotlib as mpl
from matplotlib.figure import Figure

from pipeproof.ir.actions import Kind
from pipeproof.reports._timing import CAVEAT, Timed
from pipeproof.timing.timeline import Span

__all__ = ["picture"]

_COLOURS: Mapping[Kind, tuple[str, str]] = MappingProxyType(
    {
        Kind.F: ("#4c84c4", ""),
        Kind.B: ("#6aa84f", "//"),
        Kind.I: ("#45b0b0", "\\\\"),
        Kind.W: ("#b6a43a", ".."),
        Kind.R: ("#9a86c8", "xx"),
        Kind.L: ("#c07a5a", "++"),
    }
)
_LANE, _WIDTH, _MOST_TEXTS = 0.32, 14.0, 600


def picture(all_: Sequence[Timed], kind: str) -> bytes:
    """Return a picture of every schedule that has a timeline, one above the other, to one scale.

    Args:
        all_: the schedules; those without a timeline are named with the reason.
        kind: `svg` or `png`.
    """
    ranks = [each.timing.line.ranks if each.timing else 1 for each in all_]
    options = {"svg.hashsalt": "pipeproof", "svg.fonttype": "path", "hatch.linewidth": 0.4}
    with mpl.rc_context(options):
        height = min(sum(ranks) * _LANE + 0.9 * len(all_) + 0.4, 200)
        figure = Figure(figsize=(_WIDTH, height), layout="constrained")
        axes = figure.subplots(len(all_), 1, squeeze=False, height_ratios=ranks)[:, 0]
        ends = [e.timing.line.makespan / e.timing.line.unit for e in all_ if e.timing]
        for each, axis in zip(all_, axes, strict=True):
            axis.set_title(_title(each), loc="left", fontsize=9, parse_math=False)
            _draw(each, axis, max(ends, default=1) or 1)
        figure.supxlabel(CAVEAT, fontsize=7)
        held = BytesIO()
        about = {"Date": None} if kind == "svg" else {}
        figure.savefig(held, format=kind, metadata=about, dpi=110)
    return held.getvalue()


def _title(each: Timed) -> str:
    name = "".join(c if c.isprintable() else "\ufffd" for c in each.name)
    name = name if len(name) <= 80 else f"…{name[-79:]}"  # noqa: PLR2004  what fits
    transports = each.transports[0] + (", …" if len(each.transports) > 1 else "")
    if each.timing is None:
        return f"{name} ({transports}): {each.why}"
    bubble = float(100 * each.timing.measures.bubble)
    line = each.timing.line
    return f"{name} ({transports}): makespan {line.makespan / line.unit:g}, bubble {bubble:.3g} %"


def _draw(each: Timed, axis: "mpl.axes.Axes", end: float) -> None:
    axis.set_xlim(0, end)
    if each.timing is None:
        axis.set_yticks([])
        return
    line = each.timing.line
    axis.set_ylim(line.ranks - 0.5, -0.5)
    axis.set_yticks(range(line.ranks), [f"rank {rank}" for rank in range(line.ranks)], fontsize=7)
    axis.tick_params(axis="x", labelsize=7)
    several = len({span.stage for span in line.spans}) > line.ranks
    for kind, (colour, hatch) in _COLOURS.items():
        spans = [span for span in line.spans if span.kind is kind and span.end > span.start]
        for rank in sorted({span.rank for span in spans}):
            bars = [_bar(span, line.unit) for span in spans if span.rank == rank]
            axis.broken_barh(
                bars, (rank - 0.4, 0.8), facecolor=colour, hatch=hatch, edgecolor="white", lw=0.4
            )
    if len(line.spans) <= _MOST_TEXTS:
        for span in line.spans:
            start, long = _bar(span, line.unit)
            if long > end / 150:  # wide enough to be read
                stage = f"{span.stage}" if several else ""
                text = f"{stage}{span.kind.name}{span.microbatch}"
                axis.text(
                    start + long / 2,
                    span.rank,
                    text,
                    ha="center",
                    va="center",
                    fontsize=5.5,
                    parse_math=False,
                )


def _bar(span: Span, unit: int) -> tuple[float, float]:
    return span.start / unit, (span.end - span.start) / unit
