package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/importer/importertest"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// TestImport: the command reads the configuration, and each flag has its effect.
func TestImport(t *testing.T) {
	t.Setenv("DETENT_DATABASE", "")
	from := importertest.Old(t, importertest.Small)
	empty, beside := rowtest.New(t), rowtest.New(t)
	beside.Experiment(rowtest.LossSearcher)
	file := filepath.Join(t.TempDir(), "master.yaml")
	if err := os.WriteFile(file, []byte("database: "+empty.DSN+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (string, error) {
		c := command()
		c.SetArgs(append([]string{"import"}, args...))
		var out bytes.Buffer
		c.SetOut(&out)
		err := c.ExecuteContext(t.Context())
		return out.String(), err
	}
	for _, line := range []struct {
		args []string
		want []string
	}{
		{[]string{"--config", file, "--from", from.DSN, "--dry-run"}, []string{"nothing was imported (--dry-run)"}},
		{[]string{"--config", file, "--from", from.DSN, "--logs", "--verify"}, []string{" (100 %), 480 lines, ", "both sides have the same", "  shared_fs /data checkpoints: NOT READ: checkpoint ",
			"which is not below a folder of checkpoint_roots", "    where it can be read: det checkpoint download ", "note: 5 of 5 storages cannot be read with this configuration", "imported cluster"}},
		{[]string{"--set", "database=" + beside.DSN, "--from", from.DSN, "--workspace-prefix", "old/"}, []string{"imported cluster"}},
	} {
		if text, err := run(line.args...); err != nil {
			t.Fatalf("%v: %v\n%s", line.args, err, text)
		} else {
			for _, want := range line.want {
				if !strings.Contains(text, want) {
					t.Errorf("%v prints\n%s\nwithout %q", line.args, text, want)
				}
			}
		}
	}
	readsCheckpoints(t, from, empty, run)
	if n := empty.Int(`SELECT count(*) FROM experiments`); n != 60 {
		t.Errorf("%d experiments were imported", n)
	}
	if name := beside.Text(`SELECT name FROM workspaces WHERE name LIKE '%Vision'`); name != "old/Vision" {
		t.Errorf("the workspace is called %s", name)
	}
	if _, err := run("--config", file); err == nil || status(err) != 2 || !strings.Contains(err.Error(), "from") {
		t.Errorf("without --from: %v, status %d", err, status(err))
	}
	if _, err := run("--config", file, "--from", "postgres://127.0.0.1:1/x?password=secret"); status(err) != 1 || strings.Contains(err.Error(), "secret") {
		t.Errorf("an address where nobody answers: %v, status %d", err, status(err))
	}
}

// readsCheckpoints: a verification reads the newest checkpoint of a storage that the configuration names, and fails without it.
func readsCheckpoints(t *testing.T, from, d *rowtest.World, run func(...string) (string, error)) {
	t.Helper()
	storage, file := t.TempDir(), filepath.Join(t.TempDir(), "master.yaml")
	if err := os.WriteFile(file, []byte("database: "+d.DSN+"\ncheckpoint_roots: ["+storage+"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	from.Exec(`UPDATE experiments SET config = jsonb_set(config, '{checkpoint_storage,host_path}', to_jsonb($1::text))`, storage)
	line := "  shared_fs " + storage + " checkpoints: "
	text, err := run("--config", file, "--from", from.DSN, "--verify")
	if err == nil || status(err) != 1 || !strings.Contains(text, line+"FAILED: checkpoint ") {
		t.Errorf("without the files: %v\n%s", err, text)
	}
	for _, uuid := range strings.Fields(d.Text(`SELECT string_agg(uuid::text, ' ') FROM checkpoints WHERE state = 'COMPLETED'`)) {
		folder := filepath.Join(storage, "checkpoints", uuid)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, size := range map[string]int{"weights": 1000, "metadata.json": 24} {
			if err := os.WriteFile(filepath.Join(folder, name), make([]byte, size), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	text, err = run("--config", file, "--from", from.DSN, "--verify")
	if err != nil || !strings.Contains(text, line+"read ") || !strings.Contains(text, "2 files, 1024 bytes") || !strings.Contains(text, "note: 5 of 6 storages") {
		t.Errorf("with the files: %v\n%s", err, text)
	}
}

// TestImportRefuses: an old host needs a name of this master's own, and the old master is asked with the token of a file.
func TestImportRefuses(t *testing.T) {
	t.Setenv("DETENT_DATABASE", "")
	d, dir := rowtest.New(t), t.TempDir()
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("abc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"public_url must be set":   {"--from", "https://127.0.0.1:1", "--workspace-prefix", "old/", "--old-host", "det.old.example.org"},
		"who asks the old master?": {"--from", "https://127.0.0.1:1"},
		"127.0.0.1:1":              {"--from", "https://127.0.0.1:1", "--from-token-file", token}, // it asks, and nobody answers
		"--from-token-file":        {"--from", "https://127.0.0.1:1", "--from-token-file", filepath.Join(dir, "nowhere")},
	} {
		c := command()
		c.SetArgs(append([]string{"import", "--set", "database=" + d.DSN}, args...))
		c.SetOut(&bytes.Buffer{})
		if err := c.ExecuteContext(t.Context()); err == nil || status(err) != 1 || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
}
