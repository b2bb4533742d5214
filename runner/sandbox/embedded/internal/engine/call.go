package engine

import (
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

// Func returns a JavaScript function that calls f. It lives as long as the VM.
func (vm *VM) Func(name string, length int, f Func) Value {
	vm.funcs = append(vm.funcs, f)
	p := vm.cString(name)
	defer libc.Xfree(vm.tls, p)
	return Value(lib.XJS_NewCFunction2(vm.tls, vm.ctx, fp(callGo), p, int32(length),
		lib.EJS_CFUNC_generic_magic, int32(len(vm.funcs)-1)))
}

// callGo is called by the engine for every function made by Func. A panic of a host function ends the process.
func callGo(tls *libc.TLS, ctx uintptr, this lib.TJSValue, argc int32, argv uintptr, magic int32) lib.TJSValue {
	vm := owner(tls, ctx)
	v, err := vm.funcs[magic](Value(this), unsafe.Slice((*Value)(pointer(argv)), argc))
	if err != nil {
		return vm.throw(err)
	}
	return lib.TJSValue(v)
}

// Call calls fn; this and args are borrowed.
func (vm *VM) Call(fn, this Value, args ...Value) (Value, error) {
	argv := vm.argv(args)
	defer libc.Xfree(vm.tls, argv)
	return vm.result(lib.XJS_Call(vm.tls, vm.ctx, lib.TJSValue(fn), lib.TJSValue(this), int32(len(args)), argv))
}

func (vm *VM) construct(class Value, args ...Value) (Value, error) {
	argv := vm.argv(args)
	defer libc.Xfree(vm.tls, argv)
	return vm.result(lib.XJS_CallConstructor(vm.tls, vm.ctx, lib.TJSValue(class), int32(len(args)), argv))
}

func (vm *VM) argv(args []Value) uintptr {
	size := len(args) * int(unsafe.Sizeof(Value{}))
	p := libc.Xmalloc(vm.tls, lib.Tsize_t(size+1))
	if p == 0 {
		panic("out of memory")
	}
	copy(unsafe.Slice((*Value)(pointer(p)), len(args)), args)
	return p
}

// IsFunction reports whether v can be called.
func (vm *VM) IsFunction(v Value) bool {
	return lib.XJS_IsFunction(vm.tls, vm.ctx, lib.TJSValue(v)) != 0
}

// IsError reports whether v is a JavaScript Error.
func (vm *VM) IsError(v Value) bool {
	return v.IsObject() && lib.XJS_IsError(vm.tls, vm.ctx, lib.TJSValue(v)) != 0
}

// Promise returns a promise and the two functions that settle it.
func (vm *VM) Promise() (promise, resolve, reject Value, err error) {
	const pair = 2 * int(unsafe.Sizeof(Value{}))
	out := vm.tls.Alloc(pair)
	defer vm.tls.Free(pair)
	promise, err = vm.result(lib.XJS_NewPromiseCapability(vm.tls, vm.ctx, out))
	if err != nil {
		return promise, Value{}, Value{}, err
	}
	fns := unsafe.Slice((*Value)(pointer(out)), 2)
	return promise, fns[0], fns[1], nil
}

// PromiseState is the state of a promise; see [VM.State].
type PromiseState int

// The states of a promise. NotPromise means that the value is not a promise.
const (
	NotPromise PromiseState = iota
	Pending
	Fulfilled
	Rejected
)

// State returns the state of a promise.
func (vm *VM) State(v Value) PromiseState {
	if !v.IsObject() {
		return NotPromise
	}
	switch lib.XJS_PromiseState(vm.tls, vm.ctx, lib.TJSValue(v)) {
	case lib.EJS_PROMISE_PENDING:
		return Pending
	case lib.EJS_PROMISE_FULFILLED:
		return Fulfilled
	case lib.EJS_PROMISE_REJECTED:
		return Rejected
	}
	return NotPromise
}

// Settled returns the value with which a promise was fulfilled or rejected.
func (vm *VM) Settled(promise Value) Value {
	return Value(lib.XJS_PromiseResult(vm.tls, vm.ctx, lib.TJSValue(promise)))
}

func rejectionTracker(tls *libc.TLS, ctx uintptr, promise, reason lib.TJSValue, handled int32, _ uintptr) {
	if vm := owner(tls, ctx); vm.rejection != nil {
		vm.rejection(Value(promise), Value(reason), handled != 0)
	}
}

// moduleNormalize returns the name of the module that a specifier means, in memory of the engine.
func moduleNormalize(tls *libc.TLS, ctx, base, name, _ uintptr) uintptr {
	vm := owner(tls, ctx)
	if vm.normalize == nil {
		vm.throw(Throwf("Error", "modules cannot be imported here"))
		return 0
	}
	s, err := vm.normalize(libc.GoString(base), libc.GoString(name))
	if err != nil {
		vm.throw(err)
		return 0
	}
	p := vm.cString(s)
	defer libc.Xfree(tls, p)
	return lib.Xjs_strdup(tls, ctx, p)
}

func moduleLoad(tls *libc.TLS, ctx, name, _ uintptr, _ lib.TJSValue) uintptr {
	vm := owner(tls, ctx)
	source, err := vm.load(libc.GoString(name))
	if err != nil {
		vm.throw(err)
		return 0
	}
	code, err := vm.eval(source, libc.GoString(name), lib.MJS_EVAL_TYPE_MODULE|lib.MJS_EVAL_FLAG_COMPILE_ONLY)
	if err != nil {
		vm.throw(err)
		return 0
	}
	def := payload(code)
	vm.Free(code) // the realm's list of modules holds the other reference
	return def
}
