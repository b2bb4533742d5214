//go:build !386 && !arm

// Package engine is a thin, ownership-explicit binding of the QuickJS engine (modernc.org/libquickjs, the
// transpiled engine below modernc.org/quickjs) for one guest process. It exists beside that wrapper because
// a guest needs what the wrapper does not show: unhandled rejections, native buffers, named modules and their
// namespaces, and the text of a stack.
//
// A [VM] belongs to one goroutine and lives as long as its process: there is no Close. Values are counted
// references: what a method returns as a Value is owned by the caller and given back with [VM.Free] (or by
// handing it to something that says it takes it over); values passed in are borrowed.
//
// The engine is C made into Go: its faults are faults of the process. That is why it runs in a child.
package engine

import (
	"errors"
	"fmt"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

// VM is one runtime with one realm.
type VM struct {
	tls *libc.TLS
	rt  uintptr
	ctx uintptr
	// scratch is C memory for out-parameters: the engine must never hold a pointer into a Go stack, which moves.
	scratch uintptr
	funcs   []Func
	errors  map[string]Value
	bigInt  Value // the function BigInt

	object    func(v Value) (json, refusal string, err error)
	rejection func(promise, reason Value, handled bool)
	stack     func(header, frames string) string
	normalize func(base, name string) (string, error)
	load      func(name string) (string, error)
	// frames is the key under which an error holds the engine's frames until its stack is read; the two functions are
	// the accessor that reads them.
	frames             lib.TJSAtom
	getStack, setStack Value
	starved            bool
	// halted is set once Halt was called: JavaScript runs no more.
	halted bool
}

// Func is a function of the host. It borrows this and args and returns an owned value. An error that is an
// *Exception throws that value again; any other becomes a new JavaScript Error.
type Func func(this Value, args []Value) (Value, error)

// New makes a VM. memory bounds the engine's own heap, in bytes.
func New(memory int64) (*VM, error) {
	vm := &VM{tls: libc.NewTLS(), errors: map[string]Value{}}
	if vm.rt = vm.newRuntime(); vm.rt == 0 {
		return nil, errors.New("no memory for the engine's runtime")
	}
	if vm.ctx = lib.XJS_NewContext(vm.tls, vm.rt); vm.ctx == 0 {
		return nil, errors.New("no memory for the engine's realm")
	}
	if vm.scratch = libc.Xcalloc(vm.tls, 8, 8); vm.scratch == 0 {
		return nil, errors.New("no memory for the engine")
	}
	vm.SetMemory(memory)
	lib.XJS_SetContextOpaque(vm.tls, vm.ctx, uintptr(unsafe.Pointer(vm)))
	lib.XJS_SetHostPromiseRejectionTracker(vm.tls, vm.rt, fp(rejectionTracker), 0)
	lib.XJS_SetModuleLoaderFunc2(vm.tls, vm.rt, fp(moduleNormalize), fp(moduleLoad), 0, 0)
	vm.hookStacks()
	global := vm.Global()
	defer vm.Free(global)
	vm.bigInt = vm.Get(global, "BigInt")
	for _, name := range []string{"Error", "TypeError", "RangeError", "SyntaxError"} {
		vm.errors[name] = vm.Get(global, name)
	}
	return vm, nil
}

// SetMemory changes the bound on the engine's own heap, in bytes. Zero or less: it stays.
func (vm *VM) SetMemory(limit int64) {
	if limit > 0 {
		lib.XJS_SetMemoryLimit(vm.tls, vm.rt, lib.Tsize_t(limit))
	}
}

// Version is the engine's release.
func Version() string { return lib.MCONFIG_VERSION }

// OnRejection sets what is told that a promise was rejected without a handler (handled false), and that one of
// those got its handler after all. Both values are borrowed.
func (vm *VM) OnRejection(f func(promise, reason Value, handled bool)) { vm.rejection = f }

// SetModules sets how import specifiers become module names, and names become source text.
func (vm *VM) SetModules(normalize func(base, name string) (string, error), load func(name string) (string, error)) {
	vm.normalize, vm.load = normalize, load
}

// Eval runs a classic script and returns its completion value.
func (vm *VM) Eval(source, name string) (Value, error) {
	return vm.eval(source, name, lib.MJS_EVAL_TYPE_GLOBAL)
}

func (vm *VM) eval(source, name string, flags int32) (Value, error) {
	src, file := vm.cString(source), vm.cString(name)
	defer libc.Xfree(vm.tls, src)
	defer libc.Xfree(vm.tls, file)
	return vm.result(lib.XJS_Eval(vm.tls, vm.ctx, src, lib.Tsize_t(len(source)), file, flags))
}

// Module is a compiled module.
type Module struct{ def uintptr }

// Module compiles source as the module called name, with import.meta as given.
func (vm *VM) Module(source, name string, meta map[string]string) (Module, Value, error) {
	code, err := vm.eval(source, name, lib.MJS_EVAL_TYPE_MODULE|lib.MJS_EVAL_FLAG_COMPILE_ONLY)
	if err != nil {
		return Module{}, Value{}, err
	}
	m := Module{def: payload(code)}
	im := Value(lib.XJS_GetImportMeta(vm.tls, vm.ctx, m.def))
	defer vm.Free(im)
	for k, v := range meta {
		vm.Set(im, k, vm.String(v))
	}
	return m, code, nil
}

// RunModule links and starts a compiled module, taking over code. The promise settles when its top level has ended.
func (vm *VM) RunModule(code Value) (promise Value, err error) {
	if lib.XJS_ResolveModule(vm.tls, vm.ctx, lib.TJSValue(code)) < 0 {
		vm.Free(code)
		return Value{}, vm.exception()
	}
	return vm.result(lib.XJS_EvalFunction(vm.tls, vm.ctx, lib.TJSValue(code)))
}

// Namespace returns the exports of a module that has run.
func (vm *VM) Namespace(m Module) (Value, error) {
	return vm.result(lib.XJS_GetModuleNamespace(vm.tls, vm.ctx, m.def))
}

// RunJobs runs promise jobs until none is left or the VM is halted.
func (vm *VM) RunJobs() {
	for !vm.halted {
		r := lib.XJS_ExecutePendingJob(vm.tls, vm.rt, vm.scratch)
		if r == 0 {
			return
		}
		if r < 0 {
			// Only what no promise can hold comes out here: the exception that Halt threw.
			vm.Free(Value(lib.XJS_GetException(vm.tls, vm.ctx)))
		}
	}
}

// Halt makes the JavaScript that called the host function now running stop, past every catch and finally. The host
// function returns the error Halt gave it.
func (vm *VM) Halt() error {
	vm.halted = true
	return errHalt
}

// Halted tells whether Halt was called.
func (vm *VM) Halted() bool { return vm.halted }

var errHalt = errors.New("halted")

// Exception is an error that carries the thrown JavaScript value, which the VM keeps until the process ends.
type Exception struct{ Value Value }

func (e *Exception) Error() string { return "javascript exception" }

// Thrown is the JavaScript value of an error, owned: what was thrown, or a new Error.
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

// exception takes the pending exception out of the VM.
func (vm *VM) exception() error {
	return &Exception{Value: Value(lib.XJS_GetException(vm.tls, vm.ctx))}
}

func (vm *VM) result(v lib.TJSValue) (Value, error) {
	if v.Ftag == lib.EJS_TAG_EXCEPTION {
		return Value{}, vm.exception()
	}
	return Value(v), nil
}

// ThrowError is a host error that becomes a JavaScript error of the named class with extra properties.
type ThrowError struct {
	Class   string // "Error" when empty
	Message string
	Props   map[string]string
	Errno   int
}

func (e *ThrowError) Error() string { return e.Message }

// throw makes err the pending exception and returns what a C function returns then.
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

// NewError makes a JavaScript error from err, see [ThrowError].
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

// Throwf makes a ThrowError of a class.
func Throwf(class, format string, a ...any) error {
	return &ThrowError{Class: class, Message: fmt.Sprintf(format, a...)}
}

// pointer turns an address of C memory, which the collector does not know, into a pointer.
func pointer(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

// fp is the address by which transpiled C calls the Go function f, which must be a plain function, no closure.
func fp(f any) uintptr {
	return (*[2]uintptr)(unsafe.Pointer(&f))[1]
}

// owner finds the VM of a realm.
func owner(tls *libc.TLS, ctx uintptr) *VM {
	return (*VM)(pointer(lib.XJS_GetContextOpaque(tls, ctx)))
}
