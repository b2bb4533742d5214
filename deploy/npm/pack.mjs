// Packs the npm packages of a release: node deploy/npm/pack.mjs [DIST]
// The binaries and the version are those that GoReleaser left in DIST (build/dist); the packages go to DIST/npm.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const root = join(here, "../..");
const dist = resolve(process.argv[2] ?? join(root, "build/dist"));
const out = join(dist, "npm");
const readJSON = (...path) => JSON.parse(readFileSync(join(...path), "utf8"));
const { version } = readJSON(dist, "metadata.json");

// pack completes the package in DIST/npm/NAME and makes its tarball.
function pack(name, manifest) {
  const dir = join(out, name);
  const common = {
    version,
    license: "MIT",
    homepage: "https://github.com/mcpgen/mcpgen#readme",
    repository: { type: "git", url: "git+https://github.com/mcpgen/mcpgen.git" },
  };
  writeFileSync(join(dir, "package.json"), JSON.stringify({ ...manifest, ...common }, null, 2) + "\n");
  cpSync(join(root, "LICENSE"), join(dir, "LICENSE"));
  execFileSync("npm", ["pack", "--silent", "--pack-destination", out], { cwd: dir, stdio: ["ignore", "inherit", "inherit"] });
}

rmSync(out, { recursive: true, force: true });

// A package for each platform: npm installs the one whose os and cpu are the machine's, and with it TypeScript's native compiler. An
// installation without that one works too.
const { typescript } = readJSON(root, "testdata/npm/package.json").dependencies; // tested, and pinned by mcprun tools install too
const platforms = new Map();
for (const binary of readJSON(dist, "artifacts.json").filter((a) => a.type === "Binary")) {
  const os = binary.goos === "windows" ? "win32" : binary.goos;
  const cpu = binary.goarch === "amd64" ? "x64" : binary.goarch;
  const name = `@mcpgen/${os}-${cpu}`;
  platforms.set(name, {
    name, description: `mcpgen and mcprun for ${os} on ${cpu}`, os: [os], cpu: [cpu], preferUnplugged: true,
    optionalDependencies: { [`@typescript/typescript-${os}-${cpu}`]: typescript },
  });
  mkdirSync(join(out, name, "bin"), { recursive: true });
  cpSync(join(root, binary.path), join(out, name, "bin", basename(binary.path)));
}
for (const manifest of platforms.values()) pack(manifest.name, manifest);

const exactly = (names) => Object.fromEntries([...names].sort().map((name) => [name, version]));
for (const name of ["mcpgen", "mcprun"]) {
  cpSync(join(here, name), join(out, name), { recursive: true });
  const manifest = { ...readJSON(here, name, "package.json"), engines: { node: ">=18" } };
  if (name === "mcpgen") {
    manifest.optionalDependencies = exactly(platforms.keys());
    cpSync(join(root, "README.md"), join(out, name, "README.md"));
  } else {
    manifest.dependencies = exactly(["mcpgen"]);
  }
  pack(name, manifest);
}

// The module for programs.
cpSync(join(here, "host"), join(out, "@mcpgen/host"), { recursive: true });
pack("@mcpgen/host", { ...readJSON(here, "host", "package.json"), engines: { node: ">=20" } });
