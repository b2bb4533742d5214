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

// Bounds of what is shown of a question, in characters of one text, members of the arguments, and other calls.
const (
	maxText    = 600
	maxMembers = 40
	maxOthers  = 20
)

// Digest returns the digest by which people and plans know a script.
func Digest(code string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(code))) }

// Title says in one line what is asked.
func (q *Question) Title() string {
	if q.Plan != nil {
		return fmt.Sprintf("A plan of %d calls needs your approval", len(q.Plan.Calls))
	}
	return visible(q.Tool) + " needs your approval"
}

// Lines describes the question in lines for a person. Hostile texts are quoted or one line each, and characters that are not
// visible are escaped, so that no text can look like another line or run over the screen.
func (q *Question) Lines() []string {
	var lines []string
	if q.Plan != nil {
		lines = q.Plan.lines()
	} else {
		lines = append([]string{"Call: " + visible(q.Tool) + " at server " + visible(q.Server)}, members(q.Arguments)...)
	}
	if q.Script != "" {
		lines = append(lines, fmt.Sprintf("Script: %s, sha256 %.12s", visible(q.Script), Digest(q.Code)))
	}
	if text, n := q.Line(); n > 0 {
		lines = append(lines, fmt.Sprintf("Line %d: %s", n, short(visible(text))))
	}
	if q.Customer != "" {
		lines = append(lines, "Customer: "+visible(q.Customer))
	}
	if q.Plan != nil {
		return lines
	}
	why := visible(q.Rule)
	if q.Reason != "" {
		why += ": " + short(visible(q.Reason))
	}
	return append(lines, "Risk: "+cmp.Or(q.Risk, risk.Medium).String(), "Asked by: "+why)
}

// OtherLines describes the calls that Batch allows too; nil without any.
func (q *Question) OtherLines() []string {
	others := q.Others()
	if len(others) == 0 {
		return nil
	}
	lines := []string{fmt.Sprintf("Waiting too: %d more of this tool", len(others))}
	for i, other := range others {
		if i == maxOthers {
			lines = append(lines, fmt.Sprintf("  … and %d that are not shown", len(others)-i))
			break
		}
		lines = append(lines, "  "+short(visible(string(other.Arguments))))
	}
	return lines
}

// Line returns the text and the number of the script's line that makes the call, as far as the sandbox can be believed; 0 if it does
// not say.
func (q *Question) Line() (text string, number int) {
	at, ok := strings.CutPrefix(q.At, q.Script+":")
	n, err := strconv.Atoi(at)
	lines := strings.Split(q.Code, "\n")
	if !ok || err != nil || n < 1 || n > len(lines) {
		return "", 0
	}
	return strings.TrimSpace(lines[n-1]), n
}

// members shows each argument in a line, so that a long one does not hide another.
func members(args json.RawMessage) []string {
	dec := jsontext.NewDecoder(bytes.NewReader(args), jsontext.AllowDuplicateNames(true))
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '{' {
		return []string{"  " + short(visible(string(args)))}
	}
	var lines []string
	more := 0
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
		if more++; more <= maxMembers {
			lines = append(lines, "  "+short(visible(text))+" = "+short(visible(string(value))))
		}
	}
	if more > maxMembers {
		lines = append(lines, fmt.Sprintf("  … and %d arguments that are not shown", more-maxMembers))
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
