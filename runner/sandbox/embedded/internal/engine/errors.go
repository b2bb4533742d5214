package engine

import (
	"errors"
	"fmt"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

var errHalt = errors.New("halted")

// Exception is an error with the JavaScript value that was thrown. The VM keeps the value until the process ends.
type Exception struct{ Value Value }

func (e *Exception) Error() string { return "javascript exception" }

// ThrowError is a host error that becomes a JavaScript error of the named class with extra properties.
type ThrowError struct {
	Class   string // "Error" if empty
	Message string
	Props   map[string]string
	Errno   int
}

func (e *ThrowError) Error() string { return e.Message }

// Throwf returns a ThrowError of a class.
func Throwf(class, format string, a ...any) error {
	return &ThrowError{Class: class, Message: fmt.Sprintf(format, a...)}
}

// Thrown returns the JavaScript value of an error, owned by the caller: the value that was thrown, or a new Error.
func (vm *VM) Thrown(err error) Value {
	var ex *Exception
	if errors.As(err, &ex) {
		return ex.Value
	}
	v, err := vm.NewError(err)
	if err != nil {
		return Null()
	}
	return v
}

// exception returns the pending exception and clears it.
func (vm *VM) exception() error {
	return &Exception{Value: Value(lib.XJS_GetException(vm.tls, vm.ctx))}
}

func (vm *VM) result(v lib.TJSValue) (Value, error) {
	if v.Ftag == lib.EJS_TAG_EXCEPTION {
		return Value{}, vm.exception()
	}
	return Value(v), nil
}

// throw makes err the pending exception and returns the engine's exception value.
func (vm *VM) throw(err error) lib.TJSValue {
	var ex *Exception
	if errors.As(err, &ex) {
		return lib.XJS_Throw(vm.tls, vm.ctx, lib.TJSValue(ex.Value))
	}
	if vm.halted {
		format := vm.cString("halted")
		defer libc.Xfree(vm.tls, format)
		r := lib.XJS_ThrowInternalError(vm.tls, vm.ctx, format, 0)
		lib.XJS_SetUncatchableException(vm.tls, vm.ctx, 1)
		return r
	}
	v, err := vm.NewError(err)
	if err != nil {
		return vm.throw(err)
	}
	return lib.XJS_Throw(vm.tls, vm.ctx, lib.TJSValue(v))
}

// NewError returns a JavaScript error for err; see [ThrowError].
func (vm *VM) NewError(err error) (Value, error) {
	var t *ThrowError
	if !errors.As(err, &t) {
		t = &ThrowError{Message: err.Error()}
	}
	class, ok := vm.errors[t.Class]
	if !ok {
		class = vm.errors["Error"]
	}
	msg := vm.String(t.Message)
	defer vm.Free(msg)
	v, err := vm.construct(class, msg)
	if err != nil {
		return v, err
	}
	if t.Errno != 0 {
		vm.Set(v, "errno", Int(t.Errno))
	}
	if stack, ok := t.Props["stack"]; ok {
		text := vm.String(stack)
		defer vm.Free(text)
		if err := vm.keepStack(v, text); err != nil {
			vm.Free(v)
			return Undefined(), err
		}
	}
	for _, k := range []string{"code", "syscall", "path", "dest"} {
		if s, ok := t.Props[k]; ok {
			vm.Set(v, k, vm.String(s))
		}
	}
	return v, nil
}
