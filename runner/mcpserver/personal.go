package mcpserver

import (
	"context"
	"fmt"
	"strings"
)

const maxPersonal = 4 << 20 // bytes of a text

func (c *conversation) text() (Vault, string, error) {
	var in struct {
		Text *string `json:"text"`
	}
	if err := c.decode(&in); err != nil {
		return nil, "", err
	}
	if in.Text == nil {
		return nil, "", sayf("%s: text is missing", c.tool.name)
	}
	if len(*in.Text) > maxPersonal {
		return nil, "", sayf("%s: the text has %d bytes; at most %d", c.tool.name, len(*in.Text), maxPersonal)
	}
	if c.d.customer.Vault == nil {
		return nil, "", sayf("%s: there is no vault here: the server was started without one", c.tool.name)
	}
	return c.d.customer.Vault, *in.Text, nil
}

func sanitizePII(ctx context.Context, c *conversation) (*reply, error) {
	v, text, err := c.text()
	if err != nil {
		return nil, err
	}
	clean, found, err := v.Sanitize(ctx, text)
	if err != nil {
		return nil, sayf("sanitize_pii: %v", err)
	}
	said := clean
	if len(found) > 0 {
		var kinds []string
		for _, kind := range sortedKeys(found) {
			kinds = append(kinds, fmt.Sprintf("%s %d", kind, found[kind]))
		}
		said = joinOutput(said, "[found: "+strings.Join(kinds, ", ")+"]")
	}
	return &reply{text: said, data: struct {
		Text  string         `json:"text"`
		Found map[string]int `json:"found,omitempty"`
	}{clean, found}}, nil
}

func restorePII(ctx context.Context, c *conversation) (*reply, error) {
	v, text, err := c.text()
	if err != nil {
		return nil, err
	}
	plain, err := v.Restore(ctx, text)
	if err != nil {
		return nil, sayf("restore_pii: %v", err)
	}
	return &reply{text: plain, data: map[string]string{"text": plain}}, nil
}
