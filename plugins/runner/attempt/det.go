//go:build linux

package attempt

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// placeDet puts det at the end of PATH: a det in the image comes first. This det is the
// runner's executable, which fetches the master's det at its first use (package detcli), so
// that no task waits for a program that most tasks do not use. A master only has det for its
// own platform.
func placeDet(l layout, env map[string]string) error {
	if url := env["DET_CLI_URL"]; url == "" || !strings.HasSuffix(url, "/"+runtime.GOOS+"-"+runtime.GOARCH) {
		delete(env, "DET_CLI_URL")
		return nil
	}
	link := filepath.Join(l.physical, "bin", "det")
	err := os.MkdirAll(filepath.Dir(link), 0o755)
	if err == nil {
		err = os.Symlink(l.self, link)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("cannot put det on PATH: %w", err)
	}
	env["PATH"] = env["PATH"] + ":" + l.inRun("bin")
	return nil
}
