"""The counterexample to amplification in Selective-DPSGD, run: an attacker reads the batches off the iterates.

    python -m benchmarks.selective_counterexample

A model with one weight per record and one more. Each record's public text pulls at its own weight, its secret at the
last one. Training is Algorithm 1 of the S-DP paper in miniature: every step draws a Poisson batch (q = .01), makes the
public update without noise, and the private one with each secret's gradient clipped to C and noise sigma C (sigma = 1),
for T = 1000 steps. In world a the first record's secret pulls up, in world b down; all else, public text above all, is
the same, which is what selective differential privacy asks to be hidden.

The attacker sees every iterate, as the definition allows. A step in which the first weight moves had the first record
in its batch; those steps are picked out, the moves of the last weight in them added up, and the sign is the guess. The
threshold is zero, fixed before looking. If sampling amplified privacy, epsilon would be 2.84 and the guess could not be
right this often.
"""

import argparse

import numpy as np
import numpy.typing as npt

from discreet.accounting.audit_bounds import two_worlds, two_worlds_gaussian
from discreet.accounting.samplers import profile_of
from discreet.accounting.selective import SelectivePaper
from discreet.engine.plan import Plan

CLIP, RECORDS, LEARNING_RATE, AT_ONCE = 1.0, 20, 0.1, 100
Floats = npt.NDArray[np.float64]


def train(secret: float, plan: Plan, runs: int, rng: np.random.Generator) -> Floats:
    """The iterates of so many trainings: runs x (steps + 1) x weights."""
    secrets = np.zeros(RECORDS)
    secrets[0] = secret  # the others' secrets stay the same in both worlds; zero stands for any
    batches = rng.random((runs, plan.steps, RECORDS)) < plan.rate
    public = batches.astype(float)
    clipped = np.clip(secrets, -plan.clip, plan.clip)
    private = batches @ clipped + rng.normal(0.0, plan.noise_std, (runs, plan.steps))
    moves = LEARNING_RATE * np.concatenate([public, private[..., None]], axis=2)
    start = np.zeros((runs, 1, RECORDS + 1))
    return np.concatenate([start, np.cumsum(moves, axis=1)], axis=1)


def guesses(iterates: Floats) -> npt.NDArray[np.bool_]:
    """Whether the attacker says world a, from the iterates alone."""
    moves = np.diff(iterates, axis=1)
    present = moves[..., 0] > LEARNING_RATE / 2
    return np.asarray((moves[..., -1] * present).sum(axis=1) > 0)


def attack(plan: Plan, runs: int, seed: int) -> tuple[int, int]:
    """Mistakes in world a and in world b."""
    rng = np.random.default_rng(seed)
    mistakes = []
    for secret, truth in ((5 * CLIP, True), (-5 * CLIP, False)):
        wrong = 0
        for first in range(0, runs, AT_ONCE):
            wrong += int((guesses(train(secret, plan, min(AT_ONCE, runs - first), rng)) != truth).sum())
        mistakes.append(wrong)
    return mistakes[0], mistakes[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000, help="trainings per world")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    plan, delta = Plan(rate=0.01, steps=1000, noise=1.0, clip=CLIP, neighbours="replace"), 1e-5
    amplified = profile_of(plan).epsilon(delta)
    honest = SelectivePaper(plan=plan, delta=delta)
    misses, alarms = attack(plan, options.runs, options.seed)
    proved = two_worlds(alarms, options.runs, misses, options.runs, delta)
    gaussian = two_worlds_gaussian(alarms, options.runs, misses, options.runs, delta)
    print(f"epsilon if the batches were hidden (amplified)      {amplified:8.2f}")
    print(f"epsilon of formula A (nothing amplified)            {honest.epsilon:8.2f}")
    print(f"delta that formula A has at the amplified epsilon   {honest.profile().delta(amplified):8.2f}")
    print(f"mistakes of the attacker in {options.runs} runs per world     {misses:5d} and {alarms}")
    print(f"epsilon at least, with 95 % confidence               {proved:7.2f}")
    print(f"the same, as a Gaussian trade-off (approximate)      {gaussian:7.2f}")
    verdict = "refuted" if proved > amplified else "not refuted by so few runs"
    print(f"\nThe amplified epsilon of {amplified:.2f} is {verdict}.")


if __name__ == "__main__":
    main()
