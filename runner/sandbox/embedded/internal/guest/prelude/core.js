// The globals that exist from the start. Larger modules are loaded when they are first used.
// Like every file here, this one is a function that gets the host functions (see natives.go). Scripts can change the language's
// own objects at any time, so later code uses references that are taken now.
(function (host) {
  "use strict";
  const { defineProperty, freeze } = Object;
  const { then } = Promise.prototype;
  const uncurry = Function.prototype.bind.bind(Function.prototype.call);
  const promiseThen = uncurry(then);
  const resolved = Promise.resolve();
  const G = globalThis;

  const define = (name, value) =>
    defineProperty(G, name, { __proto__: null, value, writable: true, configurable: true, enumerable: false });
  const lazy = (file, names) => {
    for (let i = 0; i < names.length; i++) {
      const name = names[i];
      defineProperty(G, name, {
        __proto__: null, configurable: true, enumerable: false,
        get() { const v = host.load(file)[name]; define(name, v); return v; },
        set(v) { define(name, v); },
      });
    }
  };

  // --- console ---
  let indent = "";
  const counts = { __proto__: null }, times = { __proto__: null };
  const replaceAll = uncurry(String.prototype.replaceAll);
  const slice = uncurry(String.prototype.slice);
  const print = (fd, args) => {
    let text;
    if (args.length === 1 && typeof args[0] === "string") text = args[0];
    else {
      try {
        text = inspect().formatArgs(args);
      } catch {
        text = host.plain(args); // the script broke the language's own objects, or is out of memory or stack
      }
    }
    if (indent !== "") text = indent + replaceAll(text, "\n", "\n" + indent);
    host.write(fd, text + "\n");
  };
  let inspector;
  const inspect = () => inspector ??= host.load("inspect");
  const out = (...args) => print(1, args), err = (...args) => print(2, args);
  const elapsed = (label) => {
    const ms = host.now() - times[label];
    return `${label}: ${ms < 1000 ? ms.toFixed(3) + "ms" : (ms / 1000).toFixed(3) + "s"}`;
  };
  define("console", {
    log: out, info: out, debug: out, error: err, warn: err,
    trace: (...args) => { const e = new Error(); e.name = "Trace"; print(2, ["Trace" + (args.length ? ": " : "") + inspect().formatArgs(args) + slice(e.stack, 5)]); },
    dir: (v, options) => print(1, [inspect().inspect(v, options)]),
    dirxml: out,
    table: (data, columns) => print(1, [inspect().table(data, columns)]),
    assert: (ok, ...args) => { if (!ok) print(2, args.length && typeof args[0] === "string" ? ["Assertion failed: " + args[0], ...args.slice(1)] : ["Assertion failed", ...args]); },
    group: (...args) => { if (args.length) print(1, args); indent += "  "; },
    groupCollapsed: (...args) => { if (args.length) print(1, args); indent += "  "; },
    groupEnd: () => { indent = slice(indent, 2); },
    count: (label = "default") => print(1, [`${label}: ${counts[label] = (counts[label] ?? 0) + 1}`]),
    countReset: (label = "default") => { counts[label] = 0; },
    time: (label = "default") => { times[label] = host.now(); },
    timeLog: (label = "default", ...args) => { if (label in times) print(1, [elapsed(label), ...args]); },
    timeEnd: (label = "default") => { if (label in times) { print(1, [elapsed(label)]); delete times[label]; } },
  });

  // --- timers ---
  const callable = (f) => {
    if (typeof f !== "function") {
      const e = new TypeError(`The "callback" argument must be of type function. Received ${inspect().inspect(f)}`);
      e.code = "ERR_INVALID_ARG_TYPE";
      throw e;
    }
  };
  class Timeout {
    #id; #f; #ms; #repeat; #args;
    constructor(f, ms, repeat, args) {
      callable(f);
      this.#f = f; this.#ms = +ms; this.#repeat = repeat; this.#args = args;
      this.#id = host.timer(f, this.#ms, repeat, args);
    }
    ref() { host.ref(this.#id, true); return this; }
    unref() { host.ref(this.#id, false); return this; }
    hasRef() { return host.ref(this.#id); }
    refresh() { host.clear(this.#id); this.#id = host.timer(this.#f, this.#ms, this.#repeat, this.#args); return this; }
    close() { host.clear(this.#id); return this; }
    [Symbol.toPrimitive]() { return this.#id; }
    [Symbol.dispose ?? Symbol.for("dispose")]() { host.clear(this.#id); }
    static id(t) { return typeof t === "object" && t !== null && #id in t ? t.#id : +t; }
  }
  const idOf = Timeout.id;
  delete Timeout.id;
  const clear = (t) => { if (t != null) host.clear(idOf(t)); };
  class Immediate {
    #id;
    constructor(f, args) { callable(f); this.#id = host.immediate(f, args); }
    ref() { return this; }
    unref() { return this; }
    [Symbol.toPrimitive]() { return this.#id; }
    static id(t) { return typeof t === "object" && t !== null && #id in t ? t.#id : NaN; }
  }
  const immediateID = Immediate.id;
  delete Immediate.id;
  define("setTimeout", function setTimeout(f, ms, ...args) { return new Timeout(f, ms, false, args); });
  define("setInterval", function setInterval(f, ms, ...args) { return new Timeout(f, ms, true, args); });
  define("setImmediate", function setImmediate(f, ...args) { return new Immediate(f, args); });
  define("clearTimeout", function clearTimeout(t) { clear(t); });
  define("clearInterval", function clearInterval(t) { clear(t); });
  define("clearImmediate", function clearImmediate(t) { if (t != null) host.clear(immediateID(t)); });
  const microtask = (f) => { promiseThen(resolved, () => { f(); }); };
  define("queueMicrotask", function queueMicrotask(f) { callable(f); microtask(f); });

  // --- globals that are loaded on first use ---
  lazy("process", ["process", "performance"]);
  lazy("buffer", ["Buffer", "atob", "btoa"]);
  lazy("url", ["URL", "URLSearchParams"]);
  lazy("crypto", ["crypto"]);
  lazy("web", ["TextEncoder", "TextDecoder", "structuredClone", "Event", "EventTarget", "CustomEvent", "AbortController",
    "AbortSignal", "DOMException"]);
  host.offline = (what) => {
    const e = new TypeError(`${what}: there is no network in this sandbox (egress is off); call the tools in ./servers, or ask for it: mcprun --network, or network: true for execute_code`);
    e.code = "ERR_NETWORK_DISABLED";
    return e;
  };
  lazy("fetch", ["Headers", "Request", "Response", "fetch"]);
  define("global", G);
  if (!Error.captureStackTrace) {
    defineProperty(Error, "captureStackTrace", {
      __proto__: null, writable: true, configurable: true, enumerable: false,
      value: function captureStackTrace(target) {
        const e = new Error();
        const header = `${target.name ?? "Error"}${target.message ? ": " + target.message : ""}`;
        defineProperty(target, "stack", { __proto__: null, writable: true, configurable: true, value: header + slice(e.stack, 5) });
      },
    });
  }
  if (!Array.fromAsync) {
    defineProperty(Array, "fromAsync", {
      __proto__: null, writable: true, configurable: true, enumerable: false,
      value: async function fromAsync(items, map) {
        const list = [];
        let i = 0;
        if (items[Symbol.asyncIterator] || items[Symbol.iterator]) {
          for await (const v of items) list.push(map ? await map(v, i++) : v);
        } else {
          for (; i < items.length; i++) { const v = await items[i]; list.push(map ? await map(v, i) : v); }
        }
        return list;
      },
    });
  }
  for (const name of ["dispose", "asyncDispose"]) {
    if (!Symbol[name]) defineProperty(Symbol, name, { __proto__: null, value: Symbol.for("Symbol." + name) });
  }

  // --- Node's modules ---
  const views = {
    __proto__: null,
    "fs/promises": (m) => m.promises, "path/posix": (m) => m.posix, "timers/promises": (m) => m.promises,
    perf_hooks: () => ({ performance: G.performance }), process: (m) => m.process,
  };
  const modules = { __proto__: null };
  const module = (given) => {
    const found = host.module(given), name = found[0];
    return modules[name] ??= views[name] ? views[name](host.load(found[1])) : host.load(found[1]);
  };
  define("require", function require(name) { return module(`${name}`); });
  // The bundler calls these for an import() or require() with a computed path.
  const seal = (name, value) => defineProperty(G, Symbol.for(name), { __proto__: null, value });
  seal("mcprun.import", function (specifier, from) {
    const name = `${specifier}`;
    if (host.builtin(name)) return import(name);
    const site = new Error(); // the engine does not keep lines while it waits for the host
    return promiseThen(host.import(name, `${from ?? ""}`), undefined, (e) => {
      if (e instanceof Error && e.code === "ERR_MODULE_NOT_FOUND" && e.stack === `Error: ${e.message}`) e.stack += slice(site.stack, 5);
      throw e;
    });
  });
  seal("mcprun.require", function (specifier, from) {
    const name = `${specifier}`;
    if (host.builtin(name)) return module(name);
    const found = G[Symbol.for("mcprun.bundled")]?.(name, `${from ?? ""}`);
    if (found !== undefined) return found;
    const e = new Error(`Cannot find module '${name}': require() needs a literal name; for a computed one, use await import(…)`);
    e.code = "MODULE_NOT_FOUND";
    throw e;
  });

  // --- JSON.stringify loses nothing: it writes a BigInt as its digits, and a Map or Set as its contents ---
  const { stringify } = JSON;
  const randomKey = () => { let key = ""; for (let i = 0; i < 4; i++) key += Math.random().toString(36); return key; };
  const isArray = Array.isArray, includes = uncurry(Array.prototype.includes);
  // A replacer gets the Map or Set itself, and may return another.
  const isCollection = (value) => value instanceof Map || value instanceof Set;
  const aware = (replacer) => typeof replacer !== "function" ? replacer : function (name, value) {
    const now = replacer.call(this, name, isCollection(this[name]) ? this[name] : value);
    return isCollection(now) ? now.toJSON() : now;
  };
  const writer = {
    stringify(value, replacer, space) {
      replacer = aware(replacer);
      try {
        return stringify(value, replacer, space);
      } catch (e) {
        if (!(e instanceof TypeError) || !/bigint/i.test(e.message)) throw e;
      }
      const key = randomKey();
      const allowed = isArray(replacer) ? replacer.map(String) : undefined;
      let top = true;
      const text = stringify(value, function (name, v) {
        if (allowed && !top && !isArray(this) && !includes(allowed, name)) return undefined;
        top = false;
        if (typeof replacer === "function") v = replacer.call(this, name, v);
        return typeof v === "bigint" ? key + v + key : v;
      }, space);
      return text === undefined ? text : replaceAll(replaceAll(text, `"${key}`, ""), `${key}"`, "");
    },
  };
  defineProperty(Map.prototype, "toJSON", { __proto__: null, value: function toJSON() {
    return [...this.keys()].some((key) => typeof key === "object") ? [...this] : Object.fromEntries(this);
  }, writable: true, configurable: true, enumerable: false });
  defineProperty(Set.prototype, "toJSON", { __proto__: null, value: function toJSON() { return [...this]; }, writable: true, configurable: true, enumerable: false });
  defineProperty(JSON, "stringify", { __proto__: null, value: writer.stringify, writable: true, configurable: true, enumerable: false });
  defineProperty(G, Symbol.for("mcprun.module"), { __proto__: null, value: freeze((name) => module(name)) });

  // --- functions that the event loop calls ---
  const ended = { __proto__: null };
  return {
    __proto__: null,
    inspect: (v) => inspect().inspect(v),
    // A script that never touched process has no listeners.
    uncaught: (event, value) => ended.uncaught ? ended.uncaught(event, value) : false,
    end: (code) => ended.end ? ended.end(code) : code,
    listen: host.listen = (hooks) => { ended.uncaught = hooks.uncaught; ended.end = hooks.end; },
    microtask: host.microtask = microtask,
    // Cancels a call when its signal is aborted. Returns a function that removes the listener, or undefined if the signal is
    // already aborted.
    watch: (signal, id) => {
      if (signal.aborted) return;
      const abort = () => host.cancel(id, signal.reason);
      signal.addEventListener("abort", abort, { once: true });
      return () => signal.removeEventListener("abort", abort);
    },
    // Returns the exports of a module after it has run.
    exports: (ran, id) => promiseThen(ran, () => host.exports(id)),
  };
})
