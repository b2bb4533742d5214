package guest

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Prefixes of module names inside the engine, by which stackText distinguishes frames.
const (
	preludePrefix = "mcprun:"
	scriptPrefix  = "script:"
	libraryPrefix = "mcprun:mcprun.ts" // in source maps
)

func scriptModule(name string) string { return scriptPrefix + name }

// maxFrames bounds the frames of a stack.
const maxFrames = 15

// stackText converts the engine's frames to a stack in V8's form: a header, and places in the script's own sources.
func (g *guest) stackText(header, frames string) string {
	var shown []string
	prelude := false
	for line := range strings.SplitSeq(strings.TrimRight(frames, "\n"), "\n") {
		name, place := splitFrame(line)
		switch {
		case strings.HasPrefix(place, preludePrefix):
			// The frames above are native functions that the prelude called; the script does not need them.
			for len(shown) > 0 && strings.HasSuffix(shown[len(shown)-1], "(native)") {
				shown = shown[:len(shown)-1]
			}
			prelude = true
			continue
		case place == "":
			continue
		}
		if prelude && place == "native" && len(shown) == 0 {
			continue
		}
		if text := g.frame(name, place); text != "" {
			shown = append(shown, text)
		}
	}
	if len(shown) > maxFrames {
		shown = shown[:maxFrames]
	}
	if len(shown) == 0 {
		return header
	}
	return header + "\n    at " + strings.Join(shown, "\n    at ")
}

// splitFrame splits a line "    at f (place)".
func splitFrame(line string) (name, place string) {
	line = strings.TrimPrefix(line, "    at ")
	open := strings.LastIndex(line, " (")
	if open < 0 || !strings.HasSuffix(line, ")") {
		return "", line
	}
	return line[:open], line[open+2 : len(line)-1]
}

func (g *guest) frame(name, place string) string {
	if rest, ok := strings.CutPrefix(place, scriptPrefix); ok {
		place = g.maps.place(rest)
	}
	if isGlue(name, place) {
		return ""
	}
	switch {
	case name == "<anonymous>", name == "<eval>", name == "", isModule(name):
		return place
	}
	return name + " (" + place + ")"
}

// isModule reports whether a function is the bundler's wrapper of a CommonJS module, which has the module's id as its name.
func isModule(name string) bool {
	for _, prefix := range []string{scriptPrefix, "servers:", "skills:"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// isGlue reports whether a frame belongs to the bundler's code around computed imports, or to the library that scripts import.
func isGlue(name, place string) bool {
	for _, prefix := range []string{"$imp", "$requ"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && len(rest) == 2 && rest[1] == '$' {
			return true
		}
	}
	return name == "__require" || strings.HasPrefix(place, "entry:") || strings.HasPrefix(place, libraryPrefix)
}

// position is a place in a source.
type position struct {
	file         string
	line, column int
}

var framePattern = regexp.MustCompile(`(?m)^    at (?:.* \()?([^()\n]+):(\d+):(\d+)\)?$`)

// scriptFrame returns the first place of a stack that is in the script itself: not in a wrapper, and not in text passed to JSON.parse
// (<input>).
func scriptFrame(stack string) (position, bool) {
	for _, m := range framePattern.FindAllStringSubmatch(stack, -1) {
		if strings.HasPrefix(m[1], "servers/") || strings.HasPrefix(m[1], "<") {
			continue
		}
		line, _ := strconv.Atoi(m[2])
		column, _ := strconv.Atoi(m[3])
		return position{m[1], line, column}, true
	}
	return position{}, false
}

// lineMember returns the member of a call's frame that holds the line of the running script, or "".
func (g *guest) lineMember() string {
	if !g.job.Lines {
		return ""
	}
	here, err := g.vm.NewError(errors.New(""))
	if err != nil {
		return ""
	}
	defer g.vm.Free(here)
	stack, _ := g.vm.GetString(here, "stack")
	at, ok := scriptFrame(stack)
	if !ok {
		return ""
	}
	return `,"at":` + string(mustJSON(fmt.Sprintf("%s:%d", at.file, at.line)))
}

// splitPlace splits "file:line:column".
func splitPlace(s string) (position, bool) {
	rest, col, ok := cutLast(s)
	if !ok {
		return position{}, false
	}
	if file, line, ok := cutLast(rest); ok {
		return position{file, line, col}, true
	}
	return position{rest, col, 1}, true // a syntax error may have no column
}

func cutLast(s string) (string, int, bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, 0, false
	}
	n, err := strconv.Atoi(s[i+1:])
	return s[:i], n, err == nil
}
