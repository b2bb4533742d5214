import { queryRecords } from "./servers/crm/index.ts";
import { createSheet } from "./servers/drive/index.ts";
const names = ["Id", "Name", "Title", "Email", "Phone", "AccountId"];
const { records } = await queryRecords({ object_type: "Contact", fields: names, limit: 500 });
const out = await createSheet({ title: "Contacts", columns: names.map((name) => ({ name, type: "string" })), rows: records.map((r) => names.map((n) => r[n] ?? null)) });
console.log("The sheet has " + out.row_count + " contacts.");
