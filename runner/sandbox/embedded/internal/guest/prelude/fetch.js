// fetch and its classes. The host makes the requests: the engine has no sockets. See network.go of package runner.
(function (host) {
  "use strict";
  const { request } = host.transport;
  const MAX_REDIRECTS = 20;
  const utf8 = (text) => new Uint8Array(host.encode(text, "utf8"));
  const bytesOf = (v) => (v instanceof ArrayBuffer ? new Uint8Array(v) : new Uint8Array(v.buffer, v.byteOffset, v.byteLength));

  class Headers {
    #map = new Map(); // by their names in lower case
    constructor(init) {
      if (init instanceof Headers || init?.[Symbol.iterator]) for (const [name, value] of init) this.append(name, value);
      else for (const name of Object.keys(init ?? {})) this.append(name, init[name]);
    }
    static #name(name) {
      name = String(name).toLowerCase();
      if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name)) throw new TypeError(`"${name}" is not a valid name of a header`);
      return name;
    }
    static #value(value) {
      value = String(value).replace(/^[\t\r\n ]+|[\t\r\n ]+$/g, "");
      if (/[\0\r\n]/.test(value)) throw new TypeError("a header has a line break");
      return value;
    }
    append(name, value) {
      name = Headers.#name(name);
      const had = this.#map.get(name);
      this.#map.set(name, had === undefined ? Headers.#value(value) : `${had}, ${Headers.#value(value)}`);
    }
    set(name, value) { this.#map.set(Headers.#name(name), Headers.#value(value)); }
    get(name) { return this.#map.get(Headers.#name(name)) ?? null; }
    has(name) { return this.#map.has(Headers.#name(name)); }
    delete(name) { this.#map.delete(Headers.#name(name)); }
    getSetCookie() { return this.has("set-cookie") ? [this.get("set-cookie")] : []; }
    forEach(f, self) { for (const [name, value] of this) f.call(self, value, name, this); }
    *entries() { for (const name of [...this.#map.keys()].sort()) yield [name, this.#map.get(name)]; }
    *keys() { for (const [name] of this) yield name; }
    *values() { for (const [, value] of this) yield value; }
    [Symbol.iterator]() { return this.entries(); }
  }

  /** Returns the bytes of a body, and the type that a request has if none is given. */
  const content = (body) => {
    if (body === undefined || body === null) return [new Uint8Array(0)];
    if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) return [bytesOf(body)];
    if (body instanceof URLSearchParams) return [utf8(String(body)), "application/x-www-form-urlencoded;charset=UTF-8"];
    return [utf8(String(body)), "text/plain;charset=UTF-8"];
  };

  class Body {
    #bytes; #used = false;
    constructor(bytes) { this.#bytes = bytes; }
    #take() {
      if (this.#used) throw new TypeError("Body is unusable: Body has already been read");
      this.#used = true;
      return this.#bytes;
    }
    static bytesOf(b) { return b.#bytes; }
    get bodyUsed() { return this.#used; }
    async bytes() { return this.#take().slice(); }
    async arrayBuffer() { return this.#take().slice().buffer; }
    async text() {
      const text = host.decode(this.#take(), "utf8");
      return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
    }
    async json() { return JSON.parse(await this.text()); }
  }
  const { bytesOf: bytesIn } = Body;
  delete Body.bytesOf;

  class Request extends Body {
    constructor(input, init = {}) {
      const from = input instanceof Request ? input : undefined;
      const [bytes, type] = init.body === undefined && from ? [bytesIn(from)] : content(init.body);
      super(bytes);
      this.url = from ? from.url : new URL(String(input)).href;
      this.method = String(init.method ?? from?.method ?? "GET").toUpperCase();
      this.headers = new Headers(init.headers ?? from?.headers);
      this.redirect = init.redirect ?? from?.redirect ?? "follow";
      this.signal = init.signal ?? from?.signal;
      if (bytes.length > 0 && /^(GET|HEAD)$/.test(this.method)) throw new TypeError("Request with GET/HEAD method cannot have body");
      if (type && !this.headers.has("content-type")) this.headers.set("content-type", type);
    }
    clone() { return new Request(this); }
  }

  class Response extends Body {
    constructor(body, { status = 200, statusText = "", headers } = {}) {
      const [bytes, type] = content(body);
      super(bytes);
      this.status = status;
      this.statusText = statusText;
      this.headers = new Headers(headers);
      this.url = "";
      this.redirected = false;
      this.type = "default";
      if (type && !this.headers.has("content-type")) this.headers.set("content-type", type);
    }
    get ok() { return this.status >= 200 && this.status < 300; }
    clone() {
      if (this.bodyUsed) throw new TypeError("Response.clone: Body has already been consumed.");
      return Object.assign(new Response(bytesIn(this), this), { url: this.url, redirected: this.redirected });
    }
    static json(value, init) {
      const headers = new Headers(init?.headers);
      if (!headers.has("content-type")) headers.set("content-type", "application/json");
      return new Response(JSON.stringify(value), { ...init, headers });
    }
    static error() { return Object.assign(new Response(), { status: 0, type: "error" }); }
  }

  /** Makes one request, without following a redirect. The error offline was made where fetch was called. */
  const once = async (url, method, headers, bytes, signal, offline) => {
    let answer;
    try {
      answer = await request("network/fetch", { url, method, headers: [...headers], body: host.decode(bytes, "base64") }, { signal });
    } catch (e) {
      if (/^unknown method/.test(e?.message)) throw offline;
      if (e?.kind === undefined) throw e; // the signal's reason
      throw Object.assign(new TypeError("fetch failed"), { cause: new Error(e.message) });
    }
    if (!answer) throw offline;
    const { status, statusText, headers: got, body } = answer;
    return Object.assign(new Response(new Uint8Array(host.encode(body ?? "", "base64")), { status, statusText, headers: got }), { url, type: "basic" });
  };

  async function fetch(input, init) {
    const offline = host.offline("fetch failed");
    const r = new Request(input, init);
    r.signal?.throwIfAborted();
    let { url, method } = r;
    let bytes = bytesIn(r);
    const headers = new Headers(r.headers);
    for (let redirects = 0; ; redirects++) {
      const response = await once(url, method, headers, bytes, r.signal, offline);
      const to = response.headers.get("location");
      if (![301, 302, 303, 307, 308].includes(response.status) || to === null || r.redirect === "manual") {
        response.redirected = redirects > 0;
        return response;
      }
      if (r.redirect === "error" || redirects === MAX_REDIRECTS) {
        throw Object.assign(new TypeError("fetch failed"), { cause: new Error(r.redirect === "error" ? "unexpected redirect" : "redirect count exceeded") });
      }
      const next = new URL(to, url);
      if (response.status === 303 && method !== "HEAD" || response.status < 303 && method === "POST") {
        method = "GET";
        bytes = new Uint8Array(0);
        for (const name of ["content-type", "content-length", "content-encoding", "content-language"]) headers.delete(name);
      }
      if (next.origin !== new URL(url).origin) for (const name of ["authorization", "cookie", "proxy-authorization"]) headers.delete(name);
      url = next.href;
    }
  }

  return { Headers, Request, Response, fetch };
})
