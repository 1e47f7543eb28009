package fetch_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/cli/internal/fetch"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/v1"
)

const uuid = "0a1b2c3d-0000-4000-8000-000000000001"

// checkpoint returns a checkpoint of an experiment with this storage.
func checkpoint(storage string) *v1.Checkpoint {
	return &v1.Checkpoint{
		UUID: uuid, State: v1.CheckpointStateCompleted, Metadata: v1.Struct(`{"steps_completed":7}`),
		Training: v1.CheckpointTrainingMetadata{ExperimentConfig: v1.Struct(`{"checkpoint_storage":` + storage + `}`)},
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(content), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// contents lists what is in a folder, with the sizes of files.
func contents(t *testing.T, dir string) string {
	t.Helper()
	var out []string
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		if info.Mode().IsRegular() {
			out = append(out, fmt.Sprintf("%s:%d", rel, info.Size()))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, " ")
}

// leftovers are hidden folders beside the target, of which there must be none.
func leftovers(t *testing.T, dir string) {
	t.Helper()
	items, err := filepath.Glob(filepath.Join(filepath.Dir(dir), ".*partial*"))
	if err != nil || len(items) > 0 {
		t.Errorf("left behind: %v", items)
	}
}

func TestDirect(t *testing.T) {
	host := t.TempDir()
	write(t, filepath.Join(host, "ckpts", uuid, "model.bin"), "12345")
	write(t, filepath.Join(host, "ckpts", uuid, "state", "x"), "x")
	if err := os.Symlink("/etc/passwd", filepath.Join(host, "ckpts", uuid, "link")); err != nil {
		t.Fatal(err)
	}
	for name, storage := range map[string]string{
		"shared_fs, relative": fmt.Sprintf(`{"type":"shared_fs","host_path":%q,"storage_path":"ckpts"}`, host),
		"shared_fs, absolute": fmt.Sprintf(`{"type":"shared_fs","host_path":%q,"storage_path":%q}`, host, filepath.Join(host, "ckpts")),
		"directory":           fmt.Sprintf(`{"type":"directory","container_path":%q}`, filepath.Join(host, "ckpts")),
	} {
		for _, mode := range []fetch.Mode{fetch.Auto, fetch.Direct} {
			dir := filepath.Join(t.TempDir(), "out", "deep")
			var bytes int64
			got, err := fetch.Checkpoint(t.Context(), fetch.Options{Checkpoint: checkpoint(storage), Dir: dir, Mode: mode, Progress: func(n int64) { bytes += n }})
			if err != nil || got != dir {
				t.Fatalf("%s, %s: %s, %v", name, mode, got, err)
			}
			if c := contents(t, dir); c != "metadata.json:26 model.bin:5 state/x:1" || bytes != 6 {
				t.Errorf("%s, %s: fetched %s, reported %d bytes", name, mode, c, bytes)
			}
			leftovers(t, dir)
		}
	}
}

func TestDefaultFolder(t *testing.T) {
	host := t.TempDir()
	write(t, filepath.Join(host, uuid, "m"), "1")
	t.Chdir(t.TempDir())
	got, err := fetch.Checkpoint(t.Context(), fetch.Options{Mode: fetch.Direct,
		Checkpoint: checkpoint(fmt.Sprintf(`{"type":"directory","container_path":%q}`, host))})
	if err != nil || got != filepath.Join("checkpoints", uuid) {
		t.Fatal(got, err)
	}
}

// archived serves an archive, cut off after so many bytes where limit is not 0.
func archived(t *testing.T, limit int, entries ...tar.Header) *client.Client {
	t.Helper()
	var buf bytes.Buffer
	gz := gzip.NewWriter(&buf)
	w := tar.NewWriter(gz)
	for _, h := range entries {
		if h.Typeflag == 0 || h.Typeflag == tar.TypeReg {
			h.Typeflag = tar.TypeReg
		}
		h.Mode = 0o644
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(bytes.Repeat([]byte{7}, int(h.Size))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := gz.Close(); err != nil {
		t.Fatal(err)
	}
	body := buf.Bytes()
	if limit > 0 {
		body = body[:len(body)-limit]
	}
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/checkpoints/"+uuid || r.Header.Get("Accept") != "application/gzip" {
			t.Errorf("asked for %s as %s", r.URL.Path, r.Header.Get("Accept"))
		}
		rw.Write(body)
	}))
	t.Cleanup(s.Close)
	c, err := client.New(client.Options{Master: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const elsewhere = `{"type":"directory","container_path":"/does/not/exist"}`

func TestThroughTheMaster(t *testing.T) {
	for _, mode := range []fetch.Mode{fetch.Auto, fetch.Master} {
		c := archived(t, 0, tar.Header{Name: "./", Typeflag: tar.TypeDir}, tar.Header{Name: "state/", Typeflag: tar.TypeDir}, tar.Header{Name: "state/x", Size: 3},
			tar.Header{Name: "./model.bin", Size: 1000}, tar.Header{Name: "deep/er/y", Size: 1})
		dir := filepath.Join(t.TempDir(), "out")
		if _, err := fetch.Checkpoint(t.Context(), fetch.Options{Client: c, Checkpoint: checkpoint(elsewhere), Dir: dir, Mode: mode}); err != nil {
			t.Fatal(mode, err)
		}
		if got := contents(t, dir); got != "deep/er/y:1 metadata.json:26 model.bin:1000 state/x:3" {
			t.Errorf("%s: fetched %s", mode, got)
		}
		leftovers(t, dir)
	}
}

func TestArchivesThatWouldDoHarm(t *testing.T) {
	for name, entries := range map[string][]tar.Header{
		"a path upwards":     {{Name: "../evil", Size: 1}},
		"a hidden upward":    {{Name: "a/../../evil", Size: 1}},
		"an absolute path":   {{Name: "/tmp/evil", Size: 1}},
		"the same file anew": {{Name: "x", Size: 1}, {Name: "x", Size: 2}},
	} {
		c := archived(t, 0, entries...)
		parent := t.TempDir()
		dir := filepath.Join(parent, "in", "out")
		_, err := fetch.Checkpoint(t.Context(), fetch.Options{Client: c, Checkpoint: checkpoint(elsewhere), Dir: dir, Mode: fetch.Master})
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
		if got := contents(t, parent); got != "" {
			t.Errorf("%s: left %s", name, got)
		}
	}
}

func TestLinksInAnArchiveAreNotMade(t *testing.T) {
	c := archived(t, 0, tar.Header{Name: "link", Typeflag: tar.TypeSymlink, Linkname: "/etc"}, tar.Header{Name: "link/passwd", Size: 3})
	dir := filepath.Join(t.TempDir(), "out")
	if _, err := fetch.Checkpoint(t.Context(), fetch.Options{Client: c, Checkpoint: checkpoint(elsewhere), Dir: dir, Mode: fetch.Master}); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, dir); got != "link/passwd:3 metadata.json:26" {
		t.Errorf("fetched %s", got)
	}
}

func TestBrokenArchiveLeavesNothing(t *testing.T) {
	for _, cut := range []int{1, 9, 200} {
		c := archived(t, cut, tar.Header{Name: "a", Size: 100}, tar.Header{Name: "b", Size: 1 << 20})
		dir := filepath.Join(t.TempDir(), "out")
		_, err := fetch.Checkpoint(t.Context(), fetch.Options{Client: c, Checkpoint: checkpoint(elsewhere), Dir: dir, Mode: fetch.Master})
		if !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "nothing was stored") {
			t.Errorf("cut by %d: %v", cut, err)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("cut by %d: there is a folder", cut)
		}
		leftovers(t, dir)
	}
}

func TestWhatIsThereAlready(t *testing.T) {
	host := t.TempDir()
	write(t, filepath.Join(host, uuid, "m"), "new")
	k := checkpoint(fmt.Sprintf(`{"type":"directory","container_path":%q}`, host))

	whole := t.TempDir()
	write(t, filepath.Join(whole, "metadata.json"), "{}")
	if _, err := fetch.Checkpoint(t.Context(), fetch.Options{Checkpoint: k, Dir: whole, Mode: fetch.Direct}); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, whole); got != "metadata.json:2" {
		t.Errorf("a folder with a checkpoint was changed: %s", got)
	}

	other := t.TempDir()
	write(t, filepath.Join(other, "notes"), "mine")
	if _, err := fetch.Checkpoint(t.Context(), fetch.Options{Checkpoint: k, Dir: other, Mode: fetch.Direct}); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, other); got != "m:3 metadata.json:26 notes:4" {
		t.Errorf("beside other files: %s", got)
	}

	clash := t.TempDir()
	write(t, filepath.Join(clash, "m"), "mine")
	_, err := fetch.Checkpoint(t.Context(), fetch.Options{Checkpoint: k, Dir: clash, Mode: fetch.Direct})
	if !fault.Is(err, fault.Conflict) || contents(t, clash) != "m:4" {
		t.Errorf("%v, then %s", err, contents(t, clash))
	}
}

func TestWhatCannotBeFetched(t *testing.T) {
	deleted := checkpoint(elsewhere)
	deleted.State = v1.CheckpointStateDeleted
	for name, c := range map[string]struct {
		k       *v1.Checkpoint
		mode    fetch.Mode
		code    fault.Code
		problem string
	}{
		"a deleted one":     {deleted, fetch.Auto, fault.Invalid, "it is DELETED"},
		"not on this side":  {checkpoint(elsewhere), fetch.Direct, fault.NotFound, "is not in /does/not/exist"},
		"a bucket, direct":  {checkpoint(`{"type":"s3","bucket":"b"}`), fetch.Direct, fault.NotFound, "--mode master"},
		"no storage at all": {checkpoint(`{}`), fetch.Direct, fault.NotFound, "does not say where"},
	} {
		dir := filepath.Join(t.TempDir(), "out")
		_, err := fetch.Checkpoint(t.Context(), fetch.Options{Checkpoint: c.k, Dir: dir, Mode: c.mode})
		if fault.CodeOf(err) != c.code || !strings.Contains(fmt.Sprint(err), c.problem) {
			t.Errorf("%s: %v", name, err)
		}
		leftovers(t, dir)
	}
}
