package mcpserver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner/pii"
)

const maxPIIText = 4 << 20 // bytes

type piiArgs struct {
	Text *string `json:"text" required:""`
}

// vault returns the customer's vault if the arguments are valid.
func (c *toolCall) vault(args *piiArgs) (*pii.Vault, error) {
	if len(*args.Text) > maxPIIText {
		return nil, c.errorf("the text has %d bytes; at most %d", len(*args.Text), maxPIIText)
	}
	if c.cs.customer.Vault == nil {
		return nil, c.errorf("there is no vault here: the server was started without one")
	}
	v, err := c.cs.customer.Vault()
	if err != nil {
		return nil, c.errorf("%v", exit.Hinted(err))
	}
	return v, nil
}

func callSanitizePII(ctx context.Context, c *toolCall, args *piiArgs) (*reply, error) {
	vault, err := c.vault(args)
	if err != nil {
		return nil, err
	}
	share := vault.Share(pii.RunValues, pii.RunBytes)
	share.Own = c.cs.personal() != nil
	sanitized, found, err := share.Tokenize(ctx, *args.Text)
	if err != nil {
		return nil, c.errorf("%v", exit.Hinted(err))
	}
	text, types, values := sanitized, []string{}, 0
	if len(found) > 0 {
		var counts []string
		for _, kind := range slices.Sorted(maps.Keys(found)) {
			counts = append(counts, fmt.Sprintf("%s %d", kind, found[kind]))
			types, values = append(types, string(kind)), values+found[kind]
		}
		text = joinOutput(text, "[found: "+strings.Join(counts, ", ")+"]")
	}
	return &reply{text: text, data: struct {
		Text      string    `json:"text"`
		Sanitized string    `json:"sanitized_text"` // the following names are those that other servers use
		Values    int       `json:"pii_found"`
		Types     []string  `json:"pii_types"`
		Found     pii.Found `json:"found,omitempty"`
	}{sanitized, sanitized, values, types, found}}, nil
}

func callRestorePII(ctx context.Context, c *toolCall, args *piiArgs) (*reply, error) {
	if c.cs.personal() != nil {
		return nil, c.errorf("personal data does not reach the model here; pass tokens to tools, which get what they stand for")
	}
	vault, err := c.vault(args)
	if err != nil {
		return nil, err
	}
	restored, err := vault.Restore(*args.Text)
	if err != nil {
		return nil, c.errorf("%v", exit.Hinted(err))
	}
	if tokens := pii.Tokens(*args.Text); len(tokens) > 0 {
		if err := c.used(ctx, tokens...); err != nil {
			return nil, err
		}
	}
	return &reply{text: restored, data: map[string]string{"text": restored, "restored_text": restored}}, nil
}
