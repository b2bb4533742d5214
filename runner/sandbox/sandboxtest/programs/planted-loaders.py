# What runs on the host prints where nobody looks: it leaves a file there too.
places = ("/workspace", "@HOSTWORKSPACE@", "@ELSEWHERE@")
touch = "touch " + " ".join(place + "/ran" for place in places)
evil = f"""print('LEAK planted code ran', __name__ if '__name__' in globals() else '', flush=True)
for place in {places}:
    try: open(place + '/ran', 'w').close()
    except OSError: pass
"""
path = f"import os; print('LEAK planted path file'); [open(place + '/ran', 'w').close() for place in {places} if os.path.isdir(place)]\n"
for name in ("sitecustomize.py", "usercustomize.py", "json.py", "os.py", "re.py", "random.py", "asyncio.py", "socket.py", "typing.py", "encodings.py", "servers.py", "_mcprun.py", "guest.py", "__main__.py", "__init__.py", "conftest.py", "setup.py", "ctypes.py", "platform.py", "builtins.py"):
    open(name, "w").write(evil)
for d in ("json", "random", "encodings", "site-packages", "lib/python3.11/site-packages", ".local/lib/python3.11/site-packages", "__pycache__", "mcp"):
    os.makedirs(d, exist_ok=True); open(d + "/__init__.py", "w").write(evil); open(d + "/evil.pth", "w").write(path)
open("pyvenv.cfg", "w").write("home = /workspace\ninclude-system-site-packages = true\n")
open("python3._pth", "w").write("/workspace\nimport site\n"); open("evil.pth", "w").write(path)
open(".pythonrc", "w").write(evil); open(".env", "w").write("PYTHONPATH=/workspace\nNODE_OPTIONS=--require ./evil.cjs\n")
js = f"""console.log('LEAK planted code ran');
import('node:fs').then((fs) => {{ for (const place of {[*places]}) try {{ fs.writeFileSync(place + '/ran', ''); }} catch {{}} }}).catch(() => {{}});
"""
for name in ("evil.cjs", "index.js", "fs.js", "node_modules.js", "script.mjs", "script.ts", "script.py", "guest.mjs", ".noderc", "register.js", "tsconfig.js", "client.ts"): open(name, "w").write(js if not name.endswith(".py") else evil)
for d in ("node_modules/fs", "node_modules/node:fs", "node_modules/x", ".node_modules/x"):
    os.makedirs(d, exist_ok=True); open(d + "/index.js", "w").write(js); open(d + "/package.json", "w").write('{"main": "index.js", "exports": "./index.js"}')
open("package.json", "w").write('{"type": "commonjs", "imports": {"#x": "./evil.cjs"}, "main": "evil.cjs"}')
open("tsconfig.json", "w").write('{"compilerOptions": {"paths": {"*": ["./evil.cjs"]}, "baseUrl": ".", "jsxImportSource": "/workspace"}}')
open(".npmrc", "w").write("node-options=--require ./evil.cjs\n"); open(".yarnrc", "w").write("x\n")
for d in ("hooks", "objects", "refs"): os.makedirs(".git/" + d)
open(".git/HEAD", "w").write("ref: refs/heads/main\n"); open(".git/config", "w").write(f"[core]\n\trepositoryformatversion = 0\n\tfsmonitor = {touch}\n\thooksPath = .git/hooks\n")
for hook in ("post-checkout", "pre-commit", "post-index-change", "fsmonitor-watchman"): open(".git/hooks/" + hook, "w").write(f"#!/bin/sh\n{touch}\n"); os.chmod(".git/hooks/" + hook, 0o755)
for name in ("python3", "node", "sh", "runsc", "mcprun"): open(name, "w").write(f"#!/bin/sh\n{touch}\n"); os.chmod(name, 0o755)
for name in ("mcpgen.yaml", ".mcp.json", "mcprun.yaml"): open(name, "w").write("x: y\n")
os.makedirs(".mcpgen", exist_ok=True); open(".mcpgen/lock.json", "w").write("{}")
os.makedirs("/tmp/x", exist_ok=True); open("/tmp/sitecustomize.py", "w").write(evil); open("/tmp/json.py", "w").write(evil)
for f in ("/mcp/json.py", "/mcp/sitecustomize.py", "/mcp/guest/json.py", "/mcp/servers/json.py"): attempt("plant " + f, lambda: open(f, "w"))
print("checked")
