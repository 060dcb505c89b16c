"""A small XML tree that knows the line of every element, so that a fault can be found again."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from plucc.types import DataError


@dataclass
class Node:
    """An element: its tag, attributes, text, children, and the line it begins on."""

    tag: str
    attributes: dict[str, str]
    line: int
    text: str = ""
    children: list["Node"] = field(default_factory=list)

    def all(self, *tags: str) -> Iterator["Node"]:
        """Yield the children with one of these tags."""
        return (child for child in self.children if child.tag in tags)

    def find(self, tag: str) -> "Node | None":
        """Return the first element of this tag anywhere below, nearest to the top of the file."""
        for child in self.children:
            found = child if child.tag == tag else child.find(tag)
            if found is not None:
                return found
        return None

    def value(self, tag: str) -> str | None:
        """Return the text of the first element of this tag anywhere below."""
        found = self.find(tag)
        return None if found is None else found.text.strip() or None


def read_xml(path: Path) -> Node:
    """Read a whole XML file; entities and external references are refused by never being declared."""
    if not path.is_file():
        raise DataError(f"{path} is missing: expected an XML file")
    parser = expat.ParserCreate()
    top = Node("", {}, 0)
    open_nodes = [top]

    def start(tag: str, attributes: dict[str, str]) -> None:
        node = Node(tag, attributes, parser.CurrentLineNumber)
        open_nodes[-1].children.append(node)
        open_nodes.append(node)

    def end(_: str) -> None:
        open_nodes.pop()

    def text(data: str) -> None:
        open_nodes[-1].text += data

    def refuse(*_: object) -> None:
        raise DataError(f"{path} declares XML entities, which label files have no use for: remove them")

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
    parser.EntityDeclHandler = refuse
    try:
        with path.open("rb") as file:
            parser.ParseFile(file)
    except expat.ExpatError as error:
        reason = expat.errors.messages[error.code]
        raise DataError(f"{path}, line {error.lineno}: not valid XML ({reason}); mend the file") from error
    return top.children[0]
