package ident_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/gen/ident"
)

func TestClip(t *testing.T) {
	for _, c := range []struct {
		name string
		cut  func(string, int) string
		text string
		n    int
		want string
	}{
		{"Head", ident.Head, "abc", 3, "abc"},
		{"Head", ident.Head, "abcd", 3, "abc"},
		{"Head", ident.Head, "ab😀", 5, "ab"},
		{"Head", ident.Head, "ü", 1, ""},
		{"Head", ident.Head, "ü", 0, ""},
		{"Tail", ident.Tail, "abc", 3, "abc"},
		{"Tail", ident.Tail, "abcd", 3, "bcd"},
		{"Tail", ident.Tail, "😀ab", 5, "ab"},
		{"Tail", ident.Tail, "ü", 1, ""},
		{"Tail", ident.Tail, "ü", 0, ""},
		{"Clip", ident.Clip, "äö", 4, "äö"},
		{"Clip", ident.Clip, "äöü", 5, "äö…"},
		{"First", ident.First, "äöüß", 3, "äöü"},
		{"First", ident.First, "äöü", 3, "äöü"},
		{"First", ident.First, "ä", 0, ""},
		{"Shorten", ident.Shorten, "abc", 3, "abc"},
		{"Shorten", ident.Shorten, "abcd", 3, "ab…"},
		{"Shorten", ident.Shorten, "äöüß", 3, "äö…"},
		{"Shorten", ident.Shorten, "äöü", 3, "äöü"},
		{"Shorten", ident.Shorten, "", 3, ""},
	} {
		if got := c.cut(c.text, c.n); got != c.want {
			t.Errorf("%s(%q, %d) = %q, want %q", c.name, c.text, c.n, got, c.want)
		}
	}
}

// TestClipNoUTF8 checks that a text of bytes that begin no character loses three of them at most.
func TestClipNoUTF8(t *testing.T) {
	text := strings.Repeat("\x80", 100)
	if head, tail := ident.Head(text, 50), ident.Tail(text, 50); len(head) != 47 || len(tail) != 47 {
		t.Errorf("Head and Tail have %d and %d bytes, want 47", len(head), len(tail))
	}
}

func FuzzClip(f *testing.F) {
	f.Add("aü😀\xff", 3)
	f.Fuzz(func(t *testing.T, text string, n int) {
		n = max(n%100, -n%100)
		head, tail, first := ident.Head(text, n), ident.Tail(text, n), ident.First(text, n)
		if len(head) > n || len(tail) > n || !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) || !strings.HasPrefix(text, first) {
			t.Errorf("of %q at %d: Head %q, Tail %q, First %q; want parts of it that are no longer", text, n, head, tail, first)
		}
		if utf8.ValidString(text) && (!utf8.ValidString(head) || !utf8.ValidString(tail) || utf8.RuneCountInString(first) != min(n, utf8.RuneCountInString(text))) {
			t.Errorf("of %q at %d: Head %q, Tail %q, First %q; want whole characters", text, n, head, tail, first)
		}
	})
}
