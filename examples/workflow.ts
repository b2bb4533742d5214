// Copies contacts into the CRM, waits, and counts them: a workflow, which goes on where it was if its process dies.
//   mcprun workflow run examples/workflow.ts --allow crm__create_record --input names='["Ada", "Grace"]'
import { vars, workflow } from "mcprun";
import { createRecord, queryRecords } from "./servers/crm";

const names: string[] = vars["input"]?.names ?? ["Ada", "Grace"];
const ids: string[] = [];
for (const name of names) {
  // Once it has finished, a step is not run again: no lead is created twice.
  const lead = await workflow.step("copy", (Name) => createRecord({ object_type: "Lead", data: { Name, Company: "Copied", Status: "New" } }), name);
  ids.push(lead.id);
}
await workflow.sleep("100ms"); // of a workflow that waits for hours, nothing runs
const there = await workflow.step("count", () => queryRecords({ object_type: "Lead", limit: 200 }));
console.log(`copied ${ids.length} of ${names.length}; all are there: ${ids.every((id) => there.records.some((lead) => lead["Id"] === id))}`);
export const result = ids;
