import { createRecord } from "./servers/crm/index.ts";
await createRecord({ object_type: "SalesMeeting", data: { Name: "Alder Lifts second call", OpportunityId: "0065f0000000001", Start: "2026-04-14T09:00:00Z", DurationMinutes: 45 } });
console.log("The meeting is noted.");
