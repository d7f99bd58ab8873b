"""Check digits: published examples pass, and every single wrong digit fails."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.policy.finders.checksums import dni, iban, luhn, nhs, routing, social_security, verhoeff

quick = settings(derandomize=True, deadline=None, max_examples=60)


@pytest.mark.parametrize(
    ("check", "number"),
    [
        (luhn, "79927398713"),
        (luhn, "5555555555554444"),
        (iban, "DE89370400440532013000"),
        (iban, "NO9386011117947"),
        (iban, "MT84MALT011000012345MTLCAST001S"),
        (routing, "021000021"),
        (nhs, "9434765919"),
        (verhoeff, "2363"),
        (dni, "12345678Z"),
        (dni, "X1234567L"),
    ],
)
def test_published_examples_pass(check, number) -> None:
    assert check(number)


@quick
@given(
    st.text("0123456789", min_size=2, max_size=18),
    st.integers(0, 17),
    st.integers(1, 9),
    st.sampled_from((luhn, verhoeff)),
)
def test_one_wrong_digit_is_always_noticed(digits: str, at: int, by: int, check) -> None:
    number = next(digits + last for last in "0123456789" if check(digits + last))
    at %= len(number)
    wrong = number[:at] + str((int(number[at]) + by) % 10) + number[at + 1 :]
    assert not check(wrong)


@pytest.mark.parametrize(
    "number", ["DE89370400440532013001", "XX12", "", "DE8937040044053201300", "DE8937040044053201300²"]
)
def test_what_is_no_account_number_fails(number: str) -> None:
    assert not iban(number)


def test_numbers_the_social_security_never_issued_fail() -> None:
    assert social_security("078051120")
    assert not any(map(social_security, ("000051120", "666051120", "078001120", "078050000", "07805112")))
