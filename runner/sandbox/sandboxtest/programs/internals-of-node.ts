// Doors of node itself that lead around its modules.
const p = process as any;
const canary = "@CANARY@";
await attempt("binding fs", () => { const text = String(p.binding("fs").internalModuleReadJSON(canary)); if (!text.includes("canary-")) throw 0; return text; });
await attempt("binding spawn_sync", () => { const r = p.binding("spawn_sync").spawn({ file: "/bin/sh", args: ["sh", "-c", "echo x"], stdio: [{ type: "ignore" }, { type: "ignore" }, { type: "ignore" }] }); if (r.error) throw r; return r.pid; });
await attempt("mainModule", () => p.mainModule.require("child_process").execSync("cat " + canary));
await attempt("constructor", () => (0 as any).constructor.constructor("return process")().mainModule.require("fs").readFileSync(canary, "utf8"));
await attempt("vm", async () => (await mod("node:vm")).runInNewContext("this.constructor.constructor('return process')()").getBuiltinModule("fs").readFileSync(canary, "utf8"));
await attempt("getBuiltinModule", () => p.getBuiltinModule("fs").readFileSync(canary, "utf8"));
await attempt("wasi", async () => {
  const { WASI } = await mod("node:wasi");
  new WASI({ version: "preview1", preopens: { "/host": "/root" } });
  const fs = await mod("node:fs");
  if (!fs.readdirSync("/root").length) throw 0;
});
await attempt("dlopen", () => { p.dlopen({ exports: {} }, canary); });
await attempt("sqlite", async () => { const { DatabaseSync } = await mod("node:sqlite"); return new DatabaseSync(canary).prepare("select 1").all(); });
await attempt("attached database", async () => { const { DatabaseSync } = await mod("node:sqlite"); const db = new DatabaseSync(":memory:"); db.exec("attach '@ELSEWHERE@/new.db' as x; create table x.t (a)"); });
for (const [name, ...args] of [["setuid", 0], ["setgid", 0], ["seteuid", 0], ["setgroups", [0]], ["initgroups", "root", 0]] as any) await attempt(name, () => p[name](...args));
await attempt("worker", async () => {
  const { Worker } = await mod("node:worker_threads");
  return await new Promise((yes, no) => new Worker(`require("worker_threads").parentPort.postMessage(require("fs").readFileSync("${canary}", "utf8"))`, { eval: true, env: {} }).on("message", yes).on("error", no));
});
const load = new Function("name", "return import" + "(name)") as (name: string) => Promise<unknown>;
await attempt("import of a file", () => load("file://" + canary));
await attempt("import of an address", () => load("http://127.0.0.1:@PORT@/x.mjs"));
// Whether these write elsewhere the suite sees on the host.
try { (await mod("node:v8")).writeHeapSnapshot("@ELSEWHERE@/heap"); } catch {}
try { p.report.writeReport("../../../../../..@ELSEWHERE@/report"); } catch {}
console.log("checked");
