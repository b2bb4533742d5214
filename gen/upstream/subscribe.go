package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// In the newer era a server tells of changes only those who asked it to, by a request that stays open (MCP 2026-07-28,
// subscriptions). Over pipes what it says comes among the rest, over HTTP in the answer to that request.

// subscriptionID is the request's id. The SDK numbers its own.
const subscriptionID = "tools-changed"

// hearChanges asks a server of the newer era, once, to say when its tools change.
func (s *Session) hearChanges() {
	s.subscribing.Do(func() {
		if !s.modern() || !s.tellsChanges() {
			return
		}
		if s.guard != nil {
			go s.listen(context.Background(), &listener{session: s, pause: defaultListenPause, subscribes: true})
			return
		}
		go s.subscribe()
	})
}

// subscribe sends the request over pipes.
func (s *Session) subscribe() {
	req, err := s.subscription()
	if err != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-s.tap.lost:
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := s.tap.inner.Write(ctx, req); err != nil {
		s.log.Debug("ask the server to say when its tools change", "err", s.why.secret.clean(plain(err)))
	}
}

// subscription is the request.
func (s *Session) subscription() (*jsonrpc.Request, error) {
	id, err := jsonrpc.MakeID(subscriptionID)
	if err != nil {
		return nil, err
	}
	params, err := json.Marshal(map[string]any{
		"notifications": map[string]bool{"toolsListChanged": true},
		"_meta": map[string]any{
			"io.modelcontextprotocol/protocolVersion": s.Info().Protocol,
			"io.modelcontextprotocol/clientInfo":      map[string]string{"name": s.opts.ClientName, "version": s.opts.ClientVersion},
			metaCapabilities:                          map[string]any{},
		},
	})
	if err != nil {
		return nil, err
	}
	return &jsonrpc.Request{ID: id, Method: methodSubscribe, Params: params}, nil
}

// newSubscription makes that request for HTTP.
func (l *listener) newSubscription(ctx context.Context) (*http.Request, error) {
	msg, err := l.session.subscription()
	if err != nil {
		return nil, err
	}
	body, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.session.guard.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Method", methodSubscribe)
	return req, nil
}

// agreed reports whether the server's first word on a subscription says that it will tell of changes.
func agreed(params json.RawMessage) bool {
	var ack struct {
		Notifications struct {
			Tools bool `json:"toolsListChanged"`
		} `json:"notifications"`
	}
	return json.Unmarshal(params, &ack) == nil && ack.Notifications.Tools
}
