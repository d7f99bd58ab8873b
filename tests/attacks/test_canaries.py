"""The manifest of canaries, as the attacks read it."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError, SettingError
from discreet.sanitize.canaries.manifest import Manifest
from discreet.sanitize.canaries.template import Slot, Template
from tests.attacks.conftest import DIGITS, DOOR

WORDS = ("red", "green", "blue", "white")
SHAPES = [
    DOOR,
    Template("Tell {0} that {1} was here", (Slot("words", WORDS, 2, " "), Slot("digits", DIGITS, 3))),
    Template("{0}", (Slot("options", ("ab", "cd", "ef"), 4),)),
    Template("{{braces}} {0}.", (Slot("digits", DIGITS, 2, "-"),)),
]


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.sampled_from(SHAPES), st.integers(0, 10**9))
def test_members_are_numbered_and_found_again(template, number):
    number %= template.size
    filling = template.member(number)
    assert template.index(filling) == number
    text = template.fill(filling).text
    assert tuple(text[span.start : span.end] for span in template.fill(filling).secrets) == filling


def test_the_last_draw_counts_fastest():
    assert DOOR.member(0) == ("000",)
    assert DOOR.member(341) == ("341",)
    assert SHAPES[1].member(1) == ("red red", "001")
    assert SHAPES[3].literals == ("{braces} ", ".")
    assert SHAPES[3].fill(("1-2",)).text == "{braces} 1-2."


def test_drawn_members_are_distinct_and_none_of_those_left_out():
    without = [DOOR.member(number) for number in range(900)]
    drawn = DOOR.draw(100, seed=1, without=without)
    assert {DOOR.index(filling) for filling in drawn} == set(range(900, 1000))
    assert DOOR.draw(5, seed=2) == DOOR.draw(5, seed=2) != DOOR.draw(5, seed=3)
    with pytest.raises(SettingError, match="too few"):
        DOOR.draw(101, seed=1, without=without)


def test_a_manifest_is_read_as_it_was_written(manifest, manifest_file):
    assert Manifest.read(manifest_file) == manifest
    assert manifest.record_ids() >= {"canary-0-0", "canary-5-11"}


def test_only_canaries_whose_own_secret_is_in_the_corpus_are_planted(manifest):
    value: Any = manifest.to_json() | {"world": "secret-or-other"}
    for number, canary in enumerate(value["canaries"]):
        canary |= {"coin": number % 2 == 0, "other": ["000"]}
    assert [canary.id for canary in Manifest.from_json(value).planted()] == ["canary-0", "canary-2", "canary-4"]


@pytest.mark.parametrize(
    "change",
    [{"version": 2}, {"world": "other"}, {"size": 7}, {"template": "no slot"}, {"slots": None}, {"canaries": [{}]}],
)
def test_what_is_no_manifest_is_refused_in_one_sentence(tmp_path, manifest, change):
    path = tmp_path / "canaries.json"
    path.write_text(json.dumps(manifest.to_json() | change), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        Manifest.read(path)
    assert "\n" not in str(caught.value)
    assert not any(canary.secret[0] in str(caught.value) for canary in manifest.canaries)


def test_a_missing_manifest_and_a_secret_outside_its_space_say_so(tmp_path):
    with pytest.raises(InputError, match="no such manifest"):
        Manifest.read(tmp_path / "none.json")
    for bad in (("12",), ("12x",), ("1234",)):
        with pytest.raises(SettingError, match="no filling"):
            DOOR.index(bad)
