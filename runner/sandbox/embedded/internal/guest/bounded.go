//go:build !386 && !arm

package guest

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxReport = 64 << 10 // bytes of an uncaught error that are printed
	noteSize  = 64       // at most, of the words that stand for what was left out
	maxLine   = 500      // of a frame
)

// span is a part of a text.
type span struct{ from, to int }

// bounded is the report of an error, no longer than it may be: messages end early, stacks are kept.
func bounded(report string) string {
	if len(report) <= maxReport {
		return report
	}
	stacks := stacksIn(report)
	if len(stacks) > 0 && taken(stacks) > maxReport/2 {
		stacks = stacks[len(stacks)-1:] // the others are most likely in a message
	}
	var messages []string
	at := 0
	for _, s := range append(slices.Clone(stacks), span{len(report), len(report)}) {
		messages = append(messages, report[at:s.from])
		at = s.to
	}
	most := share(messages, maxReport-taken(stacks))
	var b strings.Builder
	for i, message := range messages {
		b.WriteString(cut(message, most))
		if i < len(stacks) {
			b.WriteString(report[stacks[i].from:stacks[i].to])
		}
	}
	return b.String()
}

// stacksIn finds the last lines of each run of frames, as many as a stack has here: what comes before them is a message
// that looks alike.
func stacksIn(report string) []span {
	var found []span
	var run []int // where the lines of a run begin
	at := 0
	end := func() {
		if len(run) > 0 {
			found = append(found, span{run[max(0, len(run)-maxFrames)], at})
		}
		run = run[:0]
	}
	for line := range strings.Lines(report) {
		if frame := strings.TrimLeft(line, " "); len(line) <= maxLine && len(line)-len(frame) >= 4 && strings.HasPrefix(frame, "at ") {
			run = append(run, at)
		} else {
			end()
		}
		at += len(line)
	}
	end()
	return found
}

// taken is what stacks, and the notes between them, need.
func taken(stacks []span) int {
	size := noteSize
	for _, s := range stacks {
		size += s.to - s.from + noteSize
	}
	return size
}

// share is how long each message may be, so that all of them have room: what short ones leave is for the long ones.
func share(messages []string, room int) int {
	sizes := make([]int, len(messages))
	for i, m := range messages {
		sizes[i] = len(m)
	}
	slices.Sort(sizes)
	most := room
	for i, size := range sizes {
		most = room / (len(sizes) - i)
		room -= min(size, most)
	}
	return most
}

// cut is the beginning of a text, and how much more there was.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	rest, end := text[most:], ""
	if body, ok := strings.CutSuffix(rest, "\n"); ok {
		rest, end = body, "\n"
	}
	return fmt.Sprintf("%s… (%d characters left out)%s", text[:most], utf8.RuneCountInString(rest), end)
}
