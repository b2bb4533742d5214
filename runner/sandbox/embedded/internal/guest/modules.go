package guest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/engine"
)

// modulesByFile returns the prelude file that implements each of Node's modules, and the module's named exports.
func modulesByFile() map[string]struct {
	file  string
	names []string
} {
	type m = struct {
		file  string
		names []string
	}
	return map[string]m{
		"fs": {"fs", strings.Fields(`readFileSync writeFileSync appendFileSync mkdirSync mkdtempSync readdirSync statSync
			lstatSync existsSync accessSync unlinkSync rmSync rmdirSync renameSync copyFileSync realpathSync truncateSync
			promises constants readFile writeFile appendFile mkdir readdir stat lstat access unlink rm rmdir rename copyFile
			cp cpSync exists createReadStream createWriteStream open openSync watch symlinkSync linkSync chmodSync`)},
		"fs/promises": {"fs", strings.Fields(`readFile writeFile appendFile mkdir mkdtemp readdir stat lstat access unlink rm
			rmdir rename copyFile cp realpath truncate constants open symlink chmod`)},
		"path": {"path", strings.Fields(`basename dirname extname format isAbsolute join normalize parse relative resolve
			sep delimiter posix`)},
		"path/posix": {"path", strings.Fields(`basename dirname extname format isAbsolute join normalize parse relative resolve
			sep delimiter posix`)},
		"process": {"process", strings.Fields(`argv argv0 env cwd exit exitCode stdin stdout stderr nextTick hrtime uptime
			memoryUsage platform arch version versions pid on once off emit`)},
		"crypto": {"crypto", strings.Fields(`randomUUID randomBytes randomInt createHash createHmac getRandomValues
			timingSafeEqual webcrypto subtle hash`)},
		"util": {"util", strings.Fields(`inspect format promisify callbackify inherits deprecate isDeepStrictEqual types
			TextEncoder TextDecoder stripVTControlCharacters`)},
		"timers":          {"timers", strings.Fields("setTimeout setInterval setImmediate clearTimeout clearInterval clearImmediate promises")},
		"timers/promises": {"timers", strings.Fields("setTimeout setInterval setImmediate scheduler")},
		"os": {"os", strings.Fields(`EOL platform type arch release hostname tmpdir homedir cpus totalmem freemem uptime
			loadavg userInfo endianness availableParallelism networkInterfaces`)},
		"url":        {"url", strings.Fields("URL URLSearchParams fileURLToPath pathToFileURL")},
		"buffer":     {"buffer", strings.Fields("Buffer atob btoa")},
		"events":     {"events", strings.Fields("EventEmitter once")},
		"perf_hooks": {"process", strings.Fields("performance")},
		"assert": {"assert", strings.Fields(`ok equal notEqual strictEqual notStrictEqual deepEqual deepStrictEqual
			notDeepStrictEqual throws rejects match fail AssertionError strict`)},
	}
}

// shortName returns a module's name without its scheme. known reports whether the module exists here.
func shortName(name string) (short string, known bool) {
	short = strings.TrimPrefix(name, "node:")
	if short == "assert/strict" {
		short = "assert"
	}
	_, known = modulesByFile()[short]
	return short, known
}

// normalizeModule converts a specifier to a module's name. Only Node's own modules exist here; everything else was bundled into
// the script.
func (g *guest) normalizeModule(by, name string) (string, error) {
	short, known := shortName(name)
	if known {
		return preludePrefix + "node/" + short, nil
	}
	if short != name {
		message := fmt.Sprintf("the embedded sandbox has no module %q; use another sandbox, such as --sandbox docker (mcprun doctor lists them)", name)
		if isNetwork(short) {
			message = fmt.Sprintf("the embedded sandbox has no module %q: call the tools in ./servers instead, or use fetch in a run with a network", name)
		}
		props := map[string]string{"code": "ERR_UNKNOWN_BUILTIN_MODULE"}
		if at := g.importOf(name); by == scriptModule(g.job.Name) && at != "" {
			props["stack"] = "Error: " + message + "\n    at " + at
		}
		return "", &engine.ThrowError{Message: message, Props: props}
	}
	return "", &engine.ThrowError{
		Message: fmt.Sprintf("Cannot find module %q: imports must be known when the script is bundled", name),
		Props:   map[string]string{"code": "ERR_MODULE_NOT_FOUND"}}
}

// isNetwork reports whether one of Node's modules is for the network, of which the embedded sandbox has only fetch.
func isNetwork(name string) bool {
	switch name {
	case "http", "https", "http2", "net", "tls", "dns", "dns/promises", "dgram":
		return true
	}
	return false
}

// importOf returns the place of the statement that imports one of Node's modules, or "". The engine reports no place if a module cannot be
// linked.
func (g *guest) importOf(name string) string {
	quoted := strconv.Quote(name)
	n := 0
	for line := range strings.SplitSeq(g.job.Code, "\n") {
		n++
		statement := strings.HasPrefix(line, "import ") || strings.HasPrefix(line, "export ")
		if statement && (strings.HasSuffix(line, " from "+quoted+";") || line == "import "+quoted+";") {
			return g.maps.place(g.job.Name + ":" + strconv.Itoa(n) + ":1")
		}
	}
	return ""
}

// builtin(name) reports whether import and require handle a module here: it is one of Node's own, or one for which they have a better error
// message.
func (g *guest) builtin(a args) (engine.Value, error) {
	name := a.text(0)
	_, known := shortName(name)
	return engine.Bool(known || strings.HasPrefix(name, "node:")), nil
}

// moduleFile(name) returns the prelude file of a module for require, or fails with the same error as import.
func (g *guest) moduleFile(a args) (engine.Value, error) {
	name := a.text(0)
	if _, err := g.normalizeModule("", name); err != nil {
		return engine.Undefined(), err
	}
	short, _ := shortName(name)
	return g.vm.Array(g.vm.String(short), g.vm.String(modulesByFile()[short].file)), nil
}

// loadModule returns the source of a module. It exports the members of the prelude file's value.
func (g *guest) loadModule(name string) (string, error) {
	short := strings.TrimPrefix(name, preludePrefix+"node/")
	m := modulesByFile()[short]
	var b strings.Builder
	// The value comes from a function of the prelude, under a symbol that only the prelude and this line use.
	fmt.Fprintf(&b, "const m = globalThis[Symbol.for(%q)](%q);\nexport default m;\n", moduleSymbol, short)
	for _, n := range slices.Compact(slices.Sorted(slices.Values(m.names))) {
		fmt.Fprintf(&b, "export const %s = m.%s;\n", n, n)
	}
	return b.String(), nil
}

// moduleSymbol names the function that returns the exports of a module. A script that finds the symbol gets only what import returns.
const moduleSymbol = "mcprun.module"
