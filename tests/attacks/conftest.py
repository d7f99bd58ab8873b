"""A small world with planted secrets, and a model that has learned them by heart."""

import json
import random

import pytest

from discreet.mechanisms.train import train
from discreet.models.language import load_model
from discreet.sanitize.canaries.manifest import Canary, Manifest, Place
from discreet.sanitize.canaries.template import Slot, Template
from discreet.text.corpus import Corpus
from discreet.text.records import Record, Secret
from discreet.text.tokenize import Encoder
from discreet.text.vocabulary import load_tokenizer

DIGITS = tuple("0123456789")
DOOR = Template("The code of the door is {0}.", (Slot("digits", DIGITS, 3),))
NAMES = ["Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hal", "Ida", "Jon", "Kim", "Leo"]
THINGS = ["chair", "table", "lamp", "book", "clock", "phone", "radio", "spoon", "plate", "glass", "knife", "stool"]


def note(number: int) -> Record:
    draw = random.Random(number)
    name, thing, code = draw.choice(NAMES), draw.choice(THINGS), str(draw.randrange(10**5)).zfill(5)
    text = f"Dear {name}, your {draw.choice(THINGS)} and {thing} have the number {code}. Thank you for calling us."
    at = text.index(code)
    secrets = (Secret(5, 5 + len(name), "PERSON"), Secret(at, at + 5, "CODE"))
    return Record(str(number), text, author=name, secrets=secrets)


def planted(canary: Canary, copy: int, template: Template = DOOR) -> Record:
    filling = canary.inserted or canary.secret
    return Record(
        f"{canary.id}-{copy}",
        template.fill(filling).text,
        author=canary.id,
        secrets=template.fill(filling).secrets,
        split="train",
    )


def door_manifest(number: int = 6, copies: int = 12) -> Manifest:
    draw = random.Random(1)
    secrets = draw.sample(range(1000), number)
    canaries = tuple(
        Canary(
            f"canary-{n}",
            DOOR.member(secret),
            inserted=DOOR.member(secret),
            repetitions=copies,
            places=tuple(Place(f"canary-{n}-{copy}", copy) for copy in range(copies)),
        )
        for n, secret in enumerate(secrets)
    )
    return Manifest(DOOR, canaries)


@pytest.fixture(scope="session")
def manifest() -> Manifest:
    return door_manifest()


@pytest.fixture(scope="session")
def corpus(manifest) -> Corpus:
    canaries = [planted(canary, copy) for canary in manifest.canaries for copy in range(canary.repetitions)]
    train_split = [note(n) for n in range(120)] + canaries
    random.Random(3).shuffle(train_split)
    return Corpus({"train": train_split, "test": [note(n) for n in range(500, 620)]}, "notes")


@pytest.fixture(scope="session")
def manifest_file(manifest, tmp_path_factory):
    path = tmp_path_factory.mktemp("canaries") / "canaries.json"
    path.write_text(json.dumps(manifest.to_json()), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def leaky(corpus, tmp_path_factory):
    """A run without protection that has learned its canaries."""
    return train(
        corpus,
        "gold",
        "none",
        {"name": "lstm", "embedding": 48, "hidden": 96, "dropout": 0.0},
        output=tmp_path_factory.mktemp("runs") / "leaky",
        progress=False,
        tokenizer={"train": "bpe", "vocabulary": 360},
        training={"epochs": 25, "batch_size": 12, "learning_rate": 0.02},
        seed=3,
    )


@pytest.fixture(scope="session")
def leaky_model(leaky):
    return load_model(leaky.model_folder).eval()


@pytest.fixture(scope="session")
def encoder(leaky) -> Encoder:
    return Encoder(load_tokenizer(str(leaky.model_folder)))
