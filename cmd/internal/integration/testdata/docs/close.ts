import { updateRecord } from "./servers/crm";

for (const id of ["0015f0000000001", "0015f0000000002"]) {
  await updateRecord({ object_type: "Account", record_id: id, data: { Industry: "Retail" } });
}
