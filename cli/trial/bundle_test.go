package trial

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/term"
	"github.com/detent-ml/detent/master/server/servertest"
	"github.com/detent-ml/detent/master/v1"
)

// unpack reads a gzipped tar.
func unpack(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	gz, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(gz); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = string(b)
	}
}

func TestSupportBundle(t *testing.T) {
	s := servertest.Start(t, nil)
	console, out, _ := term.Buffers("")
	env := map[string]string{"DET_MASTER": s.URL, "HOME": t.TempDir()}
	a := &app.App{IO: console, Now: time.Now, Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
	c, err := a.Client(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	config, active := "name: iris\nentrypoint: x\nsearcher: {name: single, metric: loss, max_length: {batches: 200}}\n# hunter2\n", true
	if _, err := c.CreateExperiment(t.Context(), v1.CreateExperimentRequest{Config: &config, Activate: &active}, nil); err != nil {
		t.Fatal(err)
	}
	s.Ended(1)
	dir := t.TempDir()
	if err := runSupportBundle(t.Context(), a, c, 1, dir, time.Date(2026, 11, 21, 1, 2, 3, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	const name = "det-bundle-trial-1-20261121T010203"
	if out.String() != "bundle path: "+filepath.Join(dir, name+".tar.gz")+"\n" {
		t.Error(out)
	}
	files := unpack(t, filepath.Join(dir, name+".tar.gz"))
	for file, want := range map[string]string{"trial_logs.txt": "batch 200: loss", "master_logs.txt": "[", "api_experiment_call.json": `"name": "iris"`,
		"api_trial_call.json": `"experimentId": 1`, "workloads.json": `"totalBatches": 200`, "tasks.json": `"taskId"`} {
		if !strings.Contains(files[name+"/"+file], want) {
			t.Errorf("%s does not say %q: %.300s", file, want, files[name+"/"+file])
		}
		if strings.HasSuffix(file, ".json") && !json.Valid([]byte(files[name+"/"+file])) {
			t.Errorf("%s is no JSON", file)
		}
	}
	if len(files) != 6 || strings.Contains(files[name+"/api_experiment_call.json"], "hunter2") {
		t.Errorf("%d files; the configuration as it was submitted is in them", len(files))
	}
	if err := runSupportBundle(t.Context(), a, c, 7, dir, time.Now()); err == nil {
		t.Error("a trial that is not there has a bundle")
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}
