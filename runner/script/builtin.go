package script

import (
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// nodeModules are the modules of Node.js that can be imported without the prefix node:.
const nodeModules = " assert assert/strict async_hooks buffer child_process cluster console constants crypto dgram " +
	"diagnostics_channel dns dns/promises domain events fs fs/promises http http2 https inspector module net os path " +
	"path/posix path/win32 perf_hooks process punycode querystring readline readline/promises repl stream " +
	"stream/consumers stream/promises stream/web string_decoder sys timers timers/promises tls tty url util util/types " +
	"v8 vm wasi worker_threads zlib "

func isBuiltin(name string) bool {
	return strings.HasPrefix(name, "node:") || strings.Contains(nodeModules, " "+name+" ") && !strings.Contains(name, " ")
}

// builtin leaves a module of node's to the guest, under its full name. The embedded engine has some of them, and says
// which it has not.
func builtin(name string) api.OnResolveResult {
	return api.OnResolveResult{Path: "node:" + strings.TrimPrefix(name, "node:"), External: true}
}

// NodeModules are the names of node's own modules that can be imported without the prefix node:.
func NodeModules() []string { return strings.Fields(nodeModules) }
