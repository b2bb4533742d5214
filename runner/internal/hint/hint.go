// Package hint says what to do about the error that ended a script when the error itself does not say it: about a name that is misspelt or
// was not imported, a sandbox without a network, or code in the other language.
//
// A hint is one sentence without a full stop, for the script's author, who is often a model. It names only what exists: tools, servers and
// functions come from the tree and the library, files from the script's folder. The texts of an error come from a hostile guest; they
// choose among hints and never appear in one, except for names that are plain identifiers.
package hint

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
)

// rule is a hint for errors of an interpreter or of the C library.
type rule struct {
	// pattern is a regular expression for "NAME: MESSAGE\nSTACK".
	pattern string
	// when, unless nil, must also hold.
	when func(f *Failure) bool
	// text may refer to groups of the pattern, as in $1. textTools, parsedTools and installedPackages stand for the results of TextResult,
	// parsedResult and packages.
	text string
}

// WholeResult is the hint for a script that treats the value of a call as the whole CallToolResult.
const WholeResult = "a call returns the value itself, not a result with structuredContent, content or isError; leave that out, or pass the option raw"

const textTools, parsedTools, installedPackages = "$texts", "$parsed", "$installed"

// offline is how programs say that nothing is reached.
const offline = `getaddrinfo (EAI_AGAIN|ENOTFOUND|EAI_FAIL)|connect (EPERM|EACCES|EAFNOSUPPORT|ENETUNREACH|EHOSTUNREACH) |` +
	`Temporary failure in name resolution|Name or service not known|Network is unreachable|Address family not supported by protocol|` +
	`(?s:socket\.py.*PermissionError: \[Errno 1\])`

// rules apply to all interpreters. The first that matches is used.
var rules = []rule{
	{offline, func(f *Failure) bool { return f.Network },
		"the network is reached through a proxy only: use a client that reads HTTP_PROXY and HTTPS_PROXY, as fetch, urllib, requests, curl and git do"},
	{offline + `|^ReferenceError: '?(?:EventSource|WebSocket|XMLHttpRequest)'? is not defined`, func(f *Failure) bool { return !f.Network },
		"the sandbox has no network; call the tools in ./servers instead, or ask for it: mcprun --network, or network: true for execute_code"},
	{`^ReferenceError: '?(EventSource|WebSocket|XMLHttpRequest)'? is not defined`, nil, "sandboxes have no $1; use fetch"},
	{`^ModuleNotFoundError: No module named '(requests|httpx|aiohttp|urllib3)'`,
		func(f *Failure) bool { return !f.Network && f.installed() == "" }, "the sandbox has no network, and no $1; call tools instead, as in: from servers.SERVER import TOOL"},
	{`^ModuleNotFoundError: No module named '(?:servers|skills)?[^.']*'\n`,
		func(f *Failure) bool { return !strings.Contains(f.Err.Message, ";") },
		installedPackages},
	{`^ImportError: attempted relative import with no known parent package`,
		nil, "the script is not part of a package: import files beside it without the dot, as in: from helper import NAME"},
	{`spawn(?:Sync)? \S+ ENOENT|(?s:subprocess\.py.*FileNotFoundError)`,
		nil, "the sandbox has no other programs, and no shell"},

	{`^TypeError: .*(?:\b(?:Result)?Handle\b|Received object\n)`,
		func(f *Failure) bool { return f.Handles },
		"a result larger than --max-result is a handle: where a function wants the text or the data itself, pass its text() or json()"},
	{`^(?:TypeError: string indices must be integers|(?:TypeError|AttributeError): 'str' object |TypeError: (?:.*\.)?` + listMethods + ` is not a function|TypeError: not a function\n)`,
		func(f *Failure) bool { return len(f.TextTools) > 0 && f.calls(listMethods) }, textTools},
	{`^(?:(?:AttributeError: '(?:dict|list)' object has no attribute '|TypeError: (?:.*\.)?)` + textMethods + `(?:'| is not a function)|` +
		`TypeError: (?:expected string or bytes-like object, got '(?:dict|list)'|write\(\) argument must be str, not (?:dict|list)|` +
		`sequence item \d+: expected str instance, (?:dict|list) found|can only concatenate (?:str \(not "(?:dict|list)"\) to str|list \(not "str"\) to list)|` +
		`The "(?:data|string)" argument must be of type string)|TypeError: not a function\n)`,
		func(f *Failure) bool { return len(f.ParsedTools) > 0 && f.calls(textMethods) }, parsedTools},
	{`^KeyError: '(structuredContent|content|isError)'|^TypeError: (?i:cannot read propert)`,
		func(f *Failure) bool { return callResult().MatchString(f.Code) }, WholeResult},
	{`^(?:NameError: name|ReferenceError:) '?context_vars'? is not defined`,
		nil, `each member of context_vars is a variable of the script: use limit, not context_vars["limit"]`},

	{`^TypeError: 'builtin_function_or_method' object is not (?:subscriptable|iterable)`,
		nil, `results are dicts, whose methods hide keys of the same name: write answer["items"]`},

	{`^TypeError: (?:object \S+ can't be used in 'await' expression|'\S+' object can't be awaited)`,
		nil, "tools and the functions of mcprun are not async in Python: leave await out"},
	{`^(?:TypeError: (?:An asyncio\.Future, a coroutine or an awaitable is required|a coroutine was expected|(?s:unhashable type: '(?:dict|list)'.*gather))|ValueError: a coroutine was expected)`,
		nil, "tools are not async in Python; to call several at once, use concurrent.futures.ThreadPoolExecutor().map, or await asyncio.to_thread(TOOL, …)"},
	{`^TypeError: (?:.* is not async iterable|not a function\n)`,
		func(f *Failure) bool { return strings.Contains(f.line(), "for await") },
		"a tool returns one result, which for await cannot iterate over; write: for (const item of (await TOOL(…)).items)"},

	{`^ReferenceError: '?print'? is not defined`, nil, "this is TypeScript: use console.log, or name the script .py, or use --language python"},
	{`^NameError: name 'console' is not defined`, nil, "this is Python: use print, or name the script .ts, or use --language typescript"},
	{`^SyntaxError: 'return' outside function`, nil, "to return a value from the script, write: result = VALUE"},
	{`^SyntaxError: `, func(f *Failure) bool { return conflict().MatchString(f.Err.Stack) },
		"a file of the generated tree holds the marks of a merge conflict; to write it again, run: mcpgen sync"},
	{`^SyntaxError: `,
		func(f *Failure) bool {
			return f.Language == sandbox.LangPython && OtherLanguage(f.Language, f.Code) != ""
		},
		looksLikeTypeScript},

	{`^ReferenceError: '?(Blob|BroadcastChannel|ByteLengthQueuingStrategy|CompressionStream|CountQueuingStrategy|Crypto|CryptoKey|DecompressionStream|` +
		`File|FormData|Headers|Intl|MessageChannel|MessageEvent|MessagePort|Navigator|navigator|Performance|PerformanceEntry|` +
		`PerformanceMark|PerformanceMeasure|PerformanceObserver|ReadableStream|Request|Response|SubtleCrypto|TextDecoderStream|TextEncoderStream|` +
		`TransformStream|WebAssembly|WritableStream)'? is not defined`,
		nil, "the embedded sandbox has no $1; use another sandbox, such as --sandbox docker (mcprun doctor lists them)"},
}

const (
	listMethods = `(?:at|concat|entries|every|filter|find|findIndex|flat|flatMap|forEach|join|keys|map|pop|push|reduce|reverse|shift|some|sort|splice|values)`
	textMethods = `(?:split|splitlines|strip|trim|trimEnd|trimStart|match|matchAll|replace|replaceAll|startsWith|startswith|endsWith|endswith|lower|upper|` +
		`toLowerCase|toUpperCase|encode|find|charAt|substring|substr|slice|includes)`
)

var (
	patterns = sync.OnceValue(func() []*regexp.Regexp {
		all := make([]*regexp.Regexp, len(rules))
		for i, r := range rules {
			all[i] = regexp.MustCompile(r.pattern)
		}
		return all
	})
	// callResult matches an access to a member of a CallToolResult.
	callResult = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:\.|\["|\[')(?:structuredContent|isError|content)\b`)
	})
	structuredContent = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:\.|\["|\[')structuredContent\b`) })
	// pythonPlace matches a place in a Python stack.
	pythonPlace = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^  File "([^"\n]+)", line (\d+)`) })
	// conflict matches the place of a merge conflict marker in the tree, in a Python stack.
	conflict = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^  File "(?:/mcp/)?servers/[^"\n]+", line \d+\n    <<<<<<< `)
	})
	// variable matches the use of an environment variable.
	variable = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`process\.env(?:\.|\[["'])(\w+)|os\.environ(?:\.get\(|\[)["'](\w+)|os\.getenv\(["'](\w+)`)
	})
)

// Hint returns the hint for the failure, or "" if there is none.
func (f *Failure) Hint() string {
	if f.Err == nil {
		return ""
	}
	return cmp.Or(f.module(), f.toolID(), f.name(), f.file(), f.rule())
}

// line returns the line of the script in which the error occurred, or "" if it is unknown.
func (f *Failure) line() string {
	if at := firstPlace().FindStringSubmatch(f.Err.Stack); at != nil && at[1] == f.Name {
		return lineAt(f.Code, at[2])
	}
	line := ""
	for _, at := range pythonPlace().FindAllStringSubmatch(f.Err.Stack, -1) { // the innermost call is the last
		if at[1] == f.Name {
			line = lineAt(f.Code, at[2])
		}
	}
	return line
}

// calls reports whether the error may be about one of the methods. QuickJS does not say which function is missing.
func (f *Failure) calls(methods string) bool {
	return f.Err.Message != "not a function" || regexp.MustCompile(`\.`+methods+`\(`).MatchString(f.line())
}

// rule returns the hint of the first rule that matches, or else the hint for a variable that is not set.
func (f *Failure) rule() string {
	subject := f.Err.Name + ": " + f.Err.Message + "\n" + f.Err.Stack
	for i, pattern := range patterns() {
		r := rules[i]
		found := pattern.FindStringSubmatchIndex(subject)
		if found == nil || r.when != nil && !r.when(f) {
			continue
		}
		switch r.text {
		case textTools:
			return TextResult(f.TextTools[0], f.Language)
		case parsedTools:
			return parsedResult(f.ParsedTools[0], f.Language)
		case installedPackages:
			return f.packages()
		}
		return string(pattern.ExpandString(nil, r.text, subject, found))
	}
	if name := f.variable(); name != "" {
		return NotSet(name)
	}
	return ""
}

// installed returns what Installed says, or "".
func (f *Failure) installed() string {
	if f.Installed == nil {
		return ""
	}
	return f.Installed()
}

// packages returns the hint for a module that does not exist.
func (f *Failure) packages() string {
	library := "the standard library"
	if f.Network {
		library += " (urllib.request reaches the network)"
	}
	return "a script can import " + library + ", servers, skills, mcprun, and the files beside it; " +
		cmp.Or(f.installed(), "no packages are installed (an operator installs them: mcprun packages install; or mcprun image --data for numpy, pandas and openpyxl)")
}

// NotSet returns the hint for an environment variable that a script reads.
func NotSet(name string) string {
	return name + " is not set: a sandbox gets no environment variables; pass values with --var, and leave credentials to the servers"
}

// credential matches the code with which a script reads a credential from the environment, and the beginning of a default after it.
var credential = sync.OnceValue(func() *regexp.Regexp {
	const name = `(\w*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)\w*)`
	return regexp.MustCompile(`(?:process\.env(?:\.|\[["'])` + name + `(?:["']\])?|os\.(?:environ\.get|getenv)\(["']` + name + `["'])(\s*(?:\?\?|\|\||,))?`)
})

// TakesWholeResult reports whether code reads structuredContent from a call, which only calls with the option raw return.
func TakesWholeResult(code string) bool {
	return structuredContent().MatchString(code) && !strings.Contains(code, "raw")
}

// MissingCredential returns the name of the first credential that a script reads from the environment without a default, or "" if there is
// none.
func MissingCredential(code string) string {
	for _, found := range credential().FindAllStringSubmatch(code, -1) {
		if found[3] == "" {
			return found[1] + found[2]
		}
	}
	return ""
}

// variable returns the environment variable that the error is about: the message contains its name, or the line reads it, or the message is
// about a missing value.
func (f *Failure) variable() string {
	missing := strings.Contains(f.Err.Message, "NoneType") || strings.Contains(f.Err.Message, "undefined")
	for _, found := range variable().FindAllStringSubmatch(f.Code, -1) {
		name := found[1] + found[2] + found[3]
		if missing || strings.Contains(f.Err.Message, name) || strings.Contains(f.line(), found[0]) {
			return name
		}
	}
	return ""
}

const (
	looksLikePython     = "this looks like Python: name the script .py, or use --language python"
	looksLikeTypeScript = "this looks like TypeScript: name the script .ts, or use --language typescript"
)

// OtherLanguage returns the hint for code that cannot be parsed and looks like the other language, or "" if it does not.
func OtherLanguage(language sandbox.Language, code string) string {
	switch looks := script.LooksLike(code); {
	case looks == "" || looks == language:
		return ""
	case looks == sandbox.LangPython:
		return looksLikePython
	}
	return looksLikeTypeScript
}

// TextResult returns the hint for a tool that returned a text that the script treated as an object or a list. tool is the tool's id.
func TextResult(tool string, language sandbox.Language) string {
	parse := "JSON.parse"
	if language == sandbox.LangPython {
		parse = "json.loads"
	}
	return fmt.Sprintf("%s returned a text, not an object or a list: print it once to see what it holds; if it is JSON, use %s", tool, parse)
}

// parsedResult returns the hint for a tool that returned JSON where the script expected the text.
func parsedResult(tool string, language sandbox.Language) string {
	text := "String(value)"
	if language == sandbox.LangPython {
		text = "str(value)"
	}
	return fmt.Sprintf("%s returned JSON, which is an object or a list to the script: its text is %s", tool, text)
}
