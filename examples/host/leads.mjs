// A program that has mcprun read data with tools and run a workflow. It goes on with the data itself, so it asks for no tokens.
//   npm install @mcpgen/host; node examples/host/leads.mjs
import { Mcprun } from "@mcpgen/host";

const code = `
import { queryRecords } from "./servers/crm";
const { records } = await queryRecords({ object_type: "Lead", limit });
export default records.map((lead) => ({ name: lead.Name, email: lead.Email }));
`;

const client = new Mcprun({ pii: "off" });
const run = await client.run(code, { language: "typescript", variables: { limit: 3 }, timeout: 60_000 });
for (const lead of run.check().result) console.log(lead.name, lead.email);
const copied = await client.workflows.run("examples/workflow.ts", { input: { names: ["Ada", "Grace"] }, options: ["--allow=crm__create_record"] });
process.stdout.write(copied.check().output);
console.log((await client.workflows.show(copied.workflow)).state);
