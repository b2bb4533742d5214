// Makers of the values of replies that are more than plain JSON. All JavaScript guests share the classes
// (templates/guest/values.mjs); this file gives them access to files and bytes.
(function (host) {
  "use strict";
  const fs = host.load("fs"), path = host.load("path");
  const home = "/workspace";
  const place = (given) => {
    const at = path.resolve(home, String(given));
    if (at !== home && at.startsWith(home + "/")) return at;
    const e = new Error(`cannot save to "${given}": it is outside of the workspace; give a path relative to it`);
    e.code = "EACCES";
    throw e;
  };
  const made = host.makeValues({
    readText: (name) => fs.readFileSync(name, "utf8"),
    writeFile(name, data) {
      const at = place(name);
      fs.mkdirSync(path.dirname(at), { recursive: true });
      fs.writeFileSync(at, data);
      return at;
    },
    bytesOf: (text) => new Uint8Array(host.encode(text, "base64")),
    textBytes: (text) => new Uint8Array(host.encode(text, "utf8")),
    request: host.transport.request,
    inspect: Symbol.for("nodejs.util.inspect.custom"),
  });
  return {
    __proto__: null,
    make: made.make,
    fromRequest: made.fromRequest,
    fromResult: made.fromResult,
    // Returns the number of the call that v stands for, the reason why v cannot be an argument, or undefined.
    special(v) {
      const call = made.placeholder(v);
      if (call !== undefined) return call;
      if (made.isHandle(v)) return `is a stored result of ${made.sizeOf(v)} bytes; pass json() or text() of it`;
    },
  };
})
