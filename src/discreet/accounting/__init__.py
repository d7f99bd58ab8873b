"""Plans to guarantees: what can be proved about a run, computed without touching data or loading torch.

Read in this order: `profile` (delta as a function of epsilon), `gaussian`, `pld` and `rdp` (where profiles come
from), `samplers` (the profile of a plan), `notion` and one file per notion (`dp`, `selective`, `jft`, `confidential`,
`metric`, `none`), `guarantee` and `statement` (what a run writes down), `budget` (the planner behind `discreet
budget`), `verify`. `docs/accounting.md` derives every formula.
"""
