import servers.google_drive as gd

all_rows = gd.get_sheet(sheetId="abc123")
pending_orders = [row for row in all_rows if row["Status"] == "pending"]
print(f"Found {len(pending_orders)} pending orders")
for order in pending_orders[:5]:
    print(order)
result = {"pending": len(pending_orders)}
