// Package exit has the exit codes of mcpgen. docs/reference/lock-and-report.md says what each means to a pipeline.
package exit

// The codes of errors and of reports.
const (
	OutOfDate   = 1 // out of date, not what the lock pins, or something is left to do by hand
	Usage       = 2 // usage, configuration or files
	Unreachable = 3 // a server could not be asked, or used
	Strict      = 4 // with --strict: a tool could not be generated, or a text is suspicious
)
