"""Rows to records: which fields a record is made of, and what is remembered to write the row again.

    reader = RowReader(Source(Path("mail.jsonl"), "mail.jsonl", "jsonl"))
    record = reader.record(3, {"id": 7, "text": "Hi Ann", "topic": "greeting"})
    record.id, record.fields        # '7', {'topic': 'greeting'}

A record's `fields` hold everything the record itself does not, as a `Kept`: a dictionary that also knows the layout of
its row (names, order, whether ids were numbers) but none of the text, so that a redacted record carries nothing of what
was redacted.
"""

from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from functools import cached_property
from operator import attrgetter
from typing import Any

import orjson

from discreet.errors import InputError
from discreet.registry import nearest
from discreet.text.formats.contract import FORMATS, Bad, Fields, Row, Source
from discreet.text.formats.dialogs import Dialog, Shape, read_turns
from discreet.text.formats.spans import read_secrets
from discreet.text.records import Record, Secret, Turn, check_secrets

ROLES = tuple(field.name for field in dataclass_fields(Fields))
MOST_LAYOUTS = 1000
"""A file in which every row has fields of its own must not fill the memory with layouts."""


class BadRow(Exception):
    """A row that makes no record; the reader stops or skips."""

    def __init__(self, reason: str, sentence: str) -> None:
        super().__init__(sentence)
        self.bad = Bad(reason, sentence)


@dataclass(frozen=True)
class Layout:
    """The names and order of a row's fields, and how its id and author were written: as text, number or null."""

    keys: tuple[str, ...]
    fields: Fields
    id_as: str = "text"
    author_as: str = "text"

    def __reduce__(self) -> tuple[Any, ...]:
        return Layout, (self.keys, self.fields, self.id_as, self.author_as)  # what is cached is worked out again

    @cached_property
    def plan(self) -> tuple[tuple[str, str | None], ...]:
        """Each key with its role in the record; None for the other fields."""
        roles = {getattr(self.fields, role): role for role in ROLES}
        return tuple((key, roles.get(key)) for key in self.keys)

    @cached_property
    def roles(self) -> frozenset[str]:
        return frozenset(role for _, role in self.plan if role)

    @cached_property
    def has_more(self) -> bool:
        """Whether the row has more of a record than a text and an id."""
        return bool(self.roles - {"text", "id"})

    @cached_property
    def own_id(self) -> bool:
        """Whether the row gives the record its id."""
        return "id" in self.roles and self.id_as != "null"

    @cached_property
    def missing(self) -> tuple[str, ...]:
        """Roles the row does not have, to be written when a record has come by them."""
        return tuple(role for role in ROLES if role not in self.roles and role not in ("id", "text"))

    @cached_property
    def missing_of(self) -> Callable[[Record], tuple[Any, ...]]:
        """Reads what a record has of these roles, all in one call."""
        names = self.missing
        return attrgetter(*names) if len(names) > 1 else lambda record: tuple(getattr(record, name) for name in names)

    @cached_property
    def nothing_else(self) -> "Kept":
        """What is kept of a row without other fields; one for all of them."""
        return kept_of(self, {})


class Kept(dict[str, Any]):
    """The other fields of a row, and how the row was laid out."""

    __slots__ = ("layout", "shape")
    layout: Layout
    shape: Shape | None

    def __reduce__(self) -> tuple[Any, ...]:
        return kept_of, (self.layout, dict(self), self.shape)


def kept_of(layout: Layout, others: Row, shape: Shape | None = None) -> Kept:
    """A `Kept` (which has no `__init__` of its own: one is made for every record)."""
    kept = Kept(others)
    kept.layout = layout
    kept.shape = shape
    return kept


class RowReader:
    """Makes the records of one file."""

    def __init__(self, source: Source) -> None:
        self._fields, self._name, self._split = source.fields, source.name, source.split
        self._prefix = f"{source.path}, {FORMATS[source.format].unit} "
        self._flat = FORMATS[source.format].flat
        self._layouts: dict[tuple[Any, ...], Layout] = {}

    def record(self, number: int, row: Row) -> Record:
        """The record of a row (which is taken apart); raises `BadRow` where it makes none."""
        keys = tuple(row)
        layout = self._layouts.get(keys) or self._remember(keys, Layout(keys, self._fields))
        place = f"{self._prefix}{number}"
        text = row.pop(self._fields.text, None)
        identity = row.pop(self._fields.id, None)
        if identity.__class__ is not str or not identity:
            identity, layout = self._identity(identity, number, layout)
        if layout.has_more:
            return self._full(identity, text, row, layout, place)
        if text.__class__ is not str:
            raise _no_text(text, layout)
        kept = kept_of(layout, row) if row else layout.nothing_else
        return quick_record(identity, text, None, None, None, None, None, self._split, (), kept, place)

    def _full(self, identity: str, text: Any, row: Row, layout: Layout, place: str) -> Record:
        """A record that has more than a text and an id."""
        names = self._fields
        author = self._take(row, names.author)
        if author.__class__ is int:
            author, layout = str(author), self._variant(layout, layout.id_as, "number")
        author = _expected(author, str, names.author, "a string or a whole number")
        label = _expected(self._take(row, names.label), (str, int, float), names.label, "a string or a number")
        pair = _expected(self._take(row, names.pair), str, names.pair, "a string")
        split = _expected(self._take(row, names.split), str, names.split, "a string")
        dialog = self._dialog(self._take(row, names.turns), text, layout)
        if dialog:
            text = dialog.text
        elif text.__class__ is not str:
            raise _no_text(text, layout)
        secrets = self._secrets(self._take(row, names.secrets), text, place)
        pair_secrets = self._secrets(self._take(row, names.pair_secrets), pair or "", place)
        turns, shape = (dialog.turns, dialog.shape) if dialog else ((), None)
        kept = kept_of(layout, row, shape) if row or shape else layout.nothing_else
        split = self._split if split is None else split
        return quick_record(identity, text, author, label, pair, secrets, pair_secrets, split, turns, kept, place)

    def _take(self, row: Row, name: str) -> Any:
        value = row.pop(name, None)
        return None if self._flat and value == "" else value

    def _identity(self, value: Any, number: int, layout: Layout) -> tuple[str, Layout]:
        """The id of a row that has none, or one that is not a string."""
        if value.__class__ is int:
            return str(value), self._variant(layout, "number", "text")
        if value is None or (value == "" and self._flat):
            return f"{self._name}:{number}", self._variant(layout, "null", "text")
        raise BadRow(
            "bad id", f"the '{self._fields.id}' must be a whole number or a string that is not empty; correct it."
        )

    def _dialog(self, turns: Any, text: Any, layout: Layout) -> Dialog | None:
        if turns is None:
            return None
        if text is not None and text.__class__ is not str:
            raise _no_text(text, layout)
        dialog = read_turns(_unpacked(turns), text or None)
        if isinstance(dialog, Bad):
            raise BadRow(*dialog)
        return dialog

    def _secrets(self, value: Any, text: str, place: str) -> tuple[Secret, ...] | None:
        if value is None:
            return None
        found = read_secrets(_unpacked(value))
        if isinstance(found, Bad):
            raise BadRow(*found)
        try:
            return check_secrets(found, text, place)
        except InputError as error:
            raise BadRow("secret outside its text", str(error).removeprefix(f"{place}: ")) from None

    def _variant(self, layout: Layout, id_as: str, author_as: str) -> Layout:
        key = (layout.keys, id_as, author_as)
        return self._layouts.get(key) or self._remember(key, Layout(layout.keys, layout.fields, id_as, author_as))

    def _remember(self, key: tuple[Any, ...], layout: Layout) -> Layout:
        if len(self._layouts) >= MOST_LAYOUTS:
            self._layouts.clear()
        self._layouts[key] = layout
        return layout


def missing_field(name: str, present: tuple[str, ...] | list[str]) -> str:
    """What to say where the text is missing, with the nearest field that is there.

    The first line of a table without a header is data, so only what looks like a field's name is repeated.
    """
    names = [key for key in present if key.isidentifier() and len(key) <= 30]
    hint = nearest(name, names) if names else "the first line of a table must name its columns."
    return f"there is no '{name}'; {hint} Name the one to read with --text-field."


def _no_text(text: Any, layout: Layout) -> BadRow:
    name = layout.fields.text
    if text is None and "text" not in layout.roles:
        return BadRow("missing text", missing_field(name, layout.keys))
    return BadRow(
        "text is not a string", f"the field '{name}' is not a string; correct it or name another with --text-field."
    )


def _expected(value: Any, kind: type | tuple[type, ...], name: str, words: str) -> Any:
    if value is None or isinstance(value, kind):
        return value
    raise BadRow("wrong kind of value", f"the field '{name}' is not {words}; correct it or rename the field.")


def _unpacked(value: Any) -> Any:
    """A nested value that a flat cell holds as JSON."""
    try:
        return orjson.loads(value) if isinstance(value, str) else value
    except ValueError:
        return None


_new = object.__new__
_SETTERS = tuple(getattr(Record, field.name).__set__ for field in dataclass_fields(Record))


def quick_record(
    id: str,
    text: str,
    author: str | None,
    label: str | int | float | None,
    pair: str | None,
    secrets: tuple[Secret, ...] | None,
    pair_secrets: tuple[Secret, ...] | None,
    split: str | None,
    turns: tuple[Turn, ...],
    fields: Kept,
    place: str,
) -> Record:
    """`Record(...)` at less than half the price, which is most of the price of reading small records.

    A frozen dataclass sets each field through `object.__setattr__`; this goes to the slots directly.
    """
    record: Record = _new(Record)
    a, b, c, d, e, f, g, h, i, j, k = _SETTERS
    a(record, id), b(record, text), c(record, author), d(record, label), e(record, pair), f(record, secrets)
    g(record, pair_secrets), h(record, split), i(record, turns), j(record, fields), k(record, place)
    return record
