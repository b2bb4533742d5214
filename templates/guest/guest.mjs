// The guest program for Node.js 20 and newer: connects to the bridge, receives one job, runs it, and reports how it ended.
// Nothing of a job is read from the command line or the environment, so that it can be started before there is a job.
// It does not isolate the script from the host: a script can forge anything that this file sends, and the host expects that.
import { Buffer } from "node:buffer";
import fs from "node:fs";
import { createRequire, isBuiltin, syncBuiltinESMExports } from "node:module";
import path from "node:path";
import { Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { Bridge } from "./bridge.mjs";
import { addressOf, Stacks } from "./stacks.mjs";

const MAX_STACK = 64 * 1024;
const MAX_REPORT = 64 * 1024; // bytes of an uncaught error that are printed
const BYE_TIMEOUT = 2000;
const SECRET_FD = 4;
const EXIT_LOST = 125;
const EXIT_UNSETTLED = 13; // what node itself uses for a top-level await that never ends

const reallyExit = (process.reallyExit ?? process.exit).bind(process);
const home = process.cwd(); // the workspace
const writeError = (text) => {
  try {
    process.stderr.write(text);
  } catch {
    // Standard error is closed too, so the error cannot be reported.
  }
};

let printed = 0; // bytes of standard output
const wrote = new Set(); // paths below the workspace that the script wrote, at most MAX_WROTE
const MAX_WROTE = 1000;
let ended; // how it was when the script's module had ended: {printed, open}, the tools of the calls without an answer

/** Sends done, and prints a note about anything that had to be left out. */
function sayDone(bridge, members) {
  const noted = globalThis[Symbol.for("mcprun.notes")] ?? {};
  if (members === "" && printed > 0 && ended?.printed === printed) for (const tool of ended.open) noted[`open ${tool}`] = 1;
  const notes = JSON.stringify(noted);
  if (!bridge.done(`${members},"notes":${notes},"wrote":${JSON.stringify([...wrote])}`)) writeError("mcprun: the result has more than 16 MiB and was left out; write it to a file instead\n");
}

// ---- globals of the script ----

/** Writes a file of the workspace and returns its path. A path outside of the workspace is an error. */
function writeFile(name, data) {
  const outside = () => new Error(`${JSON.stringify(name)} lies outside of the workspace; use a path below it, such as "out/image.png"`);
  const root = fs.realpathSync(home);
  const place = path.resolve(home, name);
  if (!place.startsWith(home + path.sep) && !place.startsWith(root + path.sep)) throw outside();
  let there = place; // the nearest that exists: links lead out, too
  while (!fs.lstatSync(there, { throwIfNoEntry: false })) there = path.dirname(there);
  let real;
  try {
    real = fs.realpathSync(there);
  } catch {
    throw outside(); // a link to nothing
  }
  if (real !== root && !real.startsWith(root + path.sep)) throw outside();
  fs.mkdirSync(path.dirname(place), { recursive: true });
  fs.writeFileSync(place, data);
  return place;
}

const define = (key, value, writable = false) => Object.defineProperty(globalThis, key, { value, writable, configurable: writable });

/** Sets the transport of tool calls, and the functions that the bundle calls for imports by a computed name. */
function provide(bridge, stacks) {
  let storage;
  const transport = {
    /** Runs the function of a step: calls that it makes, now or later, are the step's. */
    within: (step, run) => {
      if (!storage) {
        storage = new (createRequire(import.meta.url)("node:async_hooks").AsyncLocalStorage)();
        bridge.step = () => storage.getStore();
      }
      return storage.run(step, run);
    },
    call: (tool, args, options) => bridge.call(tool, args, options),
    request: (method, params, options) => bridge.request(method, params, options),
  };
  define(Symbol.for("mcprun.transport"), Object.freeze(transport));
  const require = createRequire(path.join(home, "script.js"));
  define("require", require, true); // bundled CommonJS needs it for node's own modules

  const modules = new Map(); // id → promise of its namespace
  define(Symbol.for("mcprun.import"), async (specifier, from) => {
    const name = String(specifier);
    if (isBuiltin(name)) return import(name);
    let found;
    try {
      found = await bridge.request("import", { specifier: name, from });
    } catch (reason) {
      throw Object.assign(new Error(reason?.message ?? `cannot import ${name}`), { code: "ERR_MODULE_NOT_FOUND" });
    }
    if (!modules.has(found.id)) modules.set(found.id, import(stacks.add(found.code)));
    return modules.get(found.id);
  });
  define(Symbol.for("mcprun.require"), (specifier) => {
    const name = String(specifier);
    if (isBuiltin(name)) return require(name);
    const message = `require(${JSON.stringify(name)}) of a path that is computed: use await import(…) instead`;
    throw Object.assign(new Error(message), { code: "MODULE_NOT_FOUND" });
  });
}

const OFFLINE = /^(EAI_\w+|ENOTFOUND|EPERM|EACCES|EAFNOSUPPORT|ENETUNREACH|EHOSTUNREACH)$/; // ways to say that there is no network

/** Makes fetch say why it failed: there is no network. */
function explainFetch() {
  const fetchIt = globalThis.fetch;
  define("fetch", async function fetch(input, init = undefined) {
    const offline = new TypeError("fetch failed: there is no network in this sandbox (egress is off); call the tools in ./servers, or ask for it: mcprun --network, or network: true for execute_code");
    try {
      return await fetchIt(input, init);
    } catch (error) {
      const { code, errors } = error?.cause ?? {};
      if (!OFFLINE.test(code ?? errors?.[0]?.code)) throw error;
      throw Object.assign(offline, { code: "ERR_NETWORK_DISABLED" }); // it was made where fetch was called
    }
  }, true);
}

/** Lets programs and fetch use the run's proxy. A refusal that fetch meets is a response, as it is for requests that the proxy can read. */
async function useNetwork(network, env) {
  Object.assign(process.env, env);
  const bundle = env?.NODE_EXTRA_CA_CERTS;
  await network.useProxy(bundle && fs.readFileSync(bundle, "utf8"));
  const fetchIt = globalThis.fetch;
  define("fetch", async function fetch(input, init = undefined) {
    try {
      return await fetchIt(input, init);
    } catch (error) {
      if (error?.cause?.code !== "ERR_NETWORK_REFUSED") throw error;
      return new Response(`${error.cause.message}\n`, { status: 403, statusText: "Forbidden" });
    }
  }, true);
}

/**
 * Lets scripts read a server's folder by the name of the server, as no folder of the tree has a dash, and the tree's own
 * folder as one that holds nothing but servers.
 */
function spellServers() {
  const inTree = /^((?:\.\/|\/workspace\/|\/mcp\/)?servers\/)([^/]*-[^/]*)/;
  const spelled = (name) => (typeof name === "string" ? name.replace(inTree, (_, before, server) => before + server.replaceAll("-", "_")) : name);
  const trees = [path.join(home, "servers"), "/workspace/servers", "/mcp/servers"];
  const serversOnly = (read) => (name, ...rest) => {
    const folder = typeof name === "string" ? path.resolve(name) : name instanceof URL ? fileURLToPath(name).replace(/\/$/, "") : "";
    if (!trees.includes(folder)) return read(name, ...rest);
    const topOf = (entry) => path.relative(folder, path.resolve(entry.parentPath ?? folder, String(entry.name ?? entry))).split("/")[0];
    const servers = (entries) => entries?.filter((entry) => !/\.|^__pycache__$/.test(topOf(entry)));
    const done = rest.at(-1);
    if (typeof done === "function") rest.splice(-1, 1, (error, entries) => done(error, servers(entries)));
    const entries = read(name, ...rest);
    return entries instanceof Promise ? entries.then(servers) : servers(entries);
  };
  const names = ["readFile", "readFileSync", "readdir", "readdirSync", "stat", "statSync", "access", "accessSync", "existsSync"];
  for (const object of [fs, fs.promises]) {
    for (const name of names) {
      if (!object[name]) continue;
      const original = object[name].bind(object);
      const read = name.startsWith("readdir") ? serversOnly(original) : original;
      object[name] = { [name]: (file, ...rest) => read(spelled(file), ...rest) }[name];
    }
  }
  syncBuiltinESMExports();
}

/** Notes the paths that the script writes: in a workspace that several runs use at once, they tell which run wrote a file. */
function noteWrites() {
  const note = (name) => {
    if (name instanceof URL) name = fileURLToPath(name);
    if (typeof name !== "string" || wrote.size >= MAX_WROTE) return;
    const below = path.relative(home, path.resolve(name));
    if (below !== "" && !below.startsWith("..")) wrote.add(below.toWellFormed());
  };
  const { O_WRONLY, O_RDWR, O_CREAT } = fs.constants;
  const writes = (flags) => (typeof flags === "string" ? /[wa+]/.test(flags) : (flags & (O_WRONLY | O_RDWR | O_CREAT)) !== 0);
  const places = { appendFile: 0, copyFile: 1, cp: 1, createWriteStream: 0, open: 0, rename: 1, writeFile: 0 }; // of the path that is written
  for (const [name, at] of Object.entries(places)) {
    for (const [object, key] of [[fs, name], [fs, `${name}Sync`], [fs.promises, name]]) {
      const original = object[key]?.bind(object);
      if (!original) continue;
      object[key] = { [key]: (...args) => {
        if (name !== "open" || writes(args[1])) note(args[at]);
        return original(...args);
      } }[key];
    }
  }
  syncBuiltinESMExports();
}

/**
 * Makes ./workspace/x mean the file x of the workspace, as in code for systems whose scripts run beside that folder. If the
 * workspace has a folder of that name, it is meant. To remove ./workspace itself would remove everything, so that it is the
 * workspace only for functions that look at a folder or make it, without lstat, which begins a removal.
 */
function spellWorkspace() {
  const folder = path.join(home, "workspace"), { lstatSync } = fs;
  const spelled = (name, itself) => {
    if (typeof name !== "string" || !name.includes("workspace")) return name;
    const full = path.resolve(name);
    if (!full.startsWith(folder + path.sep) && !(itself && full === folder)) return name;
    return lstatSync(folder, { throwIfNoEntry: false }) ? name : home + full.slice(folder.length);
  };
  const look = ["access", "exists", "mkdir", "opendir", "readdir", "stat"];
  const change = ["appendFile", "chmod", "copyFile", "cp", "lstat", "open", "readFile", "rename", "rm", "rmdir", "truncate", "unlink", "utimes", "writeFile"];
  const wrap = (object, name, itself, paths) => {
    const original = object[name]?.bind(object);
    if (!original) return;
    object[name] = { [name]: (...args) => {
      const real = args.map((arg, i) => (i < paths ? spelled(arg, itself) : arg));
      if (/^(copyFile|cp)/.test(name) && real[1] !== args[1] && path.resolve(real[0]) === real[1]) {
        throw Object.assign(new Error(`EINVAL: ${args[0]} and ${args[1]} are one file, because ./workspace is the workspace itself`), { code: "EINVAL" });
      }
      return original(...real);
    } }[name];
  };
  for (const name of [...look, ...change]) {
    const paths = ["copyFile", "cp", "rename"].includes(name) ? 2 : 1;
    for (const [object, suffix] of [[fs, ""], [fs, "Sync"], [fs.promises, ""]]) wrap(object, name + suffix, look.includes(name), paths);
  }
  for (const name of ["createReadStream", "createWriteStream"]) wrap(fs, name, false, 1);
  syncBuiltinESMExports();
}

/** Makes the job's variables global. It replaces no existing global. */
function provideVars(vars = {}) {
  define(Symbol.for("mcprun.vars"), Object.freeze(vars));
  for (const [name, value] of Object.entries(vars)) {
    if (/^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u.test(name) && !(name in globalThis)) define(name, value, true);
  }
}

function doneError(error) {
  const text = (value) => {
    try {
      return String(value ?? "").slice(0, MAX_STACK).toWellFormed();
    } catch {
      return "";
    }
  };
  const isObject = error !== null && typeof error === "object";
  const name = isObject ? text(error.name) || text(error.kind) || "Error" : "Error";
  const message = isObject && "message" in error ? text(error.message) : text(inspect(error));
  return `,"error":${JSON.stringify({ name, message, stack: isObject ? text(error.stack) : "" })}`;
}

/** Returns the last lines of a run of frames, as many as a stack has here. Lines before them belong to the message. */
const STACK = /(?:^ {4,40}at [^\n]{1,500}(?:\n|(?![^]))){1,15}(?! {4,40}at )/gm;
const NOTE = 64; // bytes, at most, of the words that stand for what was left out

/** Shortens the report of an error to its limit: messages are cut, stacks are kept. */
function bounded(report) {
  const sizeOf = (text) => Buffer.byteLength(text);
  if (sizeOf(report) <= MAX_REPORT) return report;
  let stacks = [...report.matchAll(STACK)];
  const taken = () => stacks.reduce((sum, [text]) => sum + sizeOf(text) + NOTE, NOTE);
  if (taken() > MAX_REPORT / 2) stacks = stacks.slice(-1); // the others are most likely in a message
  const messages = [];
  let at = 0;
  for (const { 0: text, index } of [...stacks, { 0: "", index: report.length }]) {
    messages.push(report.slice(at, index));
    at = index + text.length;
  }
  let room = MAX_REPORT - taken();
  let most = room; // of one message: what short ones leave is for the long ones
  messages.map(sizeOf).sort((a, b) => a - b).forEach((size, i) => {
    most = Math.floor(room / (messages.length - i));
    room -= Math.min(size, most);
  });
  return messages.map((text, i) => cut(text, most) + (stacks[i]?.[0] ?? "")).join("");
}

/** Returns the beginning of a text, and how many characters were cut. */
function cut(text, most) {
  const bytes = Buffer.from(text);
  if (bytes.length <= most) return text;
  const kept = new TextDecoder().decode(bytes.subarray(0, most), { stream: true }); // without half a character at the end
  const end = text.endsWith("\n") ? "\n" : "";
  let left = -end.length;
  for (const _ of text.slice(kept.length)) left++;
  return `${kept}… (${left} characters left out)${end}`;
}

// ---- one run ----

/** What the script exports as its result. */
function exported(exports) {
  if ("result" in exports) return exports.result;
  return typeof exports.default === "function" ? undefined : exports.default;
}

/** The result, as members of done. */
function resultOf(bridge, value) {
  if (value === undefined) return "";
  try {
    return `,"result":${bridge.encode(value, "the exported result", true)}`;
  } catch (error) {
    writeError(`mcprun: no result: ${error.message}\n`);
    return "";
  }
}

async function run(bridge, job, stacks) {
  process.argv = ["node", path.join(home, job.name), ...job.args]; // where import.meta.filename says
  provideVars(job.vars);
  if (/(["'`])(?:\.\/)?workspace(?:\/|\1)/.test(job.code)) spellWorkspace();
  const address = stacks.add(job.code);
  if (job.lines) bridge.place = () => stacks.place();

  const fail = (error) => {
    let report;
    try {
      report = bounded(stacks.report(error));
    } catch {
      report = "Uncaught error that cannot be shown\n";
    }
    writeError(report);
    sayDone(bridge, doneError(error));
    // Exit at once, as node does. Wait only for output that the kernel has not accepted yet.
    if (bridge.flushed) process.exit(1);
    leave(bridge, 1);
  };
  process.on("uncaughtException", (error) => {
    // If the script has listeners of its own, it continues, as in plain node.
    if (process.listenerCount("uncaughtException") === 1) fail(error);
  });
  process.on("exit", () => {
    sayDone(bridge, ""); // process.exit() in the script
  });
  let result; // tells it, once the script has been read
  const drained = () => {
    if (bridge.closed) return;
    if (result === undefined) {
      writeError(`Warning: Detected unsettled top-level await in ${job.name}\n`);
      sayDone(bridge, doneError(new Error("a top-level await never ended")));
      leave(bridge, EXIT_UNSETTLED);
      return;
    }
    sayDone(bridge, result());
    leave(bridge);
  };
  process.on("beforeExit", drained);
  try {
    const exports = await import(address);
    const value = await exported(exports); // export default main()
    ended = { printed, open: bridge.openTools };
    result = () => resultOf(bridge, value); // work that goes on may still fill it
  } catch (error) {
    result = () => "";
    if (process.listenerCount("uncaughtException") === 1) fail(error);
    else setImmediate(() => { throw error; }); // for the script's own listener
  }
  // After the script's own listeners, which may still do something.
  process.off("beforeExit", drained).on("beforeExit", drained);
}

/** Waits a short time for bye, and exits. Without a code, it exits with the one that the script has set. */
async function leave(bridge, code) {
  const exit = () => process.exit(code ?? process.exitCode);
  setTimeout(exit, BYE_TIMEOUT);
  await bridge.bye;
  exit();
}

/**
 * Makes writes to a pipe wait until they are done. Otherwise what is not yet read is lost when the script exits, and a
 * script that prints faster than it is read fills its memory.
 */
function waitForWrites(stream) {
  if (!stream._handle?.setBlocking) return;
  stream._handle.setBlocking(true);
  // Not every kernel accepts all of a large write at once, and the stream would write the rest too late.
  const { fd } = stream;
  stream._writev = null;
  stream._write = (chunk, encoding, done) => {
    try {
      const bytes = typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk;
      for (let at = 0; at < bytes.length; ) at += fs.writeSync(fd, bytes, at);
      if (fd === 1) printed += bytes.length;
    } catch (error) {
      return done(error);
    }
    done();
  };
}

/** Reads the secret that identifies this guest to the host, once, and closes its file. Empty: no secret. */
function readSecret() {
  try {
    const secret = fs.readFileSync(SECRET_FD, "latin1");
    fs.closeSync(SECRET_FD);
    return secret;
  } catch {
    return "";
  }
}

/** Runs once, while there is no job yet, what is slow the first time. */
async function rehearse(bridge) {
  const nowhere = new Writable({ write: (chunk, encoding, done) => done() });
  new console.Console({ stdout: nowhere, stderr: nowhere }).log("%s", "text", { a: [1] });
  process.stdout.write("");
  process.chdir(home);
  bridge.idle();
  bridge.busy();
  await import(addressOf("export {};"));
}

async function main() {
  const address = process.argv[2];
  const secret = address && readSecret(); // without an address the descriptor would be one of node's own
  if (!secret) {
    writeError("mcprun: this program is started by mcprun\n");
    process.exit(EXIT_LOST);
  }
  const io = {
    readText: (name) => fs.readFileSync(name, "utf8"),
    writeFile,
    bytesOf: (text) => Uint8Array.from(Buffer.from(text, "base64")),
    textBytes: (text) => new TextEncoder().encode(text),
    inspect: inspect.custom,
  };
  const network = address.startsWith("net:") && (await import("./network.mjs"));
  if (network) io.link = (...args) => new network.Link(...args);
  // Exit at once, without the script's exit handlers: the host is gone.
  const bridge = new Bridge(address, secret, io, () => reallyExit(EXIT_LOST));
  waitForWrites(process.stdout);
  waitForWrites(process.stderr);
  bridge.made.extendJSON();
  const stacks = new Stacks();
  provide(bridge, stacks);
  if (!network) explainFetch();
  spellServers();
  noteWrites();
  await Promise.all([bridge.word, import(addressOf('import "node:fs";'))]); // the first import costs most
  if (!bridge.hasJob) await rehearse(bridge);
  const job = await bridge.job;
  process.chdir(home); // again, by its name: the workspace of the run may have been mounted there meanwhile
  if (network) await useNetwork(network, job.env);
  bridge.idle();
  await run(bridge, job, stacks);
}

main().catch((error) => {
  writeError(`mcprun: the guest program broke: ${error?.stack}\n`);
  reallyExit(EXIT_LOST);
});
