package stdio

import (
	"io"
	"log/slog"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream/redact"
)

// Options are the settings of [Start]. All but Stderr are required.
type Options struct {
	// Server is a stdio server, its variables expanded.
	Server config.Server
	// Lookup finds the few variables that a server inherits: see [InheritedNames].
	Lookup config.Lookup
	// Stderr receives the server's standard error, one Write per line, without control characters. Nil drops it.
	Stderr io.Writer
	// Secret removes secrets from standard error and from the log.
	Secret *redact.Redactor
	Log    *slog.Logger
}
