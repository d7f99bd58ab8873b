"""Text is cut at the edges of secrets, and a piece is tokenized as it would stand in its text."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

from discreet.text.pieces import Piece, PieceTokenizer, cut
from discreet.text.records import Secret

SECRET, MASK = "NAME", "MASK"
ONLY, FIRST, MIDDLE, LAST = (True, True), (True, False), (False, False), (False, True)


@st.composite
def spans(draw, length=30, kind=SECRET):
    edges = sorted(draw(st.sets(st.integers(0, length), max_size=8)))
    chosen = [(a, b) for a, b in pairwise(edges) if draw(st.booleans())]
    return [Secret(start, end, kind) for start, end in chosen]


@given(spans(), spans(kind=MASK))
@settings(derandomize=True, deadline=None, max_examples=300)
def test_pieces_cover_the_text_once_and_say_what_every_character_is(secrets, masks):
    pieces = cut(30, secrets, masks)
    assert [at for piece in pieces for at in range(piece.start, piece.end)] == list(range(30))
    assert [Secret(p.start, p.end, MASK) for p in pieces if p.mask] == masks
    for piece in pieces:
        for at in range(piece.start, piece.end):
            in_mask = any(m.start <= at < m.end for m in masks)
            assert piece.mask == in_mask
            assert piece.secret == (not in_mask and any(s.start <= at < s.end for s in secrets))


@given(spans())
@settings(derandomize=True, deadline=None, max_examples=100)
def test_no_piece_holds_two_secrets(secrets):
    for piece in cut(30, secrets):
        assert sum(s.start < piece.end and piece.start < s.end for s in secrets) == int(piece.secret)


def test_an_empty_text_has_no_pieces():
    assert cut(0, []) == []
    assert cut(3, []) == [Piece(0, 3)]


LETTERS = "abcdefghijklmnopqrstuvwxyz.<>/"


def byte_level(prefix: bool) -> Tokenizer:
    alphabet = {letter: number for number, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(alphabet | {"Ġa": 256, "nn": 257}, [("Ġ", "a"), ("n", "n")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def digits_apart() -> Tokenizer:
    tokenizer = byte_level(True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(True)])
    return tokenizer


def unigram(scheme: str) -> Tokenizer:
    pieces = [("<unk>", 0.0), ("</s>", 0.0), ("▁", -3.0), ("▁call", -2.0), ("ann", -2.0), ("▁ann", -2.0)]
    tokenizer = Tokenizer(models.Unigram(pieces + [(letter, -6.0) for letter in LETTERS], unk_id=0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme=scheme)
    tokenizer.add_special_tokens(["</s>"])
    return tokenizer


def llama() -> Tokenizer:
    vocabulary = {piece: number for number, piece in enumerate(["<unk>", "▁", *LETTERS, "nn", "▁a"])}
    tokenizer = Tokenizer(models.BPE(vocabulary, [("n", "n"), ("▁", "a")], unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.Fuse(), decoders.Strip(content=" ", left=1)]
    )
    return tokenizer


def stripping() -> Tokenizer:
    tokenizer = unigram("always")
    tokenizer.normalizer = normalizers.Sequence([normalizers.Strip(), normalizers.NFKC()])
    return tokenizer


def wordpiece() -> Tokenizer:
    words = ["[UNK]", "[MASK]", "call", "ann", "on", "##na", ".", *LETTERS, *(f"##{letter}" for letter in LETTERS)]
    vocabulary = {word: number for number, word in enumerate(dict.fromkeys(words))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer


KINDS = {
    "byte-level": byte_level(False),
    "byte-level with a space before": byte_level(True),
    "byte-level in a sequence": digits_apart(),
    "sentencepiece, first": unigram("first"),
    "sentencepiece, always": unigram("always"),
    "llama": llama(),
    "stripping": stripping(),
}


def ids_of(tokenizer: Tokenizer, *texts: str) -> list[list[int]]:
    places = [(number == 0, number == len(texts) - 1) for number in range(len(texts))]
    special = [number for number, token in tokenizer.get_added_tokens_decoder().items() if token.special]
    return PieceTokenizer(tokenizer, special).ids(texts, places)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "pieces", [("call ", "ann", " on."), ("ann", " call"), ("call an", "n"), ("c", "all", " ", "a", "nn")]
)
def test_pieces_put_together_read_as_the_text(kind, pieces):
    tokenizer = KINDS[kind]
    flat = [number for ids in ids_of(tokenizer, *pieces) for number in ids]
    assert tokenizer.decode(flat).lstrip() == "".join(pieces)


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_beginning_of_a_text_gets_what_a_tokenizer_puts_before_it(kind):
    tokenizer = KINDS[kind]
    assert ids_of(tokenizer, "ann") == [tokenizer.encode("ann").ids]
    first, second = ids_of(tokenizer, "ann", "ann")
    assert first == tokenizer.encode("ann").ids
    assert "".join(tokenizer.id_to_token(number) or "?" for number in second) == "ann"


def test_a_space_at_the_end_of_a_piece_survives_a_tokenizer_that_strips_texts():
    first, second = ids_of(stripping(), " call ", "ann ")
    assert [stripping().id_to_token(number) for number in first] == ["▁call", "▁"]
    assert [stripping().id_to_token(number) for number in second] == ["ann"]


def test_wordpiece_pieces_get_no_prefix():
    tokenizer = wordpiece()
    flat = [number for ids in ids_of(tokenizer, "call ", "ann", " on.") for number in ids]
    assert flat == tokenizer.encode("call ann on.").ids


def test_the_tokenizer_itself_is_left_as_it_is():
    tokenizer = byte_level(True)
    tokenizer.add_special_tokens(["<s>"])
    tokenizer.enable_truncation(2)
    before = tokenizer.to_str()
    assert len(ids_of(tokenizer, "a longer text")[0]) > 2
    assert tokenizer.to_str() == before
    assert not tokenizer.encode_special_tokens
    assert len(tokenizer.encode("<s>").ids) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_special_token_spelled_out_in_a_text_is_text(kind):
    tokenizer = Tokenizer.from_str(KINDS[kind].to_str())
    tokenizer.add_special_tokens(["</s>"])
    special = tokenizer.token_to_id("</s>")
    assert special in tokenizer.encode("a</s>b").ids
    (ids,) = ids_of(tokenizer, "a</s>b")
    assert special not in ids
    assert tokenizer.decode(ids, skip_special_tokens=False).lstrip() == "a</s>b"


def test_the_text_around_a_spelled_special_token_is_tokenized_as_ever():
    tokenizer = byte_level(False)
    expected = tokenizer.encode("ann</s>ann").ids
    assert tokenizer.token_to_id("nn") in expected
    tokenizer.add_special_tokens(["</s>"])
    assert ids_of(tokenizer, "ann</s>ann") == [expected]


def test_what_a_model_does_not_know_may_be_its_unknown_token():
    tokenizer = unigram("first")
    tokenizer.add_special_tokens(["<unk>"])
    assert ids_of(tokenizer, "annéann") == [[tokenizer.token_to_id(t) for t in ("▁ann", "<unk>", "ann")]]


@pytest.mark.parametrize("place", [ONLY, FIRST, MIDDLE, LAST])
def test_a_byte_level_tokenizer_without_habits_is_the_same_in_every_place(place):
    tokenizer = byte_level(False)
    assert PieceTokenizer(tokenizer, []).ids([" ann"], [place]) == [tokenizer.encode(" ann").ids]
