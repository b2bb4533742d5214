package judge

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/runner/script/internal/syntax"
)

// value is what is known of an expression: a text, a list of texts, or what a name stands for.
type value struct {
	kind valueKind
	// text is a constant, in which $ stands for parts that are not known, or a path: of a global name, a module or a member of one,
	// such as child_process.exec; what a call returns is path().
	text    string
	partial bool // parts of the constant are not known
	list    []string
	decoded bool // from a form that people do not read, such as base64
}

type valueKind int

const (
	isPath valueKind = iota
	isText
	isList
)

// Bounds of the work for one expression: folding and aliases are followed a little, not evaluated.
const (
	maxSteps  = 400
	maxDepth  = 40
	maxValues = 4
	// maxElements is the most elements of a list that a loop is looked at with.
	maxElements = 20
	maxFolded   = 1 << 20 // bytes of a constant
)

// binding is a variable with what is assigned to it anywhere.
type binding struct {
	values []expression
	sites  int          // how often it is declared or assigned
	held   []expression // what is added to the list that it is
}

type expression struct {
	node  *syntax.Node
	scope *scope
}

// scope has the variables of a function, block or file.
type scope struct {
	parent          *scope
	function, class bool
	names           map[string]*binding
	global          map[string]bool // Python's global
	stars           []string        // modules all of whose names are imported; only in the file's
}

func (s *scope) root() *scope {
	for s.parent != nil {
		s = s.parent
	}
	return s
}

func (s *scope) lookup(name string) *binding {
	for at := s; at != nil; at = at.parent {
		if b := at.names[name]; b != nil && (!at.class || at == s) {
			return b
		}
		if at.global[name] {
			return at.root().names[name]
		}
	}
	return nil
}

func (s *scope) declare(name string) *binding {
	if s.global[name] {
		s = s.root()
	}
	b := s.names[name]
	if b == nil {
		b = &binding{}
		if s.names == nil {
			s.names = map[string]*binding{}
		}
		s.names[name] = b
	}
	return b
}

func (b *binding) assign(n *syntax.Node, s *scope) {
	b.sites++
	if len(b.values) < maxValues {
		b.values = append(b.values, expression{n, s})
	}
}

// scopes makes the scopes of a tree and finds its variables.
func (a *analysis) scopes(n *syntax.Node, s *scope) {
	switch n.Kind {
	case syntax.Name, syntax.Module, syntax.Import:
		a.loose = a.loose || a.python && loosens[n.Text]
	case syntax.Function, syntax.Class, syntax.Block:
		s = &scope{parent: s, function: n.Kind == syntax.Function, class: n.Kind == syntax.Class}
		a.scopeOf[n] = s
		a.defines[n.Text] = true
	case syntax.Declare:
		a.sites[n.Text]++
		s.declare(n.Text).sites++
	case syntax.Assign, syntax.Bind:
		names, outer := syntax.AssignsOuter(n.Text)
		for name := range strings.FieldsSeq(names) {
			a.sites[name]++
			b := s.lookup(name)
			if b == nil && outer {
				b = s.root().declare(name)
			} else if !outer {
				b = s.declare(name)
			}
			b.assign(n.Kids[0], s)
		}
	case syntax.Var:
		at := s
		for !at.function {
			at = at.parent
		}
		a.sites[n.Text]++
		at.declare(n.Text).assign(n.Kids[0], s)
	case syntax.Star:
		a.loose = a.loose || !inTree.MatchString(strings.ReplaceAll(n.Text, ".", "/"))
		s.root().stars = append(s.root().stars, n.Text)
	case syntax.Global:
		if s.global == nil {
			s.global = map[string]bool{}
		}
		for name := range strings.FieldsSeq(n.Text) {
			s.global[name] = true
		}
	}
	if n.Kind == syntax.Bind {
		return // its value is elsewhere in the tree
	}
	for _, kid := range n.Kids {
		a.scopes(kid, s)
	}
}

// values returns what an expression may be, or nothing if that is not known.
func (a *analysis) values(n *syntax.Node, s *scope) []value {
	a.steps = 0
	return a.eval(n, s, 0)
}

// constant returns the value of a constant expression; ok is false for any other.
func (a *analysis) constant(n *syntax.Node, s *scope) (text string, partial, ok bool) {
	for _, v := range a.values(n, s) {
		if v.kind == isText {
			return v.text, v.partial, true
		}
	}
	return "", false, false
}

func (a *analysis) eval(n *syntax.Node, s *scope, depth int) []value {
	if a.steps++; a.steps > maxSteps || depth > maxDepth || n == nil {
		return nil
	}
	depth++
	switch n.Kind {
	case syntax.String, syntax.Number:
		return []value{{kind: isText, text: n.Text}}
	case syntax.Module:
		return []value{{text: a.modulePath(n.Text)}}
	case syntax.Name:
		return a.name(n, s, depth)
	case syntax.Attr:
		return a.members(a.eval(n.Kids[0], s, depth), n.Text)
	case syntax.Index:
		return a.indexed(n, s, depth)
	case syntax.Add:
		if n.Text == "/" {
			return a.filePath(n.Kids, s, depth)
		}
		return a.joined(n.Kids, s, depth, n.Text == "%")
	case syntax.Each:
		return a.elements(n, s, depth)
	case syntax.Join:
		return a.joined(n.Kids, s, depth, false)
	case syntax.Reverse:
		var out []value
		for _, v := range a.eval(n.Kids[0], s, depth) {
			if v.kind == isText {
				r := []rune(v.text)
				slices.Reverse(r)
				out = append(out, value{kind: isText, text: string(r), partial: v.partial, decoded: true})
			}
		}
		return out
	case syntax.List:
		return a.list(n, s, depth)
	case syntax.Assign:
		return a.eval(n.Kids[0], s, depth)
	case syntax.Function:
		return []value{{text: "function()"}}
	case syntax.Any:
		var out []value
		for _, kid := range alternatives(n) {
			out = append(out, a.eval(kid, s, depth)...)
		}
		return out[:min(len(out), maxValues)]
	case syntax.Call:
		return a.called(n, s, depth)
	}
	return nil
}

// alternatives returns the expressions that syntax.Any is one of.
func alternatives(n *syntax.Node) []*syntax.Node {
	switch n.Text {
	case "/":
		return n.Kids[:1]
	case "?":
		return n.Kids[:2]
	}
	return n.Kids
}

func (a *analysis) name(n *syntax.Node, s *scope, depth int) []value {
	b := s.lookup(n.Text)
	if b == nil {
		out := []value{{text: a.canonical(n.Text)}}
		if a.python && n.Text == "Path" { // scripts have it without an import
			out[0].text = "pathlib.Path"
		}
		for _, module := range s.root().stars {
			out = append(out, value{text: a.canonical(a.modulePath(module) + "." + n.Text)})
		}
		return out
	}
	var out []value
	for _, v := range b.values {
		if v.node != n {
			out = append(out, a.eval(v.node, v.scope, depth)...)
		}
	}
	return out[:min(len(out), maxValues)]
}

// members returns a member of each value.
func (a *analysis) members(of []value, name string) []value {
	var out []value
	if len(of) == 0 && name == "constructor" {
		of = []value{{text: "unknown()"}}
	}
	for _, v := range of {
		if name == "constructor" && ofFunction.MatchString(v.text) {
			return []value{{text: "Function"}}
		}
		switch {
		case v.kind == isPath:
			p := a.canonical(v.text + "." + name)
			if out = append(out, value{text: p}); p == "process.env.HOME" || p == "os.environ.HOME" {
				out = append(out, value{kind: isText, text: "~"})
			}
		case v.kind == isText || v.kind == isList:
			out = append(out, value{text: "literal()." + name})
		}
	}
	return out
}

// ofFunction matches the paths of functions, by whose constructor code is made.
var ofFunction = regexp.MustCompile(`^function\(\)|^literal\(\)\.|^unknown\(\)\.constructor|\.constructor$`)

// unknownMember is the name of a member that a script computes.
const unknownMember = "?"

func (a *analysis) indexed(n *syntax.Node, s *scope, depth int) []value {
	object := a.eval(n.Kids[0], s, depth)
	name := unknownMember
	for _, key := range a.eval(n.Kids[1], s, depth) {
		if key.kind == isText && !key.partial {
			name = key.text
		}
	}
	if i, err := strconv.Atoi(name); err == nil && len(object) > 0 && object[0].kind == isList {
		if i >= 0 && i < len(object[0].list) {
			return []value{{kind: isText, text: object[0].list[i]}}
		}
		return nil
	}
	return a.members(object, name)
}

// elements returns the constants of a list, each of which is no more than possible.
func (a *analysis) elements(n *syntax.Node, s *scope, depth int) []value {
	var out []value
	for _, v := range a.eval(n.Kids[0], s, depth) {
		for _, text := range v.list[:min(len(v.list), maxElements)] {
			out = append(out, value{kind: isText, text: text, partial: true})
		}
	}
	return out
}

// filePath returns the path that parts make together: a Path, if the first part is one, and its text.
func (a *analysis) filePath(parts []*syntax.Node, s *scope, depth int) []value {
	v := a.list(&syntax.Node{Kids: parts}, s, depth)[0]
	out := []value{{kind: isText, text: strings.Join(v.list, "/"), partial: v.partial}}
	if len(parts) > 0 {
		for _, first := range a.eval(parts[0], s, depth) {
			if first.text == pathObject {
				out = append(out, first)
			}
		}
	}
	return out
}

// pathObject is the path of Python's Path objects.
const pathObject = "pathlib.Path()"

// joined folds parts to one text; what is not known of it is $.
func (a *analysis) joined(parts []*syntax.Node, s *scope, depth int, formats bool) []value {
	whole, known := value{kind: isText}, false
	var b strings.Builder
	for i, part := range parts {
		text, found := "$", false
		for _, v := range a.eval(part, s, depth) {
			if v.kind == isText && b.Len()+len(v.text) < maxFolded {
				text, found = v.text, true
				whole.decoded = whole.decoded || v.decoded
				whole.partial = whole.partial || v.partial
				break
			}
		}
		known = known || found
		if formats && i == 1 {
			return []value{a.formatted(b.String(), part, s, depth)}
		}
		if !found {
			whole.partial = true
		}
		b.WriteString(text)
	}
	if !known {
		return nil
	}
	whole.text = b.String()
	return []value{whole}
}

// formatted returns the text of Python's operator %.
func (a *analysis) formatted(form string, part *syntax.Node, s *scope, depth int) value {
	out := value{kind: isText, text: form}
	var with []string
	for _, v := range a.eval(part, s, depth) {
		if with = v.list; v.kind == isText {
			with = []string{v.text}
		}
	}
	for _, hole := range []string{"%s", "%d", "%r"} {
		for strings.Contains(out.text, hole) && len(with) > 0 && len(out.text) < maxFolded {
			out.text, with = strings.Replace(out.text, hole, with[0], 1), with[1:]
		}
		out.partial = out.partial || strings.Contains(out.text, hole)
		out.text = strings.ReplaceAll(out.text, hole, "$")
	}
	return out
}

func (a *analysis) list(n *syntax.Node, s *scope, depth int) []value {
	v := value{kind: isList}
	for _, kid := range n.Kids {
		text := "$"
		for _, each := range a.eval(kid, s, depth) {
			if each.kind == isText {
				text = each.text
				break
			}
		}
		v.partial = v.partial || text == "$"
		if v.list = append(v.list, text); len(v.list) >= maxSteps {
			break
		}
	}
	return []value{v}
}

// called returns what a call is known to return.
func (a *analysis) called(n *syntax.Node, s *scope, depth int) []value {
	arguments := n.Kids[1:]
	argument := func(i int) (v value, ok bool) {
		if i < len(arguments) {
			for _, v := range a.eval(arguments[i], s, depth) {
				if v.kind != isPath {
					return v, true
				}
			}
		}
		return value{}, false
	}
	var out []value
	if callee := n.Kids[0]; callee.Kind == syntax.Attr && len(callee.Kids) > 0 {
		for _, object := range a.eval(callee.Kids[0], s, depth) {
			if object.kind != isPath {
				if v, ok := method(object, callee.Text, argument); ok {
					out = append(out, v)
				}
			}
		}
	}
	for _, callee := range a.eval(n.Kids[0], s, depth) {
		if callee.kind != isPath || strings.HasPrefix(callee.text, "literal()") && len(out) > 0 {
			continue
		}
		if v, ok := a.result(callee.text, arguments, argument, s, depth); ok {
			out = append(out, v...)
		} else {
			out = append(out, value{text: callee.text + "()"})
		}
	}
	return out[:min(len(out), maxValues)]
}

// result folds a call of a known function.
func (a *analysis) result(callee string, arguments []*syntax.Node, argument func(int) (value, bool), s *scope, depth int) ([]value, bool) {
	first, ok := argument(0)
	whole := func(i int) []value {
		if i < len(arguments) {
			return a.eval(arguments[i], s, depth)
		}
		return nil
	}
	switch callee {
	case "require", "import", "process.getBuiltinModule", "module.createRequire()", "module._load", "__import__", "importlib.import_module", "importlib.__import__":
		if !ok || first.kind != isText {
			return nil, false
		}
		return []value{{text: a.modulePath(first.text)}}, true
	case "getattr", "Reflect.get", "operator.attrgetter()", "operator.getitem":
		name := unknownMember
		if second, ok := argument(1); ok && second.kind == isText && !second.partial {
			name = second.text
		}
		return a.members(whole(0), name), true
	case "vars", "os.path.expanduser", "os.path.abspath", "os.fspath", "functools.partial", "compile", "reversed", "list", "Object.assign", "Array.from", "str", "String", "bytes":
		return whole(0), len(whole(0)) > 0
	case "path.join", "path.resolve", "os.path.join":
		return a.filePath(arguments, s, depth), true
	case "pathlib.Path", "pathlib.PurePath":
		return append(a.filePath(arguments, s, depth), value{text: pathObject}), true
	case pathObject + ".home":
		return []value{{kind: isText, text: "~"}, {text: pathObject}}, true
	case pathObject + ".expanduser", pathObject + ".resolve", pathObject + ".absolute", pathObject + ".joinpath":
		return []value{{text: pathObject}}, true
	case "os.homedir":
		return []value{{kind: isText, text: "~"}}, true
	case "os.getenv", "os.environ.get":
		return []value{{kind: isText, text: "~"}}, first.text == "HOME"
	case "String.fromCharCode", "String.fromCodePoint", "chr":
		return fromCodes(arguments, argument)
	}
	if decode := decoders[callee]; decode != nil {
		v := value{text: decodedPath}
		if ok && first.kind == isText && !first.partial {
			format := ""
			if second, ok := argument(1); ok {
				format = second.text
			}
			if text, ok := decode(first.text, format); ok {
				v = value{kind: isText, text: text, decoded: true}
			}
		}
		return []value{v}, true
	}
	return nil, false
}

// decodedPath is the path of a text that a script decodes from something that is not known.
const decodedPath = "decoded()"

func fromCodes(arguments []*syntax.Node, argument func(int) (value, bool)) ([]value, bool) {
	var b strings.Builder
	for i := range arguments {
		v, ok := argument(i)
		code, err := strconv.Atoi(v.text)
		if !ok || err != nil || code < 0 {
			return nil, false
		}
		b.WriteRune(rune(code))
	}
	return []value{{kind: isText, text: b.String(), decoded: true}}, b.Len() > 0
}

// method folds a method of a constant.
func method(object value, name string, argument func(int) (value, bool)) (value, bool) {
	first, ok := argument(0)
	out := object
	switch name {
	case "join":
		if object.kind == isText && ok { // Python: separator.join(list)
			object, first = first, object
			if object.kind == isText {
				object.list = strings.Split(object.text, "")
			}
		}
		out = value{kind: isText, text: strings.Join(object.list, first.text), partial: object.partial, decoded: object.decoded}
	case "split":
		if object.kind != isText {
			return out, false
		}
		out = value{kind: isList, list: strings.SplitN(object.text, first.text, maxSteps), partial: object.partial}
	case "reverse":
		out = value{kind: isList, list: slices.Clone(object.list), partial: object.partial, decoded: true}
		slices.Reverse(out.list)
	case "concat":
		out.text += first.text
		out.partial = out.partial || !ok || first.partial
	case "replace", "replaceAll":
		second, _ := argument(1)
		if !ok || first.kind != isText || first.text == "" || len(object.text) > 10_000 {
			return out, false
		}
		out.text = strings.ReplaceAll(object.text, first.text, second.text)
	case "format":
		out.partial = true
		out.text = strings.ReplaceAll(object.text, "{}", "$")
	case "joinpath":
		out.text += "/" + first.text
		out.partial = out.partial || !ok || first.partial
	case "expanduser", "resolve", "absolute", "toString", "valueOf", "trim", "strip", "encode", "decode", "trimEnd":
	case "toLowerCase", "lower":
		out.text = strings.ToLower(object.text)
	default:
		return out, false
	}
	return out, len(out.text) < maxFolded
}

type decoder = func(text, format string) (string, bool)

// decoders are functions that turn a text into another that people could not read before.
var decoders = func() map[string]decoder {
	base64s := func(text, _ string) (string, bool) { return fromBase64(text) }
	hexes := func(text, _ string) (string, bool) { return fromHex(text) }
	none := func(string, string) (string, bool) { return "", false }
	formats := func(text, format string) (string, bool) {
		switch strings.ReplaceAll(strings.ToLower(format), "_", "") {
		case "base64", "base64url":
			return fromBase64(text)
		case "hex":
			return fromHex(text)
		case "rot13", "rot-13":
			return strings.Map(rot13, text), true
		}
		return text, true
	}
	out := map[string]decoder{
		"atob": base64s, "Buffer.from": formats, "buffer.Buffer.from": formats, "unescape": unquote, "decodeURIComponent": unquote,
		"base64.b64decode": base64s, "base64.urlsafe_b64decode": base64s, "base64.standard_b64decode": base64s, "base64.decodebytes": base64s, "binascii.a2b_base64": base64s,
		"bytes.fromhex": hexes, "bytearray.fromhex": hexes, "binascii.unhexlify": hexes, "base64.b16decode": hexes, "codecs.decode": formats, "urllib.parse.unquote": unquote,
	}
	for _, name := range strings.Fields("zlib.decompress gzip.decompress bz2.decompress lzma.decompress base64.b85decode base64.a85decode base64.b32decode marshal.loads zlib.inflateSync zlib.gunzipSync zlib.unzipSync zlib.brotliDecompressSync") {
		out[name] = none
	}
	return out
}()

func unquote(text, _ string) (string, bool) {
	out, err := url.PathUnescape(text)
	return out, err == nil
}

func rot13(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z':
		return 'a' + (r-'a'+13)%26
	case r >= 'A' && r <= 'Z':
		return 'A' + (r-'A'+13)%26
	}
	return r
}

func fromBase64(text string) (string, bool) {
	text = strings.NewReplacer("-", "+", "_", "/", "=", "", "\n", "", " ", "").Replace(text)
	data, err := base64.RawStdEncoding.DecodeString(text)
	return string(data), err == nil
}

func fromHex(text string) (string, bool) {
	data, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	return string(data), err == nil
}
