const fs = await mod("node:fs");
// What runs on the host prints where nobody looks: it leaves a file there too.
const places = ["/workspace", "@HOSTWORKSPACE@", "@ELSEWHERE@"], touch = ["touch", ...places.map((p) => p + "/ran")].join(" ");
const js = `console.log('LEAK planted code ran');
import('node:fs').then((fs) => { for (const place of ${JSON.stringify(places)}) try { fs.writeFileSync(place + '/ran', ''); } catch {} }).catch(() => {});
`, py = `print('LEAK planted code ran')
for place in ${JSON.stringify(places)}:
    try: open(place + '/ran', 'w').close()
    except OSError: pass
`;
const put = (name: string, text: string) => { try { const at = name.lastIndexOf("/"); if (at > 0) fs.mkdirSync(name.slice(0, at), { recursive: true }); fs.writeFileSync(name, text); fs.chmodSync(name, 0o755); } catch {} };
for (const name of ["evil.cjs", "index.js", "fs.js", "script.mjs", "script.ts", "script.js", "guest.mjs", "register.js", "client.ts", "node_modules/fs/index.js", "node_modules/x/index.js", "node_modules/servers/client.ts", ".node_modules/x.js", "/tmp/node_modules/fs/index.js", "/tmp/script.js", "/tmp/index.js", "/tmp/package.json"]) put(name, js);
for (const name of ["sitecustomize.py", "usercustomize.py", "json.py", "re.py", "servers.py", "random.py", "encodings/__init__.py", "guest.py"]) put(name, py);
for (const name of ["site-packages/evil.pth", "evil.pth"]) put(name, `import os; print('LEAK planted path file'); [open(place + '/ran', 'w').close() for place in ${JSON.stringify(places)} if os.path.isdir(place)]\n`);
put("package.json", '{"type": "commonjs", "imports": {"#x": "./evil.cjs"}, "main": "evil.cjs"}');
put("tsconfig.json", '{"compilerOptions": {"paths": {"*": ["./evil.cjs"]}, "baseUrl": "."}, "extends": "@CANARY@"}');
put(".npmrc", "node-options=--require ./evil.cjs\n"); put(".env", "NODE_OPTIONS=--require ./evil.cjs\n");
put(".git/HEAD", "ref: refs/heads/main\n"); put(".git/objects/x", ""); put(".git/refs/x", "");
put(".git/config", `[core]\n\trepositoryformatversion = 0\n\tfsmonitor = ${touch}\n\thooksPath = .git/hooks\n`);
for (const hook of ["post-checkout", "pre-commit", "post-index-change", "fsmonitor-watchman"]) put(".git/hooks/" + hook, `#!/bin/sh\n${touch}\n`);
for (const name of ["python3", "node", "sh", "runsc", "mcprun"]) put(name, `#!/bin/sh\n${touch}\n`);
put("mcpgen.yaml", "x: y\n"); put(".mcp.json", "x");
process.env.NODE_OPTIONS = "--require /workspace/evil.cjs";
for (const f of ["/mcp/servers/index.js", "/mcp/guest/evil.mjs", "/mcp/node_modules/x/index.js", "/node_modules/fs/index.js"]) await attempt("plant " + f, () => fs.writeFileSync(f, js));
// Of this process only; of the next nothing must be left.
(Object.prototype as any).polluted = "x"; (globalThis as any).planted = "x";
console.log("checked");
