/** Compares two lists of records by a key. */

export type Row = Record<string, unknown>;

export interface Difference {
  onlyLeft: Row[];
  onlyRight: Row[];
  changed: { key: string; fields: Record<string, { left: unknown; right: unknown }> }[];
  same: number;
  leftOut: number; // records without a key, or with one that was there already
}

export function compareRecords(
  left: Iterable<Row>, right: Iterable<Row>,
  options: { key: string | readonly [string, string]; fields?: readonly string[] | Readonly<Record<string, string>> },
): Difference {
  const [leftKey, rightKey] = typeof options.key === "string" ? [options.key, options.key] : options.key;
  const out: Difference = { onlyLeft: [], onlyRight: [], changed: [], same: 0, leftOut: 0 };
  const a = byKey(left, leftKey, out), b = byKey(right, rightKey, out);
  for (const [key, l] of a) {
    const r = b.get(key);
    if (r === undefined) {
      out.onlyLeft.push(l);
      continue;
    }
    const fields: Record<string, { left: unknown; right: unknown }> = {};
    for (const [x, y] of pairs(options.fields, l, r, leftKey)) {
      if (!equal(l[x], r[y])) fields[x] = { left: l[x] ?? null, right: r[y] ?? null };
    }
    if (Object.keys(fields).length > 0) out.changed.push({ key, fields });
    else out.same++;
  }
  for (const [key, r] of b) if (!a.has(key)) out.onlyRight.push(r);
  return out;
}

function byKey(rows: Iterable<Row>, key: string, out: Difference): Map<string, Row> {
  const found = new Map<string, Row>();
  for (const row of rows) {
    const value = row[key];
    if (value === null || value === undefined || found.has(String(value))) out.leftOut++;
    else found.set(String(value), row);
  }
  return found;
}

function pairs(fields: readonly string[] | Readonly<Record<string, string>> | undefined, l: Row, r: Row, key: string): [string, string][] {
  if (fields === undefined) return Object.keys(l).filter((name) => name in r && name !== key).map((name) => [name, name]);
  if (Array.isArray(fields)) return fields.map((name: string) => [name, name]);
  return Object.entries(fields as Record<string, string>);
}

function equal(a: unknown, b: unknown): boolean {
  if (typeof a === "number" && typeof b === "number") return Math.abs(a - b) < 1e-9 * Math.max(1, Math.abs(a), Math.abs(b));
  if ((a ?? null) === null || (b ?? null) === null) return (a ?? null) === (b ?? null);
  return typeof a === "object" ? JSON.stringify(a) === JSON.stringify(b) : a === b;
}

/** The difference in words, at most `limit` lines of each kind. */
export function describeDifference(d: Difference, limit = 10): string {
  const lines = [`${d.same} the same, ${d.changed.length} changed, ${d.onlyLeft.length} only left, ${d.onlyRight.length} only right` +
    (d.leftOut > 0 ? `, ${d.leftOut} left out` : "")];
  for (const { key, fields } of d.changed.slice(0, limit)) {
    lines.push(`~ ${key}: ` + Object.entries(fields).map(([name, v]) => `${name} ${JSON.stringify(v.left)} → ${JSON.stringify(v.right)}`).join(", "));
  }
  for (const [mark, rows] of [["- ", d.onlyLeft], ["+ ", d.onlyRight]] as const) {
    for (const row of rows.slice(0, limit)) lines.push(mark + JSON.stringify(row).slice(0, 200));
  }
  return lines.join("\n");
}
