for name in os.environ:
    if name not in ("PATH", "HOME", "LANG", "LC_CTYPE", "LC_ALL", "TZ", "HOSTNAME", "TMPDIR", "PWD") and not name.startswith("PYTHON"): leak(name, os.environ[name])
for pid in ["self"] + [n for n in os.listdir("/proc") if n.isdigit()]:
    for name in ("environ", "cmdline", "auxv", "stat", "comm"):
        try: text = open(f"/proc/{pid}/{name}", "rb").read()
        except OSError: continue
        if b"@VARIABLE@" in text or b"MCPRUN_" in text or b"sandboxtest" in text or b"canary-" in text: leak(f"/proc/{pid}/{name}", text)
def own():  # the first environment lies on the stack, whatever the interpreter has removed since
    libc = ctypes.CDLL(None)
    environ = ctypes.POINTER(ctypes.c_char_p).in_dll(libc, "environ")
    i = 0
    while environ[i]:
        if b"@VARIABLE@" in environ[i] or environ[i].startswith(b"MCP"): leak("environ", environ[i])
        i += 1
own()
print("checked")
