package launch

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/detent-ml/detent/master/tasks"
)

// newShellKeys creates the keys of a shell.
func newShellKeys() (*tasks.ShellKeys, error) {
	var k tasks.ShellKeys
	var err error
	if k.PrivateKey, k.PublicKey, err = keyPair("detent shell"); err != nil {
		return nil, err
	}
	k.HostPrivateKey, k.HostPublicKey, err = keyPair("")
	return &k, err
}

// keyPair creates a private key in OpenSSH's format, and the line with its public key.
func keyPair(comment string) (private, public string, err error) {
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return "", "", err
	}
	block, err := ssh.MarshalPrivateKey(key, comment)
	if err != nil {
		return "", "", err
	}
	line, err := ssh.NewPublicKey(pub)
	if err != nil {
		return "", "", err
	}
	public = strings.TrimSpace(strings.TrimSpace(string(ssh.MarshalAuthorizedKey(line))) + " " + comment)
	return string(pem.EncodeToMemory(block)), public, nil
}
