//go:build linux

package shell

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"

	"golang.org/x/crypto/ssh"
)

// Verb is the argument with which this executable is the server; the path of the configuration
// follows.
const Verb = "shell"

// Config is the configuration of a server, in a file that the server removes because it
// contains a key.
type Config struct {
	Socket        string `json:"socket"`
	AuthorizedKey string `json:"authorizedKey"` // a line of authorized_keys
	HostKey       string `json:"hostKey"`       // PEM; "": the server makes one
	Dir           string `json:"dir"`           // working directory of sessions
}

// Write writes the configuration for the server.
func (c Config) Write(path string) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return fmt.Errorf("cannot write the keys of the shell: %w", err)
	}
	return os.Chmod(path, 0o600)
}

func readConfig(path string) (Config, error) {
	var c Config
	text, err := os.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("cannot read the shell's configuration: %w", err)
	}
	if err := os.Remove(path); err != nil {
		return c, fmt.Errorf("cannot read the shell's configuration: %w", err)
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("cannot read the shell's configuration: %w", err)
	}
	return c, nil
}

// keys parses both keys.
func (c Config) keys() (authorized ssh.PublicKey, host ssh.Signer, err error) {
	authorized, _, _, _, err = ssh.ParseAuthorizedKey([]byte(c.AuthorizedKey))
	if err != nil {
		return nil, nil, fmt.Errorf("cannot parse the authorized key of the shell: %w", err)
	}
	if c.HostKey == "" {
		_, private, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			return nil, nil, err
		}
		host, err = ssh.NewSignerFromKey(private)
		return authorized, host, err
	}
	host, err = ssh.ParsePrivateKey([]byte(c.HostKey))
	if err != nil {
		return nil, nil, fmt.Errorf("cannot parse the host key of the shell: %w", err)
	}
	return authorized, host, nil
}
