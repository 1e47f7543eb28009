package images

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// pinned are the names and versions of requirements with an exact version.
var pinned = regexp.MustCompile(`^([^=\[]+)(?:\[.*\])?==(.+)$`)

// TestLocks: each lock that is here has what its recipe names, and nothing that it leaves out.
func TestLocks(t *testing.T) {
	files, err := filepath.Glob("*.lock")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name, arch, _ := strings.Cut(strings.TrimSuffix(file, ".lock"), "_")
		r, err := Named(name)
		if err != nil || machines[arch] == "" {
			t.Errorf("%s is of no image or of no platform: %v", file, err)
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lock, err := parseLock(string(text))
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if lock.Text() != string(text) {
			t.Errorf("%s: what is written is not what was read", file)
		}
		versions := map[string]string{}
		for _, w := range lock.Wheels {
			versions[w.Name] = w.Version
		}
		for _, x := range slices.Concat(r.Python, r.Alone) {
			if m := pinned.FindStringSubmatch(x); m != nil && versions[normal(m[1])] != m[2] {
				t.Errorf("%s has %s %q, and the recipe %s: run ./justw images-lock %s", file, m[1], versions[normal(m[1])], m[2], name)
			}
		}
		for _, x := range r.Without {
			if versions[x] != "" {
				t.Errorf("%s has %s", file, x)
			}
		}
	}
}

func TestBrokenLocks(t *testing.T) {
	good := "# wheels of 2026-11-29\nnumpy==2.4.6 --hash=sha256:" + strings.Repeat("a", 64) + "\n"
	if l, err := parseLock(good); err != nil || len(l.Wheels) != 1 || l.Made != time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC) {
		t.Fatalf("%+v %v", l, err)
	}
	for text, want := range map[string]string{
		"":                                      "line 1",
		"# wheels of yesterday\n":               "line 1",
		good + "torch\n":                        `line 3 is "torch"`,
		good + "torch==2 --hash=sha256:short\n": "line 3",
		strings.Replace(good, "==", ">=", 1):    "line 2",
	} {
		if _, err := parseLock(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q in it", text, err, want)
		}
	}
}

func TestUnknownImage(t *testing.T) {
	if _, err := Named("detent-large"); err == nil || !strings.Contains(err.Error(), `"detent-large"; the images are detent-small`) {
		t.Error(err)
	}
}

// TestPack: the file has what its index and its manifests name, under names that are the hashes of the contents.
func TestPack(t *testing.T) {
	layer, err := NewLayer(filepath.Join(t.TempDir(), "layer"), func(w io.Writer) error {
		z := tar.NewWriter(w)
		return errors.Join(z.WriteHeader(&tar.Header{Name: "hello", Mode: 0o644}), z.Close())
	})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)
	var one, two bytes.Buffer
	img := Image{Name: "x", Tag: "1", Arch: "amd64", Time: at, Layer: layer, Config: Config{Env: []string{"A=b"}}}
	if err := errors.Join(Pack(&one, img), Pack(&two, img)); err != nil || !bytes.Equal(one.Bytes(), two.Bytes()) {
		t.Fatalf("two files of one image differ, or %v", err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(&one); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil || !h.ModTime.Equal(at) {
			t.Errorf("%s of %s: %v", h.Name, h.ModTime, err)
		}
	}
	var index struct{ Manifests []blob }
	var manifest struct {
		Config blob
		Layers []blob
	}
	var old []struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	read := func(name string, out any) {
		if err := json.Unmarshal(files[name], out); err != nil {
			t.Fatalf("%s in %v: %v", name, slices.Sorted(maps.Keys(files)), err)
		}
	}
	read("index.json", &index)
	read(path(index.Manifests[0].Digest), &manifest)
	read("manifest.json", &old)
	for _, b := range append(manifest.Layers, manifest.Config, index.Manifests[0]) {
		found, err := jsonBlob("", json.RawMessage(files[path(b.Digest)]))
		if b.Size != int64(len(files[path(b.Digest)])) || (b.MediaType != manifest.Layers[0].MediaType && (err != nil || found.Digest != b.Digest)) {
			t.Errorf("%s has %d bytes, and %d are there: %v", b.Digest, b.Size, len(files[path(b.Digest)]), err)
		}
	}
	if len(old) != 1 || old[0].RepoTags[0] != "x:1" || old[0].Config != path(manifest.Config.Digest) || old[0].Layers[0] != path(layer.Digest) {
		t.Errorf("manifest.json has %+v", old)
	}
	if string(files["oci-layout"]) != `{"imageLayoutVersion":"1.0.0"}` {
		t.Errorf("oci-layout has %s", files["oci-layout"])
	}
}

// TestLicences: a licence is an expression, a classifier or a short text.
func TestLicences(t *testing.T) {
	for want, h := range map[string]map[string][]string{
		"MIT":                     {"License-Expression": {"MIT"}, "License": {"other"}},
		"Apache Software License": {"Classifier": {"Topic :: X", "License :: OSI Approved :: Apache Software License"}},
		"BSD":                     {"License": {"BSD"}},
		"":                        {"License": {strings.Repeat("long ", 100)}},
	} {
		if got := licenceIn(h); got != want {
			t.Errorf("%v: %q, want %q", h, got, want)
		}
	}
}
