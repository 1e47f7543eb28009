package tokens_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/detent-ml/detent/cli/internal/tokens"
	"github.com/detent-ml/detent/master/fault"
)

func open(t *testing.T, dir, master string) *tokens.Store {
	t.Helper()
	s, err := tokens.Open(dir, master)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func read(t *testing.T, s *tokens.Store) tokens.Sessions {
	t.Helper()
	got, err := s.Read()
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestFileIsDeterminedsOwn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "determined")
	s := open(t, dir, "master.example:9000")
	must(t, s.SetToken("ada", "T1", true))
	must(t, s.SetToken("bob", "T2", false))
	must(t, open(t, dir, "https://other").SetToken("eve", "T3", false))
	text, err := os.ReadFile(s.Path())
	must(t, err)
	const want = `{
    "masters": {
        "http://master.example:9000": {
            "active_user": "ada",
            "tokens": {
                "ada": "T1",
                "bob": "T2"
            }
        },
        "https://other:443": {
            "tokens": {
                "eve": "T3"
            }
        }
    },
    "version": 2
}`
	if string(text) != want {
		t.Errorf("the file is\n%s\nwant\n%s", text, want)
	}
	if info, err := os.Stat(s.Path()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder's mode %v, %v", info.Mode(), err)
	}
	got := read(t, s)
	if got.Active != "ada" || got.Tokens["bob"] != "T2" || fmt.Sprint(got.Users()) != "[ada bob]" {
		t.Errorf("read %+v", got)
	}
}

func TestNothingStored(t *testing.T) {
	s := open(t, t.TempDir(), "m")
	if got := read(t, s); got.Active != "" || len(got.Tokens) != 0 {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(s.Path()); err == nil {
		t.Error("reading made a file")
	}
}

func TestForgetting(t *testing.T) {
	s := open(t, t.TempDir(), "m")
	must(t, s.SetToken("ada", "T1", true))
	must(t, s.DropToken("ada", "another one"))
	if got := read(t, s); got.Tokens["ada"] != "T1" {
		t.Errorf("a session was dropped that had been replaced meanwhile: %+v", got)
	}
	must(t, s.DropToken("ada", "T1"))
	if got := read(t, s); got.Tokens["ada"] != "" || got.Active != "ada" {
		t.Errorf("after a refused session: %+v", got)
	}
	must(t, s.SetToken("ada", "T2", false))
	must(t, s.Drop("ada"))
	if got := read(t, s); got.Tokens["ada"] != "" || got.Active != "" {
		t.Errorf("after signing out: %+v", got)
	}
}

func TestOlderVersions(t *testing.T) {
	for name, text := range map[string]string{
		"version 0":        `{"active_user": "ada", "tokens": {"ada": "T1"}}`,
		"version 1":        `{"version": 1, "masters": {"http://m:8080/": {"active_user": "ada", "tokens": {"ada": "T1"}}, "n": {"tokens": {"x": "T9"}}}}`,
		"version 1, short": `{"version": 1, "masters": {"m": {"active_user": "ada", "tokens": {"ada": "T1"}}}}`,
		"version 2":        `{"version": 2, "masters": {"http://m:8080": {"active_user": "ada", "tokens": {"ada": "T1"}}}, "of another program": 7}`,
	} {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "auth.json"), []byte(text), 0o600))
		s := open(t, dir, "m")
		if got := read(t, s); got.Active != "ada" || got.Tokens["ada"] != "T1" {
			t.Errorf("%s: read %+v", name, got)
		}
		must(t, s.SetToken("bob", "T2", false))
		if got := read(t, s); got.Active != "ada" || got.Tokens["ada"] != "T1" || got.Tokens["bob"] != "T2" {
			t.Errorf("%s: after a change %+v", name, got)
		}
		var doc map[string]any
		raw, err := os.ReadFile(s.Path())
		must(t, err)
		must(t, json.Unmarshal(raw, &doc))
		if doc["version"] != 2.0 {
			t.Errorf("%s: written as version %v", name, doc["version"])
		}
		if strings.Contains(text, "another program") && doc["of another program"] != 7.0 {
			t.Errorf("%s: entries of another program were lost: %s", name, raw)
		}
	}
}

func TestDamagedFile(t *testing.T) {
	for _, text := range []string{"{", "[]", `{"version":3}`, `{"version":2,"masters":{"http://m:8080":{"tokens":{"a":1}}}}`, `{"version":"x"}`} {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "auth.json"), []byte(text), 0o600))
		s := open(t, dir, "m")
		_, err := s.Read()
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), s.Path()) {
			t.Errorf("%s: %v", text, err)
		}
		must(t, s.SetToken("ada", "T1", true))
		if got := read(t, s); got.Tokens["ada"] != "T1" {
			t.Errorf("%s: after signing in again %+v", text, got)
		}
		if kept, err := os.ReadFile(s.Path() + ".damaged"); err != nil || string(kept) != text {
			t.Errorf("%s: the damaged file was not kept: %q, %v", text, kept, err)
		}
	}
}

func TestManyAtOnceLoseNothing(t *testing.T) {
	dir := t.TempDir()
	const n = 20
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			s, err := tokens.Open(dir, fmt.Sprintf("m%d", i%3))
			if err == nil {
				err = s.SetToken(fmt.Sprintf("u%d", i), "T", false)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	found := 0
	for m := range 3 {
		found += len(read(t, open(t, dir, fmt.Sprintf("m%d", m))).Tokens)
	}
	if found != n {
		t.Errorf("%d of %d sessions are left", found, n)
	}
	left, err := filepath.Glob(filepath.Join(dir, "auth.json.*"))
	if err != nil || len(left) != 1 { // the lock alone
		t.Errorf("left behind: %v", left)
	}
}

func TestConfigDir(t *testing.T) {
	env := map[string]string{"HOME": "/h"}
	dir := func() string {
		d, err := tokens.ConfigDir(func(name string) string { return env[name] })
		must(t, err)
		return d
	}
	if got := dir(); !strings.HasSuffix(got, "/determined") || !strings.HasPrefix(got, "/h/") {
		t.Errorf("%s", got)
	}
	env["DET_DEBUG_CONFIG_PATH"] = "/elsewhere"
	if got := dir(); got != "/elsewhere" {
		t.Errorf("%s", got)
	}
}

func TestStoredCertificate(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "certs.json"), []byte(`{"https://m:443": "PEM"}`), 0o600))
	if got := tokens.Certificate(dir, "https://m:443"); string(got) != "PEM" {
		t.Errorf("%q", got)
	}
	if got := tokens.Certificate(dir, "https://n:443"); len(got) != 0 {
		t.Errorf("%q for a master that is not in the file", got)
	}
}
