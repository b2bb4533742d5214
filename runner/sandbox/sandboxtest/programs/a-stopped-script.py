import signal
print("running", flush=True)
for s in range(1, 65):
    try: signal.signal(s, signal.SIG_IGN)
    except (OSError, ValueError): pass
os.kill(os.getpid(), signal.SIGSTOP)
time.sleep(60)
