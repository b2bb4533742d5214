// Small parts of the web platform that are globals in Node.
(function (host) {
  "use strict";
  class TextEncoder {
    get encoding() { return "utf-8"; }
    encode(text = "") { return new Uint8Array(host.encode(String(text), "utf8")); }
    encodeInto(text, target) {
      const b = new Uint8Array(host.encode(String(text), "utf8"));
      const n = b.length <= target.length ? b.length : host.utf8Prefix(b.subarray(0, target.length));
      target.set(b.subarray(0, n));
      return { read: host.decode(b.subarray(0, n), "utf8").length, written: n };
    }
  }
  const labels = { __proto__: null, "utf-8": "utf-8", utf8: "utf-8", "utf-16le": "utf-16le", utf16le: "utf-16le", "utf-16": "utf-16le",
    latin1: "windows-1252", "iso-8859-1": "windows-1252", ascii: "windows-1252", "us-ascii": "windows-1252", "windows-1252": "windows-1252" };
  class TextDecoder {
    #encoding; #rest = new Uint8Array(0); #started = false;
    constructor(label = "utf-8", options) {
      this.#encoding = labels[String(label).trim().toLowerCase()];
      if (!this.#encoding) throw new RangeError(`The "${label}" encoding is not supported`);
      this.fatal = Boolean(options?.fatal);
      this.ignoreBOM = Boolean(options?.ignoreBOM);
    }
    get encoding() { return this.#encoding; }
    decode(input = new Uint8Array(0), options) {
      const view = input instanceof ArrayBuffer ? new Uint8Array(input) : new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
      let b = view;
      if (this.#rest.length) { b = new Uint8Array(this.#rest.length + view.length); b.set(this.#rest); b.set(view, this.#rest.length); }
      this.#rest = new Uint8Array(0);
      if (options?.stream) {
        const n = this.#encoding === "utf-8" ? host.utf8Prefix(b) : this.#encoding === "utf-16le" ? b.length & ~1 : b.length;
        this.#rest = b.slice(n);
        b = b.subarray(0, n);
      }
      if (this.fatal && this.#encoding === "utf-8" && !host.validUTF8(b)) {
        const e = new TypeError(`The encoded data was not valid for encoding ${this.#encoding}`);
        e.code = "ERR_ENCODING_INVALID_ENCODED_DATA";
        throw e;
      }
      let text = host.decode(b, { "utf-8": "utf8", "utf-16le": "utf16le", "windows-1252": "latin1" }[this.#encoding]);
      if (!this.#started && !this.ignoreBOM && text.charCodeAt(0) === 0xfeff) text = text.slice(1);
      this.#started = options?.stream ? this.#started || b.length > 0 : false;
      return text;
    }
  }

  class DOMException extends Error {
    #name;
    constructor(message = "", options = "Error") {
      super(message, typeof options === "object" ? options : undefined);
      this.#name = typeof options === "string" ? options : options.name ?? "Error";
    }
    get name() { return this.#name; }
    get code() { return { AbortError: 20, DataCloneError: 25, TimeoutError: 23, InvalidCharacterError: 5, QuotaExceededError: 22, TypeMismatchError: 17 }[this.#name] ?? 0; }
  }

  class Event {
    constructor(type, options) { this.type = String(type); this.cancelable = Boolean(options?.cancelable); this.defaultPrevented = false; this.timeStamp = host.now(); this.target = null; }
    preventDefault() { if (this.cancelable) this.defaultPrevented = true; }
    stopImmediatePropagation() { this.stopped = true; }
    stopPropagation() {}
  }
  class CustomEvent extends Event {
    constructor(type, options) { super(type, options); this.detail = options?.detail ?? null; }
  }
  class EventTarget {
    #listeners = new Map();
    addEventListener(type, f, options) {
      if (f == null) return;
      const list = this.#listeners.get(type) ?? [];
      if (!list.some((l) => l.f === f)) this.#listeners.set(type, [...list, { f, once: Boolean(options?.once) }]);
    }
    removeEventListener(type, f) { this.#listeners.set(type, (this.#listeners.get(type) ?? []).filter((l) => l.f !== f)); }
    dispatchEvent(event) {
      event.target = this;
      const handler = this["on" + event.type];
      if (typeof handler === "function") handler.call(this, event);
      for (const { f, once } of this.#listeners.get(event.type) ?? []) {
        if (once) this.removeEventListener(event.type, f);
        if (typeof f === "function") f.call(this, event); else f.handleEvent(event);
        if (event.stopped) break;
      }
      return !event.defaultPrevented;
    }
  }

  let make; // only a controller or a static method creates a signal
  class AbortSignal extends EventTarget {
    static { make = () => new AbortSignal(make); }
    #aborted = false; #reason;
    constructor(key) { super(); if (key !== make) throw new TypeError("Illegal constructor"); this.onabort = null; }
    get aborted() { return this.#aborted; }
    get reason() { return this.#reason; }
    throwIfAborted() { if (this.#aborted) throw this.#reason; }
    static abort(reason) { const s = make(); trigger(s, reason); return s; }
    static timeout(ms) {
      const s = make();
      setTimeout(() => trigger(s, new DOMException("The operation was aborted due to timeout", "TimeoutError")), ms).unref();
      return s;
    }
    static any(signals) {
      const s = make();
      for (const other of signals) {
        if (other.aborted) { trigger(s, other.reason); break; }
        other.addEventListener("abort", () => trigger(s, other.reason), { once: true });
      }
      return s;
    }
    static trigger(s, reason) {
      if (s.#aborted) return;
      s.#aborted = true;
      s.#reason = reason === undefined ? new DOMException("This operation was aborted", "AbortError") : reason;
      s.dispatchEvent(new Event("abort"));
    }
  }
  const trigger = AbortSignal.trigger;
  delete AbortSignal.trigger;
  class AbortController {
    #signal = make();
    get signal() { return this.#signal; }
    abort(reason) { trigger(this.#signal, reason); }
  }

  const errors = { __proto__: null, Error, TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError };
  const structuredClone = (value) => {
    const seen = new Map();
    const refuse = (v) => { throw new DOMException(`${typeof v === "symbol" ? String(v) : typeof v === "function" ? String(v) : "#<" + (v.constructor?.name ?? "Object") + ">"} could not be cloned.`, "DataCloneError"); };
    const clone = (v) => {
      if (typeof v === "function" || typeof v === "symbol") refuse(v);
      if (typeof v !== "object" || v === null) return v;
      if (seen.has(v)) return seen.get(v);
      const keep = (c) => { seen.set(v, c); return c; };
      if (Array.isArray(v)) { const c = keep(new Array(v.length)); for (const k of Object.keys(v)) c[k] = clone(v[k]); return c; }
      if (v instanceof Date) return keep(new Date(v));
      if (v instanceof RegExp) return keep(new RegExp(v.source, v.flags));
      if (v instanceof Map) { const c = keep(new Map()); for (const [k, x] of v) c.set(clone(k), clone(x)); return c; }
      if (v instanceof Set) { const c = keep(new Set()); for (const x of v) c.add(clone(x)); return c; }
      if (v instanceof ArrayBuffer) return keep(v.slice(0));
      if (v instanceof DataView) return keep(new DataView(clone(v.buffer), v.byteOffset, v.byteLength));
      if (ArrayBuffer.isView(v)) { const T = Object.getPrototypeOf(Uint8Array.prototype)[Symbol.toStringTag] ?? v[Symbol.toStringTag]; return keep(new globalThis[T ?? v[Symbol.toStringTag]](clone(v.buffer), v.byteOffset, v.length)); }
      if (v instanceof Number || v instanceof String || v instanceof Boolean) return keep(Object(v.valueOf()));
      if (v instanceof Error) {
        const c = keep(new (errors[v.name] ?? Error)(v.message));
        Object.defineProperty(c, "stack", { value: v.stack, writable: true, configurable: true });
        if ("cause" in v) c.cause = clone(v.cause);
        return c;
      }
      if (v instanceof Promise || v instanceof WeakMap || v instanceof WeakSet || v instanceof WeakRef) refuse(v);
      const c = keep({});
      for (const k of Object.keys(v)) c[k] = clone(v[k]);
      return c;
    };
    return clone(value);
  };
  return { TextEncoder, TextDecoder, DOMException, Event, CustomEvent, EventTarget, AbortSignal, AbortController, structuredClone };
})
