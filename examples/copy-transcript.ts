// Copies a meeting's transcript from the drive into the CRM. The text, some 50,000 tokens of it, goes from tool to tool
// inside the sandbox; the model reads one line.
import { getDocument } from "./servers/drive";
import { queryRecords, updateRecord } from "./servers/crm";

const document = await getDocument({ document_id: "harbor-pine-discovery-transcript" });
const meetings = await queryRecords({
  object_type: "SalesMeeting",
  filters: [{ field: "Name", operator: "contains", value: "Harbor & Pine" }],
  limit: 1,
});
const meeting = meetings.records[0];
if (!meeting || !document.content) throw new Error("the meeting or its transcript is not there");

const updated = await updateRecord({
  object_type: "SalesMeeting",
  record_id: String(meeting["Id"]),
  data: { Notes: document.content },
});
console.log(`copied ${document.word_count} words of "${document.title}" to ${updated.object_type} ${updated.id}`);
export const result = { record: updated.id, words: document.word_count };
