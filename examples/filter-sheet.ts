// Finds the five largest pending orders in a sheet of 10,000 rows: 10,000 rows in, five lines out.
import { getSheet } from "./servers/drive";

const sheet = await getSheet({ sheet_id: "orders-2026" });
const pending = (sheet.records ?? []).filter((row) => row["Status"] === "pending");
pending.sort((a, b) => Number(b["Amount"]) - Number(a["Amount"]));
for (const order of pending.slice(0, 5)) {
  console.log(`${order["Order ID"]}  ${order["Customer"]}  ${Number(order["Amount"]).toFixed(2)}`);
}
export const result = { rows: sheet.row_count, pending: pending.length };
