package dockerd

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// TestPodmanOfItsOwn: the service starts once, loads images, and leaves nothing. The integration
// tests check that containers end with the service.
func TestPodmanOfItsOwn(t *testing.T) {
	dir, err := os.MkdirTemp("", "det-podman-")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Minute)
	defer cancel()
	d, err := Start(ctx, Options{Dir: dir, Podman: true})
	if errors.Is(err, ErrNone) {
		t.Skip(errors.Join(err, os.RemoveAll(dir)))
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(d.Stop(ctx), d.Remove()); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("Podman's folder still exists: %v", err)
		}
	}()
	if !strings.HasPrefix(d.Version, "4.") && !strings.HasPrefix(d.Version, "5.") {
		t.Errorf("Podman's version is %q", d.Version)
	}
	if again, err := Start(ctx, Options{Dir: dir, Podman: true}); err != nil || again.Process() != d.Process() {
		t.Errorf("starting it twice gives %v and %v: %v", d.Process(), again, err)
	}
	var root bytes.Buffer
	w := tar.NewWriter(&root)
	if err := errors.Join(w.WriteHeader(&tar.Header{Name: "hello", Mode: 0o644, Size: 2}), write(w, "hi"), w.Close()); err != nil {
		t.Fatal(err)
	}
	if err := d.Import(ctx, "detent/hello", "1", &root, "USER 1000"); err != nil {
		t.Fatal(err)
	}
	if err := d.Import(ctx, "Not A Name", "1", strings.NewReader("")); err == nil {
		t.Error("an image without a proper name was made")
	}
	if list, err := d.Containers(ctx, true); err != nil || len(list) != 0 {
		t.Errorf("a new service has the containers %v: %v", list, err)
	}
	if err := d.RemoveImage(ctx, "detent/hello:1"); err != nil {
		t.Error(err)
	}
}
