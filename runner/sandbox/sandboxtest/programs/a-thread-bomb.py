import threading
print("running", flush=True)
n = 0
try:
    while n < 2000:
        threading.Thread(target=time.sleep, args=(20,), daemon=True).start(); n += 1
    leak("threads", n)
except (RuntimeError, MemoryError): pass
print("checked", flush=True)
os._exit(0)
