print("running", flush=True)
n = 0
try:
    for i in range(100):
        with open(f"part{i}", "wb") as f:
            for _ in range(8): n += f.write(b"x" * (1 << 20))
        if i > 4: time.sleep(0.02 if i < 10 else 0.3)  # so slowly that a watch is not late by more than the case allows
except OSError as error: print(error.strerror)
if n > 700 << 20: leak("bytes", n)
print("checked")
