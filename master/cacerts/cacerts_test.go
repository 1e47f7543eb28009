package cacerts

import (
	"crypto/x509"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPresent: where a system's authorities are found.
func TestPresent(t *testing.T) {
	dir := t.TempDir()
	full, empty, none := filepath.Join(dir, "full.pem"), filepath.Join(dir, "empty.pem"), filepath.Join(dir, "none")
	some, bare := filepath.Join(dir, "some"), filepath.Join(dir, "bare")
	for _, err := range []error{os.WriteFile(full, []byte("x"), 0o600), os.WriteFile(empty, nil, 0o600), os.Mkdir(some, 0o700), os.Mkdir(bare, 0o700),
		os.WriteFile(filepath.Join(some, "a.0"), []byte("x"), 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		file, folder     string
		bundles, folders []string
		want             bool
	}{
		"a bundle":                      {bundles: []string{none, full}, folders: []string{none}, want: true},
		"an empty bundle":               {bundles: []string{empty}, folders: []string{bare}},
		"a folder with a file":          {bundles: []string{none}, folders: []string{bare, some}, want: true},
		"nothing":                       {bundles: []string{none}, folders: []string{none, bare}},
		"a folder in a bundle's place":  {bundles: []string{some}},
		"the environment's file":        {file: full, want: true},
		"the environment's empty file":  {file: empty, bundles: []string{full}},
		"the environment's folders":     {folder: bare + ":" + some, want: true},
		"the environment's bare folder": {folder: bare, folders: []string{some}},
	} {
		if got := present(c.file, c.folder, c.bundles, c.folders); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestProvide: a program knows public authorities on a system that has none, and the system's own elsewhere.
func TestProvide(t *testing.T) {
	if os.Getenv("ROOTS_TEST") != "" {
		Provide()
		p, err := x509.SystemCertPool()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s %v", os.Getenv("ROOTS_TEST"), p.Equal(pool()))
		return
	}
	dir := t.TempDir()
	own := filepath.Join(dir, "own.pem")
	if err := os.WriteFile(own, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{filepath.Join(dir, "none.pem"): "built in true", own: "built in false"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestProvide$", "-test.v") //nolint:gosec // this test
		cmd.Env = append(os.Environ(), "ROOTS_TEST=built in", "SSL_CERT_FILE="+file, "SSL_CERT_DIR="+filepath.Join(dir, "nowhere"))
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, want %q in: %s", file, err, want, out)
		}
	}
}
