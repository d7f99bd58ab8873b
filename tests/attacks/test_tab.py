"""The tab attack and the decoding under it."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.attacks.contract import Target, silent
from discreet.attacks.decoding import by_length, drawn, likeliest
from discreet.attacks.reading import reader_of
from discreet.attacks.tab import TabAttack, TabOptions, edit_distance, planted_texts, tab, unusual_texts
from discreet.errors import SettingError
from discreet.models.generate import generate
from discreet.models.language import new_model
from discreet.policy.specs import policy
from discreet.sanitize.canaries.manifest import Manifest
from discreet.text.records import Record
from tests.attacks.conftest import note

GOLD = policy("gold")


def louder(encoder, name):
    sizes = {"lstm": {"embedding": 12, "hidden": 12}, "gpt": {"width": 16, "layers": 1, "heads": 2, "context": 48}}
    model = new_model(name, encoder.vocabulary_size, sizes[name], seed=4)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)
    return model.eval()


@pytest.mark.parametrize("name", ["lstm", "gpt"])
def test_one_beam_writes_what_greedy_decoding_writes(name, encoder):
    model = louder(encoder, name)
    prompt = encoder.encode(Record("", "Dear Ada"), ()).ids[:-1]
    ids = torch.from_numpy(prompt.astype(np.int64))[None]
    (written,) = likeliest(reader_of(model), ids, 12, encoder.special)
    assert [encoder.decode(written)] == generate(model, encoder, "Dear Ada", tokens=12, temperature=0)


@pytest.mark.parametrize("name", ["lstm", "gpt"])
def test_more_beams_find_texts_at_least_as_likely(name, encoder):
    model = louder(encoder, name)
    reader = reader_of(model)
    prompts = torch.tensor([[encoder.special.begin, 40 + n] for n in range(5)])

    def chance(prompt, ids):
        whole = torch.tensor([[*prompt.tolist(), *ids]])
        silenced = [n for n in (encoder.special.pad, encoder.special.mask) if n is not None]
        logs = (
            model(input_ids=whole).logits[0].detach().index_fill(1, torch.tensor(silenced), -torch.inf).log_softmax(1)
        )
        return float(sum(logs[len(prompt) - 1 + n, token] for n, token in enumerate(ids)))

    one, many = (likeliest(reader, prompts, 4, encoder.special, beams=beams) for beams in (1, 300))
    for prompt, greedy, best in zip(prompts, one, many, strict=True):
        if len(greedy) == len(best) == 4:
            assert chance(prompt, best) >= chance(prompt, greedy) - 1e-4


def test_texts_stop_at_their_end_and_are_drawn_as_the_model_says(encoder):
    model = louder(encoder, "lstm")
    reader = reader_of(model)
    prompts = torch.tensor([[encoder.special.begin, 50], [encoder.special.begin, 60]])
    made = drawn(reader, prompts, 1, encoder.special, number=2000, random=torch.Generator().manual_seed(1))
    shares = model(input_ids=prompts).logits[:, -1].detach().softmax(1)
    for own, texts in zip(shares, made, strict=True):
        likely = int(own.argmax())
        seen = np.mean([text == [likely] or (text == [] and likely == encoder.special.end) for text in texts])
        assert seen == pytest.approx(float(own[likely]), abs=0.06)
    long = drawn(reader, prompts, 30, encoder.special, number=3, random=torch.Generator().manual_seed(1))
    assert all(encoder.special.end not in text for texts in long for text in texts)


def test_prompts_of_one_length_go_together():
    groups = by_length([[1], [2, 3], [4], [5]], most=2)
    assert [(numbers, ids.tolist()) for numbers, ids in groups] == [
        ([0, 2], [[1], [4]]),
        ([3], [[5]]),
        ([1], [[2, 3]]),
    ]


def test_a_prompt_that_leaves_no_room_is_refused(encoder):
    reader = reader_of(louder(encoder, "gpt"))
    with pytest.raises(SettingError, match="do not fit into the 48"):
        likeliest(reader, torch.zeros(1, 40, dtype=torch.int64), 9, encoder.special)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.text("abc", max_size=6), st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_edit_distance_is_a_distance(a, b, c):
    assert edit_distance(a, b) == edit_distance(b, a)
    assert (edit_distance(a, b) == 0) == (a == b)
    assert edit_distance(a, c) <= edit_distance(a, b) + edit_distance(b, c)
    assert abs(len(a) - len(b)) <= edit_distance(a, b) <= max(len(a), len(b))


def test_edit_distances_of_known_words():
    assert edit_distance("kitten", "sitting") == 3
    assert edit_distance("", "abc") == 3


def test_what_was_learned_by_heart_is_completed(leaky, leaky_model, encoder, manifest, corpus):
    target = Target(leaky_model, encoder, GOLD, corpus, manifest)
    found = TabAttack().run(target, TabOptions(prefix=10, beams=3, real=5), silent)
    assert found.rates["planted"]["greedy"].near > 0.4
    assert found.rates["real"]["beam 3"].texts == 5
    fresh = new_model("lstm", encoder.vocabulary_size, {"embedding": 8, "hidden": 8}, seed=0)
    nothing = tab(reader_of(fresh), encoder, {"planted": planted_texts(target)}, TabOptions(prefix=10))
    assert nothing.rates["planted"]["greedy"].exact == 0


def test_real_canaries_are_each_authors_most_unusual_record(encoder):
    model = louder(encoder, "lstm")
    records = [note(n) for n in range(30)]
    chosen = unusual_texts(model, encoder, GOLD, records, 100)
    texts = {encoder.decode(tokens.ids) for tokens in chosen}
    assert len(chosen) == len({record.author for record in records})
    assert texts <= {record.text for record in records}
    nameless = [Record(record.id, record.text, secrets=record.secrets) for record in records]
    assert len(unusual_texts(model, encoder, GOLD, nameless, 7)) == 7
    assert unusual_texts(model, encoder, GOLD, [], 7) == []


def test_planted_texts_are_told_by_their_number_of_copies(leaky_model, encoder, manifest, corpus):
    often = tuple(replace(canary, repetitions=12 if n < 4 else 20) for n, canary in enumerate(manifest.canaries))
    target = Target(leaky_model, encoder, GOLD, corpus, Manifest(manifest.template, often))
    found = TabAttack().run(target, TabOptions(prefix=10, beams=1, real=0), silent)
    parts = found.by_repetitions
    assert {times: ways["greedy"].texts for times, ways in parts.items()} == {12: 4, 20: 2}
    whole = found.rates["planted"]["greedy"]
    assert (4 * parts[12]["greedy"].distance + 2 * parts[20]["greedy"].distance) / 6 == pytest.approx(whole.distance)
    assert found.to_json()["by_repetitions"]["20"]["greedy"]["texts"] == 2
    assert found.lines()[-1].startswith("planted texts by copies, greedy, word for word: x12 ")
