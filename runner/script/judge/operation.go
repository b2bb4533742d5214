package judge

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runner/script/internal/syntax"
)

// Operation is something that a script does outside of its variables.
type Operation struct {
	// Rule is the [Rule] that finds it: network, process, file-write, file-delete or own-file-delete; or file-read, which is none.
	Rule string
	// Target is the constant part of the file, host or command.
	Target string
	// Computed says that the script computes the target, or a part of it: it may be another.
	Computed bool
	File     string
	Line     int // from 1; zero when it is not known
}

// At returns the place of the operation.
func (o *Operation) At() string {
	if o.Line == 0 {
		return o.File
	}
	return fmt.Sprintf("%s:%d", o.File, o.Line)
}

// Commands are the commands that scripts may run. The zero value allows none.
//
// An entry is the name of a command, such as git, which stands for the command with arguments of letters, digits and the characters
// _ - . / or of the form --flag=value; or a glob of a whole command, such as "git log *". Whatever an entry says, a command that chains
// others, or that destroys data or runs downloaded code, is not allowed.
type Commands struct {
	// Allow are those that may run. Nil: all, if there is Deny.
	Allow []string
	// Deny are those that may not, even if Allow has them. A name also denies a path that ends in it.
	Deny []string
}

// plainArgument matches arguments that no shell and no command reads as more than a word, a path or a flag.
var plainArgument = regexp.MustCompile(`^(?:[\w./-]+|--[\w-]+=[\w./-]*)$`)

// chains are characters by which a shell runs further commands, or writes to files.
const chains = ";&|`$<>\n\r"

// Refuse returns why a command may not run; empty: it may.
func (c *Commands) Refuse(command string) string {
	words := strings.Fields(command)
	switch {
	case len(words) == 0:
		return "no command is known"
	case harmful().MatchString(command):
		return "it destroys data, or runs downloaded code"
	}
	if i := slices.IndexFunc(words, func(w string) bool { return strings.ContainsAny(w, chains) }); i >= 0 || strings.ContainsAny(command, chains) {
		return fmt.Sprintf("the argument %.80q has characters with which a shell runs further commands or writes to files", words[max(i, 0)])
	}
	name := words[0]
	if slices.ContainsFunc(c.Deny, func(entry string) bool {
		return entry == name[strings.LastIndexByte(name, '/')+1:] || entry == name || isGlob(entry) && fitsGlob(entry, command)
	}) {
		return "it is denied"
	}
	if slices.ContainsFunc(c.Allow, func(entry string) bool { return isGlob(entry) && fitsGlob(entry, command) }) {
		return ""
	}
	if !slices.Contains(c.Allow, name) && (c.Allow != nil || c.Deny == nil) {
		if len(c.Allow) == 0 {
			return "no command is allowed"
		}
		return "only these are allowed: " + strings.Join(c.Allow, ", ")
	}
	for _, word := range words[1:] {
		if !plainArgument.MatchString(word) {
			return fmt.Sprintf("the argument %.80q has other characters than letters, digits, _ - . / and is no --flag=value", word)
		}
	}
	return ""
}

// isGlob reports whether an entry is about a whole command, not about a name.
func isGlob(entry string) bool { return strings.ContainsAny(entry, " *") }

func fitsGlob(glob, command string) bool {
	prefix, open := strings.CutSuffix(glob, "*")
	return command == glob || open && strings.HasPrefix(command, prefix)
}

// runners are the functions of which it is known how they take a command: as one text or list, which further arguments do not change
// unless they are named in its options. With words, the arguments of the command are a list of their own, the second argument.
var (
	runners    = set("child_process.exec child_process.execSync execSync subprocess.run subprocess.call subprocess.check_call subprocess.check_output subprocess.Popen subprocess.getoutput subprocess.getstatusoutput os.system os.popen asyncio.create_subprocess_shell")
	listed     = set("child_process.spawn child_process.spawnSync child_process.execFile child_process.execFileSync spawnSync execFileSync")
	plainWords = set("cwd timeout encoding stdio input capture_output text check stdout stderr stdin universal_newlines maxBuffer windowsHide signal killSignal errors bufsize")
)

// outward are the rules that find operations.
var outward = set("file-read file-write file-delete own-file-delete network process")

// ofResult reports whether a path is of what a call returned, such as subprocess.run().stdout.
func ofResult(p string) bool { return strings.Contains(p, "()") && !strings.HasPrefix(p, pathObject) }

var (
	// clients are functions that make an object for requests and send none.
	clients = set("requests.Session requests.session httpx.Client httpx.AsyncClient aiohttp.ClientSession aiohttp.TCPConnector axios.create urllib3.PoolManager http.Agent https.Agent undici.Agent")
	// sends matches methods of such objects that send something.
	sends = regexp.MustCompile(`\(\)\.(?:get|post|put|patch|delete|head|options|request|send|fetch|stream|connect|connect_ex|sendto|open|urlopen|ws_connect|create_connection)$`)
)

// commandOf returns the command that a call runs, if that is the same whenever the program runs.
func (a *analysis) commandOf(n *syntax.Node, name string, s *scope) (command string, ok bool) {
	rest := n.Kids[1:]
	if named := keyword(n); named != nil && named == n.Kids[1].Kids[0] {
		rest = append([]*syntax.Node{named}, rest[1:]...)
	}
	if len(rest) == 0 || !runners[name] && !listed[name] {
		return "", false
	}
	first := rest[0]
	if command, ok = a.known(first, s); !ok {
		return "", false
	}
	rest = rest[1:]
	if !oneWord(first) {
		return "", false
	}
	if listed[name] && len(rest) > 0 && rest[0].Kind == syntax.List {
		if !oneWord(rest[0]) {
			return "", false
		}
		words, ok := a.known(rest[0], s)
		if !ok {
			return "", false
		}
		command, rest = strings.TrimSpace(command+" "+words), rest[1:]
	}
	for _, kid := range rest {
		if !plainOption(kid) {
			return "", false
		}
	}
	return command, true
}

// oneWord reports whether no element of a list has spaces, so that its elements can be told apart in a text.
func oneWord(n *syntax.Node) bool {
	return n.Kind != syntax.List || !slices.ContainsFunc(n.Kids, func(kid *syntax.Node) bool {
		return kid.Kind != syntax.String || strings.ContainsAny(kid.Text, " \t\n") || kid.Text == ""
	})
}

// plainOption reports whether a further argument does not change which command runs: a callback, or options that are known not to.
func plainOption(n *syntax.Node) bool {
	switch n.Kind {
	case syntax.Function:
		return true
	case syntax.Keyword, syntax.Pair: // None, true and false name no program
		return plainWords[n.Text] || n.Text != "" && n.Kids[0].Kind == syntax.Other && len(n.Kids[0].Kids) == 0
	case syntax.Dict:
		return !slices.ContainsFunc(n.Kids, func(kid *syntax.Node) bool { return kid.Kind != syntax.Pair || !plainOption(kid) })
	case syntax.Other: // a function that is converted with what is around it
		return slices.ContainsFunc(n.Kids, func(kid *syntax.Node) bool { return kid.Kind == syntax.Function })
	}
	return false
}

// known returns the text of an expression, with spaces between the elements of a list, if it is the same whenever the program runs.
func (a *analysis) known(n *syntax.Node, s *scope) (text string, ok bool) {
	if a.guessed || !a.certain(n, s, 0) {
		return "", false
	}
	for _, v := range a.values(n, s) {
		switch {
		case v.kind == isPath:
			continue
		case ok || v.partial:
			return "", false
		case v.kind == isList:
			text, ok = strings.Join(v.list, " "), true
		default:
			text, ok = v.text, true
		}
	}
	return text, ok
}

// joins are functions whose result is known if their arguments are.
var joins = set("path.join path.posix.join path.normalize os.path.join os.path.normpath posixpath.join pathlib.Path pathlib.PurePath str String os.fspath")

// certain reports whether an expression is built of constants, and of variables that are assigned in one place of the file only.
func (a *analysis) certain(n *syntax.Node, s *scope, depth int) bool {
	if depth++; depth > maxDepth {
		return false
	}
	all := func(nodes []*syntax.Node) bool {
		return !slices.ContainsFunc(nodes, func(kid *syntax.Node) bool { return !a.certain(kid, s, depth) })
	}
	switch n.Kind {
	case syntax.String, syntax.Number:
		return true
	case syntax.Name:
		b := s.lookup(n.Text)
		if b == nil || a.loose || a.sites[n.Text] != 1 || len(b.values) != 1 {
			return false
		}
		v := b.values[0]
		return v.node.Kind != syntax.List && a.certain(v.node, v.scope, depth) // a list may be changed
	case syntax.Add:
		return n.Text != "%" && all(n.Kids) && (n.Text != "/" || relative(n.Kids[1:]))
	case syntax.Join, syntax.List:
		return all(n.Kids)
	case syntax.Call:
		for _, v := range a.values(n.Kids[0], s) {
			if v.kind != isPath || !joins[v.text] {
				return false
			}
		}
		return all(n.Kids[1:]) && (len(n.Kids) < 2 || relative(n.Kids[2:]))
	}
	return false
}

// relative reports whether the further parts of a path are plain constants that do not begin anew, as /etc does.
func relative(parts []*syntax.Node) bool {
	return !slices.ContainsFunc(parts, func(n *syntax.Node) bool { return n.Kind != syntax.String || strings.HasPrefix(n.Text, "/") })
}

// loosens are names by which Python assigns variables in ways that are not seen.
var loosens = set("globals vars locals __main__ setattr")

// surroundings notes what changes the meaning of file names and commands.
func (a *analysis) surroundings(n *syntax.Node, p string) {
	switch {
	case p == "os.chdir" || p == "os.fchdir" || p == "process.chdir" || p == "contextlib.chdir":
		a.facts.Moved = true
		a.add(n, "file-read", "changes the working folder", "")
	case strings.HasPrefix(p, "os.environ") || strings.HasPrefix(p, "process.env") || p == "os.putenv":
		a.facts.Environ = true
	}
}

// computed reports whether the value of a fact may be another because of what the program does elsewhere.
func (f *Facts) computed(fact *Fact) bool {
	switch fact.Rule {
	case "process":
		return fact.Computed || f.Environ && fact.Value != ""
	case "file-read", "file-write", "file-delete", "own-file-delete":
		return fact.Computed || f.Moved && !strings.HasPrefix(fact.Value, "/")
	}
	return fact.Computed
}

// opener reports whether a path is that of a function like Python's open.
func (a *analysis) opener(p string) bool {
	return openers[p] && (a.python || strings.HasPrefix(p, "fs."))
}

// harmless matches members of modules that are no functions: exceptions, types and constants.
var harmless = regexp.MustCompile(`\.(?:\w*(?:Error|Exception|Expired|Timeout|Warning)|PIPE|DEVNULL|STDOUT|CompletedProcess|Response|codes|exceptions)$`)

// keyword returns the first argument of a call of Python that is given by its name.
func keyword(n *syntax.Node) *syntax.Node {
	if len(n.Kids) > 1 && n.Kids[1].Kind == syntax.Keyword && firstNames[n.Kids[1].Text] {
		return n.Kids[1].Kids[0]
	}
	return nil
}

var firstNames = set("args url file path filename fname name database")

// addressee returns the argument of a request that has the host.
func (a *analysis) addressee(n *syntax.Node, name string, at *syntax.Node, s *scope) *syntax.Node {
	if (last(name) == "request" || last(name) == "stream") && len(n.Kids) > 2 && !strings.Contains(name, "HTTP") && n.Kids[2].Kind != syntax.Keyword {
		at = n.Kids[2] // the first is the method
	}
	switch {
	case at == nil:
	case at.Kind == syntax.List && len(at.Kids) > 0: // (host, port)
		return at.Kids[0]
	case at.Kind == syntax.Call && len(at.Kids) > 1 && (memberOrName(at.Kids[0]) == "Request" || memberOrName(at.Kids[0]) == "URL") && at.Kids[1].Kind != syntax.Keyword:
		return at.Kids[1]
	}
	return at
}

// address matches the beginning of a URL up to the end of its host.
var address = regexp.MustCompile(`^(?:https?|wss?)://[A-Za-z0-9.-]+(?::\d+)?(?:/|$)`)

// knownHost returns the host of a URL whose scheme and host are constant, whatever its path is.
func (a *analysis) knownHost(n *syntax.Node, s *scope) (host string, ok bool) {
	if n == nil || a.guessed {
		return "", false
	}
	text, whole := a.prefix(n, s, 0)
	found := address.FindString(text)
	if found == "" || !whole && !strings.HasSuffix(found, "/") {
		return "", false
	}
	return hostOf(found), true
}

// prefix returns what a text begins with whenever the program runs, and whether that is all of it.
func (a *analysis) prefix(n *syntax.Node, s *scope, depth int) (text string, whole bool) {
	if depth++; depth > maxDepth {
		return "", false
	}
	if text, ok := a.known(n, s); ok {
		return text, true
	}
	switch n.Kind {
	case syntax.Add, syntax.Join:
		if n.Text != "" {
			return "", false
		}
		for _, kid := range n.Kids {
			more, all := a.prefix(kid, s, depth)
			if text += more; !all {
				return text, false
			}
		}
		return text, true
	case syntax.Name:
		if b := s.lookup(n.Text); b != nil && !a.loose && a.sites[n.Text] == 1 && len(b.values) == 1 {
			return a.prefix(b.values[0].node, b.values[0].scope, depth)
		}
	}
	return "", false
}
