const fs = await mod("node:fs");
const js = "console.log('LEAK planted code ran');\n", py = "print('LEAK planted code ran')\n";
const put = (name: string, text: string) => { try { const at = name.lastIndexOf("/"); if (at > 0) fs.mkdirSync(name.slice(0, at), { recursive: true }); fs.writeFileSync(name, text); fs.chmodSync(name, 0o755); } catch {} };
for (const name of ["evil.cjs", "index.js", "fs.js", "script.mjs", "script.ts", "script.js", "guest.mjs", "register.js", "client.ts", "node_modules/fs/index.js", "node_modules/x/index.js", "node_modules/servers/client.ts", ".node_modules/x.js", "/tmp/node_modules/fs/index.js", "/tmp/script.js", "/tmp/index.js", "/tmp/package.json"]) put(name, js);
for (const name of ["sitecustomize.py", "usercustomize.py", "json.py", "re.py", "servers.py", "random.py", "encodings/__init__.py", "site-packages/evil.pth", "evil.pth", "guest.py"]) put(name, py);
put("package.json", '{"type": "commonjs", "imports": {"#x": "./evil.cjs"}, "main": "evil.cjs"}');
put("tsconfig.json", '{"compilerOptions": {"paths": {"*": ["./evil.cjs"]}, "baseUrl": "."}, "extends": "@CANARY@"}');
put(".npmrc", "node-options=--require /workspace/evil.cjs\n"); put(".env", "NODE_OPTIONS=--require /workspace/evil.cjs\n");
put(".git/hooks/post-checkout", "#!/bin/sh\ntouch /workspace/ran\n"); put(".git/config", "[core]\n\tfsmonitor = touch /workspace/ran\n");
for (const name of ["python3", "node", "sh", "runsc"]) put(name, "#!/bin/sh\ntouch /workspace/ran\n");
put("mcpgen.yaml", "x: y\n"); put(".mcp.json", "x");
process.env.NODE_OPTIONS = "--require /workspace/evil.cjs";
for (const f of ["/mcp/servers/index.js", "/mcp/guest/evil.mjs", "/mcp/node_modules/x/index.js", "/node_modules/fs/index.js"]) await attempt("plant " + f, () => fs.writeFileSync(f, js));
// Of this process only; of the next nothing must be left.
(Object.prototype as any).polluted = "x"; (globalThis as any).planted = "x";
console.log("checked");
