// What a server of others offers beside plain calls: pictures, resources, prompts, questions, and calls that take long.
import fs from "node:fs";
import { MCPError, callMCPTool } from "./servers/client.ts";
import { getTinyImage, prompts, resources, triggerElicitationRequest, triggerLongRunningOperation } from "./servers/everything";
import { listFiles, readFile, vars, writeFile } from "mcprun";

const slow = { duration: 20, steps: 2 };
const failure = async (call: Promise<unknown>): Promise<string> => {
  try {
    await call;
    return "it answered";
  } catch (err) {
    return err instanceof MCPError ? err.name : (err as Error).name;
  }
};

const image = (await getTinyImage()) as any[];
image.find((block) => block.type === "image").save("pictures/tiny.png");
const listed = await resources.list();
const document = listed.find((each) => each.mimeType === "text/markdown") ?? listed[0]!;
const contents = await resources.read(document.uri);
const prompt = await prompts.get("args-prompt", { city: "Oslo" });
const asked = (await triggerElicitationRequest({})) as any;
const stop = new AbortController();
setTimeout(() => stop.abort(), 300);
await writeFile("notes/one.txt", "one");

console.log(`${listed.length} resources`);
export const result = {
  png: fs.readFileSync("pictures/tiny.png").subarray(1, 4).toString("latin1"),
  text: typeof (contents[0] as any).text === "string" && (contents[0] as any).text.length > 0,
  prompts: (await prompts.list()).map((each) => each.name).sort(),
  prompt: JSON.stringify(prompt.messages[0]).includes("Oslo"),
  asked: JSON.stringify(asked).includes("Ada"),
  long: String(await triggerLongRunningOperation({ duration: 1, steps: 4 })).includes("Duration: 1 seconds"),
  timeout: await failure(callMCPTool("everything__trigger_long_running_operation", slow, { timeoutMs: 300 })),
  aborted: (await failure(callMCPTool("everything__trigger_long_running_operation", slow, { signal: stop.signal }))) !== "it answered",
  note: await readFile("notes/one.txt"),
  files: await listFiles("**"),
  city: vars["city"],
};
