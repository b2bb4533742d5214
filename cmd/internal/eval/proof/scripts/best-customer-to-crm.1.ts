import { query } from "./servers/database/index.ts";
import { createRecord } from "./servers/crm/index.ts";
const { rows } = await query({ sql: `SELECT c.name, c.email, SUM(t.total_cents) AS cents FROM customers c JOIN order_totals t ON t.customer_id = c.id WHERE t.status = 'delivered' GROUP BY c.id ORDER BY cents DESC LIMIT 1` });
const { name, email } = rows[0]!;
await createRecord({ object_type: "Lead", data: { Name: name!, Email: email!, Company: "Bicycle shop", Status: "New", LeadSource: "Referral" } });
console.log("Created a lead for " + name + ".");
