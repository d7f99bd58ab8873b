"""Templates of canaries: the space can be walked through, every member has one number, and the slots are marked."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import SettingError
from discreet.sanitize.canaries.template import Slot, read_template

quick = settings(derandomize=True, deadline=None, max_examples=80)
WORDS = ["red", "green", "blue", "ink"]
TEMPLATES = st.sampled_from(
    [
        "My ID is {digits:6}.",
        "{capitals:2}-{digits:3} for {red|green|blue}",
        "code {{{hex:4}}}",
        "{words:3} is mine",
        "{characters XYZ:5}{letters:1}",
    ]
)


@quick
@given(TEMPLATES, st.integers(0, 10**9))
def test_numbers_and_members_are_one_to_one_and_the_slots_hold_the_filling(text, number):
    template = read_template(text, WORDS)
    number %= template.size
    filling = template.member(number)
    assert template.index(filling) == number
    filled = template.fill(filling)
    assert filled.text.startswith(template.prefix + filling[0])
    assert tuple(filled.text[s.start : s.end] for s in filled.secrets) == filling


def test_members_come_in_the_order_of_their_numbers():
    template = read_template("{a|b}{digits:1}")
    assert template.size == 20
    members = list(template.members())
    assert members == [template.member(n) for n in range(20)]
    assert members[9:11] == [("a", "9"), ("b", "0")]
    assert len(set(members)) == 20
    assert list(template.members(18)) == members[18:]
    assert list(template.members(3, 5)) == members[3:5]


def test_the_papers_canary_has_a_million_members():
    template = read_template("My ID is {digits:6}.")
    assert (template.size, template.prefix) == (10**6, "My ID is ")
    assert template.bits == pytest.approx(math.log2(10**6))
    assert template.member(341752) == ("341752",)
    assert template.member(7) == ("000007",)


def test_drawn_members_are_different_and_follow_from_the_seed():
    template = read_template("{digits:2}")
    assert sorted(template.draw(100, 1)) == list(template.members())
    assert template.draw(5, 1) == template.draw(5, 1)
    assert template.draw(5, 1) != template.draw(5, 2)
    assert len(set(read_template("{words:40}", WORDS).draw(50, 0))) == 50
    with pytest.raises(SettingError, match="100 members"):
        template.draw(101, 0)


def test_drawn_members_are_uniform():
    """10,000 draws of one digit: a count outside of 1,000 +- 180 happens by chance less than once in 10^8."""
    template = read_template("{digits:1}")
    counts = [0] * 10
    for seed in range(10_000):
        counts[int(template.draw(1, seed)[0][0])] += 1
    assert all(820 < count < 1180 for count in counts)


@pytest.mark.parametrize(
    "wrong",
    ["no slot", "{digits}", "{digits:0}", "{digit:3}", "one { brace", "{words:5}", "{a|a}", "{a|}"],
)
def test_templates_that_make_no_sense_are_refused(wrong):
    with pytest.raises(SettingError):
        read_template(wrong)


def test_fillings_that_could_read_the_same_are_refused():
    with pytest.raises(SettingError, match="read the same"):
        Slot("x", ("a", "aa"), 2)
    with pytest.raises(SettingError, match="read the same"):
        Slot("x", ("a", "b a"), 2, " ")
    assert Slot("x", ("a", "aa"), 2, " ").size == 4


def test_what_is_no_member_has_no_number():
    template = read_template("{digits:3}")
    for wrong in ("12", "1234", "12a"):
        with pytest.raises(SettingError, match="no filling"):
            template.index((wrong,))
    with pytest.raises(SettingError, match="members 0 to 999"):
        template.member(1000)
