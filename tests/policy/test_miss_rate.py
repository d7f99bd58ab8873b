"""The miss-rate file: written by measuring, read by JFT, and refused for another policy."""

import json

import pytest

from discreet.errors import InputError, RefusedError
from discreet.mechanisms.jft import JFTOptions, checked_sample
from discreet.policy.measure import measure
from discreet.policy.miss_rate import MissRate, read_miss_rate, write_miss_rate
from discreet.policy.specs import policy
from discreet.text.records import Record, Secret

DIGITS = policy("digits")


def labelled() -> list[Record]:
    marks = (Secret(0, 3, "NAME"), Secret(4, 5, "NUMBER"))
    return [Record(id=str(number), text="Ann 1", secrets=marks) for number in range(3)]


def test_what_measuring_finds_comes_back_from_the_file(tmp_path) -> None:
    rate = measure(labelled(), DIGITS).miss_rate(DIGITS)
    assert (rate.missed, rate.sample, rate.records, rate.how) == (3, 6, 3, "measured")
    assert rate.by_kind == {"NAME": (3, 3), "NUMBER": (0, 3)}
    write_miss_rate(tmp_path / "rate.json", rate)
    again = read_miss_rate(tmp_path / "rate.json")
    assert (again.missed, again.sample, again.policy) == (3, 6, DIGITS.fingerprint())
    assert "Ann" not in (tmp_path / "rate.json").read_text()


def test_jft_takes_its_counts_from_the_file_of_its_own_policy(tmp_path) -> None:
    path = tmp_path / "rate.json"
    write_miss_rate(path, MissRate(3, 6, DIGITS.fingerprint()))
    options = JFTOptions(name="jft", epsilon=3, delta=1e-6, miss_rate=str(path))
    assert checked_sample(options, DIGITS) == (3, 6)
    with pytest.raises(RefusedError, match="another policy"):
        checked_sample(options, policy("nothing"))
    with pytest.raises(ValueError, match="not both"):
        JFTOptions(name="jft", epsilon=3, delta=1e-6, miss_rate=str(path), missed=1, sample=2)
    assert checked_sample(JFTOptions(name="jft", epsilon=3, delta=1e-6, missed=1, sample=2), DIGITS) == (1, 2)


@pytest.mark.parametrize(
    "content",
    [
        "no json",
        "[]",
        '{"form": "other"}',
        '{"form": "miss-rate", "missed": 1}',
        '{"form": "miss-rate", "missed": 3, "sample": 2, "policy": "a"}',
        '{"form": "miss-rate", "missed": true, "sample": 2, "policy": "a"}',
        '{"form": "miss-rate", "missed": 0, "sample": 0, "policy": "a"}',
    ],
)
def test_other_files_are_refused_with_their_name(tmp_path, content) -> None:
    (tmp_path / "rate.json").write_text(content)
    with pytest.raises(InputError, match=r"rate\.json"):
        read_miss_rate(tmp_path / "rate.json")
    with pytest.raises(InputError, match="no such miss-rate file"):
        read_miss_rate(tmp_path / "none.json")


def test_a_file_without_marks_has_no_miss_rate() -> None:
    with pytest.raises(InputError, match="marks no secrets"):
        measure([Record(id="1", text="a", secrets=())], DIGITS).miss_rate(DIGITS)


def test_the_form_is_the_documented_one(tmp_path) -> None:
    write_miss_rate(tmp_path / "rate.json", MissRate(1, 2, "f", how="screened"))
    value = json.loads((tmp_path / "rate.json").read_text())
    assert value == {
        "form": "miss-rate", "missed": 1, "sample": 2, "policy": "f", "how": "screened", "records": 0, "by_kind": None
    }  # fmt: skip
