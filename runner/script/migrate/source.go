package migrate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/mcpgen/mcpgen/runner/script/internal/syntax"
)

// span is a range of bytes of a script.
type span struct{ start, end int }

// source is a script that was read: its imports from the tree, and the nodes of its syntax tree that may have to do with tools.
type source struct {
	text   string
	python bool
	tree   *syntax.File

	imports  []imported
	types    map[string][]span // where a word is that may be an imported type, in TypeScript
	names    map[string]bool   // the identifiers of the file: a new name must not be one
	uses     map[string][]*syntax.Node
	bound    map[string]int          // how often a name is declared or assigned
	values   map[string]*syntax.Node // what was assigned last
	calls    []*syntax.Node
	members  []*syntax.Node        // x.name
	mentions []*syntax.Node        // names of members that the file may read, and texts that may be such names
	short    map[*syntax.Node]bool // names that are also those of members: { name }
	seen     map[any]bool          // nodes, and the places of names
}

// imported is one name that a file imports from the tree, or a module of it.
type imported struct {
	path   []string // what is behind "servers": google_drive, getDocument
	module span     // where the path is written
	// name is empty for the module itself, and * for all of its names. It is written at.
	name  string
	at    span
	local string // the name in the file
	// exported says that the file only passes the name on, and taken that a pattern takes it out of the module.
	exported, taken bool
}

// readTypeScript reads JavaScript that esbuild makes of the file: no name in it hides another. What JavaScript does not have, types
// and how imports are written, is read from the words of the file.
func readTypeScript(name, text string) (*source, error) {
	masked := mask(text)
	if tooDeep(masked) {
		return nil, errors.New("cannot be parsed: it is nested too deeply")
	}
	loader := api.LoaderTS
	switch {
	case strings.HasSuffix(name, "x"):
		loader = api.LoaderTSX
	case strings.HasSuffix(name, "js"):
		loader = api.LoaderJS
	}
	res := api.Transform(text, api.TransformOptions{
		Loader: loader, Format: api.FormatESModule, Target: api.ES2022, Sourcemap: api.SourceMapExternal, SourcesContent: api.SourcesContentExclude,
		TsconfigRaw: `{"compilerOptions":{"verbatimModuleSyntax":true}}`, Charset: api.CharsetUTF8, LogLevel: api.LogLevelSilent,
		Supported: map[string]bool{"for-await": false, "async-generator": false, "import-attributes": false}, // the parser does not know them
	})
	if len(res.Errors) > 0 {
		e := res.Errors[0]
		if e.Location != nil {
			return nil, fmt.Errorf("line %d: %s", e.Location.Line, e.Text)
		}
		return nil, errors.New(e.Text)
	}
	tree, err := syntax.JavaScript(name, text, res.Code, res.Map)
	if err != nil {
		return nil, fmt.Errorf("cannot be parsed: %w", err)
	}
	s := newSource(text, tree)
	s.words(masked)
	s.collect(tree.Root)
	return s, nil
}

const pythonTime = 10 * time.Second

// readPython reads a file with Python's own parser, in an interpreter that imports nothing of the machine and runs nothing of the file.
// The interpreter is a path; empty is an error.
func readPython(ctx context.Context, interpreter, text string) (*source, error) {
	if interpreter == "" {
		return nil, errors.New("python3 is needed to parse it, and was not found; install it, or adapt the script by hand")
	}
	ctx, cancel := context.WithTimeout(ctx, pythonTime)
	defer cancel()
	program := "import json, sys\ncode = {'': sys.stdin.buffer.read().decode()}\n" + syntax.PythonProgram() + "\njson.dump(result[''], sys.stdout)"
	cmd := exec.CommandContext(ctx, interpreter, "-I", "-S", "-c", program)
	cmd.Stdin = strings.NewReader(text)
	cmd.Dir = os.TempDir()
	cmd.WaitDelay = time.Second
	var made syntax.PythonTree
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); ctx.Err() != nil {
		err = fmt.Errorf("it takes longer than %v", pythonTime)
	} else if errors.As(err, &exit) {
		lines := bytes.Split(bytes.TrimSpace(exit.Stderr), []byte("\n"))
		err = fmt.Errorf("%w: %s", err, lines[len(lines)-1])
	} else if err == nil {
		err = json.Unmarshal(out, &made)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot be parsed: %w", err)
	}
	tree, err := syntax.Python(text, &made)
	if err != nil {
		return nil, fmt.Errorf("cannot be parsed: %w", err)
	}
	s := newSource(text, tree)
	s.python = true
	s.collect(tree.Root)
	return s, nil
}

func newSource(text string, tree *syntax.File) *source {
	return &source{text: text, tree: tree, types: map[string][]span{}, names: map[string]bool{}, uses: map[string][]*syntax.Node{},
		bound: map[string]int{}, values: map[string]*syntax.Node{}, short: map[*syntax.Node]bool{}, seen: map[any]bool{}}
}

// collect finds what the file declares and uses.
func (s *source) collect(n *syntax.Node) {
	if s.seen[n] {
		return
	}
	s.seen[n] = true
	switch n.Kind {
	case syntax.Name:
		if place := [2]int{n.Line, n.Column}; !s.seen[place] { // a value may be twice in the tree
			s.seen[place] = true
			s.uses[n.Text] = append(s.uses[n.Text], n)
			s.names[n.Text] = true
		}
	case syntax.Attr:
		s.members = append(s.members, n)
		s.mentions = append(s.mentions, n)
	case syntax.String, syntax.Taken:
		s.mentions = append(s.mentions, n)
	case syntax.Pair:
		if kid := n.Kids[0]; kid.Kind == syntax.Name && kid.Line == n.Line && kid.Column == n.Column {
			s.short[kid] = true
		}
	case syntax.Call:
		s.calls = append(s.calls, n)
	case syntax.Star:
		if path, ok := pythonPath(n.Text); ok {
			s.imports = append(s.imports, imported{path: path, name: "*"})
		}
	case syntax.Declare, syntax.Assign, syntax.Var, syntax.Bind:
		s.bind(n)
	}
	if n.Kind != syntax.Bind { // its value is elsewhere
		for _, kid := range n.Kids {
			s.collect(kid)
		}
	}
}

// bind takes in the declaration or assignment of names.
func (s *source) bind(n *syntax.Node) {
	names, _ := syntax.AssignsOuter(n.Text)
	for name := range strings.FieldsSeq(names) {
		s.bound[name]++
		s.names[name] = true
		if n.Kind != syntax.Declare && name == names {
			s.values[name] = n.Kids[0]
			s.importedAs(name, n.Kids[0])
		}
	}
}

// importedAs takes in an import of Python, or one of JavaScript that is an expression.
func (s *source) importedAs(local string, value *syntax.Node) {
	im := imported{local: local}
	from := value
	if value.Kind == syntax.Attr {
		from = value.Kids[0]
		im.name = value.Text
	}
	ok := true
	if im.name != "" {
		im.at, ok = s.word(value)
	}
	switch {
	case !ok:
		return
	case s.python && from.Kind == syntax.Module:
		if im.path, ok = pythonPath(from.Text); !ok {
			return
		}
		start, _ := s.tree.Offset(from)
		im.module = span{start + len(fromKeyword().FindString(s.text[start:])), 0}
		if im.module.end = im.module.start + len(from.Text); !strings.HasPrefix(s.text[im.module.start:], from.Text) {
			return
		}
	case from.Kind == syntax.Call && len(from.Kids) == 2 && from.Kids[0].Kind == syntax.Name && (from.Kids[0].Text == "import" || from.Kids[0].Text == "require"):
		at, text, isText := s.literal(from.Kids[1])
		if im.path, ok = specifierPath(text); !ok || !isText {
			return
		}
		im.module, im.taken = span{at.start + 1, at.end - 1}, im.name != ""
	default:
		return
	}
	s.imports = append(s.imports, im)
}

var fromKeyword = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^from\s+`) })

// pythonPath returns what is behind servers in the name of a module.
func pythonPath(module string) ([]string, bool) {
	parts := strings.Split(module, ".")
	return parts[1:], parts[0] == "servers"
}

// word returns where the name of a node is written, if it is.
func (s *source) word(n *syntax.Node) (span, bool) {
	start, ok := s.tree.Offset(n)
	end := start + len(n.Text)
	ok = ok && n.Text != "" && strings.HasPrefix(s.text[start:], n.Text) && (end == len(s.text) || !wordByte(s.text[end]))
	return span{start, end}, ok
}

func wordByte(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}

// literal returns a text and where it is written, with its quotes, if it is written as it is.
func (s *source) literal(n *syntax.Node) (at span, text string, ok bool) {
	start, ok := s.tree.Offset(n)
	if n.Kind == syntax.Join && len(n.Kids) == 1 { // a template without expressions
		n = n.Kids[0]
	}
	if !ok || n.Kind != syntax.String && n.Kind != syntax.Pair || start == len(s.text) || !strings.Contains("\"'`", s.text[start:start+1]) {
		return span{}, "", false
	}
	whole := s.text[start:start+1] + n.Text + s.text[start:start+1]
	return span{start, start + len(whole)}, n.Text, strings.HasPrefix(s.text[start:], whole)
}

// line returns the line of an expression.
func (s *source) line(n *syntax.Node) int {
	for n.Kind == syntax.Other && len(n.Kids) > 0 {
		n = n.Kids[0]
	}
	line, _ := s.tree.Place(n)
	return line
}

// chain returns the names of a.b.c. It returns nothing for other expressions, or if there are more names than tools have.
func chain(n *syntax.Node) []string {
	const most = 6
	var names []string
	for ; n.Kind == syntax.Attr && len(names) < most; n = n.Kids[0] {
		names = append(names, n.Text)
	}
	if n.Kind != syntax.Name {
		return nil
	}
	names = append(names, n.Text)
	slices.Reverse(names)
	return names
}
