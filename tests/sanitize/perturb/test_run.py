"""Perturbation: no secret word passes, the ratio bound holds, one draw is one draw, and public text stays."""

import math
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from discreet.errors import RefusedError, SettingError
from discreet.policy.specs import policy
from discreet.sanitize.perturb.embedding import Embedding
from discreet.sanitize.perturb.nearest import Nearest
from discreet.sanitize.perturb.noise import Draws
from discreet.sanitize.perturb.run import Perturbation, Perturber, Tally, perturb_all
from discreet.text.records import Record, Secret, Turn

pytest.importorskip("faiss", reason="needs the extra perturb")
quick = settings(derandomize=True, deadline=None, max_examples=60)
NAMES = policy(r"regex:(?i)\b(ann|bob|cleo|dan|zorro|4711|99)\b")


def perturbed(records, embedding, chosen=NAMES, tally=None, **changes):
    perturber = Perturber(embedding, Perturbation(**{"epsilon": 1.0, "seed": 1, **changes}))
    return list(perturb_all(records, chosen, perturber, tally))


@quick
@given(
    st.lists(st.sampled_from(["Ann", "bob", "zorro", "4711", "public", "the", ".", "\n"]), max_size=12),
    st.sampled_from(["fixed-vector", "pieces", "mask"]),
    st.sampled_from(["secret", "occurrence"]),
)
def test_public_text_stays_and_what_stands_for_secrets_is_from_the_vocabulary(small, words, unknown, draws):
    text = " ".join(words)
    (changed,) = perturbed([Record("1", text)], small, unknown=unknown, draws=draws)
    spans = [(s.start, s.end) for s in NAMES.secrets(Record("1", text))]
    marks = [(s.start, s.end) for s in changed.secrets]
    assert len(marks) == len(spans)
    assert _outside(text, spans) == _outside(changed.text, marks)
    allowed = {*small.words, "<MASK>"}
    for start, end in marks:
        assert set(changed.text[start:end].split()) <= allowed


def _outside(text, spans):
    pieces, after = [], 0
    for start, end in spans:
        pieces.append(text[after:start])
        after = end
    return [*pieces, text[after:]]


def exchange_counts(embedding, word, epsilon, count):
    perturber = Perturber(embedding, Perturbation(epsilon=epsilon, draws="occurrence"), Draws.of_seed(5))
    labels = [f"{word} {number}".encode() for number in range(count)]
    return Counter(perturber.exchange([word] * count, labels))


@pytest.mark.parametrize("epsilon", [0.15, 0.5])
def test_no_outcome_is_more_than_the_bound_more_likely_from_one_word_than_from_another(epsilon):
    """The mechanism's bound e^(epsilon d), by simulation on a tiny vocabulary: 40,000 draws a word.

    A lower confidence limit of one probability is compared with the upper of the other, each wrong less than once in
    10^8; 5 words and the unknown one make 180 comparisons.
    """
    words = ["a", "b", "c", "d", "e"]
    vectors = np.array([[0, 0], [1, 0], [0, 2], [3, 1], [-2, -2]], np.float32)
    embedding = Embedding(words, vectors)
    count, wrong = 40_000, 1e-8
    asked = [*words, "unknown"]
    points = {word: embedding.vectors[embedding.row(word)] for word in words} | {"unknown": np.zeros(2)}
    found = {word: exchange_counts(embedding, word, epsilon, count) for word in asked}
    informative = 0
    for one in asked:
        for two in asked:
            bound = math.exp(epsilon * float(np.linalg.norm(points[one] - points[two])))
            for outcome in words:
                low = beta.ppf(wrong, found[one][outcome], count - found[one][outcome] + 1)
                high = beta.ppf(1 - wrong, found[two][outcome] + 1, count - found[two][outcome])
                assert low <= bound * high
                informative += found[one][outcome] > 1.2 * found[two][outcome]
    assert informative  # the words do differ: noise that drowned everything would pass too


def test_the_bound_would_be_broken_by_half_the_noise():
    """The check above can fail: with noise for twice the epsilon, two words 4 apart give themselves away."""
    embedding = Embedding(["a", "b"], np.array([[0.0], [4.0]], np.float32))
    count = 40_000
    near, far = (exchange_counts(embedding, word, 1.0, count)["a"] for word in ("a", "b"))
    low = beta.ppf(1e-8, near, count - near + 1)
    high = beta.ppf(1 - 1e-8, far + 1, count - far)
    assert low > math.exp(0.5 * 4.0) * high


def test_a_secret_gets_one_draw_wherever_it_stands_whatever_its_case(small):
    records = [Record("1", "ann and Ann"), Record("2", "ANN and bob"), Record("3", "ann")]
    texts = [record.text for record in perturbed(records, small, epsilon=0.2)]
    first = texts[2]
    assert texts[0] == f"{first} and {first}"
    assert texts[1].startswith(f"{first} and ")


def test_each_occurrence_gets_its_own_draw_when_asked_and_the_composition_is_counted(small):
    tally = Tally()
    records = [Record(str(n), "ann ann bob") for n in range(40)]
    texts = [record.text for record in perturbed(records, small, epsilon=0.2, draws="occurrence", tally=tally)]
    assert len(set(texts)) > 20
    assert (tally.most_draws, tally.most_in_record, tally.words) == (80, 2, 120)
    reused = Tally()
    perturbed(records, small, tally=reused)
    assert (reused.most_draws, reused.most_in_record) == (1, 2)


def test_repeated_ids_do_not_share_noise_between_different_words(small):
    perturber = Perturber(small, Perturbation(epsilon=1.0, draws="occurrence"))
    record = Record("same", "x")
    assert perturber.label("ann", record, "text", 0) != perturber.label("bob", record, "text", 0)
    assert perturber.label("ann", record, "text", 0) != perturber.label("ann", record, "pair", 0)
    assert perturber.label("ann", record, "text", 0) != perturber.label("ann", record, "text", 1)


def test_unknown_words_cannot_be_told_apart_at_their_fixed_vector(small):
    """With a little noise only, every unknown word becomes the word nearest to the mean."""
    texts = [record.text for record in perturbed([Record("1", "zorro"), Record("2", "99")], small, epsilon=1e6)]
    nearest = small.words[int(np.linalg.norm(small.vectors, axis=1).argmin())]
    assert texts == [nearest, nearest]


def test_unknown_words_are_split_or_masked_when_asked_and_never_pass(small):
    numbers = policy("digits")
    (pieces,) = perturbed([Record("1", "id 471112")], small, numbers, epsilon=1e6, unknown="pieces")
    assert pieces.text == "id 4711 12"
    (masked,) = perturbed([Record("1", "id 471112")], small, numbers, epsilon=1e6, unknown="mask")
    assert masked.text == "id <MASK>"
    with pytest.raises(SettingError, match="unchanged"):
        Perturbation(epsilon=1.0, unknown="unchanged")


def test_capitals_spacing_and_inner_punctuation_do_not_come_back(small):
    secret = policy("regex:Ann.*Bob")
    (changed,) = perturbed([Record("1", "x Ann   \tBob y")], small, secret, epsilon=1e6)
    assert changed.text == "x ann bob y"
    assert [(s.start, s.end) for s in changed.secrets] == [(2, 9)]


def test_mdp_exchanges_every_word_and_keeps_spaces_and_speakers(small):
    text = "USR: Ann  call\nSYS: the unknownword.\n"
    dialog = Record("1", text, turns=(Turn("USR", 5, 14), Turn("SYS", 20, 36)), secrets=(Secret(5, 8, "PERSON"),))
    tally = Tally()
    (changed,) = perturbed([dialog], small, None, tally, form="mdp", epsilon=0.5)
    assert re.fullmatch(r"USR: \S+  \S+\nSYS: \S+ \S+\n", changed.text)
    assert changed.secrets is None
    assert (tally.words, tally.unknown, tally.most_in_record) == (5, 1, 5)
    (same,) = perturbed([Record("2", "Ann, the 4711.")], small, None, form="mdp", epsilon=1e6)
    assert same.text.startswith("ann")
    assert " the 4711." in same.text


def test_one_draw_for_each_word_of_the_whole_text_is_refused(small):
    with pytest.raises(RefusedError, match="substitution cipher"):
        Perturbation(epsilon=1.0, form="mdp", draws="secret")
    with pytest.raises(SettingError, match="needs a policy"):
        perturbed([Record("1", "x")], small, None)


def test_pair_texts_are_perturbed_too_and_other_fields_are_named(small):
    tally = Tally()
    record = Record("1", "ann", pair="bob x", author="me", fields={"topic": "a"})
    (changed,) = perturbed([record], small, tally=tally, epsilon=0.3)
    assert (changed.pair or "").endswith(" x")
    assert changed.author == "me"
    assert tally.kept == {"author", "topic"}
    assert tally.words == 2


def test_the_outcome_does_not_depend_on_how_many_words_are_asked_for_at_once(small):
    words = [f"{word}{end}" for word in small.words for end in ("", "x")]
    labels = [word.encode() for word in words]
    whole = Perturber(small, Perturbation(epsilon=0.5), Draws.of_seed(1)).exchange(words, labels)
    one = Perturber(small, Perturbation(epsilon=0.5), Draws.of_seed(1))
    assert [one.exchange([word], [label])[0] for word, label in zip(words, labels, strict=True)] == whole


def test_the_exact_index_finds_the_nearest_word_and_an_approximate_one_nearly_always():
    draw = np.random.Generator(np.random.PCG64(2))
    embedding = Embedding([f"w{n}" for n in range(12_000)], draw.normal(size=(12_000, 8)).astype(np.float32))
    points = draw.normal(size=(200, 8)) * 1.5
    away = embedding.vectors[None].astype(np.float64) - points[:, None]
    true = (away**2).sum(2).argmin(1)
    assert (Nearest(embedding).rows(points) == true).all()
    assert (Nearest(embedding, "approximate").rows(points) == true).mean() > 0.9
    with pytest.raises(SettingError, match="exact"):
        Nearest(embedding, "exakt")


@pytest.mark.parametrize("wrong", [{"epsilon": 0.0}, {"epsilon": math.inf}, {"form": "dp"}, {"draws": "never"}])
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(SettingError):
        Perturbation(**{"epsilon": 1.0, **wrong})
