"""A small world of words: a vocabulary of points in few dimensions."""

import numpy as np
import pytest

from discreet.sanitize.perturb.embedding import Embedding

WORDS = ["ann", "bob", "cleo", "dan", "12", "47", "4711", "may", ".", "lee", "paris", "rome", "call", "on", "the"]


@pytest.fixture(scope="session")
def small() -> Embedding:
    vectors = np.random.Generator(np.random.PCG64(4)).normal(size=(len(WORDS), 6)) * 2
    return Embedding(WORDS, vectors.astype(np.float32), "small")
