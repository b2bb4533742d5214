// util.inspect, util.format and console.table as Node prints them (with its default options; no colors, no proxies).
(function (host) {
  "use strict";
  const { getPrototypeOf, getOwnPropertyNames, getOwnPropertySymbols, getOwnPropertyDescriptor, keys: ownKeys, hasOwn, is } = Object;
  const uncurry = Function.prototype.bind.bind(Function.prototype.call);
  const toStringTag = uncurry(Object.prototype.toString), isEnumerable = uncurry(Object.prototype.propertyIsEnumerable);
  const errorText = uncurry(Error.prototype.toString), functionText = uncurry(Function.prototype.toString);
  const dateText = uncurry(Date.prototype.toISOString), dateValue = uncurry(Date.prototype.getTime), regexpText = uncurry(RegExp.prototype.toString);
  const symbolText = uncurry(Symbol.prototype.toString);
  const mapEach = uncurry(Map.prototype.forEach), setEach = uncurry(Set.prototype.forEach);
  const mapSize = uncurry(getOwnPropertyDescriptor(Map.prototype, "size").get), setSize = uncurry(getOwnPropertyDescriptor(Set.prototype, "size").get);
  const bufferSize = uncurry(getOwnPropertyDescriptor(ArrayBuffer.prototype, "byteLength").get);
  const typedTag = uncurry(getOwnPropertyDescriptor(getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag).get);
  const { isArray } = Array, isView = ArrayBuffer.isView, { max, min, floor, round, sqrt } = Math;
  const test = uncurry(RegExp.prototype.test), replace = uncurry(String.prototype.replace), includes = uncurry(String.prototype.includes);
  const slice = uncurry(String.prototype.slice), startsWith = uncurry(String.prototype.startsWith), endsWith = uncurry(String.prototype.endsWith), exec = uncurry(RegExp.prototype.exec), upper = uncurry(String.prototype.toUpperCase), repeat = uncurry(String.prototype.repeat);
  const indexOf = uncurry(String.prototype.indexOf), codeAt = uncurry(String.prototype.charCodeAt), padStart = uncurry(String.prototype.padStart), padEnd = uncurry(String.prototype.padEnd);
  const replaceAll = uncurry(String.prototype.replaceAll), arrayIndexOf = uncurry(Array.prototype.indexOf), hex = uncurry(Number.prototype.toString);
  const custom = Symbol.for("nodejs.util.inspect.custom"), tagSymbol = Symbol.toStringTag;

  const splice = uncurry(Array.prototype.splice);
  const box = (T) => ({ kind: T.name, valueOf: uncurry(T.prototype.valueOf) });
  const boxes = [box(Number), box(String), box(Boolean), box(BigInt), box(Symbol)];

  const append = (list, v) => { list[list.length] = v; };
  const join = (list, sep) => { let s = ""; for (let i = 0; i < list.length; i++) s += i ? sep + list[i] : list[i]; return s; };
  const holds = (f, v) => { try { f(v); return true; } catch { return false; } };

  // --- strings and keys ---
  const escapes = { __proto__: null, "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", "\\": "\\\\" };
  // eslint-disable-next-line no-control-regex
  const special = /[\x00-\x1f\x7f-\x9f\\]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
  const escapeChar = (c) => escapes[c] ?? (codeAt(c, 0) > 255 ? "\\u" + hex(codeAt(c, 0), 16) : "\\x" + padStart(upper(hex(codeAt(c, 0), 16)), 2, "0"));
  const quote = (s) => {
    const q = !includes(s, "'") ? "'" : !includes(s, '"') ? '"' : !includes(s, "`") && !includes(s, "${") ? "`" : "'";
    const text = replace(s, special, escapeChar);
    return q + (q === "'" ? replaceAll(text, "'", "\\'") : text) + q;
  };
  const identifier = /^[a-zA-Z_][a-zA-Z_0-9]*$/;
  const keyText = (k) => (typeof k === "symbol" ? `[${symbolText(k)}]` : k === "__proto__" ? "['__proto__']" : test(identifier, k) ? k : quote(k));

  const number = (n) => (is(n, -0) ? "-0" : `${n}`);
  const primitive = (ctx, v) => {
    switch (typeof v) {
      case "string": return longString(ctx, v);
      case "number": return number(v);
      case "bigint": return `${v}n`;
      case "symbol": return symbolText(v);
      default: return `${v}`;
    }
  };
  // A string that does not fit is split into its lines, as in Node.
  const longString = (ctx, s) => {
    let rest = "";
    if (s.length > ctx.maxStringLength) {
      const n = s.length - ctx.maxStringLength;
      s = slice(s, 0, ctx.maxStringLength);
      rest = `... ${n} more character${n > 1 ? "s" : ""}`;
    }
    if (ctx.compact !== true && s.length > 16 && s.length > ctx.breakLength - ctx.indent - 4 && includes(s, "\n")) {
      const lines = [];
      for (let from = 0; from < s.length;) {
        const at = indexOf(s, "\n", from), to = at < 0 ? s.length : at + 1;
        append(lines, quote(slice(s, from, to)));
        from = to;
      }
      return join(lines, " +\n" + repeat(" ", ctx.indent + 2)) + rest;
    }
    return quote(s) + rest;
  };

  // --- names ---
  const constructorName = (obj) => {
    for (let o = obj; o !== null; o = getPrototypeOf(o)) {
      const d = getOwnPropertyDescriptor(o, "constructor");
      if (d !== undefined && typeof d.value === "function" && d.value.name !== "" && obj instanceof d.value) return `${d.value.name}`;
    }
    return null;
  };
  const prefix = (name, tag, fallback, size = "") => {
    const shown = tag !== "" && name !== tag ? `[${tag}] ` : "";
    return name === null ? `[${fallback}${size}: null prototype] ${shown}` : `${name}${size} ${shown}`;
  };

  const defaults = { depth: 2, showHidden: false, maxArrayLength: 100, maxStringLength: 10000, breakLength: 80, compact: 3, sorted: false, getters: false };
  function inspect(value, options, ...old) {
    const ctx = { __proto__: null, seen: [], circular: [], indent: 0, level: 0 };
    const given = typeof options === "object" && options !== null ? options : { showHidden: options, depth: old[0] };
    for (const k in defaults) ctx[k] = given[k] !== undefined ? given[k] : defaults[k];
    if (ctx.depth === null) ctx.depth = Infinity;
    if (ctx.maxArrayLength === null) ctx.maxArrayLength = Infinity;
    if (ctx.maxStringLength === null) ctx.maxStringLength = Infinity;
    ctx.options = given;
    return format(ctx, value, 0, true);
  }
  inspect.custom = custom;
  inspect.defaultOptions = { ...defaults };

  const format = (ctx, v, depth, typed) => {
    if (typeof v !== "object" && typeof v !== "function" || v === null) return primitive(ctx, v);
    const own = v[custom];
    if (typeof own === "function" && own !== inspect && !(v.constructor && v.constructor.prototype === v)) {
      const shown = own.call(v, ctx.depth - depth, { ...ctx.options, depth: ctx.depth - depth }, inspect);
      if (shown !== v) return typeof shown === "object" && shown !== null ? format(ctx, shown, depth) : replaceAll(`${shown}`, "\n", "\n" + repeat(" ", ctx.indent));
    }
    if (arrayIndexOf(ctx.seen, v) >= 0) {
      let i = arrayIndexOf(ctx.circular, v);
      if (i < 0) { append(ctx.circular, v); i = ctx.circular.length - 1; }
      return `[Circular *${i + 1}]`;
    }
    return raw(ctx, v, depth, typed);
  };

  const raw = (ctx, v, depth, typed) => {
    const name = constructorName(v);
    let tag = "";
    try { tag = v[tagSymbol]; } catch { /* a getter of the script's */ }
    if (typeof tag !== "string" || (tag !== "" && name === tag)) tag = "";
    const array = isArray(v), view = isView(v) && !(v instanceof DataView);
    const keys = propertyKeys(ctx, v, array || view);
    const k = kindOf(ctx, v, name, tag, keys, array, view, depth);
    if (typeof k === "string") return k;
    if (depth > ctx.depth) return `[${slice(prefix(name, tag, array ? "Array" : "Object"), 0, -1)}]`;
    append(ctx.seen, v);
    ctx.level = depth;
    const output = k.items ? k.items(depth + 1) : [];
    for (let i = 0; i < keys.length; i++) append(output, property(ctx, v, depth + 1, keys[i], k.list));
    ctx.seen.length--;
    let base = k.base, open = k.open;
    const circle = arrayIndexOf(ctx.circular, v);
    if (circle >= 0) {
      const ref = `<ref *${circle + 1}> `;
      if (base === "") open = ref + open; else base = ref + base;
    }
    return reduce(ctx, output, base, open, k.close, k.list, depth, v);
  };

  const propertyKeys = (ctx, v, list) => {
    let names = ctx.showHidden ? getOwnPropertyNames(v) : ownKeys(v);
    const keys = [];
    for (let i = 0; i < names.length; i++) {
      if (list && (test(/^(0|[1-9][0-9]*)$/, names[i]) || names[i] === "length")) continue;
      append(keys, names[i]);
    }
    const symbols = getOwnPropertySymbols(v);
    for (let i = 0; i < symbols.length; i++) if (ctx.showHidden || isEnumerable(v, symbols[i])) append(keys, symbols[i]);
    if (ctx.sorted) keys.sort(typeof ctx.sorted === "function" ? ctx.sorted : undefined);
    return keys;
  };

  // kindOf returns how v is shown: the complete text, or braces, a base before them, and items before the properties.
  const kindOf = (ctx, v, name, tag, keys, array, view, depth) => {
    const braces = (open, items, list) => ({ base: "", open, close: list ? "]" : "}", items, list });
    const based = (base) => (keys.length === 0 ? base : { base, open: "{", close: "}" });
    if (array) {
      const p = name !== "Array" || tag !== "" ? prefix(name, tag, "Array", `(${v.length})`) : "";
      if (v.length === 0 && keys.length === 0) return `${p}[]`;
      return braces(p + "[", (d) => arrayItems(ctx, v, d), true);
    }
    if (typeof v === "function") {
      const text = functionText(v);
      let base;
      if (startsWith(text, "class") && (text[5] === " " || text[5] === "{")) {
        const parent = getPrototypeOf(v);
        base = `[class ${hasOwn(v, "name") && v.name !== "" ? v.name : "(anonymous)"}${parent && parent.name ? ` extends ${parent.name}` : ""}]`;
      } else {
        const kind = name === null ? "Function" : name;
        base = `[${kind}${v.name === "" || v.name === undefined ? " (anonymous)" : `: ${v.name}`}]` + (name === null ? " [null prototype]" : "");
      }
      return based(base);
    }
    if (holds(mapSize, v)) {
      const n = mapSize(v);
      const p = prefix(name, tag, "Map", `(${n})`);
      return n === 0 && keys.length === 0 ? p + "{}" : braces(p + "{", (d) => {
        const out = [];
        ctx.indent += 2;
        mapEach(v, (x, k) => append(out, `${format(ctx, k, d)} => ${format(ctx, x, d)}`));
        ctx.indent -= 2;
        return out;
      });
    }
    if (holds(setSize, v)) {
      const n = setSize(v);
      const p = prefix(name, tag, "Set", `(${n})`);
      return n === 0 && keys.length === 0 ? p + "{}" : braces(p + "{", (d) => {
        const out = [];
        ctx.indent += 2;
        setEach(v, (x) => append(out, format(ctx, x, d)));
        ctx.indent -= 2;
        return out;
      });
    }
    if (view) {
      const n = v.length, shown = typedTag(v);
      if (name === "Buffer") {
        const bytes = [];
        for (let i = 0; i < n && i < 50; i++) append(bytes, padStart(hex(v[i], 16), 2, "0"));
        return `<Buffer${bytes.length ? " " + join(bytes, " ") : ""}${n > 50 ? ` ... ${n - 50} more byte${n > 51 ? "s" : ""}` : ""}>`;
      }
      const p = prefix(name, tag === shown ? "" : tag, shown, `(${n})`);
      return n === 0 && keys.length === 0 ? p + "[]" : braces(p + "[", () => {
        const out = [];
        for (let i = 0; i < n && i < ctx.maxArrayLength; i++) append(out, primitive(ctx, v[i]));
        return more(out, n, ctx.maxArrayLength);
      }, true);
    }
    switch (toStringTag(v)) {
      case "[object Arguments]": return braces("[Arguments] [", (d) => arrayItems(ctx, v, d), true);
      case "[object RegExp]": if (holds(regexpText, v)) return based(regexpText(v)); break;
    }
    if (holds(dateValue, v)) return based(isNaN(dateValue(v)) ? "Invalid Date" : dateText(v));
    if (v instanceof Error || toStringTag(v) === "[object Error]") return based(errorBase(ctx, v, name, keys, depth));
    if (holds(bufferSize, v)) {
      return braces(prefix(name, tag, "ArrayBuffer") + "{", () => {
        const bytes = new Uint8Array(v), out = [];
        for (let i = 0; i < bytes.length && i < 50; i++) append(out, padStart(hex(bytes[i], 16), 2, "0"));
        const n = bytes.length - 50;
        return [`[Uint8Contents]: <${join(out, " ")}${n > 0 ? ` ... ${n} more byte${n > 1 ? "s" : ""}` : ""}>`, `byteLength: ${bytes.length}`];
      });
    }
    const settled = host.promise(v);
    if (settled) {
      return braces(prefix(name, tag, "Promise") + "{", (d) => {
        ctx.indent += 2;
        const out = settled[0] === "pending" ? "<pending>" : (settled[0] === "rejected" ? "<rejected> " : "") + format(ctx, settled[1], d);
        ctx.indent -= 2;
        return [out];
      });
    }
    for (let i = 0; i < boxes.length; i++) {
      const { kind, valueOf } = boxes[i];
      if (!holds(valueOf, v)) continue;
      if (kind === "String") for (let j = keys.length - 1; j >= 0; j--) if (typeof keys[j] !== "symbol" && test(/^\d+$/, keys[j])) splice(keys, j, 1);
      return based(`[${kind}: ${primitive(ctx, valueOf(v))}]`);
    }
    if (v instanceof WeakMap) return `${prefix(name, tag, "WeakMap")}{ <items unknown> }`;
    if (v instanceof WeakSet) return `${prefix(name, tag, "WeakSet")}{ <items unknown> }`;
    if (tag === "Module" && name === null) return braces("[Module: null prototype] {");
    if (tag.length && toStringTag(v) === "[object Generator]") return `${name === null ? "Object" : name} [${tag}] {}`;
    const p = name === "Object" && tag === "" ? "" : prefix(name, tag, "Object");
    if (keys.length === 0) return `${p}{}`;
    return braces(p + "{");
  };

  const arrayItems = (ctx, v, depth) => {
    const out = [];
    const n = v.length;
    for (let i = 0; i < n && out.length < ctx.maxArrayLength; i++) {
      if (hasOwn(v, i)) { append(out, property(ctx, v, depth, `${i}`, true, true)); continue; }
      let holes = 0;
      while (i + holes < n && !hasOwn(v, i + holes) && holes < 1e6) holes++;
      append(out, `<${holes} empty item${holes > 1 ? "s" : ""}>`);
      i += holes - 1;
    }
    return more(out, n, ctx.maxArrayLength);
  };
  const more = (out, n, limit) => {
    if (n > limit) append(out, `... ${n - limit} more item${n - limit > 1 ? "s" : ""}`);
    return out;
  };

  const property = (ctx, v, depth, key, list, item) => {
    const d = getOwnPropertyDescriptor(v, key) ?? { value: v[key], enumerable: true };
    let text;
    if (d.get !== undefined) text = d.set !== undefined ? "[Getter/Setter]" : "[Getter]";
    else if (d.set !== undefined) text = "[Setter]";
    else {
      const by = ctx.compact !== true || item ? 2 : 3;
      ctx.indent += by;
      text = format(ctx, d.value, depth);
      ctx.indent -= by;
    }
    if (item) return text;
    const name = d.enumerable === false ? `[${typeof key === "symbol" ? symbolText(key) : key}]` : keyText(key);
    return `${name}: ${text}`;
  };

  // An error is shown as its stack, followed by its own properties in braces. The cause is shown as one of them.
  const errorBase = (ctx, err, name, keys, depth) => {
    let stack = typeof err.stack === "string" && err.stack !== "" ? err.stack : errorText(err);
    for (let i = keys.length - 1; i >= 0; i--) {
      if ((keys[i] === "name" || keys[i] === "message" || keys[i] === "stack") && includes(stack, `${err[keys[i]]}`)) splice(keys, i, 1);
    }
    if ("cause" in err && arrayIndexOf(keys, "cause") < 0 && hasOwn(err, "cause")) append(keys, "cause");
    if (isArray(err.errors) && hasOwn(err, "errors") && arrayIndexOf(keys, "errors") < 0) append(keys, "errors");
    stack = improveStack(stack, name, err.name == null ? "Error" : `${err.name}`);
    const at = indexOf(stack, "\n    at");
    if (at < 0) stack = `[${stack}]`;
    if (ctx.indent > 0) stack = replaceAll(stack, "\n", "\n" + repeat(" ", ctx.indent));
    return stack;
  };

  // improveStack adds the name of the error's class if the error's name lacks it.
  const improveStack = (stack, constructor, name) => {
    let n = name.length;
    const regular = endsWith(name, "Error") && startsWith(stack, name) && (stack.length === n || stack[n] === ":" || stack[n] === "\n");
    if (constructor !== null && !regular) return stack;
    if (constructor === null) {
      const m = exec(/^([A-Z][a-z_ A-Z0-9[\]()-]+)(?::|\n {4}at)/, stack) ?? exec(/^([a-z_A-Z0-9-]*Error)$/, stack);
      n = m ? m[1].length : 0;
    }
    const shown = constructor === null ? `[${n ? slice(stack, 0, n) : "Error"}: null prototype]` : constructor;
    if (name === shown) return stack;
    if (!includes(shown, name)) return `${shown} [${name}]${slice(stack, n)}`;
    return n === 0 ? `${shown}: ${stack}` : shown + slice(stack, n);
  };

  // --- layout ---
  const reduce = (ctx, output, base, open, close, list, depth, value) => {
    const entries = output.length;
    if (list && entries > 6) output = group(ctx, output, value);
    if (ctx.level - depth < ctx.compact && entries === output.length) {
      const start = output.length + ctx.indent + open.length + base.length + 10;
      let total = output.length + start;
      for (let i = 0; i < output.length && total <= ctx.breakLength; i++) total += output[i].length;
      if (total <= ctx.breakLength && !includes(base, "\n")) {
        const joined = join(output, ", ");
        if (!includes(joined, "\n")) return `${base ? `${base} ` : ""}${open} ${joined} ${close}`;
      }
    }
    const indentation = "\n" + repeat(" ", ctx.indent);
    return `${base ? `${base} ` : ""}${open}${indentation}  ${join(output, `,${indentation}  `)}${indentation}${close}`;
  };

  // Arrays of many short items are shown in columns.
  const group = (ctx, output, value) => {
    let total = 0, longest = 0, n = output.length;
    if (ctx.maxArrayLength < output.length) n--; // "more items" stands alone
    const lengths = [];
    for (let i = 0; i < n; i++) {
      lengths[i] = output[i].length;
      total += output[i].length + 2;
      longest = max(longest, output[i].length);
    }
    const width = longest + 2;
    if (!(width * 3 + ctx.indent < ctx.breakLength && (total / width > 5 || longest <= 6))) return output;
    const biased = max(width - 3 - sqrt(width - total / output.length), 1);
    const columns = min(round(sqrt(2.5 * biased * n) / biased), floor((ctx.breakLength - ctx.indent) / width), ctx.compact * 4, 15);
    if (columns <= 1) return output;
    const rows = [], widths = [];
    for (let i = 0; i < columns; i++) {
      let w = 0;
      for (let j = i; j < n; j += columns) w = max(w, lengths[j]);
      append(widths, w + 2);
    }
    let pad = padStart;
    if (value !== undefined) for (let i = 0; i < output.length; i++) if (typeof value[i] !== "number" && typeof value[i] !== "bigint") { pad = padEnd; break; }
    for (let i = 0; i < n; i += columns) {
      const to = min(i + columns, n);
      let row = "";
      let j = i;
      for (; j < to - 1; j++) row += pad(`${output[j]}, `, widths[j - i]);
      row += pad === padStart ? pad(output[j], widths[j - i] - 2) : output[j];
      append(rows, row);
    }
    if (n < output.length) append(rows, output[n]);
    return rows;
  };

  // --- format ---
  const formatArgs = (args) => {
    let text = "", i = 0;
    if (typeof args[0] === "string") {
      if (args.length === 1) return args[0];
      const f = args[0];
      let from = 0;
      i = 1;
      for (let p = 0; p < f.length - 1; p++) {
        if (f[p] !== "%") continue;
        const c = f[p + 1];
        if (c === "%") { text += slice(f, from, p) + "%"; from = p + 2; p++; continue; }
        if (i >= args.length || !includes("sdifjoOc", c)) continue;
        text += slice(f, from, p) + directive(c, args[i++]);
        from = p + 2;
        p++;
      }
      text += slice(f, from);
    }
    for (; i < args.length; i++) {
      text += (i > 0 ? " " : "") + (typeof args[i] === "string" ? args[i] : inspect(args[i]));
    }
    return text;
  };
  const directive = (c, v) => {
    switch (c) {
      case "s":
        if (typeof v === "string") return v;
        if (typeof v === "number") return number(v);
        if (typeof v === "bigint") return `${v}n`;
        if (typeof v !== "object" || v === null) return typeof v === "symbol" ? symbolText(v) : `${v}`;
        return v instanceof Error || v.toString !== Object.prototype.toString && !isArray(v) && hasOwn(v.constructor?.prototype ?? {}, "toString") && !(v instanceof Date) ? String(v) : inspect(v, { depth: 0, compact: 3 });
      case "d": return typeof v === "bigint" ? `${v}n` : typeof v === "symbol" ? "NaN" : typeof v === "object" ? number(Number(v)) : number(Number(v));
      case "i": return typeof v === "bigint" ? `${v}n` : typeof v === "symbol" ? "NaN" : number(parseInt(v));
      case "f": return typeof v === "symbol" ? "NaN" : number(parseFloat(v));
      case "j": try { return JSON.stringify(v); } catch { return "[Circular]"; }
      case "o": return inspect(v, { showHidden: true, depth: 4 });
      case "O": return inspect(v);
      default: return "";
    }
  };

  // --- table ---
  const table = (data, columns) => {
    if (typeof data !== "object" || data === null) return formatArgs([data]);
    const rows = data instanceof Map ? [...data.entries()].map(([k, v], i) => [i, { Key: k, Values: v }]) : data instanceof Set ? [...data].map((v, i) => [i, v]) : Object.entries(data);
    const heads = columns ? [...columns] : [];
    let plain = false;
    const show = (v) => inspect(v, { depth: typeof v === "object" && v !== null ? -1 : 0 });
    for (const [, v] of rows) {
      if (typeof v !== "object" || v === null) plain = true;
      else if (!columns) for (const k of Object.keys(v)) if (!heads.includes(k)) heads.push(k);
    }
    const all = ["(index)", ...heads, ...(plain ? ["Values"] : [])];
    const body = rows.map(([i, v]) => {
      const isObject = typeof v === "object" && v !== null;
      return [`${i}`, ...heads.map((k) => (isObject && hasOwn(v, k) ? show(v[k]) : "")), ...(plain ? [isObject ? "" : show(v)] : [])];
    });
    const widths = all.map((h, i) => max(h.length, ...body.map((r) => r[i].length)) + 2);
    const line = (l, m, r) => l + widths.map((w) => repeat("─", w)).join(m) + r;
    const cells = (r) => "│" + r.map((c, i) => " " + padEnd(c, widths[i] - 1)).join("│") + "│";
    return [line("┌", "┬", "┐"), cells(all), line("├", "┼", "┤"), ...body.map(cells), line("└", "┴", "┘")].join("\n");
  };
  return { __proto__: null, inspect, formatArgs, table };
})
