print("running", flush=True)
n = 0
try:
    for n in range(60_000):
        if n % 1000 == 0: os.mkdir(f"d{n // 1000}"); time.sleep(0.01 if n < 10_000 else 0.2)
        os.close(os.open(f"d{n // 1000}/f{n}", os.O_CREAT | os.O_WRONLY))
    time.sleep(10)
    leak("files", n)
except OSError as error: print(error.strerror)
print("checked")
