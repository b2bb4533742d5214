// Runs the program mcprun. No shell is involved: arguments are passed as a list, code on standard input, and variables in a file.
import { spawn } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join, resolve, sep } from "node:path";

const grace = 10_000; // milliseconds that mcprun has to end a run after it was told to
const start = 60_000; // beyond a run's time-out, to connect to servers and start the sandbox

export class McprunError extends Error {
  constructor(message, { exitCode = 125, cause = "failed", hint = "", data = {} } = {}) {
    super(hint ? `${message} (${hint})` : message);
    this.name = new.target.name;
    Object.assign(this, { exitCode, reason: cause, hint, data });
  }
}
export class ProgramNotFoundError extends McprunError {}
export class ProtocolError extends McprunError {}
export class RunTimeoutError extends McprunError {}
export class RunnerError extends McprunError {}
export class RefusedError extends McprunError {}
export class NoSandboxError extends McprunError {}
export class InterruptedRunError extends McprunError {}
export class LimitError extends McprunError {}
export class ScriptError extends McprunError {}

const byCause = new Map([["timeout", RunTimeoutError], ["interrupted", InterruptedRunError], ["bridge", RunnerError]]);
for (const limit of ["memory", "cpu", "processes", "output", "disk", "file size"]) byCause.set(limit, LimitError);
const byCode = new Map([[124, RunTimeoutError], [126, RefusedError], [127, NoSandboxError], [130, InterruptedRunError], [137, LimitError], [143, InterruptedRunError]]);

/** Returns the error for how mcprun ended, or undefined if the script ended by itself. */
function failure(exitCode, cause, message, hint, data) {
  if (cause === "exit" || cause === "error") return undefined;
  const Kind = byCause.get(cause) ?? byCode.get(exitCode) ?? RunnerError;
  return new Kind(message || `mcprun ended with exit code ${exitCode}`, { exitCode, cause, hint, data });
}

function find(program) {
  const named = program || process.env.MCPRUN || "mcprun";
  const names = process.platform === "win32" && !/\.[^.\\/]+$/.test(named) ? [`${named}.exe`] : [named];
  const folders = named.includes("/") || named.includes(sep) ? [""] : (process.env.PATH ?? "").split(delimiter);
  for (const folder of folders) {
    for (const name of names) {
      const file = folder === "" ? resolve(name) : join(folder, name);
      try {
        accessSync(file, constants.X_OK);
        if (statSync(file).isFile() && !/\.(cmd|bat)$/i.test(file)) return file; // a shell would read the arguments of those
      } catch {
        // the next place
      }
    }
  }
  throw new ProgramNotFoundError(`the program "${named}" was not found`, {
    exitCode: 127, hint: "install mcprun, put it on PATH, or name it with the variable MCPRUN or the option program",
  });
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const object = (value) => (isObject(value) ? value : {});
const list = (value) => (Array.isArray(value) ? value : []);
const text = (value) => (typeof value === "string" ? value : "");
const number = (value) => (typeof value === "number" ? value : 0);

/** Makes flags of the options that are set. */
const flags = (values) => Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}=${value}`]));

export class Run {
  constructor(data) {
    const thrown = data.error, logged = object(data.logged);
    this.exitCode = number(data.exitCode);
    this.error = isObject(thrown) ? `${text(thrown.name)}: ${text(thrown.message)}` : undefined;
    if (this.error === undefined && this.exitCode !== 0) this.error = text(data.message) || `the script ended with exit code ${this.exitCode}`;
    this.result = data.result;
    this.output = text(data.stdout);
    this.stderr = text(data.stderr);
    this.sandbox = text(data.sandbox);
    this.durationMs = number(data.durationMs);
    this.calls = list(data.calls).filter(isObject);
    this.files = list(data.files).filter((file) => typeof file === "string");
    this.warnings = list(data.warnings).filter((line) => typeof line === "string");
    this.customer = text(logged.customer);
    this.session = text(logged.session);
    this.workflow = text(data.workflow);
    this.data = data;
  }

  get success() {
    return this.exitCode === 0 && this.error === undefined;
  }

  check() {
    if (this.success) return this;
    throw new ScriptError(this.error, { exitCode: this.exitCode, cause: text(this.data.cause), data: this.data });
  }
}

export class Task {
  constructor(data, failure) {
    this.task = text(data.task);
    this.result = data.result;
    this.output = text(data.output);
    this.error = text(data.error) || undefined;
    this.selection = object(data.selection);
    this.script = text(data.script) || text(object(data.script).code);
    this.attempts = list(data.attempts).filter(isObject);
    this.data = data;
    Object.defineProperty(this, "failure", { value: failure });
  }

  get success() {
    return this.error === undefined;
  }

  check() {
    if (this.failure) throw this.failure;
    if (!this.success) throw new ScriptError(this.error, { exitCode: number(object(this.data.run).exitCode), cause: "error", data: this.data });
    return this;
  }
}

const waitOf = (data) => ({ kind: text(data.kind), topic: text(data.for), until: text(data.until) });
const workflowOf = (data) => {
  const { exitCode, message, result } = object(data.outcome);
  return {
    id: text(data.id), name: text(data.name), customer: text(data.customer), state: text(data.state), runs: data.runs === true, created: text(data.created), ended: text(data.ended),
    waits: list(data.waits).filter(isObject).map(waitOf), steps: list(data.steps).filter(isObject),
    result, error: exitCode ? text(message) || `the workflow ended with exit code ${exitCode}` : undefined, data,
  };
};
const customerOf = (data) => ({ id: text(data.customer), dir: text(data.dir), lastUsed: text(data.lastUsed), sessions: number(data.sessionCount), data });
const sessionOf = (data, records = []) => ({
  id: text(data.session), customer: text(data.customer), began: text(data.began), lastUsed: text(data.lastUsed), records, data,
});

/** Writes JSON. */
function json(value) {
  try {
    return JSON.stringify(value) ?? "null";
  } catch (error) {
    throw new RunnerError(`a value is not JSON: ${error.message}`, { hint: "pass what JSON can hold" });
  }
}

/**
 * Calls work with flags that name files with the values, which only this user can read. In arguments they would be shown by every list of
 * processes, and could not be long.
 */
async function withFiles(values, work) {
  const texts = Object.entries(values).filter(([, value]) => value !== undefined).map(([name, value]) => [name, json(value)]);
  if (texts.length === 0) return work([]);
  let folder;
  try {
    try {
      folder = await mkdtemp(join(tmpdir(), "mcprun-"));
      for (const [name, value] of texts) await writeFile(join(folder, name), value, { mode: 0o600 });
    } catch (error) {
      throw new RunnerError(`a value cannot be written to a file: ${error.message}`, { hint: "see whether the folder for temporary files is full" });
    }
    return await work(texts.map(([name]) => `--${name}=${name === "input" ? "@" : ""}${join(folder, name)}`));
  } finally {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  }
}

class Program {
  #program;
  #options;
  #config;
  #trust;
  #pii;

  constructor(options) {
    this.#program = find(options.program);
    this.#options = { cwd: options.cwd, env: { ...process.env, ...options.env } };
    this.#config = (options.config ?? []).map((file) => `--config=${file}`);
    this.#trust = options.trustConfig ? ["--trust-config"] : [];
    this.#pii = options.pii;
  }

  /** Returns the flags of a command that runs something. model says that a model reads what the script gets, too. */
  flags({ timeout, model = false, ...values }) {
    const pii = model && this.#pii === "off" ? ["--restore-pii"] : flags({ pii: this.#pii });
    const out = ["--json", ...this.#config, ...this.#trust, ...pii, ...flags(values)];
    return timeout === undefined ? out : [...out, `--timeout=${Math.round(timeout)}ms`];
  }

  /** Returns what a command says that runs nothing. */
  async ask(command, { customer, args = [] } = {}) {
    const { data, error } = await this.call([...command, "--json", ...this.#config, ...flags({ customer }), "--", ...args], "", { deadline: start });
    if (error) throw error;
    return data;
  }

  /** Runs a command that says nothing. The value is on its standard input. */
  async tell(command, args, { value = null, options = [] } = {}) {
    const { error } = await this.call([...command, ...this.#config, ...options, "--", ...args], json(value), { deadline: start, silent: true });
    if (error) throw error;
  }

  /** Starts mcprun. It resolves to the JSON object that mcprun prints, and the error for how it ended, if that is one. */
  async call(command, input, { deadline, signal, silent = false } = {}) {
    signal?.throwIfAborted();
    const unstarted = (error) => {
      throw new RunnerError(`mcprun cannot be started: ${error.message}`, { hint: "see whether cwd exists and the arguments are short" });
    };
    let child;
    try {
      child = spawn(this.#program, command, { ...this.#options, stdio: "pipe", windowsHide: true });
    } catch (error) {
      unstarted(error);
    }
    const read = { stdout: [], stderr: [] };
    for (const name of ["stdout", "stderr"]) child[name].on("data", (chunk) => read[name].push(chunk));
    child.stdin.on("error", () => {}); // mcprun may end before it has read everything
    child.stdin.end(input);
    let late = false;
    let killer;
    const stop = () => { // mcprun ends the run and its calls
      child.kill("SIGTERM");
      killer = setTimeout(() => child.kill("SIGKILL"), grace);
    };
    const timer = deadline === undefined ? undefined : setTimeout(() => { late = true; stop(); }, deadline);
    signal?.addEventListener("abort", stop, { once: true });
    const ended = await new Promise((done, fail) => {
      child.on("error", fail);
      child.on("close", (code, by) => done({ code, by }));
    }).catch(unstarted).finally(() => {
      clearTimeout(timer);
      clearTimeout(killer);
      signal?.removeEventListener("abort", stop);
    });
    signal?.throwIfAborted();
    return this.#read(ended, Buffer.concat(read.stdout).toString(), Buffer.concat(read.stderr).toString(), late ? deadline : undefined, silent);
  }

  #read({ code, by }, out, err, late, silent) {
    const exitCode = code ?? { SIGINT: 130, SIGKILL: 137, SIGTERM: 143 }[by] ?? 125;
    let data;
    try {
      data = out.trim() ? JSON.parse(out) : {};
    } catch {
      // said below
    }
    if (late !== undefined) {
      return { data: {}, error: new RunTimeoutError(`mcprun did not end within ${late / 1000} s`, { exitCode: 124, cause: "timeout", data: object(data) }) };
    }
    if (!isObject(data) || (exitCode === 0 && Object.keys(data).length === 0 && !silent)) {
      return { data: {}, error: new ProtocolError("mcprun printed no JSON object", { exitCode, hint: `is ${this.#program} the program mcprun?` }) };
    }
    const said = (prefix) => err.split("\n").filter((line) => line.startsWith(prefix)).at(-1)?.slice(prefix.length) ?? "";
    const ran = object(data.run); // of a task whose script has ended
    const cause = text(data.cause) || (ran.exitCode === exitCode && text(ran.cause)) || (exitCode === 0 ? "exit" : "failed");
    return { data, error: failure(exitCode, cause, text(data.message) || said("mcprun: "), said("hint: "), data) };
  }
}

export class Workflows {
  #program;

  constructor(program) {
    this.#program = program;
  }

  run(file, { id, input, variables, customer, sandbox, timeout, options = [], deadline, signal } = {}) {
    const command = ["workflow", "run", ...this.#program.flags({ id, customer, sandbox, timeout })];
    return withFiles({ vars: variables, input }, (given) => this.#ended([...command, ...given, ...options, "--", file], { deadline, signal }));
  }

  resume(id, { options = [], deadline, signal } = {}) {
    return this.#ended(["workflow", "resume", ...this.#program.flags({}), ...options, "--", id], { deadline, signal });
  }

  async list() {
    return list((await this.#program.ask(["workflow", "list"])).workflows).filter(isObject).map(workflowOf);
  }

  async show(id) {
    return workflowOf(await this.#program.ask(["workflow", "show"], { args: [id] }));
  }

  send(id, topic, value) {
    return this.#program.tell(["workflow", "send"], [id, topic, "-"], { value });
  }

  answer(id, answer, { question } = {}) {
    return this.#program.tell(["workflow", "answer"], [id, "-"], { value: answer, options: flags({ question }) });
  }

  decline(id, { question } = {}) {
    return this.#program.tell(["workflow", "answer"], [id], { options: ["--decline", ...flags({ question })] });
  }

  cancel(id) {
    return this.#program.tell(["workflow", "cancel"], [id]);
  }

  async #ended(command, options) {
    const { data, error } = await this.#program.call(command, "", options);
    if (error) throw error;
    return new Run(data);
  }
}

export class Mcprun {
  #program;

  constructor(options = {}) {
    this.#program = new Program(options);
    this.workflows = new Workflows(this.#program);
  }

  async run(code, options = {}) {
    const { language, customer, session, task, sandbox, memory, timeout, variables, args = [], signal, deadline = timeout === undefined ? undefined : timeout + start } = options;
    const command = ["run", "-", ...this.#program.flags({ language, customer, session, task, sandbox, memory, timeout })];
    const { data, error } = await withFiles({ vars: variables }, (given) => (
      this.#program.call([...command, ...given, ...(options.options ?? []), "--", ...args], code, { deadline, signal })
    ));
    if (error) throw error;
    return new Run(data);
  }

  async task(words, options = {}) {
    const { language, customer, session, variables, plan, deadline, signal } = options;
    const command = ["task", ...this.#program.flags({ model: true, language, customer, session }), ...(plan ? ["--plan"] : [])];
    const { data, error } = await withFiles({ vars: variables }, (given) => (
      this.#program.call([...command, ...given, ...(options.options ?? []), words.startsWith("-") ? ` ${words}` : words], "", { deadline, signal })
    ));
    const done = new Task(data, error);
    if (error && (Object.keys(done.selection).length === 0 || done.success)) throw error; // the latter: it was done, and could not be saved
    return done;
  }

  async customers() {
    return list((await this.#program.ask(["workspace", "list"])).customers).filter(isObject).map(customerOf);
  }

  async customer(id) {
    return customerOf(await this.#program.ask(["workspace", "show"], { args: [id] }));
  }

  async sessions(customer) {
    return list((await this.#program.ask(["session", "list"], { customer })).sessions).filter(isObject).map((s) => sessionOf(s));
  }

  async session(id, customer) {
    const data = await this.#program.ask(["session", "show"], { customer, args: [id] });
    return sessionOf(object(data.session), list(data.records).filter(isObject));
  }
}

export class FilesystemHelper {
  constructor(places = {}) {
    this.places = places;
  }

  options() {
    const { workspaceDir, serversDir, skillsDir } = this.places;
    return Object.entries({ workspace: workspaceDir, servers: serversDir, skills: skillsDir }).flatMap(([name, at]) => (at === undefined ? [] : [`--${name}=${resolve(at)}`]));
  }
}

/** Turns failures into outcomes; only a missing mcprun and an abort throw. */
async function outcome(work) {
  try {
    return await work();
  } catch (failed) {
    if (!(failed instanceof McprunError) || failed instanceof ProgramNotFoundError) throw failed;
    return { result: undefined, output: text(failed.data.stdout), error: failed.message, success: false, details: failed.data };
  }
}

export class SandboxExecutor {
  constructor({ client = new Mcprun(), options = [], customer, session } = {}) {
    Object.assign(this, { client, options, customer, session });
  }

  execute(code, language = "typescript", { context, timeout, signal } = {}) {
    return outcome(async () => {
      const { customer, session, options } = this;
      const run = await this.client.run(code, { language, variables: context, customer, session, timeout, options, signal });
      return { result: run.result, output: run.output, error: run.error, success: run.success, details: run.data };
    });
  }
}

export class AgentHelper {
  constructor(fsHelper = new FilesystemHelper(), executor = new SandboxExecutor()) {
    Object.assign(this, { fsHelper, executor });
  }

  executeTask(taskDescription, { verbose = false, language = "typescript", timeout, signal } = {}) {
    return outcome(async () => {
      const { client, customer, session, options } = this.executor;
      const done = await client.task(taskDescription, { language, customer, session, options: [...options, ...this.fsHelper.options()], deadline: timeout, signal });
      if (verbose) console.error(`task: ${done.task}\nselection: ${JSON.stringify(done.selection)}\nscript:\n${done.script}`);
      return { result: done.result, output: done.output, error: done.error, success: done.error === undefined, details: done.data };
    });
  }

  runTask(taskDescription, options) {
    return this.executeTask(taskDescription, options);
  }

  execute(code, language, options) {
    return this.executor.execute(code, language, options);
  }
}

export function createAgent({ workspaceDir, serversDir, skillsDir, customer, session, pii, client = new Mcprun({ pii }) } = {}) {
  return new AgentHelper(new FilesystemHelper({ workspaceDir, serversDir, skillsDir }), new SandboxExecutor({ client, customer, session }));
}

export function executeTask(taskDescription, { verbose, language, timeout, signal, ...settings } = {}) {
  return createAgent(settings).executeTask(taskDescription, { verbose, language, timeout, signal });
}
