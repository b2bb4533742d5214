// Sums up a sheet of 10,000 rows with the guest library, keeps the details in the workspace, and takes variables:
//   mcprun --var status=pending --var top=3 examples/top-orders.ts
import { aggregateStats, filterByField, formatOutput, vars, writeFile } from "mcprun";
import { getSheet } from "./servers/drive";

const status = String(vars["status"] ?? "pending");
const top = Number(vars["top"] ?? 5);

const sheet = await getSheet({ sheet_id: "orders-2026" });
const orders = filterByField(sheet.records ?? [], "Status", status).map((row) => ({
  order: row["Order ID"], customer: row["Customer"], amount: Number(row["Amount"]),
}));
orders.sort((a, b) => b.amount - a.amount);
await writeFile(`orders-${status}.json`, orders);

const { count, sum, median } = aggregateStats(orders, "amount");
console.log(`${count} orders are ${status}: ${sum.toFixed(2)} in all, ${median?.toFixed(2)} in the middle`);
console.log(formatOutput(orders.slice(0, top), "table"));
export const result = { count, largest: orders[0]?.order };
