import { appendRows } from "./servers/drive/index.ts";
await appendRows({ sheet_id: "rollout-plan", records: [{ Depot: "Esbjerg", Manager: "Lone Krogh", Technicians: 12, Wave: 4, Confirmed: false }] });
console.log("Esbjerg is in the rollout plan.");
