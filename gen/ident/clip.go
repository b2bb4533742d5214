package ident

import "unicode/utf8"

// Head returns the first n bytes of a text, or a few less so that no character is cut.
func Head(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for i := 1; i < utf8.UTFMax && n > 0 && !utf8.RuneStart(text[n]); i++ {
		n--
	}
	return text[:n]
}

// Tail returns the last n bytes of a text, or a few less so that no character is cut.
func Tail(text string, n int) string {
	if len(text) <= n {
		return text
	}
	text = text[len(text)-n:]
	for i := 1; i < utf8.UTFMax && text != "" && !utf8.RuneStart(text[0]); i++ {
		text = text[1:]
	}
	return text
}

// Clip returns text, or if it is longer than n bytes its [Head] and an ellipsis.
func Clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return Head(text, n) + "…"
}

// First returns the first n characters of a text.
func First(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// Shorten cuts a text to at most n characters, the last of which is an ellipsis if something was cut.
func Shorten(text string, n int) string {
	if len(text) <= n || utf8.RuneCountInString(text) <= n {
		return text
	}
	return First(text, n-1) + "…"
}
