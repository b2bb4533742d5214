package soundness

import (
	"encoding/json"
	"math/big"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
)

// count returns a bound such as minItems, or without if the schema has none.
func count(s object, key string, without int) int {
	n, ok := s[key].(json.Number)
	if !ok {
		return without
	}
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil || f < 0 || f > 1<<20 {
		return without
	}
	return int(f)
}

// numbers suggests numbers around the bounds of a schema; not all of them fit.
func numbers(s object) []any {
	var out []any
	add := func(r *big.Rat) {
		text := r.RatString()
		if !r.IsInt() {
			text = strings.TrimRight(r.FloatString(6), "0")
		}
		out = append(out, json.Number(text))
	}
	one := big.NewRat(1, 1)
	step := rational(s, "multipleOf")
	for _, key := range []string{"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"} {
		if r := rational(s, key); r != nil {
			add(r)
			add(new(big.Rat).Add(r, one))
			add(new(big.Rat).Sub(r, one))
			if step != nil {
				times := new(big.Int).Quo(new(big.Rat).Quo(r, step).Num(), new(big.Rat).Quo(r, step).Denom())
				add(new(big.Rat).Mul(step, new(big.Rat).SetInt(times)))
			}
		}
	}
	if low, high := rational(s, "minimum"), rational(s, "maximum"); low != nil && high != nil {
		add(new(big.Rat).Quo(new(big.Rat).Add(low, high), big.NewRat(2, 1)))
	}
	if step != nil {
		add(step)
	}
	out = append(out, json.Number("1"), json.Number("0"), json.Number("25"), json.Number("-1"), json.Number("1000000"))
	if !only(s, "integer") {
		out = append(out, json.Number("1.5"), json.Number("0.25"))
	}
	return out
}

func only(s object, name string) bool {
	names := typeNames(s["type"])
	return len(names) == 1 && names[0] == name
}

func rational(s object, key string) *big.Rat {
	n, ok := s[key].(json.Number)
	if !ok || len(n) > 40 || strings.ContainsAny(string(n), "eE") {
		return nil
	}
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		return nil
	}
	return r
}

// texts suggests strings for a schema's format, pattern and length; not all of them fit.
func texts(s object) []any {
	var out []any
	if pattern, ok := s["pattern"].(string); ok {
		if text, ok := matching(pattern); ok {
			out = append(out, padded(s, text), text)
		}
	}
	if format, ok := s["format"].(string); ok {
		if text := formatted(format); text != "" {
			out = append(out, text)
		}
	}
	for _, text := range []string{"some text", "a", "", "2026-01-31", "https://example.com/a", "1"} {
		out = append(out, padded(s, text))
	}
	return out
}

func padded(s object, text string) string {
	if least := count(s, "minLength", 0); least <= 10_000 {
		for len(text) < least {
			text += "a"
		}
	}
	if most := count(s, "maxLength", 1<<20); len(text) > most {
		text = text[:most]
	}
	return text
}

func formatted(format string) string {
	return map[string]string{
		"date-time": "2026-01-31T12:00:00Z", "date": "2026-01-31", "time": "12:00:00Z", "duration": "P1D",
		"email": "a@example.com", "idn-email": "a@example.com", "hostname": "example.com", "idn-hostname": "example.com",
		"ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "uri": "https://example.com/a", "uri-reference": "/a",
		"iri": "https://example.com/a", "iri-reference": "/a", "uuid": "123e4567-e89b-42d3-a456-426614174000",
		"uri-template": "/a/{b}", "json-pointer": "/a", "relative-json-pointer": "0", "regex": "^a$",
	}[format]
}

func matches(pattern, text string) bool {
	re, err := regexp.Compile(pattern)
	return err == nil && re.MatchString(text)
}

// matching returns a text that a pattern matches.
func matching(pattern string) (string, bool) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", false
	}
	var b strings.Builder
	spell(&b, re)
	return b.String(), matches(pattern, b.String())
}

func spell(b *strings.Builder, re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(member(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('a')
	case syntax.OpRepeat:
		for range max(re.Min, 1) {
			if re.Max != 0 && b.Len() < 1<<16 {
				spell(b, re.Sub[0])
			}
		}
	case syntax.OpAlternate, syntax.OpCapture, syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		spell(b, re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			spell(b, sub)
		}
	}
}

// member returns a character of a class, a common one if possible.
func member(ranges []rune) rune {
	for _, want := range "a1A_-. /" {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= want && want <= ranges[i+1] {
				return want
			}
		}
	}
	if len(ranges) == 0 {
		return 'a'
	}
	return ranges[0]
}
