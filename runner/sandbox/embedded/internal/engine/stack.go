//go:build !386 && !arm

package engine

import (
	"strings"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

// OnStack sets what makes the text of an error's stack property, at the moment the engine makes it: header is
// "Name: message", frames are the engine's own lines ("    at f (file:1:2)\n"). Scripts expect the text that V8 makes,
// and lines of the source that was written, not of the bundle.
func (vm *VM) OnStack(f func(header, frames string) string) { vm.stack = f }

// hookStacks gives the class of errors an exotic define_own_property method, the one place all stacks come through:
// the engine has no prepareStackTrace and makes stack a plain property of each error.
func (vm *VM) hookStacks() {
	m := libc.Xcalloc(vm.tls, 1, lib.Tsize_t(unsafe.Sizeof(lib.TJSClassExoticMethods{})))
	if m == 0 {
		return
	}
	(*lib.TJSClassExoticMethods)(pointer(m)).Fdefine_own_property = fp(defineOnError)
	classes := (*lib.TJSRuntime)(pointer(vm.rt)).Fclass_array
	class := (*lib.TJSClass)(pointer(classes + lib.EJS_CLASS_ERROR*unsafe.Sizeof(lib.TJSClass{})))
	class.Fexotic = m
}

func defineOnError(tls *libc.TLS, ctx uintptr, obj lib.TJSValue, prop lib.TJSAtom, v, get, set lib.TJSValue, flags int32) int32 {
	vm := owner(tls, ctx)
	if prop == lib.EJS_ATOM_stack && Value(v).IsString() && vm.stack != nil && !vm.inStack {
		vm.inStack = true
		text := vm.stackText(Value(obj), Value(v))
		vm.inStack = false
		if text.IsString() {
			defer vm.Free(text)
			v = lib.TJSValue(text)
		}
	}
	// A class sets its name after the stack was made; V8 writes the header later, so that it has the name.
	rename := prop == lib.EJS_ATOM_name && Value(v).IsString() && vm.stack != nil && !vm.inStack
	var old string
	if rename {
		old = vm.Header(Value(obj))
	}
	r := lib.XJS_DefineProperty(tls, ctx, obj, prop, v, get, set, flags|lib.MJS_PROP_NO_EXOTIC)
	if rename && r >= 0 {
		vm.inStack = true
		vm.renameStack(Value(obj), old)
		vm.inStack = false
	}
	return r
}

// renameStack replaces the old header at the start of an error's stack by the one it has now.
func (vm *VM) renameStack(obj Value, old string) {
	stack, ok := vm.GetString(obj, "stack")
	if !ok {
		return
	}
	if rest, ok := strings.CutPrefix(stack, old); ok && (rest == "" || rest[0] == '\n') {
		vm.define(obj, "stack", vm.String(vm.Header(obj)+rest), lib.MJS_PROP_CONFIGURABLE|lib.MJS_PROP_WRITABLE)
	}
}

// stackText returns undefined where there is no text to be made; the engine's own stays then.
func (vm *VM) stackText(obj, frames Value) Value {
	text, err := vm.Text(frames)
	if err != nil {
		vm.drop(err)
		return Undefined()
	}
	if text != "" && !strings.HasPrefix(text, "    at ") {
		return Undefined() // the script set it
	}
	return vm.String(vm.stack(vm.Header(obj), text))
}

// Header is "Name: message" of an error, as its toString makes it, without calling that.
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
