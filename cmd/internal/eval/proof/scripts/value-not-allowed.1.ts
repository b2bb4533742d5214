import { updateRecord } from "./servers/crm/index.ts";
await updateRecord({ object_type: "Opportunity", record_id: "0065f0000000004", data: { StageName: "Won" } });
