print("running", flush=True)
n = 0
try:
    for i in range(400):
        os.close(os.open(f"f{i}", os.O_CREAT | os.O_WRONLY))
        for k in range(200):
            try: os.setxattr(f"f{i}", f"user.k{k}", b"x" * 60000); n += 60000
            except OSError: break
except OSError as error: print(error.strerror)
if n > 200 << 20: leak("bytes in attributes", n)
print("checked")
