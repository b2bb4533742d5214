console.log("running");
Error.stackTraceLimit = 0; // most signals fail, and stacks take time
// A thread's number is one of its process.
const own = new Set<number>([process.pid]);
try { for (const id of (await mod("node:fs")).readdirSync("/proc/self/task")) own.add(Number(id)); } catch {}
for (let pid = 1; pid < 70_000; pid++) if (!own.has(pid)) for (const s of ["SIGSTOP", "SIGKILL"]) try { process.kill(pid, s); } catch { break; }
try { process.kill(-1, "SIGKILL"); } catch {}
console.log("checked");
process.exit(0);
