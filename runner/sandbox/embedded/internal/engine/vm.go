package engine

import (
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

// VM is one runtime with one realm.
type VM struct {
	tls *libc.TLS
	rt  uintptr
	ctx uintptr
	// scratch is C memory for out parameters: the engine must never hold a pointer into a Go stack, which moves.
	scratch uintptr
	funcs   []Func
	errors  map[string]Value
	bigInt  Value // the function BigInt

	object    func(v Value) (json, refusal string, err error)
	rejection func(promise, reason Value, handled bool)
	stack     func(header, frames string) string
	normalize func(base, name string) (string, error)
	load      func(name string) (string, error)
	// frames is the key under which an error holds the engine's frames until its stack is read. getStack and setStack are the
	// accessor of the stack property.
	frames             lib.TJSAtom
	getStack, setStack Value
	starved            bool
	// halted is set by Halt: no JavaScript runs after it.
	halted bool
}

// Func is a host function. It borrows this and args, and the caller owns the result. An error that is an *Exception throws its
// value again; any other error becomes a new JavaScript Error.
type Func func(this Value, args []Value) (Value, error)

// pointer converts an address of C memory, which the garbage collector does not manage, to a pointer.
func pointer(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

// fp returns the address by which translated C calls the Go function f, which must not be a closure.
func fp(f any) uintptr {
	return (*[2]uintptr)(unsafe.Pointer(&f))[1]
}

// owner returns the VM of a realm.
func owner(tls *libc.TLS, ctx uintptr) *VM {
	return (*VM)(pointer(lib.XJS_GetContextOpaque(tls, ctx)))
}
