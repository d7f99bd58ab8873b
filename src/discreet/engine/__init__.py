"""Private optimization: sampling, exact per-record clipping, noise, and the step that joins them.

    from discreet.engine import clipped_sum
    sums, norms = clipped_sum(model, batch, loss, clip=1.0)

Names are loaded when first asked for: `discreet.engine.plan`, which the accountant reads, works without torch.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.engine.clipping.clipped import clipped_sum as clipped_sum
    from discreet.engine.make_private import make_private as make_private

_HOMES = {"clipped_sum": "discreet.engine.clipping.clipped", "make_private": "discreet.engine.make_private"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        import importlib

        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'discreet.engine' has no attribute '{name}'")
