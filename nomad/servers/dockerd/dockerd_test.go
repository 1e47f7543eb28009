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

// Where there is no right to start a daemon, that is said, and tests skip.
func TestDockerNeedsRoot(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may start a Docker daemon")
	}
	if _, err := Start(t.Context(), Options{Dir: t.TempDir()}); !errors.Is(err, ErrNone) {
		t.Errorf("a Docker daemon without root: %v", err)
	}
}

func TestADaemonOfItsOwn(t *testing.T) {
	dir, err := os.MkdirTemp("", "det-dockerd-")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Minute)
	defer cancel()
	d, err := Start(ctx, Options{Dir: dir})
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
			t.Errorf("the daemon's folder still exists: %v", err)
		}
	}()
	if again, err := Start(ctx, Options{Dir: dir}); err != nil || again.Process() != d.Process() {
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
		t.Errorf("a new daemon has the containers %v: %v", list, err)
	}
	if err := d.RemoveImage(ctx, "detent/hello:1"); err != nil {
		t.Error(err)
	}
	if err := d.RemoveImage(ctx, "detent/hello:1"); err == nil {
		t.Error("an image was removed twice")
	}
}

func write(w *tar.Writer, text string) error {
	_, err := w.Write([]byte(text))
	return err
}

// TestABridgeNeedsANetworkOfItsOwn: a daemon must not change the machine's own firewall. Tests in
// integration run tasks on a daemon's bridge.
func TestABridgeNeedsANetworkOfItsOwn(t *testing.T) {
	err := Find(t.Context(), true, nil)
	if errors.Is(err, ErrNone) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	d, err := Start(t.Context(), Options{Dir: t.TempDir(), Bridge: true})
	if d != nil || !errors.Is(err, errShared) && !errors.Is(err, ErrNone) {
		t.Fatalf("a daemon with a bridge starts in the machine's own network: %v", err)
	}
}
