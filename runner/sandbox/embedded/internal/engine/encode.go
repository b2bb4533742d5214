package engine

import (
	"fmt"
	"strconv"
	"unsafe"

	lib "modernc.org/libquickjs"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// NotJSONError reports a value that JSON cannot represent, and where it is.
type NotJSONError struct{ text string }

func (e *NotJSONError) Error() string { return e.text }

// maxDepth is the deepest nesting of a value. The bridge allows 512 levels including those of the frame.
const maxDepth = 500

// EncodeJSON returns v as JSON of at most max bytes. It does what JSON.stringify does, but a value that JSON cannot represent is
// a *NotJSONError that names the place, instead of being omitted or null. As in JSON.stringify, toJSON is called, and undefined
// members, TypeScript's optional properties, are omitted. A BigInt becomes an integer, a lone surrogate U+FFFD. where names the
// value in errors. The script's getters and toJSON methods are called, and what they throw is returned as an *Exception; nothing
// else that a script can replace is used.
func (vm *VM) EncodeJSON(v Value, where string, max int) ([]byte, error) {
	return vm.encode(v, &encoder{vm: vm, max: max, where: where})
}

// EncodeResult is EncodeJSON for the result of a script, which must not fail because JSON cannot represent a value. NaN and infinite
// numbers become text, a Map or Set becomes its contents, and functions and symbols are left out as JSON.stringify does.
func (vm *VM) EncodeResult(v Value, where string, max int) ([]byte, error) {
	return vm.encode(v, &encoder{vm: vm, max: max, where: where, isResult: true})
}

func (vm *VM) encode(v Value, e *encoder) ([]byte, error) {
	defer e.close()
	err := e.value(v, path{name: e.where})
	if err == nil && len(e.out) > e.max {
		err = &NotJSONError{fmt.Sprintf("%s has %d bytes as JSON; the limit is %d", e.where, len(e.out), e.max)}
	}
	return e.out, err
}

type encoder struct {
	vm    *VM
	out   []byte
	max   int
	where string
	// isResult is for EncodeResult.
	isResult bool
	parents  []uintptr
	names    map[lib.TJSAtom]memberName // names seen before; the records in a list share them
}

// memberName is the name of a member as text, and as JSON with a colon.
type memberName struct {
	text string
	json []byte
}

// maxNames bounds the names that are cached.
const maxNames = 1000

// name returns the name of an atom. The encoder holds a reference to each atom in names, because the engine reuses their numbers.
func (e *encoder) name(atom lib.TJSAtom) (memberName, error) {
	if n, ok := e.names[atom]; ok {
		return n, nil
	}
	v := Value(lib.XJS_AtomToString(e.vm.tls, e.vm.ctx, atom))
	defer e.vm.Free(v)
	text, err := e.vm.Text(v)
	if err != nil {
		return memberName{}, err
	}
	n := memberName{text, append(appendJSON(nil, text), ':')}
	if len(e.names) < maxNames {
		if e.names == nil {
			e.names = map[lib.TJSAtom]memberName{}
		}
		e.names[lib.XJS_DupAtom(e.vm.tls, e.vm.ctx, atom)] = n
	}
	return n, nil
}

// close releases the atoms in names.
func (e *encoder) close() {
	for atom := range e.names {
		lib.XJS_FreeAtom(e.vm.tls, e.vm.ctx, atom)
	}
}

// path is a place in a value. It is converted to text only for errors.
type path struct {
	up   *path
	name string
	item int // index in an array, if up is not nil and name is empty
}

func (p path) String() string {
	switch {
	case p.up == nil:
		return p.name
	case p.name == "":
		return fmt.Sprintf("%s[%d]", p.up, p.item)
	case ident.IsIdentifier(p.name):
		return p.up.String() + "." + p.name
	}
	return p.up.String() + "[" + string(appendJSON(nil, p.name)) + "]"
}

func (e *encoder) refuse(p path, format string, a ...any) error {
	return &NotJSONError{ident.Clip(p.String(), 200) + " " + fmt.Sprintf(format, a...)}
}

func (e *encoder) value(v Value, p path) error {
	if len(e.out) > e.max {
		return &NotJSONError{fmt.Sprintf("%s has more than %d bytes as JSON", e.where, e.max)}
	}
	switch v.tag() {
	case lib.EJS_TAG_INT:
		e.out = strconv.AppendInt(e.out, int64(int32(payload(v))), 10)
		return nil
	case lib.EJS_TAG_FLOAT64, lib.EJS_TAG_BIG_INT, lib.EJS_TAG_SHORT_BIG_INT:
		text, err := e.vm.Text(v)
		if err == nil && (text == "NaN" || text == "Infinity" || text == "-Infinity") {
			if e.isResult {
				e.out = append(e.out, `"`+text+`"`...)
				return nil
			}
			return e.refuse(p, "is %s, which JSON cannot hold", text)
		}
		e.out = append(e.out, text...)
		return err
	case lib.EJS_TAG_STRING, lib.EJS_TAG_STRING_ROPE:
		text, err := e.vm.Text(v)
		e.out = appendJSON(e.out, text)
		return err
	case lib.EJS_TAG_BOOL:
		e.out = strconv.AppendBool(e.out, v.Bool())
		return nil
	case lib.EJS_TAG_NULL:
		e.out = append(e.out, "null"...)
		return nil
	case lib.EJS_TAG_OBJECT:
		return e.object(v, p)
	case lib.EJS_TAG_UNDEFINED:
		return e.missing(p, "undefined")
	case lib.EJS_TAG_SYMBOL:
		return e.missing(p, "a symbol")
	}
	return e.refuse(p, "is a value that JSON cannot hold")
}

// missing encodes an item that has no JSON form: as null in a result, like JSON.stringify.
func (e *encoder) missing(p path, kind string) error {
	if e.isResult && p.up != nil {
		e.out = append(e.out, "null"...)
		return nil
	}
	return e.refuse(p, "is %s, which JSON cannot hold", kind)
}

// OnObject sets a function that EncodeJSON calls for every object first. It returns the object's JSON, or the reason why it has
// none; if both are empty, the object is encoded as usual. Nil removes the function.
func (vm *VM) OnObject(f func(v Value) (json, refusal string, err error)) { vm.object = f }

func (e *encoder) object(v Value, p path) error {
	if e.vm.object != nil {
		text, refusal, err := e.vm.object(v)
		switch {
		case err != nil:
			return err
		case refusal != "":
			return e.refuse(p, "%s", refusal)
		case text != "":
			e.out = append(e.out, text...)
			return nil
		}
	}
	if hint := e.vm.notJSON(v); hint != "" && !(e.isResult && e.vm.isCollection(v)) {
		return e.refuse(p, "is %s", hint)
	}
	plain, err := e.vm.toJSON(v)
	if err != nil {
		return err
	}
	defer e.vm.Free(plain)
	if !plain.IsObject() {
		return e.value(plain, p)
	}
	if e.vm.IsFunction(plain) {
		return e.missing(p, "a function")
	}
	for _, id := range e.parents {
		if id == plain.Identity() {
			return e.refuse(p, "contains itself")
		}
	}
	if len(e.parents) >= maxDepth {
		return e.refuse(p, "is nested deeper than %d", maxDepth)
	}
	e.parents = append(e.parents, plain.Identity())
	if lib.XJS_IsArray(e.vm.tls, e.vm.ctx, lib.TJSValue(plain)) > 0 {
		err = e.array(plain, p)
	} else {
		err = e.members(plain, p)
	}
	e.parents = e.parents[:len(e.parents)-1]
	return err
}

func (e *encoder) array(v Value, p path) error {
	length := e.vm.Get(v, "length")
	n, _ := length.Number()
	e.out = append(e.out, '[')
	for i := range int64(n) {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		item, err := e.vm.result(lib.XJS_GetPropertyUint32(e.vm.tls, e.vm.ctx, lib.TJSValue(v), uint32(i)))
		if err != nil {
			return err
		}
		err = e.value(item, path{up: &p, item: int(i)})
		e.vm.Free(item)
		if err != nil {
			return err
		}
	}
	e.out = append(e.out, ']')
	return nil
}

func (e *encoder) members(v Value, p path) error {
	atoms, free, err := e.vm.keys(v)
	if err != nil {
		return err
	}
	defer free()
	e.out = append(e.out, '{')
	first := true
	for _, a := range atoms {
		if err := e.member(v, a.Fatom, p, &first); err != nil {
			return err
		}
	}
	e.out = append(e.out, '}')
	return nil
}

func (e *encoder) member(v Value, atom lib.TJSAtom, p path, first *bool) error {
	member, err := e.vm.result(lib.XGetProperty(e.vm.tls, e.vm.ctx, lib.TJSValue(v), atom))
	if err != nil {
		return err
	}
	defer e.vm.Free(member)
	if member.IsUndefined() || e.isResult && e.isLeftOut(member) {
		return nil
	}
	name, err := e.name(atom)
	if err != nil {
		return err
	}
	if !*first {
		e.out = append(e.out, ',')
	}
	*first = false
	e.out = append(e.out, name.json...)
	return e.value(member, path{up: &p, name: name.text})
}

// isLeftOut reports whether JSON.stringify leaves a member out: symbols and functions, except placeholders, which are functions too.
func (e *encoder) isLeftOut(member Value) bool {
	if member.tag() == lib.EJS_TAG_SYMBOL {
		return true
	}
	if !e.vm.IsFunction(member) {
		return false
	}
	if e.vm.object == nil {
		return true
	}
	text, _, err := e.vm.object(member)
	return err == nil && text == ""
}

// keys returns the own enumerable string keys of an object.
func (vm *VM) keys(v Value) (atoms []lib.TJSPropertyEnum, free func(), err error) {
	out := vm.tls.Alloc(16)
	defer vm.tls.Free(16)
	if lib.XJS_GetOwnPropertyNames(vm.tls, vm.ctx, out, out+8, lib.TJSValue(v), lib.MJS_GPN_STRING_MASK|lib.MJS_GPN_ENUM_ONLY) < 0 {
		return nil, nil, vm.exception()
	}
	table, n := *(*uintptr)(pointer(out)), *(*uint32)(pointer(out + 8))
	return unsafe.Slice((*lib.TJSPropertyEnum)(pointer(table)), n), func() {
		lib.XJS_FreePropertyEnum(vm.tls, vm.ctx, table, n)
	}, nil
}

// toJSON returns the value that represents an object: the result of its toJSON method, the primitive value of a Number, String or
// Boolean object, or the object itself.
func (vm *VM) toJSON(v Value) (Value, error) {
	method := "toJSON"
	f := vm.Get(v, method)
	if !vm.IsFunction(f) {
		vm.Free(f)
		switch lib.XJS_GetClassID(vm.tls, lib.TJSValue(v)) {
		case lib.EJS_CLASS_NUMBER, lib.EJS_CLASS_STRING, lib.EJS_CLASS_BOOLEAN:
			f = vm.Get(v, "valueOf")
		default:
			return vm.Dup(v), nil
		}
	}
	defer vm.Free(f)
	key := vm.String("")
	defer vm.Free(key)
	return vm.Call(f, v, key)
}

// isCollection reports whether v is a Map or a Set.
func (vm *VM) isCollection(v Value) bool {
	class := lib.XJS_GetClassID(vm.tls, lib.TJSValue(v))
	return class == lib.EJS_CLASS_MAP || class == lib.EJS_CLASS_SET
}

// notJSON returns a hint for well-known objects that would silently become {} or a list of numbers, or "".
func (vm *VM) notJSON(v Value) string {
	switch class := lib.XJS_GetClassID(vm.tls, lib.TJSValue(v)); {
	case class == lib.EJS_CLASS_MAP:
		return "a Map, which JSON cannot hold; use Object.fromEntries(map)"
	case class == lib.EJS_CLASS_SET:
		return "a Set, which JSON cannot hold; use [...set]"
	case class == lib.EJS_CLASS_PROMISE:
		return "a Promise; await it first"
	case class == lib.EJS_CLASS_ARRAY_BUFFER, class == lib.EJS_CLASS_SHARED_ARRAY_BUFFER, class == lib.EJS_CLASS_DATAVIEW,
		class >= lib.EJS_CLASS_UINT8C_ARRAY && class <= lib.EJS_CLASS_FLOAT64_ARRAY:
		return `binary data, which JSON cannot hold; use Buffer.from(data).toString("base64")`
	}
	return ""
}

// appendJSON appends s, which must be valid UTF-8, as a string literal.
func appendJSON(b []byte, s string) []byte {
	const digits = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, `\n`...)
		case '\r':
			b = append(b, `\r`...)
		case '\t':
			b = append(b, `\t`...)
		default:
			b = append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
	}
	b = append(b, s[from:]...)
	return append(b, '"')
}
