"""Finding out what a model gives away: exposure, membership, tab, extraction, and audits that bound epsilon from below.

    discreet attack runs/a --canaries canaries.json

One file per attack; `discreet.attacks.attack` runs them on a run or on any causal model's folder.
"""
