// Calls the tools of @modelcontextprotocol/server-everything and leaves what they answered.
import { MCPArgumentError, MCPError, MCPToolError } from "./servers/client.ts";
import {
  echo, getAnnotatedMessage, getEnv, getResourceLinks, getResourceReference, getStructuredContent, getSum,
  getTinyImage, gzipFileAsResource, triggerLongRunningOperation,
} from "./servers/everything/index.ts";

type Block = {
  type: string;
  text?: string;
  data?: string;
  mimeType?: string;
  uri?: string;
  annotations?: { audience: string[]; priority: number };
  resource?: { uri: string; mimeType: string; blob?: string };
};
const blocks = async (answer: Promise<unknown>): Promise<Block[]> => (await answer) as Block[];
const failure = async (kind: new (...args: never[]) => MCPError, answer: Promise<unknown>): Promise<unknown> => {
  try {
    return { answered: await answer };
  } catch (err) {
    if (!(err instanceof kind)) return { unexpected: String(err) };
    return { name: err.name, kind: err.kind, server: err.server, tool: err.tool, blocks: err.content.length };
  }
};

const weather = await getStructuredContent({ location: "New York" });
const image = await blocks(getTinyImage());
const annotated = await blocks(getAnnotatedMessage({ messageType: "error", includeImage: true }));
const links = await blocks(getResourceLinks({ count: 4 }));
const reference = await blocks(getResourceReference({ resourceType: "Blob", resourceId: 7 }));
const zipped = await blocks(gzipFileAsResource({ name: "hi.gz", data: "data:text/plain;base64,aGk=", outputType: "resource" }));
const [first, second] = await Promise.all([echo({ message: "one" }), echo({ message: "zwei ü 🙂" })]);

console.log(`${weather.conditions}, ${image.length} blocks ü`);
export const result = {
  echo: [first, second],
  sum: await getSum({ a: 2, b: 3.5 }),
  weather: { temperature: weather.temperature, conditions: weather.conditions, humidity: weather.humidity },
  image: { type: image[1]?.type, mimeType: image[1]?.mimeType, png: (image[1]?.data ?? "").startsWith("iVBORw0KGgo") },
  annotated: { types: annotated.map((block) => block.type), text: annotated[0]?.text, annotations: annotated[0]?.annotations },
  links: links.filter((block) => block.type === "resource_link").map((block) => block.uri),
  reference: reference[1]?.resource?.uri,
  zipped: { uri: zipped[0]?.resource?.uri, mimeType: zipped[0]?.resource?.mimeType, blob: (zipped[0]?.resource?.blob ?? "").startsWith("H4sI") },
  long: await triggerLongRunningOperation({ duration: 0.2, steps: 2 }),
  secret: String(await getEnv()).includes("canary"),
  toolError: await failure(MCPToolError, getResourceReference({ resourceType: "Text", resourceId: -1 })),
  argumentError: await failure(MCPArgumentError, getSum({ a: "two", b: 3 } as never)),
};
