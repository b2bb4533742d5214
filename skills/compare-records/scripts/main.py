"""Compares two lists of records by a key."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict

Row = Mapping[str, Any]


class Change(TypedDict):
    key: str
    fields: dict[str, dict[str, Any]]


class Difference(TypedDict):
    only_left: list[Row]
    only_right: list[Row]
    changed: list[Change]
    same: int
    left_out: int  # records without a key, or with one that was there already


def compare_records(
    left: Iterable[Row],
    right: Iterable[Row],
    key: str | tuple[str, str],
    fields: Sequence[str] | Mapping[str, str] | None = None,
) -> Difference:
    left_key, right_key = (key, key) if isinstance(key, str) else key
    a, missing_a = _by_key(left, left_key)
    b, missing_b = _by_key(right, right_key)
    changed: list[Change] = []
    same = 0
    for name, row in a.items():
        other = b.get(name)
        if other is None:
            continue
        different = {
            x: {"left": row.get(x), "right": other.get(y)} for x, y in _pairs(fields, row, other, left_key) if not _equal(row.get(x), other.get(y))
        }
        if different:
            changed.append({"key": name, "fields": different})
        else:
            same += 1
    return {
        "only_left": [row for name, row in a.items() if name not in b],
        "only_right": [row for name, row in b.items() if name not in a],
        "changed": changed,
        "same": same,
        "left_out": missing_a + missing_b,
    }


def _by_key(rows: Iterable[Row], key: str) -> tuple[dict[str, Row], int]:
    found: dict[str, Row] = {}
    left_out = 0
    for row in rows:
        value = row.get(key)
        if value is None or str(value) in found:
            left_out += 1
        else:
            found[str(value)] = row
    return found, left_out


def _pairs(fields: Sequence[str] | Mapping[str, str] | None, left: Row, right: Row, key: str) -> list[tuple[str, str]]:
    if fields is None:
        return [(name, name) for name in left if name in right and name != key]
    if isinstance(fields, Mapping):
        return list(fields.items())
    return [(name, name) for name in fields]


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, (int, float)) and isinstance(b, (int, float)) and not isinstance(a, bool) and not isinstance(b, bool):
        return abs(a - b) < 1e-9 * max(1, abs(a), abs(b))
    return a == b


def describe_difference(difference: Difference, limit: int = 10) -> str:
    """Say what differs, in at most `limit` lines of each kind."""
    d = difference
    head = f"{d['same']} the same, {len(d['changed'])} changed, {len(d['only_left'])} only left, {len(d['only_right'])} only right"
    if d["left_out"]:
        head += f", {d['left_out']} left out"
    lines = [head]
    for change in d["changed"][:limit]:
        parts = (f"{name} {json.dumps(v['left'], ensure_ascii=False)} → {json.dumps(v['right'], ensure_ascii=False)}" for name, v in change["fields"].items())
        lines.append(f"~ {change['key']}: " + ", ".join(parts))
    for mark, rows in (("- ", d["only_left"]), ("+ ", d["only_right"])):
        lines += [mark + json.dumps(row, ensure_ascii=False, default=str)[:200] for row in rows[:limit]]
    return "\n".join(lines)
