package engine

import (
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

// newRuntime returns a runtime of the engine with an allocator that enforces the limit, as the engine's own does, and also records
// that it refused an allocation. An engine that is out of memory throws an error, or null if there is no memory for an error.
func (vm *VM) newRuntime() uintptr {
	m := libc.Xcalloc(vm.tls, 1, lib.Tsize_t(unsafe.Sizeof(lib.TJSMallocFunctions{})))
	if m == 0 {
		return 0
	}
	*(*lib.TJSMallocFunctions)(pointer(m)) = lib.TJSMallocFunctions{
		Fjs_malloc: fp(allocate), Fjs_free: fp(release), Fjs_realloc: fp(reallocate), Fjs_malloc_usable_size: fp(usableSize),
	}
	return lib.XJS_NewRuntime2(vm.tls, m, uintptr(unsafe.Pointer(vm)))
}

// Memory returns the bytes that the engine has allocated, and its limit.
func (vm *VM) Memory() (used, limit int64) {
	state := (*lib.TJSRuntime)(pointer(vm.rt)).Fmalloc_ctx.Fmalloc_state
	return int64(state.Fmalloc_size), int64(state.Fmalloc_limit)
}

// Starved reports whether an allocation of the engine was ever refused.
func (vm *VM) Starved() bool { return vm.starved }

func allocate(tls *libc.TLS, s uintptr, size lib.Tsize_t) uintptr {
	state := (*lib.TJSMallocState)(pointer(s))
	if state.Fmalloc_size+size > state.Fmalloc_limit || size > state.Fmalloc_limit {
		return refuse(state)
	}
	p := libc.Xmalloc(tls, size)
	if p == 0 {
		return refuse(state)
	}
	state.Fmalloc_count++
	state.Fmalloc_size += usableSize(tls, p) + lib.MMALLOC_OVERHEAD
	return p
}

func release(tls *libc.TLS, s, p uintptr) {
	if p == 0 {
		return
	}
	state := (*lib.TJSMallocState)(pointer(s))
	state.Fmalloc_count--
	state.Fmalloc_size -= usableSize(tls, p) + lib.MMALLOC_OVERHEAD
	libc.Xfree(tls, p)
}

func reallocate(tls *libc.TLS, s, p uintptr, size lib.Tsize_t) uintptr {
	switch {
	case p == 0 && size == 0:
		return 0
	case p == 0:
		return allocate(tls, s, size)
	case size == 0:
		release(tls, s, p)
		return 0
	}
	state := (*lib.TJSMallocState)(pointer(s))
	old := usableSize(tls, p)
	if size > old && state.Fmalloc_size+(size-old) > state.Fmalloc_limit {
		return refuse(state)
	}
	q := libc.Xrealloc(tls, p, size)
	if q == 0 {
		return refuse(state)
	}
	state.Fmalloc_size = state.Fmalloc_size - old + usableSize(tls, q)
	return q
}

func usableSize(tls *libc.TLS, p uintptr) lib.Tsize_t { return libc.Xmalloc_usable_size(tls, p) }

func refuse(state *lib.TJSMallocState) uintptr {
	(*VM)(pointer(state.Fopaque)).starved = true
	return 0
}
