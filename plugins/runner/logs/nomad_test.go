//go:build linux

package logs

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// nomadLog is a stream in a folder, with files of so many bytes.
func nomadLog(t *testing.T, keep, most int) (l *NomadLog, folder string) {
	t.Helper()
	folder = t.TempDir()
	opened, err := os.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	first, err := os.OpenFile(filepath.Join(folder, "main.stdout.0"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = opened.Close(), first.Close() })
	return &NomadLog{fd: int(first.Fd()), folder: opened, name: "main.stdout.", keep: keep, most: most}, folder
}

// kept is what the files of a folder have.
func kept(t *testing.T, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		found[e.Name()] = string(text)
	}
	return found
}

func TestNomadLogKeepsTheNewestFiles(t *testing.T) {
	for _, c := range []struct {
		name   string
		writes []string
		want   map[string]string
	}{
		{"it fits", []string{"one\n", "two\n"}, map[string]string{"0": "one\ntwo\n"}},
		{"a line is not divided", []string{"one\ntwo\nthree\n"}, map[string]string{"0": "one\ntwo\n", "1": "three\n"}},
		{"a line that has begun", []string{"one, ", "two, three\n"}, map[string]string{"0": "one, ", "1": "two, three\n"[:10], "2": "\n"}},
		{"a line longer than a file", []string{strings.Repeat("x", 25)}, map[string]string{"0": "xxxxxxxxxx", "1": "xxxxxxxxxx", "2": "xxxxx"}},
		{"many", []string{strings.Repeat("a line\n", 5)}, map[string]string{"2": "a line\n", "3": "a line\n", "4": "a line\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, folder := nomadLog(t, 3, 10)
			for _, w := range c.writes {
				if n, err := l.Write([]byte(w)); n != len(w) || err != nil {
					t.Fatalf("%d of %d bytes, %v", n, len(w), err)
				}
			}
			want := map[string]string{}
			for number, text := range c.want {
				want["main.stdout."+number] = text
			}
			if found := kept(t, folder); !maps.Equal(found, want) {
				t.Errorf("the folder has %q, want %q", found, want)
			}
		})
	}
}

// A program that may write into the folder can take names, and make links of them to files of others.
func TestNomadLogFollowsNoLink(t *testing.T) {
	l, folder := nomadLog(t, 3, 10)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, make := range map[string]func(string) error{
		"main.stdout.1": func(path string) error { return os.Symlink(secret, path) },
		"main.stdout.2": func(path string) error { return os.Link(secret, path) },
		"main.stdout.3": func(path string) error { return os.Mkdir(path, 0o755) },
		"main.stdout.4": func(path string) error { return unix.Mkfifo(path, 0o644) },
		"main.stdout.5": func(path string) error { return os.Symlink(filepath.Join(folder, "new"), path) },
	} {
		if err := make(filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Write([]byte("12345678\nabcdefgh\n")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(secret)
	if err != nil || string(text) != "secret" {
		t.Errorf("the file of another has %q (%v)", text, err)
	}
	if text, err = os.ReadFile(filepath.Join(folder, "main.stdout.6")); err != nil || string(text) != "abcdefgh\n" {
		t.Errorf("the next free name has %q (%v)", text, err)
	}
	if _, err := os.Lstat(filepath.Join(folder, "new")); err == nil {
		t.Error("the runner has made the file to which a link leads")
	}
}

// All names are taken: what does not fit is not written, so the disk has no more than the limit.
func TestNomadLogEndsWhenNamesAreTaken(t *testing.T) {
	l, folder := nomadLog(t, 3, 10)
	for i := range maxTaken {
		if err := os.Mkdir(filepath.Join(folder, fmt.Sprintf("main.stdout.%d", i+1)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := l.Write([]byte("12345678\nabcdefgh\n")); n != 9 || err == nil || !strings.Contains(err.Error(), "from main.stdout.1 on are taken") {
		t.Errorf("%d bytes were written, %v", n, err)
	}
	if n, err := l.Write([]byte("more\n")); n != 5 || err != nil { // the name after them is free
		t.Errorf("%d bytes were written, %v", n, err)
	}
}

func TestNomadLogs(t *testing.T) {
	env := map[string]string{"NOMAD_ALLOC_DIR": t.TempDir(), "NOMAD_TASK_NAME": "main"}
	if out, _, err := NomadLogs(func(name string) string { return env[name] }); out != nil || err != nil {
		t.Errorf("without %s: %v, %v", KeepVariable, out, err)
	}
	for said, want := range map[string]string{"3": "want two numbers", "0 10": "want two numbers", "3 x": "want two numbers", "3 10": "no such file"} {
		env[KeepVariable] = said
		if _, _, err := NomadLogs(func(name string) string { return env[name] }); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", said, err)
		}
	}
	if err := os.Mkdir(filepath.Join(env["NOMAD_ALLOC_DIR"], "logs"), 0o755); err != nil {
		t.Fatal(err)
	}
	env[KeepVariable] = "3 10"
	out, errs, err := NomadLogs(func(name string) string { return env[name] })
	if err != nil || !slices.Equal([]string{out.name, errs.name}, []string{"main.stdout.", "main.stderr."}) || out.keep != 3 || out.most != 10<<20 {
		t.Errorf("%+v, %+v, %v", out, errs, err)
	}
}
