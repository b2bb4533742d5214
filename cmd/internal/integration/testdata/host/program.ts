// A program of another host, whose import was changed, and then what @mcpgen/host adds. Types are checked strictly.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import {
  AgentHelper, FilesystemHelper, InterruptedRunError, LimitError, Mcprun, McprunError, NoSandboxError, ProgramNotFoundError, ProtocolError, RefusedError,
  RunnerError, RunTimeoutError, SandboxExecutor, ScriptError, createAgent, executeTask, type Workflow,
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
assert.equal((await client.run("export default t.length;", { variables: { t: "x".repeat(300_000) }, sandbox: "embedded" })).result, 300_000);

// Personal data: tokens, unless the program asks for the data. (Other tests of this folder turn them off.)
const mail = ["ann@example.com"], shown = "console.log(process.argv[2]); export default process.argv[2];";
const hidden = await new Mcprun({ env: { MCPRUN_PII: "" } }).run(shown, { args: mail, sandbox: "embedded" });
assert.deepEqual([hidden.result, hidden.output], ["[EMAIL_1]", "[EMAIL_1]\n"]);
const plain = await new Mcprun({ env: { MCPRUN_PII: "" }, pii: "off" }).run(shown, { args: mail, sandbox: "embedded" });
assert.deepEqual([plain.result, plain.output], ["ann@example.com", "ann@example.com\n"]);
process.env["MCPRUN_PII"] = "output";
assert.equal((await createAgent({ pii: "off" }).execute("export default mail;", "typescript", { context: { mail: mail[0] } })).result, "ann@example.com");
assert.equal((await createAgent().execute("export default mail;", "typescript", { context: { mail: mail[0] } })).result, "[EMAIL_1]");
process.env["MCPRUN_PII"] = "off";
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
const task = await faked.task("Calculate 5 + 3", { plan: true, variables: { key: "hush" } });
assert.deepEqual([task.script, task.selection["selected"], task.attempts.length, task.success], ["export default 8.0", 3, 1, true]);
const argv = task.data["argv"] as string[], file = argv.find((arg) => arg.startsWith("--vars="))?.slice("--vars=".length) ?? "";
assert.ok(!String(argv).includes("hush") && file !== "" && !existsSync(file), String(argv));
for (const [pii, flag] of [["off", "--restore-pii"], ["output", "--pii=output"]] as const) { // the model reads tokens in both
  assert.deepEqual((await new Mcprun({ program: fake, env: { HOST_FAKE: "task" }, pii }).task("x")).check().data["argv"], ["task", "--json", flag, "x"]);
}

/** Returns the error of a call, which must be of that kind. */
async function raised(kind: typeof McprunError, what: () => unknown): Promise<McprunError> {
  try {
    await what();
  } catch (error) {
    assert.ok(error instanceof kind && error.name === kind.name, `${String(error)}, want ${kind.name}`);
    return error;
  }
  throw new Error(`no ${kind.name}`);
}

const faulty = (mode: string) => new Mcprun({ program: fake, env: { HOST_FAKE: mode } });
const unmodelled = await faulty("no model").task("x");
assert.deepEqual([unmodelled.error, unmodelled.script, (await raised(RunnerError, () => unmodelled.check())).exitCode], ["no model is configured", "// scaffold", 125]);
const refused = await faulty("refused").task("x");
const why = await raised(RefusedError, () => refused.check());
assert.deepEqual([refused.selection["found"], why.exitCode, why.hint, why.message], [11, 126, "ask ann", "the policy refuses it (ask ann)"]);
assert.equal((await raised(RefusedError, () => faulty("untrusted").task("x"))).hint, "ask ann");
assert.match((await raised(RunnerError, () => faulty("unsaved").task("x", { options: ["--save=nodir/x"] }))).message, /no such folder/);
const failed = await faulty("failed").task("x");
assert.deepEqual([failed.error, (await raised(ScriptError, () => failed.check())).message], ["TypeError: x", "TypeError: x"]);

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
assert.match((await raised(RunnerError, () => new Mcprun({ cwd: "nodir" }).run("1"))).message, /cannot be started/);
assert.match((await raised(RunnerError, () => client.run("1", { args: ["x".repeat(3_000_000)] }))).message, /cannot be started/);
assert.match((await raised(RunnerError, () => client.run("1", { args: ["\0"] }))).message, /cannot be started/);
assert.match((await raised(RunnerError, () => client.run("1", { variables: { big: 1n } }))).message, /BigInt/);
await assert.rejects(async () => (await client.run("throw new TypeError('x')", { sandbox: "embedded" })).check(), (thrown) => thrown instanceof ScriptError && thrown.message === "TypeError: x");
const stop = new AbortController();
const aborted = new Mcprun({ program: fake, env: { HOST_FAKE: "hang" } }).run("1", { signal: stop.signal });
stop.abort(new Error("enough"));
await assert.rejects(aborted, /enough/);

// A workflow, which others send what it waits for.
const flows = new Mcprun({ pii: "off" }).workflows;

/** Returns the workflow as soon as it waits for that. */
async function waiting(id: string, kind: string): Promise<Workflow> {
  for (const end = Date.now() + 60_000; Date.now() < end;) {
    try {
      const shown = await flows.show(id);
      if (shown.waits.some((wait) => wait.kind === kind)) return shown;
    } catch (error) {
      assert.ok(error instanceof RunnerError, String(error)); // it has not begun
    }
  }
  throw new Error(`it does not wait for ${kind}`);
}

const ends = flows.run("flow.ts", { id: "node-1", input: { big: "x".repeat(300_000) }, variables: { secret: "hush" }, sandbox: "embedded", deadline: 120_000 });
assert.equal((await waiting("node-1", "wait")).waits[0]?.topic, "paid");
await flows.send("node-1", "paid", { amount: 5, note: "y".repeat(300_000) });
assert.equal((await waiting("node-1", "ask")).waits[0]?.topic, "Which plan?");
assert.match((await raised(RunnerError, () => flows.answer("node-1", { plan: 7 }))).message, /does not fit/);
await flows.answer("node-1", { plan: "pro=1", seats: 2 });
const ended = (await ends).check();
const value = ended.result as { plan: string; paid: { amount: number }; secret: string; input: { big: string } };
assert.deepEqual([ended.workflow, value.plan, value.paid.amount, value.secret, value.input.big.length], ["node-1", "pro=1", 5, "hush", 300_000]);
const flow = await flows.show("node-1");
assert.deepEqual([flow.name, flow.ended !== "", flow.error, flow.steps.map((step) => step["kind"])], ["flow.ts", true, undefined, ["wait", "ask"]]);
assert.equal((await flows.resume("node-1")).workflow, "node-1");
const second = raised(RunnerError, () => flows.run("flow.ts", { id: "node-2", sandbox: "embedded" }));
await waiting("node-2", "wait");
await flows.cancel("node-2");
assert.match((await second).message, /cancelled/);
assert.equal((await flows.list()).find((each) => each.id === "node-2")?.state, "cancelled");
console.log("ok");
