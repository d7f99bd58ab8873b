"""The LSTM language model as a transformers model."""

import pytest
import torch
from transformers import AutoModelForCausalLM

from discreet.errors import SettingError
from discreet.models.language import Scores, load_model, new_model, save_model, score
from discreet.models.lstm import LSTMConfig, LSTMLanguageModel


@pytest.mark.parametrize(("tied", "layers"), [(False, 1), (True, 1), (False, 2)])
def test_a_saved_model_loads_with_from_pretrained_to_the_same_weights(tmp_path, tied, layers):
    model = new_model("lstm", 50, {"embedding": 12, "hidden": 12, "layers": layers, "tied": tied}, seed=1)
    save_model(model, tmp_path)
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert isinstance(loaded, LSTMLanguageModel)
    assert (loaded.output.weight is loaded.embedding.weight) == tied
    assert len(loaded.lstm.all_weights) == layers
    ids = torch.randint(0, 50, (3, 7))
    model.eval()
    loaded.eval()
    torch.testing.assert_close(model(input_ids=ids).logits, loaded(input_ids=ids).logits, rtol=0, atol=0)
    assert sum(p.numel() for p in load_model(tmp_path).parameters()) == sum(p.numel() for p in model.parameters())


def test_the_same_seed_gives_the_same_weights_and_another_seed_others():
    first, second, other = (new_model("lstm", 30, {"hidden": 8, "embedding": 8}, seed=s) for s in (3, 3, 4))
    for a, b, c in zip(first.parameters(), second.parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b)
        assert not a.any() or not torch.equal(a, c)


def test_making_a_model_leaves_the_global_generator_alone():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    new_model("lstm", 30, {"hidden": 8, "embedding": 8}, seed=1)
    assert torch.equal(torch.rand(3), expected)


def test_tied_embeddings_of_unequal_sizes_are_refused():
    with pytest.raises(SettingError, match="equal"):
        LSTMConfig(embedding_size=8, hidden_size=9, tie_word_embeddings=True)


def test_a_mistyped_size_names_the_nearest():
    with pytest.raises(SettingError, match="did you mean 'hidden'"):
        new_model("lstm", 30, {"hiden": 8}, seed=0)


def test_padding_on_the_right_changes_nothing_before_it():
    model = new_model("lstm", 40, {"embedding": 8, "hidden": 8}, seed=0).eval()
    ids = torch.randint(1, 40, (1, 9))
    padded = torch.cat([ids, torch.zeros(1, 4, dtype=torch.long)], 1)
    torch.testing.assert_close(model(input_ids=ids).logits, model(input_ids=padded).logits[:, :9])


def test_scores_agree_with_cross_entropy_over_whole_logits(monkeypatch):
    monkeypatch.setattr("discreet.models.language.ROWS_AT_ONCE", 5)
    model = new_model("lstm", 40, {"embedding": 8, "hidden": 8}, seed=0).eval()
    ids = torch.randint(0, 40, (4, 6))
    targets = torch.randint(0, 40, (4, 6))
    targets[1, 3:] = -100
    got: Scores = score(model, ids, targets)
    logits = model(input_ids=ids).logits
    wanted = torch.nn.functional.cross_entropy(logits.transpose(1, 2), targets, ignore_index=-100, reduction="none")
    torch.testing.assert_close(got.loss, wanted)
    assert torch.equal(got.first_choice, (logits.argmax(-1) == targets))
