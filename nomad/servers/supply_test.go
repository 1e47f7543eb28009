package servers

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// bare is a machine without servers, without Go and with an empty cache. It returns the folder of its PATH.
func bare(t *testing.T) (path string) {
	t.Helper()
	path = t.TempDir()
	t.Setenv("PATH", path)
	t.Setenv("DETENT_CACHE", t.TempDir())
	return path
}

// printing is a program that prints a version.
func printing(version string) []byte { return []byte("#!/bin/sh\necho 'Server v" + version + "'\n") }

// archive is a zip with files.
func archive(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range files {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		h.SetMode(0o755)
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write(text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o755); err != nil { //nolint:gosec // programs
		t.Fatal(err)
	}
}

// list is a maker's list of checksums.
func list(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	var b strings.Builder
	for name, content := range files {
		path := filepath.Join(t.TempDir(), "file")
		write(t, path, content)
		sum, err := sha256Of(path)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s  %s\n", sum, name)
	}
	return []byte(b.String())
}

// TestFoundOrMissing: where a server is found, and what is said of one that is missing.
func TestFoundOrMissing(t *testing.T) {
	here := platform()
	good, old := archive(t, map[string][]byte{"nomad": printing("1.12.0"), "LICENSE.txt": []byte("…")}), archive(t, map[string][]byte{"nomad": printing("1.2.0")})
	for name, c := range map[string]struct {
		path, folder  map[string][]byte
		named         string // the file in the folder that somebody names
		version, says string // what is found, or what is said of it
		wrong         bool   // an error
	}{
		"nothing":         {says: ""},
		"on PATH":         {path: map[string][]byte{"nomad": printing("1.10.0")}, version: "1.10.0"},
		"too old on PATH": {path: map[string][]byte{"nomad": printing("1.9.7")}, says: "nomad is not used: its version is 1.9.7, and 1.10.0 or later is needed"},
		"an archive with its checksum": {folder: map[string][]byte{"nomad_1.12.0_" + here + ".zip": good,
			"nomad_1.12.0_SHA256SUMS": list(t, map[string][]byte{"nomad_1.12.0_" + here + ".zip": good})}, version: "1.12.0"},
		"an archive before PATH": {path: map[string][]byte{"nomad": printing("1.10.0")}, folder: map[string][]byte{"nomad_1.12.0_" + here + ".zip": good,
			"nomad_1.12.0_SHA256SUMS": list(t, map[string][]byte{"nomad_1.12.0_" + here + ".zip": good})}, version: "1.12.0"},
		"the newest archive": {folder: map[string][]byte{"nomad_1.9.0_" + here + ".zip": old, "nomad_1.12.0_" + here + ".zip": good,
			"nomad_1.12.0_SHA256SUMS": list(t, map[string][]byte{"nomad_1.12.0_" + here + ".zip": good}),
			"nomad_1.9.0_SHA256SUMS":  list(t, map[string][]byte{"nomad_1.9.0_" + here + ".zip": old})}, version: "1.12.0"},
		"an old archive": {folder: map[string][]byte{"nomad_1.9.0_" + here + ".zip": old,
			"nomad_1.9.0_SHA256SUMS": list(t, map[string][]byte{"nomad_1.9.0_" + here + ".zip": old})}, says: "its version is 1.9.0, and 1.10.0 or later is needed"},
		"an archive without a checksum": {folder: map[string][]byte{"nomad_1.12.0_" + here + ".zip": good}, says: "download nomad_1.12.0_SHA256SUMS into the same folder"},
		"an archive with a wrong checksum": {folder: map[string][]byte{"nomad_1.12.0_" + here + ".zip": good,
			"nomad_1.12.0_SHA256SUMS": list(t, map[string][]byte{"nomad_1.12.0_" + here + ".zip": old})}, says: "is not the file that its maker published", wrong: true},
		"a renamed archive that is named": {folder: map[string][]byte{"it.zip": good,
			"nomad_1.12.0_SHA256SUMS": list(t, map[string][]byte{"nomad_1.12.0_" + here + ".zip": good})}, named: "it.zip", version: "1.12.0"},
		"an archive of another system": {folder: map[string][]byte{"it.zip": good,
			"nomad_1.12.0_SHA256SUMS": list(t, map[string][]byte{"nomad_1.12.0_plan9_mips.zip": good})}, named: "it.zip", says: "is Nomad for plan9_mips, and this machine is " + here, wrong: true},
		"an archive of another server": {folder: map[string][]byte{"consul_1.22.5_" + here + ".zip": good,
			"consul_1.22.5_SHA256SUMS": list(t, map[string][]byte{"consul_1.22.5_" + here + ".zip": good})}, named: "consul_1.22.5_" + here + ".zip", says: "download nomad_1.11.2_SHA256SUMS", wrong: true},
		"an archive without the program": {folder: map[string][]byte{"it.zip": archive(t, map[string][]byte{"README": nil}),
			"nomad_1.12.0_SHA256SUMS": list(t, map[string][]byte{"nomad_1.12.0_" + here + ".zip": archive(t, map[string][]byte{"README": nil})})}, named: "it.zip", says: `has no program "nomad" in it`, wrong: true},
		"a program that is named":      {folder: map[string][]byte{"mine": printing("2.1.0")}, named: "mine", version: "2.1.0"},
		"an old program that is named": {folder: map[string][]byte{"mine": printing("1.0.0")}, named: "mine", says: "its version is 1.0.0", wrong: true},
		"no file that is named":        {named: "mine", says: "cannot read", wrong: true},
		"an empty file that is named":  {folder: map[string][]byte{"mine": nil}, named: "mine", says: "is not used", wrong: true},
		"a file that is no program":    {folder: map[string][]byte{"mine.tar.gz": []byte("x")}, named: "mine.tar.gz", says: "is neither a program that you may execute nor a zip archive of Nomad", wrong: true},
		"a program in the folder":      {folder: map[string][]byte{"nomad": printing("1.11.0")}, version: "1.11.0"},
	} {
		t.Run(name, func(t *testing.T) {
			path, folder := bare(t), filepath.Join(t.TempDir(), "with [a] name")
			if err := os.Mkdir(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			for name, content := range c.path {
				write(t, filepath.Join(path, name), content)
			}
			for name, content := range c.folder {
				write(t, filepath.Join(folder, name), content)
				if filepath.Ext(name) == ".gz" {
					if err := os.Chmod(filepath.Join(folder, name), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			s := Supply{Folder: folder}
			if c.named != "" {
				s.Files = map[string]string{"nomad": filepath.Join(folder, c.named)}
			}
			found, missing, err := s.Find(t.Context(), []string{"nomad"}, nil)
			switch {
			case c.version != "":
				if err != nil || len(missing) > 0 || found["nomad"].Version != c.version {
					t.Fatalf("%v %+v %v, want version %s", found, missing, err, c.version)
				}
				if got, err := versionOf(t.Context(), found["nomad"].Path); err != nil || got != c.version {
					t.Errorf("%s prints %q, %v", found["nomad"].Path, got, err)
				}
			case c.wrong:
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%v %+v %v, want the error %q", found, missing, err, c.says)
				}
			default:
				if err != nil || len(missing) != 1 || missing[0].Title != "Nomad" || !strings.Contains(strings.Join(missing[0].Seen, "\n"), c.says) || len(missing[0].Files) == 0 {
					t.Errorf("%v %+v %v, want it missing, with %q", found, missing, err, c.says)
				}
			}
		})
	}
}

// TestDownloadedNotBuilt: with Go on PATH a server is built, but not if it was asked to be downloaded.
func TestDownloadedNotBuilt(t *testing.T) {
	write(t, filepath.Join(bare(t), "go"), printing("1.26.0"))
	names := []string{"nomad", "weed"}
	if found, missing, err := (Supply{}).Find(t.Context(), names, nil); err != nil || len(found)+len(missing) != 0 {
		t.Errorf("to build: %v %+v %v", found, missing, err)
	}
	if found, missing, err := (Supply{Downloads: true}).Find(t.Context(), names, nil); err != nil || len(found) != 0 || len(missing) != 1 || missing[0].Name != "nomad" {
		t.Errorf("to download: %v %+v %v, want only Nomad missing: SeaweedFS has no archives", found, missing, err)
	}
}

// TestAllThatIsMissingIsNamed: one call names all servers, and what to download.
func TestAllThatIsMissingIsNamed(t *testing.T) {
	bare(t)
	_, missing, err := Supply{Mirror: "http://mirror.example/hashicorp/"}.Find(t.Context(), []string{"nomad", "consul", "vault", "weed"}, nil)
	if err != nil || len(missing) != 4 {
		t.Fatalf("%+v %v", missing, err)
	}
	if got, want := missing[2].Files, []string{"http://mirror.example/hashicorp/vault/1.21.1/vault_1.21.1_" + platform() + ".zip", "http://mirror.example/hashicorp/vault/1.21.1/vault_1.21.1_SHA256SUMS"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if len(missing[3].Files) != 0 || missing[3].Name != "weed" {
		t.Errorf("%+v: SeaweedFS has no archives that det can use", missing[3])
	}
	nomad, err := pinOf("nomad")
	if err != nil {
		t.Fatal(err)
	}
	if got := nomad.files(""); got[0] != "https://releases.hashicorp.com/nomad/1.11.2/nomad_1.11.2_"+platform()+".zip" {
		t.Errorf("%q", got)
	}
}

// TestUnpackedServersStay: what was unpacked once needs neither the archive nor its checksum any more.
func TestUnpackedServersStay(t *testing.T) {
	bare(t)
	folder, name := t.TempDir(), "nomad_1.12.0_"+platform()+".zip"
	content := archive(t, map[string][]byte{"nomad": printing("1.12.0")})
	write(t, filepath.Join(folder, name), content)
	write(t, filepath.Join(folder, "nomad_1.12.0_SHA256SUMS"), list(t, map[string][]byte{name: content}))
	first, _, err := Supply{Folder: folder}.Find(t.Context(), []string{"nomad"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := Supply{}.Find(t.Context(), []string{"nomad"}, nil)
	if err != nil || again["nomad"] != first["nomad"] || first["nomad"].Path == "" {
		t.Errorf("%v, then %v %v", first, again, err)
	}
}

// TestTheArchiveAtHand: a program of the same version that another archive has left in the cache is not used in place of the one that was
// verified now.
func TestTheArchiveAtHand(t *testing.T) {
	bare(t)
	name := "nomad_1.12.0_" + platform() + ".zip"
	for _, says := range []string{"1.12.0-forged", "1.12.0", "1.12.0"} {
		folder, program := t.TempDir(), printing(says)
		content := archive(t, map[string][]byte{"nomad": program})
		write(t, filepath.Join(folder, name), content)
		write(t, filepath.Join(folder, "nomad_1.12.0_SHA256SUMS"), list(t, map[string][]byte{name: content}))
		found, _, err := Supply{Folder: folder}.Find(t.Context(), []string{"nomad"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(found["nomad"].Path); err != nil || !bytes.Equal(got, program) {
			t.Errorf("%s: the program is %q, %v", says, got, err)
		}
	}
}

// mirror serves files, and counts what was asked for.
func mirror(t *testing.T, files map[string][]byte) (address string, asked *[]string) {
	t.Helper()
	asked = &[]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.URL.Path)
		if content, ok := files[r.URL.Path]; ok {
			_, _ = w.Write(content)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/hashicorp", asked
}

// TestFetch: a server is downloaded from a mirror once, if it has the right checksum, and a failed download leaves nothing.
func TestFetch(t *testing.T) {
	file := "vault_1.21.1_" + platform() + ".zip"
	const at, sums = "/hashicorp/vault/1.21.1/", "vault_1.21.1_SHA256SUMS"
	good, other := archive(t, map[string][]byte{"vault": printing("1.21.1")}), archive(t, map[string][]byte{"vault": printing("6.6.6")})
	listed := list(t, map[string][]byte{file: good})
	for name, c := range map[string]struct {
		files   map[string][]byte
		folder  []byte // the list that somebody has downloaded
		asked   int
		problem string
	}{
		"archive and list":               {files: map[string][]byte{at + file: good, at + sums: listed}, asked: 2},
		"the list is here already":       {files: map[string][]byte{at + file: good}, folder: listed, asked: 1},
		"another archive":                {files: map[string][]byte{at + file: other, at + sums: listed}, asked: 2, problem: "is not the file that its maker published"},
		"another archive and list":       {files: map[string][]byte{at + file: other, at + sums: list(t, map[string][]byte{file: other})}, folder: listed, asked: 1, problem: "is not the file that its maker published"},
		"an older release":               {files: map[string][]byte{at + file: other}, folder: append(listed, list(t, map[string][]byte{"vault_1.20.0_" + platform() + ".zip": other})...), asked: 1, problem: "is not the file that its maker published"},
		"no list":                        {files: map[string][]byte{at + file: good}, asked: 1, problem: sums + ": the server answers 404"},
		"no archive":                     {files: map[string][]byte{at + sums: listed}, asked: 2, problem: file + ": the server answers 404"},
		"a list without the archive":     {files: map[string][]byte{at + file: good, at + sums: []byte("no list\n")}, asked: 2, problem: "lists no checksum of " + file},
		"a list that is larger than any": {files: map[string][]byte{at + file: good, at + sums: bytes.Repeat([]byte("x"), maxSums+1)}, asked: 1, problem: "it has more than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			bare(t)
			address, asked := mirror(t, c.files)
			s := Supply{Folder: t.TempDir(), Mirror: address}
			if c.folder != nil {
				write(t, filepath.Join(s.Folder, sums), c.folder)
			}
			binary, err := s.Fetch(t.Context(), "vault", nil)
			if c.problem == "" && (err != nil || binary.Version != "1.21.1") || c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)) {
				t.Fatalf("%+v %v, want %q", binary, err, c.problem)
			}
			if len(*asked) != c.asked {
				t.Errorf("the mirror was asked for %q", *asked)
			}
			if c.problem == "" {
				if _, err := s.Fetch(t.Context(), "vault", nil); err != nil || len(*asked) != c.asked {
					t.Errorf("again: %v, asked for %q", err, *asked)
				}
			}
			left, err := filepath.Glob(filepath.Join(os.Getenv("DETENT_CACHE"), ".download-*"))
			programs, errs := filepath.Glob(filepath.Join(os.Getenv("DETENT_CACHE"), "servers", "released", "*", "*"))
			if want := map[bool]int{true: 1}[c.problem == ""]; err != nil || errs != nil || len(left) > 0 || len(programs) != want {
				t.Errorf("left in the cache: %q, programs: %q", left, programs)
			}
		})
	}
}

// TestPasswordsOfMirrors: they are sent, and are in no message.
func TestPasswordsOfMirrors(t *testing.T) {
	file := "vault_1.21.1_" + platform() + ".zip"
	const at, sums = "/hashicorp/vault/1.21.1/", "vault_1.21.1_SHA256SUMS"
	other := archive(t, map[string][]byte{"vault": printing("6.6.6")})
	for name, files := range map[string]map[string][]byte{
		"nothing":         {},
		"no archive":      {at + sums: list(t, map[string][]byte{file: other})},
		"another archive": {at + sums: list(t, map[string][]byte{file: nil}), at + file: other},
		"an empty list":   {at + sums: nil, at + file: other},
		"a large list":    {at + sums: bytes.Repeat([]byte("x"), maxSums+1)},
	} {
		bare(t)
		address, _ := mirror(t, files)
		_, err := Supply{Mirror: strings.Replace(address, "://", "://ann:s3cret@", 1)}.Fetch(t.Context(), "vault", nil)
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := shown("http://ann:s3cret@mirror\x00"); strings.Contains(got, "s3cret") {
		t.Error(got)
	}
}

// TestOwnChecksumsWin: neither a mirror nor a list in the folder replaces a checksum that this program has.
func TestOwnChecksumsWin(t *testing.T) {
	for _, name := range []string{"nomad", "consul"} {
		bare(t)
		pin, err := pinOf(name)
		if err != nil {
			t.Fatal(err)
		}
		file, other := pin.Name+"_"+pin.Version+"_linux_amd64.zip", archive(t, map[string][]byte{name: printing(pin.Version)})
		if len(pin.Sums[file]) != 64 {
			t.Errorf("no checksum of %s", file)
		}
		if platform() != "linux_amd64" {
			continue
		}
		listed := list(t, map[string][]byte{file: other})
		address, _ := mirror(t, map[string][]byte{"/hashicorp/" + name + "/" + pin.Version + "/" + file: other})
		s := Supply{Folder: t.TempDir(), Mirror: address}
		write(t, filepath.Join(s.Folder, sumsName(name, pin.Version)), listed)
		if _, err := s.Fetch(t.Context(), name, nil); err == nil || !strings.Contains(err.Error(), pin.Sums[file]) {
			t.Errorf("from a mirror: %v", err)
		}
		write(t, filepath.Join(s.Folder, file), other)
		_, _, err = s.Find(t.Context(), []string{name}, nil)
		if _, wrong := errors.AsType[*WrongSumError](err); !wrong || !strings.Contains(err.Error(), "remove it, and download it again") {
			t.Errorf("in the folder: %v", err)
		}
	}
}

// TestPostgresThatIsTooOld: the newest suitable version is used, and older ones than the master supports are named.
func TestPostgresThatIsTooOld(t *testing.T) {
	dirs := map[string]string{}
	for _, version := range []string{"13.21", "14.1", "15.18"} {
		dir := t.TempDir()
		dirs[version] = dir
		write(t, filepath.Join(dir, "initdb"), nil)
		write(t, filepath.Join(dir, "postgres"), []byte("#!/bin/sh\necho 'postgres (PostgreSQL) "+version+" (Debian)'\n"))
	}
	best, seen := bestPostgres(t.Context(), []string{dirs["14.1"], dirs["13.21"], dirs["15.18"]}, "", account{})
	if best.version != "15.18" {
		t.Errorf("%+v %q", best, seen)
	}
	if best, _ = bestPostgres(t.Context(), []string{dirs["14.1"], dirs["15.18"]}, "14", account{}); best.version != "14.1" {
		t.Errorf("for data of 14: %+v", best)
	}
	best, seen = bestPostgres(t.Context(), []string{dirs["13.21"], t.TempDir()}, "", account{})
	if best.dir != "" || len(seen) != 1 || !strings.Contains(seen[0], "its version is 13.21, and 14 or later is needed") {
		t.Errorf("%+v %q", best, seen)
	}
}
