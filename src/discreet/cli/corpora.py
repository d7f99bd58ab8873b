"""`discreet corpora`: which public corpora are known by name, where to get them, under which licence."""

from rich.table import Table
from rich.text import Text

from discreet.cli import app, console
from discreet.cli.options import Json
from discreet.text.corpora import CORPORA


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
    table = Table("name", "what it is", "expects in the folder", "licence", "get it from", show_lines=True)
    table.columns[0].no_wrap = True
    for corpus in known:
        cells = (corpus.name, corpus.about, "\nor ".join(corpus.files), corpus.licence, corpus.url)
        table.add_row(*map(Text, cells))  # Text, because a file's name may hold what rich takes for markup
    console.out.print(table, soft_wrap=False)
