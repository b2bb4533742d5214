// Package tokens tells what a text costs a model. Start with [Count]. The vocabulary is in the program; it is loaded
// by the first call, which takes some hundred milliseconds, and costs nothing until then.
package tokens

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer"
)

const (
	// chunk bounds how much text is encoded in one piece, in bytes: the encoder keeps several times its input in memory.
	chunk = 256 << 10
	// maxBlank bounds how many blanks in a row are: the time they take grows with their square.
	maxBlank = 256
)

var load = sync.OnceValue(func() tokenizer.Codec {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		panic(err) // the vocabulary is compiled in
	}
	return codec
})

// Count returns the number of tokens of text in the o200k_base encoding. Invalid UTF-8 counts as the replacement
// character. Text beyond 256 KiB is counted in pieces cut at line ends, which may add a token a piece,
// and so may 256 blanks in a row.
func Count(text string) int {
	if text == "" {
		return 0
	}
	codec := load()
	sum := 0
	for len(text) > 0 {
		piece := text[:cut(text)]
		text = text[len(piece):]
		n, err := codec.Count(strings.ToValidUTF8(piece, "\uFFFD"))
		if err != nil {
			n = len(piece) / 4 // what English text comes to; the encoder has no error for valid UTF-8
		}
		sum += n
	}
	return sum
}

// cut returns the length of the next piece of text: up to chunk bytes, ending behind a line where there is one, and
// never inside a character. One that has more blanks in a row ends in the middle of them.
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

// manyBlanks returns where the first maxBlank blanks in a row end; zero: there are no such.
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
