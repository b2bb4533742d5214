// The sandbox's end of the run's proxy: programs connect to a port of this machine, and the bridge carries what they say to the host. It works
// in a thread of its own, which holds the bridge's connection, so that a program that the script waits for synchronously gets answers too.
import { Buffer } from "node:buffer";
import http from "node:http";
import https from "node:https";
import net from "node:net";
import tls from "node:tls";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

const HOST = "127.0.0.1";
const PORT = 3128;
const WINDOW = 256 * 1024; // bytes of a connection on their way in one direction
const MOST = 64 * 1024; // bytes of one frame
const PARALLEL = 64; // connections at once: the host accepts no more, so further ones wait
const FLUSH_TIME = 2000;

/** The connection of the bridge, as the script's thread sees it. */
export class Link {
  #worker;
  #sent = 0;
  #written = new Int32Array(new SharedArrayBuffer(4)); // frames of this thread that were written
  connecting = false;

  constructor(address, receive, gone) {
    const fd = Number(address.slice("net:fd:".length));
    this.#worker = new Worker(new URL(import.meta.url), { workerData: { mcprun: true, fd, written: this.#written }, env: {}, execArgv: [], stdin: false });
    this.#worker.on("message", (chunk) => (chunk === null ? gone() : receive(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length))));
    this.#worker.on("error", (error) => {
      process.stderr.write(`mcprun: the network of the sandbox broke: ${error?.message}\n`);
      gone();
    });
    this.#worker.on("exit", gone);
  }

  write(frame) {
    this.#sent++;
    this.#worker.postMessage(frame);
  }

  /** Waits until everything has been written: in an exit handler nothing else would. */
  flush() {
    const end = Date.now() + FLUSH_TIME;
    for (let n = Atomics.load(this.#written, 0); n < this.#sent && Date.now() < end; n = Atomics.load(this.#written, 0)) Atomics.wait(this.#written, 0, n, 100);
  }

  get writableLength() {
    return this.#sent - Atomics.load(this.#written, 0);
  }

  on() {}
  resume() {}

  ref() {
    this.#worker.ref();
  }

  unref() {
    this.#worker.unref();
  }
}

/** The thread that holds the bridge's connection. */
class Network {
  #bridge;
  #connections = new Map(); // id → {socket, credit, over}
  #waiting = []; // sockets that are not connections yet
  #last = 0;
  #input = Buffer.alloc(0);

  constructor({ fd, written }) {
    this.#bridge = new net.Socket({ fd, readable: true, writable: true });
    const gone = () => parentPort.postMessage(null);
    for (const event of ["error", "end", "close"]) this.#bridge.on(event, gone);
    this.#bridge.on("data", (chunk) => this.#receive(chunk));
    parentPort.on("message", (frame) => {
      this.#bridge.write(frame, () => {
        Atomics.add(written, 0, 1);
        Atomics.notify(written, 0);
      });
    });
    net.createServer({ allowHalfOpen: true }, (socket) => {
      this.#waiting.push(socket);
      this.#next();
    }).listen(PORT, HOST);
  }

  #receive(chunk) {
    this.#input = this.#input.length === 0 ? chunk : Buffer.concat([this.#input, chunk]);
    for (let size; this.#input.length >= 4 && this.#input.length >= (size = 4 + this.#input.readUInt32BE(0)); this.#input = this.#input.subarray(size)) {
      const frame = this.#input.subarray(0, size);
      const start = frame.toString("latin1", 4, 20);
      if (/^\{"type":"(data|more|close)"/.test(start)) this.#dispatch(JSON.parse(frame.toString("latin1", 4)));
      else parentPort.postMessage(new Uint8Array(frame));
    }
  }

  #send(members) {
    const text = JSON.stringify(members);
    const frame = Buffer.alloc(4 + text.length);
    frame.writeUInt32BE(text.length, 0);
    frame.write(text, 4, "latin1");
    this.#bridge.write(frame);
  }

  /** Accepts sockets that wait. */
  #next() {
    while (this.#connections.size < PARALLEL && this.#waiting.length > 0) {
      const socket = this.#waiting.shift();
      if (!socket.destroyed) this.#accept(socket);
    }
  }

  #ended(id) {
    const was = this.#connections.delete(id);
    this.#next();
    return was;
  }

  #accept(socket) {
    const id = ++this.#last;
    const connection = { socket, credit: WINDOW };
    this.#connections.set(id, connection);
    this.#send({ type: "open", stream: id });
    socket.on("readable", () => this.#pump(id, connection));
    socket.on("end", () => this.#connections.has(id) && this.#send({ type: "shut", stream: id }));
    socket.on("error", () => {});
    socket.on("close", () => this.#ended(id) && this.#send({ type: "close", stream: id }));
  }

  /** Sends what a program says, as much as the host takes. */
  #pump(id, connection) {
    while (connection.credit > 0) {
      const size = Math.min(connection.credit, MOST, connection.socket.readableLength);
      const data = size > 0 ? connection.socket.read(size) : connection.socket.read();
      if (data === null) return;
      connection.credit -= data.length;
      this.#send({ type: "data", stream: id, data: data.toString("base64") });
    }
  }

  #dispatch({ type, stream, data, bytes }) {
    const connection = this.#connections.get(stream);
    if (!connection) return; // it was closed meanwhile
    if (type === "more") {
      connection.credit += bytes;
      this.#pump(stream, connection);
    } else if (type === "data") {
      const chunk = Buffer.from(data, "base64");
      connection.socket.write(chunk, (error) => !error && this.#connections.has(stream) && this.#send({ type: "more", stream, bytes: chunk.length }));
    } else {
      this.#ended(stream);
      connection.socket.end(() => connection.socket.destroy());
    }
  }
}

if (!isMainThread && workerData?.mcprun) new Network(workerData);

/**
 * Opens a connection to a host through the proxy. One to the proxy itself is returned as it is: a client that reads HTTP_PROXY asks for it. A
 * refusal is an error whose property refusal is the text for the script.
 */
function tunnel(host, port, done) {
  const socket = net.connect(PORT, HOST);
  const fail = (error) => {
    socket.destroy();
    done(error);
  };
  let head = Buffer.alloc(0);
  const read = (chunk) => {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf("\r\n\r\n");
    if (end < 0) return;
    release();
    const [, status, reason] = /^HTTP\/1\.\d (\d+) ?(.*)/.exec(head.toString("latin1", 0, end)) ?? [];
    if (status !== "200") return fail(Object.assign(new Error(reason || "the proxy refused the connection"), { code: status === "403" ? "ERR_NETWORK_REFUSED" : "ERR_NETWORK", status: Number(status) || 502 }));
    if (head.length > end + 4) socket.unshift(head.subarray(end + 4));
    done(null, socket);
  };
  const ended = () => fail(new Error("the proxy ended the connection"));
  const release = () => socket.off("data", read).off("error", fail).off("end", ended);
  socket.on("data", read).on("error", fail).on("end", ended);
  socket.on("connect", () => {
    if (host === HOST && port === PORT) return done(null, release());
    socket.write(`CONNECT ${host.includes(":") ? `[${host}]` : host}:${port} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  });
}

/** Makes fetch, http and https use the proxy, and the certificates of the run. Returns what makes a response of a refusal that fetch met. */
export async function useProxy(certificates) {
  const ca = certificates ? [...tls.rootCertificates, certificates] : undefined;
  const connect = (options, done) => {
    const secure = options.protocol === "https:";
    const host = options.hostname ?? options.host;
    tunnel(host, Number(options.port) || (secure ? 443 : 80), (error, socket) => {
      if (error || !secure) return done(error, socket);
      const encrypted = tls.connect({ ...options, path: undefined, socket, servername: options.servername || (net.isIP(host) ? "" : host), ca: options.ca ?? ca });
      encrypted.once("secureConnect", () => done(null, encrypted)).once("error", done);
    });
  };
  for (const [module, protocol] of [[http, "http:"], [https, "https:"]]) {
    module.globalAgent.createConnection = (options, done) => {
      connect({ ...options, protocol, hostname: options.host }, done);
    };
  }
  await fetch("data:,"); // loads fetch, whose dispatcher is then there
  for (const key of Object.getOwnPropertySymbols(globalThis).filter((key) => /^Symbol\(undici\.globalDispatcher\.\d+\)$/.test(String(key)))) {
    const Agent = globalThis[key].constructor;
    globalThis[key] = new Agent({ connect, allowH2: false });
  }
}
