"""A token-classification model as a policy, with a small one trained here on simulated dialogs."""

import json
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import BertConfig, BertForTokenClassification, PreTrainedTokenizerFast

from discreet.errors import InputError, SettingError
from discreet.policy.contract import Policy
from discreet.policy.measure import measure
from discreet.policy.specs import policy
from discreet.policy.token_classifier import load
from discreet.text.customersim import simulate
from discreet.text.records import Record, check_secrets

KINDS = ("PERSON", "PHONE", "ADDRESS", "ORDER", "TRACKING")
LABELS = ["O", *(f"{prefix}-{kind}" for kind in KINDS for prefix in "BI")]


def train_tokenizer(texts: list[str]) -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    tokenizer.train_from_iterator(texts, trainers.WordPieceTrainer(vocab_size=400, special_tokens=special))
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token"), special, strict=True))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)


def labels_of(record: Record, spans: list[tuple[int, int]]) -> list[int]:
    labels = []
    for start, end in spans:
        secret = next((s for s in record.secrets or () if s.start < end and start < s.end), None)
        prefix = "B" if secret and start <= secret.start else "I"
        labels.append(LABELS.index(f"{prefix}-{secret.kind}") if secret and start < end else 0)
    return labels


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A one-layer BERT that has seen 150 dialogs for a few seconds."""
    torch.manual_seed(0)
    path = Path(tmp_path_factory.mktemp("ner"))
    records = list(simulate(150, seed=5))
    tokenizer = train_tokenizer([record.text for record in records])
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=64, num_hidden_layers=1, num_attention_heads=2, intermediate_size=128,
        max_position_embeddings=256, id2label=dict(enumerate(LABELS)), label2id={n: i for i, n in enumerate(LABELS)},
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    model = BertForTokenClassification(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(3):
        for at in range(0, len(records), 10):
            batch = records[at : at + 10]
            read = tokenizer(
                [r.text for r in batch], padding=True, truncation=True, max_length=256, return_offsets_mapping=True
            )
            width = len(read["input_ids"][0])
            wanted = [labels_of(r, spans)[:width] for r, spans in zip(batch, read["offset_mapping"], strict=True)]
            inputs = {key: torch.tensor(read[key]) for key in ("input_ids", "attention_mask")}
            model(**inputs, labels=torch.tensor(wanted)).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


@pytest.fixture
def made(folder: Path) -> Policy:
    return policy(f"token-classifier:{folder}")


def test_it_finds_what_it_was_trained_to_find(made: Policy) -> None:
    scored = measure(simulate(30, seed=77), made)
    assert (scored.characters["recall"] or 0) > 0.8
    assert (scored.characters["precision"] or 0) > 0.8


def test_the_conservative_form_covers_more(made: Policy) -> None:
    wide = policy({"conservative": {"policy": made.spec()}})
    for record in simulate(5, seed=78):
        inside = {at for s in wide.secrets(record) for at in range(s.start, s.end)}
        assert inside >= {at for s in made.secrets(record) for at in range(s.start, s.end)}


@pytest.mark.parametrize("text", ["", " \n", "SYS: Your name?\nUSR: Zoë Ünsal 🙂", "x" * 300, "a b " * 400])
def test_it_keeps_the_contract_of_policies(made: Policy, text: str) -> None:
    record = Record(id="1", text=text)
    secrets = made.secrets(record)
    assert secrets == check_secrets(secrets, text, "here")
    assert list(made.secrets_of_all(iter([record, record]))) == [(record, secrets)] * 2


def test_a_long_text_is_read_to_its_end_in_windows(made: Policy) -> None:
    dialogs = [record.text for record in simulate(12, seed=79)]
    text = "".join(dialogs)
    last = made.secrets(Record(id="1", text=text))[-1]
    assert last.end > len(text) - len(dialogs[-1])
    assert len(load(str(made.spec()["token-classifier"]["model"])).tokenizer(text)["input_ids"]) > 512


def test_weights_that_changed_are_refused(made: Policy, folder: Path) -> None:
    spec = made.spec()
    assert policy(spec).fingerprint() == made.fingerprint()
    spec["token-classifier"]["sha256"] = "0" * 64
    with pytest.raises(SettingError, match="the weights are not those"):
        policy(spec)


def test_a_folder_without_a_model_is_refused_with_its_name(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(InputError, match=r"no model\.safetensors"):
        policy({"token-classifier": {"model": str(tmp_path)}})
    config = json.loads((folder / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(InputError, match="not a token-classification model"):
        policy({"token-classifier": {"model": str(tmp_path)}}).secrets(Record(id="1", text="a"))
