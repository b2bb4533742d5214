// Package egress is the only way from a sandbox to a network. A [Proxy] serves one run: programs in its sandbox reach it as an HTTP proxy over
// the run's bridge, and it connects for them, or refuses.
//
// # What is checked, in this order
//
//  1. The address: private, loopback, link-local, shared, metadata, documentation and multicast ranges are refused, and the forms of
//     IPv6 that hold an IPv4 address. An address in the request is checked at once, and what a name resolves to when it is dialled, so
//     neither another name, nor a second answer of the name server, nor a redirect leads there.
//  2. The allow list ([Rules]). A name that it does not hold is not looked up, because a lookup would tell the name server of whoever owns
//     the domain what the script put into the name.
//  3. The number of requests in a minute, and the bytes, to one host.
//
// A refusal is an HTTP 403 with the reason and what an operator would write to allow it.
//
// # TLS
//
// A connection with TLS is passed on unread, once the server name in its ClientHello is known to be the host that was asked for. Under an
// entry with tls: inspect the proxy ends the encryption with a certificate of an authority that it makes for the run and whose key never
// leaves this process. Then it judges each request by method and path, and puts credentials in.
//
// # Credentials
//
// A script has at most a placeholder, which is worth nothing. The proxy replaces it in requests to the host of its entry, and refuses any
// other request in which it sees one. A request with a credential of its own is left alone. Secrets are read when they are first needed, and
// stand in no event, log or error.
//
// The package reads no environment, and starts no program but that of alerts ([Command]): its caller gives it the secrets.
package egress

import (
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
)

// Protocol is what two programs speak over a connection.
type Protocol string

// The protocols that entries may name. TCP is any.
const (
	HTTPS Protocol = "https"
	HTTP  Protocol = "http"
	SSH   Protocol = "ssh"
	TCP   Protocol = "tcp"
)

// Port returns the usual port of a protocol, or 0.
func (p Protocol) Port() int { return config.UsualPorts[string(p)] }

// Defaults of the settings below network:.
const (
	DefaultRate   = config.DefaultNetworkRate
	DefaultBytes  = config.DefaultNetworkBytes
	DefaultVolume = 100 << 20 // to and from one host in a run, in bytes, above which an alert is raised
)

// Times of connections.
const (
	dialTime  = 15 * time.Second
	firstTime = time.Minute // until a client has said what it speaks: with many connections in a small sandbox, that takes a while
)

// Check names what refused a connection.
type Check string

const (
	ByTarget     Check = "target"        // the host or port cannot be read
	ByRange      Check = "blocked range" // the address is in a range that is never reached
	ByAllowList  Check = "allow list"    // no entry allows it
	ByRate       Check = "rate"          // too many requests, or bytes, to this host
	ByCredential Check = "credential"    // a placeholder is where it does not belong, or its secret cannot be read
	ByProtocol   Check = "protocol"      // what was sent is not what the entry allows
)

// AskRule is the rule of connections that a person was asked about.
const AskRule = "network.default: ask"

// Event is one connection or, where requests are read, one request, when it has ended. It holds no secret: paths are without their queries.
type Event struct {
	Time     time.Time `json:"time"` // of its beginning
	Run      string    `json:"run"`
	Host     string    `json:"host"`
	Port     int       `json:"port"`
	Protocol Protocol  `json:"protocol"`
	Method   string    `json:"method,omitempty"`
	Path     string    `json:"path,omitempty"`
	// Status is that of the response; 0 if there was none or it was not read.
	Status int `json:"status,omitempty"`
	// Address was dialled. Empty: none was.
	Address string `json:"address,omitempty"`
	// Sent and Received are bytes: of bodies where requests are read, else of the whole connection.
	Sent     int64 `json:"sent"`
	Received int64 `json:"received"`
	Allowed  bool  `json:"allowed"`
	// Rule is the entry that decided, with its place. Empty: no entry is about this host and port.
	Rule string `json:"rule,omitempty"`
	// Check is what refused it, Reason says why, and Remedy what an operator would write. They are empty if it was allowed.
	Check  Check  `json:"check,omitempty"`
	Reason string `json:"reason,omitempty"`
	Remedy string `json:"remedy,omitempty"`
	// By says who approved it, if a person was asked.
	By string `json:"by,omitempty"`
	// Error says why an allowed connection failed.
	Error string `json:"error,omitempty"`
	// Credential says that a secret was put in.
	Credential bool `json:"credential,omitempty"`
}

// Alert is a suspicious connection.
type Alert struct {
	// Kind is "blocked range" or "volume".
	Kind  string `json:"kind"`
	Event Event  `json:"event"`
	// Bytes were exchanged with the host in this run.
	Bytes int64 `json:"bytes,omitempty"`
}

// Refusal is why a connection or request is not made. It is an error that a script may see.
type Refusal struct {
	Check  Check
	Target Target
	// Reason says what is wrong, and Remedy what an operator would write.
	Reason, Remedy string
}

func (r *Refusal) Error() string {
	text := "refused by " + string(r.Check) + ": " + r.Reason
	if r.Remedy != "" {
		text += "; " + r.Remedy
	}
	return text
}
