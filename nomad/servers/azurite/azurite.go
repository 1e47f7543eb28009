// Package azurite installs Azurite, Microsoft's emulator of Azure's Blob Storage, for tests. It is a
// program for Node: npm installs the versions in package-lock.json into the user's cache, without
// running their scripts.
package azurite

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/detent-ml/detent/nomad/servers"
)

//go:embed package.json package-lock.json
var pinned embed.FS

// ErrNoNode is returned if Azurite cannot run.
var ErrNoNode = errors.New("node and npm are not on PATH; install them (Debian: apt-get install nodejs npm)")

// Ensure returns the program that serves blobs, which node runs. It installs the program the first
// time.
func Ensure(ctx context.Context, report *servers.Reporter) (script string, err error) {
	dir, err := place()
	if err != nil {
		return "", err
	}
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", ErrNoNode
		}
	}
	return scriptIn(dir), servers.Once(ctx, dir, servers.Part{
		Lock: dir + ".lock", There: func() bool { return there(dir) }, Waiting: "installing Azurite",
		Making: "installing Azurite, once, about a minute",
		Make:   func(ctx context.Context, _ *servers.Task) error { return install(ctx, dir) },
	}, report)
}

// Find looks for an installed program; found is false without one, or without Node.
func Find() (script string, found bool, err error) {
	dir, err := place()
	if err != nil {
		return "", false, err
	}
	_, err = exec.LookPath("node")
	return scriptIn(dir), err == nil && there(dir), nil
}

func scriptIn(dir string) string {
	return filepath.Join(dir, "node_modules", "azurite", "dist", "src", "blob", "main.js")
}

func there(dir string) bool {
	_, err := os.Stat(scriptIn(dir))
	return err == nil
}

// place is the folder of an installation; its name depends on the versions.
func place() (string, error) {
	cache, err := servers.CacheDir()
	if err != nil {
		return "", err
	}
	var all []byte
	for _, name := range files() {
		text, err := pinned.ReadFile(name)
		if err != nil {
			return "", err
		}
		all = slices.Concat(all, text)
	}
	hash := sha256.Sum256(all)
	return filepath.Join(cache, "node", "azurite-"+hex.EncodeToString(hash[:6])), nil
}

func files() []string { return []string{"package.json", "package-lock.json"} }

// install installs into a temporary folder and renames it, so that the final folder is complete or
// missing.
func install(ctx context.Context, dir string) error {
	fresh := dir + ".new"
	if err := os.RemoveAll(fresh); err != nil { // of an installation that was killed
		return err
	}
	defer os.RemoveAll(fresh)
	if err := os.MkdirAll(fresh, 0o755); err != nil {
		return err
	}
	for _, name := range files() {
		text, err := pinned.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(fresh, name), text, 0o644); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--loglevel=error")
	cmd.Dir = fresh
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	if !there(fresh) {
		return fmt.Errorf("npm did not install Azurite into %s", fresh)
	}
	return os.Rename(fresh, dir)
}
