/** What mcprun could not do. */
export declare class McprunError extends Error {
  constructor(message: string, details?: { exitCode?: number; cause?: string; hint?: string; data?: Record<string, unknown> });
  /** That of mcprun. */
  readonly exitCode: number;
  /** The cause that mcprun names, such as "timeout" or "memory". */
  readonly reason: string;
  /** What to do about it. */
  readonly hint: string;
  /** The JSON object that mcprun printed, if it did. */
  readonly data: Record<string, unknown>;
}
/** The program mcprun is not there. */
export declare class ProgramNotFoundError extends McprunError {}
/** mcprun printed something else than one JSON object. */
export declare class ProtocolError extends McprunError {}
/** A time limit was reached: of the run (exit code 124), or the deadline of the call. */
export declare class RunTimeoutError extends McprunError {}
/** mcprun could not do its work: configuration, usage, sandbox (125). */
export declare class RunnerError extends McprunError {}
/** The script was refused before it ran: by the policy, a person or the sandbox, or the configuration is not trusted (126). */
export declare class RefusedError extends McprunError {}
/** There is no such sandbox, or no interpreter in it (127). */
export declare class NoSandboxError extends McprunError {}
/** The run was interrupted (130, 143). */
export declare class InterruptedRunError extends McprunError {}
/** The run reached a limit other than its time (137): `reason` is "memory", "cpu", "processes", "output", "disk" or "file size". */
export declare class LimitError extends McprunError {}
/** The script itself failed: thrown by `Run.check()`. */
export declare class ScriptError extends McprunError {}

export type Language = "typescript" | "python";

/**
 * What results, outputs and errors have of personal data: "off" the data itself, the others tokens such as [EMAIL_1]. The model of a task reads
 * tokens all the same, unless the option "--pii=off" is given.
 */
export type PersonalData = "off" | "output" | "bridge";

/** A call that a script made. */
export interface Call {
  readonly tool: string;
  readonly outcome: string;
  readonly durationMs: number;
  readonly [member: string]: unknown;
}

/** A run that ended by itself. */
export declare class Run {
  private constructor();
  /** The script's value. */
  readonly result: unknown;
  /** What the script printed. */
  readonly output: string;
  readonly stderr: string;
  /** Why the script failed. */
  readonly error: string | undefined;
  readonly exitCode: number;
  readonly sandbox: string;
  readonly durationMs: number;
  readonly calls: readonly Call[];
  readonly files: readonly string[];
  readonly warnings: readonly string[];
  /** Of a run for a customer; else empty. */
  readonly customer: string;
  readonly session: string;
  /** The id of the workflow that it was; else empty. */
  readonly workflow: string;
  /** All that mcprun printed. */
  readonly data: Record<string, unknown>;
  /** Whether the script ended with exit code 0. */
  get success(): boolean;
  /** Returns the run, or throws a ScriptError if the script failed. */
  check(): this;
}

export interface RunOptions {
  /** Default: detected. */
  language?: Language | undefined;
  /** Arguments of the script. */
  args?: readonly string[] | undefined;
  /** Variables of the script: JSON values. */
  variables?: Readonly<Record<string, unknown>> | undefined;
  customer?: string | undefined;
  session?: string | undefined;
  /** Purpose of the run, for the session's log. */
  task?: string | undefined;
  sandbox?: string | undefined;
  /** Time of the script, in milliseconds. */
  timeout?: number | undefined;
  /** Such as "512MiB". */
  memory?: string | undefined;
  /** Further flags of mcprun, such as "--dry-run". */
  options?: readonly string[] | undefined;
  /** Time of the whole call, in milliseconds. Default: a minute more than `timeout`, if that is set. */
  deadline?: number | undefined;
  /** Ends the run. */
  signal?: AbortSignal | undefined;
}

export interface TaskOptions {
  language?: Language | undefined;
  customer?: string | undefined;
  session?: string | undefined;
  /** Variables of the script: JSON values. */
  variables?: Readonly<Record<string, unknown>> | undefined;
  /** Stop before the script runs. */
  plan?: boolean | undefined;
  options?: readonly string[] | undefined;
  /** Time of the whole call, in milliseconds. */
  deadline?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** What came of a task in words. */
export declare class Task {
  private constructor();
  readonly task: string;
  readonly result: unknown;
  readonly output: string;
  readonly error: string | undefined;
  /** Which tools were found and selected. */
  readonly selection: Record<string, unknown>;
  /** The last script that was written. */
  readonly script: string;
  readonly attempts: readonly Record<string, unknown>[];
  readonly data: Record<string, unknown>;
  /** Why mcprun did not come to the end of the task. */
  readonly failure: McprunError | undefined;
  /** Whether the task was done. */
  get success(): boolean;
  /** Returns the task, or throws why it was not done: a ScriptError if its script failed, else `failure`. */
  check(): this;
}

/** What a workflow waits for. */
export interface Wait {
  /** "sleep", "wait" or "ask". */
  readonly kind: string;
  /** The topic or the question. */
  readonly topic: string;
  /** A time, or empty. */
  readonly until: string;
}

/** A workflow. `ended` is empty, and `result` and `error` undefined, until it has ended. Texts and the result have no personal data. */
export interface Workflow {
  readonly id: string;
  readonly name: string;
  readonly customer: string;
  readonly state: string;
  /** Whether a process runs it or waits with it; else `resume` continues it. */
  readonly runs: boolean;
  readonly created: string;
  readonly ended: string;
  readonly waits: readonly Wait[];
  /** If it was asked for by id. */
  readonly steps: readonly Record<string, unknown>[];
  readonly result: unknown;
  readonly error: string | undefined;
  readonly data: Record<string, unknown>;
}

export interface WorkflowOptions {
  /** Names the workflow. Default: a random name. */
  id?: string | undefined;
  /** The variable input: a JSON value. */
  input?: unknown;
  /** Variables of the script: JSON values. */
  variables?: Readonly<Record<string, unknown>> | undefined;
  customer?: string | undefined;
  sandbox?: string | undefined;
  /** Time of each part of it, in milliseconds. */
  timeout?: number | undefined;
  /** Further flags of mcprun. */
  options?: readonly string[] | undefined;
  /** Time of the whole call, in milliseconds. After it, mcprun is told to end, and `resume` continues the workflow. */
  deadline?: number | undefined;
  /** Ends mcprun; `resume` continues the workflow. */
  signal?: AbortSignal | undefined;
}

/** The workflows of a project: `workflows` of a Mcprun. A workflow is known by its id. */
export declare class Workflows {
  private constructor();
  /** Starts the workflow in a file, and resolves to how it ended; `workflow` is its id. It may wait for days. */
  run(file: string, options?: WorkflowOptions): Promise<Run>;
  /** Continues a workflow whose process has ended, with the flags that it began with, and resolves to how it ended. */
  resume(id: string, options?: Pick<WorkflowOptions, "options" | "deadline" | "signal">): Promise<Run>;
  /** Lists the workflows, without their steps. */
  list(): Promise<Workflow[]>;
  /** Returns a workflow: its state, its steps, what it waits for, and how it ended. */
  show(id: string): Promise<Workflow>;
  /** Sends a value to a workflow, whose waitFor(topic) returns it. */
  send(id: string, topic: string, value?: unknown): Promise<void>;
  /** Answers a question of a workflow: with the fields of its form, or with a text. `question` says which of several, from 1. */
  answer(id: string, answer: Readonly<Record<string, unknown>> | string, options?: { question?: number | undefined }): Promise<void>;
  /** Declines to answer a question. */
  decline(id: string, options?: { question?: number | undefined }): Promise<void>;
  cancel(id: string): Promise<void>;
}

export interface Customer {
  readonly id: string;
  readonly dir: string;
  readonly lastUsed: string;
  readonly sessions: number;
  readonly data: Record<string, unknown>;
}

export interface Session {
  readonly id: string;
  readonly customer: string;
  readonly began: string;
  readonly lastUsed: string;
  /** Its log, if it was asked for by id. */
  readonly records: readonly Record<string, unknown>[];
  readonly data: Record<string, unknown>;
}

export interface McprunOptions {
  /** The path of mcprun. Default: the variable MCPRUN, else mcprun on PATH. */
  program?: string | undefined;
  /** The project's folder. */
  cwd?: string | undefined;
  /** Files of servers, instead of the project's own. */
  config?: readonly string[] | undefined;
  /** Added to the environment. */
  env?: Readonly<Record<string, string>> | undefined;
  /** Run what the configuration names without asking. */
  trustConfig?: boolean | undefined;
  /** What results have of personal data. Default: as the project says, or else "output". */
  pii?: PersonalData | undefined;
}

/** Runs mcprun. Methods reject with a McprunError if mcprun does not come to a result. */
export declare class Mcprun {
  constructor(options?: McprunOptions);
  readonly workflows: Workflows;
  /** Runs a script. A script that fails is a Run with an error. */
  run(code: string, options?: RunOptions): Promise<Run>;
  /** Does a task in words. A task that fails has an error, if mcprun came so far as to select tools. */
  task(words: string, options?: TaskOptions): Promise<Task>;
  /** Lists the customers. Before the first run for one, mcprun says so in an error. */
  customers(): Promise<Customer[]>;
  customer(id: string): Promise<Customer>;
  /** Lists sessions, the most recently used first. */
  sessions(customer?: string): Promise<Session[]>;
  /** Returns a session with its log. */
  session(id: string, customer?: string): Promise<Session>;
}

/** Result, output and error, and all that mcprun said in `details`. */
export interface Outcome {
  readonly result: unknown;
  readonly output: string;
  readonly error: string | undefined;
  readonly success: boolean;
  readonly details: Record<string, unknown>;
}

/** Where a project's files are. Default: as mcpgen.yaml says. */
export interface Places {
  workspaceDir?: string | undefined;
  serversDir?: string | undefined;
  skillsDir?: string | undefined;
}

export declare class FilesystemHelper {
  constructor(places?: Places);
  readonly places: Places;
  /** Returns the flags of mcprun. */
  options(): string[];
}

export interface ExecutorOptions {
  client?: Mcprun | undefined;
  options?: readonly string[] | undefined;
  customer?: string | undefined;
  session?: string | undefined;
}

export interface ExecuteOptions {
  /** Variables of the script. */
  context?: Readonly<Record<string, unknown>> | undefined;
  /** Time of the script, in milliseconds. */
  timeout?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** Executes code in a sandbox. Failures are in `error`; only a missing mcprun and an abort reject. */
export declare class SandboxExecutor {
  constructor(options?: ExecutorOptions);
  execute(code: string, language?: Language, options?: ExecuteOptions): Promise<Outcome>;
}

export interface ExecuteTaskOptions {
  /** Print to standard error what was found, selected and written. */
  verbose?: boolean | undefined;
  language?: Language | undefined;
  /** Time of the whole call, in milliseconds. */
  timeout?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** Does tasks in words. Failures are in `error`; only a missing mcprun and an abort reject. */
export declare class AgentHelper {
  constructor(fsHelper?: FilesystemHelper, executor?: SandboxExecutor);
  executeTask(taskDescription: string, options?: ExecuteTaskOptions): Promise<Outcome>;
  runTask(taskDescription: string, options?: ExecuteTaskOptions): Promise<Outcome>;
  execute(code: string, language?: Language, options?: ExecuteOptions): Promise<Outcome>;
}

export interface AgentSettings extends Places {
  client?: Mcprun | undefined;
  customer?: string | undefined;
  session?: string | undefined;
  /** That of Mcprun, for an agent without a client of its own. */
  pii?: PersonalData | undefined;
}

export declare function createAgent(settings?: AgentSettings): AgentHelper;
/** Does one task with an agent of its own. */
export declare function executeTask(taskDescription: string, options?: ExecuteTaskOptions & AgentSettings): Promise<Outcome>;
