package script

import (
	"cmp"
	"regexp"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/templates"
)

// sign is a pattern of one language, and its weight. Signs that cannot occur in the other language weigh most.
type sign struct {
	weight  int
	pattern *regexp.Regexp
}

// signs returns the signs of each language. They are matched against code whose comments and strings are emptied.
var signs = sync.OnceValue(func() map[sandbox.Language][]sign {
	list := func(words ...string) []sign {
		out := make([]sign, 0, len(words)/2)
		weights := map[string]int{"sure": 8, "helper": 6, "likely": 3, "maybe": 1}
		for i := 0; i < len(words); i += 2 {
			out = append(out, sign{weights[words[i]], regexp.MustCompile(words[i+1])})
		}
		return out
	}
	python, typescript := helperNames()
	return map[sandbox.Language][]sign{
		sandbox.LangPython: list(
			"sure", `(?m)^\s*(?:async\s+)?def\s+\w+\s*\(`,
			"sure", `(?m)^\s*(?:if|elif|else|for|while|try|except|finally|with|class|async\s+with|async\s+for)\b[^\n]*:[ \t]*$`,
			"sure", `(?m)^\s*from\s+[\w.]+\s+import\b`,
			"sure", `(?m)^\s*import\s+\w[\w.]*(?:\s+as\s+\w+)?(?:\s*,\s*\w[\w.]*(?:\s+as\s+\w+)?)*[ \t]*$`,
			"sure", `(?m)^\s*(?:raise\s+[A-Z]\w*|assert\s+\w|del\s+\w)`,
			"sure", `\b(?:None|True|False|elif|nonlocal|lambda)\b`,
			"sure", `\bnot\s+in\b|\bis\s+not\b|\bfor\s+\w[\w, ]*\s+in\b|\b[rfb]{1,2}["']`,
			"helper", `\b(?:`+python+`)\s*\(`,
			"likely", `\b(?:print|len|str|range|sorted|enumerate|isinstance|dict|list|int|float|sum|zip|open|exec)\s*\(`,
			"likely", `\b(?:json|os|re|sys|math|datetime|collections|itertools|statistics|random|csv|asyncio|time|logging|shutil|functools)\.[a-z]|\bPath\(`,
			"likely", `\s(?:and|or|not)\s`,
			"likely", `"""|'''|(?m:^\s*#)`,
		),
		sandbox.LangTypeScript: list(
			"sure", `(?m)(?:^|[;{(])\s*(?:export\s+)?(?:const|let|var)\s+[\w$\[{]`,
			"sure", `=>|===|!==|`+"`"+`|\?\?|\?\.|&&|\|\|`,
			"sure", `\bimport\s*[{*"'(]|\bfrom\s*["']|(?m:^\s*export\s)`,
			"sure", `(?m)^\s*(?:async\s+)?function\b|\bnew\s+[A-Z]\w*\s*[(<]`,
			"sure", `(?m)^\s*(?:interface\s+\w+|type\s+\w+\s*=|declare\s|enum\s+\w+\s*\{)`,
			"sure", `\b(?:for|if|while|catch|switch)\s*\([^\n]*\)\s*\{|\}\s*(?:else|catch|finally)\b|\btry\s*\{`,
			"helper", `\b(?:`+typescript+`)\s*\(`,
			"likely", `\b(?:console|Promise|JSON|Math|Object|Array|process|fs|path)\.[a-zA-Z]`,
			"likely", `\b(?:undefined|null|true|false|typeof|void)\b`,
			"likely", `//|/\*`,
			"maybe", `(?m);[ \t]*$`,
		),
	}
})

// helperNames returns patterns for the library's names as each language spells them. It omits names that both spell alike.
func helperNames() (python, typescript string) {
	var snake, camel []string
	for _, m := range regexp.MustCompile(`from mcprun import ([a-z]+(?:_[a-z]+)+) as`).FindAllStringSubmatch(templates.Text("py/builtins.pyi"), -1) {
		snake = append(snake, m[1])
		camel = append(camel, ident.Camel(m[1]))
	}
	return strings.Join(snake, "|"), strings.Join(camel, "|")
}

// maxDetected is how much of a script is read to detect its language, in bytes.
const maxDetected = 256 << 10

// DetectLanguage returns the language that code is most likely in. Code that is valid in both is assigned to the language
// whose imports, helpers and idioms it uses, or to TypeScript if it uses none.
func DetectLanguage(code string) sandbox.Language {
	return cmp.Or(LooksLike(code), sandbox.LangTypeScript)
}

// LooksLike returns the language that code is written in, or "" if nothing in the code indicates one.
func LooksLike(code string) sandbox.Language {
	if line, _, _ := strings.Cut(code, "\n"); strings.HasPrefix(line, "#!") && strings.Contains(line, "python") {
		return sandbox.LangPython
	}
	bare := withoutTexts(code[:min(len(code), maxDetected)])
	score := map[sandbox.Language]int{}
	for lang, list := range signs() {
		for _, s := range list {
			if s.pattern.MatchString(bare) {
				score[lang] += s.weight
			}
		}
	}
	if assignsUndeclared(bare) {
		score[sandbox.LangPython] += 2
	}
	switch cmp.Compare(score[sandbox.LangPython], score[sandbox.LangTypeScript]) {
	case 1:
		return sandbox.LangPython
	case -1:
		return sandbox.LangTypeScript
	}
	return ""
}

var (
	bareAssignment = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^([A-Za-z_]\w*)[ \t]*=[^=>]`) })
	declaration    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(?:const|let|var)\b`) })
)

// assignsUndeclared reports whether code assigns to a name and declares none, which is an error in TypeScript.
func assignsUndeclared(bare string) bool {
	return bareAssignment().MatchString(bare) && !declaration().MatchString(bare)
}

// texts matches the comments and strings of both languages. The groups are the text before a comment, and the beginning of
// each comment or string.
var texts = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(""")(?s:\\.|.)*?(?:"""|\z)|(''')(?s:\\.|.)*?(?:'''|\z)|(")(?:\\.|[^"\\\n])*"?|(')(?:\\.|[^'\\\n])*'?` +
		"|(`)(?:\\\\(?s:.)|[^`\\\\])*`?" + `|(/\*)(?s:.)*?(?:\*/|\z)|(^|[ \t\n;({\[,])(?:(//)[^\n]*|(#)(?:[^!\n][^\n]*)?)`)
})

// withoutTexts returns code with the comments and strings of both languages emptied.
func withoutTexts(code string) string {
	return texts().ReplaceAllString(code, "$1$2$3$4$5$6$7$8$9 $1$2$3$4$5")
}
