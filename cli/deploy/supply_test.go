package deploy

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/servers"
)

// TestWhatIsMissingIsOneMessage: the message names everything, and what to type.
func TestWhatIsMissingIsOneMessage(t *testing.T) {
	nomad := servers.Missing{Name: "nomad", Title: "Nomad", Oldest: "1.10.0", Files: []string{"https://m/nomad.zip", "https://m/nomad_SHA256SUMS"},
		Seen: []string{"/usr/bin/nomad is not used: its version is 1.8.3, and 1.10.0 or later is needed"}}
	weed := servers.Missing{Name: "weed", Title: "SeaweedFS", Oldest: "4.39"}
	postgres := servers.Missing{Name: "postgres", Title: "PostgreSQL", Oldest: "14"}
	debian, fedora := system{platform: "linux_amd64", families: []string{"ubuntu", "debian"}}, system{platform: "linux_arm64", families: []string{"fedora"}, root: true}
	for name, c := range map[string]struct {
		lacks lacking
		want  string
	}{
		"nothing": {lacking{}, ""},
		"all of it": {lacking{own: []string{"det-runner", "det-remover"}, servers: []servers.Missing{nomad, weed, postgres}, python: pythonVenv, system: debian, folder: "/home/ann/detent"},
			`This machine lacks Nomad (1.10.0 or later), SeaweedFS (4.39 or later), PostgreSQL (14 or later), Python's module venv, det-runner and det-remover.

Not suitable:
  /usr/bin/nomad is not used: its version is 1.8.3, and 1.10.0 or later is needed

Download, and leave packed, into /home/ann/detent (or into another folder: --servers FOLDER):
  https://m/nomad.zip
  https://m/nomad_SHA256SUMS

Install:
  sudo apt-get install postgresql python3-venv
  SeaweedFS 4.39 or later, as weed on PATH

Detent's own parts:
  unpack det-master_` + v1.Version + `_linux_amd64.tar.gz of the release, and run the det in it

Then run the same command again. Or add --fetch to it: det then downloads what it can, and verifies it.`},
		"a package, for root": {lacking{servers: []servers.Missing{postgres}, python: pythonItself, system: fedora},
			`This machine lacks PostgreSQL (14 or later) and Python 3.

Install:
  dnf install postgresql-server python3

Then run the same command again.`},
		"an unknown system": {lacking{servers: []servers.Missing{postgres}, python: pythonItself, own: []string{"det-master"}, system: system{platform: "freebsd_amd64"}},
			`This machine lacks PostgreSQL (14 or later), Python 3 and det-master.

Install:
  PostgreSQL, with initdb and Python 3, with this system's package manager

Detent's own parts:
  a release has them for Linux only; in a checkout, ./justw build makes them

Then run the same command again.`},
	} {
		if got := c.lacks.text(); got != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got, c.want)
		}
	}
	if got := families("NAME=\"Linux Mint\"\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\n"); strings.Join(got, " ") != "linuxmint ubuntu debian" {
		t.Errorf("%q", got)
	}
}

// emptyMachine has no servers of HashiCorp, no Go, no Python and nothing of Detent. It returns the folder of its PATH.
func emptyMachine(t *testing.T) (path string) {
	t.Helper()
	path = t.TempDir()
	t.Setenv("PATH", path)
	t.Setenv("DETENT_CACHE", t.TempDir())
	return path
}

func script(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
}

// TestSupplyOfUp: cluster-up names everything that is missing before it makes a folder, uses what it is given, and has exit statuses that
// tell what is missing from what is wrong and from what cannot be reached.
func TestSupplyOfUp(t *testing.T) {
	state, folder := filepath.Join(t.TempDir(), "state"), t.TempDir()
	path := emptyMachine(t)
	old, program, sums := filepath.Join(path, "nomad"), filepath.Join(t.TempDir(), "mine"), filepath.Join(folder, "nomad_1.11.2_SHA256SUMS")
	script(t, old, "echo 'Nomad v1.8.3'")
	script(t, program, "echo 'Server v1.30.0'")
	archive := filepath.Join(folder, "nomad_1.11.2_"+runtime.GOOS+"_"+runtime.GOARCH+".zip")
	if err := os.WriteFile(sums, []byte(strings.Repeat("0", 64)+"  "+filepath.Base(archive)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wrong := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("PK\x03\x04 not it")) }))
	defer wrong.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	whole := t.TempDir() // Detent's own parts
	for _, name := range []string{"det-master", "det-runner", "det-remover", "determined"} {
		script(t, filepath.Join(whole, name), "")
	}
	all := " --master-binary " + whole + "/det-master --runner-binary " + whole + "/det-runner --harness " + whole + " --python " + program + " --db postgres://d"
	up := func(flags string) (int, string) {
		err := det(t.Context(), nil, "cluster-up --gpus 0 --state-dir "+state+" "+flags)
		if err == nil {
			return exit.OK, ""
		}
		return exit.Code(err), err.Error()
	}
	holds := func(flags string, code int, parts ...string) {
		t.Helper()
		got, said := up(flags)
		if got != code {
			t.Errorf("%s: exit status %d, want %d: %s", flags, got, code, said)
		}
		for _, part := range parts {
			if !strings.Contains(said, part) {
				t.Errorf("%s: %q is not in\n%s", flags, part, said)
			}
		}
		if _, err := os.Stat(state); err == nil {
			t.Errorf("%s: the cluster's folder exists", flags)
		}
	}
	holds("", exit.NotFound, "Nomad (1.10.0 or later)", "Consul (1.18.0 or later)", "Python 3", "det-master", "det-runner", "det-remover", "the Python package",
		old+" is not used: its version is 1.8.3", "/consul/1.22.5/consul_1.22.5_"+runtime.GOOS+"_"+runtime.GOARCH+".zip", "--fetch")
	holds(all+" --servers "+folder, exit.NotFound, "into "+folder)
	holds(all+" --nomad "+program, exit.NotFound, "lacks Consul (1.18.0 or later).")
	holds(all+" --consul "+program, exit.NotFound, "lacks Nomad (1.10.0 or later).")
	holds(all+" --no-consul", exit.NotFound, "lacks Nomad (1.10.0 or later).")
	holds(all+" --no-consul --consul "+program, exit.Failed, "[consul no-consul] were all set")
	holds(all+" --vault --nomad "+program+" --consul "+program, exit.NotFound, "lacks Vault (1.18.0 or later) and SeaweedFS (4.39 or later).")
	holds(all+" --nomad "+filepath.Join(folder, "none"), exit.Failed, "cannot read "+filepath.Join(folder, "none"))
	holds(all+" --nomad "+old, exit.Failed, "its version is 1.8.3")
	holds(all+" --mirror http://m", exit.Usage, "add --fetch")
	holds(all+" --fetch --mirror mirror.example/hashicorp", exit.Usage, "expected an address such as https://")
	holds(all+" --fetch --mirror "+gone.URL, exit.Unavailable, "cannot download "+gone.URL+"/")
	holds(all+" --fetch --mirror "+wrong.URL+" --servers "+folder, exit.Failed, "is not the file that its maker published")
	holds("--fetch --mirror "+wrong.URL, exit.NotFound, "Python 3", "det-master") // nothing is downloaded while something else is missing
	if err := os.WriteFile(archive, []byte("PK\x03\x04 not it either"), 0o600); err != nil {
		t.Fatal(err)
	}
	holds(all+" --servers "+folder, exit.Failed, archive+" is not the file that its maker published", "download it again")
	holds(all+" --nomad "+archive, exit.Failed, "is not the file that its maker published")
}

// TestProgramsAreTheGivenOnes: the cluster runs the servers that the flags name.
func TestProgramsAreTheGivenOnes(t *testing.T) {
	emptyMachine(t)
	program := filepath.Join(t.TempDir(), "mine")
	script(t, program, "echo 'Server v1.30.0'")
	whole := t.TempDir()
	for _, name := range []string{"det-master", "det-runner", "det-remover", "determined"} {
		script(t, filepath.Join(whole, name), "")
	}
	o := upOptions{agents: 1, dsn: "postgres://d", python: program, harness: whole, binary: filepath.Join(whole, "det-master"), runner: filepath.Join(whole, "det-runner"),
		servers: supplyOptions{nomad: program, consul: program}}
	o.dir = t.TempDir()
	found, err := o.supply(t.Context(), nil)
	if err != nil || found["nomad"].Path != program || found["consul"].Version != "1.30.0" {
		t.Errorf("%+v %v", found, err)
	}
}
