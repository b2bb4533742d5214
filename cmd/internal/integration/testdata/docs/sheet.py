from mcprun import format_output, write_file
from servers.drive import get_sheet


def save_sheet_as_csv(id: str) -> str:
    """Save a sheet as CSV."""
    return write_file(f"{id}.csv", format_output(get_sheet(sheet_id=id).get("records", []), "csv"))
