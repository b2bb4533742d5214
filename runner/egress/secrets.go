package egress

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/ident"
)

// secrets are the credentials of a run, with the placeholders that scripts get.
type secrets struct {
	read func(ctx context.Context, s *config.Secret) (string, error)
	all  []*credential
}

// credential is one of an entry. Its secret is read when it is first needed.
type credential struct {
	*config.Credential
	entry       *entry
	placeholder string

	once   sync.Once
	secret string
	err    error
}

// placeholderStart makes placeholders recognizable for people.
const placeholderStart = "mcprun-placeholder-"

func newSecrets(rules *Rules, read func(context.Context, *config.Secret) (string, error)) *secrets {
	s := &secrets{read: read}
	for i := 0; rules != nil && i < len(rules.entries); i++ {
		e := &rules.entries[i]
		for j := range e.Credentials {
			s.all = append(s.all, &credential{Credential: &e.Credentials[j], entry: e, placeholder: placeholderStart + rand.Text()})
		}
	}
	return s
}

// variables returns the placeholders by the names of the environment variables in which scripts find them.
func (s *secrets) variables() map[string]string {
	out := map[string]string{}
	for _, c := range s.all {
		if c.Variable != "" {
			out[c.Variable] = c.placeholder
		}
	}
	return out
}

// value returns the secret.
func (s *secrets) value(ctx context.Context, c *credential, r *http.Request) (string, *Refusal) {
	c.once.Do(func() {
		if s.read == nil {
			c.err = fmt.Errorf("nothing reads it")
			return
		}
		c.secret, c.err = s.read(context.WithoutCancel(ctx), &c.Secret)
		if c.err == nil && (strings.TrimSpace(c.secret) == "" || strings.ContainsAny(c.secret, "\r\n\x00")) {
			c.err = fmt.Errorf("it is empty, or has several lines")
		}
	})
	if c.err != nil {
		explain := fmt.Sprintf("mcprun network explain https://%s%s", r.URL.Host, r.URL.EscapedPath())
		if r.Method != http.MethodGet {
			explain += " --method " + r.Method
		}
		return "", &Refusal{Check: ByCredential, Reason: fmt.Sprintf("the secret for %s cannot be read", c.entry.Host), Remedy: "an operator finds the reason with: " + ident.Clip(ident.Printable(explain, maxShown), maxShown)}
	}
	return c.secret, nil
}

// put puts the credentials of the entries that allow a request into it, and refuses placeholders elsewhere. It returns the secrets.
func (s *secrets) put(ctx context.Context, r *http.Request, entries []*entry) (used []string, refused *Refusal) {
	if len(s.all) == 0 {
		return nil, nil
	}
	if r.URL.Scheme == "https" {
		for _, c := range s.all {
			if !slices.Contains(entries, c.entry) {
				continue
			}
			name, wanted := c.fill()
			now, has := r.Header[name]
			if has && !strings.Contains(strings.Join(decoded(now), "\n"), c.placeholder) {
				continue // it brings a credential of its own
			}
			secret, refused := s.value(ctx, c, r)
			if refused != nil {
				return nil, refused
			}
			if c.Basic != "" || !has {
				r.Header[name] = []string{wanted(secret)}
			} else {
				for i := range now {
					now[i] = strings.ReplaceAll(now[i], c.placeholder, secret)
				}
			}
			used = append(used, secret)
			if c.Basic != "" {
				used = append(used, strings.TrimPrefix(wanted(secret), "Basic "))
			}
		}
	}
	if where := s.misplaced(r); where != "" {
		return nil, &Refusal{
			Check: ByCredential, Reason: "a placeholder for a secret stands in the " + where + " of a request where no secret goes",
			Remedy: "send it over https, to the host and in the header of its entry",
		}
	}
	return used, nil
}

// fill returns the name of the header that a credential goes into, and what makes its value of a secret.
func (c *credential) fill() (name string, value func(secret string) string) {
	if c.Basic != "" {
		return "Authorization", func(secret string) string {
			return "Basic " + base64.StdEncoding.EncodeToString([]byte(c.Basic+":"+secret))
		}
	}
	name, text, _ := strings.Cut(c.Header, ":")
	return http.CanonicalHeaderKey(strings.TrimSpace(name)), func(secret string) string {
		return strings.Replace(strings.TrimSpace(text), "{secret}", secret, 1)
	}
}

// decoded returns values of headers, and what those of basic authentication hold.
func decoded(values []string) []string {
	out := values
	for _, v := range values {
		if coded, ok := strings.CutPrefix(v, "Basic "); ok {
			if text, err := base64.StdEncoding.DecodeString(coded); err == nil {
				out = append(out, string(text))
			}
		}
	}
	return out
}

// misplaced returns the part of a request that still holds a placeholder.
func (s *secrets) misplaced(r *http.Request) string {
	holds := func(text string) bool {
		for _, c := range s.all {
			if strings.Contains(text, c.placeholder) {
				return true
			}
		}
		return false
	}
	uri := r.URL.RequestURI()
	if plain, err := url.QueryUnescape(uri); holds(uri) || err == nil && holds(plain) {
		return "URL"
	}
	for name, values := range r.Header {
		if holds(name) || holds(strings.Join(decoded(values), "\n")) {
			return "header " + name
		}
	}
	return ""
}

// guard returns a body that fails once a placeholder is in it.
func (s *secrets) guard(r io.Reader, t Target) io.Reader {
	if len(s.all) == 0 {
		return r
	}
	var words []string
	for _, c := range s.all {
		words = append(words, c.placeholder)
	}
	return &scanner{r: r, words: words, found: func([]byte) error {
		return &Refusal{Check: ByCredential, Target: t, Reason: "a placeholder for a secret stands in the body of a request", Remedy: "send it in the header of its entry"}
	}}
}

// scrubber returns a body in which secrets are blanked out, in case a server repeats what it was sent. The length stays.
func scrubber(r io.Reader, secrets []string) io.Reader {
	if len(secrets) == 0 {
		return r
	}
	return &scanner{r: r, words: secrets, found: func(at []byte) error {
		for i := range at {
			at[i] = '*'
		}
		return nil
	}}
}

// scrubbed is scrubber for a short text.
func scrubbed(text string, secrets []string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, strings.Repeat("*", len(secret)))
	}
	return text
}

// scanner is a stream in which words are looked for. It keeps back no more than what may be the beginning of one.
type scanner struct {
	r     io.Reader
	words []string
	found func(at []byte) error // may change the bytes; an error ends the stream

	buf  []byte
	held []byte // read, and not yet passed on
	safe int    // how many of the held bytes may be passed on
	err  error
}

const scanSize = 32 << 10

func (s *scanner) Read(p []byte) (int, error) {
	if s.buf == nil {
		s.buf = make([]byte, scanSize)
	}
	for s.safe == 0 && s.err == nil {
		n, err := s.r.Read(s.buf)
		s.held, s.err = append(s.held, s.buf[:n]...), err
		s.scan()
	}
	n := copy(p, s.held[:s.safe])
	s.held, s.safe = s.held[n:], s.safe-n
	if n == 0 && len(p) > 0 {
		return 0, s.err
	}
	return n, nil
}

// scan looks for the words in what is held.
func (s *scanner) scan() {
	for _, word := range s.words {
		for at := 0; ; at += len(word) {
			i := bytes.Index(s.held[at:], []byte(word))
			if i < 0 {
				break
			}
			at += i
			if err := s.found(s.held[at : at+len(word)]); err != nil {
				s.held, s.safe, s.err = nil, 0, err
				return
			}
		}
	}
	s.safe = len(s.held)
	if s.err == nil {
		s.safe -= s.begun()
	}
}

// begun returns the number of bytes at the end of what is held that may be the beginning of a word.
func (s *scanner) begun() int {
	longest := 0
	for _, word := range s.words {
		for n := min(len(word)-1, len(s.held)); n > longest; n-- {
			if bytes.HasSuffix(s.held, []byte(word[:n])) {
				longest = n
			}
		}
	}
	return longest
}
