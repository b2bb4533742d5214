"""Sums up a sheet of 10,000 rows with the guest library, keeps the details in the workspace, and takes variables:

mcprun --var status=pending --var top=3 examples/top-orders.py
"""

from mcprun import aggregate_stats, filter_by_field, format_output, vars, write_file
from servers.drive import get_sheet

status = str(vars.get("status", "pending"))
top = int(vars.get("top", 5))

sheet = get_sheet(sheet_id="orders-2026")
rows = filter_by_field(sheet.get("records", []), "Status", status)
rows.sort(key=lambda row: float(row["Amount"] or 0), reverse=True)
orders = [{"order": row["Order ID"], "customer": row["Customer"], "amount": float(row["Amount"] or 0)} for row in rows]
write_file(f"orders-{status}.json", orders)

stats = aggregate_stats(orders, "amount")
print(f'{stats["count"]} orders are {status}: {stats["sum"]:.2f} in all, {stats["median"]:.2f} in the middle')
print(format_output(orders[:top], "table"))
result = {"count": stats["count"], "largest": orders[0]["order"]}
