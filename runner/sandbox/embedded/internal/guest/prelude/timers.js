// node:timers and node:timers/promises.
(function () {
  "use strict";
  const aborted = (signal) => {
    const e = new Error("The operation was aborted", { cause: signal.reason });
    e.name = "AbortError";
    e.code = "ABORT_ERR";
    return e;
  };
  const later = (start, stop) => (...args) => new Promise((resolve, reject) => {
    const value = args.at(-2), signal = args.at(-1)?.signal;
    if (signal?.aborted) return reject(aborted(signal));
    const t = start(() => resolve(value), ...args.slice(0, -2));
    signal?.addEventListener("abort", () => { stop(t); reject(aborted(signal)); }, { once: true });
  });
  const { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate } = globalThis;
  const timeout = later(setTimeout, clearTimeout), immediate = later(setImmediate, clearImmediate);
  const promises = {
    setTimeout: (ms, value, options) => timeout(ms, value, options),
    setImmediate: (value, options) => immediate(value, options),
    async *setInterval(ms, value, options) {
      for (;;) yield await timeout(ms, value, options);
    },
    scheduler: { wait: (ms, options) => timeout(ms, undefined, options), yield: () => immediate(undefined, undefined) },
  };
  return { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate, promises };
})
