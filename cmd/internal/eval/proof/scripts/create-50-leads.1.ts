import { query } from "./servers/database/index.ts";
import { createRecord } from "./servers/crm/index.ts";
const { rows } = await query({ sql: "SELECT name, email FROM customers WHERE segment = 'reseller' ORDER BY id" });
await Promise.all(rows.map((r) => createRecord({ object_type: "Lead", data: { Name: r.name!, Email: r.email!, Company: "Reseller", Status: "New", LeadSource: "Partner" } })));
console.log(rows.length + " leads are created.");
