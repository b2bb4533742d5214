// Converts every schema of a JSON array on standard input with json-schema-to-typescript, and prints how long each took,
// in microseconds, and the size of what came out; null where it threw. FORMAT=1 lets it format its output with prettier,
// which is its default.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const { compile } = createRequire(process.argv[2])("json-schema-to-typescript");
const schemas = JSON.parse(readFileSync(0, "utf8"));
const options = { bannerComment: "", format: process.env.FORMAT === "1", $refOptions: { resolve: { external: false } } };
const convert = async (schema) => {
  const start = performance.now();
  try {
    const text = await compile(structuredClone(schema), "Input", options);
    return { micros: (performance.now() - start) * 1e3, bytes: text.length };
  } catch {
    return null;
  }
};
for (const schema of schemas.slice(0, 50)) await convert(schema); // warm
const out = [];
for (const schema of schemas) out.push(await convert(schema));
process.stdout.write(JSON.stringify(out));
