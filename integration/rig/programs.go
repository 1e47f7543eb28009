package rig

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// programs lists Detent's programs: the name and the package of each.
func programs() [6][2]string {
	return [6][2]string{{"det-master", "./master"}, {"det", "./cli"}, {"det-runner", "./plugins/runner"}, {"det-remover", "./plugins/remover"}, {"det-gpu", "./plugins/gpu"}, {"det-notice", "./plugins/notice"}}
}

// staleAfter is how long an unused folder of programs is kept.
const staleAfter = 12 * time.Hour

// Root is the checkout's folder. Tests run in the folder of their package.
func Root() (string, error) { return filepath.Abs("../..") }

// buildTime is how long the programs may take to build on a busy machine, from nothing.
const buildTime = 20 * time.Minute

// ofCheckout returns the folder of the programs of this checkout, for all tests of a package: go build takes more than a second to find that nothing has changed.
var ofCheckout = sync.OnceValues(func() (bin string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), buildTime)
	defer cancel()
	root, err := Root()
	if err != nil {
		return "", err
	}
	return buildPrograms(ctx, root)
})

// Programs builds Detent's programs from this checkout, once for all tests of a package, and returns their folder.
func Programs(t testing.TB) string {
	t.Helper()
	bin, err := ofCheckout()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// buildPrograms builds the programs. Each package of tests runs in a process of its own: one
// process builds while the others wait for its lock, and then find the programs built. The
// name of the folder is a hash of its content, so a later build of changed code does not
// replace the programs of a running test.
func buildPrograms(ctx context.Context, root string) (bin string, err error) {
	sum := sha256.Sum256([]byte(root))
	home := filepath.Join(os.TempDir(), fmt.Sprintf("detent-programs-%d-%s", os.Getuid(), hex.EncodeToString(sum[:6])))
	if err := errors.Join(os.MkdirAll(home, 0o755), os.Chmod(home, 0o755)); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(home, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	built := filepath.Join(home, "built")
	// One command for all: each would read the packages that they share, to find that they have not changed.
	args := []string{"build", "-trimpath", "-ldflags=-s -w", "-o", built + string(filepath.Separator)}
	for _, p := range programs() {
		args = append(args, p[1])
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	content := sha256.New()
	for _, p := range programs() {
		if err := addFile(content, filepath.Join(built, filepath.Base(p[1]))); err != nil {
			return "", err
		}
	}
	bin = filepath.Join(home, hex.EncodeToString(content.Sum(nil)[:8]))
	if err := errors.Join(removeStale(home, bin), keepPrograms(built, bin)); err != nil {
		return "", err
	}
	return bin, os.Chtimes(bin, time.Time{}, time.Now())
}

func addFile(to io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(to, f)
	return err
}

// keepPrograms copies the programs to the folder bin, which appears complete (by a rename).
func keepPrograms(built, bin string) error {
	if _, err := os.Stat(bin); err == nil {
		return nil
	}
	fresh := bin + ".fresh"
	if err := errors.Join(os.RemoveAll(fresh), os.Mkdir(fresh, 0o755)); err != nil {
		return err
	}
	for _, p := range programs() {
		if err := copyProgram(filepath.Join(built, filepath.Base(p[1])), filepath.Join(fresh, p[0])); err != nil {
			return err
		}
	}
	return os.Rename(fresh, bin)
}

// removeStale removes folders of programs that are unused for staleAfter, except wanted.
func removeStale(home, wanted string) error {
	entries, err := os.ReadDir(home)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(home, e.Name())
		if !e.IsDir() || e.Name() == "built" || path == wanted {
			continue
		}
		info, err := e.Info()
		if err != nil || time.Since(info.ModTime()) < staleAfter {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}

func copyProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
