package script

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// A bundle is one module, which guests run from somewhere else. A module that asks where it lies, or whether it is the one
// that was started, is answered as if the script's folder were the workspace. Without an answer, code below
// `require.main === module` would silently not run, or run in a module that is merely imported. The bundler can give one
// answer to all modules only, which is the script's (see placeOfScript). Other modules that ask get variables of their own,
// at the beginning of their first line: only positions in that line are not what they were.

// question is a way to ask.
type question struct {
	expression string // as the bundler knows it
	find       func() *regexp.Regexp
	word       string // how the variable begins that takes the first word's place: two characters make it as long as that
}

// gap is what may stand between the words of an expression.
const gap = `(?:[\s\p{Z}\x{FEFF}]|/\*(?s:.*?)\*/|//[^\n\r\x{2028}\x{2029}]*)*`

var (
	askMeta = question{"import.meta", pattern(`\bimport` + gap + `\.` + gap + `meta\b`), "$imp"}
	askMain = question{"require.main", pattern(`\brequire` + gap + `\??\.` + gap + `main\b`), "$requ"}

	metaWord  = pattern(`\bmeta\b`)
	mainWord  = pattern(`\bmain\b`)
	wholeMeta = pattern(`\bmeta\b` + gap + `(?:[^.\s/]|$)`)
)

// maxAsked bounds how often a module may ask in ways that have to be told from strings and comments.
const maxAsked = 200

// asksWhere tells whether code may ask, however that is written.
func asksWhere(code string) bool {
	has := func(word string) bool { return strings.Contains(code, word) }
	return has("__filename") || has("__dirname") || has("import") && metaWord().MatchString(code) ||
		has("require") && (has(`\`) || mainWord().MatchString(code)) || has(`\u`)
}

// place returns the text of a module with the answers to what it asks.
func (f *files) place(id, code string, loader api.Loader) string {
	script := id == scriptNamespace+":"+f.main.Name
	end := ""
	if script && f.ownModule {
		end = "\nvar module;" // see mayNeedModule
	}
	if loader == api.LoaderJSON || !asksWhere(code) || script && !wholeMeta().MatchString(code) {
		return code + end
	}
	namespace, name, _ := strings.Cut(id, ":")
	file := fileOf(namespace, name)
	answers := map[string]string{
		"__filename": quote(file), "__dirname": quote(path.Dir(file)),
		"require.main": `{filename:` + quote(fileOf(scriptNamespace, f.main.Name)) + `,id:"."}`,
		"import.meta": fmt.Sprintf("{url:%s,filename:%s,dirname:%s,main:%t,resolve:to=>new URL(to,%s).href}",
			quote(addressOf(file)), quote(file), quote(path.Dir(file)), script, quote(addressOf(file))),
	}
	asked := []string{"import.meta"}
	if !script { // which has constants for the rest
		asked = []string{"import.meta", "require.main", "__filename", "__dirname"}
	}
	first, code := cutHashbang(code)
	n, ok := counts(code, loader, asked)
	if !ok {
		return first + code + end // the bundler will say what is wrong with it
	}
	var variables []string
	text := code
	for i, expression := range asked {
		if n[i] == 0 {
			continue
		}
		if i > 1 {
			variables = append(variables, expression+"="+answers[expression])
			continue
		}
		q := []question{askMeta, askMain}[i]
		word := unusedWord(text, q.word)
		with, ok := q.put(text, word, n[i], loader)
		if !ok {
			return first + rewritten(code, loader, answers, asked) + end
		}
		_, member, _ := strings.Cut(expression, ".")
		text = with
		variables = append(variables, word+"={"+member+":"+answers[expression]+"}")
		if i == 0 {
			end += "\nexport {};" // what it was by its import.meta, it remains
		}
	}
	if len(variables) == 0 {
		return first + code + end
	}
	return first + "var " + strings.Join(variables, ",") + ";" + text + end
}

// cutHashbang splits code before its second line where the first says what runs it, which only a first line may.
func cutHashbang(code string) (first, rest string) {
	if !strings.HasPrefix(code, "#!") {
		return "", code
	}
	at := strings.IndexAny(code, "\n\r") + 1
	return code[:at], code[at:]
}

// put writes a variable in the place of the first word of every expression that asks the question, of which there are n. What
// only looks like one, as in a string, stays. It is not ok when they cannot be told.
func (q question) put(code, variable string, n int, loader api.Loader) (string, bool) {
	sites := q.find().FindAllStringIndex(code, maxAsked+1)
	if len(sites) != n {
		if len(sites) > maxAsked {
			return "", false
		}
		// Each gets a name of its own: the bundler changes those that are code.
		_, member, _ := strings.Cut(q.expression, ".")
		text := []byte(code)
		names := make([]string, len(sites))
		for i, at := range sites {
			names[i] = fmt.Sprintf("$%0*d$", len(q.word), i)
			if strings.Contains(code, names[i]) {
				return "", false
			}
			copy(text[at[0]:], names[i])
			names[i] += "." + member
		}
		found, ok := counts(string(text), loader, names)
		if !ok {
			return "", false
		}
		var real [][]int
		for i, at := range sites {
			if found[i] > 0 {
				real = append(real, at)
			}
		}
		if sites = real; len(sites) != n {
			return "", false
		}
	}
	text := []byte(code)
	for _, at := range sites {
		copy(text[at[0]:], variable)
	}
	return string(text), true
}

// counts tells how often code has each of the expressions; not ok, it cannot be read.
func counts(code string, loader api.Loader, expressions []string) (n []int, ok bool) {
	probes := map[string]string{}
	for i, e := range expressions {
		probes[e] = probeName(code, i)
	}
	res := transform(code, loader, probes)
	for i := range expressions {
		n = append(n, strings.Count(string(res.Code), probeName(code, i)))
	}
	return n, len(res.Errors) == 0
}

// probeName is the i-th of identifiers that code does not hold.
func probeName(code string, i int) string {
	begin := "$probe"
	for strings.Contains(code, begin) {
		begin += "$"
	}
	return begin + "_" + strconv.Itoa(i) + "_"
}

func transform(code string, loader api.Loader, define map[string]string) api.TransformResult {
	return api.Transform(code, api.TransformOptions{Loader: loader, TsconfigRaw: tsconfig, LogLevel: api.LogLevelSilent, Define: define})
}

// rewritten is the module as the bundler writes it with the answers, for those that ask in odd ways: positions in it are
// lost.
func rewritten(code string, loader api.Loader, answers map[string]string, asked []string) string {
	constants := map[string]string{}
	var variables []string
	for i, expression := range asked {
		constants[expression] = probeName(code, i)
		variables = append(variables, probeName(code, i)+"="+answers[expression])
	}
	res := transform(code, loader, constants)
	return "var " + strings.Join(variables, ",") + ";" + string(res.Code)
}

// mayNeedModule tells whether code may ask as CommonJS does whether it was started. Where it is none, it has no module to
// compare the answer with, and gets a variable for it.
func mayNeedModule(code string) bool {
	return strings.Contains(code, "require") && strings.Contains(code, "module") && mainWord().MatchString(code)
}

// placeOfScript are answers that the bundler gives itself, however the questions are written.
func placeOfScript(name string) map[string]string {
	file := fileOf(scriptNamespace, name)
	return map[string]string{
		"import.meta.url": quote(addressOf(file)), "import.meta.filename": quote(file), "import.meta.dirname": quote(path.Dir(file)), "import.meta.main": "true",
		"__filename": quote(file), "__dirname": quote(path.Dir(file)), "require.main": "module",
	}
}

// fileOf is where a module lies for those who ask.
func fileOf(namespace, name string) string {
	if namespace == scriptNamespace {
		return path.Join(sandbox.WorkspaceDir, name)
	}
	return path.Join(sandbox.WorkspaceDir, namespace, name)
}

func addressOf(file string) string { return (&url.URL{Scheme: "file", Path: file}).String() }
