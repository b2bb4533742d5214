package approve

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/risk"
)

// maxText bounds, in characters, what is shown of a text other than an argument. Arguments are shown whole or not at all.
const maxText = 600

// Bounds of one question for each way of asking, in characters. A longer question cannot be approved that way.
const (
	MaxTerminal = 64 << 10
	maxForm     = 8000
	maxPage     = 1 << 20
)

// around is the number of lines of the script that are shown before and after the one that makes the call.
const around = 2

// View is a question as a person sees it, and the answers on offer.
type View struct {
	// Lines describe the question. Others describe the calls that Batch allows too and RefusedBatch refuses too.
	Lines, Others []string
	Scopes        []Scope // besides Refused
}

// TooLongError reports a call that is too long to be shown by one way of asking.
type TooLongError struct{ Characters, Limit int }

func (e *TooLongError) Error() string {
	remedy := "answer with --approve page"
	if e.Limit >= maxPage {
		remedy = "answer with a program (--approve-command)"
	}
	return fmt.Sprintf("the call is too long to show here (%d characters, limit %d); %s", e.Characters, e.Limit, remedy)
}

// View renders the question in at most the given number of characters. Hostile texts are quoted or reduced to one line each, and invisible
// characters are escaped, so that no text can look like another line or fill the screen. Every argument is shown whole; if there is no room
// for them, the error is a *TooLongError. If there is no room for the other waiting calls, they cannot be answered together.
func (q *Question) View(most int) (*View, error) {
	v := &View{Lines: q.lines(), Scopes: []Scope{Once}}
	if q.Connection != "" { // a program makes several connections, so one alone would not help it
		v.Scopes = nil
	}
	if q.Run != "" && q.Plan == nil {
		v.Lines, v.Scopes = append(v.Lines, "This run: "+q.alike()), append(v.Scopes, Run, RefusedRun)
	}
	used := characters(v.Lines)
	if used > most {
		return nil, &TooLongError{used, most}
	}
	if q.Run == "" {
		return v, nil
	}
	others := q.Others()
	if len(others) == 0 {
		return v, nil
	}
	v.Others = []string{fmt.Sprintf("Also waiting: %d more of this tool", len(others))}
	list := otherLines(others)
	if used+characters(list) > most {
		v.Others[0] += ", too long to show here; each will be asked separately"
		return v, nil
	}
	v.Others, v.Scopes = append(v.Others, list...), append(v.Scopes, Batch, RefusedBatch)
	return v, nil
}

// alike describes the calls that Run allows.
func (q *Question) alike() string {
	if q.Connection != "" {
		return "connections to " + visible(q.Connection)
	}
	names := shape(q.Arguments)
	if len(names) == 0 {
		return "calls of " + visible(q.Tool) + " without arguments"
	}
	return "calls of " + visible(q.Tool) + " with any values of " + visible(strings.Join(names, ", "))
}

// shape returns the names of arguments, sorted: those of objects in them as OUTER.INNER, of the elements of lists as LIST[].
func shape(args json.RawMessage) []string {
	var value any
	if json.Unmarshal(args, &value) != nil {
		return []string{string(args)} // not an object: only identical arguments have the same shape
	}
	names := map[string]bool{}
	addNames(names, "", value)
	return slices.Sorted(maps.Keys(names))
}

func addNames(names map[string]bool, at string, value any) {
	switch v := value.(type) {
	case map[string]any:
		if at != "" {
			names[at], at = true, at+"."
		}
		for name, inner := range v {
			addNames(names, at+name, inner)
		}
	case []any:
		names[at+"[]"] = true
		for _, inner := range v {
			addNames(names, at+"[]", inner)
		}
	default:
		names[at] = true
	}
}

func characters(lines []string) int {
	n := 0
	for _, line := range lines {
		n += utf8.RuneCountInString(line) + 1
	}
	return n
}

// Digest returns the digest that identifies a script to people and in plans.
func Digest(code string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(code))) }

// Title summarizes the question in one line.
func (q *Question) Title() string {
	if q.Plan != nil {
		return fmt.Sprintf("A plan of %d calls needs your approval", len(q.Plan.Calls))
	}
	if q.Start != nil {
		return "The script " + visible(q.Script) + " needs your approval to start"
	}
	if q.Connection != "" {
		return visible(q.Script) + " wants to connect to " + visible(q.Connection)
	}
	return visible(q.Tool) + " needs your approval"
}

// riskLine begins the line of the risk.
const riskLine = "Risk: "

func (q *Question) risk() string { return cmp.Or(q.Risk, risk.Medium).String() }

// lines describes the question.
func (q *Question) lines() []string {
	var lines []string
	switch {
	case q.Plan != nil:
		lines = q.Plan.lines()
	case q.Start != nil:
		lines = q.Start.lines(q)
	case q.Connection != "": // the title says it
	default:
		lines = append([]string{"Call: " + visible(q.Tool) + " on server " + visible(q.Server)}, members(q.Arguments)...)
	}
	if q.Script != "" {
		lines = append(lines, fmt.Sprintf("Script: %s, sha256 %.12s", visible(q.Script), Digest(q.Code)))
	}
	lines = append(lines, q.caller()...)
	if q.Customer != "" {
		lines = append(lines, "Customer: "+visible(q.Customer))
	}
	lines = append(lines, riskLine+q.risk())
	if q.Start != nil && q.Start.Why != "" {
		lines = append(lines, "Found: "+short(visible(q.shown(q.Start.Why))))
	}
	if q.Plan != nil {
		return lines
	}
	why := visible(q.Rule)
	if q.Reason != "" {
		why += ": " + short(visible(q.shown(q.Reason)))
	}
	return append(lines, "Asked by: "+why)
}

// otherLines shows the arguments of calls, one call in a line.
func otherLines(others []*Question) []string {
	lines := make([]string, len(others))
	for i, other := range others {
		lines[i] = "  " + visible(string(other.Arguments))
	}
	return lines
}

// shown returns a foreign text without personal data that this way of asking must not show.
func (q *Question) shown(text string) string {
	if q.text == nil {
		return text
	}
	return q.text(text)
}

// caller shows the line that makes the call, among its neighbours. It returns nil if the sandbox does not name a line, or if there is no
// such line.
func (q *Question) caller() []string {
	file, n, ok := SplitAt(q.At)
	text, where := q.Code, ""
	if file != q.Script {
		text, where = q.Source, " of "+visible(file)
	}
	code := strings.Split(text, "\n")
	if !ok || text == "" || n > len(code) {
		return nil
	}
	lines := []string{fmt.Sprintf("Line %d%s makes the call:", n, where)}
	for i := max(1, n-around); i <= min(len(code), n+around); i++ {
		mark := ' '
		if i == n {
			mark = '>'
		}
		text := strings.ReplaceAll(strings.TrimRight(code[i-1], " \t\r"), "\t", "  ")
		lines = append(lines, fmt.Sprintf("%c %4d  %s", mark, i, short(visible(q.shown(text)))))
	}
	return lines
}

// SplitAt splits the place of a call, NAME:LINE. Lines count from 1.
func SplitAt(at string) (file string, line int, ok bool) {
	i := strings.LastIndexByte(at, ':')
	if i < 0 {
		return "", 0, false
	}
	line, err := strconv.Atoi(at[i+1:])
	return at[:i], line, err == nil && line > 0
}

// members shows each argument whole in a line of its own.
func members(args json.RawMessage) []string {
	dec := jsontext.NewDecoder(bytes.NewReader(args), jsontext.AllowDuplicateNames(true))
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '{' {
		return []string{"  " + visible(string(args))}
	}
	var lines []string
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			break
		}
		text := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			break
		}
		lines = append(lines, "  "+visible(text)+" = "+visible(string(value)))
	}
	return lines
}

// short cuts a long text and says how much is missing.
func short(text string) string {
	n := utf8.RuneCountInString(text)
	if n <= maxText {
		return text
	}
	return fmt.Sprintf("%s … (%d more characters) … %s", ident.First(text, maxText-100), n-maxText, string([]rune(text)[n-100:]))
}

// visible escapes the invisible characters, including line ends.
func visible(text string) string { return ident.Escape(text, "") }
