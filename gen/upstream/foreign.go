package upstream

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// sameID returns the id of the pending request that an answer is for. Some servers make a text of a number; that is taken
// for the number. The tap's mutex is held.
func (t *tap) sameID(id jsonrpc.ID) jsonrpc.ID {
	if _, ok := t.pending[id]; ok {
		return id
	}
	text, ok := id.Raw().(string)
	if !ok {
		return id
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != text {
		return id
	}
	number, err := jsonrpc.MakeID(float64(n)) // as in JSON; the ids of requests are small
	if err != nil {
		return id
	}
	if _, ok := t.pending[number]; ok {
		return number
	}
	return id
}

// noteStray logs an answer that nobody waits for: a late one, or one to a request that was never made.
func (t *tap) noteStray(id jsonrpc.ID) {
	if id.Raw() != subscriptionID && t.strays.Add(1) <= maxNoiseLogged {
		t.log.Debug("an answer that nobody waits for was dropped", "id", printable(fmt.Sprint(id.Raw()), 100))
	}
}

// foreign returns what the message of an HTTP answer comes to that answers another request than the one it was sent for,
// nil when it does not: nobody would ever get it, and the call would wait until its time is up. An error without an id is
// this request's. Long answers are not looked at.
func (c *capture) foreign(text []byte) *jsonrpc.Error {
	if len(text) >= peeked || c == nil || c.tap == nil {
		return nil
	}
	var said struct {
		ID     json.RawMessage `json:"id"`
		Method *string         `json:"method"`
		Error  *struct {
			Code    int64           `json:"code"`
			Message string          `json:"message"`
			Data    json.RawMessage `json:"data"`
		} `json:"error"`
	}
	if json.Unmarshal(text, &said) != nil || said.Method != nil {
		return nil
	}
	own := fmt.Sprint(c.id.Raw())
	switch id := string(said.ID); {
	case id == own, id == strconv.Quote(own):
		return nil
	case id == "" || id == "null":
		if said.Error == nil {
			return nil // no answer at all, which is found elsewhere
		}
		return &jsonrpc.Error{Code: said.Error.Code, Message: said.Error.Message, Data: said.Error.Data}
	default:
		return &jsonrpc.Error{Code: CodeBadAnswer, Message: fmt.Sprintf("the answer has the id %s, and the request had %s", printable(id, 100), own)}
	}
}
