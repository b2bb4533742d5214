import { getSheet } from "./servers/drive/index.ts";
import { queryRecords } from "./servers/crm/index.ts";
const accounts = await queryRecords({ object_type: "Account", fields: ["Name", "Industry"] });
const industry = new Map(accounts.records.map((a) => [a.Name, String(a.Industry)]));
const { records } = await getSheet({ sheet_id: "orders-2026", range: "C1:I2001" });
const cents: Record<string, number> = {};
for (const r of records!) {
  const name = industry.get(r.Customer!);
  if (r.Status === "delivered" && name) cents[name] = (cents[name] ?? 0) + Math.round(Number(r.Amount) * 100);
}
console.log(Object.keys(cents).sort().map((k) => k + " " + (cents[k]! / 100).toFixed(2)).join(", "));
