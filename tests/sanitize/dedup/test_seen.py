"""What was seen before is known again, whatever the sizes of the lists it comes in."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import SettingError
from discreet.sanitize.dedup.seen import BloomTexts, Bucket, SeenTexts, digests

quick = settings(derandomize=True, deadline=None, max_examples=60)
LISTS = st.lists(st.lists(st.sampled_from([f"text {n}" for n in range(40)]) | st.text(max_size=3), max_size=30))


def expected(lists):
    seen: set[str] = set()
    answers: list[list[bool]] = []
    for texts in lists:
        answers.append([])
        for text in texts:
            answers[-1].append(text in seen)
            seen.add(text)
    return answers


@quick
@given(LISTS)
def test_the_first_of_equal_texts_is_new_and_all_others_are_later(lists):
    seen = SeenTexts()
    assert [seen.later(texts).tolist() for texts in lists] == expected(lists)


@quick
@given(LISTS)
def test_a_bloom_filter_never_misses_a_text_it_has_seen(lists):
    bloom = BloomTexts(1000, 0.01)
    for texts, answers in zip(lists, expected(lists), strict=True):
        found = bloom.later(texts)
        assert all(found[np.array(answers, bool)]) if texts else True


def test_many_texts_in_many_runs_are_all_remembered():
    seen = SeenTexts()
    texts = [f"{n}" for n in range(30_000)]
    for start in range(0, len(texts), 700):
        assert not seen.later(texts[start : start + 700]).any()
    assert seen.later(texts[::7]).all()
    assert not seen.later(["never"]).any()


def test_texts_that_share_64_bits_are_still_told_apart():
    bucket = Bucket()
    high = np.array([5, 5, 5], np.uint64)
    low = np.array([3, 1, 2], np.uint64)
    assert not bucket.known_or_add(high, low).any()
    again = bucket.known_or_add(np.array([5, 5], np.uint64), np.array([2, 9], np.uint64))
    assert again.tolist() == [True, False]


def test_a_bloom_filter_errs_about_as_often_as_it_says():
    """100,000 texts never seen, error 1 %: more than 1,150 errors happen by chance less than once in 100,000."""
    bloom = BloomTexts(20_000, 0.01)
    bloom.later([f"seen {n}" for n in range(20_000)])
    probe = bloom._filter.__contains__
    assert sum(probe(f"new {n}") for n in range(100_000)) < 1_300
    assert not bloom.overfull
    bloom.later([f"more {n}" for n in range(10_000)])
    assert bloom.overfull
    assert bloom.bytes < 40_000


def test_digests_are_the_beginning_of_sha_256():
    import hashlib

    (row,) = digests(["abc"])
    assert int(row[0]).to_bytes(8, "big") + int(row[1]).to_bytes(8, "big") == hashlib.sha256(b"abc").digest()[:16]


def test_a_filter_that_makes_no_sense_is_refused():
    with pytest.raises(SettingError):
        BloomTexts(0, 0.1)
