"""Finds the five largest pending orders in a sheet of 10,000 rows: 10,000 rows in, five lines out."""

from servers.drive import get_sheet

sheet = get_sheet(sheet_id="orders-2026")
pending = [row for row in sheet.get("records", []) if row["Status"] == "pending"]
pending.sort(key=lambda row: float(row["Amount"] or 0), reverse=True)
for order in pending[:5]:
    print(f'{order["Order ID"]}  {order["Customer"]}  {float(order["Amount"] or 0):.2f}')
result = {"rows": sheet["row_count"], "pending": len(pending)}
