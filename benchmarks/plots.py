"""Drawings of the report as files of their own, for the pages under docs."""

PLAIN = """<style>text { fill: #222; font-family: sans-serif } .tick, .note { fill: #555; font-size: 11px }
.grid { stroke: #ddd } .axis { stroke: #555 } .guide { stroke: #555; stroke-dasharray: 5 4 }</style>
<rect width="100%" height="100%" fill="#fff"/>"""


def standing_alone(svg: str) -> str:
    """The drawing with the colours that a page would give it."""
    head, rest = svg.split(">", 1)
    width, height = head.split('viewBox="0 0 ')[1].split('"')[0].split()
    return f'{head} xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">{PLAIN}{rest}\n'
