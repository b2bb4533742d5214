import subprocess
code = "import os, signal, time\nfor s in range(1, 65):\n  try: signal.signal(s, signal.SIG_IGN)\n  except (OSError, ValueError): pass\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\nwhile True: pass"
subprocess.run([sys.executable, "-c", code, "@ID@"])
subprocess.Popen([sys.executable, "-c", "while True: pass", "@ID@"], start_new_session=True)
subprocess.Popen([sys.executable, "-c", "import os, time\nos.close(0); os.close(1); os.close(2)\ntime.sleep(600)", "@ID@"], start_new_session=True, cwd="/")
pid = os.fork()
if pid == 0:  # stopped, and a parent of a dead child
    if os.fork() == 0: os._exit(0)
    os.kill(os.getpid(), 19)
print("checked", flush=True)
