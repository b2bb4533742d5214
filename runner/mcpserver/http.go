package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runner/mcpserver/bearer"
	"github.com/mcpgen/mcpgen/runner/mcpserver/internal/httpguard"
	"github.com/mcpgen/mcpgen/runner/mcpserver/internal/wire"
)

// Path is the path of the server over HTTP.
const Path = "/mcp"

const (
	maxBody     = 8 << 20          // bytes of one request
	sessionTime = 30 * time.Minute // how long an unused session is kept
)

// Headers that repeat members of a request (SEP-2243).
const (
	methodHeader = "Mcp-Method"
	nameHeader   = "Mcp-Name"
)

// HTTPOptions select the requests that are accepted over HTTP.
type HTTPOptions struct {
	// Tokens are the accepted bearer tokens. Nil: no token is needed, and all requests are Customer's. Use nil only on loopback addresses,
	// or if the operator asked for it.
	Tokens   *bearer.Tokens
	Customer string
	// Hosts are names, without port, that requests may give in Host besides loopback names. Empty: with Tokens any name, without them
	// loopback names only.
	Hosts []string
	// Origins are the origins of web pages that may send requests, such as https://app.example.com, besides the server's own. Programs
	// other than web pages send no Origin.
	Origins []string
	// Login is called with the logins of clients that have tokens: the first request of a session, the first in an hour that belongs to none,
	// and of tokens that are not accepted at most one a second. May be nil.
	Login func(Login)
}

// Handler returns a handler of streamable HTTP at Path. A request of the stateless revision stands alone. One of an older revision belongs
// to a session, which only its customer can use.
func (s *Server) Handler(opt *HTTPOptions) (http.Handler, error) {
	guard := httpguard.Guard{Customer: opt.Customer, Hosts: opt.Hosts, Origins: opt.Origins}
	known := &logins{}
	if opt.Tokens != nil {
		known.tell = opt.Login
		guard.Token, guard.Refused = opt.Tokens.Customer, known.refuse
	}
	serverOf := func(r *http.Request) *mcp.Server {
		cs, err := s.customer(httpguard.CustomerOf(r))
		if err != nil {
			s.log.Warn("the customer cannot be served", "error", err)
			return nil
		}
		return cs.mcp
	}
	h, err := guard.Handler(&httpHandler{
		s: s, logins: known,
		stateless: mcp.NewStreamableHTTPHandler(serverOf, &mcp.StreamableHTTPOptions{
			Stateless: true, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true, Logger: s.log,
			DisableLocalhostProtection: true, // the guard does this, and knows the operator's names
		}),
		sessions: mcp.NewStreamableHTTPHandler(serverOf, &mcp.StreamableHTTPOptions{
			MaxRequestBodyBytes: maxBody, SessionTimeout: sessionTime, Logger: s.log, DisableLocalhostProtection: true,
		}),
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle(Path, h)
	return mux, nil
}

// httpHandler serves the requests that the guard allowed.
type httpHandler struct {
	s                   *Server
	logins              *logins
	stateless, sessions http.Handler
}

// ServeHTTP answers a request as part of a session or alone.
func (h *httpHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	cs, err := h.s.customer(httpguard.CustomerOf(r))
	if err != nil {
		status := http.StatusInternalServerError
		if errors.Is(err, errClosing) {
			status = http.StatusServiceUnavailable
		}
		h.s.log.Warn("the customer cannot be served", "error", err)
		http.Error(w, "the customer cannot be served now; the server's log has the reason", status)
		return
	}
	var body []byte
	if r.Method == http.MethodPost {
		if body, err = peekBody(r); err != nil {
			http.Error(w, "the body of the request did not arrive", http.StatusBadRequest)
			return
		}
	}
	switch session := r.Header.Get(httpguard.SessionHeader); {
	case r.Header.Get(httpguard.VersionHeader) >= firstStateless:
		h.logins.accept(r, cs.customer.ID, false)
		if slices.Contains(taskMethods, r.Header.Get(methodHeader)) && !h.s.namesTask(w, r, body) {
			return
		}
		h.serve(w, r, h.stateless)
	case session != "":
		h.serveSession(w, r, cs, session)
	case r.Method == http.MethodPost:
		h.serveOpening(w, r, cs, body)
	default:
		h.serve(w, r, h.sessions)
	}
}

// namesTask checks the header of a request about a task that names the task, as the extension says. If it is wrong, the request is answered.
func (s *Server) namesTask(w http.ResponseWriter, r *http.Request, body []byte) bool {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Params struct {
			TaskID string `json:"taskId"`
		} `json:"params"`
	}
	if json.Unmarshal(body, &m) != nil || r.Header.Get(nameHeader) == m.Params.TaskID {
		return true // the SDK reports what is malformed
	}
	answer := struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   jsonrpc.Error   `json:"error"`
	}{"2.0", m.ID, jsonrpc.Error{Code: mcp.CodeHeaderMismatch, Message: "the header " + nameHeader + " must have the taskId of the parameters"}}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		s.log.Debug("answer a request about a task", "error", err)
	}
	return false
}

// serve lets handler answer the request, and keeps the answer alive.
func (h *httpHandler) serve(w http.ResponseWriter, r *http.Request, handler http.Handler) {
	h.s.streams.Serve(w, r, h.s.opt.KeepAlive, handler)
}

// serveSession answers a request of a session.
func (h *httpHandler) serveSession(w http.ResponseWriter, r *http.Request, cs *customerServer, session string) {
	if !slices.Contains(cs.sessions(), session) { // unknown, or another customer's
		http.Error(w, "session not found", http.StatusNotFound)
		return
	}
	if r.Method == http.MethodDelete {
		cs.calls.cancel(session)
	}
	h.serve(w, r, h.sessions)
}

// serveOpening answers a POST request without a session. It either begins a session or names its revision in its body.
func (h *httpHandler) serveOpening(w http.ResponseWriter, r *http.Request, cs *customerServer, body []byte) {
	switch wire.OpeningOf(body) {
	case wire.OpenStateless:
		h.logins.accept(r, cs.customer.ID, false)
		h.serve(w, r, h.stateless)
	case wire.OpenSession:
		if len(cs.sessions()) >= h.s.opt.MaxSessions {
			http.Error(w, "too many sessions of this customer; end some", http.StatusServiceUnavailable)
			return
		}
		h.logins.accept(r, cs.customer.ID, true)
		h.serve(w, r, h.sessions)
	default:
		http.Error(w, "Bad Request: a session begins with initialize; later requests name it in the header "+httpguard.SessionHeader, http.StatusBadRequest)
	}
}

// peekBody reads the body of a request, up to one byte more than maxBody, and puts it back.
func peekBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), r.Body), r.Body}
	return body, err
}
