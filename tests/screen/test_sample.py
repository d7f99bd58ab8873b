"""The sample is drawn by position and seed alone, and the same again."""

from collections import Counter

import pytest

from discreet.errors import InputError, SettingError
from discreet.screen.sample import draw
from discreet.text.records import Record


def records(count, text="text"):
    return [Record(id=f"r{number}", text=f"{text} {number}") for number in range(count)]


def test_neither_text_nor_id_has_a_say_in_what_is_drawn():
    plain = draw(records(500), size=20, seed=3)
    other = draw([Record(id=f"x{n}", text="call 555-0101, Ann" * (n % 7)) for n in range(500)], size=20, seed=3)
    assert plain.positions == other.positions
    assert plain.fingerprint != other.fingerprint


def test_the_seed_says_it_all_and_a_larger_sample_begins_with_the_smaller():
    small, large = draw(records(500), size=20, seed=3), draw(records(500), size=60, seed=3)
    assert large.positions[:20] == small.positions
    assert draw(records(500), size=20, seed=4).positions != small.positions
    assert len(set(large.positions)) == 60
    assert [record.id for record in large.records] == [f"r{position}" for position in large.positions]


def test_every_position_is_drawn_equally_often():
    """400 draws of 5 of 20: each position 100 times, sd 8.7; outside 5 sd by chance once in 80,000 runs."""
    counts = Counter(position for seed in range(400) for position in draw(records(20), size=5, seed=seed).positions)
    assert set(counts) == set(range(20))
    assert all(abs(count - 100) < 5 * 8.7 for count in counts.values())


def test_a_small_corpus_is_taken_whole():
    sample = draw(records(7), size=20)
    assert sorted(sample.positions) == list(range(7))
    assert (sample.size, sample.population) == (20, 7)


def test_only_the_split_that_was_asked_for_is_drawn_from():
    mixed = [Record(id=str(n), text="a", split=("train", "test", None)[n % 3]) for n in range(30)]
    train = draw(mixed, size=30, split="train")
    assert train.population == 20  # those without a split are for training
    assert {record.split for record in train.records} == {"train", None}
    assert draw(mixed, size=30, split="all").population == 30
    with pytest.raises(InputError, match="no records in the split 'valid'; choose test or train"):
        draw(mixed, split="valid")


def test_what_makes_no_sample_is_refused():
    with pytest.raises(SettingError, match="at least one"):
        draw(records(3), size=0)
    with pytest.raises(SettingError, match="no split 'trian'"):
        draw(records(3), split="trian")
