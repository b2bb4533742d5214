import { updateRecord } from "./servers/crm/index.ts";
const out = await updateRecord({ object_type: "Opportunity", record_id: "0065f0000000003", data: { StageName: "Closed Won", Probability: 100 } });
console.log(out.id + " is closed as won.");
