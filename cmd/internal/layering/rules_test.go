package layering

// rule says what the packages that fit a pattern may import of ours. A pattern is a path below the module; a last
// element * is any one element, ** any number of them. The first rule that fits a package counts.
type rule struct {
	pkg   string
	mayBe []string
}

func rules() []rule {
	return []rule{
		{"templates", nil},
		{"skills", nil},

		// Leaves of gen, then what stands on them.
		{"gen/ident", nil},
		{"gen/atomicfile", nil},
		{"gen/owner", nil},
		{"gen/jsonschema", []string{"gen/ident"}}, // the one reader of JSON Schema
		{"gen/ir", nil},
		{"gen/ir/irtest", []string{"gen/ir"}},
		{"gen/tree", []string{"gen/atomicfile"}},
		{"gen/tokens", nil},
		{"gen/learn", []string{"gen/ident", "gen/jsonschema"}},
		{"gen/config", []string{"gen/config/node"}},
		{"gen/config/node", nil}, // reads formats; knows nothing of servers
		{"gen/config/edit", []string{"gen/config", "gen/config/node"}},
		{"gen/config/hosts", []string{"gen/config"}},
		{"gen/config/adopt", []string{"gen/config", "gen/config/edit"}},
		{"gen/config/consent", []string{"gen/atomicfile", "gen/config", "gen/config/adopt"}},
		{"gen/exit", nil},
		{"gen/config/guide", []string{"gen/exit"}},
		{"gen/config/ignore", nil},
		{"gen/catalog", []string{"gen/atomicfile", "gen/exit", "gen/ident", "gen/jsonschema"}},
		{"gen/catalog/drift", []string{"gen/jsonschema"}}, // proves; knows nothing of tools
		{"gen/catalog/diff", []string{"gen/ident", "gen/catalog", "gen/catalog/drift", "gen/jsonschema", "gen/poison"}},
		{"gen/schema/validate", []string{"gen/ident", "gen/jsonschema"}},                       // checks values; knows nothing of types
		{"gen/schema/listing", []string{"gen/ident", "gen/jsonschema", "gen/schema/validate"}}, // what others read of a schema
		{"gen/schema", []string{"gen/ident", "gen/ir", "gen/jsonschema"}},
		{"gen/verify", nil}, // knows nothing of what made the files that it reads
		{"gen/poison", []string{"gen/ident", "gen/catalog"}},
		{"gen/render", []string{"gen/ident", "gen/ir", "gen/tree", "gen/render/internal/text"}},
		{"gen/render/internal/text", []string{"gen/ident", "gen/ir"}},
		{"gen/render/internal/rendertest", []string{"gen/ident", "gen/render", "gen/schema", "gen/tree"}},
		{"gen/render/*", []string{"gen/ident", "gen/ir", "gen/tree", "gen/render", "gen/render/internal/text", "templates"}},
		{"gen/upstream", []string{"gen/ident", "gen/config", "gen/exit", "gen/upstream/*", "gen/upstream/internal/*"}},
		{"gen/upstream/internal/*", nil},
		{"gen/upstream/redact", []string{"gen/config", "gen/upstream/internal/*"}},
		{"gen/upstream/elicit", []string{"gen/ident", "gen/jsonschema"}},
		{"gen/upstream/stdio", []string{"gen/ident", "gen/owner", "gen/config", "gen/upstream/redact", "gen/upstream/internal/*"}},
		{"gen/upstream/oauth", []string{"gen/ident", "gen/atomicfile", "gen/exit", "gen/upstream/internal/*"}},
		{"gen/upstream/httpclient", []string{"gen/ident", "gen/config", "gen/upstream/oauth", "gen/upstream/internal/*"}},
		{"gen/upstream/upstreamtest", []string{"gen/config"}},
		{"gen/endpoint", []string{"gen/exit", "gen/ident", "gen/upstream/redact"}},
		{"gen/search", []string{"gen/atomicfile", "gen/catalog", "gen/endpoint", "gen/exit", "gen/ident", "gen/jsonschema"}},
		{"gen/registry", []string{"gen/endpoint", "gen/exit", "gen/ident"}},
		{"gen/search/searchtest", []string{"gen/catalog", "gen/search"}},
		{"gen", []string{"gen/*", "gen/config/consent", "gen/catalog/diff", "gen/render/*", "gen/schema/validate"}},

		// Leaves of runner, then what stands on them.
		{"runner/risk", nil},
		{"runner/plugin", []string{"gen/config", "gen/ident", "gen/upstream/redact", "gen/upstream/stdio", "runner/audit"}}, // knows nothing of runs, chains and tokens
		{"runner/call", []string{"gen/exit"}},
		{"runner/policy", []string{"gen/config", "gen/config/node", "gen/ident", "gen/jsonschema", "gen/schema/validate", "gen/exit", "runner/internal/expr", "runner/internal/kept", "runner/policy/internal/spelling", "runner/risk", "runner/script/judge", "runner/store"}},
		{"runner/policy/internal/spelling", []string{"gen/ident"}},
		{"runner/approve", []string{"gen/ident", "gen/upstream", "runner/audit", "runner/internal/page", "runner/internal/seal", "runner/pii", "runner/policy", "runner/risk", "runner/store"}},
		{"runner/egress", []string{"gen/config", "gen/ident", "runner/internal/notify"}},
		{"runner/audit", []string{"gen/atomicfile", "gen/ident", "runner/internal/notify", "runner/store", "runner/internal/kept"}},
		{"runner/store", nil},
		{"runner/store/internal/sqldb", []string{"runner/store"}},
		{"runner/store/storetest", []string{"runner/store"}},
		{"runner/store/storetest/pgtest", nil},
		{"runner/store/*", []string{"runner/internal/kept", "runner/store", "runner/store/internal/sqldb"}},
		{"runner/recommend", []string{"gen/search", "runner/audit", "runner/store"}},
		{"runner/audit/report", []string{"gen/exit", "gen/ident", "runner/audit", "runner/call", "runner/egress", "runner/internal/page", "runner/risk", "runner/store"}},
		{"runner/audit/alert", []string{"gen/config", "runner/audit", "runner/egress", "runner/internal/notify", "runner/risk"}},
		{"runner/internal/notify", nil},
		{"runner/internal/safeopen", nil},
		{"runner/internal/page/pagetest", nil},
		{"runner/internal/seal", []string{"runner/store"}},
		{"runner/internal/expr", nil}, // the one way to evaluate CEL
		{"runner/internal/kept", []string{"gen/atomicfile", "runner/internal/safeopen"}},
		{"runner/model", []string{"gen/endpoint", "gen/tokens", "runner/store"}}, // asks; knows neither tools nor scripts
		{"runner/model/modeltest", []string{"runner/model"}},
		{"runner/traffic", []string{"gen/learn", "runner/internal/kept", "runner/store"}},
		{"runner/taint", []string{"gen/ident", "runner/internal/kept", "runner/internal/safeopen", "runner/workspace"}},
		{"runner/internal/clock", nil},
		{"runner/telemetry", []string{"gen/ident"}}, // knows nothing of runs and servers
		{"runner/telemetry/telemetrytest", nil},
		{"runner/internal/hint", []string{"gen/catalog", "gen/ident", "runner/bridge", "runner/internal/safeopen", "runner/sandbox", "runner/script", "templates"}},
		{"runner/internal/page", nil},
		{"runner/internal/output", []string{"gen/ident", "runner/workspace"}},
		{"runner/workspace", []string{"runner/internal/safeopen"}},
		{"runner/workspace/customer", []string{"runner/cache", "runner/model", "gen/ident", "runner/internal/kept", "runner/internal/safeopen", "runner/store", "runner/workspace", "runner/audit"}},
		{"runner/sandbox", nil},
		{"runner/bridge", []string{"gen/ident", "runner/call"}},
		{"runner/pii/detect", []string{"runner/pii/detect/internal/*"}}, // finds personal data; knows nothing of tokens and vaults
		{"runner/pii/detect/known", []string{"runner/pii/detect", "runner/pii/detect/internal/*"}},
		{"runner/pii/detect/internal/char", nil},
		{"runner/pii/detect/internal/lexicon", nil},
		{"runner/pii/detect/internal/internet", []string{"runner/pii/detect/internal/char"}},
		{"runner/pii/detect/internal/key", []string{"runner/pii/detect/internal/char", "runner/pii/detect/internal/lexicon"}},
		{"runner/pii/detect/internal/number", []string{"runner/pii/detect/internal/char"}},
		{"runner/pii/detect/internal/person", []string{"runner/pii/detect/internal/char", "runner/pii/detect/internal/lexicon"}},
		{"runner/pii/detect/internal/postal", []string{"runner/pii/detect/internal/char", "runner/pii/detect/internal/lexicon"}},
		{"runner/pii/presidio", []string{"runner/pii/detect"}},
		{"runner/pii/internal/rawjson", nil},
		{"runner/pii", []string{"gen/atomicfile", "runner/pii/detect", "runner/pii/detect/known", "runner/pii/internal/rawjson", "runner/internal/kept", "runner/internal/safeopen", "runner/internal/seal", "runner/store"}},
		{"runner/pii/piitest", []string{"runner/pii", "runner/store/sqlite"}},
		{"runner/packages", []string{"gen/exit", "gen/ident", "runner/sandbox"}}, // knows nothing of projects and runs
		{"runner/record", []string{"gen/ident", "runner/call"}},
		{"runner/trace", []string{"gen/ident", "runner", "runner/chain", "runner/egress", "runner/internal/page"}},
		{"runner/daemon", nil},
		{"runner/durable", []string{"runner/call", "runner/store", "runner/store/*"}},                         // the only importer of DBOS; of the stores only the tests
		{"runner/journal", []string{"runner/call", "runner/internal/seal", "runner/store", "runner/store/*"}}, // keeps outcomes of calls, and makes none; of the stores only the tests
		{"runner/cache", []string{"runner/call", "runner/internal/seal", "runner/store", "runner/store/*"}},   // knows neither servers nor policies; of the stores only the tests
		{"runner/skill/internal/frontmatter", []string{"gen/ident"}},
		{"runner/skill", []string{"gen/atomicfile", "runner/skill/internal/frontmatter", "gen/catalog", "gen/catalog/diff", "gen/ident", "gen/poison", "runner/sandbox", "runner/script", "runner/script/check", "runner/internal/safeopen"}},
		{"runner/script", []string{"runner/script/judge", "gen/ident", "runner/bridge", "runner/sandbox", "templates", "runner/internal/safeopen", "runner/script/internal/pyimport"}},
		{"runner/script/judge", []string{"gen/ident", "runner/risk", "runner/script/internal/syntax"}}, // knows nothing of bundles and sandboxes
		{"runner/script/internal/syntax", nil},
		{"runner/script/internal/pyimport", []string{"gen/ident"}},
		{"runner/script/migrate", []string{"gen/catalog", "gen/catalog/diff", "gen/ident", "gen/jsonschema", "runner/sandbox", "runner/script", "runner/script/check", "runner/script/internal/syntax"}},
		{"runner/script/check/tools", nil},
		{"runner/script/check", []string{"runner/script/check/tools", "gen/ident", "runner/packages", "runner/sandbox", "runner/script", "runner/script/internal/pyimport", "templates", "runner/internal/safeopen"}},
		{"runner/sandbox/sandboxtest", []string{"runner/bridge", "runner/call", "runner/sandbox", "runner/script", "runner/workspace", "templates"}},
		{"runner/sandbox/internal/**", []string{"gen/owner", "gen/exit", "runner/sandbox", "runner/sandbox/internal/*", "runner/internal/safeopen"}},
		{"runner/sandbox/docker", []string{"gen/owner", "gen/exit", "runner/sandbox", "runner/sandbox/internal/*", "runner/internal/safeopen"}},
		{"runner/sandbox/embedded/**", []string{"gen/ident", "gen/owner", "runner/sandbox", "runner/sandbox/internal/*", "runner/sandbox/embedded/internal/*", "templates", "runner/internal/safeopen"}},
		{"runner/sandbox/pool", []string{"runner/bridge", "runner/sandbox"}},
		{"runner/sandbox/*", []string{"gen/owner", "gen/exit", "runner/sandbox", "runner/sandbox/internal/*"}},
		{"runner/form", []string{"gen", "gen/config/node", "gen/ident", "gen/jsonschema", "gen/schema/validate", "gen/upstream/elicit", "runner/call", "runner/internal/expr", "runner/internal/page", "runner/internal/seal", "runner/model", "runner/store"}}, // knows nothing of runs: it is given what calls tools
		{"runner/hostapi", []string{"gen/exit", "gen", "gen/config/node", "runner/chain", "runner/form", "gen/search", "runner/call", "runner/pii", "runner/policy", "runner/sandbox", "runner/skill", "runner/workspace", "runner/workspace/customer"}},
		{"runner/task", []string{"gen", "gen/catalog", "gen/exit", "gen/ident", "gen/ir", "gen/schema", "gen/search", "gen/tokens", "runner", "runner/call", "runner/chain", "runner/model", "runner/risk", "runner/sandbox"}},
		{"runner/mcpserver/internal/progress", []string{"gen/ident", "runner", "runner/chain"}},
		{"runner/mcpserver/internal/arguments", []string{"gen/ident"}},
		{"runner/mcpserver/internal/index", []string{"gen/catalog", "gen/ident", "gen/tokens"}},
		{"runner/mcpserver/internal/*", nil},
		{"runner/mcpserver/bearer", nil},
		{"runner/workflow/document", []string{"gen", "gen/exit", "gen/catalog", "gen/config", "gen/config/node", "gen/ident", "gen/jsonschema", "gen/schema/validate", "gen/upstream", "runner", "runner/call", "runner/internal/expr", "runner/internal/safeopen", "runner/policy", "runner/sandbox", "runner/sandbox/embedded", "runner/script", "runner/script/check"}}, // of gen/config, gen/upstream, runner, the policy, embedded and check only the tests
		{"runner/workflow/folder", []string{"gen", "gen/ident", "runner/internal/safeopen", "runner/sandbox", "runner/script", "runner/skill", "runner/workflow/document"}},
		{"runner/workflow", []string{"runner/internal/page", "gen/exit", "gen/ident", "gen/upstream/elicit", "runner", "runner/call", "runner/chain", "runner/durable", "runner/internal/seal", "runner/journal", "runner/sandbox", "runner/store", "gen/catalog", "gen/upstream", "runner/sandbox/embedded", "runner/script", "runner/store/*"}}, // what comes from gen/catalog on, only in tests
		{"runner/mcpserver", []string{"gen/schema/validate", "runner/journal", "runner/workflow", "runner/cache", "runner/model", "gen/atomicfile", "gen/config", "gen/exit", "runner/risk", "runner/mcpserver/bearer", "runner/mcpserver/internal/*", "runner", "runner/chain", "runner/call", "runner/durable", "runner/sandbox", "runner/script", "runner/skill", "runner/store", "runner/telemetry", "runner/workspace", "runner/workspace/customer", "runner/pii", "gen", "gen/catalog", "gen/ident", "gen/schema/listing", "gen/search", "gen/tokens", "gen/upstream", "runner/internal/safeopen", "runner/internal/seal"}},
		{"runner/chain", []string{
			"gen/catalog", "gen/catalog/diff", "gen/config", "gen/ident", "gen/learn", "gen/poison", "gen/schema/validate", "gen/tokens", "gen/upstream/elicit", "gen/upstream",
			"runner/approve", "runner/audit", "runner/cache", "runner/call", "runner/internal/clock", "runner/journal", "runner/pii", "runner/plugin", "runner/policy", "runner/record", "runner/sandbox", "runner/script", "runner/telemetry", "runner/workspace",
		}},
		{"runner", []string{
			"runner/approve", "runner/audit", "runner/egress", "runner/pii", "runner/record", "runner/bridge", "runner/cache", "runner/call", "runner/chain", "gen/exit", "runner/internal/clock", "runner/internal/hint", "runner/internal/output", "runner/packages", "runner/policy", "runner/risk",
			"runner/journal", "runner/plugin", "runner/sandbox", "runner/script", "runner/telemetry", "runner/workspace",

			"runner/script/check", "runner/script/judge", "runner/skill", "runner/taint", "runner/workspace/customer",
			"gen/catalog", "gen/config", "gen/ident", "gen/schema", "gen/schema/validate", "gen/tokens", "gen/upstream", "templates",
		}},

		// Commands, and what they share.
		{"cmd/internal/cli", []string{"gen/ident", "gen/exit"}},
		{"cmd/internal/manpages", nil},         // for tests
		{"cmd/internal/integration", nil},      // tests of the binaries; none of our packages
		{"cmd/internal/eval/conformance", nil}, // tests of the binaries; none of our packages
		{"cmd/internal/layering", nil},
		{"cmd/internal/eval/soundness", []string{"gen/ident", "gen/render", "gen/render/*", "gen/schema", "gen/schema/validate"}},
		{"cmd/internal/eval/weight", nil},  // measures the built program
		{"cmd/internal/eval/hostile", nil}, // tests of the whole generator with hostile servers
		{"cmd/internal/checkers", []string{"cmd/internal/cli", "runner/script/check"}},
		{"cmd/internal/backends/early", []string{"runner/sandbox/*"}},
		{"cmd/internal/backends", []string{"cmd/internal/backends/early", "gen/owner", "runner/sandbox", "runner/sandbox/*", "runner/script"}},
		{"cmd/internal/eval/soak", []string{"cmd/internal/backends", "gen/upstream", "runner", "runner/*"}},
		{"cmd/internal/eval/bench", []string{"cmd/internal/*", "gen", "gen/*", "gen/render/*", "gen/search/searchtest", "runner", "runner/*", "runner/store/sqlite", "runner/script/check", "runner/sandbox/pool"}},
		{"cmd/internal/eval/proof", []string{"cmd/internal/backends", "gen", "gen/catalog", "gen/config", "gen/config/guide", "gen/ident", "gen/search", "gen/search/searchtest", "gen/tokens", "gen/upstream", "runner", "runner/chain", "runner/policy", "runner/sandbox"}},
		{"cmd/mcpdemo/**", []string{"gen/atomicfile", "cmd/internal/cli", "cmd/mcpdemo/internal/*"}},
		{"cmd/mcpgen/internal/syncview", []string{"cmd/internal/cli", "cmd/mcpgen/internal/permit", "gen", "gen/catalog/diff", "gen/tree", "runner/policy"}},
		{"cmd/internal/trust", []string{"gen/exit", "cmd/internal/cli", "gen/config", "gen/config/consent"}},
		{"cmd/mcpgen/internal/permit", []string{"cmd/internal/cli", "gen", "gen/catalog/diff", "gen/config", "runner/approve", "runner/chain", "runner/policy", "runner/risk", "runner/store"}},
		{"cmd/mcpgen", []string{"gen/registry", "gen/ident", "gen/atomicfile", "cmd/internal/checkers", "cmd/internal/cli", "cmd/internal/trust", "cmd/mcpgen/internal/*", "gen/catalog/diff", "gen/config", "gen/config/*", "gen/exit", "gen/learn", "gen/search", "gen", "runner/script", "runner/script/check", "runner/script/migrate", "runner/skill", "runner/traffic", "runner/workflow/folder"}},
		{"cmd/mcprun", []string{"gen/exit", "cmd/internal/cli", "cmd/internal/backends", "runner", "cmd/mcprun/internal/*"}},
		{"cmd/mcprun/internal/state", []string{"cmd/internal/cli", "cmd/mcprun/internal/flags", "cmd/mcprun/internal/project", "gen/config", "gen/upstream/oauth", "runner/audit", "runner/audit/alert", "runner/store", "runner/store/*", "runner/durable", "cmd/mcprun/internal/customers"}},
		{"cmd/mcprun/internal/audits", []string{"cmd/internal/cli", "cmd/mcprun/internal/flags", "cmd/mcprun/internal/project", "cmd/mcprun/internal/state", "gen/atomicfile", "gen/config", "gen/exit", "gen/ident", "runner/audit", "runner/audit/report", "runner/risk", "runner/store"}},
		{"cmd/mcprun/internal/customers", []string{"runner/form", "runner/cache", "runner/model", "cmd/internal/cli", "cmd/mcprun/internal/flags", "cmd/mcprun/internal/project", "cmd/mcprun/internal/state", "gen/config", "gen/upstream/oauth", "runner", "runner/chain", "runner/pii", "runner/pii/presidio", "runner/record", "runner/sandbox", "runner/store", "runner/workspace/customer"}},
		{"cmd/mcprun/internal/daemon", []string{"gen/exit", "cmd/internal/backends", "cmd/internal/cli", "cmd/mcprun/internal/doctor", "cmd/mcprun/internal/flags", "cmd/mcprun/internal/resources", "gen/upstream", "runner", "runner/daemon", "cmd/mcprun/internal/project"}},
		{"cmd/mcprun/internal/caches", []string{"gen/config", "gen/ident", "cmd/internal/cli", "cmd/mcprun/internal/flags", "cmd/mcprun/internal/project", "cmd/mcprun/internal/state", "runner/store"}},
		{"cmd/mcprun/internal/shapes", []string{"cmd/internal/cli", "cmd/mcprun/internal/project", "cmd/mcprun/internal/state", "gen/learn", "runner/traffic"}},
		{"cmd/mcprun/internal/schedules", []string{"cmd/internal/cli", "cmd/mcprun/internal/daemon", "cmd/mcprun/internal/flags", "cmd/mcprun/internal/project", "cmd/mcprun/internal/resources", "cmd/mcprun/internal/run", "cmd/mcprun/internal/state", "gen/config", "gen/exit", "gen/ident", "runner/audit", "runner/durable", "runner/pii", "runner/store", "runner/store/sqlite", "runner/workflow"}},
		{"cmd/mcprun/internal/workflows", []string{"runner/call", "runner/pii", "runner/store", "cmd/internal/cli", "cmd/mcprun/internal/flags", "cmd/mcprun/internal/project", "cmd/mcprun/internal/resources", "cmd/mcprun/internal/run", "cmd/mcprun/internal/state", "cmd/mcprun/internal/term", "cmd/mcprun/internal/skills", "cmd/mcprun/internal/source", "gen/upstream/elicit", "runner", "runner/chain", "runner/durable", "runner/journal", "runner/sandbox", "runner/script", "runner/workflow", "runner/workflow/document", "runner/workflow/folder"}},
		{"cmd/mcprun/internal/doctor", []string{"cmd/internal/checkers", "cmd/mcprun/internal/customers", "runner/script/check", "runner/risk", "cmd/internal/backends", "cmd/internal/cli", "cmd/mcprun/internal/flags", "cmd/mcprun/internal/packages", "cmd/mcprun/internal/project", "cmd/mcprun/internal/resources", "cmd/mcprun/internal/skills", "gen/config", "gen/config/consent", "runner", "runner/sandbox", "cmd/mcprun/internal/state"}},
		{"cmd/mcprun/internal/tools", []string{"cmd/internal/checkers", "cmd/internal/cli", "cmd/mcprun/internal/flags", "runner/sandbox", "runner/script/check", "runner/script/check/tools"}},
		{"cmd/mcprun/internal/image", []string{"cmd/internal/backends", "cmd/internal/cli", "cmd/mcprun/internal/tools", "runner/sandbox/docker"}},
		{"cmd/mcprun/internal/flags", []string{"cmd/internal/cli", "gen/config", "gen/ident", "runner/workspace/customer"}},
		{"cmd/mcprun/internal/network", []string{"cmd/internal/cli", "cmd/mcprun/internal/customers", "cmd/mcprun/internal/project", "cmd/mcprun/internal/resources", "gen/config", "gen/exit", "runner", "runner/egress"}},
		{"cmd/mcprun/internal/models", []string{"cmd/internal/cli", "cmd/mcprun/internal/flags", "cmd/mcprun/internal/project", "cmd/mcprun/internal/resources", "cmd/mcprun/internal/state", "gen/config", "runner/model"}},
		{"cmd/mcprun/internal/packages", []string{"cmd/internal/cli", "cmd/mcprun/internal/project", "cmd/mcprun/internal/resources", "runner/packages", "runner/sandbox"}},
		{"cmd/mcprun/internal/plugins", []string{"cmd/internal/cli", "cmd/mcprun/internal/flags", "cmd/mcprun/internal/project", "cmd/mcprun/internal/resources", "gen/config", "runner/plugin"}},
		{"cmd/mcprun/internal/policies", []string{"cmd/internal/cli", "cmd/mcprun/internal/flags", "cmd/mcprun/internal/project", "cmd/mcprun/internal/resources", "gen", "gen/config", "gen/schema/validate", "runner/chain", "runner/policy", "runner/risk"}},
		{"cmd/mcprun/internal/project", []string{"gen/catalog", "gen/search", "runner/recommend", "cmd/internal/cli", "cmd/internal/trust", "cmd/mcprun/internal/flags", "cmd/mcprun/internal/resources", "gen/config", "gen/upstream", "runner", "runner/chain", "runner/plugin", "runner/form", "runner/policy", "runner/script", "runner/telemetry", "runner/store", "runner/traffic"}},
		{"cmd/mcprun/internal/resources", []string{"cmd/internal/backends", "cmd/internal/cli", "gen", "gen/config", "gen/search", "gen/upstream", "runner", "runner/chain", "runner/policy", "runner/sandbox", "runner/sandbox/pool", "runner/script", "runner/telemetry"}},
		{"cmd/mcprun/internal/approvals", []string{"cmd/internal/backends", "cmd/internal/cli", "cmd/mcprun/internal/customers", "cmd/mcprun/internal/flags", "cmd/mcprun/internal/project", "cmd/mcprun/internal/state", "runner/approve", "runner/store", "runner/workspace/customer", "gen/config"}},
		{"cmd/mcprun/internal/forms", []string{"cmd/internal/cli", "cmd/mcprun/internal/customers", "cmd/mcprun/internal/flags", "cmd/mcprun/internal/models", "cmd/mcprun/internal/project", "cmd/mcprun/internal/resources", "cmd/mcprun/internal/run", "cmd/mcprun/internal/state", "cmd/mcprun/internal/term", "gen", "gen/schema/validate", "runner/call", "runner/form"}},
		{"cmd/mcprun/internal/run", []string{"runner/workflow/folder", "runner/cache", "gen/exit", "runner/form", "runner/risk", "runner/script/judge", "cmd/internal/backends", "cmd/internal/cli", "cmd/mcprun/internal/approvals", "cmd/mcprun/internal/customers", "cmd/mcprun/internal/daemon", "cmd/mcprun/internal/flags", "cmd/mcprun/internal/network", "cmd/mcprun/internal/packages", "cmd/mcprun/internal/project", "cmd/mcprun/internal/resources", "cmd/mcprun/internal/skills", "cmd/mcprun/internal/source", "cmd/mcprun/internal/state", "cmd/mcprun/internal/term", "gen", "gen/catalog", "gen/config", "gen/ident", "gen/search", "gen/upstream", "runner", "runner/approve", "runner/audit", "runner/chain", "runner/bridge", "runner/call", "runner/hostapi", "runner/packages", "runner/pii", "runner/policy", "runner/sandbox", "runner/script", "runner/script/check", "runner/skill", "runner/taint", "runner/trace", "runner/workspace", "runner/workspace/customer", "runner/store", "runner/durable", "runner/journal", "runner/workflow", "cmd/mcprun/internal/models", "runner/model", "runner/task", "runner/workflow/document"}},
		{"cmd/mcprun/internal/serve", []string{"gen/ident", "runner/workflow", "runner/workflow/folder", "gen/exit", "runner/form", "runner/model", "cmd/internal/cli", "cmd/mcprun/internal/customers", "cmd/mcprun/internal/flags", "cmd/mcprun/internal/packages", "cmd/mcprun/internal/project", "cmd/mcprun/internal/resources", "cmd/mcprun/internal/run", "cmd/mcprun/internal/skills", "cmd/mcprun/internal/term", "gen", "gen/catalog", "gen/config", "gen/search", "gen/upstream", "runner", "runner/approve", "runner/audit", "runner/call", "runner/chain", "runner/hostapi", "runner/mcpserver", "runner/mcpserver/bearer", "runner/pii", "runner/policy", "runner/sandbox", "runner/skill", "runner/taint", "runner/workspace", "runner/workspace/customer", "cmd/mcprun/internal/state", "runner/durable", "runner/journal", "runner/store", "cmd/mcprun/internal/schedules", "runner/task"}},
		{"cmd/mcprun/internal/skills", []string{"cmd/internal/checkers", "cmd/internal/cli", "cmd/mcprun/internal/customers", "cmd/mcprun/internal/flags", "cmd/mcprun/internal/packages", "cmd/mcprun/internal/project", "cmd/mcprun/internal/resources", "cmd/mcprun/internal/source", "cmd/mcprun/internal/state", "gen/catalog", "runner", "runner/sandbox", "runner/script", "runner/script/check", "runner/skill", "runner/workspace", "runner/workspace/customer", "skills"}},
		{"cmd/mcprun/internal/source", []string{"cmd/internal/cli", "cmd/mcprun/internal/flags", "runner", "runner/sandbox", "runner/script"}},
		{"cmd/mcprun/internal/term", []string{"cmd/internal/cli", "cmd/mcprun/internal/flags", "gen/upstream", "runner", "runner/approve", "runner/chain", "runner/risk"}},
	}
}

// home says which packages may import a third-party library; tests alone may import one that has none.
type home struct {
	library string // an import path, and all below it
	pkgs    []string
}

func homes() []home {
	return []home{
		{"github.com/modelcontextprotocol/go-sdk", []string{"gen/upstream/**", "runner/mcpserver/**", "cmd/mcpdemo/**", "cmd/internal/eval/bench"}},
		{"github.com/google/jsonschema-go", []string{"cmd/mcpdemo/**"}}, // for tools of our own
		{"github.com/santhosh-tekuri/jsonschema/v5", []string{"gen/schema/validate"}},
		{"github.com/kljensen/snowball", []string{"gen/search"}},
		{"github.com/go-json-experiment/json", []string{"gen/**", "runner/**"}},
		{"github.com/google/shlex", []string{"gen/config"}},
		{"github.com/google/cel-go", []string{"runner/internal/expr", "runner/policy", "runner/workflow/document"}},
		{"github.com/dbos-inc/dbos-transact-golang", []string{"runner/durable"}},
		{"github.com/jackc/pgx/v5", []string{"runner/durable", "runner/store/postgres", "runner/store/storetest/pgtest"}},
		{"github.com/pressly/goose/v3", []string{"runner/store/postgres", "runner/store/sqlite"}},
		{"github.com/robfig/cron/v3", []string{"gen/config", "runner/durable"}},
		{"golang.org/x/mod", []string{"cmd/internal/eval/bench", "cmd/mcprun/internal/audits", "runner/audit", "runner/store/**"}}, // of the checksum database
		{"github.com/spf13/cobra", []string{"cmd/**"}},
		{"github.com/spf13/pflag", []string{"cmd/**"}},
		{"github.com/evanw/esbuild", []string{"runner/script", "runner/script/migrate"}},
		{"github.com/grafana/sobek", []string{"runner/script/internal/syntax"}},
		{"github.com/moby/moby", []string{"runner/sandbox/docker"}},
		{"github.com/containerd/errdefs", []string{"runner/sandbox/docker"}},
		{"github.com/docker/go-units", []string{"cmd/mcprun/internal/flags", "gen/config"}},
		{"modernc.org/sqlite", []string{"cmd/mcpdemo/**", "cmd/internal/eval/proof", "runner/durable", "runner/store/sqlite"}},
		{"modernc.org/libquickjs", []string{"runner/sandbox/embedded/**"}},
		{"github.com/go-sourcemap/sourcemap", []string{"runner/sandbox/embedded/**", "runner/script/internal/syntax"}},
		{"github.com/nlnwa/whatwg-url", []string{"runner/sandbox/embedded/**", "runner/egress", "runner/policy/internal/spelling"}},
		{"github.com/elazarl/goproxy", []string{"runner/egress"}},
		{"code.dny.dev/ssrf", []string{"runner/egress"}},
		{"modernc.org/libc", []string{"runner/sandbox/embedded/**"}},
		{"github.com/tiktoken-go/tokenizer", []string{"gen/tokens"}},
		{"github.com/opencontainers/runtime-spec", []string{"runner/sandbox/gvisor"}},
		{"github.com/landlock-lsm/go-landlock", []string{"runner/sandbox/process", "runner/sandbox/internal/jail"}},
		{"kernel.org/pub/linux/libs/security/libcap/psx", []string{"runner/sandbox/internal/jail"}},
		{"github.com/zalando/go-keyring", []string{"gen/upstream/oauth"}},
		{"github.com/sony/gobreaker/v2", []string{"gen/upstream/internal/circuit"}},
		{"github.com/Azure/azure-sdk-for-go/sdk", []string{"cmd/mcprun/internal/models"}}, // it reads the environment
		{"github.com/cenkalti/backoff/v5", []string{"gen/upstream/internal/circuit", "runner/model", "runner/policy", "runner/store/postgres", "runner/store/sqlite", "runner/telemetry"}},
		{"github.com/gofrs/flock", []string{"gen/upstream/oauth", "runner/internal/kept", "runner/packages", "runner/pii", "runner/skill", "runner/workspace/customer"}},
		{"golang.org/x/oauth2", []string{"gen/upstream/oauth"}},
		{"go.opentelemetry.io/otel", []string{"runner/telemetry", "runner/sandbox/docker"}}, // docker switches its client's spans off
		{"go.opentelemetry.io/proto/otlp", []string{"runner/telemetry/**"}},
		{"google.golang.org/protobuf", []string{"runner/telemetry/**"}},
		{"github.com/tailscale/hujson", []string{"gen/config/edit", "gen/config/ignore", "gen/config/node"}},
		{"github.com/pelletier/go-toml/v2", []string{"gen/config/edit", "gen/config/ignore", "gen/config/node"}},
		{"go.yaml.in/yaml/v3", []string{"gen/config", "gen/config/edit", "gen/config/node", "runner/form", "runner/skill/internal/frontmatter", "runner/workflow/document"}},
		{"github.com/rogpeppe/go-internal/diff", []string{"gen/tree", "runner/audit/report", "runner/script/migrate"}},
		{"golang.org/x/term", []string{"cmd/internal/cli"}},
		// Parts of Go that are released apart from it.
		{"golang.org/x/sync", []string{"**"}},
		{"golang.org/x/sys", []string{"**"}},
		{"golang.org/x/text", []string{"**"}},
		{"golang.org/x/net", []string{"**"}},
		// For tests only.
		{"github.com/google/go-cmp", nil},
		{"github.com/rogpeppe/go-internal", nil},
		{"gopkg.in/dnaeon/go-vcr.v4", nil},
		{"github.com/ory/dockertest/v3", nil},
	}
}
