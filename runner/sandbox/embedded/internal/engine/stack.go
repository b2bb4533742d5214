package engine

import (
	"strings"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

// OnStack sets a function that returns the text of an error's stack property. header is "Name: message"; frames are the engine's lines
// ("    at f (file:1:2)\n"). Scripts expect V8's form, with places in their sources instead of the bundle.
func (vm *VM) OnStack(f func(header, frames string) string) { vm.stack = f }

// hookStacks sets the define_own_property method of the class of errors, which the engine calls to set any stack. The engine has no
// prepareStackTrace, and makes stack a plain property of each error.
func (vm *VM) hookStacks() {
	m := libc.Xcalloc(vm.tls, 1, lib.Tsize_t(unsafe.Sizeof(lib.TJSClassExoticMethods{})))
	if m == 0 {
		return
	}
	(*lib.TJSClassExoticMethods)(pointer(m)).Fdefine_own_property = fp(defineOnError)
	classes := (*lib.TJSRuntime)(pointer(vm.rt)).Fclass_array
	class := (*lib.TJSClass)(pointer(classes + lib.EJS_CLASS_ERROR*unsafe.Sizeof(lib.TJSClass{})))
	class.Fexotic = m
	vm.getStack = vm.Func("stack", 0, vm.readStack)
	vm.setStack = vm.Func("stack", 1, vm.writeStack)
	symbol, err := vm.Eval(`Symbol("frames")`, "symbol")
	if err != nil {
		return
	}
	vm.frames = lib.XJS_ValueToAtom(vm.tls, vm.ctx, lib.TJSValue(symbol))
}

// defineOnError makes stack an accessor that produces the text when it is first read, as in V8, because a class may set the name of its
// errors after the engine has recorded their stack. Other properties are defined as usual.
func defineOnError(tls *libc.TLS, ctx uintptr, obj lib.TJSValue, prop lib.TJSAtom, v, get, set lib.TJSValue, flags int32) int32 {
	vm := owner(tls, ctx)
	if prop != lib.EJS_ATOM_stack || !Value(v).IsString() || vm.stack == nil || !vm.isFrames(Value(v)) {
		return lib.XJS_DefineProperty(tls, ctx, obj, prop, v, get, set, flags|lib.MJS_PROP_NO_EXOTIC)
	}
	const hidden = lib.MJS_PROP_CONFIGURABLE | lib.MJS_PROP_WRITABLE | lib.MJS_PROP_HAS_CONFIGURABLE |
		lib.MJS_PROP_HAS_WRITABLE | lib.MJS_PROP_HAS_ENUMERABLE | lib.MJS_PROP_HAS_VALUE | lib.MJS_PROP_NO_EXOTIC
	undef := lib.TJSValue(Undefined())
	if r := lib.XJS_DefineProperty(tls, ctx, obj, vm.frames, v, undef, undef, hidden); r < 0 {
		return r
	}
	const accessor = lib.MJS_PROP_CONFIGURABLE | lib.MJS_PROP_HAS_CONFIGURABLE | lib.MJS_PROP_HAS_ENUMERABLE |
		lib.MJS_PROP_HAS_GET | lib.MJS_PROP_HAS_SET | lib.MJS_PROP_NO_EXOTIC
	return lib.XJS_DefineProperty(tls, ctx, obj, prop, undef, lib.TJSValue(vm.getStack), lib.TJSValue(vm.setStack), accessor)
}

// isFrames reports whether v is a text from the engine rather than from a script.
func (vm *VM) isFrames(v Value) bool {
	text, err := vm.Text(v)
	if err != nil {
		vm.drop(err)
		return false
	}
	return text == "" || strings.HasPrefix(text, "    at ")
}

// readStack is the getter of stack. It produces the text, and makes stack a plain property.
func (vm *VM) readStack(this Value, _ []Value) (Value, error) {
	if !this.IsObject() {
		return Undefined(), nil
	}
	raw := Value(lib.XGetProperty(vm.tls, vm.ctx, lib.TJSValue(this), vm.frames))
	defer vm.Free(raw)
	if !raw.IsString() {
		return Undefined(), nil
	}
	frames, err := vm.Text(raw)
	if err != nil {
		return Undefined(), err
	}
	text := vm.String(vm.stack(vm.Header(this), vm.thrown(this, frames)))
	return text, vm.keepStack(this, text)
}

// maxClasses bounds how many levels of an error's base classes are considered.
const maxClasses = 16

// thrown removes the frames of an error's constructors, as V8 does, so that the first frame is where the error was thrown.
func (vm *VM) thrown(err Value, frames string) string {
	class := vm.Get(err, "constructor")
	classes := map[string]bool{}
	for range maxClasses {
		name, ok := vm.GetString(class, "name")
		if !ok || name == "" {
			break
		}
		classes[name] = true
		base := vm.Get(class, "__proto__")
		vm.Free(class)
		class = base
	}
	vm.Free(class)
	for {
		first, rest, more := strings.Cut(frames, "\n")
		name, _, ok := strings.Cut(strings.TrimPrefix(first, "    at "), " (")
		if !more || rest == "" || !ok || !classes[name] {
			return frames
		}
		frames = rest
	}
}

// writeStack is the setter of stack.
func (vm *VM) writeStack(this Value, args []Value) (Value, error) {
	if len(args) == 0 || !this.IsObject() {
		return Undefined(), nil
	}
	return Undefined(), vm.keepStack(this, args[0])
}

// keepStack makes stack a plain property.
func (vm *VM) keepStack(this, text Value) error {
	v := lib.TJSValue(vm.Dup(text))
	flags := int32(lib.MJS_PROP_CONFIGURABLE | lib.MJS_PROP_WRITABLE)
	if lib.XJS_DefinePropertyValue(vm.tls, vm.ctx, lib.TJSValue(this), lib.EJS_ATOM_stack, v, flags) < 0 {
		return vm.exception()
	}
	return nil
}

// Header returns "Name: message" for an error, as its toString does, but without calling toString.
func (vm *VM) Header(err Value) string {
	name, ok := vm.GetString(err, "name")
	if !ok {
		name = "Error"
	}
	msg, _ := vm.GetString(err, "message")
	switch {
	case msg == "":
		return name
	case name == "":
		return msg
	}
	return name + ": " + msg
}
