"""A small world to train in: invented notes with gold secrets."""

import random

import pytest

from discreet.text.corpus import Corpus
from discreet.text.records import Record, Secret

NAMES = ["Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hal"]


def note(number: int) -> Record:
    draw = random.Random(number)
    name, code = draw.choice(NAMES), str(draw.randrange(10**4)).zfill(4)
    text = f"Dear {name}, your code is {code}. Thank you for calling us today."
    at = text.index(code)
    secrets = (Secret(5, 5 + len(name), "PERSON"), Secret(at, at + 4, "CODE"))
    return Record(str(number), text, author=name, secrets=secrets)


@pytest.fixture
def notes() -> Corpus:
    """Sixty notes to train on and twelve each to validate and test."""
    return Corpus(
        {
            "train": [note(n) for n in range(60)],
            "valid": [note(n) for n in range(60, 72)],
            "test": [note(n) for n in range(72, 84)],
        },
        "notes",
    )


@pytest.fixture
def small() -> dict[str, object]:
    """A model and training that take a second."""
    return {
        "model": {"name": "lstm", "embedding": 16, "hidden": 16},
        "tokenizer": {"train": "bpe", "vocabulary": 300},
        "training": {"epochs": 2, "batch_size": 8, "learning_rate": 0.02, "checkpoint_seconds": 0},
        "seed": 3,
    }
