package script

import (
	"errors"
	"fmt"
	"strings"
)

// deepAllowed is how deeply brackets are nested in a text that somebody has written, and more.
const deepAllowed = 200

// errDoubtful keeps a text from a bundler in this process.
var errDoubtful = errors.New("this text may cost the bundler much")

// Bounds in bytes: of a text that is too small to take much of anything, where nothing in it can be multiplied.
const (
	dubiousSize  = 4 << 10
	doubtfulSize = 32 << 10
)

// dubious tells whether a text may be what ends the bundler.
func dubious(id, text string) bool {
	return !strings.HasPrefix(id, libraryNamespace+":") && (len(text) >= dubiousSize || multiplies(text))
}

// multiplies tells whether a text may come to much more than it is: members of an enum are added up, and written out
// where they are used.
func multiplies(text string) bool {
	return strings.Contains(text, "enum") && strings.ContainsAny(text, "+`")
}

// doubt returns errDoubtful for a text that is better left to another process. It is a guess: who relies on none being
// missed has all of them made there.
func doubt(id, text string) error {
	if !dubious(id, text) {
		return nil
	}
	if depth, _ := deepest(text); depth > deepAllowed || len(text) > doubtfulSize && !strings.HasPrefix(id, treeNamespace+":") || multiplies(text) {
		return errDoubtful
	}
	return nil
}

// doubtful tells whether a task looks as if it might cost much, as far as the script itself shows it.
func (t task) doubtful() bool {
	return t.Module == "" && doubt(scriptNamespace+":"+t.Src.Name, t.Src.Code) != nil
}

// blame makes the error of a task that could not be done, with the place that is the likeliest cause. Loaded are modules
// that were being read.
func (t task) blame(loaded []string, cause error) *Error {
	f := newFiles(t.Src, nil)
	defer f.close()
	name := t.Src.Name
	worst := Problem{File: name, Text: cause.Error()}
	if f.open(t.Src.Dir, t.Opt) != nil {
		return &Error{Problems: []Problem{worst}}
	}
	most := 0
	for _, id := range append([]string{scriptNamespace + ":" + name}, loaded...) {
		namespace, p, _ := strings.Cut(id, ":")
		text, err := f.text(namespace, p)
		if err != nil {
			continue
		}
		weight, offset, note := suspect(text, cause)
		if weight <= most {
			continue
		}
		most = weight
		worst = Problem{File: shownName(namespace, p), Text: cause.Error(), Notes: []string{note}}
		start := strings.LastIndexByte(text[:offset], '\n') + 1
		worst.Line, worst.Column = lineOf(text, offset), offset-start+1
		if line, _, _ := strings.Cut(text[start:], "\n"); len(line) <= 200 {
			worst.Source = line
		}
	}
	return &Error{Problems: []Problem{worst}}
}

// suspect finds in a text what may be the cause, how likely it is, and what to say of it.
func suspect(text string, cause error) (weight, offset int, note string) {
	if depth, at := deepest(text); cause != errTooMuchText && depth > deepAllowed {
		return depth, at, fmt.Sprintf("there are %d levels of brackets around this", depth)
	}
	if at := strings.Index(text, "enum"); at >= 0 && (cause == errTooMuchText || cause == errTooMuch) {
		return 1, at, "the members of an enum are written out wherever they are used; make them constants"
	}
	return 0, 0, ""
}

// deepest finds the place in a text that most brackets are around. It knows strings and comments, but no regular
// expressions, and is not misled for long by what it takes for one of those.
func deepest(text string) (depth, offset int) {
	level := 0
	var none [256]int // up to where a string that this character begins has no end; without it, one long line takes minutes
	lastEnd := strings.LastIndex(text, "*/")
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '(', '[', '{':
			if level++; level > depth {
				depth, offset = level, i
			}
		case ')', ']', '}':
			level = max(0, level-1)
		case '"', '\'':
			if i >= none[c] {
				length, looked := quotedLength(text[i:])
				if length == 0 {
					none[c] = i + looked
				}
				i += length
			}
		case '/':
			i += commentLength(text[i:], lastEnd-i)
		}
	}
	return depth, offset
}

// quotedLength is the length of a string, but for its last quote; 0 when it has no end in its line. Looked is how far it was
// looked for.
func quotedLength(text string) (length, looked int) {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case text[0]:
			return i, i
		case '\\':
			i++
		case '\n':
			return 0, i
		}
	}
	return 0, len(text)
}

// commentLength is the length of a comment, but for its last character; 0 when it is none, or has no end. lastEnd is where
// the text has its last */.
func commentLength(text string, lastEnd int) int {
	end, more := "\n", 0
	switch {
	case strings.HasPrefix(text, "/*") && lastEnd >= 2:
		end, more = "*/", 1
	case !strings.HasPrefix(text, "//"):
		return 0
	case !strings.Contains(text, "\n"):
		return len(text) - 1
	}
	if at := strings.Index(text[2:], end); at >= 0 {
		return 2 + at + more
	}
	return 0
}
