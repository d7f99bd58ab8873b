"""Members of a space as token rows: exactly the tokens that training text has."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from discreet.attacks import candidates
from discreet.attacks.candidates import all_segmentations, chosen, enumerated
from discreet.attacks.merges import packed, product_ids
from discreet.errors import SettingError
from discreet.policy.specs import policy
from discreet.sanitize.canaries.template import Slot, Template
from discreet.text.pieces import PieceTokenizer
from discreet.text.records import Record
from discreet.text.tokenize import Encoder
from discreet.text.vocabulary import load_tokenizer, train_bpe
from tests.attacks.conftest import DIGITS, DOOR

NUMBERS = [f"call {n * 7919 % 1000003} or {n * n % 9973}-{n % 97:02d}." for n in range(400)]
TEMPLATES = [
    DOOR,
    Template("Call {0}-{1} now", (Slot("digits", DIGITS, 2), Slot("options", ("7", "8", "9"), 2))),
    Template("{0}", (Slot("digits", DIGITS, 3),)),
    Template("say {0} again.", (Slot("options", ("red", "green", "blueish"), 2, " "),)),
]


def bpe():
    return train_bpe([Record(str(n), text) for n, text in enumerate(NUMBERS)], policy("nothing"), 420)


def prefix_space():
    """RoBERTa's habit: a space before the text."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    trainer = trainers.BpeTrainer(
        vocab_size=350,
        special_tokens=["<s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(NUMBERS, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="<s>")


def word_piece():
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=300, special_tokens=["[UNK]", "[CLS]", "[SEP]"], show_progress=False)
    tokenizer.train_from_iterator(NUMBERS, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", eos_token="[SEP]"
    )


MAKERS = {"bpe": bpe, "gpt2": lambda: load_tokenizer("gpt2"), "prefix": prefix_space, "word-piece": word_piece}


@pytest.fixture(scope="module", params=list(MAKERS))
def encoder(request) -> Encoder:
    return Encoder(MAKERS[request.param]())


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.pattern)
def test_rows_are_the_tokens_of_the_encoder(encoder, template, marked):
    members = enumerated(encoder, template, marked=marked)
    assert len(members) == template.size
    numbers = np.random.default_rng(0).choice(template.size, min(60, template.size), replace=False)
    fillings = [template.member(int(number)) for number in numbers]
    some = chosen(encoder, template, fillings, marked=marked)
    for at, (number, filling) in enumerate(zip(numbers, fillings, strict=True)):
        spans = template.fill(filling).secrets if marked else ()
        ids = encoder.encode(Record("", template.fill(filling).text), spans).ids[:-1].tolist()
        for part, row in ((members, number), (some, at)):
            own = part.rows[row]
            assert [*part.start, *own[own >= 0], *part.suffix] == ids


def test_a_token_over_the_edge_of_a_missed_secret_belongs_to_its_row():
    encoder = Encoder(load_tokenizer("gpt2"))
    cut, whole = (enumerated(encoder, DOOR, marked=marked) for marked in (True, False))
    assert encoder.decode(cut.start[1:]) == "The code of the door is "
    assert encoder.decode(whole.start[1:]) == "The code of the door is"
    assert encoder.decode(whole.rows[341][whole.rows[341] >= 0]) == " 341"
    assert encoder.decode(whole.suffix) == encoder.decode(cut.suffix) == "."


@settings(derandomize=True, deadline=None, max_examples=25)
@given(st.lists(st.sampled_from(["", "a", "my 1", "4", DIGITS, DIGITS[:3], ("5", " ")]), min_size=1, max_size=5))
def test_merging_all_texts_at_once_gives_the_tokenizers_ids(parts):
    tokenizer = TOKENIZER
    pieces = PieceTokenizer(tokenizer.backend_tokenizer, tokenizer.all_special_ids)
    rows = product_ids(pieces, tokenizer.backend_tokenizer, parts, (True, True))
    texts = [""]
    for part in parts:
        texts = [text + option for text in texts for option in ([part] if isinstance(part, str) else part)]
    if rows is not None:
        ids = pieces.ids(texts, [(True, True)] * len(texts))
        assert [row[row >= 0].tolist() for row in rows] == ids
    else:
        assert ("5", " ") in parts  # a blank changes how words are cut; then the tokenizer is asked


TOKENIZER = bpe()


def test_the_quick_way_is_taken_for_numbers():
    pieces = PieceTokenizer(TOKENIZER.backend_tokenizer, TOKENIZER.all_special_ids)
    assert product_ids(pieces, TOKENIZER.backend_tokenizer, [DIGITS] * 4, (False, True)) is not None
    assert product_ids(pieces, TOKENIZER.backend_tokenizer, ["code ", *[DIGITS] * 3, "."], (True, True)) is not None


def test_a_tokenizer_that_merges_otherwise_is_found_out(monkeypatch):
    pieces = PieceTokenizer(TOKENIZER.backend_tokenizer, TOKENIZER.all_special_ids)
    monkeypatch.setattr(PieceTokenizer, "ids", lambda self, texts, places: [[1]] * len(texts))
    assert product_ids(pieces, TOKENIZER.backend_tokenizer, [DIGITS] * 4, (False, True)) is None


def test_gaps_are_closed():
    rows = np.array([[1, -1, 2, -1], [-1, -1, -1, 3], [4, 5, 6, -1]], np.int32)
    assert packed(rows).tolist() == [[1, 2, -1], [3, -1, -1], [4, 5, 6]]


def test_every_way_to_write_a_text_is_listed_once():
    encoder = Encoder(TOKENIZER)
    members = enumerated(encoder, Template("n {0}", (Slot("digits", DIGITS, 3),)), marked=True)
    rows, owners = all_segmentations(encoder, members.rows[120:130])
    written = {(int(owner), tuple(row[row >= 0].tolist())) for owner, row in zip(owners, rows, strict=True)}
    assert len(written) == len(rows)
    for owner, row in zip(owners, rows, strict=True):
        assert encoder.decode(row[row >= 0]) == f"{120 + owner}"
    for owner, row in enumerate(members.rows[120:130]):
        assert (owner, tuple(row[row >= 0].tolist())) in written  # the canonical one is among them
    with pytest.raises(SettingError, match="not for WordPiece"):
        all_segmentations(Encoder(word_piece()), members.rows)


def test_a_space_too_large_to_enumerate_is_refused(monkeypatch):
    monkeypatch.setattr(candidates, "MOST_MEMBERS", 999)
    with pytest.raises(SettingError, match="too many to enumerate"):
        enumerated(Encoder(TOKENIZER), DOOR, marked=True)
