//go:build linux

package attempt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// The token of an attempt is needed once more after its main process: by the one
// that delivers what is left. It must not lie in the folder that both share,
// because Nomad shows the files of that folder to everybody with the right read-fs.
// So it lies in the secrets folder of the main process, which Nomad shows to nobody.
// The last process can read that under raw_exec, and under docker, where the job
// mounts it. Under exec it cannot; there the token is an extended attribute of an
// empty file in the shared folder, because Nomad shows what is in files, and not
// what is attached to them.

const (
	tokenFile      = "det-token"
	tokenAttribute = "user.detent.token"
	execDriver     = "exec"
	dockerDriver   = "docker"
)

// driver is the Nomad driver that runs this process.
func (p *NomadTask) driver() string { return p.Env["DET_DRIVER"] }

// keepToken puts the token where the last process finds it.
func (p *NomadTask) keepToken(token string) error {
	if p.driver() != execDriver {
		return writeFile(filepath.Join(p.SecretsDir, tokenFile), []byte(token), 0o600)
	}
	if err := os.MkdirAll(p.shared(), 0o700); err != nil {
		return err
	}
	file := p.shared("token")
	if err := writeFile(file, nil, 0o600); err != nil {
		return err
	}
	if err := unix.Setxattr(file, tokenAttribute, []byte(token), 0); err != nil {
		return fmt.Errorf("extended attribute of %s: %w", file, err)
	}
	return nil
}

// keptToken is the token that keepToken has put away.
func (p *NomadTask) keptToken() (string, error) {
	dir := p.Env["DET_MAIN_SECRETS"]
	switch {
	case p.driver() == execDriver:
		value := make([]byte, 4<<10)
		n, err := unix.Getxattr(p.shared("token"), tokenAttribute, value)
		if err != nil {
			return "", fmt.Errorf("the token of this attempt cannot be read: %w", err)
		}
		return string(value[:n]), nil
	case dir == "":
		dir = filepath.Join(filepath.Dir(p.AllocDir), "main", "secrets")
	}
	content, err := os.ReadFile(filepath.Join(dir, tokenFile))
	if err != nil {
		return "", fmt.Errorf("the token of this attempt cannot be read: %w", err)
	}
	if token := strings.TrimSpace(string(content)); token != "" {
		return token, nil
	}
	return "", errors.New("the token of this attempt is empty")
}
