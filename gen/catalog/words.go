package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxEdits is how many words may differ before two texts count as different altogether. The time of a comparison
	// grows with its square and with the length of the texts.
	maxEdits = 400
	// maxWords bounds the words that are compared one by one.
	maxWords = 40_000
	// aroundWords is how many words are kept on either side of a change: "words" are stretches of letters, of white
	// space, and single other characters.
	aroundWords = 12
	// maxStretch bounds one stretch that was added or removed, in characters, and maxStretches their number.
	maxStretch   = 600
	maxStretches = 60
)

// wordDiff says how b differs from a, word by word. What is the same is kept only near what is not.
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
func words(s string) []string {
	var out []string
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		if kind := wordKind(r); kind != 0 {
			if n = strings.IndexFunc(s, func(r rune) bool { return wordKind(r) != kind }); n < 0 {
				n = len(s)
			}
		}
		out, s = append(out, s[:n]), s[n:]
	}
	return out
}

func wordKind(r rune) int {
	switch {
	case unicode.IsSpace(r):
		return 1
	case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_':
		return 2
	}
	return 0
}

// middleDiff is the greedy algorithm of E. Myers, An O(ND) Difference Algorithm (1986), given up where too much
// differs.
func middleDiff(a, b []string) []Edit {
	replaced := []Edit{{Drop, strings.Join(a, "")}, {Add, strings.Join(b, "")}}
	if len(a) == 0 || len(b) == 0 || len(a) > maxWords || len(b) > maxWords {
		return replaced
	}
	limit := min(len(a)+len(b), maxEdits)
	// v[k+limit] is how far into a the best path on diagonal k = x - y has come; trace keeps each round's.
	v := make([]int, 2*limit+2)
	var trace [][]int
	for d := 0; d <= limit; d++ {
		trace = append(trace, slices.Clone(v[limit-min(d, limit):limit+d+1]))
		for k := -d; k <= d; k += 2 {
			x := 0
			if d > 0 {
				x = furthest(v, k, d, limit)
			}
			for x < len(a) && x-k >= 0 && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			v[k+limit] = x
			if x >= len(a) && x-k >= len(b) {
				if edits := backtrack(a, b, trace); mostlyKept(edits) {
					return edits
				}
				return replaced
			}
		}
	}
	return replaced
}

// mostlyKept reports whether enough is the same for a person to see it: words that two sentences share by chance only
// make them hard to read.
func mostlyKept(edits []Edit) bool {
	kept, changed := 0, 0
	for _, e := range edits {
		switch n := len(strings.TrimSpace(e.Text)); {
		case e.Op == Keep && wordKind(firstRune(e.Text)) == 2:
			kept += n
		case e.Op != Keep:
			changed += n
		}
	}
	return 3*kept >= changed
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// furthest is where diagonal k is entered in round d: from above, a word added, or from the left, a word removed.
func furthest(v []int, k, d, limit int) int {
	if k == -d || k != d && v[k-1+limit] < v[k+1+limit] {
		return v[k+1+limit]
	}
	return v[k-1+limit] + 1
}

func backtrack(a, b []string, trace [][]int) []Edit {
	var out []Edit
	x, y := len(a), len(b)
	for d := len(trace) - 1; d > 0; d-- {
		v, k := trace[d], x-y // v holds diagonals -d…d, as they were before round d
		from := k - 1
		if k == -d || k != d && v[k-1+d] < v[k+1+d] {
			from = k + 1
		}
		px := v[from+d]
		for py := px - from; x > px && y > py; x, y = x-1, y-1 {
			out = append(out, Edit{Keep, a[x-1]})
		}
		if from == k+1 {
			out = append(out, Edit{Add, b[y-1]})
			y--
		} else {
			out = append(out, Edit{Drop, a[x-1]})
			x--
		}
	}
	for ; x > 0; x-- {
		out = append(out, Edit{Keep, a[x-1]})
	}
	slices.Reverse(out)
	return out
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

// joined puts neighbours of one op together; what is removed between two kept stretches stands before what is added.
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

// unspaced takes the white space that two texts begin and end with off them.
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

// bounded shortens what is the same to the words next to a change, and changes to what a person would read.
func bounded(edits []Edit) []Edit {
	var out []Edit
	for i, e := range edits {
		if len(out) >= maxStretches {
			return append(out, Edit{Op: Skip})
		}
		if e.Op != Keep {
			out = append(out, Edit{e.Op, cut(e.Text, maxStretch)})
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
			out = append(out, Edit{Keep, cut(e.Text, maxStretch)})
			continue
		}
		if before > 0 {
			out = append(out, Edit{Keep, cut(strings.Join(w[:before], ""), maxStretch)})
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

// cut shortens s to max characters.
func cut(s string, max int) string {
	if len(s) <= max || utf8.RuneCountInString(s) <= max {
		return s
	}
	return string([]rune(s)[:max-1]) + "…"
}

func cutFront(s string, max int) string {
	if len(s) <= max || utf8.RuneCountInString(s) <= max {
		return s
	}
	r := []rune(s)
	return "…" + string(r[len(r)-max+1:])
}

// shortened keeps a path or a name short that only a hostile server makes long: thousands of places that each repeat a name of
// megabytes would take hours. What is left out is told apart by a digest.
func shortened(s string, most int) string {
	if len(s) <= most {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return strings.ToValidUTF8(s[:most], "") + "…" + hex.EncodeToString(sum[:6])
}
