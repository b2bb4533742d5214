print("running", flush=True)
keep = []
while True: keep.append("é" * (1 << 20) + str(len(keep)))
