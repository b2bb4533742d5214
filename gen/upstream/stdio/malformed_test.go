package stdio

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream/redact"
)

// A malformed answer fails its own request. What cannot be assigned to a request ends the connection, with an error that
// does not quote the message: all requests in flight get it.
func TestMalformedMessages(t *testing.T) {
	for _, c := range []struct{ line, answers, ends string }{
		{line: `{"jsonrpc":"2.0","id":3,"result":{"private":NaN}}`, answers: "malformed"},
		{line: `{"id":3,"result":{"private":1}}`, answers: "malformed"},
		{line: `{"jsonrpc":"2.0","result":{"private":NaN},"id":3}`, ends: "malformed"},
		{line: `{"jsonrpc":"2.0","id":3,"method":"private","params":NaN}`, ends: "malformed"},
		{line: `{"jsonrpc":"2.0","private":`, ends: "malformed"},
		{line: `{"level":"error","id":3,"error":"private"}`, ends: "EOF"},
	} {
		msg, err := firstMessage(t, c.line)
		resp, _ := msg.(*jsonrpc.Response)
		var text string
		switch {
		case c.ends != "" && err != nil:
			text = err.Error()
		case c.answers != "" && resp != nil && resp.Error != nil:
			text = resp.Error.Error()
			if id, _ := json.Marshal(resp.ID.Raw()); string(id) != "3" {
				t.Errorf("%s answers request %s, want 3", c.line, id)
			}
		}
		if !strings.Contains(text, c.answers+c.ends) || strings.Contains(text, "private") {
			t.Errorf("%s gives %v, %v, want %q without a quotation", c.line, msg, err, c.answers+c.ends)
		}
	}
}

// firstMessage returns what comes of a server that writes one line and ends.
func firstMessage(t *testing.T, line string) (jsonrpc.Message, error) {
	t.Helper()
	c, err := Start(Options{
		Server: config.Server{Command: "printf", Args: []string{`%s\n`, line}, Cwd: t.TempDir()}, Lookup: os.LookupEnv,
		Secret: &redact.Redactor{}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return c.Read(ctx)
}
