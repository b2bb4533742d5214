package render

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// A wrapper is to cost a model at most this share of the tool's whole definition as indented JSON, so that reading one
// is always worth more than being told the definition. The estimate below is a little off, and half of all
// wrappers are near the share without it, hence the margin.
const (
	maxShare    = 0.60
	shareMargin = 0.05
	// charsPerToken is how many characters of English prose a token stands for, rounded down.
	charsPerToken = 4
)

// docRoom returns how many characters of its description a wrapper may repeat, given the wrapper as it is with at most
// toolDoc of them: more, where the definition is large beside the rest of the wrapper.
func docRoom(definition json.RawMessage, wrapper []byte) int {
	var indented bytes.Buffer
	if len(definition) == 0 || json.Indent(&indented, definition, "", "  ") != nil {
		return toolDoc
	}
	room := int((maxShare-shareMargin)*float64(estimate(indented.Bytes()))) - estimate(wrapper)
	return toolDoc + max(0, room)*charsPerToken
}

// estimate is about the number of tokens of source code or JSON, by a rule of thumb that needs no vocabulary: words,
// longer ones in pieces, digits by three, and runs of punctuation; blanks belong to what follows, and an indented line's
// beginning is one more.
func estimate(text []byte) int {
	const word, number, mark, blank = 0, 1, 2, 3
	kind := func(c byte) int {
		switch {
		case c|0x20 >= 'a' && c|0x20 <= 'z', c >= utf8.RuneSelf:
			return word
		case c >= '0' && c <= '9':
			return number
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			return blank
		}
		return mark
	}
	n := 0
	for i := 0; i < len(text); {
		k, j := kind(text[i]), i+1
		for j < len(text) && kind(text[j]) == k && !(k == word && isUpper(text[j]) && !isUpper(text[j-1])) {
			j++
		}
		switch size := j - i; k {
		case word:
			n += 1 + (size-1)/9
		case number:
			n += (size + 2) / 3
		case mark:
			n += 1 + (size-1)/3
		case blank:
			if size > 1 {
				n++
			}
		}
		i = j
	}
	return n
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
