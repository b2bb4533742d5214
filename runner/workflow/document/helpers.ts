// ---- Raised
/** An error that the workflow raises: problem details (RFC 9457). */
class Raised extends Error {
  override name = "Raised";
  readonly #problem: Record<string, any>; // not printed with the error

  constructor(problem: Record<string, any>) {
    super([problem.title, problem.detail].filter((text) => text).join(": ") || `the workflow raised ${problem.type}`);
    this.#problem = problem;
  }

  get problem(): Record<string, any> {
    return this.#problem;
  }
}

// ---- problem
/** Returns any error as problem details, with the types that Serverless Workflow defines, and unknown for a call that may have been made. */
function problem(caught: any): Record<string, any> {
  if (caught instanceof Raised) return { title: "", detail: "", instance: "", ...caught.problem };
  const kinds = new Map<string, [string, number]>([
    ["argument", ["validation", 400]], ["denied", ["authorization", 403]], ["timeout", ["timeout", 408]], ["tool", ["communication", 500]],
    ["connection", ["communication", 500]], ["protocol", ["communication", 500]], ["unknown", ["unknown", 500]],
  ]);
  const message = String(caught?.message ?? caught);
  const [kind, status] = message.startsWith("the expression ${") ? ["expression", 400] : kinds.get(caught?.kind) ?? ["runtime", 500];
  return { type: `https://serverlessworkflow.io/spec/1.0.0/errors/${kind}`, status, title: String(caught?.name ?? "Error"), detail: message, instance: "" };
}

// ---- matches
/** Reports whether an error has all of these members. */
function matches(error: Record<string, any>, filter: Record<string, any>): boolean {
  return Object.entries(filter).every(([name, value]) => error[name] === value);
}

// ---- placed
const places = new WeakMap<object, string>();

/** Notes in which task of a branch an error was thrown. */
function placed(caught: any, at: string): any {
  if (caught instanceof Error && !places.has(caught)) places.set(caught, at);
  return caught;
}

// ---- located
/** Adds to an error that ends the workflow in which task it was thrown. */
function located(caught: any, at: string): any {
  if (!(placed(caught, at) instanceof Error)) return caught;
  const { message, stack = "" } = caught;
  caught.message = `${message} (${places.get(caught)})`;
  caught.stack = stack.includes(message) ? stack.replace(message, () => caught.message) : `${caught}\n${stack}`;
  return caught;
}

// ---- mayHaveEffect
/** Reports whether an error is of a call that may have been made, and that another call would repeat. */
function mayHaveEffect(caught: any): boolean {
  return caught?.kind === "unknown" || (["connection", "timeout"].includes(caught?.kind) && caught.tool && !caught.isRetryable);
}

// ---- together
/** Waits for all branches, and then fails if one of them did. A call that may have been made counts most: what has it is not tried again. */
async function together(branches: Promise<any>[]): Promise<any[]> {
  const failed: any[] = [];
  for (const end of await Promise.allSettled(branches)) if (end.status === "rejected") failed.push(end.reason);
  if (failed.length > 0) throw failed.find(mayHaveEffect) ?? failed[0];
  return Promise.all(branches);
}

// ---- undo
/** Undoes what was done, the last task first. An error does not keep the others from being undone. */
async function undoAll(): Promise<void> {
  for (const step of undo.reverse()) {
    await step().catch((failed) => console.error(`a compensation failed: ${failed}`));
  }
}

