import { query } from "./servers/database/index.ts";
import { createSheet } from "./servers/drive/index.ts";
const { rows } = await query({ max_rows: 200, sql: `SELECT c.name, c.city, c.country, SUM(t.total_cents) AS cents FROM customers c JOIN order_totals t ON t.customer_id = c.id WHERE t.ordered_at LIKE '2025-%' GROUP BY c.id ORDER BY cents DESC, c.id LIMIT 200` });
const out = await createSheet({
  title: "Top customers 2025",
  columns: [{ name: "Name", type: "string" }, { name: "City", type: "string" }, { name: "Country", type: "string" }, { name: "Cents", type: "number" }],
  rows: rows.map((r) => [r.name!, r.city!, r.country!, r.cents!]),
});
console.log("The sheet has " + out.row_count + " rows.");
