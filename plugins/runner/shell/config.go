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

// Verb is the argument that makes this executable the server; the path of its
// configuration follows.
const Verb = "shell"

// Config is what a server is told, through a file that it removes: it holds a key.
type Config struct {
	Socket        string `json:"socket"`
	AuthorizedKey string `json:"authorizedKey"` // a line of authorized_keys
	HostKey       string `json:"hostKey"`       // PEM; empty for one made now
	Dir           string `json:"dir"`           // where sessions begin
}

// Write puts the configuration where the server finds it.
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
		return c, fmt.Errorf("the shell's configuration: %w", err)
	}
	if err := os.Remove(path); err != nil {
		return c, fmt.Errorf("the shell's configuration: %w", err)
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("the shell's configuration: %w", err)
	}
	return c, nil
}

// keys reads both keys.
func (c Config) keys() (authorized ssh.PublicKey, host ssh.Signer, err error) {
	authorized, _, _, _, err = ssh.ParseAuthorizedKey([]byte(c.AuthorizedKey))
	if err != nil {
		return nil, nil, fmt.Errorf("the key that may log in cannot be read: %w", err)
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
		return nil, nil, fmt.Errorf("the shell's own key cannot be read: %w", err)
	}
	return authorized, host, nil
}
