package tokens

import (
	"strings"
	"testing"
	"time"
)

// The expected counts come from OpenAI's tiktoken 0.9 for o200k_base.
func TestCount(t *testing.T) {
	for _, c := range []struct {
		text string
		want int
	}{
		{"", 0},
		{"hello world", 2},
		{"tiktoken is great!", 6},
		{"\xff\xfe", 1},
	} {
		if got := Count(c.text); got != c.want {
			t.Errorf("Count(%q) = %d, want %d", c.text, got, c.want)
		}
	}
}

func TestLongTextCountsLikeItsLines(t *testing.T) {
	line := "The quick brown fox jumps over the lazy dog.\n"
	n := 3 * chunk / len(line)
	whole, one := Count(strings.Repeat(line, n)), Count(line)
	if low, high := n*one-10, n*one+10; whole < low || whole > high {
		t.Errorf("Count of %d lines = %d, want about %d", n, whole, n*one)
	}
}

// TestBlanks: texts of scripts and servers are counted, and must not keep the host busy.
func TestBlanks(t *testing.T) {
	for _, blank := range []string{" ", "\n", " \n", "\t\n", " \n\t\r", "\u00a0\u2003\n", "\r\n"} {
		text := strings.Repeat(blank, chunk/len(blank))
		began := time.Now()
		n := Count(text)
		if took := time.Since(began); n == 0 || took > 30*time.Second { // it takes minutes if every blank is examined from every other
			t.Errorf("%q: %d tokens in %v", blank, n, took)
		}
	}
	if one, many := Count("a"+strings.Repeat(" ", 3*maxBlank)+"b"), 10; one > many {
		t.Errorf("%d tokens for a row of blanks, want at most %d", one, many)
	}
}

func TestCutKeepsCharactersWhole(t *testing.T) {
	text := strings.Repeat("€", chunk) // three bytes each, no line ends
	for len(text) > 0 {
		n := cut(text)
		if n%3 != 0 {
			t.Fatalf("a piece of %d bytes cuts a character, want 0", n)
		}
		text = text[n:]
	}
}

func BenchmarkCount(b *testing.B) {
	text := strings.Repeat("The quick brown fox jumps over the lazy dog, 42 times.\n", 4000)
	Count("warm")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Count(text)
	}
}
