package mcpserver

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// bodyTime bounds how long the body of a request may take, from the end of its header. What comes after, a run for example,
// takes as long as it takes.
const bodyTime = time.Minute

// prompt ends connections whose requests do not come in: each would keep one of the machine's for nothing, with or without
// a token.
func prompt(next http.Handler, within time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && r.Body != http.NoBody {
			control := http.NewResponseController(w)
			if control.SetReadDeadline(time.Now().Add(within)) == nil {
				r.Body = &timedBody{ReadCloser: r.Body, control: control}
			}
		}
		next.ServeHTTP(w, r)
	})
}

// timedBody takes the bound away when all of the body is there: whether the client is still there is seen by reading on.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF { //nolint:errorlint // a reader's end is this value itself
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// pageHeaders are what a page may send and may read.
const (
	pageSends = "Authorization, Content-Type, Accept, Last-Event-ID, " + sessionHeader + ", " + versionHeader + ", Mcp-Method, Mcp-Name"
	pageReads = sessionHeader + ", " + versionHeader + ", WWW-Authenticate"
)

// pages lets browsers of the origins that were named hand answers to their pages, and answers what they ask before a
// request. That question carries no token.
func (h *entrance) pages(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		if len(h.opt.Origins) > 0 {
			w.Header().Add("Vary", "Origin")
		}
		if origin == "" || !slices.Contains(h.opt.Origins, origin) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Access-Control-Allow-Origin", origin)
		w.Header().Set("Access-Control-Expose-Headers", pageReads)
		if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
			next.ServeHTTP(w, r)
			return
		}
		sends := pageSends
		for name := range strings.SplitSeq(r.Header.Get("Access-Control-Request-Headers"), ",") { // parameters as headers, in the newest revision
			if name = strings.ToLower(strings.TrimSpace(name)); strings.HasPrefix(name, "mcp-param-") && isHeaderName(name) {
				sends += ", " + name
			}
		}
		w.Header().Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
		w.Header().Set("Access-Control-Allow-Headers", sends)
		w.Header().Set("Access-Control-Max-Age", "600")
		w.WriteHeader(http.StatusNoContent)
	})
}

func isHeaderName(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
	})
}
