"""What every registered policy promises: settled spans, the same answer each time, and a spec that makes it again."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError
from discreet.files import canonical_json
from discreet.policy.contract import POLICIES
from discreet.policy.gold import gold
from discreet.policy.language import installed_model
from discreet.policy.specs import policy
from discreet.text.records import Record, Secret, check_secrets

WITH_SETTINGS: dict[str, Any] = {
    "above": {"above": {"policy": "pii", "threshold": 0.3, "kinds": {"NUMBER": 0.7}}},
    "allow": {"allow": {"policy": "digits", "source": ["0"]}},
    "both": {"both": ["digits", r"regex:\w+"]},
    "conservative": {"conservative": {"policy": {"minus": ["pii", "digits"]}}},
    "imperfect": {"imperfect": {"policy": "digits", "miss": 0.5}},
    "minus": {"minus": [r"regex:\w+", "digits"]},
    "near": {"near": {"policy": "digits", "words": ["ann"], "side": "either"}},
    "only": {"only": {"policy": "digits", "kinds": ["NUMBER"]}},
    "regex": r"regex:\w+",
    "union": {"union": [r"regex:\w\W", r"regex:\W\w"]},
    "widen": {"widen": {"policy": "digits"}},
    "words": {"words": ["ann", "a b"]},
}
LANGUAGE = ("contextual-high", "contextual-low", "entity-high", "entity-low", "presidio")
"""Policies that read with a spaCy model: slow, and not everywhere installed."""
ELSEWHERE = ("token-classifier",)
"""Needs a model; the same checks are in its own tests."""
EXAMPLES: dict[str, Any] = {
    name: WITH_SETTINGS.get(name, name) for name in POLICIES.names() if name not in (*LANGUAGE, *ELSEWHERE)
}
TEXTS = st.text(max_size=60) | st.text("ab Ann01\n.:", max_size=60)


def test_the_registry_finds_the_policies_of_the_house() -> None:
    assert {*WITH_SETTINGS, "customersim", "digits", "gold", "nothing", "pii"} <= set(EXAMPLES)
    assert {*LANGUAGE, *ELSEWHERE} <= set(POLICIES.names())


@pytest.mark.parametrize("name", sorted(EXAMPLES))
@settings(derandomize=True, deadline=None, max_examples=60)
@given(text=TEXTS)
def test_answers_are_settled_repeatable_and_the_same_in_a_stream(name: str, text: str) -> None:
    keeps_the_contract(EXAMPLES[name], text)


@pytest.mark.parametrize("name", LANGUAGE)
def test_policies_that_read_with_a_model_keep_the_same_contract(name: str) -> None:
    need_model(name)
    for text in ("", " \n", "Ann Lee met Bob in Oslo on Friday.\n\nCall 212-555-0123!", "ünï 🙂 \u200b\x00 <a@b.org>"):
        keeps_the_contract(name, text)


def need_model(name: str) -> None:
    pytest.importorskip("spacy", reason="needs spaCy")
    if installed_model() is None:
        pytest.skip("needs a spaCy model")
    if name == "presidio":
        pytest.importorskip("presidio_analyzer", reason="needs Presidio")


def keeps_the_contract(spec: Any, text: str) -> None:
    made = policy(spec)
    record = Record(id="1", text=text, secrets=(Secret(0, 1, "A"),) if text else ())
    secrets = made.secrets(record)
    assert secrets == check_secrets(secrets, text, "here")
    assert secrets == made.secrets(record)
    assert list(made.secrets_of_all(iter([record, record]))) == [(record, secrets)] * 2


@pytest.mark.parametrize("name", [*sorted(EXAMPLES), *LANGUAGE])
def test_the_spec_is_json_like_and_makes_the_policy_again(name: str) -> None:
    if name in LANGUAGE:
        need_model(name)
    made = policy(EXAMPLES.get(name, name))
    assert canonical_json(policy(made.spec()).spec()) == canonical_json(made.spec())


def test_gold_refuses_a_record_whose_file_does_not_say() -> None:
    with pytest.raises(InputError, match=r"mail.jsonl, line 3: the file does not mark"):
        gold().secrets(Record(id="1", text="Ann", place="mail.jsonl, line 3"))
    assert gold().secrets(Record(id="1", text="Ann", secrets=())) == ()
