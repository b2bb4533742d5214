print("running", flush=True)
for size in (1 << 31, 1 << 33, 1 << 40, 1 << 62):
    try: b = bytearray(size); b[::4096] = b"x" * len(b[::4096]); leak("so many bytes", size)
    except (MemoryError, OverflowError): pass
print("checked")
