// Uses a saved function, a skill. Save it first, then run this:
//   mcprun skill save largest examples/largest.ts -d "Find the rows with the largest numbers in a field."
//   mcprun examples/use-skill.ts
import { queryRecords } from "./servers/crm";
import { largest } from "./skills/largest";

const { records } = await queryRecords({ object_type: "Opportunity", limit: 500 });
for (const sale of largest(records, "Amount", 3)) {
  console.log(`${sale["Amount"]}  ${sale["Name"]}`);
}
