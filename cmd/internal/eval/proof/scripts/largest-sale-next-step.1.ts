import { queryRecords, updateRecord } from "./servers/crm/index.ts";
const accounts = await queryRecords({ object_type: "Account", filters: [{ field: "Name", value: "Kestrel Telecom" }], fields: ["Name"] });
const sales = await queryRecords({
  object_type: "Opportunity", filters: [{ field: "AccountId", value: accounts.records[0]!.Id }],
  order_by: { field: "Amount", direction: "desc" }, fields: ["Amount"], limit: 1,
});
const id = String(sales.records[0]!.Id);
await updateRecord({ object_type: "Opportunity", record_id: id, data: { NextStep: "Send the revised offer by Friday" } });
console.log("Updated " + id + ".");
