"""`discreet corpora` tells all there is to know about every corpus."""

import json

from discreet.cli.corpora import corpora
from discreet.text.corpora import CORPORA


def test_the_command_lists_every_corpus_with_source_licence_and_files(capsys):
    corpora(json_output=True)
    listed = json.loads(capsys.readouterr().out)
    assert [entry["name"] for entry in listed] == CORPORA.names()
    for entry in listed:
        corpus = CORPORA[entry["name"]]
        assert (entry["url"], entry["licence"], entry["about"]) == (corpus.url, corpus.licence, corpus.about)
        assert (entry["files"], entry["splits"]) == (list(corpus.files), list(corpus.splits))


def test_the_command_shows_addresses_and_licences_uncut(capsys):
    corpora()
    shown = "".join(capsys.readouterr().out.split())
    for name in CORPORA.names():
        told = (name, CORPORA[name].about, CORPORA[name].url, CORPORA[name].licence, *CORPORA[name].files)
        assert all("".join(text.split()) in shown for text in told)
