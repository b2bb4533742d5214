package engine

import (
	"unsafe"

	lib "modernc.org/libquickjs"
)

// Value is a JavaScript value. The zero Value is invalid; see [Undefined].
type Value lib.TJSValue

// payload returns the union of a value, its first field.
func payload(v Value) uintptr { return *(*uintptr)(unsafe.Pointer(&v)) }

// Undefined returns undefined. The values of Undefined, Null, Bool, Int and Float need not be freed.
func Undefined() Value { return Value{Ftag: lib.EJS_TAG_UNDEFINED} }

// Null returns null.
func Null() Value { return Value{Ftag: lib.EJS_TAG_NULL} }

// Bool returns a boolean.
func Bool(b bool) Value {
	v := Value{Ftag: lib.EJS_TAG_BOOL}
	if b {
		*(*uint64)(unsafe.Pointer(&v)) = 1
	}
	return v
}

// Int returns a number.
func Int(n int) Value {
	if int(int32(n)) != n {
		return Float(float64(n))
	}
	v := Value{Ftag: lib.EJS_TAG_INT}
	*(*uint64)(unsafe.Pointer(&v)) = uint64(uint32(n))
	return v
}

// Float returns a number.
func Float(f float64) Value {
	v := Value{Ftag: lib.EJS_TAG_FLOAT64}
	*(*float64)(unsafe.Pointer(&v)) = f
	return v
}

// Predicates on the tag; none of them runs JavaScript.

func (v Value) tag() int32        { return int32(v.Ftag) }
func (v Value) IsUndefined() bool { return v.tag() == lib.EJS_TAG_UNDEFINED }
func (v Value) IsNull() bool      { return v.tag() == lib.EJS_TAG_NULL }
func (v Value) IsObject() bool    { return v.tag() == lib.EJS_TAG_OBJECT }
func (v Value) IsString() bool {
	return v.tag() == lib.EJS_TAG_STRING || v.tag() == lib.EJS_TAG_STRING_ROPE
}
func (v Value) IsNumber() bool { return v.tag() == lib.EJS_TAG_INT || v.tag() == lib.EJS_TAG_FLOAT64 }

// Identity returns a number that is unique among living objects.
func (v Value) Identity() uintptr { return payload(v) }

// Bool reports whether v is the boolean true.
func (v Value) Bool() bool { return v.tag() == lib.EJS_TAG_BOOL && payload(v)&1 != 0 }

// Number returns the value of a number and true, or 0 and false if v is not a number.
func (v Value) Number() (float64, bool) {
	switch v.tag() {
	case lib.EJS_TAG_INT:
		return float64(int32(payload(v))), true
	case lib.EJS_TAG_FLOAT64:
		return *(*float64)(unsafe.Pointer(&v)), true
	}
	return 0, false
}
