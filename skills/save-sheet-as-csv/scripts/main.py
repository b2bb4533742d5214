"""Saves a sheet of the drive as a CSV file in the workspace."""

from typing import TypedDict

from mcprun import is_handle, write_file
from servers.drive import get_sheet


class SavedSheet(TypedDict):
    path: str  # in the workspace
    title: str
    columns: list[str]
    rows: int  # without the line of headings


def save_sheet_as_csv(sheet_id: str, path: str | None = None, range: str | None = None) -> SavedSheet:
    sheet = get_sheet(sheet_id=sheet_id, format="csv", range=range)
    if is_handle(sheet):  # a very large answer
        sheet = sheet.json()
    written = write_file(path or f"{sheet_id}.csv", sheet.get("csv", ""))
    return {
        "path": written,
        "title": sheet["title"],
        "columns": [column["name"] for column in sheet["columns"]],
        "rows": sheet["row_count"],
    }
