package ident

import "strings"

// ReservedFile reports whether name, in any case, is the name of a device on Windows. No file or folder can have it
// there, with any extension.
func ReservedFile(name string) bool {
	switch strings.ToLower(name) {
	case "con", "prn", "aux", "nul", "conin$", "conout$":
		return true
	}
	if len(name) == 4 && name[3] >= '0' && name[3] <= '9' {
		prefix := strings.ToLower(name[:3])
		return prefix == "com" || prefix == "lpt"
	}
	return false
}

// ReservedDir reports whether name cannot be the folder of a server: because it is a device name, a keyword that Python cannot import, or
// the name of something else at the root of a tree.
func ReservedDir(name string) bool {
	switch strings.ToLower(name) {
	case "client", "index", "init", "mcprun", "readme", "skills", "node_modules", "pycache":
		return true
	}
	return ReservedFile(name) || PythonKeyword(name)
}

// PythonKeyword reports whether name is a keyword of Python 3.11 or newer. It returns false for soft keywords.
func PythonKeyword(name string) bool {
	switch name {
	case "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
		"elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
		"not", "or", "pass", "raise", "return", "try", "while", "with", "yield":
		return true
	}
	return false
}

// TypeScriptReserved reports whether no function in a TypeScript module can have name, in strict mode.
func TypeScriptReserved(name string) bool {
	switch name {
	case "arguments", "await", "break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete",
		"do", "else", "enum", "eval", "export", "extends", "false", "finally", "for", "function", "if", "implements",
		"import", "in", "instanceof", "interface", "let", "new", "null", "package", "private", "protected", "public",
		"return", "static", "super", "switch", "this", "throw", "true", "try", "typeof", "undefined", "var", "void",
		"while", "with", "yield":
		return true
	}
	return false
}
