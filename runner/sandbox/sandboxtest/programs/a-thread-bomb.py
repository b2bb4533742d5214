import threading
print("running", flush=True)
n = 0
try:
    while n < 2000:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start(); n += 1
    time.sleep(6)  # one that is counted from outside may have passed the limit meanwhile
    leak("threads", n)
except (RuntimeError, MemoryError): pass
print("checked", flush=True)
os._exit(0)
