# What only looks large must not end a run, nor fill anything.
for name in "abcdef":
    open(name, "wb").truncate(40 << 20)
    os.link(name, name + " again"); os.symlink(name, name + " by name")
time.sleep(1)
print("checked")
