package report

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"golang.org/x/text/unicode/norm"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/egress"
	"github.com/mcpgen/mcpgen/runner/risk"
	"github.com/mcpgen/mcpgen/runner/store"
)

// The format that MCP's SEP-3004 proposed. The SEP was closed without being merged, and its text is continued word for word as the
// Tamper-Evident Audit Record Contract, of which this is version 1.0.0:
// https://github.com/notboatanchor/audit-record-contract/blob/ddead4dca28e736012d70b669b9ef80c37cceaee/spec/audit-record-contract.md.
// Sections below are those of that text.
const (
	contractForm     = "audit-record-contract/1"
	contractVerifier = "https://github.com/notboatanchor/audit-record-contract/tree/ddead4dca28e736012d70b669b9ef80c37cceaee/vectors"
	contractTime     = "2006-01-02T15:04:05.000Z" // §2.3
	contractText     = 8192                       // §2.3: UTF-16 units of a text
)

// callTool is the action of a run that is a call without a script: the call says it all.
const callTool = "call_tool"

// contractRecord is an audit record (§2.1). Its fields are in the order of the canonical form (§2.3), but for the hash, which is not in it.
type contractRecord struct {
	EventID      string             `json:"event_id"`
	EventType    string             `json:"event_type"` // "code_execution", "tool_call" or "network_connection"
	Extensions   contractExtensions `json:"extensions"`
	OccurredAt   string             `json:"occurred_at"`
	Outcome      string             `json:"outcome"` // "allowed", "denied", "deferred" or "error" (§2.1.1)
	PreviousHash *string            `json:"previous_hash"`
	PrincipalID  string             `json:"principal_id"`
	ToolName     *string            `json:"tool_name"`
}

// contractExtensions has the extension that fits what the record knows (§2.2).
type contractExtensions struct {
	Caller contractCaller `json:"caller-governance"`
}

type contractCaller struct {
	Flagged bool    `json:"flagged"`
	Human   *string `json:"human_actor_id"`
	Invoker *string `json:"invoked_by_principal_id"`
	Purpose string  `json:"purpose_declared"`
	Session *string `json:"session_id"`
}

// canonical returns the canonical form of a record (§2.3). Its fields are sorted, and after [contractString] its texts hold nothing that
// encoding/json would write differently.
func canonical(record *contractRecord) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(record)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// contractString makes a text fit the rules for protected texts (§2.3): characters that it forbids are written as in Go.
func contractString(s string) string {
	s = strings.Trim(norm.NFC.String(ident.Escape(s, "")), " ")
	if units := utf16.Encode([]rune(s)); len(units) > contractText {
		s = strings.TrimRight(string(utf16.Decode(units[:contractText-2])), " \ufffd") + "…" // the cut may leave half of a pair
	}
	return s
}

// contractOptional returns a text or null: it is recorded, and had no value.
func contractOptional(s audit.Text) *string {
	if s == "" {
		return nil
	}
	text := contractString(string(s))
	return &text
}

// Contract writes the runs, calls and connections of a period in the format of SEP-3004: one JSON object with the attestation manifest (§2.7)
// and one chain segment (§2.4). The chain is made for the export. It shows changes of the exported file; what shows changes of the record
// itself is its own tree, which the manifest names.
func Contract(ctx context.Context, rec store.Record, from, to time.Time, w io.Writer) error {
	out := bufio.NewWriter(w)
	manifest, err := json.Marshal(map[string]string{
		"storage_mechanism": "append-only Merkle tree (RFC 6962) with signed C2SP checkpoints", "chain_algorithm": "sha-256",
		"canonical_form_version": contractForm, "verification_procedure_ref": contractVerifier,
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "{\"attestation_manifest\":%s,\n\"records\":[", manifest)
	c := &contract{out: out, runs: map[string]*audit.Program{}, open: map[callKey]bool{}}
	kinds := []string{string(audit.KindRun), string(audit.KindRunEnd), string(audit.KindCall), string(audit.KindCallEnd), string(audit.KindConnection)}
	err = rec.Rows(ctx, store.Range{From: from, To: to, Kinds: kinds}, func(s store.Row) error {
		r, err := decode(s)
		if err != nil || r.Forgotten {
			return err
		}
		return c.row(r)
	})
	if err != nil {
		return err
	}
	fmt.Fprint(out, "]}\n")
	return out.Flush()
}

// contract is an export under way.
type contract struct {
	out      *bufio.Writer
	previous *string
	runs     map[string]*audit.Program // those without an end yet
	open     map[callKey]bool          // calls whose beginning is written
}

// row writes what a row says: the beginning of what was allowed, and the end of what was not. Ends of what was allowed add nothing that the
// format has a place for.
func (c *contract) row(r *row) error {
	record := &contractRecord{EventType: "code_execution", Outcome: "allowed"}
	caller := &record.Extensions.Caller
	switch r.Kind {
	case audit.KindRun:
		b, err := body[audit.RunStart](r)
		if err != nil {
			return err
		}
		c.runs[r.Run] = &b.Program
		if caller.Flagged = flagged(b.Risk); b.Action == callTool {
			return nil
		}
	case audit.KindRunEnd:
		b, err := body[audit.RunEnd](r)
		if err != nil {
			return err
		}
		if began := c.runs[r.Run] != nil || b.Sandbox != "none" || b.Action == callTool && b.Calls > 0; began { // it is written, or began before the period
			delete(c.runs, r.Run)
			return nil
		}
		caller.Flagged, caller.Human = flagged(b.Risk) || len(b.Violations) > 0, contractOptional(b.By)
		if b.Action == callTool {
			record.EventType, record.ToolName = "tool_call", contractOptional(b.Name)
		}
		defer delete(c.runs, r.Run)
		c.runs[r.Run] = &b.Program
		if record.Outcome = "error"; outcomeOf(b) == Refused {
			record.Outcome = "denied"
		}
	case audit.KindCall, audit.KindCallEnd:
		var err error
		if record.ToolName, record.Outcome, caller.Human, err = c.call(r); err != nil || record.ToolName == nil {
			return err
		}
		record.EventType, caller.Flagged = "tool_call", record.Outcome != "allowed"
	case audit.KindConnection:
		b, err := body[egress.Event](r)
		if err != nil {
			return err
		}
		host := contractString(b.Host + ":" + strconv.Itoa(b.Port))
		record.EventType, record.ToolName, caller.Human = "network_connection", &host, contractOptional(audit.Text(b.By))
		if !b.Allowed {
			record.Outcome, caller.Flagged = "denied", true
		}
	}
	return c.write(r, record)
}

// call returns the tool of a call that is not written yet, and what was decided about it.
func (c *contract) call(r *row) (tool *string, outcome string, by *string, err error) {
	var one Call
	if r.Kind == audit.KindCall {
		err = with(r, func(b *audit.CallStart) { one.start(r, b) })
		c.open[callKey{r.Run, one.Call}] = true
	} else {
		err = with(r, func(b *audit.CallEnd) { one.finish(r, b) })
		key := callKey{r.Run, one.Call}
		if c.open[key] || one.Effect == "" && one.Arguments == nil && one.class() != Refused { // it is written, or began before the period
			delete(c.open, key)
			return nil, "", nil, err
		}
	}
	outcome = map[string]string{OK: "deferred", Refused: "denied", Failed: "error"}[one.class()] // OK: in a dry run
	if r.Kind == audit.KindCall || one.Cached {
		outcome = "allowed"
	}
	return contractOptional(audit.Text(one.Tool)), outcome, contractOptional(one.By), err
}

func flagged(level audit.Text) bool {
	l, err := risk.Parse(string(level))
	return err == nil && l >= risk.High
}

func (c *contract) write(r *row, record *contractRecord) error {
	record.EventID, record.OccurredAt, record.PreviousHash = "row-"+strconv.FormatInt(r.Index, 10), r.Time.UTC().Format(contractTime), c.previous
	record.PrincipalID = contractString(string(cmp.Or(r.Who.Customer, r.Who.User, r.Who.Client, Unknown)))
	caller := &record.Extensions.Caller
	caller.Session, caller.Invoker = contractOptional(r.Who.Session), contractOptional(r.Who.Client)
	caller.Purpose = "not declared"
	if p := c.runs[r.Run]; p != nil {
		caller.Purpose = contractString(join(join(p.Action, " ", p.Name), " sha256:", p.Code))
	}
	body, err := canonical(record)
	if err != nil {
		return err
	}
	hash := contractDigest(body)
	line, err := json.Marshal(struct {
		*contractRecord
		Hash string `json:"event_hash"`
	}{record, hash})
	if err != nil {
		return err
	}
	if c.previous != nil {
		c.out.WriteByte(',')
	}
	c.previous = &hash
	c.out.WriteByte('\n')
	_, err = c.out.Write(line)
	return err
}

// contractDigest returns the hash of a canonical form (§2.4).
func contractDigest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}
