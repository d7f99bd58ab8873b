"""Public corpora by name: point at the folder you downloaded and the layout is known.

    from pathlib import Path
    from discreet.text.corpora import named

    corpus = named("sgd", Path("dstc8-schema-guided-dialogue"))
    for record in corpus.records("train"): ...

Nothing is downloaded; `discreet corpora` says where to get each. One file per corpus, each with one registration.
"""

from discreet.text.corpora.contract import CORPORA, NamedCorpus, named, register

__all__ = ["CORPORA", "NamedCorpus", "named", "register"]
