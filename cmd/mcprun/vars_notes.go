package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// pythonNames are the built-in names of Python 3.9 to 3.14.
const pythonNames = `
	ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup BlockingIOError BrokenPipeError BufferError
	BytesWarning ChildProcessError ConnectionAbortedError ConnectionError ConnectionRefusedError ConnectionResetError
	DeprecationWarning EOFError Ellipsis EncodingWarning EnvironmentError Exception ExceptionGroup FileExistsError FileNotFoundError
	FloatingPointError FutureWarning GeneratorExit IOError ImportError ImportWarning IndentationError IndexError InterruptedError
	IsADirectoryError KeyError KeyboardInterrupt LookupError MemoryError ModuleNotFoundError NameError NotADirectoryError
	NotImplemented NotImplementedError OSError OverflowError PendingDeprecationWarning PermissionError ProcessLookupError
	RecursionError ReferenceError ResourceWarning RuntimeError RuntimeWarning StopAsyncIteration StopIteration SyntaxError
	SyntaxWarning SystemError SystemExit TabError TimeoutError TypeError UnboundLocalError UnicodeDecodeError UnicodeEncodeError
	UnicodeError UnicodeTranslateError UnicodeWarning UserWarning ValueError Warning ZeroDivisionError abs aiter all anext any ascii
	bin bool breakpoint bytearray bytes callable chr classmethod compile complex copyright credits delattr dict dir divmod enumerate
	eval exec exit filter float format frozenset getattr globals hasattr hash help hex id input int isinstance issubclass iter len
	license list locals map max memoryview min next object oct open ord pow print property quit range repr reversed round set setattr
	slice sorted staticmethod str sum super tuple type vars zip
`

// scriptNames are the globals of Node.js 18 to 24 and of the embedded engine, and what every object has.
const scriptNames = `
	AbortController AbortSignal AggregateError Array ArrayBuffer AsyncDisposableStack Atomics BigInt BigInt64Array BigUint64Array Blob
	Boolean BroadcastChannel Buffer ByteLengthQueuingStrategy CloseEvent CompressionStream CountQueuingStrategy Crypto CryptoKey
	CustomEvent DOMException DataView Date DecompressionStream DisposableStack Error EvalError Event EventSource EventTarget File
	FinalizationRegistry Float16Array Float32Array Float64Array FormData Function Headers Infinity Int16Array Int32Array Int8Array
	InternalError Intl Iterator JSON Map Math MessageChannel MessageEvent MessagePort NaN Navigator Number Object Performance
	PerformanceEntry PerformanceMark PerformanceMeasure PerformanceObserver PerformanceObserverEntryList PerformanceResourceTiming
	Promise Proxy RangeError ReadableByteStreamController ReadableStream ReadableStreamBYOBReader ReadableStreamBYOBRequest
	ReadableStreamDefaultController ReadableStreamDefaultReader ReferenceError Reflect RegExp Request Response Set SharedArrayBuffer
	String SubtleCrypto SuppressedError Symbol SyntaxError TextDecoder TextDecoderStream TextEncoder TextEncoderStream TransformStream
	TransformStreamDefaultController TypeError URIError URL URLPattern URLSearchParams Uint16Array Uint32Array Uint8Array
	Uint8ClampedArray WeakMap WeakRef WeakSet WebAssembly WebSocket WritableStream WritableStreamDefaultController
	WritableStreamDefaultWriter XMLHttpRequest atob btoa clearImmediate clearInterval clearTimeout console constructor crypto
	decodeURI decodeURIComponent encodeURI encodeURIComponent escape eval fetch global globalThis hasOwnProperty isFinite isNaN
	isPrototypeOf navigator parseFloat parseInt performance process propertyIsEnumerable queueMicrotask require setImmediate
	setInterval setTimeout structuredClone toLocaleString toString unescape valueOf
`

// maxVarNotes bounds how many variables are told of.
const maxVarNotes = 5

// scriptName is a name that a variable can have in both languages.
var scriptName = regexp.MustCompile(`^[\p{L}\p{Nl}_$][\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}$]*$`)

// varNotes says which variables a script does not find as globals, and how it reads them. A script that names vars is taken to
// know.
func varNotes[V any](lang sandbox.Language, code string, vars map[string]V) []string {
	if len(vars) == 0 || strings.Contains(code, "vars") {
		return nil
	}
	way := `import { vars } from "mcprun"`
	if lang == sandbox.LangPython {
		way = "from mcprun import vars"
	}
	var notes []string
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		why := notGlobal(lang, name)
		if why == "" {
			continue
		}
		if len(notes) == maxVarNotes {
			return append(notes, "more variables are no globals either: "+way+" has all")
		}
		notes = append(notes, fmt.Sprintf("the variable %.60q is no global of the script: %s. Read it as vars[%.60q], with %s", name, why, name, way))
	}
	return notes
}

// notGlobal says why a variable is no global; empty: it is one.
func notGlobal(lang sandbox.Language, name string) string {
	spoken, reserved, names := "TypeScript", ident.TypeScriptReserved, scriptNames
	if lang == sandbox.LangPython {
		spoken, reserved, names = "Python", ident.PythonKeyword, pythonNames
	}
	switch {
	case reserved(name):
		return "it is a reserved word of " + spoken
	case slices.Contains(strings.Fields(names), name), lang == sandbox.LangPython && strings.HasPrefix(name, "__"):
		return "scripts in " + spoken + " have something of that name already"
	case !scriptName.MatchString(name), lang == sandbox.LangPython && strings.Contains(name, "$"):
		return spoken + " has no such names"
	}
	return ""
}
