import { query } from "./servers/database/index.ts";
console.log((await query({ sql: "SELECT SUM(total) AS n FROM order_totals WHERE status = 'pending'" })).rows[0]!.n);
