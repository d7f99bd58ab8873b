"""A finished run of a small model that was not trained: enough for whatever only reads runs."""

from pathlib import Path

from discreet.accounting.none import NoGuarantee
from discreet.files import write_json
from discreet.mechanisms.recipe import make_recipe
from discreet.mechanisms.run import Run, write_recipe
from discreet.models.language import new_model, save_model
from discreet.policy.specs import policy
from discreet.text.corpus import Corpus
from discreet.text.records import Record, Secret
from discreet.text.tokenize import Encoder
from discreet.text.vocabulary import train_bpe, with_mask

SIZES = {"embedding": 8, "hidden": 8}


def letter(author: str, number: int, words: str = "thank you for the cat and the mat") -> Record:
    text = f"Dear {author}, {words}. Code {number:04d}."
    at = text.index(f"{number:04d}")
    return Record(f"{author}-{number}", text, author=author, secrets=(Secret(at, at + 4, "CODE"),))


def letters() -> Corpus:
    """Six authors with 6, 5, 4, 3, 2 and 1 letters to train on, and two each to test."""
    names = ["Ada", "Ben", "Cleo", "Dan", "Eve", "Finn"]
    train = [letter(name, number) for place, name in enumerate(names) for number in range(6 - place)]
    test = [letter(name, 100 + number, f"the {name} sat {number}") for name in names for number in range(2)]
    return Corpus({"train": train, "test": test}, "letters")


def untrained_run(folder: Path, corpus: Corpus, seed: int = 1, vocabulary: int = 300) -> Run:
    """A run whose weights are those it would have begun with."""
    run, decided = Run(folder), policy("gold")
    folder.mkdir(parents=True)
    settings = {"policy": "gold", "mechanism": "none", "tokenizer": {"train": "bpe", "vocabulary": vocabulary}}
    write_recipe(run, make_recipe(settings))
    public = [Record("1", "Dear friend, thank you for the cat that sat on the mat. Code of honour. " * 3)]
    encoder = Encoder(with_mask(train_bpe(public, policy("nothing"), vocabulary), "<MASK>"))
    encoder.tokenizer.save_pretrained(run.model_folder)
    save_model(new_model("lstm", encoder.vocabulary_size, SIZES, seed), run.model_folder)
    facts = {"corpus_fingerprint": corpus.fingerprint(), "policy_fingerprint": decided.fingerprint()}
    write_json(folder / "manifest.json", facts | {"finished": True})
    NoGuarantee(mechanism="none").guarantee().write(folder / "privacy.json")
    return run
