package runner

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/script/check"
)

// checkTime bounds the check of types after a run. Tests change it.
var checkTime = 5 * time.Second

const (
	// checkWait bounds the wait for the check of another run, which may be of a script that delays the compiler.
	checkWait = 300 * time.Millisecond
	// checkPause is how long nothing of a language is checked after a check that took longer than checkTime.
	checkPause = time.Minute
	// maxChecked is the size, in bytes, of the largest script that is checked after its run.
	maxChecked = 256 << 10
	// maxTypeErrors bounds Result.TypeErrors, and maxTypeError a line of it, in bytes.
	maxTypeErrors = 5
	maxTypeError  = 500
	// maxType bounds a type that a message quotes, in bytes. What was probably meant stands behind it.
	maxType = 160
)

// typeErrors returns the type errors that may be why a run went wrong, in lines for the script's author. A run that went well is not
// checked, so that it does not take longer. Without a checker there are none.
func (x *run) typeErrors(ctx context.Context, res *Result, program *script.Program, nothing bool) []string {
	s := x.script
	if s.Checkers == nil || len(s.Code) > maxChecked || !x.wentWrong(res, nothing) {
		return nil
	}
	places := *s.Checkers
	places.Workspace = s.Workspace
	if _, err := places.Find(s.Language); err != nil {
		return nil
	}
	wait := time.NewTimer(checkWait)
	defer wait.Stop()
	select {
	case x.runner.checking <- struct{}{}:
		defer func() { <-x.runner.checking }()
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return nil
	}
	if time.Now().Before(x.runner.slow[s.Language]) {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	found, err := check.Run(bounded, script.Source{Name: s.Name, Code: s.Code, Language: s.Language, Dir: s.Dir}, check.Options{
		Tree: x.runner.opt.Tree, Skills: x.runner.opt.Skills, Vars: s.Vars, Read: program, Places: places,
	})
	if err != nil {
		x.runner.log.Debug("the types of the script were not checked", "error", err)
		if bounded.Err() != nil && ctx.Err() == nil {
			x.runner.slow[s.Language] = time.Now().Add(checkPause)
		}
		return nil
	}
	return likelyCauses(found, s.Name, s.Code, x.outcome.Error)
}

// wentWrong reports whether there is something that types may explain. nothing reports that the run left no trace.
func (x *run) wentWrong(res *Result, nothing bool) bool {
	switch {
	case res.Cause == CauseError:
		return !unexplained().MatchString(x.outcome.Error.Name)
	case res.Cause != CauseExit || crashes[res.ExitCode] != "":
		return false
	case res.ExitCode != 0 || nothing:
		return true
	case x.toldMember: // the script was told what it misspelt
		return false
	}
	shown, _ := x.output.First()
	for _, text := range [][]byte{shown, res.Value} {
		if isEmpty(text) || x.mayBeMissing() && showsMissing(text, x.script.Language) {
			return true
		}
	}
	return false
}

// mayBeMissing reports whether what looks like a missing value cannot have come from a tool.
func (x *run) mayBeMissing() bool {
	if x.script.Language == sandbox.LangPython {
		return !x.summary.Nulls
	}
	return !x.summary.Undefined
}

var (
	// unexplained matches the names of errors that have nothing to do with types, or that say themselves what is wrong.
	unexplained = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:SyntaxError|IndentationError|TabError|LoadError|MemoryError|MCP(?:Denied|Timeout|Connection|Protocol|Tool)Error)$`)
	})
	// mistyped matches the names of errors that the language raises where a value has not the type that is needed.
	mistyped = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:TypeError|ReferenceError|AttributeError|KeyError|IndexError|NameError|UnboundLocalError)$`)
	})
	// missing matches what a value that is not there becomes in a text, where it is a whole value and not a word of a sentence.
	missing = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\[object Object\]|` + fmt.Sprintf(whole, `undefined|NaN`))
	})
	// missingPython matches None, and what precedes it where it is a member of printed data: that came from a tool.
	missingPython = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(fmt.Sprintf(whole, `None`)) })
	// likely matches the codes of errors that have an effect while a script runs: names, members, arguments, calls, loops, operators.
	likely = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:TS(?:2304|2305|2322|2339|2345|2349|2351|2353|2365|2367|2461|2488|2495|2538|2548|2549|2550|2551|2552|2554|2555|2559|2561|2693|2724|2739|2740|2741|2769|2801|2820)|` +
			`report(?:ArgumentType|AttributeAccessIssue|CallIssue|GeneralTypeIssues|IndexIssue|OperatorIssue|TypedDictNotRequiredAccess|UndefinedVariable))$`)
	})
	quotedType = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`'[^'\n]{160,}'|"[^"\n]{160,}"`) })
	// untold matches messages that are often wrong: of objects that a script fills later, of values of which the compiler knows no
	// type, and of members that only some types of a union have.
	untold = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\btype '(?:\{\}|unknown|object|never)'|"__(?:set|del)item__"|Cannot assign to attribute|\n\s*Property '.*' does not exist on type`)
	})
	// member matches messages about a member that is not there.
	member = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`does not exist on type|^Cannot access attribute|is not a defined key`)
	})
	// assigned matches the text from a member on where a value is assigned to it.
	assigned = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\w$."'\[\]]+\s*(?:\?\?|\|\|)?=(?:[^=>]|$)`) })
)

// whole is the pattern of a value that is a line, ends one, or has its place after a colon or between signs. The first group is the end
// of a member's name.
const whole = `(?m)(?:(['"]: )|^|[:=,|(\[{])[ \t]*(?:%[1]s)[ \t]*(?:$|[,;|)\]}])|[ \t](?:%[1]s)$`

// isEmpty reports whether a text is a value that is not there, as JSON. Empty lists and objects are often right.
func isEmpty(text []byte) bool {
	text = bytes.TrimSpace(text)
	return string(text) == "null" || string(text) == `""`
}

// showsMissing reports whether a text shows that a value was not there.
func showsMissing(text []byte, language sandbox.Language) bool {
	if language != sandbox.LangPython {
		return missing().Match(text)
	}
	for _, found := range missingPython().FindAllSubmatchIndex(text, -1) {
		if found[2] < 0 {
			return true
		}
	}
	return false
}

// likelyCauses returns those of the problems that lie in the script itself and may be why its run went wrong, those of the failing lines
// first. A wrong line misleads more than none. So of types that the script made up itself, only what lies on a failing line counts,
// and only if the error is one that a wrong type causes.
func likelyCauses(problems []check.Problem, name, code string, failure *bridge.ScriptError) []string {
	failed := map[int]bool{}
	if failure != nil && mistyped().MatchString(failure.Name) {
		for _, at := range regexp.MustCompile(regexp.QuoteMeta(name)+`(?::|", line )(\d+)`).FindAllStringSubmatch(failure.Stack, -1) {
			line, _ := strconv.Atoi(at[1])
			failed[line] = true
		}
	}
	source := strings.Split(code, "\n")
	given := map[string]bool{} // what is said of members that the script assigns
	for _, p := range problems {
		if p.Line > 0 && p.Line <= len(source) && member().MatchString(p.Text) {
			line := source[p.Line-1]
			given[p.Text] = given[p.Text] || assigned().MatchString(line[min(max(p.Column-1, 0), len(line)):])
		}
	}
	problems = slices.DeleteFunc(problems, func(p check.Problem) bool {
		return p.File != name || p.Line == 0 || !likely().MatchString(p.Code) || untold().MatchString(p.Text) || given[p.Text] || !p.Tree && !failed[p.Line]
	})
	rank := func(p check.Problem) int {
		if failed[p.Line] {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(problems, func(a, b check.Problem) int { return cmp.Compare(rank(a), rank(b)) })
	var lines []string
	for i, p := range problems {
		if len(problems) > maxTypeErrors && i == maxTypeErrors-1 {
			return append(lines, fmt.Sprintf("and %d more type errors", len(problems)-i))
		}
		lines = append(lines, fmt.Sprintf("%s:%d:%d: %s", ident.CleanLine(p.File), p.Line, p.Column, oneLine(p.Text)))
	}
	return lines
}

// oneLine shortens a message: of the lines that explain each other, the first and the last say what a person needs.
func oneLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	text = lines[0]
	if last := strings.TrimSpace(lines[len(lines)-1]); len(lines) > 1 {
		if !strings.HasSuffix(text, ".") {
			text += ":"
		}
		text += " " + last
	}
	text = quotedType().ReplaceAllStringFunc(text, func(quoted string) string {
		return ident.Clip(quoted, maxType) + quoted[:1]
	})
	return ident.Clip(ident.CleanLine(text), maxTypeError)
}
