print("running", flush=True)
keep = None
while True: keep = (keep, {})
