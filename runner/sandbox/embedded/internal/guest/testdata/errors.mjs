import { inspect } from "node:util";
const show = (v) => console.log(inspect(v).replace(/\n +at .*/g, "\n  at"));
class MyError extends Error { constructor(m, o) { super(m, o); this.name = "MyError"; this.code = "E1"; } }
class Plain extends Error {}
const noStack = (e) => { e.stack = e.stack.split("\n")[0]; return e; };
console.log(noStack(new Error("boom"))); console.log(noStack(new TypeError("t"))); console.log([noStack(new RangeError("r"))]); console.log({ e: noStack(new Error("in")) });
console.log(String(new MyError("x")), new MyError("y").toString(), `${new Plain("z")}`, new Error("").toString());
console.log(new Error("s").stack.split("\n")[0], new MyError("m").stack.split("\n")[0], (() => { try { null.x(); } catch (e) { return e.stack.split("\n")[0].split(":")[0]; } })());
const bare = new Error("bare"); delete bare.stack; console.log(Object.keys(new Error("k")), "stack" in new Error("k"), new Error("c", { cause: 1 }).cause);
console.log(Object.prototype.toString.call(new Error()), new Error("a") instanceof Error, new MyError("b") instanceof Error, Object.getOwnPropertyNames(new Error("q")).sort());
try { JSON.parse("{bad"); } catch (e) { console.log(e.name); } try { undefinedName; } catch (e) { console.log(e.name, e.message.includes("undefinedName")); } try { BigInt(1.5); } catch (e) { console.log(e.name); } try { new Array(-1); } catch (e) { console.log(e.name); } try { "x".repeat(-1); } catch (e) { console.log(e.name); }
try { structuredClone(() => {}); } catch (e) { console.log(e.name); } const o = {}; o.o = o; try { JSON.stringify(o); } catch (e) { console.log(e.name); }
