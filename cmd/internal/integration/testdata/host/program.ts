// A program of another host, whose import was changed, and then what @mcpgen/host adds. Types are checked strictly.
import assert from "node:assert/strict";
import {
  AgentHelper, FilesystemHelper, InterruptedRunError, LimitError, Mcprun, McprunError, NoSandboxError, ProgramNotFoundError, ProtocolError, RefusedError,
  RunnerError, RunTimeoutError, SandboxExecutor, ScriptError, createAgent, executeTask,
} from "@mcpgen/host";

const fake = process.env["FAKE_MCPRUN"];

/** Returns the error of a run, which must be of that kind. */
async function fails(kind: typeof McprunError, code: string, options: string[], program?: string, mode?: string, deadline?: number): Promise<McprunError> {
  try {
    await new Mcprun({ program, env: mode === undefined ? {} : { HOST_FAKE: mode } }).run(code, { options, deadline });
  } catch (error) {
    assert.ok(error instanceof kind && error.name === kind.name, `${String(error)}, want ${kind.name}`);
    return error;
  }
  throw new Error(`no ${kind.name}`);
}

// Code, with variables, arguments and a customer.
const client = new Mcprun();
const run = await client.run('import { add } from "./servers/calculator"; console.log(process.argv.slice(2), n); export default (await add({ numbers: [n, 3] })).result;', {
  language: "typescript", variables: { n: 5 }, args: ["--x", "a b"], customer: "beta", task: "Add.", sandbox: "embedded",
});
assert.equal(run.check().result, 8);
assert.deepEqual([run.calls[0]?.tool, run.calls[0]?.outcome, run.customer, run.success], ["calculator__add", "ok", "beta", true]);
assert.match(run.output, /--x.*a b.* 5/s);
const odd = "5 \u00e4 \"'$(x);";
assert.equal((await client.run("export default t;", { variables: { t: odd }, sandbox: "embedded" })).result, odd);
assert.ok((await client.customers()).some((customer) => customer.id === "beta" && customer.sessions === 1));
assert.equal((await client.customer("beta")).id, "beta");
const [session] = await client.sessions("beta");
assert.equal(session?.id, run.session);
assert.equal((await client.session(run.session)).records.at(-1)?.["kind"], "run");

// Other hosts' names: three things come back.
const { result, output, error } = await new SandboxExecutor().execute("console.log('hello'); export default limit * 2;", "typescript", { context: { limit: 21 } });
assert.deepEqual([result, output, error], [42, "hello\n", undefined]);
assert.match((await new SandboxExecutor().execute("throw new RangeError('no')")).error ?? "", /RangeError: no/);

// Tasks, with a stand-in for mcprun that says what it was given.
const faked = new Mcprun({ program: fake, env: { HOST_FAKE: "task" } });
const agent = new AgentHelper(new FilesystemHelper({ serversDir: "servers" }), new SandboxExecutor({ client: faked, customer: "acme" }));
const done = await agent.executeTask("Calculate 5 + 3", { verbose: true });
assert.deepEqual([done.result, done.output, done.error], [8, "8.0\n", undefined]);
assert.deepEqual((await createAgent({ client: faked }).runTask("--help")).details["argv"], ["task", "--json", "--language=typescript", " --help"]);
assert.ok(((await executeTask("x", { client: faked, customer: "b" })).details["argv"] as string[]).includes("--customer=b"));
const task = await faked.task("Calculate 5 + 3", { plan: true });
assert.deepEqual([task.script, task.selection["selected"], task.attempts.length], ["export default 8.0", 3, 1]);
assert.equal((await new Mcprun({ program: fake, env: { HOST_FAKE: "no model" } }).task("x")).error, "no model is configured");

// Errors by exit code and cause.
assert.match((await fails(NoSandboxError, "1", ["--sandbox=nope"])).hint, /choose one of/);
await fails(RunTimeoutError, "while (true) {}", ["--sandbox=embedded", "--timeout=300ms"]);
await fails(LimitError, "const a = []; while (true) a.push('x'.repeat(1e6) + a.length);", ["--sandbox=embedded", "--memory=32MiB"]);
await fails(RunnerError, "1", ["--config=nothing.json"]);
await fails(RefusedError, "eval('1')", ["--restricted"]);
assert.equal((await fails(ProtocolError, "1", [], fake, "garbage")).exitCode, 0);
assert.equal((await fails(RunTimeoutError, "1", [], fake, "hang", 500)).exitCode, 124);
await fails(InterruptedRunError, "1", [], fake, "interrupted");
await fails(ProgramNotFoundError, "1", [], "/nothing/mcprun");
await assert.rejects(async () => (await client.run("throw new TypeError('x')", { sandbox: "embedded" })).check(), (thrown) => thrown instanceof ScriptError && thrown.message === "TypeError: x");
const stop = new AbortController();
const aborted = new Mcprun({ program: fake, env: { HOST_FAKE: "hang" } }).run("1", { signal: stop.signal });
stop.abort(new Error("enough"));
await assert.rejects(aborted, /enough/);
console.log("ok");
