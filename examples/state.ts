// Exports contacts, 20 in each run, and goes on where the last run stopped: files in the workspace survive. Run it twice:
//   mcprun examples/state.ts
import { loadCheckpoint, saveCheckpoint, writeFile } from "mcprun";
import { queryRecords } from "./servers/crm";

const last = (await loadCheckpoint("contacts")) ?? { next: 0 }; // null in the first run
const offset: number = last.next ?? 0;
const page = await queryRecords({ object_type: "Contact", limit: 20, offset });
const lines = page.records.map((contact) => `${contact["Id"]},${contact["Email"]}\n`);
await writeFile("contacts.csv", lines.join(""), { append: offset > 0 });
await saveCheckpoint("contacts", { next: page.next_offset });

const done = offset + page.records.length;
console.log(`${done} of ${page.total} contacts are in contacts.csv`);
if (page.next_offset === null) console.log("that was the last page; the next run begins again");
