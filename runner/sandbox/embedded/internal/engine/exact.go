package engine

import (
	"bytes"
	"errors"
	"math"
	"strconv"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"
	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

// Integers beyond 2^53-1 become BigInts, so that they keep all digits. The engine's own JSON parser cannot do that. It is
// several times faster, however, so it parses every text without such an integer.

// exactDigits is the length of the shortest integer beyond 2^53-1 = 9007199254740991.
const exactDigits = 16

// hasLongInteger reports whether text may hold an integer of at least exactDigits digits. It needs to look at every 16th byte
// only, because 16 digits in a row include one of these.
func hasLongInteger(text []byte) bool {
	for i := exactDigits - 1; i < len(text); i += exactDigits {
		if !isDigit(text[i]) {
			continue
		}
		start, end := i, i
		for start > 0 && isDigit(text[start-1]) {
			start--
		}
		for end < len(text) && isDigit(text[end]) {
			end++
		}
		if end-start >= exactDigits && (start == 0 || text[start-1] != '.') {
			return true
		}
	}
	return false
}

func isDigit(c byte) bool { return c-'0' < 10 }

// exact converts a JSON text to JavaScript values.
type exact struct {
	vm  *VM
	dec *jsontext.Decoder
}

// maxExactDepth is the deepest nesting of a text that exact parses; the engine refuses deeper ones.
const maxExactDepth = 2 * maxDepth

// errNotExact means that a text is not JSON or is nested too deeply. The engine's parser then reports the error.
var errNotExact = errors.New("not a text for this parser")

// parseExact returns the value of a text. ok is false if the engine's parser has to decide.
func (vm *VM) parseExact(text []byte) (v Value, ok bool, err error) {
	e := &exact{vm, jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	if v, err = e.value(); err == nil && e.dec.PeekKind() != 0 {
		vm.Free(v)
		err = errNotExact
	}
	return v, !errors.Is(err, errNotExact), err
}

func (e *exact) value() (Value, error) {
	token, err := e.dec.ReadToken()
	if err != nil || e.dec.StackDepth() > maxExactDepth {
		return Value{}, errNotExact
	}
	switch token.Kind() {
	case jsontext.KindBeginObject, jsontext.KindBeginArray:
		return e.items(token.Kind())
	case jsontext.KindString:
		return e.vm.String(token.String()), nil
	case jsontext.KindTrue, jsontext.KindFalse:
		return Bool(token.Bool()), nil
	case jsontext.KindNull:
		return Null(), nil
	}
	return e.number(token.String())
}

// number returns a number, or a BigInt if text is an integer that a number cannot hold.
func (e *exact) number(text string) (Value, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err == nil && n == 0 && text[0] == '-':
		return Float(math.Copysign(0, -1)), nil
	case err == nil && n <= 1<<53-1 && n >= -(1<<53-1):
		return Int(int(n)), nil
	case err == nil || errors.Is(err, strconv.ErrRange):
		digits := e.vm.String(text)
		defer e.vm.Free(digits)
		return e.vm.Call(e.vm.bigInt, Undefined(), digits)
	}
	f, _ := strconv.ParseFloat(text, 64) // infinite if out of range, as with JSON.parse
	return Float(f), nil
}

// items reads the members of an object or the items of an array, up to its end.
func (e *exact) items(kind jsontext.Kind) (v Value, err error) {
	vm, object := e.vm, kind == jsontext.KindBeginObject
	if object {
		v = vm.Object()
	} else {
		v = Value(lib.XJS_NewArray(vm.tls, vm.ctx))
	}
	defer func() {
		if err != nil {
			vm.Free(v)
		}
	}()
	for n := uint32(0); ; n++ {
		if k := e.dec.PeekKind(); k == jsontext.KindEndObject || k == jsontext.KindEndArray {
			_, err = e.dec.ReadToken()
			return v, err
		}
		name := ""
		if object {
			token, err := e.dec.ReadToken()
			if err != nil {
				return v, errNotExact
			}
			name = token.String()
		}
		item, err := e.value()
		if err == nil {
			err = vm.put(v, object, name, n, item)
		}
		if err != nil {
			return v, err
		}
	}
}

// put defines a member of an object, or item n of an array. It takes ownership of item.
func (vm *VM) put(v Value, object bool, name string, n uint32, item Value) error {
	var r int32
	if object {
		name = toJS(name)
		p := vm.cString(name)
		defer libc.Xfree(vm.tls, p)
		atom := lib.XJS_NewAtomLen(vm.tls, vm.ctx, p, lib.Tsize_t(len(name)))
		r = lib.XJS_DefinePropertyValue(vm.tls, vm.ctx, lib.TJSValue(v), atom, lib.TJSValue(item), lib.MJS_PROP_C_W_E)
		lib.XJS_FreeAtom(vm.tls, vm.ctx, atom)
	} else {
		r = lib.XJS_DefinePropertyValueUint32(vm.tls, vm.ctx, lib.TJSValue(v), n, lib.TJSValue(item), lib.MJS_PROP_C_W_E)
	}
	if r < 0 {
		return vm.exception()
	}
	return nil
}

// ParseJSON parses a JSON text without using anything that a script can replace. Integers beyond 2^53-1 become BigInts.
func (vm *VM) ParseJSON(text []byte) (Value, error) {
	if hasLongInteger(text) {
		if v, ok, err := vm.parseExact(text); ok {
			return v, err
		}
	}
	p := vm.cString(unsafe.String(unsafe.SliceData(text), len(text)))
	defer libc.Xfree(vm.tls, p)
	name := vm.cString("<json>")
	defer libc.Xfree(vm.tls, name)
	return vm.result(lib.XJS_ParseJSON(vm.tls, vm.ctx, p, lib.Tsize_t(len(text)), name))
}
