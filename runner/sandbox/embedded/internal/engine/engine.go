// Package engine binds the QuickJS engine (modernc.org/libquickjs, the engine below modernc.org/quickjs) for one guest process.
// The wrapper modernc.org/quickjs hides what a guest needs: unhandled rejections, native buffers, named modules and their
// namespaces, and the text of stacks.
//
// A [VM] belongs to one goroutine and lives as long as its process; there is no Close. Values are counted references. The caller
// owns a Value that a method returns, and releases it with [VM.Free] or by passing it to a function that takes ownership. Values
// passed to other functions are borrowed.
//
// The engine is C translated to Go, so a fault in it crashes the process. Therefore it runs in a child process.
package engine

import (
	"errors"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

// New returns a VM whose heap may use at most memory bytes.
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

// SetMemory changes the size limit of the engine's heap, in bytes. It ignores zero and negative numbers.
func (vm *VM) SetMemory(limit int64) {
	if limit > 0 {
		lib.XJS_SetMemoryLimit(vm.tls, vm.rt, lib.Tsize_t(limit))
	}
}

// Version returns the release of the engine.
func Version() string { return lib.MCONFIG_VERSION }

// OnRejection sets a function that is called when a promise is rejected without a handler (handled is false), and when such a
// promise gets a handler later. Both values are borrowed.
func (vm *VM) OnRejection(f func(promise, reason Value, handled bool)) { vm.rejection = f }

// SetModules sets the functions that convert import specifiers to module names, and load the source of a module.
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

// RunModule links and starts a compiled module. It takes ownership of code. The promise settles when the top level has ended.
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
			// The exception that Halt threw is the only one that no promise catches.
			vm.Free(Value(lib.XJS_GetException(vm.tls, vm.ctx)))
		}
	}
}

// Halt stops the JavaScript that called the current host function; catch and finally blocks do not run. The host function must
// return the error that Halt returns.
func (vm *VM) Halt() error {
	vm.halted = true
	return errHalt
}

// Halted reports whether Halt was called.
func (vm *VM) Halted() bool { return vm.halted }
