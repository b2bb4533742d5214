import { updateRecord } from "./servers/crm/index.ts";
await updateRecord({ object_type: "Opportunity", record_id: "0065f0000000004", data: { StageName: "Closed Won" } });
console.log("0065f0000000004 is Closed Won.");
