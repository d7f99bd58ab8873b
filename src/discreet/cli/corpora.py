"""`discreet corpora`: which public corpora are known by name, where to get them, under which licence."""

from rich.box import SIMPLE
from rich.table import Table
from rich.text import Text

from discreet.cli import app, console
from discreet.cli.options import Json
from discreet.text.corpora import CORPORA, NamedCorpus


@app.command()
def corpora(json_output: Json = False) -> None:
    """List the public corpora that are known by name, where to get each and its licence.

    Nothing is downloaded: get one, unpack it, and point at the folder (docs/corpora.md).
    """
    known = [CORPORA[name] for name in CORPORA.names()]
    if json_output:
        keys = ("name", "about", "url", "licence", "splits", "files")
        console.emit([{key: getattr(corpus, key) for key in keys} for corpus in known])
        return
    table = Table("name", "what it is, what it looks for in the folder, its licence, and where to get it", box=SIMPLE)
    table.columns[0].no_wrap = True
    table.columns[1].overflow = "fold"  # a cut address helps nobody
    for corpus in known:
        table.add_row(Text(corpus.name, "bold"), _told(corpus), end_section=True)
    console.out.print(table, soft_wrap=False)


def _told(corpus: NamedCorpus) -> Text:
    """In Text rather than markup, because the name of a file may hold what rich takes for markup."""
    return Text("\n").join(
        (
            Text(corpus.about),
            Text.assemble(("files    ", "dim"), "\n      or ".join(corpus.files)),
            Text.assemble(("licence  ", "dim"), corpus.licence),
            Text.assemble(("get it   ", "dim"), (corpus.url, "cyan")),
        )
    )
