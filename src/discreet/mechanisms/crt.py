"""Confidentially Redacted Training (Zhao et al. 2022), Algorithm 1: redact what a policy finds, doubt what it may miss.

    D    the training text as points: whole sentences (or turns, or records)
    D'   every later copy of a point becomes one mask
    D''  redacted by the policy
    D_pri  points with a mask, or in which the conservative policy finds anything; D_pub  all others
    for every epoch: plain training on D_pub, then DP-SGD with Poisson batches on D_pri

A secret that the policy masks costs nothing. One it misses costs the epsilon of the private epochs, as long as the
conservative policy doubts its sentence. Without a conservative policy every point is private.

The paper's appendix A.6 lists what breaks the proof; here is what keeps each from happening:

- points are cut before anything is redacted or taken out, so both worlds have the same points (`points_of`);
- they are whole sentences, so a secret is not cut in two;
- copies and secrets become the same mask, so masks tell nothing apart (another redaction style is refused);
- a mask in the text itself is refused or escaped by redaction, so every mask is ours;
- every point with a mask is private (`divided`);
- public and private points are never in one batch: they are two sources (`PublicEpochs`, the private phase);
- policies look at a point alone, so what they say of other points cannot depend on a secret.

A vocabulary trained on the redacted text would hold what the policy missed: it is refused unless declared public.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from torch import nn

from discreet.accounting.confidential import Confidentiality
from discreet.accounting.guarantee import Guarantee
from discreet.engine.plain import make_optimizer, step_seed, update
from discreet.engine.precision import resolve
from discreet.engine.schedule import factor
from discreet.errors import InputError, SettingError
from discreet.mechanisms.contract import MECHANISMS
from discreet.mechanisms.private import PrivateOptions, check_vocabulary, delta_of, planned, run_phase
from discreet.mechanisms.training import Training, redacted_records
from discreet.policy.contract import Policy
from discreet.policy.specs import policy as make_policy
from discreet.sanitize.dedup.parts import normalised, parts
from discreet.sanitize.dedup.seen import SeenTexts
from discreet.text.records import Record, Secret

CHECKS = ("split", "literal-mask")


class CRTOptions(PrivateOptions):
    conservative: Any = None
    """The policy that clears points for public training by finding nothing in them; None: none are cleared."""
    points: Literal["sentence", "turn", "record"] = "sentence"
    dedup: bool = True
    miss: Annotated[float, Field(ge=0, le=1)] | None = None
    missed: Annotated[int, Field(ge=0)] | None = None
    sample: Annotated[int, Field(ge=1)] | None = None
    """The share of secrets the policy misses, or `missed` of a `sample` checked by hand: for the Bayesian guarantee."""
    conservative_miss: Annotated[float, Field(ge=0, le=1)] = 0.0
    """The share that the conservative policy misses too."""
    group: Annotated[int, Field(ge=1)] = 1
    """Distinct sentences that may hold the same secret."""
    public_vocabulary: bool = False
    """Declares public the redacted text that the tokenizer is trained on."""


@MECHANISMS.register("crt")
class ConfidentiallyRedactedTraining:
    """Learns plainly from what two policies clear, and through noised updates from the rest, redacted."""

    needs_policy = True
    Options = CRTOptions

    def train(self, training: Training, options: CRTOptions) -> Guarantee:
        training.must_be_language()
        check(training, options)
        covered = check_vocabulary(training, options.public_vocabulary)
        cleared, doubtful = divided(training, options)
        private = encoded(training, doubtful)
        epochs = options.epochs or training.recipe.training.epochs
        plan = planned("crt", options, len(private), epochs)
        public = PublicEpochs(training, encoded(training, cleared), epochs) if cleared else None
        phase = run_phase(training, private, plan, options, public_epochs=public)
        whole = ("sentences",) if options.dedup else ()
        notion = Confidentiality(
            plan=plan,
            miss=options.miss,
            missed=options.missed,
            sample=options.sample,
            conservative_miss=options.conservative_miss,
            group=options.group,
            delta=delta_of(options, len(private)),
            records=len(private),
            spent=phase.spent,
            checked=(*phase.checked, *CHECKS, *whole, *(("vocabulary",) if covered else ())),
        )
        return notion.guarantee()


def check(training: Training, options: CRTOptions) -> None:
    if training.recipe.redaction.style != "mask":
        raise SettingError("'crt' writes copies and secrets as the same mask; leave redaction.style at mask.")
    if options.unit != "record":
        raise SettingError("'crt' protects sentences; leave out unit: author.")


def points_of(record: Record, level: str) -> Iterator[Record]:
    """A record's points, which together hold all its text: each goes from the end of the one before to its own."""
    start = 0
    spans = parts(record, level)
    for number, part in enumerate(spans):
        end = len(record.text) if number + 1 == len(spans) else part.end
        text = record.text[start:end]
        begin = start + len(text) - len(text.lstrip())
        own = None if record.secrets is None else _within(record.secrets, begin, end)
        yield replace(record, id=f"{record.id}/{number}", text=record.text[begin:end], secrets=own, turns=())
        start = end


def _within(secrets: tuple[Secret, ...], begin: int, end: int) -> tuple[Secret, ...]:
    """The marked secrets of a stretch of text; one that reaches over its edge is cut there."""
    inside = (s for s in secrets if s.start < end and s.end > begin)
    return tuple(s._replace(start=max(s.start, begin) - begin, end=min(s.end, end) - begin) for s in inside)


def divided(training: Training, options: CRTOptions) -> tuple[list[Record], list[Record]]:
    """D_pub and D_pri: the points that two policies clear, and all others, redacted and without copies."""
    points = [p for record in training.corpus.records("train") for p in points_of(record, options.points)]
    if not points:
        raise InputError(f"There are no records in the train split of the corpus '{training.corpus.name}'.")
    copies = SeenTexts().later([normalised(p.text) for p in points]) if options.dedup else [False] * len(points)
    first = [point for point, copy in zip(points, copies, strict=True) if not copy]
    redacted = redacted_records(first, training.policy, training.recipe)
    cleared, doubtful = list[Record](), list[Record]()
    for point, doubt in zip(redacted, doubted(first, options.conservative), strict=True):
        (doubtful if doubt or point.secrets else cleared).append(point)
    mask = training.recipe.redaction.mask
    whole = (Secret(0, len(mask), "COPY"),)
    doubtful += (replace(p, text=mask, secrets=whole) for p, copy in zip(points, copies, strict=True) if copy)
    return cleared, doubtful


def doubted(points: list[Record], conservative: Any) -> Iterator[bool]:
    """For each point, whether the conservative policy finds anything in it; without one, always."""
    if conservative is None:
        yield from (True for _ in points)
        return
    policy: Policy = make_policy(conservative)
    yield from (bool(found) for _, found in policy.secrets_of_all(points))


def encoded(training: Training, points: list[Record]) -> Any:
    """Redacted points as the model reads them; masks are context and never targets.

    Nor is the end of a point that is nothing but a mask: most private points are such where text repeats itself, and
    they would teach the model to end.
    """
    made = training.task.encode(((point, ()) for point in points), masks=lambda point: point.secrets or ())
    silent = [number for number, point in enumerate(points) if point.text == training.recipe.redaction.mask]
    made.ignored[made.starts[1:][silent] - 1] = True
    return made


@dataclass
class PublicEpochs:
    """Line 6 of Algorithm 1: an epoch of plain training, with an optimizer of its own."""

    training: Training
    examples: Any
    epochs: int

    def __call__(self, model: nn.Module) -> "PublicEpochs":
        settings, seed = self.training.recipe.training, self.training.recipe.seed
        self.optimizer: torch.optim.Optimizer = make_optimizer(model, settings)
        self._source = self.training.task.source(self.examples, settings, seed)
        self._lengths = [len(self._source.plan(epoch)) for epoch in range(self.epochs)]
        return self

    def updates(self, epoch: int, done: int) -> Iterator[None]:
        training, settings, seed = self.training, self.training.recipe.training, self.training.recipe.seed
        items = self._source.plan(epoch)
        before, total, precision = sum(self._lengths[:epoch]), sum(self._lengths), resolve(settings.precision)
        for number, item in enumerate(items[done:], before + done):
            rate = settings.learning_rate * factor(settings.schedule, number, total, settings.warmup)
            for group in self.optimizer.param_groups:
                group["lr"] = rate
            torch.manual_seed(step_seed(seed, number))
            batch = self._source.load(item)
            value, count = update(
                training.model, batch, training.task.loss, self.optimizer, settings.gradient_clip, precision
            )
            training.bar.step(f"public {epoch + 1}", number + 1, total, value / max(1, count), count)
            yield
