package server

import (
	"os"
	"path/filepath"
)

// useFilesBeside sets the paths of the files that tasks fetch from the master: the default is
// the folder of the det-master executable, as in the archive and the image of a release.
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
