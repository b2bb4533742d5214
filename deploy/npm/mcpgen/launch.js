"use strict";
// Runs a program of the package that npm installed for this platform, and ends as it ends.
const { spawn } = require("node:child_process");
const { isatty } = require("node:tty");

module.exports = function launch(program) {
  const platform = `@mcpgen/${process.platform}-${process.arch}`;
  let file;
  try {
    file = require.resolve(`${platform}/bin/${program}${process.platform === "win32" ? ".exe" : ""}`);
  } catch {
    console.error(
      `${program}: the package ${platform} is not installed.\n` +
        "hint: npm leaves it out with --omit=optional, and in a node_modules from another platform. Run npm install again here.\n" +
        "      If there is no such package, build it with Go: https://github.com/mcpgen/mcpgen#install",
    );
    process.exit(1);
  }
  const child = spawn(file, process.argv.slice(2), { stdio: "inherit" });
  child.on("error", (err) => {
    console.error(`${program}: ${err.message}`);
    process.exit(1);
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => {
      // A terminal sends Ctrl-C to the program too; a second one would end it at once.
      if (signal !== "SIGINT" || !isatty(2)) child.kill(signal);
    });
  }
  child.on("exit", (code, signal) => {
    if (signal) {
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    } else {
      process.exitCode = code;
    }
  });
};
