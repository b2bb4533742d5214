// Goes before every program of the suite. A program tries what is forbidden and prints a line with LEAK for what worked.
const leak = (what: string, detail: unknown = "") => console.log("LEAK", what, JSON.stringify(String(detail)).slice(0, 200));
const attempt = async (what: string, f: () => unknown): Promise<any> => {
  try { leak(what, await f()); } catch (error) { return error; }
};
// The bundler refuses computed imports; what a language has no module for is refused here.
const mod = async (name: string): Promise<any> => (globalThis as any)["require"](name);
const within = <T>(ms: number, f: () => Promise<T>): Promise<T> =>
  Promise.race([f(), new Promise<T>((_, no) => setTimeout(() => no(new Error("nothing came")), ms))]);

