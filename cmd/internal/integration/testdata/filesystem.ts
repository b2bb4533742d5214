// Calls the tools of @modelcontextprotocol/server-filesystem below the folder that is the first argument.
import { MCPArgumentError, MCPError, MCPToolError } from "./servers/client.ts";
import * as files from "./servers/filesystem/index.ts";

declare const process: { argv: string[] };
const dir = process.argv[2] ?? "";
const note = `${dir}/notes/a b.md`;
const text = "first\nsecond ü\nthird\n";

const failure = async (kind: new (...args: never[]) => MCPError, answer: Promise<unknown>): Promise<unknown> => {
  try {
    return { answered: await answer };
  } catch (err) {
    return err instanceof kind ? { name: err.name, denied: err.message.includes("outside allowed") } : { unexpected: String(err) };
  }
};

await files.createDirectory({ path: `${dir}/notes` });
await files.writeFile({ path: note, content: text });
const whole = await files.readTextFile({ path: note });
const head = await files.readTextFile({ path: note, head: 1 });
const edited = await files.editFile({ path: note, edits: [{ oldText: "second ü", newText: "SECOND" }] });
await files.moveFile({ source: note, destination: `${dir}/notes/moved.md` });
await files.writeFile({ path: `${dir}/pixel.png`, content: "not a picture" });
const info = await files.getFileInfo({ path: `${dir}/notes/moved.md` });
const media = await files.readMediaFile({ path: `${dir}/pixel.png` });
const several = await files.readMultipleFiles({ paths: [`${dir}/notes/moved.md`, `${dir}/nothing.md`] });
const tree = JSON.parse((await files.directoryTree({ path: dir })).content) as { name: string }[];

export const result = {
  whole: whole.content === text,
  head: head.content,
  diff: edited.content.split("\n").filter((line) => /^[-+][^-+]/.test(line)),
  list: (await files.listDirectory({ path: dir })).content.split("\n").sort(),
  sizes: (await files.listDirectoryWithSizes({ path: `${dir}/notes`, sortBy: "size" })).content.includes("moved.md"),
  found: (await files.searchFiles({ path: dir, pattern: "**/*.md" })).content.replaceAll(dir, "~"),
  size: /size: (\d+)/.exec(info.content)?.[1],
  media: media.content.map((block) => block.type),
  several: several.content.includes("SECOND") && several.content.includes("nothing.md: Error"),
  tree: tree.map((entry) => entry.name).sort(),
  allowed: (await files.listAllowedDirectories()).content.startsWith("Allowed directories:"),
  toolError: await failure(MCPToolError, files.readTextFile({ path: "/etc/hostname" })),
  argumentError: await failure(MCPArgumentError, files.writeFile({ path: note } as never)),
};
