// Runs the program mcprun. No shell is involved: arguments are passed as a list, and code on standard input.
import { spawn } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
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

const taskOf = (data) => ({
  task: text(data.task), result: data.result, output: text(data.output), error: text(data.error) || undefined, selection: object(data.selection),
  script: text(data.script) || text(object(data.script).code), attempts: list(data.attempts).filter(isObject), data,
});
const customerOf = (data) => ({ id: text(data.customer), dir: text(data.dir), lastUsed: text(data.lastUsed), sessions: number(data.sessionCount), data });
const sessionOf = (data, records = []) => ({
  id: text(data.session), customer: text(data.customer), began: text(data.began), lastUsed: text(data.lastUsed), records, data,
});

export class Mcprun {
  #program;
  #options;
  #config;
  #trust;

  constructor(options = {}) {
    this.#program = find(options.program);
    this.#options = { cwd: options.cwd, env: { ...process.env, ...options.env } };
    this.#config = (options.config ?? []).map((file) => `--config=${file}`);
    this.#trust = options.trustConfig ? ["--trust-config"] : [];
  }

  async run(code, options = {}) {
    const { language, customer, session, task, sandbox, memory, timeout, variables = {}, args = [], deadline = timeout === undefined ? undefined : timeout + start } = options;
    const command = ["run", "-", "--json", ...this.#config, ...this.#trust, ...flags({ language, customer, session, task, sandbox, memory })];
    if (timeout !== undefined) command.push(`--timeout=${Math.round(timeout)}ms`);
    for (const [name, value] of Object.entries(variables)) command.push(`--var=${name}=${JSON.stringify(value) ?? "null"}`);
    const { data, error } = await this.#call([...command, ...(options.options ?? []), "--", ...args], code, deadline, options.signal);
    if (error) throw error;
    return new Run(data);
  }

  async task(words, options = {}) {
    const { language, customer, session, plan } = options;
    const command = ["task", "--json", ...this.#config, ...this.#trust, ...flags({ language, customer, session })];
    if (plan) command.push("--plan");
    const { data, error } = await this.#call([...command, ...(options.options ?? []), words.startsWith("-") ? ` ${words}` : words], "", options.deadline, options.signal);
    if (error && typeof data.task !== "string") throw error;
    return taskOf(data);
  }

  async customers() {
    return list((await this.#ask(["workspace", "list", "--json", ...this.#config])).customers).filter(isObject).map(customerOf);
  }

  async customer(id) {
    return customerOf(await this.#ask(["workspace", "show", "--json", ...this.#config, "--", id]));
  }

  async sessions(customer) {
    return list((await this.#ask(["session", "list", "--json", ...this.#config, ...flags({ customer })])).sessions).filter(isObject).map((s) => sessionOf(s));
  }

  async session(id, customer) {
    const data = await this.#ask(["session", "show", "--json", ...this.#config, ...flags({ customer }), "--", id]);
    return sessionOf(object(data.session), list(data.records).filter(isObject));
  }

  async #ask(command) {
    const { data, error } = await this.#call(command, "", start);
    if (error) throw error;
    return data;
  }

  /** Starts mcprun. It resolves to the JSON object that mcprun prints, and the error for how it ended, if that is one. */
  async #call(command, input, deadline, signal) {
    signal?.throwIfAborted();
    const child = spawn(this.#program, command, { ...this.#options, stdio: "pipe", windowsHide: true });
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
    }).catch((error) => {
      throw new ProgramNotFoundError(`${this.#program} cannot be started: ${error.message}`, { exitCode: 127, hint: "name the program mcprun with the option program" });
    }).finally(() => {
      clearTimeout(timer);
      clearTimeout(killer);
      signal?.removeEventListener("abort", stop);
    });
    signal?.throwIfAborted();
    return this.#read(ended, Buffer.concat(read.stdout).toString(), Buffer.concat(read.stderr).toString(), late ? deadline : undefined);
  }

  #read({ code, by }, out, err, late) {
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
    if (!isObject(data) || (exitCode === 0 && Object.keys(data).length === 0)) {
      return { data: {}, error: new ProtocolError("mcprun printed no JSON object", { exitCode, hint: `is ${this.#program} the program mcprun?` }) };
    }
    const said = (prefix) => err.split("\n").filter((line) => line.startsWith(prefix)).at(-1)?.slice(prefix.length) ?? "";
    const cause = text(data.cause) || (exitCode === 0 ? "exit" : "failed");
    return { data, error: failure(exitCode, cause, text(data.message) || said("mcprun: "), said("hint: "), data) };
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

export function createAgent({ workspaceDir, serversDir, skillsDir, customer, session, client } = {}) {
  return new AgentHelper(new FilesystemHelper({ workspaceDir, serversDir, skillsDir }), new SandboxExecutor({ client, customer, session }));
}

export function executeTask(taskDescription, { verbose, language, timeout, signal, ...settings } = {}) {
  return createAgent(settings).executeTask(taskDescription, { verbose, language, timeout, signal });
}
