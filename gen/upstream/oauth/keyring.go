package oauth

import (
	"errors"
	"io/fs"
	"time"

	"github.com/zalando/go-keyring"
)

// keyringService is the service name of the entries.
const keyringService = "mcpgen"

// keyringTime bounds one use of the system's keyring, which may ask a person to unlock it, or hang.
const keyringTime = 20 * time.Second

// System is the keyring of the operating system: Keychain, Credential Manager, or the Secret Service over D-Bus.
// Every method may wait up to 20 s for a person to unlock it.
type System struct{}

var _ Keyring = System{}

// Get reads a secret.
func (System) Get(name string) (string, error) {
	var secret string
	err := timed(func() (err error) {
		text, err := keyring.Get(keyringService, name)
		if err == nil {
			secret = text
		}
		return err
	})
	if err != nil {
		return "", err
	}
	return secret, nil
}

// Set stores a secret. It fails if the secret is too large for the system.
func (System) Set(name, secret string) error {
	return timed(func() error { return keyring.Set(keyringService, name, secret) })
}

// Delete removes a secret.
func (System) Delete(name string) error {
	return timed(func() error { return keyring.Delete(keyringService, name) })
}

// timed runs a step that cannot be cancelled. When time is up it returns; the step goes on, and its result is dropped.
func timed(step func() error) error {
	done := make(chan error, 1)
	go func() { done <- step() }()
	timer := time.NewTimer(keyringTime)
	defer timer.Stop()
	select {
	case err := <-done:
		if errors.Is(err, keyring.ErrNotFound) {
			return fs.ErrNotExist
		}
		return err
	case <-timer.C:
		return errors.New("the system's keyring does not answer")
	}
}
