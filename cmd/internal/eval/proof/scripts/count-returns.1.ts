import { query } from "./servers/database/index.ts";
const out = await query({ sql: "SELECT COUNT(*) AS n FROM orders WHERE status = 'returned' AND ordered_at LIKE '2025-%'" });
console.log(out.rows[0]?.n);
