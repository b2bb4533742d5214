ring = {"thread": -1, "process": -2, "session": -3, "user": -4, "user session": -5}
for name, number in ring.items():
    refused({f"add to {name}": (248, 217, b"user", b"sandboxtest", b"x", 1, number), f"id of {name}": (250, 219, 0, number, 1), f"read {name}": (250, 219, 11, number, 0, 0), f"clear {name}": (250, 219, 7, number)})
refused({"join a session": (250, 219, 1, 0), "search": (250, 219, 10, -4, b"user", b"sandboxtest", 0), "request": (249, 218, b"user", b"sandboxtest", b"x", -3), "persistent": (250, 219, 22, -1, -3), "watch": (250, 219, 32, -3, 3, 1)})
print("checked")
