"""What every registered policy promises: settled spans, the same answer each time, and a spec that makes it again."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError
from discreet.files import canonical_json
from discreet.policy.contract import POLICIES
from discreet.policy.gold import gold
from discreet.policy.specs import policy
from discreet.text.records import Record, Secret, check_secrets

WITH_SETTINGS: dict[str, Any] = {
    "both": {"both": ["digits", r"regex:\w+"]},
    "imperfect": {"imperfect": {"policy": "digits", "miss": 0.5}},
    "minus": {"minus": [r"regex:\w+", "digits"]},
    "regex": r"regex:\w+",
    "union": {"union": [r"regex:\w\W", r"regex:\W\w"]},
    "words": {"words": ["ann", "a b"]},
}
EXAMPLES: dict[str, Any] = {name: WITH_SETTINGS.get(name, name) for name in POLICIES.names()}
TEXTS = st.text(max_size=60) | st.text("ab Ann01\n.:", max_size=60)


def test_the_registry_finds_the_policies_of_the_house() -> None:
    assert {*WITH_SETTINGS, "customersim", "digits", "gold", "nothing"} <= set(EXAMPLES)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
@settings(derandomize=True, deadline=None, max_examples=60)
@given(text=TEXTS)
def test_answers_are_settled_repeatable_and_the_same_in_a_stream(name: str, text: str) -> None:
    made = policy(EXAMPLES[name])
    record = Record(id="1", text=text, secrets=(Secret(0, 1, "A"),) if text else ())
    secrets = made.secrets(record)
    assert secrets == check_secrets(secrets, text, "here")
    assert secrets == made.secrets(record)
    assert list(made.secrets_of_all(iter([record, record]))) == [(record, secrets)] * 2


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_the_spec_is_json_like_and_makes_the_policy_again(name: str) -> None:
    made = policy(EXAMPLES[name])
    assert canonical_json(policy(made.spec()).spec()) == canonical_json(made.spec())


def test_gold_refuses_a_record_whose_file_does_not_say() -> None:
    with pytest.raises(InputError, match=r"mail.jsonl, line 3: the file does not mark"):
        gold().secrets(Record(id="1", text="Ann", place="mail.jsonl, line 3"))
    assert gold().secrets(Record(id="1", text="Ann", secrets=())) == ()
