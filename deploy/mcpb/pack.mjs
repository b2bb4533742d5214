// Packs an MCPB bundle, which Claude Desktop installs: node deploy/mcpb/pack.mjs MCPRUN OS ARCH VERSION
// MCPRUN is the program for that platform, in Go's terms. The bundle is build/mcpb/mcpgen_OS_ARCH.mcpb.
import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const [program, os, arch, version] = process.argv.slice(2);
if (!version) {
  console.error("usage: node deploy/mcpb/pack.mjs MCPRUN OS ARCH VERSION");
  process.exit(2);
}
const here = fileURLToPath(new URL(".", import.meta.url));
const out = join(here, "../../build/mcpb");
const exe = os === "windows" ? ".exe" : "";

const manifest = JSON.parse(readFileSync(join(here, "manifest.json"), "utf8"));
manifest.version = version;
manifest.compatibility.platforms = [os === "windows" ? "win32" : os];
manifest.server.entry_point += exe;
manifest.server.mcp_config.command += exe;

const dir = mkdtempSync(join(tmpdir(), "mcpb-"));
try {
  mkdirSync(join(dir, "bin"));
  cpSync(program, join(dir, "bin", "mcprun" + exe));
  chmodSync(join(dir, "bin", "mcprun" + exe), 0o755);
  cpSync(join(here, "../../LICENSE"), join(dir, "LICENSE"));
  writeFileSync(join(dir, "manifest.json"), JSON.stringify(manifest, null, 2) + "\n");
  mkdirSync(out, { recursive: true });
  // It validates the manifest too.
  const pack = ["exec", "--yes", "--package=@anthropic-ai/mcpb@2.1.2", "--", "mcpb", "pack", dir, join(out, `mcpgen_${os}_${arch}.mcpb`)];
  execFileSync("npm", pack, { stdio: ["ignore", "ignore", "inherit"] });
} finally {
  rmSync(dir, { recursive: true, force: true });
}
