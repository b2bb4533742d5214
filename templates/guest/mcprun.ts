// The library that scripts import as "mcprun": files of the workspace, what makes long answers short, and what the host
// keeps. mcprun.py is the same for Python, and both give the same results. What it promises is documented in
// ts/mcprun.d.ts.
import fs from "node:fs";
import path from "node:path";
import {
  MCPArgumentError, MCPConnectionError, MCPDeniedError, MCPError, MCPProtocolError, MCPTimeoutError, MCPToolError,
} from "./servers/client.ts";

export {
  callMCPTool, MCPArgumentError, MCPConnectionError, MCPDeniedError, MCPError, MCPProtocolError, MCPTimeoutError, MCPToolError,
} from "./servers/client.ts";

export const vars = globalThis[Symbol.for("mcprun.vars")] ?? Object.freeze({});

export function isHandle(value) {
  return typeof value === "object" && value !== null && typeof value.preview === "string" && typeof value.lines === "function";
}

/** The value itself; of a result that is stored in a file, its whole content. */
function whole(value) {
  if (!isHandle(value)) return value;
  return value.type === "json" ? value.json() : value.text();
}

// ---- files ----

const root = process.cwd();
const within = (name, folder) => name === folder || name.startsWith(folder === "/" ? "/" : `${folder}/`);

function refuse(name, why) {
  const error = new Error(`${JSON.stringify(name)} ${why}; paths are relative to the workspace, ${root}`);
  error.code = "EACCES";
  return error;
}

/** Returns the file that a path names. A path that leads out of the workspace, even through a symbolic link, is an error. */
function place(name) {
  if (typeof name !== "string" || name === "" || name.includes("\0")) throw new TypeError(`a path must be a text that is not empty, not ${JSON.stringify(name)}`);
  let full = path.resolve(root, name);
  const spelled = path.join(root, "workspace"); // what scripts for other systems call the workspace
  if (within(full, spelled) && !fs.readdirSync(root).includes("workspace")) full = path.join(root, full.slice(spelled.length));
  if (!within(full, root)) throw refuse(name, "is outside of the workspace");
  for (let there = full; ; there = path.dirname(there)) {
    let real;
    try {
      real = fs.realpathSync(there);
    } catch (error) {
      if (error.code !== "ENOENT" || there === root) throw error;
      if (isLink(there)) throw refuse(name, "leads through a symbolic link to nowhere");
      continue;
    }
    if (!within(real, fs.realpathSync(root))) throw refuse(name, "leads out of the workspace by a symbolic link");
    return full;
  }
}

function isLink(name) {
  try {
    return fs.lstatSync(name).isSymbolicLink();
  } catch {
    return false;
  }
}

export async function readFile(name, { binary = false } = {}) {
  const bytes = new Uint8Array(fs.readFileSync(place(name)));
  if (binary) return bytes;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new TypeError(`${JSON.stringify(name)} is not a text in UTF-8; read it with { binary: true }`);
  }
}

/**
 * Names at the top of the workspace that mcpgen and mcprun read as configuration. After a run, the host renames files with
 * these names.
 */
const reserved = ["mcpgen.yaml", "mcpgen.json", ".mcp.json", ".env"];

export async function writeFile(name, data, { append = false } = {}) {
  const full = place(name);
  if (reserved.includes(path.relative(root, full).split("/")[0].toLowerCase())) throw refuse(name, "is read as configuration by mcpgen and mcprun, so choose another name");
  data = whole(data);
  if (typeof data !== "string" && !ArrayBuffer.isView(data)) {
    const text = JSON.stringify(data, null, 2);
    if (text === undefined) throw new TypeError(`${JSON.stringify(name)}: there is nothing to write, but ${String(data)}`);
    data = `${text}\n`;
  }
  fs.mkdirSync(path.dirname(full), { recursive: true });
  if (append) fs.appendFileSync(full, data);
  else fs.writeFileSync(full, data);
  return path.relative(root, full);
}

/** Folders that show the tree and the skills. */
const generated = ["servers", "skills"];

export async function listFiles(pattern = ".") {
  const found = new Set();
  if (!/[*?]/.test(pattern)) {
    const folder = place(pattern), prefix = folder === root ? "" : `${path.relative(root, folder)}/`;
    walk(folder, prefix, [generated.includes(prefix.split("/")[0]) ? "*" : "**"], found);
    return [...found].sort();
  }
  if (pattern.startsWith("/") || pattern.split("/").includes("..")) throw refuse(pattern, "is outside of the workspace");
  walk(place("."), "", pattern.split("/").filter((p) => p !== "" && p !== "."), found);
  return [...found].sort();
}

const shown = (e) => e.name + (e.isDirectory() ? "/" : "");

/** Adds what matches parts below folder. ** is any number of folders, but not those that show the tree and the skills. */
function walk(folder, prefix, parts, found) {
  const [part, ...rest] = parts;
  if (part === "**" && rest.length > 0) walk(folder, prefix, rest, found);
  const match = part === "**" ? () => true : glob(part);
  for (const e of fs.readdirSync(folder, { withFileTypes: true })) {
    if (!match(e.name) || (e.name.startsWith(".") && !part.startsWith("."))) continue;
    if (rest.length === 0 && !(part === "**" && e.isDirectory())) found.add(prefix + shown(e));
    if (!e.isDirectory() || (part === "**" && prefix === "" && generated.includes(e.name))) continue;
    if (part === "**" || rest.length > 0) walk(`${folder}/${e.name}`, `${prefix}${e.name}/`, part === "**" ? parts : rest, found);
  }
}

function glob(part) {
  const source = part.replace(/[\\^$.|+()[\]{}]/g, "\\$&").replace(/\*/g, ".*").replace(/\?/g, ".");
  const pattern = new RegExp(`^${source}$`, "su");
  return (name) => pattern.test(name);
}

export async function deleteFile(name) {
  const full = place(name);
  if (fs.lstatSync(full).isDirectory()) throw refuse(name, "is a folder, and deleteFile() removes files");
  fs.unlinkSync(full);
}

// ---- checkpoints: data for later runs ----

const checkpoints = "checkpoints";

function checkpointFile(name) {
  if (typeof name !== "string" || !/^[\p{L}\p{N}][\p{L}\p{N}_. -]{0,63}$/u.test(name)) {
    throw new TypeError(`a checkpoint's name has up to 64 letters, digits, blanks and . _ -, and begins with a letter or a digit: not ${JSON.stringify(name)}`);
  }
  return `${checkpoints}/${name}.json`;
}

export async function saveCheckpoint(name, data = null) {
  return writeFile(checkpointFile(name), { name, time: new Date().toISOString(), data: whole(data) });
}

export async function loadCheckpoint(name) {
  name ??= (await listCheckpoints()).at(-1)?.name;
  if (name === undefined) return null;
  const file = checkpointFile(name);
  return fs.existsSync(place(file)) ? JSON.parse(await readFile(file)).data : null;
}

export async function listCheckpoints() {
  const found = [];
  if (!fs.existsSync(place(checkpoints))) return found;
  for (const file of await listFiles(`${checkpoints}/*.json`)) {
    const { name, time } = JSON.parse(await readFile(file));
    found.push({ name, time, path: file });
  }
  return found.sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : a.name < b.name ? -1 : 1));
}

// ---- lists ----

const isObject = (v) => typeof v === "object" && v !== null && !Array.isArray(v);
const isNumber = (v) => (typeof v === "number" && Number.isFinite(v)) || typeof v === "bigint";

/** Returns the value of an item's field: "name", or a path such as "owner.name" and "tags.0". undefined if there is none. */
function get(item, field) {
  if (isObject(item) && Object.hasOwn(item, field)) return item[field];
  let value = item;
  for (const part of String(field).split(".")) {
    if (Array.isArray(value)) value = /^\d+$/.test(part) ? value[Number(part)] : undefined;
    else value = isObject(value) && Object.hasOwn(value, part) ? value[part] : undefined;
  }
  return value;
}

function equal(a, b) {
  a ??= null;
  b ??= null;
  if (isNumber(a) && isNumber(b)) return a == b;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((v, i) => equal(v, b[i]));
  if (isObject(a) && isObject(b)) {
    const keys = Object.keys(a);
    return keys.length === Object.keys(b).length && keys.every((k) => Object.hasOwn(b, k) && equal(a[k], b[k]));
  }
  return a === b;
}

const ordered = (a, b) => (isNumber(a) && isNumber(b)) || (typeof a === "string" && typeof b === "string");

function contains(a, b) {
  if (typeof a === "string") return typeof b === "string" && a.includes(b);
  if (Array.isArray(a)) return a.some((v) => equal(v, b));
  return isObject(a) && typeof b === "string" && Object.hasOwn(a, b);
}

const operators = {
  "==": equal,
  "!=": (a, b) => !equal(a, b),
  ">": (a, b) => ordered(a, b) && a > b,
  ">=": (a, b) => ordered(a, b) && a >= b,
  "<": (a, b) => ordered(a, b) && a < b,
  "<=": (a, b) => ordered(a, b) && a <= b,
  contains,
  in: (a, b) => [...b].some((v) => equal(a, v)),
  exists: (a, b) => (a !== undefined && a !== null) === (b ?? true),
};

export function filterByField(items, field, value, operator = "==") {
  items = whole(items);
  if (typeof value === "function") return [...items].filter((item) => value(get(item, field)));
  if (!Object.hasOwn(operators, operator)) throw new TypeError(`there is no operator ${JSON.stringify(operator)}; there are ${Object.keys(operators).join(" ")}`);
  const holds = operators[operator];
  return [...items].filter((item) => holds(get(item, field), value));
}

const longest = 200, mostItems = 5, mostFields = 50;

/** Returns a value in which long texts and lists are cut, and say so. */
function shorten(value) {
  if (typeof value === "string" && value.length > longest) {
    const characters = [...value];
    return characters.length > longest ? `${characters.slice(0, longest).join("")}… (${characters.length - longest} more characters)` : value;
  }
  if (Array.isArray(value)) {
    const head = value.slice(0, mostItems).map(shorten);
    return value.length > mostItems ? [...head, `… (${value.length - mostItems} more)`] : head;
  }
  if (isObject(value)) return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, shorten(v)]));
  return value;
}

function kindOf(v) {
  if (v === null || v === undefined) return "null";
  if (Array.isArray(v)) return "list";
  return isNumber(v) ? "number" : typeof v;
}

export function summarizeList(items, limit = 5) {
  const all = [...whole(items)], fields = new Map();
  const objects = all.filter(isObject);
  for (const item of objects) {
    for (const [name, value] of Object.entries(item)) {
      if (!fields.has(name) && fields.size < mostFields) fields.set(name, []);
      fields.get(name)?.push(value);
    }
  }
  const out = { count: all.length, fields: {}, sample: all.slice(0, limit).map(shorten) };
  for (const [name, values] of fields) out.fields[name] = describe(values, objects.length);
  return out;
}

function describe(values, of) {
  const known = values.filter((v) => v !== null && v !== undefined);
  const out = { types: [...new Set(known.map(kindOf))].sort(), missing: of - known.length };
  const [type] = out.types;
  if (out.types.length === 1 && (type === "number" || type === "string" || type === "boolean")) {
    out.distinct = new Set(known.map((v) => (typeof v === "bigint" ? Number(v) : v))).size;
    if (type !== "boolean") {
      out.min = shorten(known.reduce((a, b) => (b < a ? b : a)));
      out.max = shorten(known.reduce((a, b) => (b > a ? b : a)));
    }
  }
  return out;
}

/** Returns the sum, with Neumaier's compensation, so that the order makes hardly any difference. */
function sum(numbers) {
  let total = 0, lost = 0;
  for (const x of numbers) {
    const next = total + x;
    lost += Math.abs(total) >= Math.abs(x) ? total - next + x : x - next + total;
    total = next;
  }
  return total + lost;
}

function stats(values) {
  const numbers = values.filter(isNumber).map(Number).sort((a, b) => a - b);
  const n = numbers.length, total = sum(numbers);
  const out = { count: n, skipped: values.length - n, sum: total, mean: null, median: null, min: null, max: null, stddev: null };
  if (n === 0) return out;
  out.mean = total / n;
  out.median = n % 2 ? numbers[(n - 1) / 2] : (numbers[n / 2 - 1] + numbers[n / 2]) / 2;
  [out.min, out.max] = [numbers[0], numbers[n - 1]];
  if (n > 1) out.stddev = Math.sqrt(sum(numbers.map((x) => (x - out.mean) * (x - out.mean))) / (n - 1));
  return out;
}

const label = (v) => (typeof v === "string" ? v : (JSON.stringify(v) ?? "null"));

const isMissing = (v) => v === undefined || v === null;

/** The fields of objects that hold numbers and nothing else. */
function numeric(objects, except) {
  const names = [...new Set(objects.flatMap(Object.keys))].filter((name) => name !== except);
  return names.filter((name) => {
    const known = objects.map((o) => (Object.hasOwn(o, name) ? o[name] : null)).filter((v) => !isMissing(v));
    return known.length > 0 && known.every(isNumber);
  });
}

/** Gives statistics of several fields the figures of each as members such as amount_sum too, which are not listed or encoded. */
function flat(out, fields) {
  for (const field of fields) {
    for (const [figure, value] of [...Object.entries(out[field]), ["avg", out[field].mean]]) {
      const name = `${field}_${figure}`;
      if (!Object.hasOwn(out, name)) Object.defineProperty(out, name, { value });
    }
  }
  return out;
}

export function aggregateStats(items, field, groupBy) {
  const all = [...whole(items)];
  if (isMissing(field) && all.length > 0 && all.every(isObject)) field = numeric(all, groupBy);
  const of = (list) => {
    if (Array.isArray(field)) return flat({ count: list.length, ...Object.fromEntries(field.map((name) => [name, stats(list.map((item) => get(item, name)))])) }, field);
    return stats(isMissing(field) ? list : list.map((item) => get(item, field)));
  };
  if (isMissing(groupBy)) return of(all);
  const groups = new Map();
  for (const item of all) {
    const name = label(get(item, groupBy) ?? null);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(item);
  }
  return Object.fromEntries([...groups].map(([name, list]) => [name, of(list)]));
}

// ---- output ----

const formats = ["auto", "json", "markdown", "csv"];

export function formatOutput(data, format = "auto", options = {}) {
  if (isObject(format)) [format, options] = [format.format ?? "auto", format];
  if (typeof format === "number") [format, options] = ["auto", { maxChars: format }];
  const { limit = 100, maxChars = options.max_chars } = options;
  data = whole(data);
  const text = formatted(data, format, limit);
  if (maxChars === undefined || text.length <= maxChars) return text;
  const characters = [...text];
  return characters.length > maxChars ? `${characters.slice(0, maxChars).join("")}\n… (${characters.length - maxChars} more characters)` : text;
}

function formatted(data, format, limit) {
  if (format === "table") format = "markdown";
  if (!formats.includes(format)) throw new TypeError(`there is no format ${JSON.stringify(format)}; there are ${formats.join(" ")}`);
  if (format === "auto") {
    if (typeof data === "string") return data;
    format = "json";
  }
  if (format === "json") return JSON.stringify(data, null, 2) ?? "null";
  const rows = Array.isArray(data) ? data : [data];
  const columns = [...new Set(rows.flatMap((row) => (isObject(row) ? Object.keys(row) : ["value"])))];
  const cells = (row) => columns.map((c) => cell(isObject(row) ? (Object.hasOwn(row, c) ? row[c] : null) : c === "value" ? row : null));
  if (format === "csv") return [columns, ...rows.map(cells)].map((line) => line.map(quoted).join(",")).join("\n") + "\n";
  const line = (texts) => `| ${texts.join(" | ")} |`;
  const out = [line(columns.map(escaped)), line(columns.map(() => "---")), ...rows.slice(0, limit).map((row) => line(cells(row).map(escaped)))];
  if (rows.length > limit) out.push(`… and ${rows.length - limit} more rows`);
  return out.join("\n");
}

const cell = (v) => (v === null || v === undefined ? "" : label(v));
const escaped = (text) => text.replace(/\\/g, "\\\\").replace(/\|/g, "\\|").replace(/\r\n|\r|\n/g, " ");
const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);

// ---- what the host keeps ----

const lacks = { tools: "no catalogue of tools", skills: "no skills", pii: "no vault for personal data", output: "nobody to show an image to", workflow: "no workflow document", form: "no forms" };

const classes = {
  tool: MCPToolError, protocol: MCPProtocolError, argument: MCPArgumentError, denied: MCPDeniedError, timeout: MCPTimeoutError,
  connection: MCPConnectionError,
};

/** Makes the error of a failure. site has the caller's frames. */
function errorOf(failure, site) {
  const error = new (Object.hasOwn(classes, failure.kind) ? classes[failure.kind] : MCPError)(failure);
  if (site.stack) error.stack = `${error.name}: ${error.message}${site.stack.replace(/^[^\n]*/, "")}`;
  return error;
}

/** Sends a request. site has the caller's frames, which not every engine keeps across an await. */
async function ask(site, name, method, params) {
  const transport = globalThis[Symbol.for("mcprun.transport")];
  let failure = { kind: "connection", message: `${name}() works only in a script that runs with \`mcprun\`` };
  if (transport?.request) {
    try {
      return await transport.request(method, params);
    } catch (reason) {
      if (typeof reason !== "object" || reason === null || reason instanceof Error || !("kind" in reason)) throw reason;
      failure = { ...reason };
      if (/^unknown method /.test(failure.message)) failure.message = `${name}(): this run has ${lacks[method.split("/")[0]]}`;
    }
  }
  throw errorOf(failure, site);
}

export async function searchTools(query = "", options = {}, of = undefined) {
  if (typeof options === "string") options = { detail: options, category: of }; // as in Python: words, how much, of what
  const { server, category, limit, detailLevel = options.detail_level } = options;
  let { detail = detailLevel } = options;
  if (detail === "summary") detail = "description";
  const { hits } = await ask(new Error(), "searchTools", "tools/search", { query, server, category, detail, limit });
  for (const hit of hits) {
    Object.defineProperty(hit, "name", { value: hit.tool });
    Object.defineProperty(hit, "definition", { value: hit.source ?? hit.signature ?? hit.import });
  }
  return hits;
}

export async function saveSkill(name, code, options = {}) {
  const { description, language } = typeof options === "string" ? { description: options } : options;
  return ask(new Error(), "saveSkill", "skills/save", { name, code, description, language });
}

export async function loadSkill(name) {
  return ask(new Error(), "loadSkill", "skills/load", { name });
}

export async function listSkills(query) {
  return (await ask(new Error(), "listSkills", "skills/list", { query: query ?? undefined })).skills;
}

export async function fillForm(name, data, { id, submit, ask: person } = {}) {
  return ask(new Error(), "fillForm", "form/fill", { form: name, data: whole(data) ?? undefined, id, submit, ask: person });
}

// A value is sent in a list, because null is a value here, and what is undefined must be an error.
export async function tokenizePii(value, { types } = {}) {
  const params = { types: typeof types === "string" ? [types] : types && [...types], value: [whole(value)] };
  return (await ask(new Error(), "tokenizePii", "pii/tokenize", params)).value[0];
}

export async function detokenizePii(value) {
  return (await ask(new Error(), "detokenizePii", "pii/detokenize", { value: [whole(value)] })).value[0];
}

const signatures = [["image/png", 0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a], ["image/jpeg", 0xff, 0xd8, 0xff], ["image/gif", 0x47, 0x49, 0x46, 0x38]];

function typeOf(bytes) {
  for (const [name, ...signature] of signatures) if (signature.every((b, i) => bytes[i] === b)) return name;
  const text = (from) => String.fromCharCode(...bytes.subarray(from, from + 4));
  if (text(0) === "RIFF" && text(8) === "WEBP") return "image/webp";
  throw new TypeError('the image is no PNG, JPEG, GIF or WebP; name its type, as "image/svg+xml"');
}

export async function showImage(image, { mimeType } = {}) {
  const site = new Error();
  if (typeof image === "string") image = await readFile(image, { binary: true });
  else if (typeof image?.bytes === "function") {
    mimeType ??= image.mimeType;
    image = await image.bytes();
  } else if (image instanceof ArrayBuffer) image = new Uint8Array(image);
  if (!ArrayBuffer.isView(image)) throw new TypeError("an image is bytes, the path of a file, or an image that a tool returned");
  const bytes = new Uint8Array(image.buffer, image.byteOffset, image.byteLength);
  await ask(site, "showImage", "output/image", { mimeType: mimeType ?? typeOf(bytes), data: base64(bytes) });
}

/** Not every engine has Buffer. */
function base64(bytes) {
  const parts = [];
  for (let i = 0; i < bytes.length; i += 0x3000) parts.push(btoa(String.fromCharCode(...bytes.subarray(i, i + 0x3000))));
  return parts.join("");
}

// ---- workflows ----

const transportOf = () => globalThis[Symbol.for("mcprun.transport")];
let turn = Promise.resolve(); // ends with the last step, in an engine that cannot say which step a call belongs to
let isBeginning = false; // the function of a step is called, and has not returned its promise

/** Runs the function of a step, so that its calls are sent as the step's. */
async function inStep(step, run) {
  const transport = transportOf();
  if (!transport.enter) return transport.within ? transport.within(step, run) : run();
  transport.enter(step);
  try {
    isBeginning = true;
    let running;
    try {
      running = run();
    } finally {
      isBeginning = false;
    }
    return await running;
  } finally {
    transport.enter(0);
  }
}

/** What is kept of an error. */
function failureOf(error) {
  if (!(error instanceof MCPError)) return { error: { kind: "", message: String(error?.message ?? error) }, name: String(error?.name ?? "Error") };
  const { kind, server, tool, code, data, isRetryable: retryable } = error;
  const message = tool && error.message.startsWith(`${tool}: `) ? error.message.slice(tool.length + 2) : error.message;
  return { error: { kind, message, server, tool, code, data, retryable }, name: error.name };
}

/** Returns the value of a step that has ended, or throws its error. */
function outcomeOf({ value, error, name }, site) {
  if (!error) return value?.[0];
  if (error.kind) throw errorOf(error, site);
  const known = globalThis[name];
  const made = typeof known === "function" && known.prototype instanceof Error ? new known(error.message) : new Error(error.message);
  throw Object.assign(made, { name });
}

const listed = (value) => (value === undefined ? [] : [whole(value)]); // undefined has no JSON

export const workflow = Object.freeze({
  async step(name, run, input) {
    const site = new Error(), serial = transportOf()?.enter !== undefined;
    if (typeof run !== "function") throw new TypeError(`the step ${JSON.stringify(name)} has no function: workflow.step(name, async () => …)`);
    const before = turn;
    let leave;
    if (serial && !isBeginning) { // the host refuses a step in a step
      turn = new Promise((resolve) => (leave = resolve));
      await before;
    }
    const host = (method, params) => ask(site, "workflow.step", method, params);
    try {
      const { step, outcome } = await host("workflow/step", { name, input: listed(input), loose: serial || undefined });
      if (outcome) return outcomeOf(outcome, site);
      try {
        const value = await inStep(step, () => run(input));
        return outcomeOf((await host("workflow/done", { step, value: listed(value) })).outcome, site);
      } catch (error) {
        await host("workflow/done", { step, ...failureOf(error) }).catch(() => {});
        throw error;
      }
    } finally {
      leave?.();
    }
  },

  async sleep(time) {
    await ask(new Error(), "workflow.sleep", "workflow/sleep", { time });
  },

  async waitFor(topic, { timeout } = {}) {
    return (await ask(new Error(), "workflow.waitFor", "workflow/wait", { topic, timeout })).value;
  },

  async ask(question, { schema, timeout } = {}) {
    return (await ask(new Error(), "workflow.ask", "workflow/ask", { question, schema, timeout })).value;
  },
});

// ---- workflow documents ----

/** As in mcprun.d.ts. What is kept is which branch has won, and the tasks that had begun by then. A step does it that no call belongs to. */
export async function compete(name, branches) {
  const host = (method, params) => ask(new Error(), "compete", method, params);
  const before = turn;
  let leave;
  turn = new Promise((resolve) => (leave = resolve)); // the host refuses a step in a step
  await before;
  const { step, outcome } = await host("workflow/step", { name, input: [] }).finally(leave);
  let { winner = -1, tasks = [] } = outcome?.value[0] ?? {};
  const begun = new Set(tasks);
  const stops = (i) => (task) => (winner < 0 ? !begun.add(task) : winner !== i && !begun.has(task));
  const running = branches.map((branch, i) => branch(stops(i)));
  const first = Promise.any(running.map(async (result, i) => (await result, i))).catch(({ errors }) => errors);
  if (winner >= 0) return running[winner];
  const end = await first;
  if (!Array.isArray(end)) winner = end;
  if (!outcome) await host("workflow/done", { step, value: [{ winner, tasks: winner < 0 ? [] : [...begun] }] });
  if (winner >= 0) return running[winner];
  throw end.find((error) => error?.kind === "unknown") ?? end[0];
}

export async function evaluate(expression, variables = {}, as = "") {
  return (await ask(new Error(), "evaluate", "workflow/eval", { expression, variables, as })).value;
}
