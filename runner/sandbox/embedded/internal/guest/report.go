package guest

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/engine"
)

// rejection is a promise that was rejected without a handler. It owns both values.
type rejection struct{ promise, reason engine.Value }

// onRejection keeps the list of promises that were rejected without a handler.
func (g *guest) onRejection(promise, reason engine.Value, handled bool) {
	if !handled {
		g.rejected = append(g.rejected, rejection{g.vm.Dup(promise), g.vm.Dup(reason)})
		return
	}
	for i, r := range g.rejected {
		if r.promise.Identity() == promise.Identity() {
			g.rejected = append(g.rejected[:i], g.rejected[i+1:]...)
			g.vm.Free(r.promise)
			g.vm.Free(r.reason)
			return
		}
	}
}

// checkRejections ends the script, as Node does, if a rejection has no handler after all promise jobs have run. It reports
// whether the script continues.
func (g *guest) checkRejections() bool {
	for len(g.rejected) > 0 {
		r := g.rejected[0]
		g.rejected = g.rejected[1:]
		g.fail(r.reason, "unhandledRejection")
		g.vm.Free(r.promise)
		if g.failure != nil || g.exited {
			return false
		}
		g.vm.RunJobs()
	}
	return !g.exited
}

// uncaught ends the script with the value that err carries.
func (g *guest) uncaught(err error) {
	if g.vm.Halted() {
		return
	}
	var ex *engine.Exception
	if !errors.As(err, &ex) {
		g.failure = &failure{Name: "Error", Message: err.Error()}
		fmt.Fprintf(g.o.Stderr, "mcprun: %v\n", err)
		return
	}
	g.fail(ex.Value, "uncaughtException")
}

// fail makes value the script's uncaught error and prints it, unless one of the script's listeners handles it.
func (g *guest) fail(value engine.Value, event string) {
	if g.outOfMemory(value) {
		g.failure = &failure{Name: "InternalError", Message: "out of memory", memory: true}
		// The host names the limit. The engine's own limit is smaller, because the process needs memory too.
		fmt.Fprintln(g.o.Stderr, "mcprun: the script exceeded its memory limit")
		return
	}
	if g.hook("uncaught", g.vm.String(event), g.vm.Dup(value)) {
		return
	}
	if g.exited {
		return
	}
	f := &failure{}
	if value.IsObject() {
		g.restack(value)
		f.Name, _ = g.vm.GetString(value, "name")
		if f.Name == "" {
			f.Name, _ = g.vm.GetString(value, "kind")
		}
		message, ok := g.vm.GetString(value, "message")
		if f.Message = message; !ok {
			f.Message = g.show(value)
		}
		f.Stack, _ = g.vm.GetString(value, "stack")
	} else {
		f.Message = g.show(value)
	}
	if f.Name == "" {
		f.Name = "Error"
	}
	at, known := scriptFrame(f.Stack)
	f.Message, f.Stack = bounded(f.Message), bounded(f.Stack)
	g.failure = f
	var b strings.Builder
	if known {
		g.excerpt(&b, at)
	}
	b.WriteString(g.report(value))
	fmt.Fprintln(g.o.Stderr, bounded(b.String()))
}

// plain escapes what does not show, because the text may come from a server and is printed to a terminal. Spaces of other
// scripts stay, and the joiners in emoji and in words of Persian and Indic languages.
func plain(s string) string { return ident.Escape(s, "\t\n\u00a0\u202f\u3000\u200c\u200d") }

// restack gives an error from the engine's parser a stack like those of other errors. The parser sets the stack itself, without
// engine.OnStack.
func (g *guest) restack(value engine.Value) {
	if stack, ok := g.vm.GetString(value, "stack"); ok && strings.HasPrefix(stack, "    at ") && g.vm.IsError(value) {
		g.vm.Set(value, "stack", g.vm.String(g.stackText(g.vm.Header(value), stack)))
	}
}

// outOfMemory recognises the engine's error, and the null that the engine throws if there is no memory for an error.
func (g *guest) outOfMemory(value engine.Value) bool {
	if !g.vm.Starved() {
		return false
	}
	if !g.vm.IsError(value) {
		return value.IsNull()
	}
	name, _ := g.vm.GetString(value, "name")
	message, _ := g.vm.GetString(value, "message")
	return name == "InternalError" && (message == "out of memory" || message == "") // there may be no memory for the message
}

// excerpt writes the place of an error and its source line, as Node does.
func (g *guest) excerpt(b *strings.Builder, at position) {
	fmt.Fprintf(b, "%s:%d\n", at.file, at.line)
	if src := g.maps.line(at.file, at.line); src != "" && len(src) < 500 {
		b.WriteString(src)
		b.WriteByte('\n')
		b.WriteString(caret(src, at.column))
	}
	b.WriteByte('\n')
}

// report returns what Node prints for an uncaught value.
func (g *guest) report(value engine.Value) string {
	text := strings.TrimRight(g.show(value), "\n")
	if !value.IsObject() || !g.vm.IsError(value) {
		text = "Uncaught:\n" + text
	}
	return plain(text)
}

// caret returns the line below a source line that points at a column, counted in UTF-16 units. Tabs are kept.
func caret(src string, column int) string {
	var b strings.Builder
	at := 1
	for _, r := range src {
		if at >= column {
			break
		}
		at += max(1, utf16.RuneLen(r))
		if r == '\t' {
			b.WriteByte('\t')
		} else {
			b.WriteByte(' ')
		}
	}
	return b.String() + "^\n"
}

// show returns util.inspect(value), or a simpler text if the script broke what inspect depends on.
func (g *guest) show(value engine.Value) string {
	if g.hooks.IsObject() {
		fn := g.vm.Get(g.hooks, "inspect")
		defer g.vm.Free(fn)
		if v, err := g.vm.Call(fn, engine.Undefined(), value); err == nil {
			defer g.vm.Free(v)
			if s, err := g.vm.Text(v); err == nil {
				return s
			}
		}
	}
	return g.text(value)
}

// text returns a text for a value without the prelude.
func (g *guest) text(value engine.Value) string {
	if value.IsObject() {
		if stack, ok := g.vm.GetString(value, "stack"); ok && stack != "" {
			return stack
		}
		return g.vm.Header(value)
	}
	s, err := g.vm.Text(value)
	if err != nil {
		return "a value that cannot be shown"
	}
	return s
}

// describe returns one line about an error of the engine.
func (g *guest) describe(err error) string {
	var ex *engine.Exception
	if errors.As(err, &ex) {
		if ex.Value.IsObject() {
			return g.vm.Header(ex.Value)
		}
		return g.show(ex.Value)
	}
	return err.Error()
}

// unsettled reports a top-level await that never settles, as Node does.
func (g *guest) unsettled() {
	fmt.Fprintf(g.o.Stderr, "Warning: Detected unsettled top-level await in %s\n", g.job.Name)
	g.failure = &failure{Name: "Error", Message: "a top-level await never settled"}
	g.exitCode = codeUnsettled
}

// keepResult makes the exported value the run's result.
func (g *guest) keepResult(v engine.Value) {
	if v.IsUndefined() {
		return
	}
	b, err := g.vm.EncodeResult(v, "the exported result", maxFrame-64)
	if err != nil {
		fmt.Fprintf(g.o.Stderr, "mcprun: no result: %s\n", g.describe(err))
		return
	}
	g.result = b
}

// hook calls a function of the prelude and reports whether it returned true. It takes ownership of args.
func (g *guest) hook(name string, args ...engine.Value) bool {
	defer func() {
		for _, a := range args {
			g.vm.Free(a)
		}
	}()
	if !g.hooks.IsObject() {
		return false
	}
	fn := g.vm.Get(g.hooks, name)
	defer g.vm.Free(fn)
	v, err := g.vm.Call(fn, engine.Undefined(), args...)
	if err != nil {
		return false
	}
	defer g.vm.Free(v)
	return v.Bool()
}

// endHooks calls the script's exit listeners and returns the exit code that they set.
func (g *guest) endHooks(code int) int {
	if !g.hooks.IsObject() {
		return code
	}
	fn := g.vm.Get(g.hooks, "end")
	defer g.vm.Free(fn)
	v, err := g.vm.Call(fn, engine.Undefined(), engine.Int(code))
	if g.exited {
		return g.exitCode
	}
	if err != nil {
		if g.failure == nil {
			g.uncaught(err)
		}
		return codeUncaught
	}
	if n, ok := v.Number(); ok {
		return int(n) & 0xff
	}
	return code
}

// lostHost reports whether the bridge is gone.
func (g *guest) lostHost() bool {
	g.loop.mu.Lock()
	defer g.loop.mu.Unlock()
	return g.loop.lost
}
