"""Invented authors with a style each: what a model that hides authors has to hide, and an attacker who looks for it."""

import random

import numpy as np

from discreet.mechanisms.leakage import states_of
from discreet.mechanisms.run import Run
from discreet.models.language import load_model
from discreet.text.corpus import Corpus
from discreet.text.records import Record
from discreet.text.tokenize import Encoder
from discreet.text.vocabulary import load_tokenizer

AUTHORS = ["Ada", "Ben", "Cleo", "Dan"]
SHARED = ["we", "met", "team", "saw", "plan", "week", "good"]
OWN = {"Ada": ["alas", "mind"], "Ben": ["yeah", "cool"], "Cleo": ["oh", "dear"], "Dan": ["indeed", "sir"]}


def styled(number: int) -> Record:
    """Words that all authors use, and a last one that only this author does."""
    draw = random.Random(number)
    author = AUTHORS[number % len(AUTHORS)]
    words = [*draw.choices(SHARED, k=draw.randrange(3, 7)), draw.choice(OWN[author])]
    fields = {"clinic": f"clinic {number % 2}", "rooms": [1, 2]}
    return Record(str(number), " ".join(words), author=author, label=number % 3, fields=fields)


def styles(train: int = 240, valid: int = 40) -> Corpus:
    return Corpus(
        {"train": [styled(n) for n in range(train)], "valid": [styled(n) for n in range(10_000, 10_000 + valid)]},
        "styles",
    )


def probed(run: Run, records: int = 800) -> float:
    """How often a fresh linear probe names the author of a text it has not seen, from the model's last state."""
    texts = [styled(n) for n in range(20_000, 20_000 + records)]
    encoded = Encoder(load_tokenizer(run.model_folder)).encode_all((record, ()) for record in texts)
    states = states_of(load_model(run.model_folder), encoded, "last").double().numpy()
    states = (states - states.mean(0)) / (states.std(0) + 1e-6)
    inputs = np.concatenate([states, np.ones((len(states), 1))], axis=1)
    half = records // 2
    wanted = np.eye(len(AUTHORS))[encoded.authors[:half]]
    ridge = inputs[:half].T @ inputs[:half] + np.eye(inputs.shape[1])
    guessed = (inputs[half:] @ np.linalg.solve(ridge, inputs[:half].T @ wanted)).argmax(1)
    return float((guessed == encoded.authors[half:]).mean())


def settings(**changes: object) -> dict[str, object]:
    return {
        "model": {"name": "lstm", "embedding": 16, "hidden": 16, "dropout": 0.0},
        "tokenizer": {"train": "bpe", "vocabulary": 320},
        "training": {"epochs": 6, "batch_size": 12, "learning_rate": 0.02, "precision": "float32", **changes},
        "seed": 5,
    }
