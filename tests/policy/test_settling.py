"""Compiled loops make the same secrets of findings as the others, and know the words they need to know."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.policy import finders
from discreet.policy.finders import addresses
from discreet.policy.finders.fast import findings, loading, settling, signs
from discreet.policy.finders.fast.marks import MEASURES, marked_words
from discreet.policy.finders.fast.reading import _classes
from discreet.policy.finders.fast.vocabulary import code_points
from discreet.policy.finders.numbers import NO_CODES
from discreet.policy.finders.page import Part
from discreet.policy.pii import PII, _divided
from discreet.text.records import Secret

SPANS = st.lists(
    st.tuples(
        st.integers(0, 40),
        st.integers(0, 9),
        st.sampled_from(findings.KINDS),
        st.sampled_from([0, 30, 50, 85, 90, 191]),
    ),
    max_size=14,
)
ENDS = [7, 20, 20, 49]


@settings(derandomize=True, deadline=None, max_examples=300)
@given(SPANS, SPANS, st.sampled_from([0.0, 0.5]), st.dictionaries(st.sampled_from(findings.KINDS), st.just(0.85)))
def test_findings_are_merged_and_divided_as_without_the_compiler(one, other, threshold, kinds) -> None:
    rows = [(start, start + length, findings.NUMBERS[kind], score) for start, length, kind, score in one]
    array = np.array(rows, np.int64).reshape(-1, findings.PARTS)
    rest = [Secret(start, start + length, kind, findings.SCORES[score]) for start, length, kind, score in other]
    starts = [0, 9, 20, 22]
    parts = [Part(start, end, ()) for start, end in zip(starts, ENDS, strict=True)]
    expected = _divided(PII(None).at(threshold, kinds).reaching(findings.secrets(array) + rest), parts)
    assert settling.secrets_of_texts([array], rest, threshold, kinds, np.array(starts), np.array(ENDS), 60) == expected


def test_the_numbers_of_kinds_are_in_the_order_of_the_alphabet_and_no_kind_lacks_one() -> None:
    assert list(findings.KINDS) == sorted(findings.KINDS)
    sources = [path.read_text("utf-8") for path in Path(finders.__file__).parent.glob("*.py")]
    used = {kind for source in sources for kind in re.findall(r"Secret\([^\"\n]*\"([A-Z]+)\"", source)}
    assert {"PERSON", "EMAIL", "PLATE", "AGE"} <= used <= set(findings.KINDS)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.lists(st.sampled_from([*sum(signs.WORDS.values(), ()), "x", " ", "é", "."]), max_size=8).map("".join))
def test_signs_are_where_a_search_finds_them(text: str) -> None:
    loading.loaded()
    letters = code_points(text)
    found = signs.signs_of(_classes(), letters, letters)
    for sort, words in signs.WORDS.items():
        places = {(at, at + len(word)) for word in words for at in range(len(text)) if text.startswith(word, at)}
        assert set(found.get(sort, ())) == places


def test_whatever_is_compiled_is_compiled_before_a_stream_is_read() -> None:
    code = (
        "from discreet.policy.finders.fast.loading import loaded; loaded();"
        "from discreet.policy.finders.fast import reading, said, settling, signs, vocabulary;"
        "kept = [made for module in (reading, said, settling, signs, vocabulary) for made in vars(module).values()"
        " if hasattr(made, 'signatures') and made.targetoptions.get('nogil')"
        " and not made.targetoptions.get('no_cpython_wrapper')];"
        "assert len(kept) > 10, kept; print([made for made in kept if not made.signatures])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_a_code_that_is_a_measure_is_no_code() -> None:
    assert all(NO_CODES.fullmatch(f"5{measure}") for measure in MEASURES)


def test_no_list_has_a_word_with_a_letter_whose_small_form_depends_on_its_place() -> None:
    assert not [word for word in marked_words()[0] if "\u03c3" in word or "\u03c2" in word]


def test_of_two_signs_at_one_place_one_begins_with_the_other_and_of_three_none_do() -> None:
    words = sum(signs.WORDS.values(), ())
    most = max(sum(longer.startswith(word) or word.startswith(longer) for word in words) for longer in words)
    assert most < signs.MOST_AT_ONE_PLACE
    assert addresses.SAID_BEFORE[0] in words
