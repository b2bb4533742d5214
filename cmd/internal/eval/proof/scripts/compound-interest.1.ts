import { evaluate } from "./servers/calculator/index.ts";
const out = await evaluate({ expression: "12500 * (1 + 0.039/12)^(12*7)", precision: 2 });
console.log(out.result.toFixed(2));
