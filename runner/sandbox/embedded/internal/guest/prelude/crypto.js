// node:crypto: random values and hashes, without ciphers and keys.
(function (host) {
  "use strict";
  const hex = (b) => host.decode(b, "hex");
  const randomUUID = () => {
    const b = new Uint8Array(host.random(16));
    b[6] = (b[6] & 0x0f) | 0x40;
    b[8] = (b[8] & 0x3f) | 0x80;
    const s = hex(b);
    return `${s.slice(0, 8)}-${s.slice(8, 12)}-${s.slice(12, 16)}-${s.slice(16, 20)}-${s.slice(20)}`;
  };
  const getRandomValues = (view) => {
    if (!ArrayBuffer.isView(view) || view instanceof Float32Array || view instanceof Float64Array || view instanceof DataView) {
      throw new DOMException("The data argument must be an integer-type TypedArray", "TypeMismatchError");
    }
    if (view.byteLength > 65536) throw new DOMException(`The requested length exceeds 65,536 bytes`, "QuotaExceededError");
    new Uint8Array(view.buffer, view.byteOffset, view.byteLength).set(new Uint8Array(host.random(view.byteLength)));
    return view;
  };
  const randomBytes = (n, done) => {
    const b = Buffer.from(host.random(n));
    if (done) setImmediate(done, null, b);
    return b;
  };
  const randomInt = (min, max, done) => {
    if (max === undefined || typeof max === "function") [min, max, done] = [0, min, max];
    if (!(max > min && max - min <= 2 ** 48 - 1)) throw new RangeError(`The value of "max" is out of range`);
    const range = max - min, limit = 2 ** 48 - (2 ** 48 % range);
    let n;
    do {
      n = new Uint8Array(host.random(6)).reduce((sum, b) => sum * 256 + b, 0);
    } while (n >= limit);
    n = min + (n % range);
    if (typeof done === "function") setImmediate(done, null, n);
    return n;
  };
  class Hash {
    #algorithm; #key; #chunks = []; #done = false;
    constructor(algorithm, key) {
      this.#algorithm = algorithm;
      this.#key = key;
      if (host.hash(algorithm, "") === undefined) throw new Error(`Digest method not supported: ${algorithm}`);
    }
    update(data, encoding) {
      if (this.#done) throw new Error("Digest already called");
      this.#chunks.push(typeof data === "string" ? Buffer.from(data, encoding) : Buffer.from(data));
      return this;
    }
    digest(encoding) {
      if (this.#done) throw new Error("Digest already called");
      this.#done = true;
      const sum = Buffer.from(host.hash(this.#algorithm, Buffer.concat(this.#chunks), this.#key));
      return encoding && encoding !== "buffer" ? sum.toString(encoding) : sum;
    }
  }
  const createHash = (algorithm) => new Hash(algorithm);
  const createHmac = (algorithm, key) => new Hash(algorithm, typeof key === "string" ? key : Buffer.from(key));
  const subtle = {
    async digest(algorithm, data) {
      const sum = host.hash(algorithm?.name ?? algorithm, data instanceof ArrayBuffer ? data : Buffer.from(data.buffer, data.byteOffset, data.byteLength));
      if (sum === undefined) throw new DOMException("Unrecognized algorithm name", "NotSupportedError");
      return sum;
    },
  };
  const crypto = { getRandomValues, randomUUID, subtle };
  return {
    crypto, webcrypto: crypto, subtle, randomUUID, getRandomValues, randomBytes, randomInt, createHash, createHmac,
    hash: (algorithm, data, encoding = "hex") => new Hash(algorithm).update(data).digest(encoding),
    timingSafeEqual(a, b) {
      if (a.byteLength !== b.byteLength) throw new RangeError("Input buffers must have the same byte length");
      let d = 0;
      for (let i = 0; i < a.length; i++) d |= a[i] ^ b[i];
      return d === 0;
    },
  };
})
