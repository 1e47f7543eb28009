package artifacts

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestRunnerArchive: the master serves a complete tar with the announced size and hash, which contains
// one program.
func TestRunnerArchive(t *testing.T) {
	for _, size := range []int{0, 1, 511, 512, 513, 100_000} {
		path := filepath.Join(t.TempDir(), Runner)
		content := bytes.Repeat([]byte{7}, size)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		want, err := ArchiveHash(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		archive := newRunnerArchive(f, int64(size))
		text, err := io.ReadAll(archive)
		if err := errors.Join(err, archive.Close()); err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != want || int64(len(text)) != runnerArchiveSize(int64(size)) {
			t.Errorf("a runner of %d bytes: %d bytes with hash %x, announced were %d with %s", size, len(text), sum, runnerArchiveSize(int64(size)), want)
		}
		r := tar.NewReader(bytes.NewReader(text))
		h, err := r.Next()
		if err != nil || h.Name != Runner || h.Mode != 0o755 {
			t.Fatalf("a runner of %d bytes: %+v, %v", size, h, err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, content) {
			t.Errorf("a runner of %d bytes is unpacked as %d bytes: %v", size, len(got), err)
		}
		if _, err := r.Next(); err != io.EOF {
			t.Errorf("a runner of %d bytes: the next entry is %v, want the end", size, err)
		}
	}
	if _, err := ArchiveHash(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a runner that is not there has a hash")
	}
}
