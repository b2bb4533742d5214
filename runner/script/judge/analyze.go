package judge

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runner/script/internal/syntax"
)

// Fact is something that a program does, found without running it.
type Fact struct {
	Rule   string // of a [Rule], or tool, file-read, import
	File   string
	Line   int // from 1; zero: not known
	Column int // from 1, in bytes
	Text   string
	// Value is the constant part of what it is about: a file, host, command, tool or module. $ stands for parts that are not
	// known, and it is empty if nothing is.
	Value string
	// Computed says that Value is not all of it, so that what the program does may be another.
	Computed bool
	// ByID says that Value is the id of a tool, not SERVER/FUNCTION.
	ByID bool
	// Branches is the number of branches in a function, or in a file outside its functions. Only the rule complexity sets it.
	Branches int
}

// Problem is why a file cannot be read.
type Problem struct {
	File         string
	Line, Column int
	Text         string
}

// Facts is what the files of a program do.
type Facts struct {
	Facts      []Fact
	Unreadable []Problem
	Nodes      int // elements that were looked at
	// Moved says that the program changes its working folder, Environ that it uses its environment variables, which may lead to
	// other programs.
	Moved, Environ bool
	Files          []string // those that were read: the script's, and skills/NAME/FILE

	own map[string]bool // names by which Python imports the files that were read
}

// maxFacts is the most facts of a program. One that has more is not read further.
const maxFacts = 10_000

// maxFactValue is the maximum number of bytes of a value that are kept.
const maxFactValue = 500

// analysis is the state of the analysis of one file.
type analysis struct {
	file, text string
	python     bool
	place      func(*syntax.Node) (line, column int)
	scopeOf    map[*syntax.Node]*scope // of functions, classes and blocks
	facts      *Facts
	imports    []string
	steps      int
	sql        map[string]bool // names that were looked at, by whether they run SQL
	words      int             // of literals that were searched in the text
	seen       map[string]bool
	defines    map[string]bool // names of functions and methods
	sites      map[string]int  // how often a variable of that name is declared or assigned, in any scope
	loose      bool            // variables may be assigned in ways that are not seen, as by globals()
	decisions  int             // in the function that is looked at, or outside of functions
	complex    Fact            // the function with the most, or the file
	made       made
	alias      *syntax.Node // what is assigned to the last variable, or only looked at
	object     *syntax.Node // that of the last member
	guessed    bool         // what is looked at is a call that another function may make
}

// analyze adds the facts of a file, and returns what it imports.
func (f *Facts) analyze(a *analysis, root *syntax.Node) []string {
	a.facts, a.seen, a.defines, a.sql, a.scopeOf, a.sites = f, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[*syntax.Node]*scope{}, map[string]int{}
	s := &scope{function: true}
	a.scopes(root, s)
	a.source()
	a.walk(root, s, 0)
	a.branches(root, "the file, outside of its functions,")
	if a.complex.Branches > 0 {
		f.Facts = append(f.Facts, a.complex)
	}
	a.deletions()
	return a.imports
}

// add adds a fact. What a program does outside of itself is computed if there is no value.
func (a *analysis) add(n *syntax.Node, rule, text, value string) {
	a.addFact(n, Fact{Rule: rule, Text: text, Value: value, Computed: value == ""})
}

func (a *analysis) addFact(n *syntax.Node, f Fact) {
	if len(a.facts.Facts) >= maxFacts {
		return
	}
	f.Line, f.Column = a.place(n)
	a.addAt(f)
}

// addAt adds a fact with its place in the file.
func (a *analysis) addAt(f Fact) {
	key := fmt.Sprint(f.Rule, f.Line, f.Text, "\x00", f.Value, f.Computed)
	if a.seen[key] {
		return
	}
	a.seen[key] = true
	if len(a.facts.Facts) == maxFacts-1 {
		f = Fact{Rule: "obfuscation", Line: f.Line, Column: f.Column, Text: fmt.Sprintf("only the first %d things that the script does were looked at", maxFacts-1)}
	}
	if len(f.Value) > maxFactValue {
		f.Value, f.Computed = f.Value[:maxFactValue], true
	}
	f.File, f.Text, f.Value = a.file, strings.ToValidUTF8(f.Text, "?"), strings.ToValidUTF8(f.Value, "?")
	a.facts.Facts = append(a.facts.Facts, f)
}

// maxNesting bounds how deep branches may be nested for a person to follow them.
const maxNesting = 14

// branches counts the decisions in what was looked at. Of a file, only the most count, so that small functions crowd out no other facts.
func (a *analysis) branches(n *syntax.Node, what string) {
	if a.decisions > a.complex.Branches {
		line, column := a.place(n)
		a.complex = Fact{Rule: "complexity", File: a.file, Line: max(line, 1), Column: max(column, 1), Text: fmt.Sprintf("%s has %d branches", what, a.decisions), Branches: a.decisions}
	}
}

// walk finds the facts of a node and what is in it. Nesting counts the decisions around it.
func (a *analysis) walk(n *syntax.Node, s *scope, nesting int) {
	a.facts.Nodes++
	if inner := a.scopeOf[n]; inner != nil {
		s = inner
	}
	switch n.Kind {
	case syntax.Bind:
		return // its value is looked at elsewhere
	case syntax.Type:
		a.annotation(n, s, nesting)
		return
	case syntax.Assign, syntax.Var:
		a.alias = n.Kids[0]
	case syntax.Function:
		before := a.decisions
		a.decisions = 0
		a.kids(n, s, 0)
		a.branches(n, "a function")
		a.decisions = before
		return
	case syntax.Branch:
		a.decisions++
		if nesting++; nesting == maxNesting {
			a.add(n, "complexity", fmt.Sprintf("branches are nested %d deep", nesting), "")
		}
	case syntax.Import:
		a.imported(n)
	case syntax.String:
		a.literal(n)
	case syntax.List:
		if text := numbersAsText(n); text != "" && spelled().MatchString(text) {
			a.add(n, "obfuscation", "a list of character codes spells out code", "")
		}
	case syntax.Call:
		a.call(n, s)
		a.arguments(n, s, nesting)
		return
	case syntax.Name, syntax.Attr, syntax.Index:
		if a.reference(n, s) {
			return
		}
		if n.Kind != syntax.Name {
			a.object = n.Kids[0]
		}
	}
	a.kids(n, s, nesting)
}

// annotation looks at the calls in a type, which are made. What a type only names is not used.
func (a *analysis) annotation(n *syntax.Node, s *scope, nesting int) {
	if inner := a.scopeOf[n]; inner != nil {
		s = inner
	}
	for _, kid := range n.Kids {
		if kid.Kind == syntax.Call {
			a.walk(kid, s, nesting)
		} else {
			a.annotation(kid, s, nesting)
		}
	}
}

func (a *analysis) kids(n *syntax.Node, s *scope, nesting int) {
	for _, kid := range n.Kids {
		a.walk(kid, s, nesting)
	}
}

// arguments walks a call, whose callee was looked at.
func (a *analysis) arguments(n *syntax.Node, s *scope, nesting int) {
	callee := n.Kids[0]
	switch {
	case callee.Kind == syntax.Attr || callee.Kind == syntax.Index:
		a.object = callee.Kids[0]
		a.kids(callee, s, nesting)
	case callee.Kind != syntax.Name:
		a.walk(callee, s, nesting)
	}
	looks := lookers[memberOrName(callee)]
	for i, kid := range n.Kids[1:] {
		if looks {
			a.alias = kid
		}
		if !a.passed(kid, n.Kids[i+2:], s) {
			a.walk(kid, s, nesting)
		}
	}
}

// passed looks at a function that is passed to another, which may call it with the arguments that follow, as in
// asyncio.to_thread(call_mcp_tool, "crm__get_lead"). It reports whether it is one that is known.
func (a *analysis) passed(n *syntax.Node, following []*syntax.Node, s *scope) bool {
	if n.Kind == syntax.Keyword { // Thread(target=call_mcp_tool, args=("crm__get_lead",))
		i := slices.IndexFunc(following, func(k *syntax.Node) bool { return k.Kind == syntax.Keyword && k.Text == "args" })
		if n = n.Kids[0]; i >= 0 {
			following = following[i].Kids[0].Kids
		} else {
			following = nil
		}
	}
	if n.Kind != syntax.Name && n.Kind != syntax.Attr && n.Kind != syntax.Index {
		return false
	}
	if values := a.values(n, s); len(values) == 0 || slices.ContainsFunc(values, func(v value) bool { return ofResult(v.text) || harmless.MatchString(v.text) }) {
		return false // a result is looked at with the call that it is of
	}
	before := a.guessed
	a.guessed = true // map(os.system, ["ls", "rm"]) makes other calls
	defer func() { a.guessed = before }()
	return a.call(&syntax.Node{Kind: syntax.Call, Line: n.Line, Column: n.Column, Kids: append([]*syntax.Node{n}, following...)}, s)
}

func (a *analysis) literal(n *syntax.Node) {
	if a.python && inFormat().MatchString(n.Text) {
		a.add(n, "introspection", "a format string reaches interpreter internals", "")
	}
	if form := hiddenCode(n.Text); form != "" {
		a.add(n, "obfuscation", "a string literal hides code as "+form, "")
	} else if a.spells(n.Text) {
		a.add(n, "obfuscation", "a string literal spells code with escape sequences", "")
	} else if opaque(n.Text) {
		a.add(n, "encoded-data", fmt.Sprintf("a literal of %d bytes is not readable text", len(n.Text)), "")
	}
}

func (a *analysis) imported(n *syntax.Node) {
	name := a.modulePath(n.Text)
	a.imports = append(a.imports, n.Text)
	top := name
	if a.python {
		top, _, _ = strings.Cut(name, ".")
	}
	a.add(n, "import", "imports "+n.Text, name)
	switch {
	case modules[top] != "" && !strings.HasPrefix(name, "."):
		a.addFact(n, Fact{Rule: modules[top], Text: "imports " + n.Text}) // it does nothing yet
	case strings.HasSuffix(name, ".node"):
		a.add(n, "native-code", "imports a native module", "")
	}
}

// reference looks at a name that is not called: who has a function can call it. It reports whether there is nothing more to see.
func (a *analysis) reference(n *syntax.Node, s *scope) bool {
	if rule := members[n.Text]; n.Kind == syntax.Attr && rule == "introspection" {
		a.add(n, rule, "uses "+n.Text, "")
		return false
	}
	for _, v := range a.values(n, s) {
		if n != a.alias && n != a.object {
			a.escapes(n, v.text)
		}
		if v.kind != isPath {
			if v.decoded && isCode(v.text) {
				a.add(n, "obfuscation", "a string is decoded into code", "")
			}
			continue
		}
		alias := n == a.alias && (byID(v.text) || !strings.HasPrefix(v.text, "servers."))
		if a.computed(n, v.text) || !alias && a.tool(&syntax.Node{Line: n.Line, Column: n.Column, Kids: []*syntax.Node{n}}, v.text, s) {
			return false
		}
		a.surroundings(n, v.text)
		rule := a.rule(v.text)
		if outward[rule] && (ofResult(v.text) || harmless.MatchString(v.text)) {
			continue // the call is looked at
		}
		if rule == "" && a.opener(v.text) && n != a.alias && n != a.object {
			a.add(n, "file-write", "uses "+v.text+", maybe to change a file", "")
		}
		switch rule {
		case "":
		case "file-read", "file-write", "network":
			if n != a.alias && n != a.object {
				a.add(n, rule, "uses "+v.text, "")
			}
		default:
			if n == a.object {
				return false // its member was looked at
			}
			a.add(n, rule, "uses "+v.text, "")
			return true
		}
	}
	return false
}

// escapes finds an object that is used as a whole, such as all wrappers of a server, and what imports by name.
func (a *analysis) escapes(n *syntax.Node, p string) {
	server, ok := strings.CutPrefix(p, "servers.")
	switch {
	case ok && !strings.ContainsAny(server, ".()"):
		a.add(n, "tool", "uses all tools of a server", server+"/*")
	case p == "servers":
		a.add(n, "tool", "uses the tools of a server", "")
	case wholes[p]:
		a.add(n, "dynamic-code", "hands on "+p, "")
	case p == "__import__" || p == "importlib.import_module":
		a.add(n, "dynamic-code", "uses "+p, "")
	}
}

// computed finds a computed member of an object that has dangerous ones.
func (a *analysis) computed(n *syntax.Node, p string) bool {
	base, ok := strings.CutSuffix(p, "."+unknownMember)
	if !ok || !sensitive[base] {
		return false
	}
	a.add(n, "dynamic-code", "uses a computed member of "+base, "")
	return true
}

// toolOf returns the tool that a call of a wrapper, or by id, calls; empty: it is not known. False: it calls none.
func (a *analysis) toolOf(n *syntax.Node, p string, s *scope) (id string, ok bool) {
	if rest, ok := strings.CutPrefix(p, "servers."); ok && !byID(p) {
		server, name, member := strings.Cut(rest, ".")
		return server + "/" + last(name), member && !strings.Contains(p, "()") // what a call returned is data
	}
	if !byID(p) {
		return "", false
	}
	if len(n.Kids) > 1 {
		if text, partial, ok := a.constant(n.Kids[1], s); ok && !partial {
			id = text
		}
	}
	return id, true
}

// byID reports whether a path is of the function that calls a tool by its id, which a script has from the library or the client.
func byID(p string) bool {
	switch last(p) {
	case "callMCPTool", "callMcpTool", "call_mcp_tool":
		return !strings.HasPrefix(p, "servers.") || strings.HasPrefix(p, "servers.client.")
	}
	return false
}

func (a *analysis) tool(n *syntax.Node, p string, s *scope) bool {
	id, ok := a.toolOf(n, p, s)
	if ok {
		a.addFact(n, Fact{Rule: "tool", Text: "calls a tool", Value: id, Computed: id == "", ByID: id != "" && byID(p)})
	}
	return ok
}

// call looks at a call, without its arguments' own calls. It reports whether it is known what is called.
func (a *analysis) call(n *syntax.Node, s *scope) bool {
	callee := n.Kids[0]
	name := memberOrName(callee)
	paths := a.values(callee, s)
	known, sql := false, a.runsSQL(name)
	for _, v := range paths {
		if v.kind == isPath && !strings.HasPrefix(v.text, "literal()") {
			known = a.calls(n, v.text, s) || known
			tool, _ := a.toolOf(n, v.text, s)
			sql = sql || a.runsSQL(last(v.text)) || a.runsSQL(tool)
		}
	}
	if callee.Kind != syntax.Name && !known && !local(paths) {
		if rule := members[name]; a.defines[name] {
			known = true // the script's own method
		} else if outward[rule] {
			a.effect(n, rule, name, s)
			known = true
		} else if rule != "" {
			a.add(n, rule, "uses "+name, "")
		}
	}
	if name == "constructor" && len(n.Kids) > 1 {
		if _, _, text := a.constant(n.Kids[1], s); text {
			a.add(n, "dynamic-code", "calls a constructor with a text", "")
		}
	}
	if collects[name] && callee.Kind == syntax.Attr && callee.Kids[0].Kind == syntax.Name {
		if b := s.lookup(callee.Kids[0].Text); b != nil {
			for _, kid := range n.Kids[1:] {
				b.held = append(b.held, expression{kid, s})
			}
		}
	}
	for _, v := range a.values(n, s) {
		if v.decoded && v.kind == isText && isCode(v.text) {
			a.add(n, "obfuscation", "a string is decoded into code", "")
		}
	}
	for _, kid := range n.Kids[1:] {
		a.statements(kid, s, sql, 0)
	}
	return known
}

// local reports whether a callee is of a file of the program, which is looked at itself.
func local(paths []value) bool {
	for _, v := range paths {
		if v.kind == isPath && (strings.HasPrefix(v.text, ".") || strings.HasPrefix(v.text, "servers.") || strings.HasPrefix(v.text, "skills.")) {
			return true
		}
	}
	return false
}

func memberOrName(n *syntax.Node) string {
	if n.Kind == syntax.Attr || n.Kind == syntax.Name {
		return n.Text
	}
	if n.Kind == syntax.Index && n.Kids[1].Kind == syntax.String {
		return n.Kids[1].Text
	}
	return ""
}

// calls looks at a call of a known function and reports whether it says what the call does.
func (a *analysis) calls(n *syntax.Node, p string, s *scope) bool {
	a.surroundings(n, p)
	switch {
	case a.computed(n, p), a.tool(n, p, s), a.importCall(n, p, s):
		return true
	case runsTexts[p] && len(n.Kids) > 1:
		if _, _, text := a.constant(n.Kids[1], s); text {
			a.add(n, "dynamic-code", p+" runs a string as code", "")
		}
		return true
	case a.opener(p):
		return a.opens(n, p, s)
	case p == "yaml.load" && len(n.Kids) == 2:
		a.add(n, "unsafe-load", "yaml.load without a safe loader can create any object", "")
		return true
	case p == "type" && len(n.Kids) == 4:
		return true
	case a.python && (p == "getattr" || p == "operator.attrgetter" || p == "operator.methodcaller"):
		return a.named(n, p, s)
	}
	rule := a.rule(p)
	switch rule {
	case "":
		return false
	case "dynamic-code":
		if !a.ofSkill(n, s) {
			a.add(n, rule, "calls "+p, "")
			a.payload(n, p, s)
		}
		return true
	}
	a.effect(n, rule, p, s)
	return true
}

// effect adds a fact with the argument that it is about.
func (a *analysis) effect(n *syntax.Node, rule, name string, s *scope) {
	if ofResult(name) && (rule == "process" || rule == "network" && !sends.MatchString(name)) || clients[name] {
		a.addFact(n, Fact{Rule: rule, Text: "calls " + name}) // it looks at a result, or sends nothing yet
		return
	}
	at := target(n, written[last(name)])
	if strings.HasPrefix(name, pathObject+".") && rule != "file-delete" && n.Kids[0].Kind == syntax.Attr {
		at = n.Kids[0].Kids[0]
	} else if named := keyword(n); named != nil {
		at = named
	}
	if rule == "network" {
		at = a.addressee(n, name, at, s)
	}
	text, known := "", false
	if at != nil {
		text = a.described(at, s)
		_, known = a.known(at, s)
	}
	switch rule {
	case "process":
		if len(n.Kids) > 2 && n.Kids[2].Kind == syntax.List { // spawn("rm", ["-rf", "/"])
			text = strings.TrimSpace(text + " " + a.described(n.Kids[2], s))
		}
		if command, ok := a.commandOf(n, name, s); ok {
			text, known = command, true
		} else {
			known = false
		}
		if found := harmful().FindString(text); found != "" {
			a.add(n, "shell-danger", "runs a dangerous command", text)
		}
	case "network":
		text = hostOf(text)
		if host, ok := a.knownHost(at, s); ok {
			text, known = host, true
		}
		known = known && !slices.ContainsFunc(n.Kids, func(kid *syntax.Node) bool { return kid.Kind == syntax.Keyword && strings.HasPrefix(kid.Text, "prox") })
	case "file-read", "file-write", "file-delete":
		if private().MatchString(text) {
			a.add(n, "private-file", "uses a system file or a file with secrets", text)
		}
	}
	if _, ok := written[last(name)]; ok && rule == "file-write" && at != nil {
		a.makes(at, s)
	}
	if second := others[last(name)]; second != "" && (rule == "file-write" || rule == "file-delete") {
		a.second(n, second, name, s)
	}
	f := Fact{Rule: rule, Text: "calls " + name, Value: text, Computed: !known}
	if rule == "file-delete" {
		a.made.deletions = append(a.made.deletions, deletion{moment: a.now(s), call: n, target: at, scope: s, fact: f})
		return
	}
	a.addFact(n, f)
}

// second adds the fact about the other file of a call that has two.
func (a *analysis) second(n *syntax.Node, rule, name string, s *scope) {
	i := 2
	switch {
	case strings.HasPrefix(name, pathObject+"."):
		i = 1 // Path("a").rename("b")
	case rule == "file-read":
		i = 1 // the one that is copied
	}
	f := Fact{Rule: rule, Text: "calls " + name, Computed: true}
	if i < len(n.Kids) && n.Kids[i].Kind != syntax.Keyword {
		text, known := a.known(n.Kids[i], s)
		f.Value, f.Computed = text, !known
	}
	a.addFact(n, f)
}

// described returns the constant of an argument: of a list, its elements with spaces between them.
func (a *analysis) described(n *syntax.Node, s *scope) string {
	for _, v := range a.values(n, s) {
		switch v.kind {
		case isText:
			return v.text
		case isList:
			return strings.Join(v.list, " ")
		}
	}
	return ""
}

func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return strings.TrimSpace(text)
	}
	return u.Host
}

// opens looks at a call of a function like Python's open.
func (a *analysis) opens(n *syntax.Node, p string, s *scope) bool {
	mode, known, at := "r", true, 2
	if p == "pathlib.Path().open" {
		at = 1
	}
	for i, kid := range n.Kids[1:] {
		switch {
		case kid.Kind == syntax.Keyword && (kid.Text == "mode" || kid.Text == ""):
			mode, known = a.known(kid.Kids[0], s)
		case kid.Kind == syntax.Spread, kid.Kind != syntax.Keyword && i+1 == at:
			mode, known = a.known(kid, s)
		}
	}
	rule := "file-read"
	switch {
	case !known:
		rule, p = "file-write", p+", maybe to change it"
	case strings.ContainsAny(mode, "wx"):
		rule = "file-write"
	case strings.ContainsAny(mode, "a+"):
		rule, p = "file-write", p+" to change it"
	}
	a.effect(n, rule, p, s)
	return true
}

// named looks at the members that Python gets by a constant name, or by several with dots.
func (a *analysis) named(n *syntax.Node, p string, s *scope) bool {
	for _, kid := range n.Kids[1:] {
		for _, v := range a.values(kid, s) {
			names := v.list
			if v.kind == isText {
				names = strings.Split(v.text, ".")
			}
			for _, name := range names {
				rule := members[name]
				switch {
				case name == "builtins":
					rule = "introspection"
				case pythonAPIs[name] == "dynamic-code", pythonAPIs["os."+name] == "process" && (p != "getattr" || v.kind == isList):
					rule = cmp.Or(pythonAPIs[name], "process")
				}
				if rule != "" && rule != "file-write" {
					a.add(n, rule, "uses "+name, "")
					return true
				}
			}
		}
	}
	return false
}

// importCall looks at imports that are calls.
func (a *analysis) importCall(n *syntax.Node, p string, s *scope) bool {
	switch p {
	case "import", "require", "module.createRequire()", "process.getBuiltinModule", "module._load", "__import__", "importlib.import_module", "importlib.__import__":
	default:
		return false
	}
	text, partial, ok := "", true, false
	if len(n.Kids) > 1 {
		text, partial, ok = a.constant(n.Kids[1], s)
	}
	switch m := a.modulePath(text); {
	case ok && !partial && strings.HasPrefix(text, "data:"):
		a.add(n, "dynamic-code", "imports a data: URL as code", "")
	case ok && !partial && a.python && strings.HasPrefix(m, "skills."):
		a.add(n, "skill", "imports a skill by a call", "") // only the files of import statements are read
	case ok && !partial:
		a.imported(&syntax.Node{Kind: syntax.Import, Line: n.Line, Column: n.Column, Text: text})
	case ok && strings.HasPrefix(m, "servers.") && !strings.Contains(text, ".."):
		a.add(n, "tool", "imports tool wrappers", "")
	case ok && strings.HasPrefix(m, "skills.") && !strings.Contains(text, ".."):
		a.add(n, "skill", "imports a skill by a computed name", "")
	case ok && (strings.HasPrefix(text, "./") || strings.HasPrefix(text, "../")) && strings.Count(text, "..") <= 1:
		a.add(n, "skill", "imports a project file by a computed name", "")
	default:
		a.add(n, "dynamic-code", "imports a module by a computed name", "")
	}
	return true
}

// ofSkill reports whether a call runs the code of a skill, which was saved to be run.
func (a *analysis) ofSkill(n *syntax.Node, s *scope) bool {
	if len(n.Kids) < 2 {
		return false
	}
	values := a.values(n.Kids[1], s)
	for _, v := range values {
		if v.kind != isPath || !strings.HasPrefix(v.text, "load_skill()") && !strings.HasPrefix(v.text, "loadSkill()") {
			return false
		}
	}
	if len(values) > 0 {
		a.add(n, "skill", "runs the code of a skill", "")
	}
	return len(values) > 0
}

// payload finds code that is decoded before it is run.
func (a *analysis) payload(n *syntax.Node, callee string, s *scope) {
	for _, kid := range n.Kids[1:] {
		for _, v := range a.values(kid, s) {
			if v.decoded || strings.HasPrefix(v.text, decodedPath) {
				a.add(n, "obfuscation", callee+" runs a decoded string as code", "")
			}
		}
	}
}

// statements finds SQL in an argument, also in an object or list. Only a text that is called SQL, or is passed to what runs SQL, is
// some: people write about deleting, too.
func (a *analysis) statements(n *syntax.Node, s *scope, sql bool, depth int) {
	if depth++; depth > 5 {
		return
	}
	kids := n.Kids
	switch n.Kind {
	case syntax.Pair, syntax.Keyword:
		a.command(n, s)
		sql = sql || a.runsSQL(n.Text)
	case syntax.Name:
		sql = sql || a.runsSQL(n.Text)
		if b := s.lookup(n.Text); b != nil {
			for _, v := range b.values {
				a.statements(v.node, v.scope, sql, depth)
			}
		}
	case syntax.Call:
		if !sql {
			return // it is looked at itself
		}
		kids = n.Kids[1:] // execute(text("DROP TABLE orders"))
	}
	if sql {
		for _, v := range a.values(n, s) {
			if found := destroys(v.text); v.kind == isText && found != "" {
				a.add(n, "sql-destroy", "an SQL statement destroys data", found)
			}
		}
	}
	switch n.Kind {
	case syntax.Dict, syntax.List, syntax.Pair, syntax.Keyword, syntax.Spread, syntax.Call:
		for _, kid := range kids {
			a.statements(kid, s, sql, depth)
		}
	}
}

func (a *analysis) runsSQL(name string) bool {
	runs, ok := a.sql[name]
	if !ok {
		runs = namesSQL().MatchString(name)
		a.sql[name] = runs
	}
	return runs
}

// command finds a dangerous command for a tool that runs commands.
func (a *analysis) command(n *syntax.Node, s *scope) {
	switch n.Text {
	case "command", "cmd", "shell", "script", "commands":
		if text := a.described(n.Kids[0], s); harmful().MatchString(text) {
			a.add(n, "shell-danger", "passes a dangerous command to a tool", text)
		}
	}
}
