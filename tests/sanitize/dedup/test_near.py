"""Near duplicates: signatures estimate similarity without bias, equal texts are always found, unlike texts never."""

import random

import numpy as np
import pytest

from discreet.errors import SettingError
from discreet.sanitize.dedup.minhash import read_shingle, signatures
from discreet.sanitize.dedup.near import COMPARED, NearTexts, bands_for

WORDS = [f"w{n}" for n in range(3000)]


def pair(draw: random.Random, length: int, changes: int) -> tuple[str, str, float]:
    first = draw.choices(WORDS, k=length)
    second = list(first)
    for _ in range(changes):
        second[draw.randrange(length)] = "changed"
    one, two = ({tuple(words[n : n + 3]) for n in range(length - 2)} for words in (first, second))
    return " ".join(first), " ".join(second), len(one & two) / len(one | two)


def test_signatures_agree_as_often_as_shingles_are_shared():
    """400 pairs, 128 hashes: the mean error has a standard deviation below .002; six of them are once in 10^9."""
    draw = random.Random(1)
    pairs = [pair(draw, 50, draw.randrange(9)) for _ in range(400)]
    made = signatures([text for one, two, _ in pairs for text in (one, two)], "words:3", 128)
    agreed = (made[::2] == made[1::2]).mean(axis=1)
    true = np.array([similarity for _, _, similarity in pairs])
    assert abs((agreed - true).mean()) < 0.012
    assert np.abs(agreed - true).max() < 6 * 0.5 / np.sqrt(128)


def test_a_signature_depends_on_the_text_alone():
    texts = ["a b c d", "", "é à", "a b c d", "?!", "12 34"]
    made = signatures(texts, "words:2", 64)
    for number, text in enumerate(texts):
        assert (signatures([text], "words:2", 64)[0] == made[number]).all()
    assert (made[0] == made[3]).all()
    assert not (made[1] == made[2]).all()


def test_words_ignore_punctuation_and_characters_do_not():
    words = signatures(["call ann, now!", "call ann now"], "words:2", 32)
    characters = signatures(["call ann, now!", "call ann now"], "characters:4", 32)
    assert (words[0] == words[1]).all()
    assert not (characters[0] == characters[1]).all()


def test_later_copies_are_those_like_a_kept_text():
    draw = random.Random(3)
    texts, copies = [], []
    for _ in range(300):
        first, changed, similarity = pair(draw, 60, 1)
        assert similarity > 0.85
        texts += [first, changed]
        copies += [False, True]
    found = NearTexts(0.7).later(texts)
    assert found.tolist() == copies


def test_the_answer_does_not_depend_on_the_lists_texts_come_in():
    draw = random.Random(5)
    texts = [" ".join(draw.choices(WORDS[:12], k=6)) for _ in range(3000)]
    whole = NearTexts(0.6, "words:2").later(texts)
    near = NearTexts(0.6, "words:2")
    pieces = np.concatenate([near.later(texts[start : start + 37]) for start in range(0, len(texts), 37)])
    assert whole.tolist() == pieces.tolist()
    assert 0 < whole.sum() < len(texts)
    assert near.kept == len(texts) - whole.sum()


def test_equal_texts_are_always_found_and_a_greedy_loop_agrees():
    draw = random.Random(8)
    texts = [" ".join(draw.choices(WORDS[:30], k=8)) for _ in range(400)]
    texts += draw.sample(texts, 50)
    near = NearTexts(0.5, "words:1", 64)
    found = near.later(texts)
    signed = near.sign(texts)
    kept: list[int] = []
    for number in range(len(texts)):
        meets = [k for k in kept if (signed.bands[k] == signed.bands[number]).any()]
        like = [k for k in meets if (signed.short[k] == signed.short[number]).mean() >= 0.5]
        assert bool(like) == bool(found[number])
        if not like:
            kept.append(number)
    assert found[400:].all()


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.8, 0.95])
def test_bands_are_as_wide_as_they_can_be_and_still_find_a_pair_at_the_threshold(threshold):
    chosen = bands_for(threshold, 128)
    assert chosen.bands * chosen.rows <= 128
    assert chosen.compared(threshold) >= COMPARED
    wider = type(chosen)(128 // (chosen.rows + 1), chosen.rows + 1)
    assert wider.compared(threshold) < COMPARED


@pytest.mark.parametrize("shingle", ["words", "words:0", "letters:3", "words:100"])
def test_a_shingle_that_makes_no_sense_is_refused(shingle):
    with pytest.raises(SettingError, match=r"words:3"):
        read_shingle(shingle)


def test_settings_out_of_range_are_refused():
    with pytest.raises(SettingError, match="similarity"):
        NearTexts(0.0)
    with pytest.raises(SettingError, match="permutations"):
        NearTexts(permutations=4)
