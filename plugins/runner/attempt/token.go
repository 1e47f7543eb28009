//go:build linux

package attempt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/detent-ml/detent/plugins/runner/regular"
)

// The allocation's last process needs the attempt's token once more. The token must not be in
// the folder that both processes share, because Nomad shows its files to everybody with the
// right read-fs. So it is in the secrets folder of the main process, which Nomad shows to
// nobody. The last process can read that folder under raw_exec, and under docker, where the job
// mounts it, but not under exec. Under exec the token is an extended attribute of an empty file
// in the shared folder, because Nomad shows the contents of files but not their attributes.

const (
	tokenFile      = "det-token"
	tokenAttribute = "user.detent.token"
	execDriver     = "exec"
	dockerDriver   = "docker"
)

// driver is the Nomad driver that runs this process.
func (p *NomadTask) driver() string { return p.Env["DET_DRIVER"] }

// keepToken stores the token for the last process.
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
		return fmt.Errorf("cannot set an extended attribute of %s: %w", file, err)
	}
	return nil
}

// keptToken reads the token that keepToken has stored.
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
	content, err := regular.Read(filepath.Join(dir, tokenFile))
	if err != nil {
		return "", fmt.Errorf("the token of this attempt cannot be read: %w", err)
	}
	if token := strings.TrimSpace(string(content)); token != "" {
		return token, nil
	}
	return "", errors.New("the token of this attempt is empty")
}
