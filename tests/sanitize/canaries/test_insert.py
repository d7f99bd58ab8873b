"""Canaries in a corpus: as many copies as planned, where the manifest says, and everything else as it was."""

import itertools
import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError, RefusedError, SettingError
from discreet.sanitize.canaries.insert import Canaries, Insertion
from discreet.sanitize.canaries.manifest import WORLDS, Manifest
from discreet.sanitize.canaries.template import read_template
from discreet.text.records import Record, Secret

quick = settings(derandomize=True, deadline=None, max_examples=60)
TEMPLATE = read_template("My ID is {digits:6}, {red|blue}.")


def corpus(count, **more):
    return [Record(f"r{number}", f"text {number}", **more) for number in range(count)]


@quick
@given(
    st.integers(1, 30),
    st.integers(1, 5),
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.sampled_from(WORLDS),
    st.sampled_from(["even", "random"]),
    st.integers(0, 50),
)
def test_the_manifest_says_what_was_put_in_and_the_rest_is_as_it_was(records, number, times, world, placement, seed):
    plan = Insertion(TEMPLATE, number, tuple(times), world, placement, seed=seed)
    canaries = Canaries(corpus(records), plan)
    mixed = list(canaries)
    manifest = canaries.manifest()
    assert [r for r in mixed if not r.id.startswith("canary-")] == corpus(records)
    assert len(mixed) == manifest.records == len({r.id for r in mixed})
    put_in = 0
    for canary, repetitions in zip(manifest.canaries, [times[n % len(times)] for n in range(number)], strict=True):
        assert canary.repetitions == repetitions
        assert (canary.coin is None) == (world == "fixed")
        for place in canary.places:
            record = mixed[place.position]
            assert record.id == place.id
            assert record.text == TEMPLATE.fill(canary.inserted or ()).text
        assert len(canary.places) == (0 if canary.inserted is None else repetitions)
        put_in += len(canary.places)
    assert put_in + records == len(mixed)
    secrets = [c.secret for c in manifest.canaries] + [c.other for c in manifest.canaries if c.other]
    assert len(set(secrets)) == len(secrets)
    assert Manifest.from_json(json.loads(json.dumps(manifest.to_json()))) == manifest


def test_each_world_puts_in_what_its_coin_says():
    for world in WORLDS:
        canaries = Canaries(corpus(3), Insertion(TEMPLATE, 40, world=world, seed=1))
        for canary in canaries.canaries:
            tails = {
                "fixed": None,
                "secret-or-other": canary.other,
                "secret-or-mask": ("<MASK>", "<MASK>"),
                "in-or-out": None,
            }[world]
            assert canary.inserted == (tails if canary.coin is False else canary.secret)
        coins = Counter(canary.coin for canary in canaries.canaries)
        assert coins == {None: 40} if world == "fixed" else 8 < coins[True] < 32  # once in 10^4


def test_coins_are_fair_and_do_not_depend_on_the_secrets():
    """4,000 coins: less than 1,800 or more than 2,200 heads happen by chance less than once in 10^9."""
    plan = Insertion(TEMPLATE, 4000, world="in-or-out", seed=5)
    assert 1800 < sum(bool(canary.coin) for canary in Canaries(corpus(1), plan).canaries) < 2200


def test_even_places_are_spread_and_copies_of_one_canary_are_far_apart():
    canaries = Canaries(corpus(1000), Insertion(TEMPLATE, 2, (5,)))
    list(canaries)
    positions = sorted(place.position for canary in canaries.manifest().canaries for place in canary.places)
    gaps = [after - before for before, after in itertools.pairwise(positions)]
    assert max(gaps) - min(gaps) <= 1
    for canary in canaries.manifest().canaries:
        own = [place.position for place in canary.places]
        assert min(after - before for before, after in itertools.pairwise(own)) > 150


def test_canaries_go_to_each_author_or_to_the_most_active():
    records = [Record(f"r{n}", "x", author=["a", "b", "b", "c", "c", "c"][n % 6]) for n in range(60)]
    every = Canaries(records, Insertion(TEMPLATE, 2, (1, 3), per_author=True))
    assert Counter(canary.author for canary in every.canaries) == {"a": 2, "b": 2, "c": 2}
    assert {r.author for r in every if r.id.startswith("canary")} == {"a", "b", "c"}
    two = Canaries(records, Insertion(TEMPLATE, 1, per_author=True, authors=2))
    assert [canary.author for canary in two.canaries] == ["c", "b"]
    with pytest.raises(SettingError, match="no authors"):
        Canaries(corpus(3), Insertion(TEMPLATE, per_author=True))


def test_canaries_go_into_their_split_and_are_marked_like_the_corpus():
    records = [Record("1", "a", split="valid"), Record("2", "b", split="train", secrets=())]
    put_in = [r for r in Canaries(records, Insertion(TEMPLATE)) if r.id.startswith("canary")]
    assert [(r.split, len(r.secrets or ())) for r in put_in] == [("train", 2)]
    assert all(isinstance(secret, Secret) and secret.kind == "CANARY" for secret in put_in[0].secrets or ())
    plain = [r for r in Canaries(corpus(2), Insertion(TEMPLATE)) if r.id.startswith("canary")]
    assert (plain[0].split, plain[0].secrets) == (None, None)


def test_given_secrets_come_first_and_must_be_members():
    template = read_template("My ID is {digits:6}.")
    plan = Insertion(template, 3, given=(("341752",),))
    found = [canary.secret for canary in Canaries(corpus(1), plan).canaries]
    assert found[0] == ("341752",)
    assert len(set(found)) == 3
    with pytest.raises(SettingError, match="no filling"):
        Canaries(corpus(1), Insertion(template, given=(("12",),)))


def test_an_id_that_a_canary_would_have_is_refused():
    with pytest.raises(RefusedError, match="--prefix"):
        list(Canaries([Record("canary-0-0", "x")], Insertion(TEMPLATE)))
    assert len(list(Canaries([Record("canary-0-0", "x")], Insertion(TEMPLATE, prefix="bird")))) == 2


@pytest.mark.parametrize("wrong", [{"number": 0}, {"repetitions": ()}, {"world": "both"}, {"placement": "end"}])
def test_plans_that_make_no_sense_are_refused(wrong):
    with pytest.raises(SettingError):
        Insertion(TEMPLATE, **wrong)


def test_a_split_without_records_is_refused():
    with pytest.raises(SettingError, match="no records in its 'test'"):
        Canaries(corpus(2), Insertion(TEMPLATE, split="test"))


def test_a_manifest_that_is_none_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match="no such manifest"):
        Manifest.read(tmp_path / "none.json")
    for content in ("{}", "[]", '{"version": 2}', "nonsense"):
        (tmp_path / "broken.json").write_text(content)
        with pytest.raises(InputError, match="no manifest of canaries"):
            Manifest.read(tmp_path / "broken.json")
