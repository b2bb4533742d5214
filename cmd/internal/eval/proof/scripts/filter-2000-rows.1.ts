import { getSheet } from "./servers/drive/index.ts";
const { records } = await getSheet({ sheet_id: "orders-2026", range: "A1:I2001" });
console.log(records!.filter((r) => r.Status === "pending" && Number(r.Amount) > 8000).map((r) => r["Order ID"]).join(" "));
