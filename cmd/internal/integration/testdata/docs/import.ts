import { queryRecords } from "./servers/crm";
import { writeFile } from "mcprun";

const { records } = await queryRecords({ object_type: "Lead", limit: 100 });
await writeFile("leads.json", JSON.stringify(records));
console.log(records.length, "leads");
