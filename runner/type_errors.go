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
	// checkWait bounds the wait for another run's check, whose script may be made to slow the compiler down.
	checkWait = 300 * time.Millisecond
	// checkPause is how long checks of a language are suspended after one that took longer than checkTime.
	checkPause = time.Minute
	// maxChecked is the size, in bytes, of the largest script that is checked after its run.
	maxChecked = 256 << 10
	// maxTypeErrors bounds Result.TypeErrors, and maxTypeError a line of it, in bytes.
	maxTypeErrors = 5
	maxTypeError  = 500
	// maxType bounds a type that a message quotes, in bytes, so that the suggestion after it is not cut off.
	maxType = 160
)

// typeErrors returns the type errors that may be why a run went wrong, in lines for the script's author. A run that went well is not
// checked, to save the time. Without a checker there are no type errors.
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
		Tree: x.runner.opt.Tree, Skills: x.runner.opt.Skills, Packages: x.runner.opt.Packages, Vars: s.Vars, Read: program, Places: places,
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

// wentWrong reports whether the run shows a problem that types may explain. nothing means that the run left no trace.
func (x *run) wentWrong(res *Result, nothing bool) bool {
	switch {
	case res.Cause == CauseError:
		return !unexplained().MatchString(x.outcome.Error.Name)
	case res.Cause != CauseExit || crashes[res.ExitCode] != "":
		return false
	case res.ExitCode != 0 || nothing:
		return true
	case x.toldMember: // a warning already says what the script misspelt
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
	// unexplained matches the names of errors that types do not explain, or whose own message says what is wrong.
	unexplained = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:SyntaxError|IndentationError|TabError|LoadError|MemoryError|MCP(?:Denied|Timeout|Connection|Protocol|Tool)Error)$`)
	})
	// mistyped matches the names of errors that the language raises for a value of the wrong type.
	mistyped = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:TypeError|ReferenceError|AttributeError|KeyError|IndexError|NameError|UnboundLocalError)$`)
	})
	// missing matches the printed form of a missing value (undefined, NaN) that is a whole value and not a word of a sentence, and of an
	// object.
	missing = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\[object Object\]|` + fmt.Sprintf(whole, `undefined|NaN`))
	})
	// missingPython matches None. Its first group matches only if None is a member of printed data, which then came from a tool.
	missingPython = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(fmt.Sprintf(whole, `None`)) })
	// likely matches the codes of errors that have an effect while a script runs: names, members, arguments, calls, loops, operators.
	likely = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:TS(?:2304|2305|2322|2339|2345|2349|2351|2353|2365|2367|2461|2488|2495|2538|2548|2549|2550|2551|2552|2554|2555|2559|2561|2693|2724|2739|2740|2741|2769|2801|2820)|` +
			`report(?:ArgumentType|AttributeAccessIssue|CallIssue|GeneralTypeIssues|IndexIssue|OperatorIssue|TypedDictNotRequiredAccess|UndefinedVariable))$`)
	})
	quotedType = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`'[^'\n]{160,}'|"[^"\n]{160,}"`) })
	// untold matches messages that are often false alarms: about objects that a script fills later, values without a known type, and
	// members that only some types of a union have.
	untold = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\btype '(?:\{\}|unknown|object|never)'|"__(?:set|del)item__"|Cannot assign to attribute|\n\s*Property '.*' does not exist on type`)
	})
	// member matches messages about a missing member.
	member = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`does not exist on type|^Cannot access attribute|is not a defined key`)
	})
	// assigned matches code that begins with a member and assigns a value to it.
	assigned = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\w$."'\[\]]+\s*(?:\?\?|\|\|)?=(?:[^=>]|$)`) })
)

// whole is the pattern of a value that fills a line, ends one, or follows a colon or other punctuation. The first group is the end of a
// member's name.
const whole = `(?m)(?:(['"]: )|^|[:=,|(\[{])[ \t]*(?:%[1]s)[ \t]*(?:$|[,;|)\]}])|[ \t](?:%[1]s)$`

// isEmpty reports whether a JSON text is a missing or empty value. Empty lists and objects do not count: they are often right.
func isEmpty(text []byte) bool {
	text = bytes.TrimSpace(text)
	return string(text) == "null" || string(text) == `""`
}

// showsMissing reports whether a text contains a missing value.
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

// likelyCauses returns the problems in the script itself that may be why its run went wrong, those on failing lines first. A wrong hint is
// worse than none, so a problem with a type that the script itself invented counts only on a failing line, and only if a wrong type can
// cause the error.
func likelyCauses(problems []check.Problem, name, code string, failure *bridge.ScriptError) []string {
	failed := map[int]bool{}
	if failure != nil && mistyped().MatchString(failure.Name) {
		for _, at := range regexp.MustCompile(regexp.QuoteMeta(name)+`(?::|", line )(\d+)`).FindAllStringSubmatch(failure.Stack, -1) {
			line, _ := strconv.Atoi(at[1])
			failed[line] = true
		}
	}
	source := strings.Split(code, "\n")
	given := map[string]bool{} // messages about members that the script assigns
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

// oneLine shortens a message whose lines each explain the one before: a person needs only the first and the last.
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
