import { queryRecords, updateRecord } from "./servers/crm/index.ts";
let n = 0;
for (const object_type of ["Account", "Contact", "Opportunity", "Lead"] as const) {
  const { records } = await queryRecords({ object_type, filters: [{ field: "OwnerName", value: "Lukas Meier" }], fields: ["Id"], limit: 500 });
  await Promise.all(records.map((r) => updateRecord({ object_type, record_id: String(r.Id), data: { OwnerName: "Maya Lindholm" } })));
  n += records.length;
}
console.log(n + " records are handed over.");
