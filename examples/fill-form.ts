// A form that a script fills in from rows. It needs the form: mcprun --forms examples/forms examples/fill-form.ts
import { fillForm } from "mcprun";

const rows = [
  { "Full name": "Ann Lee", Company: "Harbor & Sons", Mail: "ann.lee@example.com", Points: 8, "First seen": "2026-11-30" },
  { Company: "Blue Kettle", Mail: "info@blue.example", Points: 5, "First seen": "soon" },
];
for (const row of rows) {
  const lead = await fillForm("lead", row, { ask: false });
  // A form with problems stays open: mcprun form list has it, and a person can complete it.
  const why = [...lead.problems.map((p) => p.message), ...lead.missing.map((field) => `${field} is missing`)];
  console.log(row.Company, lead.status, why.join("; "));
}
