"""The policy `customersim`: on simulated dialogs, on the published ones, and on forms that neither has."""

from itertools import islice

import pytest
from benchmarks.customersim import marked, read_base
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.policy.contract import POLICIES
from discreet.policy.customersim import CustomerSim
from discreet.policy.measure import measure
from discreet.text.corpora import named
from discreet.text.customersim import simulate
from discreet.text.records import Record, check_secrets

policy = CustomerSim()


def found(text: str) -> list[tuple[str, str]]:
    return [(text[s.start : s.end], s.kind) for s in policy.secrets(Record("1", text))]


def test_it_is_registered_under_its_name():
    assert isinstance(POLICIES["customersim"](), CustomerSim)
    assert policy.spec() == "customersim"


def test_recall_and_precision_on_simulated_dialogs_are_nearly_one():
    score = measure(simulate(3_000, seed=11), policy)
    assert (score.characters["recall"] or 0) > 0.99
    assert (score.characters["precision"] or 0) > 0.98
    assert min(kind.recall for kind in score.by_kind.values()) > 0.99


def test_kinds_agree_with_those_of_the_simulated_dialogs():
    for record in simulate(500, seed=12):
        assert [s[:3] for s in policy.secrets(record)] == [s[:3] for s in record.secrets or ()]


def test_recall_and_precision_on_published_dialogs_are_nearly_one(shared_data):
    folder = shared_data / "customersim"
    base = read_base(folder)
    records = [marked(record, base) for record in islice(named("customersim", folder).records("valid"), 400)]
    score = measure(records, policy)
    assert score.secrets_marked > 3 * 400 - 1
    assert (score.characters["recall"] or 0) > 0.99
    assert (score.characters["precision"] or 0) > 0.98


@pytest.mark.parametrize(
    ("text", "secrets"),
    [
        ("My ID is 341752.", [("341752", "ID")]),
        ("My ID is: 341752", [("341752", "ID")]),
        ("USR: 7 Elm Row Apt. 3, Boise, ID 83702.", [("7 Elm Row Apt. 3, Boise, ID 83702", "ADDRESS")]),
        ("USR: It is Unit 0062 Box 5601 DPO AP 93525.", [("Unit 0062 Box 5601 DPO AP 93525", "ADDRESS")]),
        ("USR: PSC 1, Box 23 APO AE 08721", [("PSC 1, Box 23 APO AE 08721", "ADDRESS")]),
        ("USR: Yes, USS Lee FPO AP 79065.", [("USS Lee FPO AP 79065", "ADDRESS")]),
        ("USR: 555.123.4567 or 5551234567", [("555.123.4567", "PHONE"), ("5551234567", "PHONE")]),
        ("USR: 12345678901 and 555-123.4567", []),
        ("SYS: It is QWERTYUIOP.", [("QWERTYUIOP", "TRACKING")]),
    ],
)
def test_shapes_are_found_wherever_they_stand(text, secrets):
    assert found(text) == secrets


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        ("Ann Lee", "Ann Lee"),
        ("Yes Ann Lee Please call", "Ann Lee"),
        ("I'm Ann Lee-Gray.", "Ann Lee-Gray"),
        ("John Q. O'Hara, thanks", "John Q. O'Hara"),
        ("it is ann lee", "ann lee"),
        ("It's Zoë.", "Zoë"),
        ("Ann Good.", "Ann Good"),
    ],
)
def test_the_answer_to_the_question_for_the_name_is_a_name(answer, name):
    assert found(f"SYS: Your full name?\nUSR: {answer}\n") == [(name, "PERSON")]


@pytest.mark.parametrize("answer", ["no thanks", "I would rather not say.", "Why?", "Wait.", ""])
def test_an_answer_without_a_name_holds_none(answer):
    assert found(f"SYS: Your full name?\nUSR: {answer}\n") == []


def test_a_name_told_unasked_or_corrected_is_found():
    text = "SYS: Anything else?\nUSR: Sorry, that was wrong. Bo Lang\nSYS: Thanks.\nUSR: I am Cy Wood."
    assert found(text) == [("Bo Lang", "PERSON"), ("Cy Wood", "PERSON")]


def test_a_name_once_found_is_found_everywhere_whole_or_in_parts():
    text = "SYS: Hello Lee? Your name?\nUSR: Ann Lee.\nSYS: Thanks Ann, ANN LEE, Ms. Lee; not Leeds."
    assert [value for value, _ in found(text)] == ["Lee", "Ann Lee", "Ann", "ANN LEE", "Lee"]


def test_an_address_without_a_zip_code_is_found_where_it_was_asked_for():
    text = "SYS: Which address?\nUSR: oh, 12 oak road, Boise, call 555-123-4567\nSYS: To 12 Oak Road, Boise?"
    assert found(text) == [
        ("12 oak road, Boise", "ADDRESS"),
        ("555-123-4567", "PHONE"),
        ("12 Oak Road, Boise", "ADDRESS"),
    ]


def test_what_the_assistant_capitalises_is_no_name():
    assert found("SYS: Welcome to Parcel Desk, I am Robot One.\nUSR: Hello.\n") == []


dialog_like = st.text(st.sampled_from("SYSUSR: \n.,'-’ABCabcdz0123456789İß name address ID"), max_size=80) | st.text(
    max_size=60
)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(dialog_like)
def test_any_text_gives_sorted_spans_inside_it_that_do_not_overlap(text):
    secrets = policy.secrets(Record("1", text))
    assert secrets == check_secrets(secrets, text, "here")
    assert secrets == policy.secrets(Record("2", text))
