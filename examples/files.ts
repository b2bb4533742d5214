// Reads a CSV file from the workspace, adds up its columns by region, and writes the sums to another file. Run it with:
//   mkdir -p workspace && cp examples/sales.csv workspace/ && mcprun examples/files.ts
import { readFile, writeFile } from "mcprun";

const [, ...lines] = (await readFile("sales.csv")).trim().split("\n"); // without the heading
const sums = new Map<string, number>();
for (const line of lines) {
  const [region = "", units, price] = line.split(",");
  sums.set(region, (sums.get(region) ?? 0) + Number(units) * Number(price));
}
const rows = [...sums].map(([region, sum]) => `${region},${sum.toFixed(2)}`);
await writeFile("revenue.csv", ["region,revenue", ...rows, ""].join("\n"));
console.log(`${lines.length} sales in ${sums.size} regions: see revenue.csv`);
