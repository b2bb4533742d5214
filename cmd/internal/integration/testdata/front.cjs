// Loaded with node's --require before an HTTP server that knows neither a host to listen on nor a token:
// FRONT_HOST is the address to listen on, FRONT_TOKEN the bearer token to demand. The port is told on standard error.
const http = require("node:http");
const net = require("node:net");

const { listen } = net.Server.prototype;
net.Server.prototype.listen = function (port, ...rest) {
  this.once("listening", () => console.error(`front: port ${this.address().port}`));
  return process.env.FRONT_HOST ? listen.call(this, Number(port), process.env.FRONT_HOST, ...rest) : listen.call(this, port, ...rest);
};

const { emit } = http.Server.prototype;
http.Server.prototype.emit = function (event, request, response) {
  const token = process.env.FRONT_TOKEN;
  if (event === "request" && token && request.headers.authorization !== `Bearer ${token}`) {
    response.writeHead(401).end("who are you?");
    return true;
  }
  return emit.apply(this, arguments);
};
