// Buffer, atob and btoa. A Buffer is a Uint8Array with Node's conversions.
(function (host) {
  "use strict";
  class Buffer extends Uint8Array {
    static from(value, encoding, length) {
      if (typeof value === "string") return new Buffer(host.encode(value, encoding ?? "utf8"));
      if (value instanceof ArrayBuffer) return new Buffer(value, encoding, length);
      if (value?.type === "Buffer" && Array.isArray(value.data)) value = value.data;
      if (value === null || typeof value !== "object") {
        const e = new TypeError(`The first argument must be of type string or an instance of Buffer, ArrayBuffer, or Array or an Array-like Object. Received ${value === null ? "null" : typeof value}`);
        e.code = "ERR_INVALID_ARG_TYPE";
        throw e;
      }
      const b = new Buffer(value.length);
      b.set(value);
      return b;
    }
    static of(...items) { return Buffer.from(items); }
    static alloc(size, fill, encoding) { const b = new Buffer(size); return fill === undefined ? b : b.fill(fill, 0, size, encoding); }
    static allocUnsafe(size) { return new Buffer(size); }
    static isBuffer(v) { return v instanceof Buffer; }
    static isEncoding(e) { return /^(utf-?8|hex|base64(url)?|latin1|binary|ascii|ucs-?2|utf-?16le)$/i.test(e); }
    static byteLength(v, encoding) { return typeof v === "string" ? host.encode(v, encoding ?? "utf8").byteLength : v.byteLength; }
    static concat(list, total = list.reduce((n, b) => n + b.length, 0)) {
      const all = new Buffer(total);
      let at = 0;
      for (const b of list) {
        const part = b.length > total - at ? b.subarray(0, total - at) : b;
        all.set(part, at);
        at += part.length;
      }
      return all;
    }
    static compare(a, b) {
      for (let i = 0; i < a.length && i < b.length; i++) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
      return Math.sign(a.length - b.length);
    }
    toString(encoding, start = 0, end = this.length) {
      return host.decode(start === 0 && end === this.length ? this : this.subarray(start, end), encoding ?? "utf8");
    }
    toJSON() { return { type: "Buffer", data: [...this] }; }
    equals(b) { return Buffer.compare(this, b) === 0; }
    compare(b) { return Buffer.compare(this, b); }
    slice(start, end) { return this.subarray(start, end); }
    write(text, offset = 0, length, encoding) {
      if (typeof offset === "string") [offset, encoding] = [0, offset];
      if (typeof length === "string") [length, encoding] = [undefined, length];
      const b = new Uint8Array(host.encode(text, encoding ?? "utf8")).subarray(0, Math.min(length ?? Infinity, this.length - offset));
      this.set(b, offset);
      return b.length;
    }
    fill(value, start = 0, end = this.length, encoding = "utf8") {
      if (typeof start === "string") [start, end, encoding] = [0, this.length, start];
      if (typeof value !== "string" && !(value instanceof Uint8Array)) return super.fill(value, start, end);
      const b = typeof value === "string" ? new Uint8Array(host.encode(value, encoding)) : value;
      for (let i = start; b.length && i < end; i++) this[i] = b[(i - start) % b.length];
      return b.length ? this : super.fill(0, start, end);
    }
    copy(target, at = 0, start = 0, end = this.length) {
      const part = this.subarray(start, Math.min(end, start + target.length - at));
      target.set(part, at);
      return part.length;
    }
    indexOf(value, from = 0, encoding) {
      if (typeof value === "number") return super.indexOf(value, from);
      const b = typeof value === "string" ? Buffer.from(value, encoding) : value;
      outer: for (let i = from; i <= this.length - b.length; i++) {
        for (let j = 0; j < b.length; j++) if (this[i + j] !== b[j]) continue outer;
        return i;
      }
      return -1;
    }
    includes(value, from, encoding) { return this.indexOf(value, from, encoding) >= 0; }
  }
  // DataView's accessors under Node's names.
  const kinds = { UInt8: ["Uint8", 1], Int8: ["Int8", 1], UInt16: ["Uint16", 2], Int16: ["Int16", 2], UInt32: ["Uint32", 4], Int32: ["Int32", 4],
    Float: ["Float32", 4], Double: ["Float64", 8], BigUInt64: ["BigUint64", 8], BigInt64: ["BigInt64", 8] };
  const method = (name, value) => Object.defineProperty(Buffer.prototype, name, { __proto__: null, value, writable: true, configurable: true });
  for (const [name, [kind, size]] of Object.entries(kinds)) {
    for (const order of size === 1 ? [""] : ["LE", "BE"]) {
      method("read" + name + order, function (at = 0) { return new DataView(this.buffer, this.byteOffset, this.byteLength)["get" + kind](at, order === "LE"); });
      method("write" + name + order, function (v, at = 0) { new DataView(this.buffer, this.byteOffset, this.byteLength)["set" + kind](at, v, order === "LE"); return at + size; });
    }
  }
  const invalid = (what) => new (host.load("web").DOMException)(what, "InvalidCharacterError");
  const btoa = (text) => {
    text = String(text);
    for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 255) throw invalid("Invalid character");
    return host.decode(host.encode(text, "latin1"), "base64");
  };
  const atob = (text) => {
    const s = String(text).replace(/[\t\n\f\r ]/g, "").replace(/={1,2}$/, (p, at) => ((at + p.length) % 4 === 0 ? "" : p));
    if (s.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(s)) throw invalid("The string to be decoded is not correctly encoded.");
    return host.decode(host.encode(s, "base64"), "latin1");
  };
  return { Buffer, atob, btoa, constants: { MAX_LENGTH: 2 ** 31 - 1 } };
})
