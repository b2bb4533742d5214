package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// How messages that belong to no request arrive depends on the era. In the older one, over streamable HTTP, the client opens
// a stream for them (MCP 2025-11-25, basic/transports); many servers send elicitation requests there too. In the newer era a
// server announces changes only to clients that have subscribed with a request that stays open (MCP 2026-07-28,
// subscriptions): over HTTP they arrive in the answer to that request, over pipes among all other messages.

const (
	// listenTime is how long from the session's start requests wait for the server to open that stream, if a question may
	// come there. Some servers open it only when they have something to send.
	listenTime = 2 * time.Second
	// minListenPause and maxListenPause bound the pause before a stream that ended is opened again. It doubles for streams
	// that bring nothing and end within longListen.
	minListenPause, maxListenPause = time.Second, time.Minute
	longListen                     = 10 * time.Second
)

// announcesChanges reports whether the server says that it announces changes of its tools.
func (s *Session) announcesChanges() bool {
	init := s.sdk.InitializeResult()
	return init != nil && init.Capabilities != nil && init.Capabilities.Tools != nil && init.Capabilities.Tools.ListChanged
}

// listenInOlderEra opens the server's stream if it may carry elicitation requests or changes.
func (s *Session) listenInOlderEra() {
	if s.modern() || s.http == nil || s.http.SSE || !s.opts.Elicit && !s.announcesChanges() {
		return
	}
	s.listening, s.listeningBy = make(chan struct{}), time.Now().Add(listenTime)
	go func() {
		opened := sync.OnceFunc(func() { close(s.listening) })
		s.keepListening(func() (heard, more bool) {
			heard, more, err := s.http.Listen(s.conn.lost, s.conn.SessionID(), opened, func(req *jsonrpc.Request) error {
				return s.conn.serverRequest(nil, req)
			})
			if err != nil {
				s.conn.lose(err)
			}
			return heard, more
		})
	}()
}

// awaitListening waits, for at most listenTime from the session's start, until the stream is open, because a question that
// comes earlier could be lost.
func (s *Session) awaitListening(ctx context.Context) {
	if s.listening == nil {
		return
	}
	timer := time.NewTimer(time.Until(s.listeningBy))
	defer timer.Stop()
	select {
	case <-s.listening:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// subscribe asks a server of the newer era, once, to announce changes of its tools.
func (s *Session) subscribe() {
	s.subscribing.Do(func() {
		if s.modern() && s.announcesChanges() {
			go s.keepListening(s.awaitSubscription)
		}
	})
}

// keepListening calls listen repeatedly as long as the session lasts. listen reports whether something came, and whether
// it may be called again.
func (s *Session) keepListening(listen func() (heard, more bool)) {
	for wait := minListenPause; ; wait = min(2*wait, maxListenPause) {
		start := time.Now()
		heard, more := listen()
		if heard || time.Since(start) > longListen {
			wait = minListenPause
		}
		if !more || !pause(s.conn.lost, wait) {
			return
		}
		s.conn.changes.Add(1) // changes in between went unnoticed
	}
}

// awaitSubscription subscribes to changes and returns when the subscription has ended.
func (s *Session) awaitSubscription() (heard, more bool) {
	req, err := s.subscription()
	if err == nil {
		err = s.conn.inner.Write(s.conn.lost, req)
	}
	if err != nil {
		s.log.Debug("ask the server to announce changes of its tools", "err", s.errs.secret.Clean(plain(err)))
		return false, false
	}
	select {
	case end := <-s.conn.subscription:
		var refused *jsonrpc.Error
		return false, !errors.As(end.Error, &refused)
	case <-s.conn.lost.Done():
		return false, false
	}
}

// subscription returns the request that asks for changes.
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
	return &jsonrpc.Request{ID: id, Method: methodSubscribe, Params: params}, err
}
