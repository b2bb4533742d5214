package script

import (
	"regexp"
	"sync"
)

// globalNames returns the names that code from other hosts uses without an import, with code that exports each.
func globalNames() map[string]string {
	return map[string]string{
		"callMCPTool": fromLibrary("callMCPTool"),
		"searchTools": fromLibrary("searchTools"),
		"fs":          fsGlobal,
		"path":        `export const path = /* @__PURE__ */ given("path", () => globalThis.require("node:path"));` + "\n",
	}
}

// fromLibrary returns code that exports a name of the library.
func fromLibrary(name string) string {
	return "export { " + name + " } from " + quote(libraryNamespace+":"+libraryFile) + ";\n"
}

// givenGlobal is the beginning of the module. A variable of the run takes precedence.
const givenGlobal = "const given = (name, make) => (name in globalThis ? globalThis[name] : make());\n"

// fsGlobal exports node:fs with functions that return promises when they get no callback.
const fsGlobal = `export const fs = /* @__PURE__ */ given("fs", () => {
  const fs = globalThis.require("node:fs"), all = { ...fs };
  for (const name of Object.keys(fs.promises)) {
    if (typeof fs[name] !== "function" || typeof fs.promises[name] !== "function") continue;
    all[name] = (...args) => (typeof args.at(-1) === "function" ? fs[name](...args) : fs.promises[name](...args));
  }
  return all;
});
`

// usedGlobals returns, for each name, patterns for its use as a global and for its declaration. The module of globals slows bundling down,
// so it is added only if a script uses it.
var usedGlobals = sync.OnceValue(func() map[string][2]*regexp.Regexp {
	out := map[string][2]*regexp.Regexp{}
	for name := range globalNames() {
		used := `\b` + name + `\.\w`
		if name == "callMCPTool" || name == "searchTools" {
			used = `\b` + name + `\s*[<(]`
		}
		out[name] = [2]*regexp.Regexp{
			regexp.MustCompile(`(?:^|[^.\w$])` + used),
			regexp.MustCompile(`(?m)(?:^|;)\s*(?:import\b[^"';]*\b` + name + `\b|(?:const|let|var)\s+` + name + `\b)`),
		}
	}
	return out
})

// globals returns a module with the globals that a script uses but does not declare, or "" if there are none. The bundler uses them only
// where the name is not defined.
func globals(code string) string {
	text := ""
	for _, name := range []string{"callMCPTool", "searchTools", "fs", "path"} {
		find := usedGlobals()[name]
		if find[0].MatchString(code) && !find[1].MatchString(code) {
			text += globalNames()[name]
		}
	}
	if text == "" {
		return ""
	}
	return givenGlobal + text
}
