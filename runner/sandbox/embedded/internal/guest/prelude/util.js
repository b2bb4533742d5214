// The parts of node:util that scripts use.
(function (host) {
  "use strict";
  const { inspect, formatArgs } = host.load("inspect");
  const custom = Symbol.for("nodejs.util.promisify.custom");
  const promisify = (f) => f[custom] ?? function (...args) {
    return new Promise((resolve, reject) => f.call(this, ...args, (e, v) => (e ? reject(e) : resolve(v))));
  };
  promisify.custom = custom;
  const callbackify = (f) => (...args) => {
    const done = args.pop();
    f(...args).then((v) => setImmediate(done, null, v), (e) => setImmediate(done, e));
  };
  const tag = (v) => Object.prototype.toString.call(v).slice(8, -1);
  const types = {};
  for (const t of ["Date", "RegExp", "Map", "Set", "WeakMap", "WeakSet", "Promise", "ArrayBuffer", "DataView", "Uint8Array", "GeneratorFunction", "AsyncFunction"]) {
    types["is" + t] = (v) => tag(v) === t;
  }
  types.isTypedArray = (v) => ArrayBuffer.isView(v) && !(v instanceof DataView);
  types.isNativeError = (v) => v instanceof Error;

  // Strict deep equality with cycles; prototypes and all own enumerable properties count.
  const isDeepStrictEqual = (a, b, seen = new Map()) => {
    if (Object.is(a, b)) return true;
    if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
    if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
    if (seen.get(a) === b) return true;
    seen.set(a, b);
    if (a instanceof Date) { if (!Object.is(+a, +b)) return false; }
    else if (a instanceof RegExp) { if (String(a) !== String(b)) return false; }
    else if (a instanceof Error) { if (a.message !== b.message || a.name !== b.name) return false; }
    else if (a instanceof Map || a instanceof Set) {
      if (a.size !== b.size) return false;
      const rest = [...b.entries()];
      for (const [k, v] of a.entries()) {
        const i = rest.findIndex(([k2, v2]) => isDeepStrictEqual(k, k2, seen) && isDeepStrictEqual(v, v2, seen));
        if (i < 0) return false;
        rest.splice(i, 1);
      }
    } else if (a instanceof Number || a instanceof String || a instanceof Boolean) { if (!Object.is(a.valueOf(), b.valueOf())) return false; }
    const keys = (o) => [...Object.keys(o), ...Object.getOwnPropertySymbols(o).filter((s) => Object.prototype.propertyIsEnumerable.call(o, s))];
    const ka = keys(a), kb = keys(b);
    return ka.length === kb.length && ka.every((k) => Object.hasOwn(b, k) && isDeepStrictEqual(a[k], b[k], seen));
  };
  return {
    inspect, promisify, callbackify, types, isDeepStrictEqual,
    format: (...args) => formatArgs(args),
    inherits(c, base) { Object.defineProperty(c, "super_", { value: base, writable: true, configurable: true }); Object.setPrototypeOf(c.prototype, base.prototype); },
    deprecate: (f) => f,
    TextEncoder, TextDecoder,
    // eslint-disable-next-line no-control-regex
    stripVTControlCharacters: (s) => String(s).replace(/\u001b\[[0-9;]*[A-Za-z]/g, ""),
  };
})
