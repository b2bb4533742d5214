package upstream

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// In the older era, over streamable HTTP, a server has a stream of its own for what belongs to no request, which the
// client opens (MCP 2025-11-25, basic/transports). Notifications of changes come there and, from many servers,
// questions to a person, too.

const (
	// listenTime is how long from the session's beginning on requests about which somebody may be asked wait for the server to
	// answer the first request for that stream. Some answer it only when they have something to say.
	listenTime = 2 * time.Second
	// maxListenFailures in a row, of streams that brought nothing, are the end of listening.
	maxListenFailures = 5
	// minListenPause and maxListenPause bound the pause before a stream that ended is opened again. A server may ask for
	// one; else it is defaultListenPause.
	minListenPause, maxListenPause = 10 * time.Millisecond, time.Minute
	defaultListenPause             = time.Second
	// longListen is how long a stream lasts that is no failure, whatever it brought.
	longListen = 10 * time.Second
	// maxNote bounds one message in that stream, in bytes.
	maxNote = 1 << 20
)

// hearsAlone reports whether anything that may come in that stream is of use.
func (s *Session) hearsAlone() bool {
	return s.opts.Elicit || s.tellsChanges()
}

// tellsChanges reports whether the server says that it tells of changes of its tools.
func (s *Session) tellsChanges() bool {
	init := s.sdk.InitializeResult()
	return init != nil && init.Capabilities != nil && init.Capabilities.Tools != nil && init.Capabilities.Tools.ListChanged
}

// awaitListening waits until the stream is open, but not long: a question that comes before could be lost.
func (s *Session) awaitListening(ctx context.Context) {
	if s.listens == nil {
		return
	}
	timer := time.NewTimer(time.Until(s.listensBy))
	defer timer.Stop()
	select {
	case <-s.listens:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// listen keeps a stream open as long as the session lasts and the server offers it.
func (s *Session) listen(ctx context.Context, l *listener) {
	ctx, cancel := s.whileUp(ctx)
	defer cancel()
	for failures := 0; failures < maxListenFailures; failures++ {
		start := time.Now()
		heard, again := l.stream(ctx)
		if !again || ctx.Err() != nil {
			return
		}
		if heard || time.Since(start) > longListen {
			failures = -1
		}
		if !pause(ctx, l.pause<<max(0, failures)) {
			return
		}
	}
	s.log.Debug("the server's own stream brings nothing; it is not opened any more")
}

// listener opens a stream time and again.
type listener struct {
	session    *Session
	subscribes bool // the stream is the answer to a subscription, and not the server's own
	opened     bool // once, at least
	lastID     string
	pause      time.Duration
}

// request is what opens the stream.
func (l *listener) request(ctx context.Context) (*http.Request, error) {
	if l.subscribes {
		return l.newSubscription(ctx)
	}
	s := l.session
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.guard.url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/event-stream")
	if id := s.tap.SessionID(); id != "" {
		req.Header.Set(sessionHeader, id)
	}
	if l.lastID != "" {
		req.Header.Set("Last-Event-ID", l.lastID)
	}
	return req, nil
}

// stream opens the stream and reads it to its end. heard says that something came, again that it may be opened anew.
func (l *listener) stream(ctx context.Context) (heard, again bool) {
	s := l.session
	req, err := l.request(ctx)
	if err != nil {
		return false, false
	}
	resp, err := s.guard.client().Do(req)
	if !l.opened {
		l.opened = true
		if !l.subscribes {
			close(s.listens)
		}
	} else {
		s.tap.changes.Add(1) // what happened meanwhile was not heard
	}
	var refused *refusal
	if err != nil {
		return false, !errors.As(err, &refused) // a server that does not know the request is not asked again
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !isMedia(resp, "text/event-stream") {
		return false, resp.StatusCode >= 500
	}
	return l.read(resp.Body)
}

// read reads events to the end of the stream.
func (l *listener) read(body io.Reader) (heard, again bool) {
	in := bufio.NewReaderSize(body, 64<<10)
	var data []byte
	kind := ""
	for {
		line, err := in.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return heard, true
		}
		if errors.Is(err, bufio.ErrBufferFull) { // a long line
			if line, err = readLong(in, line); err != nil {
				return heard, !errors.Is(err, errLongNote)
			}
		}
		line = bytes.TrimRight(line, "\r\n")
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			if data = append(append(data, value...), '\n'); len(data) > maxNote {
				return heard, false
			}
		case "event":
			kind = string(value)
		case "id":
			if len(value) <= 1<<10 {
				l.lastID = string(value)
			}
		case "retry":
			if ms, err := strconv.Atoi(string(value)); err == nil {
				l.pause = min(max(time.Duration(min(ms, 1<<20))*time.Millisecond, minListenPause), maxListenPause)
			}
		}
		if len(line) > 0 {
			continue
		}
		if len(data) > 0 && (kind == "" || kind == "message") {
			counts, more := l.take(data)
			heard = heard || counts
			if !more {
				return heard, false
			}
		}
		data, kind = nil, ""
	}
}

var errLongNote = errors.New("a message in the server's own stream is too long")

// readLong reads the rest of a line.
func readLong(in *bufio.Reader, start []byte) ([]byte, error) {
	line := bytes.Clone(start)
	for {
		part, err := in.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxNote {
			return nil, errLongNote
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// take takes one message. heard says that it is worth to listen on, more that the stream is.
func (l *listener) take(data []byte) (heard, more bool) {
	msg, err := jsonrpc.DecodeMessage(data)
	if err != nil {
		return true, true // noise
	}
	switch msg := msg.(type) {
	case *jsonrpc.Request:
		if l.subscribes && msg.Method == methodSubscribed {
			return false, agreed(msg.Params)
		}
		if err := l.session.tap.asked(msg); err != nil {
			l.session.tap.lose(err)
			return true, false
		}
	case *jsonrpc.Response:
		if l.subscribes { // a subscription that is answered is over
			return false, msg.Error == nil
		}
	}
	return true, true
}
