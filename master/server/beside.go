package server

import (
	"os"
	"path/filepath"
)

// useFilesBeside completes the paths of what tasks fetch from the master: where the
// configuration names none, the files beside the master's own program serve. The
// archive and the image of a release hold them there.
func (c *Config) useFilesBeside(program string) {
	dir := filepath.Dir(program)
	c.RunnerPath = orBeside(c.RunnerPath, filepath.Join(dir, "det-runner"))
	c.HarnessPath = orBeside(c.HarnessPath, filepath.Join(dir, "harness"))
}

func orBeside(path, beside string) string {
	if path != "" {
		return path
	}
	if _, err := os.Stat(beside); err != nil {
		return ""
	}
	return beside
}
