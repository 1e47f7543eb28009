// Package nodeprog installs programs for Node that tests start: Azurite, Microsoft's emulator of
// Azure's Blob Storage, and oidc-provider, a provider of OpenID Connect (package identitytest). npm
// installs the versions in their package-lock.json into the user's cache, without running their
// scripts.
package nodeprog

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"

	"github.com/detent-ml/detent/nomad/servers"
)

//go:embed azurite oidc-provider
var pinned embed.FS

// ErrNoNode is returned if programs for Node cannot run.
var ErrNoNode = errors.New("node and npm are not on PATH; install them (Debian: apt-get install nodejs npm)")

// A Program is a program for Node.
type Program struct {
	name   string   // of its folder here and in the cache
	files  []string // that the installation begins with
	script string   // what Node runs
}

// The programs.
var (
	Azurite = Program{"azurite", []string{"package.json", "package-lock.json"}, "node_modules/azurite/dist/src/blob/main.js"}
	// OIDCProvider is a provider of OpenID Connect whose users sign in with any name and password
	// (see oidc-provider/identity.mjs).
	OIDCProvider = Program{"oidc-provider", []string{"package.json", "package-lock.json", "identity.mjs"}, "identity.mjs"}
)

// Programs lists the programs by name.
func Programs() map[string]Program {
	return map[string]Program{Azurite.name: Azurite, OIDCProvider.name: OIDCProvider}
}

// Ensure returns the script that Node runs. It installs the program the first time.
func (p Program) Ensure(ctx context.Context, report *servers.Reporter) (script string, err error) {
	dir, err := p.folder()
	if err != nil {
		return "", err
	}
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", ErrNoNode
		}
	}
	return p.scriptIn(dir), servers.Once(ctx, dir, servers.Part{
		Lock: dir + ".lock", There: func() bool { return p.there(dir) }, Waiting: "installing " + p.name,
		Making: "installing " + p.name + ", once, about a minute",
		Make:   func(ctx context.Context, _ *servers.Task) error { return p.install(ctx, dir) },
	}, report)
}

// Find looks for an installed program; found is false without one, or without Node.
func (p Program) Find() (script string, found bool, err error) {
	dir, err := p.folder()
	if err != nil {
		return "", false, err
	}
	_, err = exec.LookPath("node")
	return p.scriptIn(dir), err == nil && p.there(dir), nil
}

func (p Program) scriptIn(dir string) string { return filepath.Join(dir, filepath.FromSlash(p.script)) }

func (p Program) there(dir string) bool {
	_, err := os.Stat(p.scriptIn(dir))
	return err == nil
}

// folder returns the folder of the installation; its name depends on the contents of the files.
func (p Program) folder() (string, error) {
	cache, err := servers.CacheDir()
	if err != nil {
		return "", err
	}
	var all []byte
	for _, name := range p.files {
		text, err := pinned.ReadFile(path.Join(p.name, name))
		if err != nil {
			return "", err
		}
		all = slices.Concat(all, text)
	}
	hash := sha256.Sum256(all)
	return filepath.Join(cache, "node", p.name+"-"+hex.EncodeToString(hash[:6])), nil
}

// install installs into a temporary folder and renames it, so that the final folder is complete or
// missing.
func (p Program) install(ctx context.Context, dir string) error {
	fresh := dir + ".new"
	if err := os.RemoveAll(fresh); err != nil { // of an installation that was killed
		return err
	}
	defer os.RemoveAll(fresh)
	if err := os.MkdirAll(fresh, 0o755); err != nil {
		return err
	}
	for _, name := range p.files {
		text, err := pinned.ReadFile(path.Join(p.name, name))
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
	if !p.there(fresh) {
		return fmt.Errorf("npm did not install %s into %s", p.name, fresh)
	}
	return os.Rename(fresh, dir)
}
