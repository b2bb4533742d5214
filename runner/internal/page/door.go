package page

import (
	"crypto/rand"
	"crypto/subtle"
	"net/http"
	"sync"
)

// Door admits one browser to a page on this machine: the first that opens the address with the token gets a cookie, and the token works only
// once. What changes something also needs the door's word, which only the page has.
type Door struct {
	address, name, policy, again string
	cookie, word                 string

	mu    sync.Mutex
	token string // empty once it was used
}

// NewDoor returns the door of a page at an address, HOST:PORT of a loopback interface. name is that of the cookie, policy the
// Content-Security-Policy, and again the command that gives a new address.
func NewDoor(address, name, policy, again string) *Door {
	return &Door{address: address, name: name, policy: policy, again: again, cookie: rand.Text(), word: rand.Text(), token: rand.Text()}
}

// URL returns the address that lets one browser in.
func (d *Door) URL() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return "http://" + d.address + "/?token=" + d.token
}

// Word returns the word for the page's forms.
func (d *Door) Word() string { return d.word }

// Knows reports whether a request has the door's word.
func (d *Door) Knows(word string) bool { return Same(word, d.word) }

// Same compares secrets in constant time.
func Same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// Admit admits only the browser with the cookie, and only under the page's own host name, so that another site cannot reach the page by DNS
// rebinding.
func (d *Door) Admit(next http.Handler) http.Handler {
	next = http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", d.policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		c, err := r.Cookie(d.name)
		switch {
		case r.Host != d.address:
			http.Error(w, "forbidden: open this page at the address shown in the terminal", http.StatusForbidden)
		case d.redeem(r):
			http.SetCookie(w, &http.Cookie{Name: d.name, Value: d.cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
			http.Redirect(w, r, "/", http.StatusSeeOther)
		case err != nil || !Same(c.Value, d.cookie):
			http.Error(w, "forbidden: the address in the terminal works once, in one browser; run "+d.again+" again to get a new one", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// redeem reports whether a request has the token. If so, the token is used up.
func (d *Door) redeem(r *http.Request) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.Method != http.MethodGet || r.URL.Path != "/" || d.token == "" || !Same(r.URL.Query().Get("token"), d.token) {
		return false
	}
	d.token = ""
	return true
}
