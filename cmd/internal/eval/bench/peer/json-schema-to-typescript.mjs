// Converts every schema of a JSON array on standard input with json-schema-to-typescript, RUNS times, and prints how long
// each time took, in microseconds, and on how many schemas it threw. Its output is not formatted.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const { compile } = createRequire(process.argv[2])("json-schema-to-typescript");
const schemas = JSON.parse(readFileSync(0, "utf8"));
const options = { bannerComment: "", format: false, $refOptions: { resolve: { external: false } } };
let threw = 0;
const convert = async (schema) => {
  try {
    await compile(structuredClone(schema), "Input", options);
  } catch {
    threw++;
  }
};
for (const schema of schemas.slice(0, 50)) await convert(schema); // warm
const out = [];
for (let run = 0; run < Number(process.env.RUNS); run++) {
  threw = 0;
  const start = performance.now();
  for (const schema of schemas) await convert(schema);
  out.push({ micros: (performance.now() - start) * 1e3, threw });
}
process.stdout.write(JSON.stringify(out));
