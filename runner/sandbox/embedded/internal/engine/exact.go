//go:build !386 && !arm

package engine

import (
	"encoding/json"
	"strconv"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

// Integers beyond 2^53-1 become BigInts, so that no digit is lost. The engine's parser knows nothing of that, and it is
// several times faster than going through a text here; it gets every text that cannot hold such an integer.

// exactDigits is the length of the shortest integer beyond 2^53-1 = 9007199254740991.
const exactDigits = 16

// hasLongInteger tells whether text may hold an integer of so many digits. Only every 16th byte has to be looked at: a
// run of 16 digits has one of them.
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

// exact makes values of a JSON text that is known to be valid.
type exact struct {
	vm    *VM
	s     []byte
	i     int
	depth int
}

// maxExactDepth bounds the nesting; deeper texts are the engine's to refuse.
const maxExactDepth = 2 * maxDepth

// parseExact returns the value of a text, and false when it is none for this parser.
func (vm *VM) parseExact(text []byte) (v Value, ok bool, err error) {
	if !json.Valid(text) {
		return v, false, nil
	}
	e := &exact{vm: vm, s: text}
	if v, err = e.value(); e.depth > maxExactDepth {
		vm.drop(err)
		return Value{}, false, nil
	}
	return v, true, err
}

func (e *exact) space() {
	for e.i < len(e.s) && (e.s[e.i] == ' ' || e.s[e.i] == '\n' || e.s[e.i] == '\t' || e.s[e.i] == '\r') {
		e.i++
	}
}

func (e *exact) value() (Value, error) {
	e.space()
	switch c := e.s[e.i]; c {
	case '{', '[':
		if e.depth++; e.depth > maxExactDepth {
			return Value{}, &NotJSONError{"nested too deep"}
		}
		v, err := e.list(c)
		if err == nil {
			e.depth--
		}
		return v, err
	case '"':
		return e.vm.String(e.text()), nil
	case 't':
		e.i += len("true")
		return Bool(true), nil
	case 'f':
		e.i += len("false")
		return Bool(false), nil
	case 'n':
		e.i += len("null")
		return Null(), nil
	}
	return e.number()
}

// text reads a string.
func (e *exact) text() string {
	start, plain := e.i, true
	for e.i++; e.s[e.i] != '"'; e.i++ {
		if e.s[e.i] == '\\' {
			plain = false
			e.i++
		}
	}
	e.i++
	if plain {
		return string(e.s[start+1 : e.i-1])
	}
	var s string
	_ = json.Unmarshal(e.s[start:e.i], &s) // valid, as the whole is
	return s
}

// number makes a number, or a BigInt of an integer that a number cannot hold.
func (e *exact) number() (Value, error) {
	start, whole := e.i, true
	for e.i < len(e.s) {
		c := e.s[e.i]
		if c == '.' || c|0x20 == 'e' {
			whole = false
		} else if !isDigit(c) && c != '-' && c != '+' {
			break
		}
		e.i++
	}
	text := string(e.s[start:e.i])
	if whole {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n <= 1<<53-1 && n >= -(1<<53-1) {
			if n == 0 && text[0] == '-' {
				return e.vm.number(text)
			}
			return Int(int(n)), nil
		}
		digits := e.vm.String(text)
		defer e.vm.Free(digits)
		return e.vm.Call(e.vm.bigInt, Undefined(), digits)
	}
	return e.vm.number(text)
}

func (vm *VM) number(text string) (Value, error) {
	f, _ := strconv.ParseFloat(text, 64) // out of range: infinite, as JSON.parse has it
	return Float(f), nil
}

// list reads an object or an array.
func (e *exact) list(open byte) (Value, error) {
	vm := e.vm
	var v Value
	if open == '{' {
		v = vm.Object()
	} else {
		v = Value(lib.XJS_NewArray(vm.tls, vm.ctx))
	}
	e.i++
	for n := uint32(0); ; n++ {
		e.space()
		switch e.s[e.i] {
		case '}', ']':
			e.i++
			return v, nil
		case ',':
			e.i++
			e.space()
		}
		name := ""
		if open == '{' {
			name = e.text()
			e.space()
			e.i++ // the colon
		}
		item, err := e.value()
		if err == nil {
			err = vm.put(v, open == '{', name, n, item)
		}
		if err != nil {
			vm.Free(v)
			return Value{}, err
		}
	}
}

// put defines a member or an item, taking over item.
func (vm *VM) put(v Value, member bool, name string, n uint32, item Value) error {
	var r int32
	if member {
		p := vm.cString(toJS(name))
		defer libc.Xfree(vm.tls, p)
		atom := lib.XJS_NewAtomLen(vm.tls, vm.ctx, p, lib.Tsize_t(len(toJS(name))))
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
