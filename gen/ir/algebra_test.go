package ir

import "testing"

var (
	str  = String{}
	num  = Number{}
	in   = Number{Integer: true}
	a, b = Literal{Text: "a"}, Literal{Text: "b"}
	one  = Literal{Kind: LiteralNumber, Text: "1"}
	objA = Object{Fields: []Field{{Name: "a", Type: str}}}
	objB = Object{Fields: []Field{{Name: "b", Type: num, Required: true}}}
)

var wide4 = Object{Fields: []Field{{Name: "a", Type: str}, {Name: "b", Type: str}, {Name: "c", Type: str}, {Name: "d", Type: str}, {Name: "e", Type: str}}}

func needs(name string) Object {
	return Object{Fields: []Field{{Name: name, Type: Unknown{}, Required: true}}}
}

func TestSubtract(t *testing.T) {
	absent := func(name string) Object { return Object{Fields: []Field{{Name: name, Type: Never{}}}} }
	tests := []struct {
		name string
		a, b Type
		want Type
		wide bool
	}{
		{"a kind", Union{Members: []Type{str, num}}, str, num, false},
		{"all", str, Unknown{}, Never{}, false},
		{"literals", Union{Members: []Type{a, b}}, a, b, false},
		{"an equal number", one, Literal{Kind: LiteralNumber, Text: "1.0"}, Never{}, false},
		{"a literal of many", str, a, str, true},
		{"integers of numbers", num, in, num, true},
		{"true", Bool{}, Literal{Kind: LiteralBool, Bool: true}, Literal{Kind: LiteralBool}, false},
		{"a required property", Map{Value: Unknown{}}, needs("a"), absent("a"), false},
		{"what it has", needs("a"), needs("a"), Never{}, false},
		{"a constant property", Object{Fields: []Field{{Name: "k", Type: Union{Members: []Type{a, b}}, Required: true}}}, Object{Fields: []Field{{Name: "k", Type: a}}},
			Object{Fields: []Field{{Name: "k", Type: b, Required: true}}}, false},
		{"lists that are not empty", Array{Elem: str}, Tuple{Items: []Type{Unknown{}}, Required: 1, Rest: Unknown{}}, Array{Elem: Never{}}, false},
	}
	for _, tt := range tests {
		var x Algebra
		if got := x.Subtract(tt.a, tt.b); Key(got) != Key(tt.want) || (x.Widened > 0) != tt.wide {
			t.Errorf("%s: got %s (widened %d), want %s", tt.name, Key(got), x.Widened, Key(tt.want))
		}
	}
}

func TestSameAgreesWithKey(t *testing.T) {
	types := []Type{Unknown{}, Never{}, Null{}, Bool{}, str, num, in, a, b, one, Array{Elem: str}, Array{Elem: num}, Tuple{Items: []Type{str}, Rest: Never{}},
		Tuple{Items: []Type{str}, Required: 1, Rest: Never{}}, Map{Value: str}, objA, objB, Object{}, Object{Extra: Never{}}, wide4, Ref{}, Ref{Name: "x"},
		Union{Members: []Type{str, num}}, Union{Members: []Type{num, str}}, Intersection{Members: []Type{objA, objB}}}
	for _, x := range types {
		for _, y := range types {
			if Same(x, y) != (Key(x) == Key(y)) {
				t.Errorf("Same(%s, %s) = %t", Key(x), Key(y), Same(x, y))
			}
		}
	}
}

func TestNewUnion(t *testing.T) {
	tests := []struct {
		name string
		in   []Type
		want Type
	}{
		{"nothing", nil, Never{}},
		{"one", []Type{str}, str},
		{"repeated", []Type{str, str}, str},
		{"unknown takes all", []Type{str, Unknown{}}, Unknown{}},
		{"never adds nothing", []Type{Never{}, str}, str},
		{"texts beside any text", []Type{a, str, b}, Union{Members: []Type{a, str, b}}},
		{"a number beside any number", []Type{num, one}, Union{Members: []Type{num, one}}},
		{"true within bool", []Type{Literal{Kind: LiteralBool, Bool: true}, Bool{}}, Bool{}},
		{"an object beside any object", []Type{objA, Map{Value: Unknown{}}}, Union{Members: []Type{objA, Map{Value: Unknown{}}}}},
		{"an object beside anything", []Type{Unknown{}, objA, str}, Union{Members: []Type{objA, Unknown{}}}},
		{"an object beside every kind", []Type{str, num, Bool{}, Null{}, Array{Elem: Unknown{}}, objA, Map{Value: Unknown{}}}, Union{Members: []Type{objA, Unknown{}}}},
		{"what is only required within any object", []Type{needs("a"), Map{Value: Unknown{}}}, Map{Value: Unknown{}}},
		{"a list of objects beside any list", []Type{Array{Elem: Unknown{}}, Array{Elem: objA}}, Union{Members: []Type{Array{Elem: Unknown{}}, Array{Elem: objA}}}},
		{"a list of texts within any list", []Type{Array{Elem: Unknown{}}, Array{Elem: str}}, Array{Elem: Unknown{}}},
		{"a map of texts within any object", []Type{Map{Value: str}, Map{Value: Unknown{}}}, Map{Value: Unknown{}}},
		{"integer within number", []Type{in, num}, num},
		{"nested", []Type{Union{Members: []Type{a, Null{}}}, a}, Union{Members: []Type{a, Null{}}}},
		{"every kind", []Type{str, num, Bool{}, Null{}, Array{Elem: Unknown{}}, Map{Value: Unknown{}}}, Unknown{}},
	}
	for _, tt := range tests {
		if got := NewUnion(tt.in...); Key(got) != Key(tt.want) {
			t.Errorf("%s: got %s, want %s", tt.name, Key(got), Key(tt.want))
		}
	}
}

func TestMeet(t *testing.T) {
	both := Object{Fields: []Field{{Name: "a", Type: str}, {Name: "b", Type: num, Required: true}}}
	tests := []struct {
		name string
		x, y Type
		want Type
	}{
		{"unknown", Unknown{}, str, str},
		{"kinds that exclude each other", str, num, Never{}},
		{"literal of the kind", a, str, a},
		{"literal of another kind", one, str, Never{}},
		{"integer", num, in, in},
		{"objects", objA, objB, both},
		{"union and kind", Union{Members: []Type{a, Null{}, one}}, str, a},
		{"unions", Union{Members: []Type{str, num}}, Union{Members: []Type{num, Null{}}}, num},
		{"arrays", Array{Elem: str}, Array{Elem: Union{Members: []Type{a, one}}}, Array{Elem: a}},
		{"object and any map", objA, Map{Value: Unknown{}}, objA},
		{"object and map", objA, Map{Value: str}, Object{Fields: objA.Fields, Extra: str}},
		{"object and union of small objects", objA, Union{Members: []Type{objA, objB}}, Union{Members: []Type{objA, both}}},
		{"object and union that needs its fields", wide4, Union{Members: []Type{needs("a"), needs("b")}}, Intersection{Members: []Type{wide4, Union{Members: []Type{needs("a"), needs("b")}}}}},
		{"object and union, one of which it excludes", Object{Fields: []Field{{Name: "k", Type: a, Required: true}}}, Union{Members: []Type{
			Object{Fields: []Field{{Name: "k", Type: a}, {Name: "x", Type: str}}}, Object{Fields: []Field{{Name: "k", Type: b}, {Name: "y", Type: str}}}}},
			Object{Fields: []Field{{Name: "k", Type: a, Required: true}, {Name: "x", Type: str}}}},
		{"closed objects", Object{Fields: []Field{{Name: "a", Type: str}}, Extra: Never{}}, Object{Fields: []Field{{Name: "b", Type: str}}, Extra: Never{}}, Object{Extra: Never{}}},
		{"closed object and a needed field", Object{Fields: []Field{{Name: "a", Type: str}}, Extra: Never{}}, needs("z"), Never{}},
		{"numbers written differently", one, Literal{Kind: LiteralNumber, Text: "1.0"}, one},
		{"integer and fraction", in, Literal{Kind: LiteralNumber, Text: "1.5"}, Never{}},
		{"tuple and list", Tuple{Items: []Type{str, num}, Rest: Never{}}, Array{Elem: str}, Tuple{Items: []Type{str}, Rest: Never{}}},
		{"tuple that must have what it cannot", Tuple{Items: []Type{str, num}, Required: 2, Rest: Never{}}, Array{Elem: str}, Never{}},
		{"reference", Ref{Name: "x"}, objA, Intersection{Members: []Type{Ref{Name: "x"}, objA}}},
		{"reference and unknown", Unknown{}, Ref{Name: "x"}, Ref{Name: "x"}},
	}
	for _, tt := range tests {
		if got := Meet(tt.x, tt.y); Key(got) != Key(tt.want) {
			t.Errorf("%s: got %s, want %s", tt.name, Key(got), Key(tt.want))
		}
	}
}

func TestNullable(t *testing.T) {
	s := &Schema{Root: objA, Defs: []Def{{Name: "n", Type: Union{Members: []Type{str, Null{}}}}, {Name: "loop", Type: Ref{Name: "loop"}}}}
	for _, tt := range []struct {
		typ  Type
		want bool
	}{{str, false}, {Null{}, true}, {Unknown{}, true}, {Ref{Name: "n"}, true}, {Ref{}, false}, {Ref{Name: "loop"}, true}} {
		if got := s.Nullable(tt.typ); got != tt.want {
			t.Errorf("Nullable(%s) = %t, want %t", Key(tt.typ), got, tt.want)
		}
	}
}
