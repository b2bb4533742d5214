// The guest program for Node.js 20 and newer: connects to the bridge, receives one job, runs it, says how it ended.
// Nothing of a job is read from the command line or the environment, so that it can be started before there is a job.
// It is no wall between a script and the host: whatever runs here may forge what this file says. The host knows that.
import fs from "node:fs";
import { createRequire, SourceMap } from "node:module";
import net from "node:net";
import path from "node:path";
import { Writable } from "node:stream";
import { inspect } from "node:util";

const MAX_FRAME = 16 * 1024 * 1024;
const MAX_DEPTH = 500; // the host allows 512, counting the frame around a value
const MAX_CALLS = 128;
const MAX_CALL_BYTES = 32 * 1024 * 1024;
const MAX_STACK = 64 * 1024;
const BYE_TIMEOUT = 2000;
const SECRET_FD = 4;
const EXIT_LOST = 125;
const EXIT_UNSETTLED = 13; // what node itself uses for a top-level await that never ends

const reallyExit = (process.reallyExit ?? process.exit).bind(process);
const writeError = (text) => {
  try {
    process.stderr.write(text);
  } catch {
    // Nobody reads it: there is nobody left to tell.
  }
};

// ---- values ----

/** An error in the form that crosses the bridge. */
const callError = (kind, message, tool) => ({ kind, message, server: undefined, tool, content: undefined, code: undefined, data: undefined });

class NotJSON extends Error {}

/**
 * JSON.stringify, but strict: what JSON cannot hold is an error that says where, instead of a null or nothing. As with
 * JSON.stringify, toJSON is called, and object members that are undefined are left out: they are TypeScript's optional
 * properties. A BigInt becomes an integer. Half a surrogate pair (a cut emoji) becomes U+FFFD, as everywhere on the web.
 */
function encode(value, where, parents = []) {
  if (value !== null && typeof value === "object") {
    const hint = foreign(value);
    if (hint) throw new NotJSON(`${where} is ${hint}`);
    if (typeof value.toJSON === "function") value = value.toJSON("");
  }
  switch (typeof value) {
    case "string":
      return JSON.stringify(value.isWellFormed() ? value : value.toWellFormed());
    case "number":
      if (!Number.isFinite(value)) throw new NotJSON(`${where} is ${value}, which JSON cannot hold`);
      return JSON.stringify(value);
    case "boolean":
      return String(value);
    case "bigint":
      return value.toString();
    case "object":
      break;
    default:
      throw new NotJSON(`${where} is ${typeof value === "undefined" ? "undefined" : `a ${typeof value}`}, which JSON cannot hold`);
  }
  if (value === null) return "null";
  if (value instanceof Number || value instanceof String || value instanceof Boolean) return encode(value.valueOf(), where, parents);
  if (parents.includes(value)) throw new NotJSON(`${where} contains itself`);
  if (parents.length >= MAX_DEPTH) throw new NotJSON(`${where.slice(0, 100)}… is nested deeper than ${MAX_DEPTH}`);
  parents.push(value);
  const parts = [];
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) parts.push(encode(value[i], `${where}[${i}]`, parents));
  } else {
    for (const name of Object.keys(value)) {
      const member = value[name];
      if (member === undefined) continue;
      const place = /^[A-Za-z_$][\w$]*$/.test(name) ? `${where}.${name}` : `${where}[${JSON.stringify(name)}]`;
      parts.push(`${encode(name, where, parents)}:${encode(member, place, parents)}`);
    }
  }
  parents.pop();
  return Array.isArray(value) ? `[${parts.join(",")}]` : `{${parts.join(",")}}`;
}

/** Says what to use instead for well-known objects that would silently become {} or a list of numbers. */
function foreign(value) {
  if (value instanceof Map) return "a Map, which JSON cannot hold; use Object.fromEntries(map)";
  if (value instanceof Set) return "a Set, which JSON cannot hold; use [...set]";
  if (value instanceof Promise) return "a Promise; await it first";
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
    return 'binary data, which JSON cannot hold; use Buffer.from(data).toString("base64")';
  }
  return undefined;
}

// ---- the connection ----

/** The connection, its frames, and the calls that wait for a reply. */
class Bridge {
  #socket;
  #chunks = [];
  #size = 0;
  #need = -1; // size of the frame that is arriving; -1: its length has not arrived
  #lastId = 0;
  #waiting = new Map(); // id → {resolve, reject, tool, bytes}
  #bytes = 0; // of the arguments of the calls in #waiting
  #queue = []; // calls held back until there is room
  #jobArrived;
  #byeArrived;
  closed = false; // done was said
  hasJob = false;
  job = new Promise((resolve) => (this.#jobArrived = resolve));
  bye = new Promise((resolve) => (this.#byeArrived = resolve));

  constructor(address, secret) {
    if (address.startsWith("unix:")) this.#socket = net.connect(address.slice("unix:".length));
    else if (/^fd:\d+$/.test(address)) this.#socket = new net.Socket({ fd: Number(address.slice("fd:".length)), readable: true, writable: true });
    else throw new Error(`the bridge's address has an unknown form: ${address}`);
    this.#socket.on("data", (chunk) => this.#receive(chunk));
    this.#socket.on("error", () => this.#lost());
    this.#socket.on("close", () => this.#lost());
    this.#send(JSON.stringify({ type: "hello", protocol: 1, secret, runtime: `node ${process.versions.node}` }));
  }

  #lost() {
    // At once: nothing of the script, not even its exit handlers, has anybody to run for any more.
    if (!this.closed) reallyExit(EXIT_LOST);
    this.#byeArrived();
  }

  #send(text) {
    const size = Buffer.byteLength(text);
    const frame = Buffer.allocUnsafe(4 + size);
    frame.writeUInt32BE(size, 0);
    frame.write(text, 4);
    this.#socket.write(frame);
  }

  #receive(chunk) {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    for (;;) {
      if (this.#need < 0) {
        if (this.#size < 4) return;
        this.#need = this.#take(4).readUInt32BE(0);
      }
      if (this.#size < this.#need) return;
      const frame = this.#take(this.#need);
      this.#need = -1;
      this.#dispatch(JSON.parse(frame.toString("utf8")));
    }
  }

  /** Takes n bytes that have arrived. */
  #take(n) {
    const all = this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks);
    this.#size -= n;
    this.#chunks = this.#size > 0 ? [all.subarray(n)] : [];
    return all.subarray(0, n);
  }

  #dispatch(frame) {
    if (frame.type === "reply") this.#settle(frame);
    else if (frame.type === "job") {
      this.hasJob = true;
      this.#jobArrived(frame);
    } else if (frame.type === "bye") this.#byeArrived();
  }

  #settle(frame) {
    const call = this.#waiting.get(frame.id);
    if (!call) return; // cancelled meanwhile
    this.#forget(frame.id, call);
    if (frame.error) call.reject({ ...callError(undefined, undefined, call.tool), ...frame.error });
    else call.resolve(frame.value);
  }

  #forget(id, call) {
    this.#waiting.delete(id);
    this.#bytes -= call.bytes;
    call.done();
    this.#pump();
    if (this.#waiting.size === 0) this.#socket.unref();
  }

  /** Sends calls that were held back, as far as there is room. */
  #pump() {
    while (this.#queue.length > 0 && this.#waiting.size < MAX_CALLS) {
      const call = this.#queue[0];
      if (this.#waiting.size > 0 && this.#bytes + call.bytes > MAX_CALL_BYTES) return;
      this.#queue.shift();
      call.id = ++this.#lastId;
      this.#waiting.set(call.id, call);
      this.#bytes += call.bytes;
      this.#socket.ref(); // keeps the process alive until the reply
      this.#send(`{"type":"call","id":${call.id},"tool":${call.name},"args":${call.args}}`);
    }
  }

  #cancel(call, reason) {
    const queued = this.#queue.indexOf(call);
    if (queued >= 0) this.#queue.splice(queued, 1);
    else if (this.#waiting.has(call.id)) {
      this.#send(`{"type":"cancel","id":${call.id}}`);
      this.#forget(call.id, call);
    } else return;
    call.reject(reason);
  }

  /** Calls a tool. Rejects with a plain object {kind, message, server, tool, content, code, data}. */
  async call(tool, args, { signal } = {}) {
    if (typeof tool !== "string") throw callError("argument", "the tool id is not a string");
    if (this.closed) throw callError("cancelled", "the script has ended", tool);
    if (args === undefined) args = {};
    if (args === null || typeof args !== "object" || Array.isArray(args)) throw callError("argument", "the input is not an object", tool);
    const call = { tool, id: 0, done: () => {} };
    try {
      call.name = encode(tool, "the tool id");
      call.args = encode(args, "input");
    } catch (error) {
      if (error instanceof NotJSON) throw callError("argument", error.message, tool);
      throw error; // thrown by a getter or a toJSON of the script's own
    }
    call.bytes = Buffer.byteLength(call.args);
    if (call.bytes + call.name.length + 100 > MAX_FRAME) {
      throw callError("argument", `the input has ${call.bytes} bytes; one call can have at most ${MAX_FRAME}`, tool);
    }
    if (call.args[0] !== "{") throw callError("argument", "the input is not an object", tool);
    signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
      call.resolve = resolve;
      call.reject = reject;
      if (signal) {
        const abort = () => this.#cancel(call, signal.reason);
        signal.addEventListener("abort", abort, { once: true });
        call.done = () => signal.removeEventListener("abort", abort);
      }
      this.#queue.push(call);
      this.#pump();
    });
  }

  /** Says done, once. The write goes out at once where the kernel has room, so that it works in an exit handler too. */
  done(members) {
    if (this.closed) return;
    this.closed = true;
    this.#socket.ref();
    let text = `{"type":"done"${members}}`;
    if (Buffer.byteLength(text) > MAX_FRAME) {
      writeError(`mcprun: the result has more than ${MAX_FRAME} bytes and was left out; write it to a file instead\n`);
      text = '{"type":"done"}';
    }
    this.#send(text);
  }

  /** Whether everything said has been given to the kernel. */
  get flushed() {
    return !this.#socket.connecting && this.#socket.writableLength === 0;
  }

  idle() {
    this.#socket.unref();
  }
}

// ---- errors ----

/** Turns positions in the bundle into positions in the agent's own files, and hides frames that are not the script's. */
class Stacks {
  #url;
  #address;
  #code;
  #map; // undefined: not read yet; null: there is none
  #sources;

  constructor(url, address, code) {
    this.#url = url;
    this.#address = address;
    this.#code = code;
    Error.prepareStackTrace = (error, sites) => {
      let head;
      try {
        head = Error.prototype.toString.call(error);
      } catch {
        head = "Error";
      }
      return [head, ...this.frames(sites)].join("\n");
    };
    Error.stackTraceLimit = 30; // many of them are hidden
  }

  frames(sites) {
    const lines = [];
    for (const site of sites) {
      const file = site.getFileName() ?? site.getScriptNameOrSourceURL?.();
      if (typeof file === "string" && (file.startsWith("node:") || file === import.meta.url)) continue;
      lines.push(`    at ${this.translate(String(site))}`);
    }
    return lines.slice(0, 15);
  }

  /** Replaces "bundle:line:column" by the place in the original file. */
  translate(text) {
    text = text.replaceAll(this.#address, this.#url); // in what eval says of its origin
    const at = text.lastIndexOf(this.#url);
    if (at < 0) return text;
    const match = /^:(\d+):(\d+)/.exec(text.slice(at + this.#url.length));
    if (!match) return text;
    const end = at + this.#url.length + match[0].length;
    const entry = this.#entry(Number(match[1]) - 1, Number(match[2]) - 1);
    const place = entry ? `${entry.originalSource}:${entry.originalLine + 1}:${entry.originalColumn + 1}` : `bundle${match[0]}`;
    return text.slice(0, at) + place + text.slice(end);
  }

  #entry(line, column) {
    this.#load();
    const entry = this.#map?.findEntry(line, column);
    return entry?.originalSource === undefined ? undefined : entry;
  }

  #load() {
    if (this.#map !== undefined) return;
    this.#map = null;
    const marker = "//# sourceMappingURL=data:application/json;base64,";
    const at = this.#code.lastIndexOf(marker);
    if (at < 0) return;
    try {
      this.#sources = JSON.parse(Buffer.from(this.#code.slice(at + marker.length), "base64").toString("utf8"));
      // Modules of the tree and files beside the script are marked as such; shown are paths as a person knows them.
      this.#sources.sources = this.#sources.sources.map((name) => name.replace(/^servers:/, "servers/").replace(/^script:/, ""));
      this.#map = new SourceMap(this.#sources);
    } catch {
      // Without a map the positions are those of the bundle.
    }
  }

  /** The text that node would print for an error nobody caught, for the script's own frames. */
  report(error) {
    const isError = error instanceof Error || Object.prototype.toString.call(error) === "[object Error]";
    const text = isError ? inspect(error, { colors: false }) : `Uncaught:\n${inspect(error, { colors: false })}`;
    return `${isError ? this.#excerpt(String(error.stack)) : ""}${text}\n`;
  }

  /** The line of source where the script itself was. */
  #excerpt(stack) {
    for (const line of stack.split("\n")) {
      const match = /^ {4}at (?:.*\()?(?:async )?(?!servers\/)([^()]+):(\d+):(\d+)\)?$/.exec(line);
      const index = match ? (this.#sources?.sources.indexOf(match[1]) ?? -1) : -1;
      if (index < 0) continue;
      const source = this.#sources.sourcesContent?.[index]?.split("\n")[Number(match[2]) - 1];
      if (source === undefined || source.length > 500) return "";
      const caret = source.slice(0, Number(match[3]) - 1).replace(/[^\t]/g, " ");
      return `${match[1]}:${match[2]}\n${source}\n${caret}^\n\n`;
    }
    return "";
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

// ---- one run ----

/** The exported result, as members of done. */
async function resultOf(exports) {
  const named = "result" in exports;
  let value = named ? exports.result : exports.default;
  if (!named && typeof value === "function") return "";
  value = await value; // export default main()
  if (value === undefined) return "";
  try {
    return `,"result":${encode(value, "the exported result")}`;
  } catch (error) {
    writeError(`mcprun: no result: ${error.message}\n`);
    return "";
  }
}

/** The address of a module that has this code. */
const moduleOf = (code) => `data:text/javascript;base64,${Buffer.from(code).toString("base64")}`;

async function run(bridge, job) {
  process.argv = ["node", job.name, ...job.args];
  // Without a file: in some sandboxes a few of those take longer than everything else here.
  const url = "mcprun:bundle";
  const address = moduleOf(`${job.code}\n//# sourceURL=${url}`);
  const stacks = new Stacks(url, address, job.code);

  const fail = (error) => {
    let report;
    try {
      report = stacks.report(error);
    } catch {
      report = "Uncaught error that cannot be shown\n";
    }
    writeError(report);
    bridge.done(doneError(error));
    // Like node, at once: the rest of the script must not run on. Waiting is for what the kernel has not taken yet.
    if (bridge.flushed) process.exit(1);
    leave(bridge, 1);
  };
  process.on("uncaughtException", (error) => {
    // Listeners of the script's own mean that it wants to go on, as in plain node.
    if (process.listenerCount("uncaughtException") === 1) fail(error);
  });
  process.on("exit", () => {
    bridge.done(""); // process.exit() in the script
  });
  let result;
  const drained = () => {
    if (bridge.closed) return;
    if (result === undefined) {
      writeError(`Warning: Detected unsettled top-level await in ${job.name}\n`);
      bridge.done(doneError(new Error("a top-level await never ended")));
      leave(bridge, EXIT_UNSETTLED);
      return;
    }
    bridge.done(result);
    leave(bridge);
  };
  process.on("beforeExit", drained);
  try {
    const exports = await import(address);
    result = await resultOf(exports);
  } catch (error) {
    result = "";
    if (process.listenerCount("uncaughtException") === 1) fail(error);
    else setImmediate(() => { throw error; }); // for the script's own listener
  }
  // After the script's own listeners, which may still have something to do.
  process.off("beforeExit", drained).on("beforeExit", drained);
}

/** Waits for bye, but not for long, and exits; without a code with the one the script has set. */
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
  // Not every kernel takes all of a large write at once, and the stream would write the rest when it is too late.
  const { fd } = stream;
  stream._writev = null;
  stream._write = (chunk, encoding, done) => {
    try {
      const bytes = typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk;
      for (let at = 0; at < bytes.length; ) at += fs.writeSync(fd, bytes, at);
    } catch (error) {
      return done(error);
    }
    done();
  };
}

/** Reads what proves to the host who we are, once, and closes the way to it. Empty: there is none. */
function readSecret() {
  try {
    const secret = fs.readFileSync(SECRET_FD, "latin1");
    fs.closeSync(SECRET_FD);
    return secret;
  } catch {
    return "";
  }
}

/** Does once what costs most the first time, as long as there is no job to do. */
async function rehearse(bridge) {
  await import(moduleOf('import "node:fs";'));
  await new Promise(setImmediate);
  if (bridge.hasJob) return;
  const nowhere = new Writable({ write: (chunk, encoding, done) => done() });
  new console.Console({ stdout: nowhere, stderr: nowhere }).log("%s", "text", { a: [1] });
  process.stdout.write("");
}

async function main() {
  const address = process.argv[2];
  const secret = address && readSecret(); // without an address the descriptor would be one of node's own
  if (!secret) {
    writeError("mcprun: this program is started by mcprun\n");
    process.exit(EXIT_LOST);
  }
  const bridge = new Bridge(address, secret);
  waitForWrites(process.stdout);
  waitForWrites(process.stderr);
  const transport = Object.freeze({ call: (tool, args, options) => bridge.call(tool, args, options) });
  Object.defineProperty(globalThis, Symbol.for("mcprun.transport"), { value: transport });
  // Bundled CommonJS needs it for node's own modules.
  Object.defineProperty(globalThis, "require", { value: createRequire(path.join(process.cwd(), "script.js")), writable: true, configurable: true });
  await rehearse(bridge);
  const home = process.cwd();
  const job = await bridge.job;
  process.chdir(home); // anew, by its name: the workspace of the run may have been mounted there meanwhile
  bridge.idle();
  await run(bridge, job);
}

main().catch((error) => {
  writeError(`mcprun: the guest program broke: ${error?.stack}\n`);
  reallyExit(EXIT_LOST);
});
