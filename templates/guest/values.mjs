// Values of calls that are more than plain JSON: content that can be saved, a large result in a file, the placeholder of a
// skipped call in a dry run, and integers too large for a number. All TypeScript guests use this file; io is what differs
// between them:
//
//   readText(path)         the text of a file
//   writeFile(path, data)  writes text or bytes into the workspace, makes missing folders, returns the absolute path,
//                          throws when the path leads out of the workspace
//   bytesOf(base64), textBytes(text)   Uint8Array
//   request(method, params)            asks the host
//   inspect                the symbol of the method that console.log uses, or undefined
export function values(io) {
  const mark = `mcprun:${Math.random().toString(36).slice(2)}:`;
  const SHOWN = 200;
  const count = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

  // ---- integers that no number holds ----

  /** JSON.parse, with integers beyond the safe ones as BigInt. */
  function parse(text) {
    if (!/\d{16}/.test(text)) return JSON.parse(text);
    const marked = markIntegers(text);
    return marked === text ? JSON.parse(text) : revive(JSON.parse(marked));
  }

  /** Turns such integers into strings that begin with the mark. Looks only between strings. */
  function markIntegers(text) {
    let out = "";
    let from = 0;
    for (let at = 0; at < text.length; ) {
      let quote = text.indexOf('"', at);
      if (quote < 0) quote = text.length;
      const between = text.slice(at, quote);
      if (/\d{16}/.test(between)) {
        out += text.slice(from, at) + between.replace(/-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g, (n) =>
          n.length < 16 || /[.eE]/.test(n) || Number.isSafeInteger(Number(n)) ? n : `"${mark}${n}"`);
        from = quote;
      }
      at = endOfString(text, quote);
    }
    return out + text.slice(from);
  }

  function endOfString(text, quote) {
    for (let end = quote; ; ) {
      end = text.indexOf('"', end + 1);
      if (end < 0) return text.length;
      let slashes = 0;
      while (text[end - 1 - slashes] === "\\") slashes++;
      if (slashes % 2 === 0) return end + 1;
    }
  }

  function revive(value) {
    if (typeof value === "string") return value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value;
    if (value !== null && typeof value === "object") {
      for (const name of Object.keys(value)) {
        const old = value[name];
        const now = revive(old);
        if (now !== old) Object.defineProperty(value, name, { value: now, writable: true, enumerable: true, configurable: true });
      }
    }
    return value;
  }

  /**
   * Makes JSON.stringify write a BigInt as its digits instead of throwing, so that what was read exactly can be written, and a Map and
   * a Set as what they hold instead of {}.
   */
  function extendJSON() {
    const define = (object, name, value) => Object.defineProperty(object, name, { value, writable: true, configurable: true });
    define(Map.prototype, "toJSON", function toJSON() {
      return [...this.keys()].some((key) => typeof key === "object") ? [...this] : Object.fromEntries(this);
    });
    define(Set.prototype, "toJSON", function toJSON() {
      return [...this];
    });
    const plain = JSON.stringify;
    // A replacer gets the BigInt, Map or Set itself, and may return one.
    const isExtended = (value) => typeof value === "bigint" || value instanceof Map || value instanceof Set;
    const aware = (replacer) => typeof replacer !== "function" ? replacer : function (name, value) {
      const now = replacer.call(this, name, isExtended(this[name]) ? this[name] : value);
      return isExtended(now) ? now.toJSON() : now;
    };
    if (JSON.rawJSON) {
      define(BigInt.prototype, "toJSON", function toJSON() {
        return JSON.rawJSON(this.toString());
      });
      define(JSON, "stringify", function stringify(value, replacer, space) {
        return plain(value, aware(replacer), space);
      });
      return;
    }
    const marked = new RegExp(`"${mark}(-?\\d+)"`, "g");
    let found = false;
    define(BigInt.prototype, "toJSON", function toJSON() {
      found = true;
      return mark + this.toString();
    });
    define(JSON, "stringify", function stringify(value, replacer, space) {
      found = false;
      const text = plain(value, aware(replacer), space);
      return found && text !== undefined ? text.replace(marked, "$1") : text;
    });
  }

  // ---- content ----

  const handles = new WeakSet();
  const readers = new WeakMap(); // content → what reads a resource at the server it came from

  /** The members of a block as console.log shows them: without long data. */
  function shown(block) {
    const plain = {};
    for (const [name, value] of Object.entries(block)) {
      const long = (name === "data" || name === "blob") && typeof value === "string" && value.length > SHOWN;
      plain[name] = long ? `<${count(Math.floor((value.length * 3) / 4))} bytes: bytes(), save(path)>` : value;
    }
    return plain;
  }

  /** Returns a text, which may be stored in a file. */
  const whole = (value) => (handles.has(value) ? value.text() : value);

  class Content {
    /** The data, decoded; of text its UTF-8. */
    bytes() {
      for (const name of ["data", "blob"]) {
        const held = whole(this[name]);
        if (typeof held !== "string") continue;
        const data = held.replace(/\s/g, "");
        if (!/^[A-Za-z0-9+/]*={0,2}$/.test(data)) throw new TypeError(`the content's ${name} is not base64`);
        return io.bytesOf(data);
      }
      const text = whole(this.text);
      if (typeof text === "string") return io.textBytes(text);
      throw new TypeError(`this content holds no data; it has ${Object.keys(this).join(", ")}`);
    }

    /** Writes the data to a file of the workspace, and returns the file's path. Missing folders are made. */
    save(path) {
      return io.writeFile(path, this.bytes());
    }
  }
  class TextContent extends Content {}
  class ImageContent extends Content {}
  class AudioContent extends Content {}
  class ResourceContents extends Content {}
  class EmbeddedResource extends Content {
    bytes() {
      return Content.prototype.bytes.call(this.resource ?? {});
    }
  }
  class ResourceLink extends Content {
    async bytes() {
      return (await readers.get(this)(this.uri)).bytes();
    }

    async save(path) {
      return io.writeFile(path, await this.bytes());
    }
  }
  const kinds = { __proto__: null, text: TextContent, image: ImageContent, audio: AudioContent, resource: EmbeddedResource, resource_link: ResourceLink };
  if (io.inspect) {
    Object.defineProperty(Content.prototype, io.inspect, {
      value(depth, options, inspect) {
        return `${this.constructor.name} ${inspect ? inspect(shown(this), options) : JSON.stringify(shown(this))}`;
      },
    });
  }

  const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

  function block(members, read, Kind = kinds[members.type] ?? Content) {
    const made = Object.setPrototypeOf(members, Kind.prototype);
    readers.set(made, read);
    if (isObject(made.resource)) block(made.resource, read, ResourceContents);
    return made;
  }

  /** Makes content of a list of blocks; anything else stays what it is. */
  function blocks(value, read, Kind) {
    if (!Array.isArray(value)) return value;
    for (const item of value) if (isObject(item)) block(item, read, Kind);
    return value;
  }

  /** Returns the function that reads a resource from the server with that folder or key. */
  const readerAt = (server) => async (uri) => {
    const { contents } = await io.request("resources/read", { server, uri });
    if (!contents?.length) throw new Error(`the resource ${uri} is empty`);
    return contents[0];
  };
  const readerOf = (tool) => readerAt(String(tool ?? "").split("__")[0]);

  /** Says how the target of a proxy is printed: node looks there, and not at what the proxy gives. */
  function printed(target, print) {
    if (!io.inspect) return target;
    const proto = Object.create(Object.getPrototypeOf(target), { [io.inspect]: { value: print } });
    return Object.setPrototypeOf(target, proto);
  }

  // ---- results in files ----

  class ResultHandle {
    #convert;
    #isText;

    constructor({ path, size, type, preview, text }, convert) {
      Object.assign(this, { path, size, type, preview });
      this.#convert = convert;
      this.#isText = type === "text" || text === true;
    }

    /** Reports whether the result is one text, which it is where a text is wanted. */
    static isText(handle) {
      return handle.#isText;
    }

    text() {
      return io.readText(this.path);
    }

    json() {
      return this.#convert(this.#isText ? parsed(this.text()) : parse(this.text()));
    }

    *lines() {
      const text = this.text();
      for (let at = 0; at < text.length; ) {
        let end = text.indexOf("\n", at);
        if (end < 0) end = text.length;
        yield text.slice(at, text[end - 1] === "\r" ? end - 1 : end);
        at = end + 1;
      }
    }

    toJSON() {
      return { path: this.path, size: this.size, type: this.type, preview: this.preview };
    }
  }

  const line = (handle) =>
    `<a result of ${count(handle.size)} bytes in ${handle.path}; read it with json(), text() or lines(); it begins: ${JSON.stringify(handle.preview.slice(0, 300))}>`;

  /**
   * Lets scripts use a handle like the value itself: members that the handle does not have are the value's, which is read
   * at first use.
   */
  function handle(members, convert = (value) => value) {
    const own = new ResultHandle(members, convert);
    let whole;
    const value = () => (whole ??= own.type === "text" ? own.text() : own.json());
    const boxed = () => Object(value());
    const isList = own.type !== "text" && own.preview.trimStart().startsWith("[");
    const mine = (key) =>
      key === "then" || key === "constructor" || Object.hasOwn(own, key) || (key !== "toString" && Object.hasOwn(ResultHandle.prototype, key));
    const made = new Proxy(printed(isList ? [] : {}, () => line(own)), {
      get(target, key) {
        if (io.inspect && key === io.inspect) return target[key];
        if (key === Symbol.toPrimitive) {
          return () => (!ResultHandle.isText(own) ? line(own) : whole === undefined ? own.text() : String(whole));
        }
        // fs.promises.writeFile and streams iterate over it: by pieces, not by letters.
        if (key === Symbol.asyncIterator && own.type === "text") return async function* () { yield value(); };
        if (mine(key)) {
          const member = key === "then" ? undefined : own[key];
          return typeof member === "function" && key !== "constructor" ? member.bind(own) : member;
        }
        const box = boxed();
        const member = box[key];
        return typeof member === "function" ? member.bind(box) : member;
      },
      has: (target, key) => mine(key) || key in boxed(),
      set: (target, key, to) => Reflect.set(boxed(), key, to),
      deleteProperty: (target, key) => Reflect.deleteProperty(boxed(), key),
      ownKeys: () => Reflect.ownKeys(boxed()),
      getPrototypeOf: () => (isList ? Array.prototype : ResultHandle.prototype),
      getOwnPropertyDescriptor(target, key) {
        const found = Object.getOwnPropertyDescriptor(boxed(), key);
        return found && { ...found, configurable: !(isList && key === "length") };
      },
    });
    handles.add(made);
    return made;
  }

  /** Replaces the parts of a resource that are stored in files by handles. */
  function unstored(contents) {
    for (const name of ["text", "blob"]) {
      const stored = contents?.[name]?.["mcprun/handle"];
      if (stored) contents[name] = handle(stored);
    }
  }

  // ---- placeholders of skipped calls ----

  const placeholders = new WeakMap(); // → number of the call

  /** The placeholder of an answer. It can be passed to other calls, and each of its members is the placeholder itself. */
  function placeholder({ call }) {
    const text = `<result of call ${call}>`;
    const made = new Proxy(printed(function () {}, () => text), {
      get(target, key) {
        if (io.inspect && key === io.inspect) return target[key];
        switch (key) {
          case "then":
            return undefined;
          case "length":
            return 0;
          case "toJSON":
            return () => ({ call });
          case "toString":
          case "valueOf":
          case Symbol.toPrimitive:
            return () => text;
          case Symbol.iterator:
            return [][Symbol.iterator];
        }
        return typeof key === "symbol" ? undefined : made;
      },
      has: () => true,
      set: () => true,
      ownKeys: (target) => Reflect.ownKeys(target),
      apply: () => made,
      construct: () => made,
      getPrototypeOf: () => Object.prototype,
    });
    placeholders.set(made, call);
    return made;
  }

  // ---- texts ----

  /**
   * Returns the value in a JSON text. Where a text is wanted, as in JSON.parse(value) or `${value}`, an object or list is that text,
   * or the JSON of what it has become since.
   */
  function parsed(text) {
    const value = parse(text);
    if (value === null || typeof value !== "object") return value;
    return asText(value, () => {
      const now = JSON.stringify(value);
      return now === JSON.stringify(parse(text)) ? text : now;
    });
  }

  /** Makes toText the conversion of an object to a string, unless the object has a member of that name. */
  function asText(value, toText) {
    if (!Object.hasOwn(value, "toString")) {
      Object.defineProperty(value, "toString", { value: toText, writable: true, configurable: true });
    }
    return value;
  }

  const KEPT = 4 * 1024 * 1024; // characters of such texts, the latest
  const texts = new Map(); // text → the tool that returned it
  let keptText = 0;
  let last = { first: "", tool: "" };

  /** Watches a text that a tool returned, so that its use as an object or a list is noted. */
  function watched(text, tool) {
    if (text === "") return text;
    if (texts.size === 0) watchTexts();
    last = { first: text[0], tool };
    if (!texts.has(text)) keptText += text.length;
    texts.set(text, tool);
    for (const [old] of texts) {
      if (keptText <= KEPT || texts.size === 1) break;
      texts.delete(old);
      keptText -= old.length;
    }
    return text;
  }

  /** Strings cannot be watched, but what they do not have is looked up in their prototype's prototype, which can. */
  function watchTexts() {
    const notes = (globalThis[Symbol.for("mcprun.notes")] ??= {});
    const used = (text) => {
      const tool = texts.get(text) ?? (text === last.first ? last.tool : undefined); // a first character: rows[0].title
      if (tool !== undefined) notes[`text ${tool}`] ??= 1;
    };
    const replace = (object, name) => {
      const { value: old, ...how } = Object.getOwnPropertyDescriptor(object, name);
      const value = function (...args) {
        used(object === Object ? args[0] : String(this));
        return Reflect.apply(old, this, args);
      };
      Object.defineProperty(value, "name", { value: old.name });
      Object.defineProperty(object, name, { ...how, value });
    };
    Object.setPrototypeOf(String.prototype, new Proxy(Object.prototype, {
      get(target, key, receiver) {
        // Some engines ask for an object's sake, in const { items } = text.
        const isText = typeof receiver === "string" || receiver instanceof String;
        if (typeof key === "string" && isText && !(key in target)) used(receiver.valueOf());
        return Reflect.get(target, key, receiver);
      },
    }));
    replace(String.prototype, Symbol.iterator);
    for (const name of ["keys", "values", "entries"]) replace(Object, name);
  }

  // ---- replies ----

  /** Makes the kind of value that the reply names. */
  function make(value, as, tool) {
    switch (as) {
      case "content":
        return blocks(value, readerOf(tool));
      case "handle":
        return handle(value, value.content && ((held) => (Array.isArray(held) ? blocks(held, readerOf(tool)) : fromResult(held, tool))));
      case "dry":
        return placeholder(value);
      case "json":
        return parsed(value);
      case "text":
        return watched(value, tool);
    }
    return value;
  }

  /** Makes content objects in a whole CallToolResult, or in an error. */
  function fromResult(result, tool) {
    if (isObject(result)) blocks(result.content, readerOf(tool));
    return result;
  }

  return {
    parse,
    make,
    extendJSON,
    decode: (text, as, tool) => make(parse(text), as, tool),
    /** Makes the content objects in the reply to a request. */
    fromRequest(method, value, params) {
      if (!isObject(value)) return value;
      const read = readerAt(params?.server);
      if (method === "resources/read") {
        blocks(value.contents, read, ResourceContents);
        if (Array.isArray(value.contents)) value.contents.forEach(unstored);
      }
      else if (method === "prompts/get" && Array.isArray(value.messages)) {
        for (const message of value.messages) if (isObject(message?.content)) block(message.content, read);
      }
      return value;
    },
    fromResult,
    isHandle: (value) => handles.has(value),
    /** Returns the description of a stored result, for errors. */
    sizeOf: (value) => count(value.size),
    /** Returns the number of the call that a placeholder stands for; undefined for other values. */
    placeholder: (value) => placeholders.get(value),
  };
}
