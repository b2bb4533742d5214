// ---- Raised
/** An error that the workflow raises: problem details (RFC 9457). */
class Raised extends Error {
  readonly problem: Record<string, any>;

  constructor(problem: Record<string, any>) {
    super([problem.title, problem.detail].filter((text) => text).join(": ") || `the workflow raised ${problem.type}`);
    this.name = "Raised";
    this.problem = problem;
  }
}

// ---- problem
/** Returns any error as problem details, with the types that Serverless Workflow defines. */
function problem(caught: any): Record<string, any> {
  if (caught instanceof Raised) return { title: "", detail: "", instance: "", ...caught.problem };
  const kinds: Record<string, [string, number]> = {
    MCPArgumentError: ["validation", 400], MCPDeniedError: ["authorization", 403], MCPTimeoutError: ["timeout", 408], MCPToolError: ["communication", 500],
    MCPConnectionError: ["communication", 500], MCPProtocolError: ["communication", 500],
  };
  const message = String(caught?.message ?? caught);
  const [kind, status] = message.startsWith("the expression ${") ? ["expression", 400] : kinds[caught?.name] ?? ["runtime", 500];
  return { type: `https://serverlessworkflow.io/spec/1.0.0/errors/${kind}`, status, title: String(caught?.name ?? "Error"), detail: message, instance: "" };
}

// ---- matches
/** Reports whether an error has all of these members. */
function matches(error: Record<string, any>, filter: Record<string, any>): boolean {
  return Object.entries(filter).every(([name, value]) => error[name] === value);
}

// ---- together
/** Waits for all branches, and then fails if one of them did. */
async function together(branches: Promise<any>[]): Promise<any[]> {
  const ended = await Promise.allSettled(branches);
  for (const end of ended) if (end.status === "rejected") throw end.reason;
  return Promise.all(branches);
}

// ---- first
/** Returns the result of the first branch that succeeds; the others stop before their next task. A run that is continued has the same winner. */
async function first(race: { over: boolean }, step: string, branches: Promise<any>[]): Promise<any> {
  const winner = await Promise.any(branches.map(async (branch, i) => (await branch, i))).catch((failed) => Promise.reject(failed.errors?.[0] ?? failed));
  race.over = true;
  return branches[await workflow.step(step, () => winner)];
}

// ---- undo
/** Undoes what was done, the last task first. An error does not keep the others from being undone. */
async function undoAll(): Promise<void> {
  for (const step of undo.reverse()) {
    await step().catch((failed) => console.error(`a compensation failed: ${failed}`));
  }
}

