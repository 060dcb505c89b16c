"""The report as one page that needs nothing else: tables, plots and pictures in a single HTML file."""

import base64
from html import escape
from pathlib import Path

import cv2

from plucc.evaluate.gallery import Exhibit, Gallery
from plucc.evaluate.report import Grid, Report, SideReport, comparison_grids, side_grids
from plucc.files import whole_file
from plucc.types import ImageArray

QUALITY = 82
STYLE = """
body{font:15px/1.5 system-ui,sans-serif;color:#24292f;max-width:1120px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem}h2{margin-top:2.2rem;border-bottom:1px solid #d0d7de}h3{margin:1.4rem 0 .4rem;font-size:1rem}
table{border-collapse:collapse;font-size:13px;margin:.4rem 0}th,td{padding:.25rem .6rem;border-bottom:1px solid #eaeef2}
th{text-align:right;background:#f6f8fa}td{text-align:right;font-variant-numeric:tabular-nums}
th:first-child,td:first-child{text-align:left}.wide{overflow-x:auto}.row{display:flex;flex-wrap:wrap;gap:1rem}
figure{margin:0;width:540px;max-width:100%}figure img{width:100%;height:auto;border-radius:4px}
figcaption{font-size:12px;color:#57606a}.note{background:#fff8c5;padding:.4rem .8rem;border-radius:4px;margin:.3rem 0}
.key span{display:inline-block;width:.8em;height:.8em;border-radius:50%;margin:0 .3em 0 1em}
"""
KEY = (
    '<p class="key"><span style="background:#28dc5a"></span>label<span style="background:#ff463c"></span>answer'
    '<span style="background:#50aaff"></span>players; the insets show the plain frame around label and answer</p>'
)


def write_page(report: Report, path: Path) -> None:
    """Write the page."""
    parts = [f"<h1>{escape(report.title)}</h1>", _facts(report.facts)]
    parts += [f'<p class="note">{escape(note)}</p>' for note in report.notes]
    if report.charts:
        parts.append(f'<h2>Plots</h2><div class="row">{"".join(report.charts)}</div>')
    parts += [_side(side) for side in report.sides]
    if report.comparison is not None:
        parts.append("<h2>Side by side</h2>" + "".join(_table(*grid) for grid in comparison_grids(report)))
    parts += [_map(caption, picture) for caption, picture in report.maps]
    if report.galleries:
        parts.append(KEY)
    parts += [_gallery(gallery) for gallery in report.galleries]
    head = f'<meta charset="utf-8"><title>{escape(report.title)}</title><style>{STYLE}</style>'
    with whole_file(path) as temporary:
        temporary.write_text(f"<!doctype html><html><head>{head}</head><body>{''.join(parts)}</body></html>\n", "utf-8")


def _side(side: SideReport) -> str:
    grids = "".join(_table(*grid) for grid in side_grids(side))
    return f"<h2>{escape(side.name)}</h2>{_facts(side.facts)}{grids}"


def _facts(facts: dict[str, str]) -> str:
    return "<p>" + " · ".join(f"{escape(name)}: <b>{escape(value)}</b>" for name, value in facts.items()) + "</p>"


def _table(head: str, cells: Grid) -> str:
    names, *rows = cells
    top = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<h3>{escape(head)}</h3><div class="wide"><table><tr>{top}</tr>{body}</table></div>'


def _map(caption: str, picture: ImageArray) -> str:
    return f'<h3>{escape(caption)}</h3><figure style="width:900px">{_embedded(picture, ".png")}</figure>'


def _gallery(gallery: Gallery) -> str:
    figures = "".join(_exhibit(exhibit) for exhibit in gallery.exhibits)
    return f'<h2>{escape(gallery.title)}</h2><div class="row">{figures}</div>'


def _exhibit(exhibit: Exhibit) -> str:
    warped = "" if exhibit.warped is None else _embedded(exhibit.warped, ".jpg")
    picture = _embedded(exhibit.picture, ".jpg")
    return f"<figure>{picture}{warped}<figcaption>{escape(exhibit.caption)}</figcaption></figure>"


def _embedded(picture: ImageArray, suffix: str) -> str:
    settings = [cv2.IMWRITE_JPEG_QUALITY, QUALITY] if suffix == ".jpg" else []
    _, encoded = cv2.imencode(suffix, cv2.cvtColor(picture, cv2.COLOR_RGB2BGR), settings)
    text = base64.b64encode(encoded.tobytes()).decode("ascii")
    return f'<img alt="" src="data:image/{"jpeg" if suffix == ".jpg" else "png"};base64,{text}">'
