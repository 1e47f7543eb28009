package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/detent-ml/detent/nomad/servers"
)

// A nomadPlugin is a plugin that a node's agent starts, and its configuration.
type nomadPlugin struct {
	binary string // in its own folder
	config string
}

// plugins is the part of a client's configuration for its plugins.
func (c *Cluster) plugins(ctx context.Context, client Client, report *servers.Reporter) (string, error) {
	gpus, err := c.gpuPlugin(client)
	if err != nil {
		return "", err
	}
	podman, err := c.podmanPlugin(ctx, report)
	if err != nil {
		return "", err
	}
	var binaries []string
	config := ""
	for _, p := range []*nomadPlugin{gpus, podman} {
		if p != nil {
			binaries, config = append(binaries, p.binary), config+p.config
		}
	}
	if len(binaries) == 0 {
		return "", nil
	}
	dir, err := c.pluginFolder(binaries)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("\nplugin_dir = %q\n", dir) + config, nil
}

// pluginFolder is a folder with only these programs: Nomad starts every program in it.
func (c *Cluster) pluginFolder(binaries []string) (string, error) {
	if len(binaries) == 1 {
		return filepath.Dir(binaries[0]), nil
	}
	hash := sha256.New()
	for _, b := range binaries {
		fmt.Fprintln(hash, b)
	}
	dir := c.path("bin", "plugins-"+hex.EncodeToString(hash.Sum(nil)[:6]))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	for _, b := range binaries {
		if err := os.Link(b, filepath.Join(dir, filepath.Base(b))); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	return dir, nil
}
