"""Surrogates: made-up secrets that know the kind, the record and the place, and nothing of the secret."""

import re

import pytest

from discreet.errors import RefusedError
from discreet.mechanisms.recipe import make_recipe
from discreet.mechanisms.training import made_up, redacted_records
from discreet.policy.specs import policy
from discreet.sanitize.redact import Redaction, redact
from discreet.sanitize.surrogates import MAKERS, surrogates
from discreet.text.records import Record, Secret
from discreet.text.tokenize import Encoder
from discreet.text.vocabulary import masks_of, train_bpe

SURROGATES = Redaction(style="surrogate")


def letter(name: str, phone: str, illness: str) -> tuple[Record, list[Secret]]:
    text = f"Dear {name}, call {phone} or {phone}. It is {illness}."
    spans = [Secret(m.start(), m.end(), "PHONE") for m in re.finditer(re.escape(phone), text)]
    spans += [Secret(5, 5 + len(name), "PERSON"), Secret(text.index(illness), len(text) - 1, "DIAGNOSIS")]
    return Record("r", text), sorted(spans)


def test_two_texts_that_differ_in_secrets_alone_have_the_same_surrogates():
    one, other = (redact(*letter(*values), SURROGATES) for values in (("Ann", "1", "x"), ("Bo Li", "22", "y z")))
    assert one == other


def test_copies_of_a_secret_have_surrogates_of_their_own():
    _, first, second, _ = redact(*letter("Ann", "555", "x"), SURROGATES).secrets or ()
    text = redact(*letter("Ann", "555", "x"), SURROGATES).text
    assert text[first.start : first.end] != text[second.start : second.end]


def test_a_kind_that_cannot_be_made_up_becomes_a_mask_and_a_literal_mask_is_refused():
    redacted = redact(*letter("Ann", "555", "measles"), SURROGATES)
    assert redacted.text.endswith("It is <MASK>.")
    assert [s.kind for s in masks_of(redacted)] == ["DIAGNOSIS"]
    assert [s.kind for s in made_up(redacted, "<MASK>")] == ["PERSON", "PHONE", "PHONE"]
    with pytest.raises(RefusedError, match="already holds"):
        redact(Record("r", "a <MASK> here"), [], SURROGATES)


def test_records_have_different_surrogates_and_the_same_ones_each_time():
    kinds = ["PERSON", "ADDRESS", "TRACKING"]
    assert surrogates("a", kinds, "M") == surrogates("a", kinds, "M") != surrogates("b", kinds, "M")


@pytest.mark.parametrize("kind", ["PHONE", "ORDER", "ADDRESS", "TRACKING"])
def test_the_policy_takes_a_surrogate_for_a_secret_of_its_kind(kind):
    texts = [surrogates(str(number), [kind], "M")[0] for number in range(30)]
    for text in texts:
        found = policy("customersim").secrets(Record("r", f"SYS: Here: {text}"))
        assert [(s.end - s.start, s.kind) for s in found] == [(len(text), kind)]


def test_numbers_look_like_numbers_and_every_kind_is_short_text():
    assert all(int(number) < 2100 for number in surrogates("a", ["NUMBER"] * 200, "M"))
    for kind in MAKERS:
        (text,) = surrogates("a", [kind], "M")
        assert 0 < len(text) < 80
        assert "\n" not in text


def test_tokens_of_surrogates_begin_and_end_where_those_of_secrets_do():
    record, secrets = letter("Ann", "555", "x")
    recipe = make_recipe({"data": "a.jsonl", "redaction": {"style": "surrogate"}})
    real = Record("r", record.text, secrets=tuple(secrets))
    (redacted,) = redacted_records([real], policy("gold"), recipe)
    tokenizer = train_bpe([Record("v", "Dear, call or. It is call call")], policy("nothing"), 270)
    encoder = Encoder(tokenizer)
    tokens = encoder.encode(redacted, made_up(redacted, "<MASK>"), masks_of(redacted))
    public = encoder.encode(real, secrets)
    kept = ~tokens.secret & ~tokens.ignored
    assert tokens.ids[kept].tolist() == public.ids[~public.secret].tolist()
