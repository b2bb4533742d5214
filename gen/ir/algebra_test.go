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
		{"literals within their kind", []Type{a, str, b}, str},
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
		{"object and union of objects", objA, Union{Members: []Type{objA, objB}}, Intersection{Members: []Type{objA, Union{Members: []Type{objA, objB}}}}},
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
			t.Errorf("Nullable(%s) = %t", Key(tt.typ), got)
		}
	}
}
