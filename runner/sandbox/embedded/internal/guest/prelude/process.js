// process and performance.
(function (host) {
  "use strict";
  const { EventEmitter } = host.load("events");
  const job = host.job();
  const exitCodeOf = (v) => (v === undefined || v === null ? undefined : Number(v) | 0);
  const emitter = new EventEmitter();
  let exitCode, exiting = false;
  const toBytes = (chunk, encoding) =>
    typeof chunk === "string" ? (encoding && !/^utf-?8$/i.test(encoding) ? host.encode(chunk, encoding) : chunk) : chunk;
  const stream = (fd) => ({
    fd, isTTY: false, writable: true, columns: 80,
    write(chunk, encoding, done) {
      host.write(fd, toBytes(chunk, typeof encoding === "string" ? encoding : undefined));
      const f = typeof encoding === "function" ? encoding : done;
      if (f) host.microtask(f);
      return true;
    },
    end(chunk) { if (chunk !== undefined) this.write(chunk); return this; },
    on() { return this; }, once() { return this; }, off() { return this; }, emit() { return false; },
    cork() {}, uncork() {}, getColorDepth: () => 1, hasColors: () => false,
  });
  const stdin = Object.assign(new EventEmitter(), {
    fd: 0, isTTY: false, readable: true,
    setEncoding(e) { this.encoding = e; return this; },
    resume() { flow(); return this; }, pause() { return this; }, unref() { return this; }, ref() { return this; },
    async *[Symbol.asyncIterator]() {
      const decoder = stdin.encoding ? new TextDecoder(stdin.encoding) : undefined;
      for (let b; (b = await host.stdin(false)) !== null;) yield decoder ? decoder.decode(b, { stream: true }) : Buffer.from(b);
    },
  });
  let flowing = false;
  const flow = async () => {
    if (flowing) return;
    flowing = true;
    for await (const chunk of stdin) stdin.emit("data", chunk);
    stdin.emit("end");
    stdin.emit("close");
  };
  const on = stdin.on;
  stdin.on = stdin.addListener = function (event, f) {
    on.call(stdin, event, f);
    if (event === "data" || event === "end") flow();
    return stdin;
  };
  const hrtime = (before) => {
    const ns = BigInt(Math.round(host.now() * 1e6));
    let s = Number(ns / 1000000000n), n = Number(ns % 1000000000n);
    if (before) { s -= before[0]; n -= before[1]; if (n < 0) { s--; n += 1e9; } }
    return [s, n];
  };
  hrtime.bigint = () => BigInt(Math.round(host.now() * 1e6));

  const process = Object.assign(emitter, {
    argv: ["node", "/workspace/" + job[0], ...job.slice(1)], argv0: "node", execArgv: [], execPath: "/usr/bin/node",
    title: "mcprun", env: { ...host.env }, pid: 1, ppid: 0, platform: "linux", arch: "x64",
    version: "v22.0.0", versions: { node: "22.0.0", quickjs: "2026-06-04" }, release: { name: "node" },
    stdin, stdout: stream(1), stderr: stream(2),
    cwd: () => "/workspace",
    chdir() { throw new Error("process.chdir() is not available in this sandbox"); },
    exit(code) {
      if (code !== undefined) exitCode = exitCodeOf(code);
      if (!exiting) { exiting = true; emitter.emit("exit", exitCode ?? 0); }
      host.exit(exitCode ?? 0);
    },
    abort() { host.exit(134); },
    nextTick(f, ...args) { host.microtask(() => f(...args)); },
    hrtime, uptime: () => host.now() / 1000,
    memoryUsage: Object.assign(() => { const n = host.memory(); return { rss: n, heapTotal: n, heapUsed: n, external: 0, arrayBuffers: 0 }; }, { rss: () => host.memory() }),
    cpuUsage: () => ({ user: Math.round(host.now() * 1000), system: 0 }),
    emitWarning(w) { console.error(`(mcprun) Warning: ${w?.message ?? w}`); },
    umask: () => 0o22, getuid: () => 65534, getgid: () => 65534, kill() { throw new Error("process.kill() is not available in this sandbox"); },
  });
  Object.defineProperty(process, "exitCode", {
    __proto__: null, enumerable: true, configurable: true, get: () => exitCode, set(v) { exitCode = exitCodeOf(v); },
  });
  Object.defineProperty(process, Symbol.toStringTag, { __proto__: null, value: "process", configurable: true });
  host.listen({
    uncaught(event, value) {
      const name = event === "unhandledRejection" && emitter.listenerCount(event) > 0 ? event : "uncaughtException";
      if (emitter.listenerCount(name) === 0) return false;
      emitter.emit(name, value, event);
      return true;
    },
    end(code) {
      exitCode ??= code;
      if (!exiting) { exiting = true; emitter.emit("exit", exitCode); }
      return code !== 0 ? code : exitCode;
    },
  });

  const marks = new Map(), origin = Date.now() - host.now();
  const performance = {
    timeOrigin: origin, now: () => host.now(),
    mark(name) { marks.set(name, host.now()); return { name, entryType: "mark", startTime: marks.get(name), duration: 0 }; },
    measure(name, from, to) {
      const start = marks.get(from) ?? 0, end = marks.get(to) ?? host.now();
      return { name, entryType: "measure", startTime: start, duration: end - start };
    },
    clearMarks() { marks.clear(); }, clearMeasures() {}, getEntries: () => [], getEntriesByName: () => [], getEntriesByType: () => [],
    toJSON: () => ({ timeOrigin: origin }),
  };
  return { process, performance };
})
