const fs = await mod("node:fs");
// Whether a process has nothing that the script lacks, so that its memory is nothing to be had.
const same = (pid: string): boolean => {
  const lines = (who: string) => fs.readFileSync(`/proc/${who}/status`, "utf8").split("\n").filter((l: string) => /^(Uid|Gid|Groups|Cap\w+|NoNewPrivs|Seccomp\w*):/.test(l)).join();
  const spaces = (who: string) => ["mnt", "user", "pid", "net", "ipc", "uts"].map((ns) => fs.readlinkSync(`/proc/${who}/ns/${ns}`)).join();
  return lines(pid) === lines("self") && spaces(pid) === spaces("self");
};
let pids: string[] = [];
try { pids = fs.readdirSync("/proc").filter((n: string) => /^\d+$/.test(n) && n !== String(process.pid)); } catch {}
for (const pid of pids) {
  let cmdline = "";
  try { cmdline = fs.readFileSync(`/proc/${pid}/cmdline`, "latin1"); } catch { continue; }
  if (/sandboxtest|dockerd|systemd/.test(cmdline)) leak("a process of the host", cmdline);
  let tasks: string[] = [];
  try { tasks = fs.readdirSync(`/proc/${pid}/task`).map((t: string) => `${pid}/task/${t}`); } catch {}
  for (const task of [pid, ...tasks]) {
    // Where it is covered by /dev/null, there is nothing behind it.
    try { if (fs.fstatSync(fs.openSync(`/proc/${task}/mem`, "r+")).isFile() && !same(pid)) leak("the memory of", pid); } catch {}
    for (const name of ["root", "cwd"]) await attempt(`${task}/${name}`, () => fs.readFileSync(`/proc/${task}/${name}@CANARY@`, "utf8"));
    let fds: string[] = [];
    try { fds = fs.readdirSync(`/proc/${task}/fd`); } catch {}
    for (const fd of fds) await attempt(`${task}/fd/${fd}`, () => fs.readFileSync(`/proc/${task}/fd/${fd}/../../../../..@CANARY@`, "utf8"));
  }
  await attempt(`program of ${pid}`, () => fs.closeSync(fs.openSync(`/proc/${pid}/exe`, "r+")));
}
console.log("checked");
