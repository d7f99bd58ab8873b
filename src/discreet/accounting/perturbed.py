"""The guarantee of a perturbed text, from its settings and from what the perturbation counted on its way.

The headline is for the record with the most (different) secret words, each exchanged for any word of the vocabulary,
however far: nothing has to be believed about which words an adversary thinks of. Beside it stand the bound for one
word and that for each unit of distance, from which any other follows.
"""

from discreet.accounting.metric import MetricPrivacy
from discreet.sanitize.perturb.embedding import Embedding
from discreet.sanitize.perturb.run import Perturbation, Tally


def metric_privacy(settings: Perturbation, embedding: Embedding, tally: Tally) -> MetricPrivacy:
    """What is proved of a perturbed text: for the record with the most words, each exchanged for any other word."""
    return MetricPrivacy(
        selective=settings.form == "smdp",
        per_distance=settings.epsilon,
        distances=(round(embedding.farthest, 6),) * max(1, tally.most_in_record),
        draws=tally.most_draws if settings.form == "smdp" else 1,
        unknown_words=settings.unknown,
        dimension=embedding.dimension,
        checked=("output", "draws", "unknown-words", *(("noise",) if settings.seed is None else ())),
    )
