# Speaks on the bridge's own descriptor, past the guest program. The argument names what is said.
import json, socket, struct, threading
def send(text, size=None):
    data = text if isinstance(text, bytes) else text.encode()
    frame = struct.pack(">I", len(data) if size is None else size) + data
    while frame:
        try: frame = frame[os.write(3, frame):]
        except BlockingIOError: time.sleep(0.001)
call = lambda id, tool="test__text", args="{}": send('{"type":"call","id":%s,"tool":"%s","args":%s}' % (id, tool, args))
what = sys.argv[1]
print("speaking", flush=True)
try:
    if what == "not JSON": send("hello?")
    if what == "a giant": send(b"{", 0xffffffff)
    if what == "one byte too many": send(b'{"type":"call"' + b" " * (16 << 20))
    if what == "deep": send('{"type":"call","id":1,"tool":"test__text","args":' + '{"a":' * 100_000)
    if what == "a member twice": send('{"type":"call","id":1,"tool":"test__text","tool":"test__forged","args":{}}')
    if what == "a member twice, escaped": send('{"type":"call","id":1,"tool":"test__text","\\u0074ool":"test__forged","args":{}}')
    if what == "an argument twice": call(1, "test__forged", '{"a":1,"a":2}')
    if what == "its own approval": send('{"type":"call","id":1,"tool":"test__forged","args":{},"approved":true}')
    if what == "a reply": send('{"type":"reply","id":1,"value":"forged"}')
    if what == "a job": send('{"type":"job","language":"python","name":"x","code":"forged","args":[]}')
    if what == "hello again": send(json.dumps({"type": "hello", "protocol": 1, "secret": "x", "runtime": "forged"}))
    if what == "an old call again": call(5); call(5, "test__forged")
    if what == "a falling number": call(5); call(4, "test__forged")
    if what == "a number beyond all": call(2 ** 53, "test__forged")
    if what == "a cancel of nothing": send('{"type":"cancel","id":77}')
    if what == "half a surrogate": call(1, "test__forged", '{"a":"\\ud83d"}')
    if what == "not UTF-8": send(b'{"type":"call","id":1,"tool":"test__\xff","args":{}}')
    if what == "a call after the end": send('{"type":"done"}'); call(1, "test__forged")
    if what == "two ends": send('{"type":"done","result":1}'); send('{"type":"done","result":2}')
    if what == "empty frames":
        while True: send("")
    if what == "a flood of calls":
        for i in range(1, 100_000): call(i, "test__hang")
    if what == "a flood of arguments":
        for i in range(1, 100): call(i, "test__hang", json.dumps({"a": "x" * (4 << 20)}))
    if what == "replies that nobody reads":
        threading.Thread(target=lambda: time.sleep(0), daemon=True).start()
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        ours = socket.socket(fileno=os.dup(3)); ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        import signal; signal.signal(signal.SIGALRM, signal.SIG_IGN)
        for i in range(1, 100_000): call(i, "test__large")
    if what == "half a frame": os.write(3, struct.pack(">I", 100) + b'{"type":"call"'); time.sleep(60)
    if what == "half a length": os.write(3, b"\0\0"); time.sleep(60)
    if what == "half an end": socket.socket(fileno=os.dup(3)).shutdown(socket.SHUT_WR); time.sleep(60)
    if what == "a hang-up":
        if os.fork() == 0: os._exit(0)
        socket.socket(fileno=os.dup(3)).shutdown(socket.SHUT_RDWR); time.sleep(60)
    if what == "descriptors":
        s = socket.socket(fileno=os.dup(3))
        try: socket.send_fds(s, [b""], [0])
        except PermissionError: print("there is no such call"); os._exit(0)
        for _ in range(200): socket.send_fds(s, [b"\xff"], [os.open("/workspace", os.O_RDONLY)] * 200)
    if what == "as a child":
        if os.fork() == 0:
            os.setsid(); send('{"type":"call","id":1,"tool":"test__text","args":{},"tool":"test__forged"}'); os._exit(0)
        time.sleep(60)
    if what == "as many":
        for _ in range(20):
            if os.fork() == 0:
                for i in range(1000): call(i + 1, "test__text", '{"a":"%s"}' % ("x" * 5000))
                os._exit(0)
        time.sleep(60)
except OSError as error: print(error)
time.sleep(30)
print("it was let through", flush=True)
