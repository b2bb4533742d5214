package config

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/mcpgen/mcpgen/gen/config/node"
)

// Audit is the key audit of mcpgen.yaml: what is done with the record of runs and calls. Which runs are recorded is run.audit. With the zero
// value, rows are kept for good, and heads are signed with the user's own key and kept beside the rows.
type Audit struct {
	// Retention is the time after which contents of rows are removed, in days, such as 365d. Empty: they are kept.
	Retention string
	// Key is the Ed25519 key that signs heads. Nil: the user's own, which is made when it is first needed.
	Key *Secret
	// Head says where signed heads are published. Nil: nowhere.
	Head *AuditHead
	// Alerts says who is told of what. Nil: nobody.
	Alerts *AuditAlerts
}

// AuditHead is where signed heads of the record go.
type AuditHead struct {
	// File is appended to; relative to the folder of mcpgen.yaml. Empty: none.
	File string
	// Command is started for each head, with the head on standard input. Nil: none.
	Command []string
	// Telemetry sends heads with the traces.
	Telemetry bool
}

// Path returns File as a path of this machine. dir is the folder of mcpgen.yaml. Empty: no file.
func (h *AuditHead) Path(dir string) string {
	if h.File == "" || filepath.IsAbs(h.File) {
		return h.File
	}
	return filepath.Join(dir, filepath.FromSlash(h.File))
}

// AuditAlerts are what a program is started for, with the alert as JSON on standard input.
type AuditAlerts struct {
	Command []string
	// On are the kinds of alerts. Nil: [DefaultAuditAlerts].
	On []string
}

// DefaultAuditAlerts are the alerts that are sent if the settings name none.
func DefaultAuditAlerts() []string { return []string{"high_risk", "violation", "blocked", "failure"} }

// RetentionTime returns Retention as a time. 0: contents are kept.
func (a *Audit) RetentionTime() time.Duration { return daysOf(a.Retention) }

// daysOf returns a number of days, such as 90d, which the schema has checked. An empty text is 0.
func daysOf(text string) time.Duration {
	days, _ := strconv.Atoi(strings.TrimSuffix(text, "d"))
	return time.Duration(days) * 24 * time.Hour
}

// complete makes the checks that the schema cannot make.
func (a *Audit) complete(file *node.File, root *yaml.Node) error {
	if head := node.Value(root, "head"); a.Head != nil && a.Head.File == "" && a.Head.Command == nil && !a.Head.Telemetry {
		return file.ErrorAt(head.Line, "audit.head", "it names neither a file nor a command, nor telemetry", fmt.Sprintf("name where heads go, such as head: {file: %s}", "audit-heads.txt"))
	}
	return nil
}
