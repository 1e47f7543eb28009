package release

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// sumsFile has its usual name, so that `sha256sum -c SHA256SUMS` checks a release.
const sumsFile = "SHA256SUMS"

// checksums writes the checksum of each file of the release, and returns the paths of all files.
func (b *builder) checksums() ([]string, error) {
	entries, err := os.ReadDir(b.Out)
	if err != nil {
		return nil, err
	}
	var sums strings.Builder
	var paths []string
	for _, e := range entries {
		path := filepath.Join(b.Out, e.Name())
		sum, err := sha256Of(path)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&sums, "%s  %s\n", sum, e.Name())
		paths = append(paths, path)
	}
	path := b.file(sumsFile)
	return append(paths, path), os.WriteFile(path, []byte(sums.String()), 0o644)
}

func sha256Of(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
