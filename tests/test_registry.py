"""Registries of named things."""

import pytest

from discreet.errors import UnknownNameError
from discreet.registry import Registry, nearest


def filled() -> Registry[int]:
    registry: Registry[int] = Registry("number", "discreet.no_such_group", "discreet.recipes")
    registry.register("one")(1)
    registry.register("seven")(7)
    return registry


def test_a_registered_name_gives_its_member():
    assert filled()["seven"] == 7
    assert filled().names() == ["one", "seven"]
    assert "one" in filled()


def test_a_mistyped_name_offers_the_nearest():
    with pytest.raises(UnknownNameError, match="no number called 'sevn'; did you mean 'seven'"):
        filled()["sevn"]


def test_a_name_like_no_other_lists_all():
    with pytest.raises(UnknownNameError, match="known: one, seven"):
        filled()["zzzzzzz"]


def test_two_members_cannot_share_a_name():
    with pytest.raises(ValueError, match="called 'one'"):
        filled().register("one")(11)


def test_other_packages_add_members_by_entry_point(monkeypatch):
    class Entry:
        name = "nine"

        def load(self) -> int:
            return 9

    monkeypatch.setattr(
        "discreet.registry.entry_points", lambda group: [Entry()] if group == "discreet.no_such_group" else []
    )
    assert filled()["nine"] == 9


def test_nearest_prefers_the_closest_spelling():
    assert nearest("epoch", ["epochs", "seed"]) == "did you mean 'epochs'?"
