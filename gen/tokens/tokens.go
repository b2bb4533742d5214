// Package tokens counts the tokens of a text. Start with [Count]. The vocabulary is compiled into the program. The first
// call loads it, which takes some hundred milliseconds.
package tokens

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer/codec"
)

const (
	// chunk bounds the piece of text that is encoded at once, in bytes, because the encoder needs several times its input in memory.
	chunk = 256 << 10
	// maxBlank bounds the run of white space that is encoded at once, in characters, because the time grows with the square of its length.
	maxBlank = 256
)

// load does not look the codec up by name: that would link the vocabularies of all names, some 7 MB.
var load = sync.OnceValue(codec.NewO200kBase)

// Count returns the number of tokens of text in the o200k_base encoding. Invalid UTF-8 counts as the replacement character. Text over 256
// KiB is split at line ends, and white space after every 256 characters. Each split may add a token.
func Count(text string) int {
	if text == "" {
		return 0
	}
	encoding := load()
	sum := 0
	for len(text) > 0 {
		piece := text[:cut(text)]
		text = text[len(piece):]
		n, err := encoding.Count(strings.ToValidUTF8(piece, "\uFFFD"))
		if err != nil {
			n = len(piece) / 4 // an estimate for English; the encoder does not fail for valid UTF-8
		}
		sum += n
	}
	return sum
}

// wholeEstimate is the size, in bytes, of the largest text whose tokens Estimate counts. Counting ten megabytes takes a second of processor
// time.
const wholeEstimate = 1 << 20

// Estimate returns the number of tokens of a text of up to 1 MiB. For a longer text it estimates the number from both ends.
func Estimate(text string) int {
	if len(text) <= wholeEstimate {
		return Count(text)
	}
	n := Count(text[:wholeEstimate/2]) + Count(text[len(text)-wholeEstimate/2:])
	return int(float64(n) * float64(len(text)) / wholeEstimate)
}

// cut returns the length of the next piece of text: up to chunk bytes, at the end of a line if possible, and never inside
// a character. A long run of white space ends the piece early.
func cut(text string) int {
	if n := manyBlanks(text[:min(len(text), chunk)]); n > 0 {
		return n
	}
	if len(text) <= chunk {
		return len(text)
	}
	if i := strings.LastIndexByte(text[:chunk], '\n'); i > chunk/2 {
		return i + 1
	}
	n := chunk
	for n > chunk-4 && text[n]&0xC0 == 0x80 {
		n--
	}
	return n
}

// manyBlanks returns the end of the first run of maxBlank white space characters, or 0 if there is none.
func manyBlanks(text string) int {
	row := 0
	for i, r := range text {
		if !unicode.IsSpace(r) {
			row = 0
		} else if row++; row == maxBlank {
			return i + utf8.RuneLen(r)
		}
	}
	return 0
}
