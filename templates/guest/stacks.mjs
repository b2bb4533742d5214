// Reports of uncaught errors. See guest.mjs.
import { Buffer } from "node:buffer";
import { SourceMap } from "node:module";
import { inspect } from "node:util";
import vm from "node:vm";

const MARKER = "//# sourceMappingURL=data:application/json;base64,";
const OWN_FRAME = /^ {4}at (?:.*\()?(?:async )?(?!servers\/)([^()]+):(\d+):(\d+)\)?$/; // not one of the tree
const GUEST = new URL(".", import.meta.url).href;

/** Returns the URL of a module with this code. It is a data URL, because files are slow in some sandboxes. */
export const addressOf = (code) => `data:text/javascript;base64,${Buffer.from(code).toString("base64")}`;

/**
 * Escapes characters that would move a terminal's cursor or change the direction of text: the text may come from a server.
 */
const plain = (text) =>
  text.replace(/[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (c) => {
    const code = c.charCodeAt(0).toString(16);
    return code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`;
  });

/** Converts positions in bundles to positions in the script's own files, and removes frames that are not the script's. */
export class Stacks {
  #modules = new Map(); // url → {address, code, map, sources}; map: undefined: not read yet; null: no map

  constructor() {
    Error.prepareStackTrace = (error, sites) => {
      let head;
      try {
        head = Error.prototype.toString.call(error);
      } catch {
        head = "Error";
      }
      return [head, ...this.frames(sites)].join("\n");
    };
    Error.stackTraceLimit = 30; // many of them are hidden
  }

  /** Adds a module's code, so that positions in it can be converted. Returns the URL to import it from. */
  add(code) {
    const url = `mcprun:bundle${this.#modules.size || ""}`;
    const address = addressOf(`${code}\n//# sourceURL=${url}`);
    this.#modules.set(url, { address, code, map: undefined, sources: undefined });
    return address;
  }

  frames(sites) {
    const lines = [];
    for (const site of sites) {
      const file = site.getFileName() ?? site.getScriptNameOrSourceURL?.();
      if (typeof file === "string" && (file.startsWith("node:") || file.startsWith(GUEST))) continue;
      const line = this.translate(String(site)).replace(/^(?:script|servers|skills):\S+ \((.*)\)$/, "$1"); // a CommonJS module
      if (/^(?:__require\d*|(?:async )?\$(?:imp|requ).\$) \(/.test(line)) continue; // what the bundler puts around imports
      if (/^(?:async |.*\()?entry:[^()]*\)?$/.test(line)) continue; // what holds the bundle together
      if (!/\bmcprun:mcprun\.ts:\d/.test(line)) lines.push(`    at ${line}`); // not those of the library
    }
    return lines.slice(0, 15);
  }

  /** Replaces "bundle:line:column" by the place in the original file. */
  translate(text) {
    if (text.includes("data:text/javascript")) {
      for (const [url, { address }] of this.#modules) text = text.replaceAll(address, url); // in what eval says of its origin
    }
    const match = /^(.*)(mcprun:bundle\d*):(\d+):(\d+)/s.exec(text);
    if (!match) return text;
    const [all, before, url, line, column] = match;
    const entry = this.#entry(url, Number(line) - 1, Number(column) - 1);
    const place = entry ? `${entry.originalSource}:${entry.originalLine + 1}:${entry.originalColumn + 1}` : `bundle:${line}:${column}`;
    return before + place + text.slice(all.length);
  }

  #entry(url, line, column) {
    const module = this.#modules.get(url);
    if (!module) return undefined;
    this.#load(module);
    const entry = module.map?.findEntry(line, column);
    return entry?.originalSource === undefined ? undefined : entry;
  }

  #load(module) {
    if (module.map !== undefined) return;
    module.map = null;
    const at = module.code.lastIndexOf(MARKER);
    if (at < 0) return;
    try {
      module.sources = JSON.parse(Buffer.from(module.code.slice(at + MARKER.length), "base64").toString("utf8"));
      // The bundler marks modules of the tree and files beside the script; the marks are not shown.
      module.sources.sources = module.sources.sources.map((name) => name.replace(/^(servers|skills):/, "$1/").replace(/^script:/, ""));
      module.map = new SourceMap(module.sources);
    } catch {
      // Without a map the positions are those of the bundle.
    }
  }

  /**
   * What only the engine finds wrong in a module's text, such as a bad regular expression, comes without a place. It is
   * found by reading the text once more, as a script.
   */
  locate(error) {
    if (!(error instanceof SyntaxError) || /\n {4}at /.test(String(error.stack))) return;
    for (const [url, { code }] of this.#modules) {
      const blank = (text) => text.replace(/[^\n]/g, " ");
      const script = code.replace(/^import\b[^;]*;|^export \{[^}]*\};|^export (?:default )?/gm, blank);
      try {
        new vm.Script(`(async()=>{${script}\n})`, { filename: url, columnOffset: -"(async()=>{".length });
      } catch (found) {
        const at = found.message === error.message ? new RegExp(`^${url}:(\\d+)\\n.*\\n( *)\\^`).exec(String(found.stack)) : null;
        if (!at) continue;
        error.stack = `${error.name}: ${error.message}\n    at ${this.translate(`${url}:${at[1]}:${at[2].length + 1}`)}`;
        return;
      }
    }
  }

  /** Returns what node would print for an uncaught error, with the script's own frames. */
  report(error) {
    this.locate(error);
    const isError = error instanceof Error || Object.prototype.toString.call(error) === "[object Error]";
    const text = isError ? inspect(error, { colors: false }) : `Uncaught:\n${inspect(error, { colors: false })}`;
    return `${isError ? this.#excerpt(String(error.stack)) : ""}${plain(text)}\n`;
  }

  /** Returns the line of the script that is running, as "script.ts:12". */
  place() {
    for (const line of new Error().stack.split("\n")) {
      const match = OWN_FRAME.exec(line);
      if (match) return `${match[1]}:${match[2]}`;
    }
    return undefined;
  }

  /** Returns the line of the script's source in which the error happened. */
  #excerpt(stack) {
    for (const line of stack.split("\n")) {
      const match = OWN_FRAME.exec(line);
      const source = match && this.#line(match[1], Number(match[2]));
      if (source === undefined || source === null) continue;
      if (source.length > 500) return "";
      const caret = source.slice(0, Number(match[3]) - 1).replace(/[^\t]/g, " ");
      return `${match[1]}:${match[2]}\n${source}\n${caret}^\n\n`;
    }
    return "";
  }

  #line(file, number) {
    for (const { sources } of this.#modules.values()) {
      const index = sources?.sources.indexOf(file) ?? -1;
      if (index >= 0) return sources.sourcesContent?.[index]?.split("\n")[number - 1];
    }
    return undefined;
  }
}
