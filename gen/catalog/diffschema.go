package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// maxDetails bounds the lines about one schema; what is left is counted.
	maxDetails = 50
	// maxText bounds one quoted text in characters.
	maxText = 160
)

// diffSchema says how one schema differs from another, a line per place. Places are JSON pointers.
func diffSchema(a, b json.RawMessage) []string {
	x, errX := decode(a)
	y, errY := decode(b)
	if errX != nil || errY != nil {
		if bytes.Equal(a, b) {
			return nil
		}
		return []string{"changed"}
	}
	return (&schemaDiff{}).run(x, y)
}

type schemaDiff struct {
	lines []string
	more  int
}

func (d *schemaDiff) run(a, b any) []string {
	d.value("#", a, b)
	if d.more > 0 {
		d.lines = append(d.lines, fmt.Sprintf("and %d more", d.more))
	}
	return d.lines
}

func (d *schemaDiff) add(path, format string, args ...any) {
	if len(d.lines) == maxDetails {
		d.more++
		return
	}
	d.lines = append(d.lines, path+": "+fmt.Sprintf(format, args...))
}

func (d *schemaDiff) value(path string, a, b any) {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			d.object(path, x, y)
			return
		}
	case []any:
		if y, ok := b.([]any); ok {
			d.array(path, x, y)
			return
		}
	case string:
		if y, ok := b.(string); ok {
			if x != y {
				d.add(path, "%s", textChange(x, y))
			}
			return
		}
	}
	if x, y := text(a), text(b); x != y {
		d.add(path, "%s → %s", cut(x, maxText), cut(y, maxText))
	}
}

func (d *schemaDiff) object(path string, a, b map[string]any) {
	for _, key := range unionKeys(a, b) {
		x, inA := a[key]
		y, inB := b[key]
		at := path + "/" + pointerEscape(key)
		if key == "properties" {
			px, okX := x.(map[string]any)
			py, okY := y.(map[string]any)
			if (okX || !inA) && (okY || !inB) {
				d.properties(at, px, py, required(a), required(b))
				continue
			}
		}
		// The properties say what became of being required; names that are no property are compared as a list.
		if key == "required" && onlyProperties(a, b) {
			continue
		}
		switch {
		case !inA:
			d.add(at, "added: %s", cut(text(y), maxText))
		case !inB:
			d.add(at, "removed: %s", cut(text(x), maxText))
		default:
			d.value(at, x, y)
		}
	}
}

func (d *schemaDiff) properties(path string, a, b map[string]any, requiredA, requiredB map[string]bool) {
	for _, name := range unionKeys(a, b) {
		x, inA := a[name]
		y, inB := b[name]
		at := path + "/" + pointerEscape(name)
		switch {
		case !inA:
			d.add(at, "property added (%s)", propertyBrief(y, requiredB[name]))
		case !inB:
			d.add(at, "property removed (%s)", propertyBrief(x, requiredA[name]))
		default:
			d.value(at, x, y)
			if requiredA[name] != requiredB[name] {
				d.add(at, "%s", map[bool]string{true: "now required", false: "no longer required"}[requiredB[name]])
			}
		}
	}
}

// array compares lists of plain values as sets, which is what they are in type, enum and required; other lists by
// position.
func (d *schemaDiff) array(path string, a, b []any) {
	if !plain(a) || !plain(b) {
		for i := range max(len(a), len(b)) {
			at := fmt.Sprintf("%s/%d", path, i)
			switch {
			case i >= len(a):
				d.add(at, "added: %s", cut(text(b[i]), maxText))
			case i >= len(b):
				d.add(at, "removed: %s", cut(text(a[i]), maxText))
			default:
				d.value(at, a[i], b[i])
			}
		}
		return
	}
	x, y := texts(a), texts(b)
	var parts []string
	for _, v := range y {
		if !slices.Contains(x, v) {
			parts = append(parts, "added "+v)
		}
	}
	for _, v := range x {
		if !slices.Contains(y, v) {
			parts = append(parts, "removed "+v)
		}
	}
	if parts == nil && !slices.Equal(x, y) {
		parts = []string{"order changed"}
	}
	if parts != nil {
		d.add(path, "%s", cut(strings.Join(parts, ", "), 2*maxText))
	}
}

func required(schema map[string]any) map[string]bool {
	names := map[string]bool{}
	list, _ := schema["required"].([]any)
	for _, item := range list {
		if name, ok := item.(string); ok {
			names[name] = true
		}
	}
	return names
}

// onlyProperties reports whether everything that either schema requires is one of its properties, and both lists hold
// names only.
func onlyProperties(schemas ...map[string]any) bool {
	for _, schema := range schemas {
		value, there := schema["required"]
		list, isList := value.([]any)
		if there && !isList {
			return false
		}
		properties, _ := schema["properties"].(map[string]any)
		for _, item := range list {
			name, isName := item.(string)
			if _, known := properties[name]; !isName || !known {
				return false
			}
		}
	}
	return true
}

func propertyBrief(schema any, required bool) string {
	kind := "any"
	if fields, ok := schema.(map[string]any); ok {
		switch {
		case fields["type"] != nil:
			kind = strings.Trim(text(fields["type"]), `"`)
		case fields["enum"] != nil:
			kind = "enum " + text(fields["enum"])
		case fields["$ref"] != nil:
			kind = strings.Trim(text(fields["$ref"]), `"`)
		}
	}
	if required {
		return cut(kind, maxText) + ", required"
	}
	return cut(kind, maxText)
}

func brief(schema json.RawMessage) string {
	var compact bytes.Buffer
	if json.Compact(&compact, schema) != nil {
		return "…"
	}
	return cut(compact.String(), maxText)
}

func plain(list []any) bool {
	return !slices.ContainsFunc(list, func(v any) bool {
		switch v.(type) {
		case map[string]any, []any:
			return true
		}
		return false
	})
}

func text(v any) string { return string(appendCanonical(nil, v)) }

func texts(list []any) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = text(v)
	}
	return out
}

// pointerEscape escapes one token of a JSON pointer (RFC 6901).
func pointerEscape(s string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(s)
}

// textChange shows two texts, or, where they are long, only what differs with a little of what stands around it.
func textChange(a, b string) string {
	if utf8.RuneCountInString(a) <= maxText && utf8.RuneCountInString(b) <= maxText {
		return fmt.Sprintf("%q → %q", a, b)
	}
	x, y := []rune(a), []rune(b)
	start := 0
	for start < len(x) && start < len(y) && x[start] == y[start] {
		start++
	}
	end := 0
	for end < len(x)-start && end < len(y)-start && x[len(x)-1-end] == y[len(y)-1-end] {
		end++
	}
	const around = 40
	from := max(0, start-around)
	show := func(r []rune) string {
		to := min(len(r), len(r)-end+around)
		middle := cut(string(r[from:to]), maxText+2*around)
		if from > 0 {
			middle = "…" + middle
		}
		if to < len(r) && !strings.HasSuffix(middle, "…") {
			middle += "…"
		}
		return middle
	}
	return fmt.Sprintf("%q → %q", show(x), show(y))
}

// cut shortens s to max characters.
func cut(s string, max int) string {
	if utf8.RuneCountInString(s) <= max {
		return s
	}
	return string([]rune(s)[:max-1]) + "…"
}
