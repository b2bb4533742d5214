import { getSheet } from "./servers/drive/index.ts";
import { statistics } from "./servers/calculator/index.ts";
const { values } = await getSheet({ sheet_id: "orders-2026", range: "I1:I2001", format: "values" });
const out = await statistics({ values: values!.map((r) => Number(r[0])), percentiles: [90, 99] });
console.log([out.median, ...out.percentiles.map((p) => p.value)].map((v) => v.toFixed(2)).join(" "));
