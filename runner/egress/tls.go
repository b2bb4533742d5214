package egress

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"sync"
	"time"
)

// authority issues the certificates with which the proxy answers for hosts whose TLS it inspects.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey // never leaves this process

	mu     sync.Mutex
	issued map[string]*tls.Certificate
}

// authorityLife is longer than any run.
const authorityLife = 7 * 24 * time.Hour

// maxIssued bounds the certificates kept.
const maxIssued = 1000

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("create the run's certificate authority: %w", err)
	}
	t := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "mcprun, for one run"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(authorityLife),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("create the run's certificate authority: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	return &authority{cert: cert, key: key, issued: map[string]*tls.Certificate{}}, err
}

func serial() *big.Int {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		panic(err) // crypto/rand never fails
	}
	return n
}

// pem returns the authority's certificate.
func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// issue returns a certificate for a host.
func (a *authority) issue(t Target) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.issued[t.Host]; c != nil {
		return c, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	leaf := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "mcprun"}, NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, DNSNames: []string{t.Host},
	}
	if t.address.IsValid() {
		leaf.DNSNames, leaf.IPAddresses = nil, []net.IP{t.address.AsSlice()}
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	c := &tls.Certificate{Certificate: [][]byte{der, a.cert.Raw}, PrivateKey: key}
	if len(a.issued) < maxIssued {
		a.issued[t.Host] = c
	}
	return c, nil
}

// serverNameError refuses a ClientHello whose server name is not the host that was asked for.
type serverNameError string

func (e serverNameError) Error() string {
	return fmt.Sprintf("the server name %q in the ClientHello is not the host of the connection", string(e))
}

// serverConfig returns the configuration with which the proxy answers for a host.
func (a *authority) serverConfig(t Target) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if !names(h.ServerName, t) {
			return nil, serverNameError(h.ServerName)
		}
		return a.issue(t)
	}}
}

// clientTLS is the configuration with which the proxy connects to servers.
func clientTLS(roots *x509.CertPool) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
}

// names reports whether a server name is that of a target. Clients send none for an address (RFC 6066).
func names(serverName string, t Target) bool {
	if t.address.IsValid() {
		return serverName == ""
	}
	named, err := ParseTarget(serverName, t.Port)
	return err == nil && named.Host == t.Host
}

// handshake is the first byte of a TLS connection (RFC 8446, section 5.1).
const handshake = 22

// maxHello bounds a ClientHello in bytes.
const maxHello = 64 << 10

// readHello reads a ClientHello, and returns its server name and the bytes that were read.
func readHello(conn io.Reader) (serverName string, read []byte, err error) {
	var seen bytes.Buffer
	stop := errors.New("read")
	got := false
	err = tls.Server(&helloConn{r: io.TeeReader(io.LimitReader(conn, maxHello), &seen)}, &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		serverName, got = h.ServerName, true
		return nil, stop
	}}).Handshake()
	if got {
		err = nil
	}
	return serverName, seen.Bytes(), err
}

// helloConn is a connection that is only read.
type helloConn struct {
	net.Conn
	r io.Reader
}

func (c *helloConn) Read(p []byte) (int, error)  { return c.r.Read(p) }
func (c *helloConn) Write(p []byte) (int, error) { return len(p), nil }
func (c *helloConn) Close() error                { return nil }

// unrecognizedName is the TLS alert that tells a client that its server name is not served (RFC 6066, section 3).
var unrecognizedName = []byte{21, 3, 3, 0, 2, 2, 112}
