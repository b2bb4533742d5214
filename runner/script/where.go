package script

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math/big"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// A bundle is one module, which guests run from somewhere else. A module that asks where it lies, or whether it is the one
// that was started, is answered as if the script's folder were the workspace. Without an answer, code below
// `require.main === module` would silently not run, or run in a module that is merely imported. The bundler can give one
// answer to all modules only. So it gets another text of those that ask: each such expression begins with a word of the
// same length, so that positions remain, which the bundle's first line makes a global variable.

// question is a way to ask.
type question struct {
	expression string // as the bundler knows it
	find       func() *regexp.Regexp
	word       string                                // what the expression begins with
	answer     func(file string, script bool) string // what to put in the word's place, as JavaScript
}

// gap is what may stand between the words of an expression.
const gap = `(?:[\s\p{Z}\x{FEFF}]|/\*(?s:.*?)\*/|//[^\n\r\x{2028}\x{2029}]*)*`

var (
	askMeta = question{"import.meta", pattern(`\bimport` + gap + `\.` + gap + `meta\b`), "import", func(file string, script bool) string {
		address := quote(addressOf(file))
		return fmt.Sprintf("{meta:{url:%s,filename:%s,dirname:%s,main:%t,resolve:to=>new URL(to,%s).href}}",
			address, quote(file), quote(path.Dir(file)), script, address)
	}}
	askMain     = question{"require.main", pattern(`\brequire` + gap + `\??\.` + gap + `main\b`), "require", func(string, bool) string { return "{}" }}
	askFileName = question{"__filename", pattern(`\b__filename\b`), "__filename", func(file string, _ bool) string { return quote(file) }}
	askDirName  = question{"__dirname", pattern(`\b__dirname\b`), "__dirname", func(file string, _ bool) string { return quote(path.Dir(file)) }}

	metaWord = pattern(`\bmeta\b`)
	mainWord = pattern(`\bmain\b`)
)

// maxAsked bounds how many expressions of a kind are answered in a module.
const maxAsked = 20

// asksWhere tells whether code may hold one of those expressions, however it is written.
func asksWhere(code string) bool {
	has := func(word string) bool { return strings.Contains(code, word) }
	return has("__filename") || has("__dirname") || has("import") && metaWord().MatchString(code) ||
		has("require") && (has(`\`) || mainWord().MatchString(code)) || has(`\u`)
}

// place returns the text of a module in which the expressions that ask begin with words that answer.
func (f *files) place(id, code string, loader api.Loader) string {
	if loader == api.LoaderJSON || !asksWhere(code) {
		return code
	}
	f.mu.Lock()
	placed, known := f.placed[id]
	f.mu.Unlock()
	if known {
		return placed
	}
	questions := []question{askMeta, askMain, askFileName, askDirName}
	script := id == scriptNamespace+":"+f.main.Name
	if script {
		questions = questions[:1] // the rest are constants, see placeOfScript
	}
	text := []byte(code)
	answers := map[string]string{}
	for i, sites := range asked(code, loader, questions) {
		q := questions[i]
		word := answerWord(id, len(q.word))
		if len(sites) == 0 || strings.Contains(code, word) {
			continue
		}
		for _, at := range sites {
			copy(text[at:], word)
		}
		namespace, name, _ := strings.Cut(id, ":")
		answers[word] = q.answer(fileOf(namespace, name), script)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.Copy(f.answers, answers)
	f.guards = f.guards || strings.Contains(code, "require") && mainWord().MatchString(code)
	f.placed[id] = string(text)
	return f.placed[id]
}

// asked finds where in the code each of the questions is asked. What only looks like one, as in a string, is none.
func asked(code string, loader api.Loader, questions []question) [][]int {
	sites := make([][]int, len(questions))
	for i, q := range questions {
		for _, at := range q.find().FindAllStringIndex(code, maxAsked) {
			sites[i] = append(sites[i], at[0])
		}
	}
	before, ok := counts(code, loader, questions)
	if !ok {
		return make([][]int, len(questions)) // the bundler will say what is wrong with it
	}
	for i, q := range questions {
		if before[i] == len(sites[i]) {
			continue
		}
		sites[i] = slices.DeleteFunc(sites[i], func(at int) bool {
			text := []byte(code)
			copy(text[at:], q.blank())
			now, ok := counts(string(text), loader, questions)
			return !ok || now[i] >= before[i]
		})
	}
	return sites
}

// blank is a word of the same length as the question's first.
func (q question) blank() string { return strings.Repeat("$", len(q.word)) }

// counts tells how often the code asks each question; not ok, it cannot be read.
func counts(code string, loader api.Loader, questions []question) (n []int, ok bool) {
	probes := map[string]string{}
	names := make([]string, len(questions))
	for i, q := range questions {
		names[i] = answerWord(q.expression+code, 20)
		probes[q.expression] = names[i]
	}
	res := api.Transform(code, api.TransformOptions{Loader: loader, TsconfigRaw: tsconfig, LogLevel: api.LogLevelSilent, Define: probes})
	for _, name := range names {
		n = append(n, strings.Count(string(res.Code), name))
	}
	return n, len(res.Errors) == 0
}

// answerWord makes an identifier of a length of something's name, which the name nearly always has alone.
func answerWord(name string, length int) string {
	sum := sha256.Sum256([]byte(name))
	text := new(big.Int).SetBytes(sum[:]).Text(36)
	return "$" + text[:length-2] + "$"
}

// placeOfScript are answers that the bundler gives itself, however the questions are written.
func placeOfScript(name string) map[string]string {
	file := fileOf(scriptNamespace, name)
	return map[string]string{"__filename": quote(file), "__dirname": quote(path.Dir(file)), "require.main": "module"}
}

// fileOf is where a module lies for those who ask.
func fileOf(namespace, name string) string {
	if namespace == scriptNamespace {
		return path.Join(sandbox.WorkspaceDir, name)
	}
	return path.Join(sandbox.WorkspaceDir, namespace, name)
}

func addressOf(file string) string { return (&url.URL{Scheme: "file", Path: file}).String() }

// answered is code that makes the answers known, on one line; empty: nobody asks.
func (f *files) answered() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var b strings.Builder
	if len(f.answers) > 0 {
		b.WriteString("Object.assign(globalThis,{")
		for _, word := range slices.Sorted(maps.Keys(f.answers)) {
			b.WriteString(quote(word) + ":" + f.answers[word] + ",")
		}
		b.WriteString("});")
	}
	if f.guards { // in modules that are not of CommonJS nobody else makes one
		b.WriteString("globalThis.module??={exports:{}};")
	}
	return b.String()
}
