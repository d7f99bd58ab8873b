"""Labelled records in the frames of BERT's and RoBERTa's tokenizers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from discreet.errors import InputError, SettingError
from discreet.text.labelled import NO_LABEL, LabelledEncoder, frame, label_names, padded
from discreet.text.records import Record, Secret
from discreet.text.tokenize import Encoder

WORDS = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]", *"abcdefghij"]


def words_tokenizer(style: str):
    """A tokenizer of ten one-letter words in the frame of one family."""
    raw = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    special = [("[CLS]", 1), ("[SEP]", 2)]
    if style == "bert":
        raw.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=special
        )
        inputs = ["input_ids", "token_type_ids", "attention_mask"]
    else:
        raw.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] [SEP] $B [SEP]", special_tokens=special
        )
        inputs = ["input_ids", "attention_mask"]
    return PreTrainedTokenizerFast(
        tokenizer_object=raw,
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="[PAD]",
        mask_token="[MASK]",
        unk_token="[UNK]",
        model_input_names=inputs,
    )


TOKENIZERS = {style: words_tokenizer(style) for style in ("bert", "roberta")}


def record(text, pair=None, label: str | None = "1", **more):
    return Record("r", text, pair=pair, label=label, **more)


@pytest.mark.parametrize("style", list(TOKENIZERS))
@pytest.mark.parametrize("pair", [None, "d e"])
def test_ids_and_types_are_those_of_the_tokenizer_itself(style, pair):
    tokenizer = TOKENIZERS[style]
    examples = LabelledEncoder(Encoder(tokenizer), ["0", "1"]).encode_all([(record("a b c", pair), ())])
    expected = tokenizer("a b c", pair)
    batch = padded(examples, [0])
    assert batch["input_ids"][0].tolist() == expected.input_ids
    assert ("token_type_ids" in batch) == (style == "bert")
    if style == "bert":
        assert batch["token_type_ids"][0].tolist() == expected.token_type_ids


@given(
    st.lists(st.tuples(st.integers(1, 30), st.one_of(st.none(), st.integers(1, 30))), min_size=1, max_size=8),
    st.integers(8, 40),
    st.sampled_from(list(TOKENIZERS)),
)
@settings(derandomize=True, deadline=None, max_examples=100)
def test_long_sentences_are_cut_at_the_end_the_longer_first_and_the_room_is_used(sizes, most, style):
    encoder = LabelledEncoder(Encoder(TOKENIZERS[style]), ["0", "1"], most)
    rows = [record(" ".join("a" * a), None if b is None else " ".join("b" * b)) for a, b in sizes]
    examples = encoder.encode_all([(row, ()) for row in rows])
    a_id, b_id = WORDS.index("a"), WORDS.index("b")
    for number, (a, b) in enumerate(sizes):
        ids = examples.ids[examples.starts[number] : examples.starts[number + 1]]
        kept_a, kept_b = int((ids == a_id).sum()), int((ids == b_id).sum())
        room = most - (len(ids) - kept_a - kept_b)
        assert len(ids) <= most
        assert kept_a + kept_b == min(room, a + (b or 0))
        if kept_a < a and b is not None:
            assert kept_a >= min(kept_b, room // 2) or kept_b == b
        if b is not None and kept_b < b:
            assert kept_b >= kept_a or kept_a == a


def test_padding_is_on_the_right_and_masked():
    encoder = LabelledEncoder(Encoder(TOKENIZERS["bert"]), ["0", "1"])
    examples = encoder.encode_all([(record("a b c"), ()), (record("a", label="0"), ())])
    batch = padded(examples, [1, 0])
    assert batch["attention_mask"].tolist() == [[1, 1, 1, 0, 0], [1] * 5]
    assert batch["input_ids"][0].tolist() == [1, WORDS.index("a"), 2, 0, 0]
    assert batch["labels"].tolist() == [0, 1]


def test_masks_of_both_sentences_are_the_mask_token():
    text, pair = "a <MASK> b", "<MASK> c"
    row = record(text, pair, secrets=(Secret(2, 8, "MASK"),), pair_secrets=(Secret(0, 6, "MASK"),))
    encoder = LabelledEncoder(Encoder(TOKENIZERS["bert"]), ["0", "1"])
    examples = encoder.encode_all([(row, ())], masks=lambda one: one.secrets or ())
    a, b, c = (WORDS.index(word) for word in "abc")
    assert examples.ids.tolist() == [1, a, 3, b, 2, 3, c, 2]


def test_labels_are_numbered_in_their_order_and_unknown_ones_refused():
    assert label_names([record("a", label=str(n)) for n in (10, 2, 1)]) == ["1", "2", "10"]
    assert label_names([record("a", label=n) for n in ("no", "entailment")]) == ["entailment", "no"]
    with pytest.raises(InputError, match="two different labels"):
        label_names([record("a"), record("b", label=None)])
    encoder = LabelledEncoder(Encoder(TOKENIZERS["bert"]), ["0", "1"])
    assert encoder.encode_all([(record("a", label=None), ())]).labels.tolist() == [NO_LABEL]
    with pytest.raises(InputError, match="does not occur in the training data") as error:
        encoder.encode_all([(record("a", label="secret label"), ())])
    assert "secret label" not in str(error.value)


def test_an_empty_split_has_no_examples():
    assert len(LabelledEncoder(Encoder(TOKENIZERS["bert"]), ["0", "1"]).encode_all([])) == 0


def test_a_model_without_room_is_refused():
    with pytest.raises(SettingError, match="no room"):
        LabelledEncoder(Encoder(TOKENIZERS["roberta"]), ["0", "1"], most=4)


def test_frames_are_read_off_the_tokenizer():
    one, two = (frame(TOKENIZERS["roberta"], pair=pair) for pair in (False, True))
    assert (one.before, one.after) == ([1], [2])
    assert (two.before, two.between, two.after, two.second_type) == ([1], [2, 2], [2], 0)
    assert np.array_equal(frame(TOKENIZERS["bert"], pair=True).between, [2])
