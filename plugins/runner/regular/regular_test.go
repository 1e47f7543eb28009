//go:build unix

package regular_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/detent-ml/detent/plugins/runner/regular"
)

// TestOnlyRegularFiles: what a program may put in the place of a file is refused at once, and a file is read.
func TestOnlyRegularFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	err := errors.Join(os.WriteFile(at("file"), []byte("content"), 0o600), os.Symlink(at("file"), at("link")), os.Symlink(at("nowhere"), at("dangling")),
		unix.Mkfifo(at("pipe"), 0o600), os.Mkdir(at("folder"), 0o700), os.WriteFile(at("large"), nil, 0o600), os.Truncate(at("large"), regular.Max+1))
	if err != nil {
		t.Fatal(err)
	}
	if content, err := regular.Read(at("file")); err != nil || string(content) != "content" {
		t.Errorf("a file: %q %v", content, err)
	}
	if _, err := regular.Read(at("missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := regular.Read(at("large")); err == nil {
		t.Error("a file without a bound is read")
	}
	for _, name := range []string{"link", "dangling", "pipe", "folder"} {
		for _, flag := range []int{os.O_RDONLY, os.O_RDWR, os.O_WRONLY | os.O_CREATE | os.O_TRUNC} {
			done := make(chan error, 1)
			go func() {
				f, err := regular.Open(at(name), flag, 0o600)
				if err == nil {
					_ = f.Close()
				}
				done <- err
			}()
			select {
			case err := <-done:
				if !errors.Is(err, regular.ErrOther) {
					t.Errorf("%s with flags %x: %v", name, flag, err)
				}
			case <-time.After(time.Minute):
				t.Fatalf("%s with flags %x: opening it waits", name, flag)
			}
		}
	}
	if content, err := os.ReadFile(at("file")); err != nil || string(content) != "content" {
		t.Errorf("the target of the link was changed: %q %v", content, err)
	}
	if _, err := os.Lstat(at("nowhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file was made through a link: %v", err)
	}
}
