// node:events: EventEmitter and once.
(function () {
  "use strict";
  class EventEmitter {
    #listeners = new Map();
    on(event, f) { return this.#add(event, f, false); }
    addListener(event, f) { return this.#add(event, f, false); }
    once(event, f) { return this.#add(event, f, true); }
    prependListener(event, f) { return this.#add(event, f, false, true); }
    #add(event, f, once, first) {
      if (typeof f !== "function") throw new TypeError('The "listener" argument must be of type function');
      const list = this.#listeners.get(event) ?? [];
      if (first) list.unshift({ f, once }); else list.push({ f, once });
      this.#listeners.set(event, list);
      return this;
    }
    off(event, f) {
      const list = this.#listeners.get(event) ?? [];
      const i = list.findLastIndex((l) => l.f === f);
      if (i >= 0) this.#listeners.set(event, list.toSpliced(i, 1));
      return this;
    }
    removeListener(event, f) { return this.off(event, f); }
    removeAllListeners(event) { if (event === undefined) this.#listeners.clear(); else this.#listeners.delete(event); return this; }
    emit(event, ...args) {
      const list = this.#listeners.get(event) ?? [];
      if (list.length === 0 && event === "error") throw args[0] instanceof Error ? args[0] : new Error(`Unhandled error. (${args[0]})`);
      for (const { f, once } of [...list]) {
        if (once) this.off(event, f);
        f.apply(this, args);
      }
      return list.length > 0;
    }
    listenerCount(event) { return (this.#listeners.get(event) ?? []).length; }
    listeners(event) { return (this.#listeners.get(event) ?? []).map((l) => l.f); }
    eventNames() { return [...this.#listeners.keys()].filter((e) => this.listenerCount(e) > 0); }
    setMaxListeners() { return this; }
    getMaxListeners() { return 10; }
  }
  const once = (emitter, event) => new Promise((resolve, reject) => {
    const fail = (e) => { emitter.off(event, done); reject(e); };
    const done = (...args) => { emitter.off("error", fail); resolve(args); };
    emitter.once(event, done);
    if (event !== "error") emitter.once("error", fail);
  });
  EventEmitter.EventEmitter = EventEmitter;
  EventEmitter.once = once;
  EventEmitter.defaultMaxListeners = 10;
  return Object.assign(EventEmitter, { default: EventEmitter });
})
