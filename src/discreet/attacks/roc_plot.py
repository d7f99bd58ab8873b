"""The ROC curves of an attack as a picture: logarithmic axes, because few false alarms are what matters."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.files import whole_binary

Curve = tuple[NDArray[np.float64], NDArray[np.float64]]


def draw_curves(panels: Mapping[str, Mapping[str, Curve]], path: Path) -> None:
    """One panel for each kind of text, one curve for each signal, as SVG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5 * len(panels), 4.6), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for axis, (what, curves) in zip(axes, panels.items(), strict=True):
        least = 1e-3
        axis.plot([least, 1], [least, 1], color="0.6", linestyle=":", label="guessing")
        for name, (false, true) in curves.items():
            axis.step(np.maximum(false, least), np.maximum(true, least), where="post", label=name, linewidth=1.3)
        axis.set(xscale="log", yscale="log", xlim=(least, 1), ylim=(least, 1.05), title=what)
        axis.set(xlabel="share of others taken for members", ylabel="share of members recognised")
        axis.legend(fontsize="small", loc="lower right")
    with whole_binary(path) as out:
        figure.savefig(out, format="svg", metadata={"Date": None})
