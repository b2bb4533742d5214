package script_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestPlacesOfFindings: columns are bytes of the text that was written, and calls in annotations are found.
func TestPlacesOfFindings(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"a.ts", "const 名: string = '😀é'; eval(名);\n", "1:31 dynamic-code"},
		{"b.ts", "const a: string = `\u2028`;\nlet é = 1, b = eval(a);\n", "2:17 dynamic-code"},
		{"a.py", "é = 1; import os; f = os.system\n", "1:27 process"},
		{"annotation.py", "x: eval('1 + 1') = 2\n", "1:4 dynamic-code"},
		{"parameter.py", "import os\ndef f(x: os.system('ls')) -> str:\n    return x\n", "2:10 process"},
		{"type.py", "import shutil\ndef f(x: shutil.rmtree) -> None:\n    print(x)\n", ""},
	}
	var files []txtar.File
	for _, tt := range tests {
		files = append(files, txtar.File{Name: tt.name, Data: []byte(tt.text)})
	}
	reports := judged(t, files)
	for _, tt := range tests {
		var got []string
		for _, f := range reports[tt.name].Findings {
			got = append(got, fmt.Sprintf("%d:%d %s", f.Line, f.Column, f.Rule))
		}
		if tt.want != "" && !slices.Contains(got, tt.want) || tt.want == "" && len(got) > 0 {
			t.Errorf("%s has the findings %q, want %q", tt.name, got, tt.want)
		}
	}
}
