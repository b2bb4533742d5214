line = b"x" * 4095 + b"\n"
while True: os.write(1, line)
