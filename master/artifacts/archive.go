package artifacts

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"time"
)

// The runner for containers is served in a tar: a file that Nomad fetches is not executable,
// and an image may have no program that makes it so. The tar is not compressed, and it is
// reproducible, so that all masters of a release serve the same hash without storing the tar.

// tarBlock is the size of a block in a tar.
const tarBlock = 512

func runnerArchiveSize(runner int64) int64 {
	return tarBlock + (runner+tarBlock-1)/tarBlock*tarBlock + 2*tarBlock
}

// newRunnerArchive is the tar of a runner; closing it closes the runner.
func newRunnerArchive(runner io.ReadCloser, size int64) io.ReadCloser {
	var head bytes.Buffer
	w := tar.NewWriter(&head)
	// This header cannot fail: its name is short, and its size is that of a file.
	_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: Runner, Mode: 0o755, Size: size, ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR})
	rest := runnerArchiveSize(size) - tarBlock - size
	return &runnerArchive{
		Reader: io.MultiReader(&head, io.LimitReader(runner, size), bytes.NewReader(make([]byte, rest))),
		runner: runner,
	}
}

type runnerArchive struct {
	io.Reader
	runner io.Closer
}

// Close closes the runner.
func (a *runnerArchive) Close() error { return a.runner.Close() }

// ArchiveHash is the hash of the tar of a runner, which is served at /runner/<hash of the
// runner>/<os>-<arch>.tar.
func ArchiveHash(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	info, err := f.Stat()
	if err != nil {
		return "", errors.Join(err, f.Close())
	}
	archive := newRunnerArchive(f, info.Size())
	defer archive.Close()
	h := sha256.New()
	if _, err := io.Copy(h, archive); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
