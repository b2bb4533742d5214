// The modules of a run, by their ids: what several bundles share, so that each is there once. Evaluated first by a script
// that imports what it finds out only while it runs.
const key = Symbol.for("mcprun.modules");
if (!(key in globalThis)) {
  const modules = new Map(); // id → what imports it
  const waiting = new Map(); // id → those who were sent code that needs it before its own has begun

  const get = async (id) => {
    if (!modules.has(id)) {
      await new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`module ${id} could not be loaded`)), 5000);
        waiting.set(id, [...(waiting.get(id) ?? []), () => (clearTimeout(timer), resolve())]);
      });
    }
    return modules.get(id)();
  };

  // Marked as bundlers mark a module that became an object, so that its default export is found.
  const marked = (namespace) => {
    const object = Object.defineProperty({}, "__esModule", { value: true });
    for (const name of Object.keys(namespace)) {
      Object.defineProperty(object, name, { get: () => namespace[name], enumerable: true });
    }
    return object;
  };

  const registry = {
    add(more) {
      for (const [id, load] of Object.entries(more)) {
        modules.set(id, load);
        for (const go of waiting.get(id) ?? []) go();
        waiting.delete(id);
      }
    },
    get,
    async all(ids) {
      const found = await Promise.all(ids.map(async (id) => [id, marked(await get(id))]));
      return Object.fromEntries(found);
    },
    import(path, from) {
      return globalThis[Symbol.for("mcprun.import")](String(path), from).then((found) => found.__mcprun ?? found);
    },
  };
  Object.defineProperty(globalThis, key, { value: Object.freeze(registry) });
}
