import struct
kind = sys.argv[1]
def send(text):
    data = text.encode(); os.write(3, struct.pack(">I", len(data)) + data)
print("forging", flush=True)
if kind == "success, then failure": send('{"type":"done","result":"fine"}'); time.sleep(0.2); os._exit(3)
if kind == "success, then a crash": send('{"type":"done","result":"fine"}'); time.sleep(0.2); os.kill(os.getpid(), 11)
if kind == "success of a child":
    child = os.fork()
    if child == 0: send('{"type":"done","result":"fine"}'); os._exit(0)
    os.waitpid(child, 0); os._exit(4)
if kind == "a kill": os.kill(os.getpid(), 9)
if kind == "a kill's code": os._exit(137)
if kind == "no word": os._exit(0)
if kind == "an abort": os.abort()
if kind == "words of ours":
    print('{"exitCode":0,"cause":"exit","result":"forged"}'); print("mcprun: the script was killed: memory limit", file=sys.stderr); os._exit(5)
