package approve

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/risk"
)

// maxText bounds what is shown of a text that is not an argument, in characters. Arguments are shown whole, or not asked about.
const maxText = 600

// Bounds of one question, in characters. What is longer cannot be approved there.
const (
	MaxTerminal = 64 << 10
	maxForm     = 8000
	maxPage     = 1 << 20
)

// around is how many lines of the script are shown before and after the one that makes the call.
const around = 2

// View is a question as a person sees it, and the answers on offer.
type View struct {
	// Lines describe the question, and Others the calls that Batch allows too.
	Lines, Others []string
	Scopes        []Scope
}

// View returns what a person is shown who sees at most so many characters. Hostile texts are quoted or one line each, and characters
// that are not visible are escaped, so that no text can look like another line or run over the screen. Every argument is shown whole.
// The error says that there is no room for them; without room for the calls that wait too, Batch is not on offer.
func (q *Question) View(most int) (*View, error) {
	v := &View{Lines: q.lines(), Scopes: []Scope{Once}}
	used := characters(v.Lines)
	if used > most {
		remedy := "answer with --approve page"
		if most >= maxPage {
			remedy = "answer with a program (--approve-command)"
		}
		return nil, fmt.Errorf("the call is too long to show here (%d characters, limit %d); %s", used, most, remedy)
	}
	if q.Run == "" {
		return v, nil
	}
	v.Scopes = append(v.Scopes, Run)
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
	v.Others, v.Scopes = append(v.Others, list...), append(v.Scopes, Batch)
	return v, nil
}

func characters(lines []string) int {
	n := 0
	for _, line := range lines {
		n += utf8.RuneCountInString(line) + 1
	}
	return n
}

// Digest returns the digest by which people and plans know a script.
func Digest(code string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(code))) }

// Title says in one line what is asked.
func (q *Question) Title() string {
	if q.Plan != nil {
		return fmt.Sprintf("A plan of %d calls needs your approval", len(q.Plan.Calls))
	}
	return visible(q.Tool) + " needs your approval"
}

// lines describes the question.
func (q *Question) lines() []string {
	var lines []string
	if q.Plan != nil {
		lines = q.Plan.lines()
	} else {
		lines = append([]string{"Call: " + visible(q.Tool) + " on server " + visible(q.Server)}, members(q.Arguments)...)
	}
	if q.Script != "" {
		lines = append(lines, fmt.Sprintf("Script: %s, sha256 %.12s", visible(q.Script), Digest(q.Code)))
	}
	lines = append(lines, q.caller()...)
	if q.Customer != "" {
		lines = append(lines, "Customer: "+visible(q.Customer))
	}
	lines = append(lines, "Risk: "+cmp.Or(q.Risk, risk.Medium).String())
	if q.Plan != nil {
		return lines
	}
	why := visible(q.Rule)
	if q.Reason != "" {
		why += ": " + short(visible(q.Reason))
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

// caller shows the line of the script that makes the call, among its neighbours, as far as the sandbox can be believed; nil if it does
// not say.
func (q *Question) caller() []string {
	at, ok := strings.CutPrefix(q.At, q.Script+":")
	n, err := strconv.Atoi(at)
	code := strings.Split(q.Code, "\n")
	if !ok || err != nil || n < 1 || n > len(code) {
		return nil
	}
	lines := []string{fmt.Sprintf("Line %d makes the call:", n)}
	for i := max(1, n-around); i <= min(len(code), n+around); i++ {
		mark := ' '
		if i == n {
			mark = '>'
		}
		text := strings.ReplaceAll(strings.TrimRight(code[i-1], " \t\r"), "\t", "  ")
		lines = append(lines, fmt.Sprintf("%c %4d  %s", mark, i, short(visible(text))))
	}
	return lines
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

// short cuts a text, and says so.
func short(text string) string {
	n := utf8.RuneCountInString(text)
	if n <= maxText {
		return text
	}
	runes := []rune(text)
	return fmt.Sprintf("%s … (%d more characters) … %s", string(runes[:maxText-100]), n-maxText, string(runes[n-100:]))
}

// visible escapes the characters that have no visible shape, line ends among them.
func visible(text string) string {
	var b strings.Builder
	for _, r := range text {
		if ident.Visible(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}
