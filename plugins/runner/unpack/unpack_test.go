package unpack

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// archive makes a tar.gz of headers; a regular file's content is its Linkname.
func archive(t *testing.T, headers ...tar.Header) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for _, h := range headers {
		content := ""
		if h.Typeflag == tar.TypeReg {
			content, h.Linkname = h.Linkname, ""
			h.Size = int64(len(content))
		}
		if h.Mode == 0 {
			h.Mode = 0o644
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return &out
}

func plain(name, content string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeReg, Linkname: content}
}

func link(name, target string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: target}
}

// tree lists what is under a folder.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, path); rel != "." {
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

func TestUnpack(t *testing.T) {
	dir := t.TempDir()
	when := time.Unix(1600000000, 0)
	script := plain("./code/run.sh", "#!/bin/sh\n")
	script.Mode, script.ModTime = 0o755, when
	err := TarGz(archive(t,
		tar.Header{Name: "./", Typeflag: tar.TypeDir, Mode: 0o755},
		tar.Header{Name: "empty/", Typeflag: tar.TypeDir, Mode: 0o500},
		script, plain("code/twice", "old"), plain("code/twice", "new"),
		link("code/link", "../code/run.sh"), link("toplink", "code"),
		tar.Header{Name: "hard", Typeflag: tar.TypeLink, Linkname: "code/run.sh"},
		plain("empty/in", "x"),
	), dir, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"code", "code/link", "code/run.sh", "code/twice", "empty", "empty/in", "hard", "toplink"}
	if got := tree(t, dir); !slices.Equal(got, want) {
		t.Fatalf("%q", got)
	}
	info, err := os.Stat(filepath.Join(dir, "toplink/link"))
	if err != nil || info.Mode().Perm() != 0o755 || !info.ModTime().Equal(when) {
		t.Fatalf("%v %v", info, err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "code/twice")); err != nil || string(got) != "new" {
		t.Fatalf("%q %v", got, err)
	}
}

func TestNothingLeavesTheFolder(t *testing.T) {
	for name, headers := range map[string][]tar.Header{
		"parent":                               {plain("../evil", "x")},
		"hidden parent":                        {plain("a/../../evil", "x")},
		"absolute":                             {plain("/tmp/det-unpack-evil", "x")},
		"dot dot":                              {plain("..", "x")},
		"the folder itself":                    {plain(".", "x")},
		"empty name":                           {plain("", "x")},
		"absolute link":                        {link("a", "/etc")},
		"link out":                             {link("a", "../..")},
		"link out later":                       {link("a/b", "../../evil")},
		"link in disguise":                     {link("a", "b/../../evil")},
		"link back and forth":                  {tar.Header{Name: "d/", Typeflag: tar.TypeDir, Mode: 0o755}, link("a", "d/../..")},
		"through a link":                       {link("a", "."), plain("a/evil", "x")},
		"under a link":                         {link("a/b", ".."), link("a/b/c", "../evil")},
		"folder at a link":                     {link("a", "."), {Name: "a/b/", Typeflag: tar.TypeDir, Mode: 0o755}},
		"hard link out":                        {tar.Header{Name: "a", Typeflag: tar.TypeLink, Linkname: "../secret"}},
		"hard link absolute":                   {tar.Header{Name: "a", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"}},
		"hard link to a link":                  {link("a/b/l", "../../x"), tar.Header{Name: "l", Typeflag: tar.TypeLink, Linkname: "a/b/l"}},
		"a folder that becomes a link":         {plain("a/x", "x"), {Name: "b/", Typeflag: tar.TypeDir, Mode: 0o755}, plain("b/x", "x"), link("a/x", ".."), plain("a/x/evil", "x")},
		"a link that replaces an empty folder": {plain("z", "x"), {Name: "b/", Typeflag: tar.TypeDir, Mode: 0o755}, link("b", "."), plain("b/evil", "x")},
		"device":                               {tar.Header{Name: "a", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}},
		"fifo":                                 {tar.Header{Name: "a", Typeflag: tar.TypeFifo}},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			dir := filepath.Join(root, "in")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, "secret"), []byte("s"), 0o600); err != nil {
				t.Fatal(err)
			}
			err := TarGz(archive(t, headers...), dir, Limits{})
			if err == nil {
				t.Error("the archive was accepted")
			}
			for _, p := range tree(t, root) {
				if strings.Contains(p, "evil") {
					t.Errorf("%s was written", p)
				}
			}
			if _, err := os.Lstat("/tmp/det-unpack-evil"); err == nil {
				t.Error("an absolute path was written")
			}
		})
	}
}

func TestAFileThroughALinkThatWasThere(t *testing.T) {
	// A later entry of the same name replaces a link; it never writes through it.
	dir := t.TempDir()
	if err := TarGz(archive(t, plain("target", "kept"), link("a", "target"), plain("a", "new")), dir, Limits{}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "target")); err != nil || string(got) != "kept" {
		t.Fatalf("%q %v", got, err)
	}
}

func TestLimits(t *testing.T) {
	big := func() *bytes.Buffer {
		return archive(t, plain("a", strings.Repeat("0", 600)), plain("b", strings.Repeat("0", 600)))
	}
	if err := TarGz(big(), t.TempDir(), Limits{Bytes: 1000}); err == nil || !strings.Contains(err.Error(), "exceed the limit") {
		t.Fatalf("%v", err)
	}
	if err := TarGz(big(), t.TempDir(), Limits{Entries: 1}); err == nil || !strings.Contains(err.Error(), "more than 1 entries") {
		t.Fatalf("%v", err)
	}
	if err := TarGz(big(), t.TempDir(), Limits{Bytes: 1200, Entries: 2}); err != nil {
		t.Fatal(err)
	}
}

func TestDamage(t *testing.T) {
	whole := archive(t, plain("a", strings.Repeat("abc", 10000))).Bytes()
	for _, c := range []struct {
		name, want string
		content    []byte
	}{
		{"no gzip", "not gzip", []byte("hello")},
		{"empty", "not gzip", nil},
		{"cut", "unexpected EOF", whole[:len(whole)/2]},
	} {
		if err := TarGz(bytes.NewReader(c.content), t.TempDir(), Limits{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
