import { getSheet } from "./servers/drive/index.ts";
const { records } = await getSheet({ sheet_id: "orders-2026", range: "D1:I2001" });
const cents: Record<string, number> = {};
for (const r of records!) {
  if (r.Status === "cancelled" || r.Status === "refunded") continue;
  cents[String(r.Region)] = (cents[String(r.Region)] ?? 0) + Math.round(Number(r.Amount) * 100);
}
console.log(Object.keys(cents).sort().map((k) => k + " " + (cents[k]! / 100).toFixed(2)).join(", "));
