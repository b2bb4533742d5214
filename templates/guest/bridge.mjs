// The guest's end of the bridge: frames, and the calls that wait for a reply. See guest.mjs.
import { Buffer } from "node:buffer";
import net from "node:net";
import { encoder, NotJSON } from "./encode.mjs";
import { values } from "./values.mjs";

const MAX_FRAME = 16 * 1024 * 1024;
const MAX_CALLS = 128;
const MAX_CALL_BYTES = 32 * 1024 * 1024;
const RECEIVE = 64 * 1024;

/** An error in the form that crosses the bridge. */
const failure = (fields, tool) => ({
  kind: undefined, message: undefined, server: undefined, tool, content: undefined, code: undefined, data: undefined, retryable: undefined, ...fields,
});
const refusal = (message, tool) => failure({ kind: "argument", message }, tool);

/** The connection, its frames, and the calls that wait for a reply. */
export class Bridge {
  #socket;
  #lost; // called once, if the connection is lost before done was sent
  #head = Buffer.alloc(4); // the length of the frame that is arriving
  #frame; // its bytes; undefined: the length has not arrived
  #have = 0; // how much of the head or the frame has arrived
  #lastId = 0;
  #waiting = new Map(); // id → {resolve, reject, tool, bytes}
  #bytes = 0; // of the arguments of the calls in #waiting
  #queue = []; // calls that are sent when others have been answered
  #wordArrived;
  #jobArrived;
  #byeArrived;
  #pumping = false;
  closed = false; // done was said
  hasJob = false;
  step = undefined; // once a step has run: returns the number of the one whose function calls it
  place = undefined; // with job.lines: returns the line of the script that makes a call
  word = new Promise((resolve) => (this.#wordArrived = resolve)); // of the host: the job, or that there is no job yet
  job = new Promise((resolve) => (this.#jobArrived = resolve));
  bye = new Promise((resolve) => (this.#byeArrived = resolve));

  /** made is the result of values(); encode converts values to JSON. io.link, if it is there, connects instead of a socket. */
  constructor(address, secret, io, lost) {
    this.#lost = lost;
    this.made = values({ ...io, request: (method, params) => this.request(method, params) });
    this.encode = encoder(this.made);
    // One buffer for all input, without streams, which would take most of the time of a small reply.
    const onread = { buffer: Buffer.allocUnsafe(RECEIVE), callback: (size, buffer) => this.#receive(buffer.subarray(0, size)) };
    if (io.link) this.#socket = io.link(address, (chunk) => this.#receive(chunk), () => this.#gone());
    else if (address.startsWith("unix:")) this.#socket = net.connect({ path: address.slice("unix:".length), onread });
    else if (/^fd:\d+$/.test(address)) this.#socket = new net.Socket({ fd: Number(address.slice("fd:".length)), readable: true, writable: true, onread });
    else throw new Error(`the bridge's address has an unknown form: ${address}`);
    this.#socket.on("error", () => this.#gone());
    this.#socket.on("end", () => this.#gone());
    this.#socket.on("close", () => this.#gone());
    this.#socket.resume();
    this.#send(JSON.stringify({ type: "hello", protocol: 1, secret, runtime: `node ${process.versions.node}` }));
  }

  #gone() {
    if (!this.closed) this.#lost();
    this.#byeArrived();
  }

  #send(text) {
    const size = Buffer.byteLength(text);
    const frame = Buffer.allocUnsafe(4 + size);
    frame.writeUInt32BE(size, 0);
    frame.write(text, 4);
    this.#socket.write(frame);
  }

  #receive(chunk) {
    for (let at = 0; at < chunk.length; ) {
      const into = this.#frame ?? this.#head;
      const copied = chunk.copy(into, this.#have, at);
      at += copied;
      this.#have += copied;
      if (this.#have < into.length) return true;
      this.#have = 0;
      if (this.#frame === undefined) {
        this.#frame = Buffer.allocUnsafe(this.#head.readUInt32BE(0));
        continue;
      }
      const frame = this.#frame;
      this.#frame = undefined;
      this.#dispatch(frame.toString("utf8"));
    }
    return true;
  }

  #dispatch(text) {
    const frame = this.made.parse(text);
    if (frame.type === "reply") this.#settle(frame);
    else if (frame.type === "job") {
      this.hasJob = true;
      this.#jobArrived(frame);
      this.#wordArrived();
    } else if (frame.type === "wait") this.#wordArrived();
    else if (frame.type === "bye") this.#byeArrived();
  }

  #settle(frame) {
    const call = this.#waiting.get(frame.id);
    if (!call) return; // cancelled meanwhile
    this.#forget(frame.id, call);
    this.#pump();
    if (frame.error) call.reject(this.made.fromResult(failure(frame.error, call.tool), call.tool));
    else call.resolve(call.finish(frame.value, frame.as));
  }

  #forget(id, call) {
    this.#waiting.delete(id);
    this.#bytes -= call.bytes;
    call.done();
    if (this.#waiting.size === 0) this.#socket.unref();
  }

  /** Sends waiting calls while the limits allow it. */
  #pump() {
    while (this.#queue.length > 0 && this.#waiting.size < MAX_CALLS) {
      const call = this.#queue[0];
      if (this.#waiting.size > 0 && this.#bytes + call.bytes > MAX_CALL_BYTES) return;
      this.#queue.shift();
      call.id = ++this.#lastId;
      if (this.#waiting.size === 0) this.#socket.ref(); // keeps the process alive until the reply
      this.#waiting.set(call.id, call);
      this.#bytes += call.bytes;
      this.#send(`{"type":"${call.type}","id":${call.id},${call.text}}`);
    }
  }

  #cancel(call, reason) {
    const queued = this.#queue.indexOf(call);
    if (queued >= 0) this.#queue.splice(queued, 1);
    else if (this.#waiting.has(call.id)) {
      this.#send(`{"type":"cancel","id":${call.id}}`);
      this.#forget(call.id, call);
      this.#pumpLater();
    } else return;
    call.reject(reason);
  }

  /** Not at once: the same signal may cancel other waiting calls. */
  #pumpLater() {
    if (this.#pumping) return;
    this.#pumping = true;
    setImmediate(() => {
      this.#pumping = false;
      this.#pump();
    });
  }

  /** Calls a tool. Rejects with a plain object {kind, message, server, tool, content, code, data, retryable}. */
  async call(tool, args = {}, { signal, timeoutMs, raw } = {}) {
    if (typeof tool !== "string") throw refusal("the tool id is not a string");
    let options = "";
    if (timeoutMs !== undefined) {
      if (typeof timeoutMs !== "number" || !(timeoutMs > 0)) throw refusal("timeoutMs must be a number of milliseconds above zero", tool);
      options = `"timeoutMs":${Math.min(Math.ceil(timeoutMs), 2 ** 31 - 1)}`;
    }
    if (raw) options += `${options && ","}"raw":true`;
    const finish = (value, as) => (raw && !as ? this.made.fromResult(value, tool) : this.made.make(value, as, tool));
    return this.#ask("call", tool, args, "tool", "args", options && `,"options":{${options}}`, signal, finish);
  }

  /** Sends a request that is not a tool call. Rejects as call does. */
  async request(method, params = {}, { signal } = {}) {
    if (typeof method !== "string") throw refusal("the method is not a string");
    return this.#ask("request", method, params, "method", "params", "", signal, (value) => this.made.fromRequest(method, value, params));
  }

  #ask(type, name, args, nameMember, argsMember, options, signal, finish) {
    const tool = type === "call" ? name : undefined;
    if (this.closed) throw failure({ kind: "cancelled", message: "the script has ended" }, tool);
    if (tool !== undefined && typeof args === "string") {
      throw refusal('the input is not an object; a call has the tool\'s id and its input: callMCPTool("server__tool", { … })', tool);
    }
    if (args === null || typeof args !== "object" || Array.isArray(args)) throw refusal("the input is not an object", tool);
    let body;
    try {
      body = this.encode(args, "input");
      name = this.encode(name, "the tool id");
    } catch (error) {
      if (error instanceof NotJSON) throw refusal(error.message, tool);
      throw error; // thrown by a getter or a toJSON of the script's own
    }
    const bytes = Buffer.byteLength(body);
    if (bytes + name.length + 200 > MAX_FRAME) throw refusal(`the input has ${bytes} bytes; one call can have at most ${MAX_FRAME}`, tool);
    if (body[0] !== "{") throw refusal("the input is not an object", tool);
    signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
      const at = this.place?.(), step = this.step?.();
      const text = `"${nameMember}":${name},"${argsMember}":${body}${options}${step ? `,"step":${step}` : ""}${at ? `,"at":${JSON.stringify(at)}` : ""}`;
      const call = { id: 0, type, tool, text, bytes, resolve, reject, finish, done: () => {} };
      if (signal) {
        const abort = () => this.#cancel(call, signal.reason);
        signal.addEventListener("abort", abort, { once: true });
        call.done = () => signal.removeEventListener("abort", abort);
      }
      this.#queue.push(call);
      this.#pump();
    });
  }

  /** Sends done, once. Returns false if the frame is too large. The write is synchronous if the kernel has room, so it works in an exit handler. */
  done(members) {
    if (this.closed) return true;
    this.closed = true;
    this.#socket.ref();
    const text = `{"type":"done"${members}}`;
    const fits = Buffer.byteLength(text) <= MAX_FRAME;
    this.#send(fits ? text : '{"type":"done"}');
    this.#socket.flush?.();
    return fits;
  }

  /** Returns the tools of the calls without a reply. */
  get openTools() {
    return [...this.#waiting.values(), ...this.#queue].flatMap(({ tool }) => tool ?? []);
  }

  /** Reports whether everything sent has been written. */
  get flushed() {
    return !this.#socket.connecting && this.#socket.writableLength === 0;
  }

  /** Stops keeping the process alive, unless a call waits for its reply. */
  idle() {
    this.#socket.unref();
  }

  /** Keeps the process alive. */
  busy() {
    this.#socket.ref();
  }
}
