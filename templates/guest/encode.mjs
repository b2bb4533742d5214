// Values on their way out of a script: strict JSON. See guest.mjs.

const MAX_DEPTH = 500; // the host allows 512, counting the frame around a value

/** A value that JSON cannot hold. */
export class NotJSON extends Error {}

/**
 * Makes the function encode(value, where): JSON.stringify, but strict. What JSON cannot hold is an error that says where,
 * instead of a null or nothing. As with JSON.stringify, toJSON is called, and object members that are undefined are left
 * out: they are TypeScript's optional properties. A BigInt becomes an integer. Half a surrogate pair (a cut emoji) becomes
 * U+FFFD, as everywhere on the web. made recognizes handles and placeholders. The result of a script is not as strict, so that it is
 * not lost: a handle becomes its description, a Map or Set what it holds, NaN and infinite numbers their texts, and what else
 * JSON.stringify leaves out is left out.
 */
export function encoder(made) {
  const stringify = JSON.stringify; // the language's own, whatever the script puts in its place

  /**
   * Reports whether JSON.stringify gives the same text for a value as encode. It builds nothing, because it does for most
   * large values.
   */
  function plain(value, parents) {
    switch (typeof value) {
      case "string":
        return value.isWellFormed();
      case "number":
        return Number.isFinite(value);
      case "boolean":
        return true;
      case "object":
        break;
      default:
        return false;
    }
    if (value === null) return true;
    if (parents.length >= MAX_DEPTH) return false;
    if (Array.isArray(value)) {
      if (made.isHandle(value) || "toJSON" in value || parents.includes(value)) return false;
      parents.push(value);
      for (let i = 0; i < value.length; i++) if (!plain(value[i], parents)) return false;
    } else {
      const proto = Object.getPrototypeOf(value);
      if ((proto !== Object.prototype && proto !== null) || made.isHandle(value) || "toJSON" in value || parents.includes(value)) return false;
      parents.push(value);
      for (const name of Object.keys(value)) {
        const member = value[name];
        if (member !== undefined && !plain(member, parents)) return false;
        if (!name.isWellFormed()) return false;
      }
    }
    parents.pop();
    return true;
  }

  const isLeftOut = (value) => typeof value === "symbol" || (typeof value === "function" && made.placeholder(value) === undefined);

  function careful(value, where, asResult, parents) {
    if (value !== null && (typeof value === "object" || typeof value === "function")) {
      const call = made.placeholder(value);
      if (call !== undefined) return `{"call":${call}}`;
      if (made.isHandle(value) && !asResult) throw new NotJSON(`${where} is a stored result of ${made.sizeOf(value)} bytes; pass json() or text() of it`);
      const hint = asResult && (value instanceof Map || value instanceof Set) ? undefined : foreign(value);
      if (hint) throw new NotJSON(`${where} is ${hint}`);
      if (typeof value.toJSON === "function") value = value.toJSON("");
    }
    switch (typeof value) {
      case "string":
        return stringify(value.isWellFormed() ? value : value.toWellFormed());
      case "number":
        if (!Number.isFinite(value) && asResult) return `"${value}"`;
        if (!Number.isFinite(value)) throw new NotJSON(`${where} is ${value}, which JSON cannot hold`);
        return stringify(value);
      case "boolean":
        return String(value);
      case "bigint":
        return value.toString();
      case "object":
        break;
      default:
        if (asResult && parents.length > 0) return "null";
        throw new NotJSON(`${where} is ${typeof value === "undefined" ? "undefined" : `a ${typeof value}`}, which JSON cannot hold`);
    }
    if (value === null) return "null";
    if (value instanceof Number || value instanceof String || value instanceof Boolean) return careful(value.valueOf(), where, asResult, parents);
    if (parents.includes(value)) throw new NotJSON(`${where} contains itself`);
    if (parents.length >= MAX_DEPTH) throw new NotJSON(`${where.slice(0, 100)}… is nested deeper than ${MAX_DEPTH}`);
    parents.push(value);
    const parts = [];
    if (Array.isArray(value)) {
      for (let i = 0; i < value.length; i++) parts.push(careful(value[i], `${where}[${i}]`, asResult, parents));
    } else {
      for (const name of Object.keys(value)) {
        const member = value[name];
        if (member === undefined || (asResult && isLeftOut(member))) continue;
        const place = /^[A-Za-z_$][\w$]*$/.test(name) ? `${where}.${name}` : `${where}[${stringify(name)}]`;
        parts.push(`${careful(name, where, asResult, parents)}:${careful(member, place, asResult, parents)}`);
      }
    }
    parents.pop();
    return Array.isArray(value) ? `[${parts.join(",")}]` : `{${parts.join(",")}}`;
  }

  return (value, where, asResult = false) => (plain(value, []) ? stringify(value) : careful(value, where, asResult, []));
}

/** Returns what to use instead for well-known objects that would silently become {} or a list of numbers. */
function foreign(value) {
  if (value instanceof Map) return "a Map, which JSON cannot hold; use Object.fromEntries(map)";
  if (value instanceof Set) return "a Set, which JSON cannot hold; use [...set]";
  if (value instanceof Promise) return "a Promise; await it first";
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
    return 'binary data, which JSON cannot hold; use Buffer.from(data).toString("base64")';
  }
  return undefined;
}
