import stat
harmless = {(1, 3), (1, 5), (1, 7), (1, 8), (1, 9), (5, 0), (5, 2)}  # null, zero, full, random, urandom, tty, ptmx
for folder, dirs, files in os.walk("/"):
    if folder in ("/proc", "/sys", "/dev/pts", "/workspace", "/dev/fd"):
        dirs.clear(); continue
    for name in dirs + files:
        path = os.path.join(folder, name)
        try: st = os.lstat(path)
        except OSError: continue
        if "sandboxtest" in name: leak("the host's folder", path)
        if stat.S_ISBLK(st.st_mode): leak("a disk", path)
        if stat.S_ISSOCK(st.st_mode): leak("a socket", path)
        if stat.S_ISCHR(st.st_mode) and (os.major(st.st_rdev), os.minor(st.st_rdev)) not in harmless and os.major(st.st_rdev) != 136: leak("a device", path)
        if stat.S_ISREG(st.st_mode) and st.st_mode & 0o6000: leak("a set-user-ID program", path)
        if stat.S_ISREG(st.st_mode) and name.startswith(("id_rsa", "id_ed25519", "ssh_host_")) or name in ("docker.sock", "shadow", "sudoers"): leak("a secret", path)
print("checked")
