package script

import (
	"errors"
	"testing"
)

func TestReturnsThatAreLost(t *testing.T) {
	for code, line := range map[string]int{
		"const fs = require('fs');\nreturn fs.constants;":        2,
		"async function main() { return 1 }\n\nreturn main();":   3,
		"if (1) return { a: 1 };":                                1,
		"return":                                                 0,
		"if (process.argv.length) return;\nconsole.log('x')":     0,
		"if (1) { return }\nfunction f() { return 5 }\nf()":      0,
		"module.exports = () => { return 5 };":                   0,
		"const f = () => { return 5 };\nexport const result = 1": 0,
	} {
		_, err := Read(t.Context(), typescript(code, ""), Options{})
		var bad *Error
		switch {
		case line == 0 && err != nil:
			t.Errorf("%s: %v", code, err)
		case line > 0 && (!errors.As(err, &bad) || len(bad.Problems) != 1 || bad.Problems[0].Line != line || bad.Problems[0].Text != lostResult):
			t.Errorf("%s: %v", code, err)
		}
	}
}
