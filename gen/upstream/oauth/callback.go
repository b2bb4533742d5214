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
	"sync"
	"time"
)

// callbackPath is the path of the redirect address.
const callbackPath = "/callback"

// callback is the redirect address on this machine (RFC 8252, section 7.3), and the answer that comes to it. It takes
// one answer, the one with the right state: others, which any web page could send, are turned away.
type callback struct {
	address  string
	listener net.Listener
	server   *http.Server

	mu    sync.Mutex
	state string // empty: nothing is expected
	note  func(string)

	answers chan url.Values
}

// listen opens the redirect address. Where we are registered with one already, its port is tried first if any will do.
func listen(opts LoginOptions, registered string, dynamic bool) (*callback, error) {
	host := opts.Host
	if host == "" {
		host = "127.0.0.1"
	}
	ports := []int{opts.Port}
	if u, err := url.Parse(registered); err == nil && opts.Port == 0 && dynamic && u.Hostname() == host {
		if port, err := strconv.Atoi(u.Port()); err == nil && port > 0 {
			ports = []int{port, 0}
		}
	}
	var l net.Listener
	var err error
	for _, port := range ports {
		if l, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("wait for the browser at port %d of this machine: %w", opts.Port, rootCause(err))
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	c := &callback{address: "http://" + net.JoinHostPort(host, port) + callbackPath, listener: l, answers: make(chan url.Values, 1)}
	c.server = &http.Server{Handler: c, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second, MaxHeaderBytes: 64 << 10}
	go func() { _ = c.server.Serve(l) }() // ends with close
	return c, nil
}

// rootCause is what the system says.
func rootCause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// close stops waiting, and lets the page that is being sent go out.
func (c *callback) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if c.server.Shutdown(ctx) != nil {
		_ = c.server.Close() // nothing is left to lose
	}
	_ = c.listener.Close() // closed already, unless Serve never ran
}

// expect begins to take answers with this state.
func (c *callback) expect(state string, note func(string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state, c.note = state, note
	if c.note == nil {
		c.note = func(string) {}
	}
}

// wait returns the answer, whichever way it comes.
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

// take accepts an answer if it is the expected one; else it says why not.
func (c *callback) take(answer url.Values) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.state == "":
		return errors.New("nothing is expected here, or it has come already")
	case answer.Get("state") != c.state:
		return errors.New("it does not belong to the login that was started here")
	case answer.Get("code") == "" && answer.Get("error") == "":
		return errors.New("it holds neither a code nor an error")
	}
	c.state = ""
	c.answers <- answer
	return nil
}

func (c *callback) warn(text string) {
	c.mu.Lock()
	note := c.note
	c.mu.Unlock()
	if note != nil {
		note(text)
	}
}

// ServeHTTP takes the browser's request.
func (c *callback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", "default-src 'none'")
	header.Set("Referrer-Policy", "no-referrer") // the address holds the code
	header.Set("Cache-Control", "no-store")
	expected, _ := url.Parse(c.address)
	if r.URL.Path != callbackPath || r.Method != http.MethodGet || !sameListener(r.Host, expected) {
		http.Error(w, "There is nothing here.", http.StatusNotFound)
		return
	}
	answer := r.URL.Query()
	if err := c.take(answer); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, page, "Not taken", "This answer was not taken: "+err.Error()+".")
		c.warn("an answer in the browser was not taken: " + err.Error())
		return
	}
	if answer.Get("error") != "" {
		fmt.Fprintf(w, page, "Not logged in", "You are not logged in. The terminal says why; you can close this page.")
		return
	}
	fmt.Fprintf(w, page, "Back to the terminal", "The rest happens in the terminal; you can close this page.")
}

// page is what the browser shows; both places are filled with texts of ours only.
const page = "<!doctype html><meta charset=utf-8><title>mcpgen: %s</title><p>%s</p>\n"

// sameListener keeps other names for this machine out, such as one that a web page's owner points here.
func sameListener(host string, expected *url.URL) bool {
	name, port, err := net.SplitHostPort(host)
	return err == nil && port == expected.Port() && (name == expected.Hostname() || name == "127.0.0.1" || name == "localhost")
}

// maxPasted bounds a pasted line, in bytes.
const maxPasted = 64 << 10

// read takes pasted addresses until one fits or there are no more.
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
		c.warn("what was pasted was not taken: " + err.Error() + "; paste the whole address that the browser was sent to")
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
