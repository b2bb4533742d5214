print("running", flush=True)
while True: pass
