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

// placeDet puts det last on PATH: a det of the image's own goes before it. It is this
// executable, which fetches the master's det when somebody uses it (package detcli):
// most tasks never do, and none should wait for it. A master has det for its own platform.
func placeDet(l layout, self string, env map[string]string) error {
	if url := env["DET_CLI_URL"]; url == "" || !strings.HasSuffix(url, "/"+runtime.GOOS+"-"+runtime.GOARCH) {
		delete(env, "DET_CLI_URL")
		return nil
	}
	link := filepath.Join(l.physical, "bin", "det")
	err := os.MkdirAll(filepath.Dir(link), 0o755)
	if err == nil {
		err = os.Symlink(self, link)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("det cannot be put on PATH: %w", err)
	}
	env["PATH"] = env["PATH"] + ":" + l.inRun("bin")
	return nil
}
