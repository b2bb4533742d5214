// A guest for tests: what runner/script makes is run as a real one would, with JSON lines on its standard streams.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const replies = new Map();
let begin;
const started = new Promise((resolve) => (begin = resolve));
const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const message = JSON.parse(line);
  if (message.job) begin(message.job);
  else replies.get(message.n)(message);
});

const address = (code) => `data:text/javascript;base64,${Buffer.from(code).toString("base64")}`;
const loaded = new Map();
let last = 0;
Object.defineProperty(globalThis, Symbol.for("mcprun.import"), {
  value: async (specifier, from) => {
    const n = ++last;
    say({ n, specifier, from });
    const reply = await new Promise((resolve) => replies.set(n, resolve));
    if (reply.error) throw new Error(reply.error);
    if (!loaded.has(reply.id)) loaded.set(reply.id, import(address(reply.code)));
    return loaded.get(reply.id);
  },
});
const real = createRequire("/script.js");
Object.defineProperty(globalThis, Symbol.for("mcprun.require"), {
  value: (specifier) => {
    if (!real("node:module").isBuiltin(specifier)) throw new Error(`require(${specifier}) is computed: use await import()`);
    return real(specifier);
  },
});
Object.defineProperty(globalThis, Symbol.for("mcprun.transport"), {
  value: { call: async (tool, args) => ({ tool, args }), request: async () => null },
});
globalThis.require = real;
console.log = (...values) => say({ log: values.map((v) => (typeof v === "string" ? v : JSON.stringify(v))).join(" ") });

process.on("exit", () => say({ done: true }));
try {
  const exports = await import(address(await started));
  say({ result: exports.result ?? exports.default });
} catch (error) {
  say({ error: `${error}` });
}
lines.close();
