import { getSheet } from "./servers/drive";

const sheet = await getSheet({ sheet_id: "rollout-plan" });
console.log(sheet.records?.length, "rows");
