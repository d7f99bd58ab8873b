"""Streams of words: the published ciphers, a key for each, and seeds that repeat."""

import os
from typing import Any

import numpy as np
import pytest
import torch

from discreet.engine.chunks import CHUNK
from discreet.engine.noise import Noise
from discreet.engine.random_bits import CIPHERS, KeyStream, Purpose, Randomness
from discreet.errors import SettingError

# The first bytes under the zero key: AES-256 of the zero block (the hash key in test case 13 of the GCM specification)
# and the ChaCha-20 block of counter zero (RFC 8439, A.1, vector 1).
PUBLISHED = {"aes-256-ctr": "dc95c078a2408989ad48a21492842087", "chacha-20": "76b8e0ada0f13d90405d6ae55386bd28"}


@pytest.mark.parametrize("cipher", CIPHERS)
def test_the_key_stream_is_the_published_one(cipher):
    assert KeyStream(bytes(32), cipher).words(2).astype("<u8").tobytes().hex() == PUBLISHED[cipher]


@pytest.mark.parametrize("cipher", CIPHERS)
def test_a_stream_goes_on_where_it_stopped(cipher):
    parts, whole = KeyStream(bytes(range(32)), cipher), KeyStream(bytes(range(32)), cipher)
    pieces = [parts.words(count) for count in (1, 0, 100_000, 3)]
    assert np.concatenate(pieces).tolist() == whole.words(100_004).tolist()


@pytest.mark.parametrize("cipher", CIPHERS)
def test_secure_noise_uses_one_key_per_chunk(cipher, monkeypatch):
    keys: list[bytes] = []
    real = os.urandom

    def counted(size):
        keys.append(real(size))
        return keys[-1]

    noise = Noise(Randomness(cipher=cipher), threads=3)
    noise.add_([torch.zeros(3)], 1.0)  # compiles, which also asks for random names
    monkeypatch.setattr("os.urandom", counted)
    noise.add_([torch.zeros(5 * CHUNK)], 1.0)
    assert len(set(keys)) == len(keys) == 5
    assert {len(key) for key in keys} == {32}


def test_seeded_streams_are_told_apart_by_seed_purpose_and_number():
    def first(seed, *name):
        return int(Randomness("fast", seed=seed).stream(*name).words(1)[0])

    names: list[Any] = [
        (1, "coins", 0),
        (1, "coins", 1),
        (1, "noise", 0),
        (1, "order", 0),
        (2, "coins", 0),
        (1, "noise", 0, 1),
    ]
    assert len({first(*name) for name in names}) == len(names)
    assert first(*names[0]) == first(*names[0])


def test_only_the_order_of_a_secure_run_can_be_repeated():
    one, other = Randomness(seed=3), Randomness(seed=3)
    expected: list[tuple[Purpose, bool]] = [("order", True), ("coins", False), ("noise", False)]
    for purpose, same in expected:
        assert (one.stream(purpose, 1).words(2).tolist() == other.stream(purpose, 1).words(2).tolist()) is same


def test_bad_settings_are_refused():
    with pytest.raises(SettingError, match="rot13"):
        Randomness(cipher="rot13")
    with pytest.raises(SettingError, match="seed"):
        Randomness(seed=-1)
    with pytest.raises(SettingError, match="slow"):
        Randomness("slow")
