"""MDP and SMDP: words exchanged for others near them in an embedding, then plain training on what came out.

Everything private happens before training, so the model is post-processing of the perturbed text, which is kept in
the run (`perturbed.jsonl`): a run that is resumed goes on with the same text, because a second draw would be a second
release.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from discreet.accounting.guarantee import Guarantee
from discreet.accounting.metric import MetricPrivacy
from discreet.accounting.perturbed import metric_privacy
from discreet.errors import RefusedError
from discreet.files import read_json, write_json
from discreet.mechanisms.contract import MECHANISMS, MechanismOptions
from discreet.mechanisms.training import Training
from discreet.sanitize.perturb.embedding import GLOVE, load_embedding
from discreet.sanitize.perturb.run import Perturbation, Perturber, Tally, perturb_all
from discreet.text.reading import open_records
from discreet.text.writing import write


class MetricOptions(MechanismOptions):
    epsilon: Annotated[float, Field(gt=0)]
    """Per unit of distance in the embedding."""
    embedding: str = GLOVE
    unknown: Literal["fixed-vector", "pieces", "mask"] = "fixed-vector"
    draws: Literal["secret", "occurrence"] | None = None
    index: Literal["exact", "approximate"] = "exact"
    randomness: Literal["secure", "fast"] = "secure"
    """`fast` repeats with the seed: for experiments."""
    validation: Literal["none", "public"] = "none"
    """`public` declares the validation split public, so that the best epoch may be chosen on it."""
    public_vocabulary: bool = False
    """mdp: declares public the redacted text that the tokenizer is trained on."""


@MECHANISMS.register("smdp")
class SelectiveMetric:
    """Learns from text whose secrets were exchanged."""

    needs_policy: ClassVar[bool] = True
    form: ClassVar[Literal["smdp", "mdp"]] = "smdp"
    Options = MetricOptions

    def train(self, training: Training, options: MetricOptions) -> Guarantee:
        tokenizer = training.recipe.tokenizer
        if self.form == "mdp" and tokenizer is not None and tokenizer.train and not options.public_vocabulary:
            raise RefusedError(
                "A vocabulary trained on these records is not covered by the privacy of all their words; take a public "
                "tokenizer (tokenizer: gpt2), or declare its text public (mechanism.public_vocabulary: true)."
            )
        settings = Perturbation(
            options.epsilon,
            self.form,
            options.unknown,
            options.draws,
            options.index,
            training.recipe.redaction.mask,
            training.recipe.seed if options.randomness == "fast" else None,
        )
        text, facts = training.run.path / "perturbed.jsonl", training.run.path / "perturbed.json"
        if not facts.exists():
            embedding = load_embedding(options.embedding)
            tally = Tally()
            records = training.corpus.records("train")
            write(text, perturb_all(records, training.policy, Perturber(embedding, settings), tally))
            write_json(facts, metric_privacy(settings, embedding, tally).model_dump(mode="json"))
        perturbed = ((record, record.secrets or ()) for record in open_records(text))
        training.fit_public(training.task.encode(perturbed), choose=options.validation == "public")
        return MetricPrivacy(**read_json(facts)).guarantee()


@MECHANISMS.register("mdp")
class Metric(SelectiveMetric):
    """Learns from text all of whose words were exchanged."""

    needs_policy: ClassVar[bool] = False
    form: ClassVar[Literal["smdp", "mdp"]] = "mdp"
