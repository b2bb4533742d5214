// A function that is worth keeping. Save it as a skill, which scripts import (see use-skill.ts):
//   mcprun skill save largest examples/largest.ts -d "Find the rows with the largest numbers in a field."

/** Returns the rows with the largest numbers in a field, the largest first. */
export function largest<T extends Record<string, unknown>>(rows: T[], field: string, count = 5): T[] {
  return rows.toSorted((a, b) => Number(b[field]) - Number(a[field])).slice(0, count);
}
