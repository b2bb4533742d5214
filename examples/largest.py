"""A function that is worth keeping. Save it as a skill, which scripts import (see use-skill.py):

mcprun skill save largest examples/largest.py -d "Find the rows with the largest numbers in a field."
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

Row = TypeVar("Row", bound=Mapping[str, Any])


def largest(rows: Iterable[Row], field: str, count: int = 5) -> list[Row]:
    """Return the rows with the largest numbers in a field, the largest first."""
    return sorted(rows, key=lambda row: float(row[field] or 0), reverse=True)[:count]
