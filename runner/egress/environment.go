package egress

import (
	"bytes"
	"maps"
	"strings"
)

// Environment returns the variables with which programs in the sandbox find the proxy at an address there, HOST:PORT, the authorities in the
// file bundle there, and their placeholders. Without a bundle, programs use their own authorities.
func (p *Proxy) Environment(address, bundle string) map[string]string {
	out := map[string]string{"NO_PROXY": "localhost,127.0.0.1,::1", "NODE_USE_ENV_PROXY": "1"}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		out[name] = "http://" + address
	}
	for _, name := range []string{"http_proxy", "https_proxy", "all_proxy", "no_proxy"} { // curl reads http_proxy in lower case only
		out[name] = out[strings.ToUpper(name)]
	}
	if bundle != "" {
		for _, name := range []string{
			"SSL_CERT_FILE",       // OpenSSL, Python, Go
			"NODE_EXTRA_CA_CERTS", // Node
			"REQUESTS_CA_BUNDLE",  // requests
			"CURL_CA_BUNDLE",      // curl, requests
			"HTTPLIB2_CA_CERTS",   // httplib2, which Google's clients for Python use
			"GIT_SSL_CAINFO", "PIP_CERT", "NPM_CONFIG_CAFILE", "AWS_CA_BUNDLE", "DENO_CERT", "CARGO_HTTP_CAINFO",
		} {
			out[name] = bundle
		}
	}
	maps.Copy(out, p.Placeholders())
	return out
}

// Placeholders returns the variables in which scripts find placeholders for secrets.
func (p *Proxy) Placeholders() map[string]string { return p.secrets.variables() }

// Bundle returns the certificates that programs in the sandbox need in order to check servers, in PEM: the given ones and, if an entry
// inspects TLS, that of the run's own authority.
func (p *Proxy) Bundle(roots []byte) []byte {
	if p.authority == nil {
		return roots
	}
	return append(append(bytes.TrimRight(bytes.Clone(roots), "\n"), '\n'), p.authority.pem()...)
}
