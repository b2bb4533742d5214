import { getDocument } from "./servers/drive/index.ts";
import { queryRecords, updateRecord } from "./servers/crm/index.ts";
const doc = await getDocument({ document_id: "harbor-pine-discovery-transcript" });
const meetings = await queryRecords({ object_type: "SalesMeeting", filters: [{ field: "Name", operator: "contains", value: "Harbor & Pine" }], fields: ["Name"] });
const id = String(meetings.records[0]!.Id);
await updateRecord({ object_type: "SalesMeeting", record_id: id, data: { Notes: doc.content! } });
console.log("The transcript is in " + id + ".");
