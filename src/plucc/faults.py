"""Turns what pydantic found wrong into one sentence about the key that the user wrote."""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError


def explain(error: ValidationError, root: type[BaseModel]) -> str:
    """Return what is wrong; an unknown key goes before the gap that it left, with the nearest right one."""
    first = min(error.errors(), key=lambda detail: detail["type"] != "extra_forbidden")
    section, path = _section_at(root, first["loc"])
    if first["type"] != "extra_forbidden":
        reason, found = first["msg"].removeprefix("Value error, "), first["input"]
        shown = "" if isinstance(found, dict) else f" (found {str(found)[:60]!r})"
        return f"{path}: {reason[0].lower()}{reason[1:]}{shown}"
    return f"{path} is not a setting: {_nearest(root, section, path)}"


def _nearest(root: type[BaseModel], section: type[BaseModel], path: str) -> str:
    parent, _, wrong = path.rpartition(".")
    prefix = f"{parent}." if parent else ""
    here = get_close_matches(wrong, section.model_fields, n=1)
    if here:
        return f"did you mean {prefix}{here[0]}?"
    below_first = sorted(_dotted_keys(root), key=lambda key: not key.startswith(prefix))
    names = {key.rpartition(".")[2]: key for key in reversed(below_first)}
    elsewhere = get_close_matches(wrong, names, n=1, cutoff=0.8)
    if elsewhere:
        return f"did you mean {names[elsewhere[0]]}?"
    return f"expected one of {', '.join(prefix + name for name in section.model_fields)}"


def _section_at(root: type[BaseModel], location: tuple[int | str, ...]) -> tuple[type[BaseModel], str]:
    """Return the section that holds the last part of an error's location, and that location as the user writes it."""
    section, parts = root, []
    nested: tuple[type[BaseModel], ...] = ()
    for part in location:
        tagged = [option for option in nested if part in _tags(option)]
        if tagged:  # pydantic puts the chosen kind into the location; the user's file has no such level
            section, nested = tagged[0], ()
            continue
        if len(nested) == 1 and isinstance(part, str):
            section = nested[0]
        field = section.model_fields.get(str(part))
        if not isinstance(part, int):
            nested = _sections_in(field.annotation) if field else ()
        parts.append(str(part))
    return section, ".".join(parts)


def _tags(section: type[BaseModel]) -> tuple[Any, ...]:
    kind = section.model_fields.get("kind")
    return get_args(kind.annotation) if kind else ()


def _sections_in(annotation: object) -> tuple[type[BaseModel], ...]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return (annotation,)
    return tuple(section for option in get_args(annotation) for section in _sections_in(option))


def _dotted_keys(section: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in section.model_fields.items():
        yield prefix + name
        for nested in _sections_in(field.annotation):
            yield from _dotted_keys(nested, f"{prefix}{name}.")
