"""The part of the library mcprun that makes long answers short: lists, statistics, tables."""

import json
import math
import re

from mcprun import whole

__all__ = ["filter_by_field", "summarize_list", "aggregate_stats", "format_output"]


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _get(item, field):
    """Return the value of an item's field: "name", or a path such as "owner.name" and "tags.0". None if there is none."""
    if isinstance(item, dict) and field in item:
        return item[field]
    value = item
    for part in str(field).split("."):
        if isinstance(value, (list, tuple)):
            value = value[int(part)] if re.fullmatch("[0-9]+", part) and int(part) < len(value) else None
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return value


def _equal(a, b):
    if _is_number(a) and _is_number(b):
        return a == b
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal(value, b[key]) for key, value in a.items())
    return type(a) is type(b) and a == b


def _ordered(a, b):
    return (_is_number(a) and _is_number(b)) or (isinstance(a, str) and isinstance(b, str))


def _contains(a, b):
    if isinstance(a, str):
        return isinstance(b, str) and b in a
    if isinstance(a, (list, tuple)):
        return any(_equal(value, b) for value in a)
    return isinstance(a, dict) and isinstance(b, str) and b in a


_OPERATORS = {
    "==": _equal,
    "!=": lambda a, b: not _equal(a, b),
    ">": lambda a, b: _ordered(a, b) and a > b,
    ">=": lambda a, b: _ordered(a, b) and a >= b,
    "<": lambda a, b: _ordered(a, b) and a < b,
    "<=": lambda a, b: _ordered(a, b) and a <= b,
    "contains": _contains,
    "in": lambda a, b: any(_equal(a, value) for value in b),
    "exists": lambda a, b: (a is not None) == (True if b is None else b),
}


def filter_by_field(items, field, value=None, operator="=="):
    """Return the items whose field has a value: filter_by_field(rows, "owner.name", "Ann"), or (rows, "size", 10, ">").

    operator is == != > >= < <= contains in exists; value may also be a function of what the item has there. A field that
    is missing counts as None. Comparisons such as > hold only between two numbers, or two texts.
    """
    items = whole(items)
    if callable(value):
        return [item for item in items if value(_get(item, field))]
    if operator not in _OPERATORS:
        raise TypeError(f"there is no operator {operator!r}; there are {' '.join(_OPERATORS)}")
    holds = _OPERATORS[operator]
    return [item for item in items if holds(_get(item, field), value)]


_LONGEST, _MOST_ITEMS, _MOST_FIELDS = 200, 5, 50


def _shorten(value):
    """Return a value in which long texts and lists are cut, and say so."""
    if isinstance(value, str) and len(value) > _LONGEST:
        return f"{value[:_LONGEST]}… ({len(value) - _LONGEST} more characters)"
    if isinstance(value, (list, tuple)):
        head = [_shorten(item) for item in value[:_MOST_ITEMS]]
        return [*head, f"… ({len(value) - _MOST_ITEMS} more)"] if len(value) > _MOST_ITEMS else head
    if isinstance(value, dict):
        return {key: _shorten(item) for key, item in value.items()}
    return value


def _kind(value):
    for kind, types in (("boolean", bool), ("number", (int, float)), ("string", str), ("list", (list, tuple))):
        if isinstance(value, types):
            return kind
    return "object"


def summarize_list(items, limit=5):
    """Summarize a long list: count; for each field its types, in how many items it is missing, how many distinct values it has,
    least and greatest; and the first items as sample, with long texts and lists cut.
    """
    items, fields = list(whole(items)), {}
    objects = [item for item in items if isinstance(item, dict)]
    for item in objects:
        for name, value in item.items():
            if name in fields or len(fields) < _MOST_FIELDS:
                fields.setdefault(name, []).append(value)
    described = {name: _describe(values, len(objects)) for name, values in fields.items()}
    return {"count": len(items), "fields": described, "sample": [_shorten(item) for item in items[:limit]]}


def _describe(values, of):
    known = [value for value in values if value is not None]
    out = {"types": sorted({_kind(value) for value in known}), "missing": of - len(known)}
    if len(out["types"]) == 1 and out["types"][0] in ("number", "string", "boolean"):
        out["distinct"] = len(set(known))
        if out["types"][0] != "boolean":
            out["min"], out["max"] = _shorten(min(known)), _shorten(max(known))
    return out


def _sum(numbers):
    """Return the sum, with Neumaier's compensation, so that the order makes hardly any difference."""
    if all(isinstance(x, int) for x in numbers):
        return sum(numbers)
    total = lost = 0.0
    for x in map(float, numbers):
        following = total + x
        lost += total - following + x if abs(total) >= abs(x) else x - following + total
        total = following
    return total + lost


def _stats(values):
    numbers = sorted(value for value in values if _is_number(value))
    n, total = len(numbers), _sum(numbers)
    out = {"count": n, "skipped": len(values) - n, "sum": total, "mean": None, "median": None, "min": None, "max": None,
           "stddev": None}
    if n:
        half = n // 2
        out["mean"] = mean = total / n
        out["median"] = numbers[half] if n % 2 else (numbers[half - 1] + numbers[half]) / 2
        out["min"], out["max"] = numbers[0], numbers[-1]
        if n > 1:
            out["stddev"] = math.sqrt(_sum([(x - mean) * (x - mean) for x in numbers]) / (n - 1))
    return out


class _FieldStats(dict):
    """The statistics of several fields, by field. stats["amount_sum"] is stats["amount"]["sum"], and amount_avg the mean;
    such keys are not listed, printed or encoded.
    """

    def __missing__(self, key):
        field, _, figure = str(key).rpartition("_")
        values = dict.get(self, field)
        if not isinstance(values, dict):
            raise KeyError(key)
        return values["mean" if figure == "avg" else figure]

    def get(self, key, default=None):
        try:
            return self[key]
        except KeyError:
            return default

    def __contains__(self, key):
        return self.get(key, self) is not self


def _holds_numbers(values):
    known = [value for value in values if value is not None]
    return bool(known) and all(map(_is_number, known))


def aggregate_stats(items, field=None, group_by=None, *, numeric_fields=None):
    """Return count, sum, mean, median, min, max and stddev (of a sample) of the numbers in a field of items, or of the
    items themselves. Values that are not numbers are counted as skipped. With a list of fields, return the same for each of
    them, and the count of items; without a field, for all fields of objects that hold numbers. With group_by, return it for
    each value of that field. numeric_fields is another name for a list of fields. stats["amount"]["sum"] is also
    stats["amount_sum"].
    """
    items = list(whole(items))
    field = numeric_fields if field is None else field
    if field is None and items and all(isinstance(item, dict) for item in items):
        names = dict.fromkeys(name for item in items for name in item if name != group_by)
        field = [name for name in names if _holds_numbers([item.get(name) for item in items])]

    def of(some):
        if isinstance(field, (list, tuple)):
            fields = {name: _stats([_get(item, name) for item in some]) for name in field}
            return _FieldStats({"count": len(some), **fields})
        return _stats(some if field is None else [_get(item, field) for item in some])

    if group_by is None:
        return of(items)
    groups = {}
    for item in items:
        groups.setdefault(_label(_get(item, group_by)), []).append(item)
    return {name: of(some) for name, some in groups.items()}


# ---- output ----

_FORMATS = ("auto", "json", "markdown", "csv")


def _plain(value):
    """A value as JSON has it in every language: 3.0 is 3, and what JSON cannot hold is null or a text."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() and abs(value) < 1e21 else value
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _json(value, indent=None):
    separators = (",", ":") if indent is None else None
    return json.dumps(_plain(value), ensure_ascii=False, indent=indent, separators=separators, default=str)


def _label(value):
    return value if isinstance(value, str) else _json(value)


def format_output(data, format="auto", limit=100, max_chars=None):
    """Return data as a text to print: json, markdown (a table), or csv; auto is a text as it is, and JSON for everything
    else. A table has at most limit rows and says how many more there are. A text longer than max_chars, which may be the second
    argument, is cut and says by how much.
    """
    data = whole(data)
    if isinstance(format, int):
        format, max_chars = "auto", format
    text = _formatted(data, format, limit)
    if max_chars is None or len(text) <= max_chars:
        return text
    return f"{text[:max_chars]}\n… ({len(text) - max_chars} more characters)"


def _formatted(data, format, limit):
    format = "markdown" if format == "table" else format
    if format not in _FORMATS:
        raise TypeError(f"there is no format {format!r}; there are {' '.join(_FORMATS)}")
    if format == "auto":
        if isinstance(data, str):
            return data
        format = "json"
    if format == "json":
        return _json(data, 2)
    rows = data if isinstance(data, (list, tuple)) else [data]
    columns = list(dict.fromkeys(str(key) for row in rows for key in (row if isinstance(row, dict) else ("value",))))

    def cells(row):
        row = row if isinstance(row, dict) else {"value": row}
        return ["" if row.get(column) is None else _label(row[column]) for column in columns]

    if format == "csv":
        return "".join(",".join(map(_quoted, line)) + "\n" for line in [columns, *map(cells, rows)])
    lines = [map(_escaped, columns), ["---"] * len(columns), *(map(_escaped, cells(row)) for row in rows[:limit])]
    out = ["| " + " | ".join(line) + " |" for line in lines]
    if len(rows) > limit:
        out.append(f"… and {len(rows) - limit} more rows")
    return "\n".join(out)


def _escaped(text):
    return re.sub("\r\n|\r|\n", " ", text.replace("\\", "\\\\").replace("|", "\\|"))


def _quoted(text):
    return '"' + text.replace('"', '""') + '"' if re.search('[",\r\n]', text) else text
