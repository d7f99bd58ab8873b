"""Folders: every readable file below one, in sorted order, as one stream or as splits.

Files (or folders of files) called train, valid (also validation, val, dev) and test are splits, as are shards such as
`train-00001-of-00004.parquet`. A folder is divided only if *all* its readable files say so; one with a `train` file
beside others could mean either and is refused by `discreet.read`. Hidden files are passed over.
"""

import os
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from discreet.errors import InputError
from discreet.text.corpus import SPLIT_NAMES
from discreet.text.formats.contract import Source, format_of
from discreet.text.formats.hugging_face import saved_splits

_SHARD = re.compile(r"-\d+-of-\d+$")


def saved_sources(folder: Source) -> list[Source]:
    """The data sets of a folder that Hugging Face `datasets` wrote."""
    splits = saved_splits(folder.path)
    return [
        replace(folder, path=path, name=f"{folder.name}/{name}", split=SPLIT_NAMES.get(name.lower(), name))
        if name
        else folder
        for name, path in splits.items()
    ]


def folder_sources(folder: Source, format: str | None) -> tuple[list[Source], list[Path]]:
    """The files to read in a folder, and those passed over because nobody knows their extension."""
    sources, passed_over = [], []
    for path in _visible_files(folder.path):
        name = format or format_of(path)
        if name:
            sources.append(replace(folder, path=path, name=path.relative_to(folder.path).as_posix(), format=name))
        else:
            passed_over.append(path)
    splits = [split_called(source.name) for source in sources]
    if sources and all(splits):
        sources = [replace(source, split=split) for source, split in zip(sources, splits, strict=True)]
    return sources, passed_over


def split_called(name: str) -> str | None:
    """The split that a file's path below its folder stands for."""
    first = PurePosixPath(name).parts[0].split(".")[0]
    return SPLIT_NAMES.get(_SHARD.sub("", first).lower())


def splits_of(folder: Path, sources: Sequence[Source]) -> dict[str, list[Source]]:
    """The files of each split, empty where the files are one stream; what could mean either is refused."""
    grouped: dict[str, list[Source]] = defaultdict(list)
    for source in sources:
        if source.split:
            grouped[source.split].append(source)
    if not grouped and any(split_called(source.name) == "train" for source in sources if folder != source.path):
        other = next(source.name for source in sources if not split_called(source.name))
        raise InputError(
            f"{folder}: beside the train split stands '{other}', which names no split; move it away or read one file."
        )
    for split, files in grouped.items():
        if len({_origin(file.name) for file in files}) > 1:
            raise InputError(
                f"{folder}: '{files[0].name}' and '{files[1].name}' both claim the {split} split; keep one."
            )
    return dict(grouped)


def _origin(name: str) -> str:
    """What files of one split share: their folder, or their name but for the number of the shard."""
    path = PurePosixPath(name)
    if len(path.parts) > 1:
        return path.parts[0]
    first, dot, rest = path.name.partition(".")
    return _SHARD.sub("", first) + dot + rest


def _visible_files(folder: Path) -> list[Path]:
    found = []
    for top, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(top, name) for name in files if not name.startswith(".")]
    return sorted(found, key=lambda path: path.relative_to(folder).parts)
