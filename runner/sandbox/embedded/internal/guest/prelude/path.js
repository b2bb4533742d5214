// node:path with POSIX paths, whatever the host's system is.
(function () {
  "use strict";
  const text = (s) => {
    if (typeof s === "string") return s;
    const e = new TypeError(`The "path" argument must be of type string. Received ${s === null ? "null" : typeof s}`);
    e.code = "ERR_INVALID_ARG_TYPE";
    throw e;
  };
  const squeeze = (s, absolute) => {
    const parts = [];
    for (const p of s.split("/")) {
      if (p === "" || p === ".") continue;
      if (p !== "..") parts.push(p);
      else if (parts.length && parts.at(-1) !== "..") parts.pop();
      else if (!absolute) parts.push(p);
    }
    return parts.join("/");
  };
  const isAbsolute = (s) => text(s).startsWith("/");
  const normalize = (s) => {
    if (text(s) === "") return ".";
    const absolute = isAbsolute(s);
    let r = squeeze(s, absolute);
    if (r === "" && !absolute) r = ".";
    if (r !== "" && s.endsWith("/")) r += "/";
    return absolute ? "/" + r : r;
  };
  const join = (...parts) => {
    const s = parts.map(text).filter((p) => p !== "").join("/");
    return s === "" ? "." : normalize(s);
  };
  const resolve = (...parts) => {
    let s = "";
    for (let i = parts.length - 1; i >= 0 && !s.startsWith("/"); i--) {
      if (text(parts[i]) !== "") s = parts[i] + (s === "" ? "" : "/" + s);
    }
    if (!s.startsWith("/")) s = "/workspace/" + s;
    return "/" + squeeze(s, true);
  };
  const trim = (s) => { while (s.length > 1 && s.endsWith("/")) s = s.slice(0, -1); return s; };
  const dirname = (s) => {
    s = trim(text(s));
    const i = s.lastIndexOf("/");
    return i < 0 ? "." : i === 0 ? "/" : trim(s.slice(0, i));
  };
  const basename = (s, suffix) => {
    s = trim(text(s));
    s = s === "/" ? "" : s.slice(s.lastIndexOf("/") + 1);
    return suffix !== undefined && s !== suffix && s.endsWith(suffix) ? s.slice(0, -suffix.length) : s;
  };
  const extname = (s) => {
    const base = basename(s), i = base.lastIndexOf(".");
    return i <= 0 || base === ".." ? "" : base.slice(i);
  };
  const relative = (from, to) => {
    const a = resolve(from).split("/").filter(Boolean), b = resolve(to).split("/").filter(Boolean);
    let i = 0;
    while (i < a.length && i < b.length && a[i] === b[i]) i++;
    return [...a.slice(i).map(() => ".."), ...b.slice(i)].join("/");
  };
  const parse = (s) => {
    const base = basename(s), ext = extname(s), root = isAbsolute(s) ? "/" : "";
    const dir = dirname(s);
    return { root, dir: dir === "." && !s.startsWith(".") ? "" : dir, base, ext, name: ext ? base.slice(0, -ext.length) : base };
  };
  const format = ({ root = "", dir, base, name = "", ext = "" }) => {
    const file = base ?? name + (ext && !ext.startsWith(".") ? "." : "") + ext;
    return !dir ? root + file : dir === root ? dir + file : dir + "/" + file;
  };
  const path = {
    sep: "/", delimiter: ":", basename, dirname, extname, format, isAbsolute, join, normalize, parse, relative, resolve,
    toNamespacedPath: (s) => s,
  };
  path.posix = path;
  return path;
})
