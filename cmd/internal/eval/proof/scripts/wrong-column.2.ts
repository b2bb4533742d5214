import { describeTable } from "./servers/database/index.ts";
console.log((await describeTable({ table: "order_totals" })).columns.map((c) => c.name).join(" "));
