// node:fs and node:fs/promises over the host's file operations. All of them are synchronous: promises are settled when they are
// returned, except those of writing in chunks.
(function (host) {
  "use strict";
  const constants = { F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1, COPYFILE_EXCL: 1, O_RDONLY: 0, O_WRONLY: 1, O_RDWR: 2 };
  const pathOf = (p) => {
    if (typeof p === "string") return p;
    if (p instanceof URL) return host.load("url").fileURLToPath(p);
    if (p instanceof Uint8Array) return host.decode(p, "utf8");
    const e = new TypeError(`The "path" argument must be of type string or an instance of Buffer or URL. Received ${p === null ? "null" : typeof p}`);
    e.code = "ERR_INVALID_ARG_TYPE";
    throw e;
  };
  /** Returns where a file lies, or will lie: ./workspace may be the workspace itself. */
  const real = (path) => {
    const { resolve, dirname, basename } = host.load("path");
    for (let at = resolve(path), rest = ""; ; rest = join(basename(at), rest), at = dirname(at)) {
      try {
        return join(host.fileRealpath(at), rest);
      } catch (e) {
        if (at === dirname(at)) return resolve(path);
      }
    }
  };
  const encodingOf = (options) => (typeof options === "string" ? options : options?.encoding);
  const isUTF8 = (e) => /^utf-?8$/i.test(e);
  const dataOf = (data, options) => {
    const encoding = encodingOf(options);
    if (typeof data === "string") return encoding && !isUTF8(encoding) ? host.encode(data, encoding) : data;
    if (data instanceof ArrayBuffer) return data;
    if (ArrayBuffer.isView(data)) return data instanceof DataView ? data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength) : data;
    const e = new TypeError(`The "data" argument must be of type string or an instance of Buffer, TypedArray, or DataView. Received ${data === null ? "null" : typeof data}`);
    e.code = "ERR_INVALID_ARG_TYPE";
    throw e;
  };
  const bytesOf = (data) => (ArrayBuffer.isView(data) ? Buffer.from(data.buffer, data.byteOffset, data.byteLength) : Buffer.from(data));
  // Node's promises also accept iterables, such as the handle of a large text. They are written at once here.
  const pieces = async (data, options) => {
    if (data === null || typeof data !== "object" || data instanceof ArrayBuffer || ArrayBuffer.isView(data)) return data;
    if (typeof (data[Symbol.asyncIterator] ?? data[Symbol.iterator]) !== "function") return data;
    const all = [];
    for await (const piece of data) all.push(dataOf(piece, options));
    return all.every((piece) => typeof piece === "string") ? all.join("") : Buffer.concat(all.map(bytesOf));
  };
  class Dirent {
    #kind;
    constructor(name, kind, parent) { this.name = name; this.parentPath = parent; this.#kind = kind; }
    get path() { return this.parentPath; }
    isFile() { return this.#kind === "f"; }
    isDirectory() { return this.#kind === "d"; }
    isSymbolicLink() { return this.#kind === "l"; }
    isFIFO() { return false; } isSocket() { return false; } isBlockDevice() { return false; } isCharacterDevice() { return false; }
  }
  class Stats {
    #kind;
    constructor([kind, size, mtimeMs, mode]) {
      this.#kind = kind;
      Object.assign(this, { dev: 0, ino: 0, mode, nlink: 1, uid: 65534, gid: 65534, rdev: 0, size, blksize: 4096,
        blocks: Math.ceil(size / 512), atimeMs: mtimeMs, mtimeMs, ctimeMs: mtimeMs, birthtimeMs: mtimeMs });
      for (const t of ["atime", "mtime", "ctime", "birthtime"]) this[t] = new Date(mtimeMs);
    }
    isFile() { return this.#kind === "f"; }
    isDirectory() { return this.#kind === "d"; }
    isSymbolicLink() { return this.#kind === "l"; }
    isFIFO() { return false; } isSocket() { return false; } isBlockDevice() { return false; } isCharacterDevice() { return false; }
  }
  const join = (a, b) => (a.endsWith("/") ? a + b : a + "/" + b);

  const sync = {
    readFile(path, options) {
      const encoding = encodingOf(options);
      if (path === 0 || path === "/dev/stdin") {
        const b = host.stdin(true);
        return encoding ? host.decode(b, encoding) : Buffer.from(b);
      }
      path = pathOf(path);
      if (encoding && isUTF8(encoding)) return host.fileRead(path, true);
      const b = host.fileRead(path, false);
      return encoding && encoding !== "buffer" ? host.decode(b, encoding) : Buffer.from(b);
    },
    writeFile(path, data, options) { host.fileWrite(pathOf(path), dataOf(data, options), options?.flag ?? "w"); },
    appendFile(path, data, options) { host.fileWrite(pathOf(path), dataOf(data, options), options?.flag ?? "a"); },
    mkdir(path, options) {
      path = pathOf(path);
      return host.fileMkdir(path, options?.recursive === true) && options?.recursive ? path : undefined;
    },
    mkdtemp(prefix) {
      const path = pathOf(prefix) + host.decode(host.random(4), "hex").slice(0, 6);
      host.fileMkdir(path, false);
      return path;
    },
    readdir(path, options) {
      path = pathOf(path);
      const typed = options?.withFileTypes === true, found = [];
      const walk = (dir, prefix) => {
        const list = host.fileList(dir);
        for (let i = 0; i < list.length; i += 2) {
          found.push(typed ? new Dirent(list[i], list[i + 1], dir) : prefix + list[i]);
          if (options?.recursive && list[i + 1] === "d") walk(join(dir, list[i]), prefix + list[i] + "/");
        }
      };
      walk(path, "");
      return found;
    },
    stat(path, options) {
      try {
        return new Stats(host.fileStat(pathOf(path), true));
      } catch (e) {
        if (options?.throwIfNoEntry === false && e.code === "ENOENT") return undefined;
        throw e;
      }
    },
    lstat(path) { return new Stats(host.fileStat(pathOf(path), false)); },
    access(path, mode = 0) {
      host.fileStat(pathOf(path), true);
      if (mode & constants.W_OK) host.fileWritable(pathOf(path));
    },
    unlink(path) { host.fileRemove(pathOf(path), "file"); },
    rmdir(path, options) { host.fileRemove(pathOf(path), options?.recursive ? "all" : "dir"); },
    rm(path, options) {
      try {
        host.fileRemove(pathOf(path), options?.recursive ? "all" : "file");
      } catch (e) {
        if (!(options?.force && e.code === "ENOENT")) throw e;
      }
    },
    rename(from, to) { host.fileRename(pathOf(from), pathOf(to)); },
    copyFile(from, to, mode = 0) {
      if (pathOf(from) !== pathOf(to) && real(pathOf(from)) === real(pathOf(to))) {
        throw Object.assign(new Error(`EINVAL: ${from} and ${to} are one file, because ./workspace is the workspace itself`), { code: "EINVAL" });
      }
      host.fileWrite(pathOf(to), host.fileRead(pathOf(from), false), mode & constants.COPYFILE_EXCL ? "wx" : "w");
    },
    cp(from, to, options) {
      from = pathOf(from);
      to = pathOf(to);
      if (host.fileStat(from, true)[0] !== "d") return sync.copyFile(from, to);
      if (!options?.recursive) throw new Error(`cp: ${from} is a folder; use { recursive: true }`);
      if ((real(to) + "/").startsWith(real(from).replace(/\/*$/, "/"))) { // it would never end
        const e = new Error(`cp: cannot copy ${from} to a subdirectory of self ${to}`);
        e.code = "ERR_FS_CP_EINVAL";
        throw e;
      }
      host.fileMkdir(to, true);
      const list = host.fileList(from);
      for (let i = 0; i < list.length; i += 2) sync.cp(join(from, list[i]), join(to, list[i]), options);
    },
    realpath(path) { return host.fileRealpath(pathOf(path)); },
    truncate(path, size = 0) {
      const old = new Uint8Array(host.fileRead(pathOf(path), false)), b = new Uint8Array(size);
      b.set(old.subarray(0, size));
      host.fileWrite(pathOf(path), b, "r+");
      if (size < old.length) host.fileWrite(pathOf(path), b, "w");
    },
  };

  const promises = { constants };
  const fs = { constants, promises, Dirent, Stats };
  for (const [name, f] of Object.entries(sync)) {
    fs[name + "Sync"] = f;
    promises[name] = async (...args) => f(...args);
    fs[name] = (...args) => {
      const done = args.pop();
      if (typeof done !== "function") {
        const e = new TypeError(`The "cb" argument must be of type function; for promises use node:fs/promises`);
        e.code = "ERR_INVALID_ARG_TYPE";
        throw e;
      }
      promises[name](...args).then((v) => setImmediate(done, null, v), (e) => setImmediate(done, e));
    };
  }
  for (const name of ["writeFile", "appendFile"]) {
    promises[name] = async (path, data, options) => sync[name](path, await pieces(data, options), options);
  }
  fs.existsSync = (path) => {
    try {
      host.fileStat(pathOf(path), true);
      return true;
    } catch {
      return false;
    }
  };
  fs.exists = (path, done) => setImmediate(done, fs.existsSync(path));
  for (const name of ["createReadStream", "createWriteStream", "watch", "open", "openSync", "symlink", "symlinkSync", "link", "linkSync", "chmod", "chmodSync"]) {
    fs[name] = () => { throw new Error(`fs.${name}() is not available in the embedded sandbox; use readFile and writeFile, or --sandbox process or docker`); };
    promises[name] = async () => fs[name]();
  }
  return fs;
})
