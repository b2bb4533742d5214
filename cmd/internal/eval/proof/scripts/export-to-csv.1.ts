import { query } from "./servers/database/index.ts";
import { writeFile } from "./servers/filesystem/index.ts";
const { columns, rows } = await query({ max_rows: 1000, sql: `SELECT id, customer_id, status, ordered_at, shipping_cents FROM orders WHERE ordered_at LIKE '2025-01-%' OR ordered_at LIKE '2025-02-%' ORDER BY id` });
const lines = rows.map((r) => columns.map((c) => r[c]).join(","));
await writeFile({ path: "exports/orders.csv", content: [columns.join(","), ...lines].join("\n") + "\n" });
console.log("exports/orders.csv is written.");
