"""Policies by name, argument, mapping and YAML, and what their mistakes say."""

from pathlib import Path
from typing import Any

import pytest

from discreet.errors import SettingError, UnknownNameError
from discreet.policy.specs import policy
from discreet.text.records import Record, Secret

TEXT = Record(id="1", text="Ann has case CASE-12 of 1999.", secrets=(Secret(0, 3, "PERSON"),))

FORMS: list[Any] = [
    "digits",
    "nothing",
    {"digits": None},
    r"regex:CASE-\d+",
    "regex:a:b",
    {"regex": {"pattern": ["a", "b"], "kind": "X", "flags": "i"}},
    {"words": ["Ann", "case"]},
    {"union": ["digits", "gold"]},
    {"minus": ["digits", "regex:1999", "nothing"]},
    {"both": ["digits", {"union": ["digits", "gold"]}]},
    {"imperfect": {"policy": {"union": ["digits", "gold"]}, "miss": 0.25, "seed": 4}},
]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_the_spec_of_a_policy_makes_the_same_policy(form: Any) -> None:
    made = policy(form)
    again = policy(made.spec())
    assert again.spec() == made.spec()
    assert again.fingerprint() == made.fingerprint()
    assert again.secrets(TEXT) == made.secrets(TEXT)


def test_policies_made_with_operators_have_the_yaml_form() -> None:
    made = (policy("digits") | policy("gold") | policy("nothing")) - (policy("gold") & policy("digits"))
    assert made.spec() == {"minus": [{"union": ["digits", "gold", "nothing"]}, {"both": ["gold", "digits"]}]}


def test_different_settings_have_different_fingerprints() -> None:
    forms = [policy(form).fingerprint() for form in FORMS]
    assert len(set(forms)) == len(FORMS) - 1  # {"digits": None} is "digits"


def test_an_argument_may_hold_colons_and_end_like_a_file() -> None:
    assert policy("regex:a:b.yaml").spec() == {"regex": {"pattern": "a:b.yaml", "kind": "SECRET"}}


def test_a_policy_passes_through() -> None:
    made = policy("digits")
    assert policy(made) is made


def test_yaml_files_nest_and_resolve_paths_beside_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "names.txt").write_text("Ann\n")
    (tmp_path / "lists" / "names.yaml").write_text("words: {source: names.txt, kind: PERSON}\n")
    (tmp_path / "ours.yaml").write_text("union:\n  - lists/names.yaml\n  - regex: {pattern: 'CASE-\\d+', kind: CASE}\n")
    monkeypatch.chdir(tmp_path.parent)
    found = policy(tmp_path / "ours.yaml").secrets(TEXT)
    assert found == (Secret(0, 3, "PERSON"), Secret(13, 20, "CASE"))
    assert policy(str(tmp_path / "ours.yaml")).secrets(TEXT) == found


MISTAKES: list[tuple[Any, str]] = [
    ("digit", "no policy called 'digit'; did you mean 'digits'"),
    ("digits:5", "'digits' takes no settings"),
    ({"regex": {"patern": "a"}}, "'regex' has no setting 'patern'; did you mean 'pattern'"),
    ({"regex": {"kind": "A"}}, "'regex' needs the setting 'pattern'"),
    ({"regex": {"pattern": 5}}, "setting 'pattern': text or a list is expected, not int"),
    ({"words": {"source": ["a"], "ignore_case": "no"}}, "true or false is expected, not str"),
    ({"imperfect": {"policy": "gold", "miss": True}}, "a number is expected, not bool"),
    ({"imperfect": {"policy": "golf", "miss": 0.1}}, "did you mean 'gold'"),
    ({"union": "digits"}, "'union' needs a list"),
    ({"union": ["digits"]}, "two or more"),
    ({"digits": None, "gold": None}, "one name with its settings"),
    (["digits"], "one name with its settings"),
    ("missing.yaml", "missing.yaml: there is no such policy file"),
]


@pytest.mark.parametrize(("spec", "sentence"), MISTAKES, ids=str)
def test_mistakes_say_what_is_wrong_and_what_is_near(spec: Any, sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        policy(spec)


def test_an_unknown_name_is_its_own_error() -> None:
    with pytest.raises(UnknownNameError):
        policy("digit")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("regex: {patern: a}", r"ours.yaml: The policy 'regex' has no setting 'patern'"),
        ("regex: [a\nkind: b", r"ours.yaml, line 2: not valid YAML"),
        ("union: [digits, ours.yaml]", "ours.yaml: the policy contains itself"),
        ("", "ours.yaml: A policy is a name"),
    ],
)
def test_mistakes_in_a_file_name_the_file(tmp_path: Path, content: str, sentence: str) -> None:
    (tmp_path / "ours.yaml").write_text(content)
    with pytest.raises(SettingError, match=sentence):
        policy(tmp_path / "ours.yaml")
