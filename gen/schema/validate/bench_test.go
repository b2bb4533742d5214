package validate

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// BenchmarkValidate measures checks of small and large values.
func BenchmarkValidate(b *testing.B) {
	v, err := Compile(json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"},"rows":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string"}},"required":["id"]}}}}`))
	if err != nil {
		b.Fatal(err)
	}
	rows := make([]string, 100_000)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"id":%d,"name":"the name of row %d, which has some length to it so that the whole is large"}`, i, i)
	}
	for _, c := range []struct{ name, value string }{
		{"small", `{"text":"a"}`},
		{"one text of 10 MB", `{"text":"` + strings.Repeat("x", 10<<20) + `"}`},
		{"10 MB with escapes", `{"text":"` + strings.Repeat(`line\n`, 10<<20/6) + `"}`},
		{"rows of 10 MB", `{"rows":[` + strings.Join(rows, ",") + `]}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.value)))
			b.ReportAllocs()
			for b.Loop() {
				if err := v.Validate(json.RawMessage(c.value)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
