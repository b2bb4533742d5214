if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True: os.write(1, b"x" * 65536)
    os._exit(0)
time.sleep(60)
