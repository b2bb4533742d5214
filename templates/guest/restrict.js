{const refuse = (name) => Object.assign(function () { throw new EvalError(`${name} is not allowed in a restricted script`); }, { prototype: Function.prototype });
for (const f of [function () {}, async function () {}, function* () {}, async function* () {}])
Object.defineProperty(Object.getPrototypeOf(f), "constructor", { value: refuse("Function") });
globalThis.eval = refuse("eval");
globalThis.Function = refuse("Function");}
