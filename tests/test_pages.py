"""The pages of the documentation hold together: links lead somewhere, and nothing that is registered goes unnamed."""

import re
from pathlib import Path

import pytest

from discreet.attacks.contract import ATTACKS
from discreet.mechanisms.contract import MECHANISMS
from discreet.policy.contract import POLICIES

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def links(text: str) -> list[str]:
    """Where a page's links lead, but for those out of the repository; code is no link."""
    return [target for target in LINK.findall(CODE.sub("`", text)) if "://" not in target]


def anchors(text: str) -> set[str]:
    """What the headings of a page are called in links, as GitHub makes them."""
    headings = HEADING.findall(re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def dead(page: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    found = []
    for link in links(read(page)):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        there = target.exists() and (not anchor or anchor in anchors(read(target)))
        if not there:
            found.append(link)
    return found


def page_of(mechanism: str) -> Path | None:
    """The page whose title names a mechanism."""
    titled = [page for page in (DOCS / "mechanisms").glob("*.md") if f"`{mechanism}`" in read(page).splitlines()[0]]
    return titled[0] if len(titled) == 1 else None


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_of_a_page_lead_to_files_and_headings_that_exist(page):
    assert dead(page) == []


def test_a_link_to_a_missing_file_or_heading_is_seen(tmp_path):
    page, other = tmp_path / "page.md", tmp_path / "other.md"
    other.write_text("# `crt`: a title, and more\n\n```sh\n# no heading\n```\n", encoding="utf-8")
    good = "[a](other.md) [b](other.md#crt-a-title-and-more) [c](#here) [d](https://example.org/gone) `[e](gone.md)`"
    page.write_text(f"# Here\n\n{good}\n\n[f](gone.md) [g](other.md#no-heading) [h](#there)\n", encoding="utf-8")
    assert dead(page) == ["gone.md", "other.md#no-heading", "#there"]


@pytest.mark.parametrize("name", MECHANISMS.names())
def test_a_mechanism_has_a_page_and_is_named_where_one_chooses(name):
    page = page_of(name)
    assert page is not None, f"there must be one page in docs/mechanisms whose title names `{name}`"
    linked = f"[`{name}`](mechanisms/{page.name})"
    assert linked in read(DOCS / "mechanisms.md")
    assert linked in read(DOCS / "which-method.md")
    assert f"docs/mechanisms/{page.name}" in read(ROOT / "README.md")


@pytest.mark.parametrize("name", MECHANISMS.names())
def test_every_setting_of_a_mechanism_is_explained(name):
    page = page_of(name)
    assert page is not None
    text = read(page) + read(DOCS / "mechanisms.md")
    settings = set(MECHANISMS[name].Options.model_fields) - {"name"}
    assert {key for key in settings if not re.search(rf"`{key}[`.]", text)} == set()


def test_every_policy_has_a_row():
    rows = "\n".join(line.split("|")[1] for line in read(DOCS / "policies.md").splitlines() if line.startswith("|"))
    assert [name for name in POLICIES.names() if f"`{name}`" not in rows] == []


def test_every_attack_has_a_row():
    rows = "\n".join(line.split("|")[1] for line in read(DOCS / "attacks.md").splitlines() if line.startswith("|"))
    assert [name for name in ATTACKS.names() if f"`{name}`" not in rows] == []


def test_every_page_is_linked_from_the_readme():
    readme = read(ROOT / "README.md")
    assert [page.name for page in DOCS.rglob("*.md") if f"]({page.relative_to(ROOT)})" not in readme] == []
