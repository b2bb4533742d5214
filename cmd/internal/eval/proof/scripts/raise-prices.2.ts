import { execute, query } from "./servers/database/index.ts";
await execute({ sql: `UPDATE products SET price_cents = CAST(ROUND(price_cents * 1.04) AS INTEGER) WHERE discontinued = 0 AND category_id = (SELECT id FROM categories WHERE name = 'Lights')` });
const { rows } = await query({ sql: `SELECT SUM(p.price_cents) AS cents FROM products p JOIN categories c ON c.id = p.category_id WHERE c.name = 'Lights'` });
console.log(rows[0]!.cents);
