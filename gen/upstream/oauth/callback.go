package oauth

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// callbackPath is the path of the redirect address.
const callbackPath = "/callback"

// callback serves the redirect address on this machine (RFC 8252, section 7.3) and receives the answer that comes to it.
// It accepts one answer, the one with the right state: any web page could send others.
type callback struct {
	address  string
	listener net.Listener
	server   *http.Server
	state    string
	note     func(string)
	answers  chan url.Values // holds the answer
}

// listen opens the redirect address for the answer with this state. note gets a line about each unexpected answer.
func listen(opts LoginOptions, state string, note func(string)) (*callback, error) {
	host := opts.Host
	if host == "" {
		host = "127.0.0.1"
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(opts.Port)))
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err
		}
		return nil, fmt.Errorf("wait for the browser at port %d of this machine: %w", opts.Port, err)
	}
	if note == nil {
		note = func(string) {}
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	c := &callback{address: "http://" + net.JoinHostPort(host, port) + callbackPath, listener: l, state: state, note: note, answers: make(chan url.Values, 1)}
	c.server = &http.Server{Handler: c, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second, MaxHeaderBytes: 64 << 10}
	go func() { _ = c.server.Serve(l) }() // ends with close
	return c, nil
}

// close stops the server, after the page that is being sent.
func (c *callback) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if c.server.Shutdown(ctx) != nil {
		_ = c.server.Close() // the login has ended either way
	}
	_ = c.listener.Close() // closed already, unless Serve never ran
}

// wait returns the answer, from the browser or pasted.
func (c *callback) wait(ctx context.Context, paste io.Reader) (url.Values, error) {
	if paste != nil {
		go c.read(paste)
	}
	select {
	case answer := <-c.answers:
		return answer, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the login: %w", context.Cause(ctx))
	}
}

// take accepts an answer if it is the expected one; the error says why it is not.
func (c *callback) take(answer url.Values) error {
	switch {
	case answer.Get("state") != c.state:
		return errors.New("it does not belong to the login that was started here")
	case answer.Get("code") == "" && answer.Get("error") == "":
		return errors.New("it has neither a code nor an error")
	}
	select {
	case c.answers <- answer:
		return nil
	default:
		return errors.New("it has arrived already")
	}
}

// ServeHTTP handles the browser's request.
func (c *callback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", "default-src 'none'")
	header.Set("Referrer-Policy", "no-referrer") // the address holds the code
	header.Set("Cache-Control", "no-store")
	if r.URL.Path != callbackPath || r.Method != http.MethodGet {
		http.Error(w, "There is nothing here.", http.StatusNotFound)
		return
	}
	answer := r.URL.Query()
	if err := c.take(answer); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, page, "Not accepted", "This answer was not accepted: "+err.Error()+".")
		c.note("an answer in the browser was not accepted: " + err.Error())
		return
	}
	if answer.Get("error") != "" {
		fmt.Fprintf(w, page, "Not logged in", "You are not logged in. The terminal says why; you can close this page.")
		return
	}
	fmt.Fprintf(w, page, "Back to the terminal", "Return to the terminal to finish; you can close this page.")
}

// page is what the browser shows; both verbs are filled with our own text only.
const page = "<!doctype html><meta charset=utf-8><title>mcpgen: %s</title><p>%s</p>\n"

// maxPasted bounds a pasted line, in bytes.
const maxPasted = 64 << 10

// read reads pasted addresses until one is accepted.
func (c *callback) read(paste io.Reader) {
	in := bufio.NewScanner(paste)
	in.Buffer(nil, maxPasted)
	for in.Scan() {
		line := strings.TrimSpace(in.Text())
		if line == "" {
			continue
		}
		answer, err := pasted(line)
		if err == nil {
			err = c.take(answer)
		}
		if err == nil {
			return
		}
		c.note("what was pasted was not accepted: " + err.Error() + "; paste the whole address that the browser was sent to")
	}
}

// pasted reads an address, or its query alone.
func pasted(line string) (url.Values, error) {
	query := line
	if before, after, found := strings.Cut(line, "?"); found || strings.Contains(before, "://") {
		query = after
	}
	query, _, _ = strings.Cut(query, "#")
	answer, err := url.ParseQuery(query)
	if err != nil {
		return nil, errors.New("it is not an address")
	}
	return answer, nil
}
