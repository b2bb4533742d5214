// URL and URLSearchParams over the host's parser, and node:url.
(function (host) {
  "use strict";
  const form = (s) => encodeURIComponent(s.toWellFormed()).replace(/%20/g, "+").replace(/[!'()~]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase());
  const unform = (s) => {
    const bytes = [];
    s = s.replaceAll("+", " ");
    if (!s.includes("%")) return s;
    const raw = new Uint8Array(host.encode(s, "utf8"));
    for (let i = 0; i < raw.length; i++) {
      const n = raw[i] === 0x25 && i + 2 < raw.length ? parseInt(String.fromCharCode(raw[i + 1], raw[i + 2]), 16) : NaN;
      if (n >= 0 && /^[0-9a-f]{2}$/i.test(String.fromCharCode(raw[i + 1], raw[i + 2]))) { bytes.push(n); i += 2; } else bytes.push(raw[i]);
    }
    return host.decode(new Uint8Array(bytes), "utf8");
  };
  class URLSearchParams {
    #list = []; #changed = () => {};
    constructor(init = "") {
      if (typeof init === "object" && init !== null) {
        for (const [k, v] of init[Symbol.iterator] ? init : Object.entries(init)) this.#list.push([String(k), String(v)]);
      } else this.#parse(String(init));
    }
    #parse(s) {
      this.#list = [];
      for (const part of s.replace(/^\?/, "").split("&")) {
        if (part === "") continue;
        const i = part.indexOf("=");
        this.#list.push(i < 0 ? [unform(part), ""] : [unform(part.slice(0, i)), unform(part.slice(i + 1))]);
      }
    }
    static bind(p, query, changed) { p.#parse(query); p.#changed = changed; }
    get size() { return this.#list.length; }
    append(k, v) { this.#list.push([String(k), String(v)]); this.#changed(); }
    delete(k, v) { this.#list = this.#list.filter(([a, b]) => a !== String(k) || (v !== undefined && b !== String(v))); this.#changed(); }
    get(k) { return this.#list.find(([a]) => a === String(k))?.[1] ?? null; }
    getAll(k) { return this.#list.filter(([a]) => a === String(k)).map(([, b]) => b); }
    has(k, v) { return this.#list.some(([a, b]) => a === String(k) && (v === undefined || b === String(v))); }
    set(k, v) {
      const i = this.#list.findIndex(([a]) => a === String(k));
      if (i < 0) this.#list.push([String(k), String(v)]);
      else this.#list = this.#list.filter(([a], j) => a !== String(k) || j === i).map((e, j) => (j === i ? [e[0], String(v)] : e));
      this.#changed();
    }
    sort() { this.#list.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)); this.#changed(); }
    forEach(f, self) { for (const [k, v] of this.#list) f.call(self, v, k, this); }
    *entries() { for (const e of this.#list) yield [...e]; }
    *keys() { for (const [k] of this.#list) yield k; }
    *values() { for (const [, v] of this.#list) yield v; }
    [Symbol.iterator]() { return this.entries(); }
    toString() { return this.#list.map(([k, v]) => form(k) + "=" + form(v)).join("&"); }
    get [Symbol.toStringTag]() { return "URLSearchParams"; }
    [Symbol.for("nodejs.util.inspect.custom")](_, options, inspect) { return "URLSearchParams " + inspect(Object.fromEntries(this.#list), options); }
  }
  const bindParams = URLSearchParams.bind;
  delete URLSearchParams.bind;

  const invalid = (input) => {
    const e = new TypeError("Invalid URL");
    e.code = "ERR_INVALID_URL";
    e.input = input;
    return e;
  };
  class URL {
    #p; #params;
    constructor(input, base) {
      this.#p = host.url(String(input), base === undefined ? undefined : String(base));
      if (!this.#p) throw invalid(String(input));
    }
    static canParse(input, base) { return host.url(String(input), base === undefined ? undefined : String(base)) !== undefined; }
    static parse(input, base) { return URL.canParse(input, base) ? new URL(input, base) : null; }
    #set(part, v) {
      this.#p = host.setURL(this.href, part, String(v));
      if (this.#params && part !== "hash") bindParams(this.#params, this.search, () => this.#fromParams());
    }
    #fromParams() { this.#p = host.setURL(this.href, "search", this.#params.toString()); }
    get href() { return this.#p[0]; }
    set href(v) { const p = host.url(String(v)); if (!p) throw invalid(String(v)); this.#p = p; if (this.#params) bindParams(this.#params, this.search, () => this.#fromParams()); }
    get protocol() { return this.#p[1]; }
    set protocol(v) { this.#set("protocol", v); }
    get username() { return this.#p[2]; }
    set username(v) { this.#set("username", v); }
    get password() { return this.#p[3]; }
    set password(v) { this.#set("password", v); }
    get hostname() { return this.#p[4]; }
    set hostname(v) { this.#set("hostname", v); }
    get port() { return this.#p[5]; }
    set port(v) { this.#set("port", v); }
    get host() { return this.hostname + (this.port && ":" + this.port); }
    set host(v) { this.#set("host", v); }
    get origin() { return /^(https?|wss?|ftp):$/.test(this.protocol) ? this.protocol + "//" + this.host : "null"; }
    get pathname() { return this.#p[6]; }
    set pathname(v) { this.#set("pathname", v); }
    get search() { return this.#p[7]; }
    set search(v) { this.#set("search", v); }
    get hash() { return this.#p[8]; }
    set hash(v) { this.#set("hash", v); }
    get searchParams() {
      if (!this.#params) { this.#params = new URLSearchParams(); bindParams(this.#params, this.search, () => this.#fromParams()); }
      return this.#params;
    }
    toString() { return this.href; }
    toJSON() { return this.href; }
    get [Symbol.toStringTag]() { return "URL"; }
    [Symbol.for("nodejs.util.inspect.custom")](_, options, inspect) {
      const { href, origin, protocol, username, password, host, hostname, port, pathname, search, searchParams, hash } = this;
      return "URL " + inspect({ href, origin, protocol, username, password, host, hostname, port, pathname, search, searchParams, hash }, options);
    }
  }
  const fileURLToPath = (u) => {
    const url = u instanceof URL ? u : new URL(u);
    if (url.protocol !== "file:") throw new TypeError("The URL must be of scheme file");
    return decodeURIComponent(url.pathname);
  };
  const pathToFileURL = (p) => new URL("file://" + host.load("path").resolve(p).split("/").map(encodeURIComponent).join("/"));
  return { URL, URLSearchParams, fileURLToPath, pathToFileURL };
})
