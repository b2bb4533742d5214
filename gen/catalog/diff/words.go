package diff

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/gen/ident"
)

const (
	// maxPairs bounds the words of two texts that are compared with each other. More count as different altogether.
	maxPairs = 400_000
	// aroundWords is the number of words that are kept on either side of a change: "words" are stretches of letters, of white
	// space, and single other characters.
	aroundWords = 12
	// maxStretch bounds one stretch that was added or removed, in characters, and maxStretches their number.
	maxStretch   = 600
	maxStretches = 60
)

// wordDiff returns how b differs from a, word by word. Equal words are kept only near a difference.
func wordDiff(a, b string) []Edit {
	x, y := words(a), words(b)
	start := 0
	for start < len(x) && start < len(y) && x[start] == y[start] {
		start++
	}
	end := 0
	for end < len(x)-start && end < len(y)-start && x[len(x)-1-end] == y[len(y)-1-end] {
		end++
	}
	edits := []Edit{{Keep, strings.Join(x[:start], "")}}
	edits = append(edits, tidy(middleDiff(x[start:len(x)-end], y[start:len(y)-end]))...)
	edits = append(edits, Edit{Keep, strings.Join(x[len(x)-end:], "")})
	return bounded(joined(edits))
}

// words cuts a text into stretches of letters and digits, stretches of white space, and single other characters.
func words(s string) []string { return wordPattern.FindAllString(s, -1) }

var wordPattern = regexp.MustCompile(`[\pL\pN\pM_]+|[\s\pZ]+|(?s:.)`)

// middleDiff finds the longest common subsequence of two lists of words.
func middleDiff(a, b []string) []Edit {
	replaced := []Edit{{Drop, strings.Join(a, "")}, {Add, strings.Join(b, "")}}
	if len(a)*len(b) > maxPairs {
		return replaced
	}
	common := make([][]int, len(a)+1) // common[i][j] is its length for a[i:] and b[j:]
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	var edits []Edit
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			edits = append(edits, Edit{Keep, a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			edits = append(edits, Edit{Drop, a[i]})
			i++
		default:
			edits = append(edits, Edit{Add, b[j]})
			j++
		}
	}
	if mostlyKept(edits) {
		return edits
	}
	return replaced
}

// mostlyKept reports whether enough of a text is unchanged for a word diff to help. Words that two sentences share by chance make it hard
// to read.
func mostlyKept(edits []Edit) bool {
	kept, changed := 0, 0
	for _, e := range edits {
		switch n := len(strings.TrimSpace(e.Text)); {
		case e.Op == Keep && len(e.Text) > 1:
			kept += n
		case e.Op != Keep:
			changed += n
		}
	}
	return 3*kept >= changed
}

// tidy drops kept stretches that are nothing but white space between changes: a sentence that was replaced reads
// better as one than as a row of words.
func tidy(edits []Edit) []Edit {
	var out []Edit
	for i, e := range edits {
		inside := i > 0 && i < len(edits)-1 && edits[i-1].Op != Keep && edits[i+1].Op != Keep
		if e.Op == Keep && inside && strings.TrimSpace(e.Text) == "" {
			out = append(out, Edit{Drop, e.Text}, Edit{Add, e.Text})
			continue
		}
		out = append(out, e)
	}
	return out
}

// joined merges neighbours with the same op. Between two kept stretches, removed text comes before added text.
func joined(edits []Edit) []Edit {
	var out []Edit
	var gone, come strings.Builder
	put := func(op, text string) {
		switch last := len(out) - 1; {
		case text == "":
		case last >= 0 && out[last].Op == op:
			out[last].Text += text
		default:
			out = append(out, Edit{op, text})
		}
	}
	flush := func() {
		before, x, y, after := unspaced(gone.String(), come.String())
		put(Keep, before)
		put(Drop, x)
		put(Add, y)
		put(Keep, after)
		gone.Reset()
		come.Reset()
	}
	for _, e := range edits {
		switch {
		case e.Op == Drop:
			gone.WriteString(e.Text)
		case e.Op == Add:
			come.WriteString(e.Text)
		case e.Text != "":
			flush()
			put(Keep, e.Text)
		}
	}
	flush()
	return out
}

// unspaced removes the white space at both ends of two texts.
func unspaced(a, b string) (before, x, y, after string) {
	x, y = a, b
	for x != "" && y != "" && x[0] == y[0] && strings.TrimSpace(x[:1]) == "" {
		before, x, y = before+x[:1], x[1:], y[1:]
	}
	for x != "" && y != "" && x[len(x)-1] == y[len(y)-1] && strings.TrimSpace(x[len(x)-1:]) == "" {
		after, x, y = x[len(x)-1:]+after, x[:len(x)-1], y[:len(y)-1]
	}
	return before, x, y, after
}

// bounded shortens equal stretches to the words next to a change, and changes to a length that people read.
func bounded(edits []Edit) []Edit {
	var out []Edit
	for i, e := range edits {
		if len(out) >= maxStretches {
			return append(out, Edit{Op: Skip})
		}
		if e.Op != Keep {
			out = append(out, Edit{e.Op, ident.Shorten(e.Text, maxStretch)})
			continue
		}
		w := words(e.Text)
		before, after := 0, 0 // words kept after the change before, and before the change after
		if i > 0 {
			before = aroundWords
		}
		if i < len(edits)-1 {
			after = aroundWords
		}
		if len(w) <= before+after+1 {
			out = append(out, Edit{Keep, ident.Shorten(e.Text, maxStretch)})
			continue
		}
		if before > 0 {
			out = append(out, Edit{Keep, ident.Shorten(strings.Join(w[:before], ""), maxStretch)})
		}
		out = append(out, Edit{Op: Skip})
		if after > 0 {
			out = append(out, Edit{Keep, cutFront(strings.Join(w[len(w)-after:], ""), maxStretch)})
		}
	}
	return out
}

// FormatEdits writes edits on one line as git's word diff does: [-gone-]{+come+}, and … for what is left out.
func FormatEdits(edits []Edit) string {
	var b strings.Builder
	for _, e := range edits {
		switch e.Op {
		case Drop:
			b.WriteString("[-" + e.Text + "-]")
		case Add:
			b.WriteString("{+" + e.Text + "+}")
		case Skip:
			b.WriteString("…")
		default:
			b.WriteString(e.Text)
		}
	}
	return b.String()
}

func cutFront(s string, max int) string {
	if len(s) <= max || utf8.RuneCountInString(s) <= max {
		return s
	}
	r := []rune(s)
	return "…" + string(r[len(r)-max+1:])
}

// shortened keeps a path or a name short that only a hostile server makes long: thousands of places that each repeat a name of
// megabytes would take hours. A digest stands for the part that is left out.
func shortened(s string, most int) string {
	if len(s) <= most {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return ident.Clip(s, most) + hex.EncodeToString(sum[:6])
}
