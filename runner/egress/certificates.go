package egress

import (
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
)

// bundles are where systems keep the certificates of authorities, in PEM: Debian, Fedora, openSUSE, Alpine, macOS.
var bundles = []string{
	"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
}

// SystemCertificates returns the authorities that this system trusts, in PEM: those in the file that SSL_CERT_FILE names, or the system's own.
// It returns nil if none are found.
func SystemCertificates(lookup func(name string) (string, bool)) ([]byte, error) {
	if file, ok := lookup("SSL_CERT_FILE"); ok && file != "" {
		text, err := os.ReadFile(file)
		return certificatesIn(text), err
	}
	for _, file := range bundles {
		text, err := os.ReadFile(file)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return certificatesIn(text), err
		}
	}
	return nil, nil
}

// certificatesIn returns the certificates of a file, which may also hold what no script should see.
func certificatesIn(text []byte) []byte {
	var out []byte
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			out = append(out, pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes})...)
		}
	}
	return out
}
