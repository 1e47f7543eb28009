package servers

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// tinyServer puts a module into a registry made of files: a server of a few lines that is released the
// way the real ones are, with a module of its own repository replaced by a folder.
func tinyServer(t *testing.T, main string) (Pin, *builder) {
	t.Helper()
	registry := t.TempDir()
	publish(t, registry, "example.com/tiny", "v1.2.3", map[string]string{
		"go.mod":  "module example.com/tiny\n\ngo 1.21\n\nrequire example.com/tiny/api v0.0.0\n\nreplace example.com/tiny/api => ./api\n",
		"go.sum":  "",
		"main.go": main,
	})
	publish(t, registry, "example.com/tiny/api", "v1.0.0", map[string]string{
		"go.mod": "module example.com/tiny/api\n\ngo 1.21\n",
		"api.go": "package api\n\nconst Version = \"Tiny v1.2.3\"\n",
	})
	pin := Pin{
		Name: "tiny", Title: "Tiny", Version: "1.2.3", Oldest: "1.0.0",
		Module: "example.com/tiny", Package: "example.com/tiny",
		Replace: map[string]string{"example.com/tiny/api": "example.com/tiny/api@v1.0.0"},
	}
	b, err := newBuilder()
	if err != nil {
		t.Fatal(err)
	}
	b.cache = t.TempDir()
	b.env = append(b.env, "GOPROXY=file://"+registry, "GONOSUMDB=*", "GONOSUMCHECK=1", "GOFLAGS=-modcacherw",
		"GOMODCACHE="+t.TempDir(), "GOTOOLCHAIN=local")
	return pin, b
}

func publish(t *testing.T, registry, module, version string, files map[string]string) {
	t.Helper()
	dir := filepath.Join(registry, module, "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for name, text := range files {
		w, err := z.Create(module + "@" + version + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		version + ".info": fmt.Sprintf(`{"Version": %q}`, version),
		version + ".mod":  files["go.mod"],
		version + ".zip":  archive.String(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

const tinyMain = `package main

import (
	"fmt"

	"example.com/tiny/api"
)

func main() { fmt.Println(api.Version) }
`

// entries are the names in the cache, without the lock.
func entries(t *testing.T, b *builder) []string {
	t.Helper()
	all, err := os.ReadDir(b.cache)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range all {
		if !strings.HasSuffix(e.Name(), ".lock") {
			names = append(names, e.Name())
		}
	}
	return names
}

func TestServerIsBuiltOnceByWhoeverComesFirst(t *testing.T) {
	pin, b := tinyServer(t, tinyMain)
	var said bytes.Buffer
	report := NewReporter(&said)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			path, err := b.ensure(t.Context(), pin, report)
			if err != nil {
				t.Error(err)
				return
			}
			if version, err := versionOf(t.Context(), path); err != nil || version != "1.2.3" {
				t.Errorf("%s prints the version %q, %v", path, version, err)
			}
		})
	}
	wg.Wait()
	if n := strings.Count(said.String(), "building Tiny 1.2.3, once, about 0 minutes …"); n != 1 {
		t.Errorf("the server was built %d times:\n%s", n, said.String())
	}
	if got := entries(t, b); len(got) != 1 || got[0] != filepath.Base(b.dir(pin)) {
		t.Errorf("the cache has %v, expected the server alone", got)
	}
}

func TestChangedRecipeIsAnotherBinary(t *testing.T) {
	pin, b := tinyServer(t, tinyMain)
	other := pin
	other.Tags = "ui"
	if b.binary(pin) == b.binary(other) {
		t.Error("two recipes have one place in the cache")
	}
}

func TestFailedBuildLeavesNothingAndSaysWhy(t *testing.T) {
	for name, c := range map[string]struct{ main, want string }{
		"broken source":   {"package main\n\nfunc main() { nothing() }\n", "undefined: nothing"},
		"other version":   {"package main\n\nfunc main() { println(); print(\"\") }\n", "no version in"},
		"unwanted server": {strings.Replace(tinyMain, "api.Version", `"Tiny v9.9.9", api.Version[:0]`, 1), "reports version 9.9.9"},
	} {
		t.Run(name, func(t *testing.T) {
			pin, b := tinyServer(t, c.main)
			if _, err := b.ensure(t.Context(), pin, nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, expected %q in it", err, c.want)
			}
			if got := entries(t, b); len(got) != 0 {
				t.Errorf("left in the cache: %v", got)
			}
		})
	}
}

func TestInterruptedBuildIsDoneAgain(t *testing.T) {
	pin, b := tinyServer(t, tinyMain)
	// What a build that was killed leaves: its folder, with a binary that is not whole.
	fresh := b.dir(pin) + ".new"
	if err := os.MkdirAll(fresh, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(fresh, "tiny"), []byte("half"), 0o755); err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.ensure(cancelled, pin, nil); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("error %v, expected an interruption", err)
	}
	if got := entries(t, b); len(got) != 0 {
		t.Errorf("left by the interrupted build: %v", got)
	}
	path, err := b.ensure(t.Context(), pin, nil)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(path).Output(); err != nil || string(out) != "Tiny v1.2.3\n" {
		t.Errorf("%s prints %q, %v", path, out, err)
	}
}

func TestWithoutGoTheErrorNamesIt(t *testing.T) {
	pin, b := tinyServer(t, tinyMain)
	t.Setenv("PATH", t.TempDir())
	if _, err := b.ensure(t.Context(), pin, nil); err == nil || !strings.Contains(err.Error(), "the build needs Go; install Go") {
		t.Errorf("error %v, expected the remedy", err)
	}
}

func TestBinaryOnPathIsUsedWhenItsVersionFits(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	pin, err := pinOf("nomad")
	if err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string]bool{"Nomad v1.11.2": true, "Nomad v1.10.0": true, "Nomad v2.1.0": true, "Nomad v1.9.7": false, "Nomad": false} {
		script := "#!/bin/sh\necho '" + version + "'\n"
		if err := os.WriteFile(filepath.Join(dir, "nomad"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		if _, got := onPath(t.Context(), pin, NewReporter(&said)); got != want {
			t.Errorf("%s on PATH is used: %v, expected %v", version, got, want)
		}
		if !want && !strings.Contains(said.String(), "is not used") {
			t.Errorf("%s was passed over in silence", version)
		}
	}
}

func TestUnknownServerIsRefused(t *testing.T) {
	if _, err := Ensure(t.Context(), "zookeeper", nil); err == nil || !strings.Contains(err.Error(), "nomad, consul") {
		t.Errorf("error %v, expected the servers that there are", err)
	}
}

func TestLockIsHeldByOneAndGivenBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "lock")
	unlock, err := Lock(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	waited := make(chan struct{})
	got := make(chan error, 1)
	go func() {
		second, err := Lock(t.Context(), path, func() { close(waited) })
		if err == nil {
			second()
		}
		got <- err
	}()
	<-waited
	select {
	case <-got:
		t.Fatal("two hold one lock")
	default:
	}
	unlock()
	if err := <-got; err != nil {
		t.Error(err)
	}

	unlock, err = Lock(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	short, cancel := context.WithTimeout(t.Context(), 2*lockPoll)
	defer cancel()
	if _, err := Lock(short, path, nil); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, expected the lock's path", err)
	}
}

func TestReportOfATask(t *testing.T) {
	var said bytes.Buffer
	r := NewReporter(&said)
	task := r.Task("making it")
	task.Update("half way")
	task.show()
	task.Done("made")
	text := said.String()
	for _, want := range []string{"making it …\n", "making it: half way, 0.0s\n", "making it: made (0.0s)\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
	task = r.Task("long (" + strings.Repeat("requirement ", 50) + ")")
	task.Update(strings.Repeat("a package, ", 500))
	said.Reset()
	task.show()
	if line := said.String(); len(line) > 2*maxPrinted || !strings.HasPrefix(line, "long (requirement") || !strings.Contains(line, "0.0s") {
		t.Errorf("a line of progress has %d bytes: %s", len(line), line)
	}
	task.Done("")
	(*Reporter)(nil).Task("in silence").Done("")
	said.Reset()
	r.Say("%s", "\x1b]0;title\x07é\r\tand\nmore")
	if got, want := said.String(), "]0;titleé\tand\nmore\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestElapsed(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0.0s", 1240 * time.Millisecond: "1.2s", 42 * time.Second: "42s", 185 * time.Second: "3m05s"} {
		if got := readable(d); got != want {
			t.Errorf("%s reads %q, expected %q", d, got, want)
		}
	}
}
