"""The CustomerSim simulator: its dialogs, their true secrets, its customers."""

import re
from collections import Counter
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import SettingError
from discreet.text.customersim import KINDS, CustomerBase, base_size, simulate
from discreet.text.customersim.customers import CAPACITY, PAIRS
from discreet.text.records import Record, check_secrets

SHAPES = {
    "PERSON": r"[A-Z][a-z]+ [A-Z][a-z]+(?:-[A-Z][a-z]+)?",
    "PHONE": r"\d{3}([-.]?)\d{3}\1\d{4}",
    "ORDER": r"\d{3}-\d{5}-\d{4}",
    "ADDRESS": r"(?:\d{1,5}|PO Box \d{2,4})[A-Za-z0-9., ]*, [A-Z][A-Za-z ]+, [A-Z]{2} \d{5}",
    "TRACKING": r"[A-Z0-9]{10}",
}
few = settings(derandomize=True, deadline=None, max_examples=40)
seeds = st.integers(0, 2**64)


def said(record: Record, kind: str) -> list[str]:
    return [record.text[s.start : s.end] for s in record.secrets or () if s.kind == kind]


@few
@given(seed=seeds, n=st.integers(0, 30))
def test_the_same_seed_makes_the_same_dialogs_and_a_longer_simulation_begins_with_the_shorter(seed, n):
    assert list(islice(simulate(40, seed), n)) == list(simulate(n, seed))


def test_another_seed_makes_other_dialogs_with_other_customers():
    one, other = ({name for r in simulate(200, seed) for name in said(r, "PERSON")} for seed in (0, 1))
    assert len(one & other) < 10


@few
@given(seed=seeds)
def test_secrets_cover_exactly_the_values_and_nothing_secret_is_left_outside(seed):
    for record in simulate(20, seed):
        assert record.secrets == check_secrets(record.secrets or (), record.text, "here")
        for secret in record.secrets:
            assert re.fullmatch(SHAPES[secret.kind], record.text[secret.start : secret.end])
        rest = record.text
        for secret in reversed(record.secrets):
            rest = rest[: secret.start] + "_" + rest[secret.end :]
        assert not re.search(r"\d|[A-Z]{4,}", rest)
        for kind in KINDS:
            assert not any(value in rest for value in said(record, kind))


@few
@given(seed=seeds)
def test_turns_are_the_lines_of_the_text_and_speakers_alternate(seed):
    for record in simulate(20, seed):
        lines = [f"{turn.speaker}: {record.text[turn.start : turn.end]}\n" for turn in record.turns]
        assert "".join(lines) == record.text
        assert [turn.speaker for turn in record.turns] == [("SYS", "USR")[i % 2] for i in range(len(lines))]
        assert 6 <= len(lines) <= 11


def test_of_twelve_thousand_dialogs_ten_thousand_are_for_train_and_one_thousand_each_for_valid_and_test():
    splits = Counter(record.split for record in simulate(12_000))
    assert splits == {"train": 10_000, "valid": 1_000, "test": 1_000}


def test_given_splits_come_in_their_order_and_change_nothing_but_the_split():
    records = list(simulate(5, splits={"test": 2, "train": 3}))
    assert [record.split for record in records] == ["test"] * 2 + ["train"] * 3
    assert [record.text for record in records] == [record.text for record in simulate(5)]


@pytest.mark.parametrize(("n", "splits"), [(-1, None), (5, {"train": 4}), (5, {"train": 6, "test": -1})])
def test_impossible_numbers_are_refused_before_anything_is_simulated(n, splits):
    with pytest.raises(SettingError, match="dialogs"):
        simulate(n, splits=splits)


def test_ids_are_unique():
    assert len({record.id for record in simulate(500)}) == 500


def test_three_secrets_are_usual_and_each_slot_is_asked_a_third_of_the_time():
    records = list(simulate(6_000))
    assert Counter(len(r.secrets or ()) for r in records).most_common(1)[0][0] == 3
    slots = Counter(s.kind for r in records for s in r.secrets or ())
    for kind in ("PHONE", "ORDER", "ADDRESS"):
        assert abs(slots[kind] / 6_000 - 1 / 3) < 0.03  # five standard deviations: a false alarm in a million


def test_one_dialog_in_a_hundred_corrects_a_wrong_value_and_both_values_are_secrets():
    corrected = [r for r in simulate(20_000) if any(len(set(said(r, kind))) == 2 for kind in KINDS)]
    assert 130 <= len(corrected) <= 275  # 200 expected, five standard deviations
    assert all(len(said(record, "TRACKING")) == 2 for record in corrected)
    assert all(len(set(said(record, "TRACKING"))) == 1 for record in corrected)


def test_one_dialog_in_a_hundred_tells_the_next_thing_unasked():
    volunteered = [
        record
        for record in simulate(20_000)
        if any(sum(t.start <= s.start < t.end for s in record.secrets or ()) == 2 for t in record.turns)
    ]
    assert 130 <= len(volunteered) <= 275
    assert all(len(record.turns) in (6, 7) for record in volunteered)


def test_customers_return_because_they_are_drawn_with_replacement():
    names = Counter(said(record, "PERSON")[0] for record in simulate(12_000))
    assert 8_500 < len(names) < 9_500  # 20,000 (1 - exp(-0.6)) = 9,024 expected


def test_names_are_unique_also_past_the_last_simple_pair_of_names():
    base = CustomerBase(3)
    numbers = [*range(20_000), *range(PAIRS - 500, PAIRS + 500), *range(CAPACITY - 500, CAPACITY)]
    assert len({base[number].name for number in numbers}) == len(numbers)
    with pytest.raises(IndexError):
        base[CAPACITY]


def test_phones_come_in_all_three_forms():
    base = CustomerBase(0)
    forms = Counter(re.sub(r"\d", "", base[number].phone) for number in range(900))
    assert set(forms) == {"", "--", ".."}
    assert min(forms.values()) > 225  # 300 expected, five standard deviations


def test_the_base_grows_with_the_simulation_and_stops_where_names_run_out():
    assert base_size(0) == base_size(11_999) == 20_000
    assert base_size(1_200_000) == 2_000_000
    assert base_size(10**12) == CAPACITY
