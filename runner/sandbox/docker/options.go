package docker

import (
	"log/slog"

	"github.com/moby/moby/client"
)

// DefaultHost is where an engine installed for the whole machine listens.
const DefaultHost = client.DefaultDockerHost

// Options select the engine and the image.
type Options struct {
	// Name is the backend's name. Empty: docker.
	Name string
	// Runtime is the OCI runtime that runs the containers, by the engine's name for it ("runsc"). An engine without it is
	// refused. Empty: the engine's default.
	Runtime string
	// Host is the engine's address, as in DOCKER_HOST: unix:///path/to/socket, tcp://host:port or npipe:////./pipe/name.
	// Empty: DefaultHost. The engine need not be on this machine.
	Host string
	// CertDir is the folder of ca.pem, cert.pem and key.pem, as in DOCKER_CERT_PATH. With it an engine behind tcp:// is
	// reached over TLS, and is always verified. Empty: no TLS.
	CertDir string
	// Image is the reference or ID of an image to use in place of the pinned one. It needs node and python3 on
	// /usr/local/bin:/usr/bin:/bin. What it says about environment, user, program and health is ignored; one that
	// declares volumes is refused.
	Image string
	// RuntimeDir is the folder for the sockets and guest programs of running guests, which other sandboxes may use as
	// well. It is created if missing, and refused if another user could enter it. The engine must see it under the same path. Empty: mcprun-<uid>
	// in the folder for temporary files.
	RuntimeDir string
	// Exe is the file of a program whose main function calls [Init] first, mostly this one. It removes containers and folders if this
	// process is killed. Empty: they are left behind then, unless a guest ends when it loses its connection.
	Exe string
	// Logger receives what could not be cleaned up, and details of starts. Nil discards them.
	Logger *slog.Logger
}
