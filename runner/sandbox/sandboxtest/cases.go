package sandboxtest

import "github.com/mcpgen/mcpgen/runner/sandbox"

// cases is the whole suite.
func cases() []testCase {
	var all []testCase
	for _, list := range [][]testCase{basicCases(), callCases(), fileCases(), isolationCases(), limitCases(), endCases()} {
		all = append(all, list...)
	}
	return all
}

// both is a script in each language.
func both(ts, py string) map[sandbox.Language]string {
	return map[sandbox.Language]string{sandbox.LangTypeScript: ts, sandbox.LangPython: py}
}

// python is a script in Python only: what it does has no counterpart elsewhere.
func python(py string) map[sandbox.Language]string {
	return map[sandbox.Language]string{sandbox.LangPython: py}
}
