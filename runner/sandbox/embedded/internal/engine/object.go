package engine

import (
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

// Truthy reports whether v is truthy. It does not run JavaScript.
func (vm *VM) Truthy(v Value) bool { return lib.XJS_ToBool(vm.tls, vm.ctx, lib.TJSValue(v)) > 0 }

// Dup adds a reference.
func (vm *VM) Dup(v Value) Value { return Value(lib.XDupValue(vm.tls, vm.ctx, lib.TJSValue(v))) }

// Free removes a reference.
func (vm *VM) Free(v Value) { lib.XFreeValue(vm.tls, vm.ctx, lib.TJSValue(v)) }

// Global returns the global object.
func (vm *VM) Global() Value { return Value(lib.XJS_GetGlobalObject(vm.tls, vm.ctx)) }

// Object returns a new object.
func (vm *VM) Object() Value { return Value(lib.XJS_NewObject(vm.tls, vm.ctx)) }

// Array returns a new array. It takes ownership of the items.
func (vm *VM) Array(items ...Value) Value {
	a := Value(lib.XJS_NewArray(vm.tls, vm.ctx))
	for i, v := range items {
		lib.XJS_SetPropertyUint32(vm.tls, vm.ctx, lib.TJSValue(a), uint32(i), lib.TJSValue(v))
	}
	return a
}

// String returns a string. Invalid UTF-8 becomes U+FFFD.
func (vm *VM) String(s string) Value {
	s = toJS(s)
	p := vm.cString(s)
	defer libc.Xfree(vm.tls, p)
	return Value(lib.XJS_NewStringLen(vm.tls, vm.ctx, p, lib.Tsize_t(len(s))))
}

// Bytes returns a new ArrayBuffer with a copy of b.
func (vm *VM) Bytes(b []byte) (Value, error) {
	p := vm.cString(unsafe.String(unsafe.SliceData(b), len(b)))
	defer libc.Xfree(vm.tls, p)
	return vm.result(lib.XJS_NewArrayBufferCopy(vm.tls, vm.ctx, p, lib.Tsize_t(len(b))))
}

// Text converts a value as String(v) does. It may run JavaScript, and may fail.
func (vm *VM) Text(v Value) (string, error) {
	size := vm.tls.Alloc(8)
	defer vm.tls.Free(8)
	p := lib.XJS_ToCStringLen2(vm.tls, vm.ctx, size, lib.TJSValue(v), 0)
	if p == 0 {
		return "", vm.exception()
	}
	defer lib.XJS_FreeCString(vm.tls, vm.ctx, p)
	return fromJS(unsafe.Slice((*byte)(pointer(p)), *(*lib.Tsize_t)(pointer(size)))), nil
}

// Data returns a copy of the bytes of an ArrayBuffer or of a view of one.
func (vm *VM) Data(v Value) ([]byte, error) {
	const words = 3 * 8
	out := vm.tls.Alloc(words)
	defer vm.tls.Free(words)
	off, size := uintptr(0), ^uintptr(0)
	if class := lib.XJS_GetClassID(vm.tls, lib.TJSValue(v)); class >= lib.EJS_CLASS_UINT8C_ARRAY && class <= lib.EJS_CLASS_FLOAT64_ARRAY {
		buf, err := vm.result(lib.XJS_GetTypedArrayBuffer(vm.tls, vm.ctx, lib.TJSValue(v), out, out+8, out+16))
		if err != nil {
			return nil, err
		}
		defer vm.Free(buf)
		off, size, v = *(*uintptr)(pointer(out)), *(*uintptr)(pointer(out + 8)), buf
	}
	p := lib.XJS_GetArrayBuffer(vm.tls, vm.ctx, out, lib.TJSValue(v))
	if p == 0 {
		if lib.XJS_HasException(vm.tls, vm.ctx) != 0 {
			return nil, vm.exception()
		}
		return nil, nil // an empty buffer has no address
	}
	all := unsafe.Slice((*byte)(pointer(p)), *(*uintptr)(pointer(out)))
	if size == ^uintptr(0) {
		size = uintptr(len(all))
	}
	if off > uintptr(len(all)) || size > uintptr(len(all))-off {
		return nil, Throwf("RangeError", "view is out of its buffer's bounds")
	}
	return append([]byte(nil), all[off:off+size]...), nil
}

// Get returns a property, or undefined if reading it throws.
func (vm *VM) Get(obj Value, name string) Value {
	p := vm.cString(name)
	defer libc.Xfree(vm.tls, p)
	v, err := vm.result(lib.XJS_GetPropertyStr(vm.tls, vm.ctx, lib.TJSValue(obj), p))
	if err != nil {
		vm.drop(err)
		return Undefined()
	}
	return v
}

// GetString returns a property that is a string. ok is false if it is not a string, or reading it throws.
func (vm *VM) GetString(obj Value, name string) (s string, ok bool) {
	if !obj.IsObject() {
		return "", false
	}
	v := vm.Get(obj, name)
	defer vm.Free(v)
	if !v.IsString() {
		return "", false
	}
	s, err := vm.Text(v)
	if err != nil {
		vm.drop(err)
	}
	return s, err == nil
}

// Set defines an ordinary own property. It takes ownership of v.
func (vm *VM) Set(obj Value, name string, v Value) {
	vm.define(obj, name, v, lib.MJS_PROP_C_W_E)
}

// Seal defines an own property that cannot be changed, removed or listed. It takes ownership of v.
func (vm *VM) Seal(obj Value, name Value, v Value) {
	atom := lib.XJS_ValueToAtom(vm.tls, vm.ctx, lib.TJSValue(name))
	lib.XJS_DefinePropertyValue(vm.tls, vm.ctx, lib.TJSValue(obj), atom, lib.TJSValue(v), 0)
	lib.XJS_FreeAtom(vm.tls, vm.ctx, atom)
}

// SealGlobal defines a global property that cannot be changed, removed or listed. It is an accessor, because the engine lets
// Object.defineProperty overwrite a global that is only not writable. v is borrowed.
func (vm *VM) SealGlobal(name, v Value) {
	get := vm.Func("get", 0, func(Value, []Value) (Value, error) { return vm.Dup(v), nil })
	defer vm.Free(get)
	global := vm.Global()
	defer vm.Free(global)
	atom := lib.XJS_ValueToAtom(vm.tls, vm.ctx, lib.TJSValue(name))
	defer lib.XJS_FreeAtom(vm.tls, vm.ctx, atom)
	const flags = lib.MJS_PROP_HAS_GET | lib.MJS_PROP_HAS_SET | lib.MJS_PROP_HAS_CONFIGURABLE | lib.MJS_PROP_HAS_ENUMERABLE
	undef := lib.TJSValue(Undefined())
	lib.XJS_DefineProperty(vm.tls, vm.ctx, lib.TJSValue(global), atom, undef, lib.TJSValue(get), undef, flags)
}

func (vm *VM) define(obj Value, name string, v Value, flags int32) {
	p := vm.cString(name)
	defer libc.Xfree(vm.tls, p)
	if lib.XJS_DefinePropertyValueStr(vm.tls, vm.ctx, lib.TJSValue(obj), p, lib.TJSValue(v), flags) < 0 {
		vm.drop(vm.exception())
	}
}

// drop frees the value of an error of this package.
func (vm *VM) drop(err error) {
	if ex, ok := err.(*Exception); ok {
		vm.Free(ex.Value)
	}
}

// cString copies s to C memory and appends a NUL, on which the engine's parsers rely.
func (vm *VM) cString(s string) uintptr {
	p := libc.Xmalloc(vm.tls, lib.Tsize_t(len(s)+1))
	if p == 0 {
		panic("out of memory") // ends the child, and the host reports it
	}
	b := unsafe.Slice((*byte)(pointer(p)), len(s)+1)
	copy(b, s)
	b[len(s)] = 0
	return p
}

// Fix defines an own property that cannot be changed or removed. It takes ownership of v.
func (vm *VM) Fix(obj Value, name string, v Value) {
	vm.define(obj, name, v, lib.MJS_PROP_ENUMERABLE)
}

// Has reports whether an object has a property, its own or inherited.
func (vm *VM) Has(obj Value, name string) bool {
	p := vm.cString(name)
	defer libc.Xfree(vm.tls, p)
	atom := lib.XJS_NewAtom(vm.tls, vm.ctx, p)
	defer lib.XJS_FreeAtom(vm.tls, vm.ctx, atom)
	return lib.XJS_HasProperty(vm.tls, vm.ctx, lib.TJSValue(obj), atom) != 0
}

// Freeze prevents new properties of an object. Existing ones keep their attributes.
func (vm *VM) Freeze(obj Value) { lib.XJS_PreventExtensions(vm.tls, vm.ctx, lib.TJSValue(obj)) }
