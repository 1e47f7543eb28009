package deploy

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/quote"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers"
)

// supplyOptions say where the servers of the cluster are, or come from.
type supplyOptions struct {
	nomad, consul string // a program or its maker's archive
	folder        string
	fetch         bool
	mirror        string
}

// supply finds the servers of the cluster. Everything that is missing is one error, before anything starts or is downloaded.
func (o upOptions) supply(ctx context.Context, report *servers.Reporter) (map[string]servers.Binary, error) {
	lacks := lacking{system: thisSystem(), folder: o.servers.folder}
	if lacks.folder == "" {
		lacks.folder, _ = besides()
	}
	source := servers.Supply{Folder: lacks.folder, Downloads: o.servers.fetch, Mirror: o.servers.mirror, Files: map[string]string{"nomad": o.servers.nomad, "consul": o.servers.consul}}
	names, postgres := o.needs()
	found, missing, err := source.Find(ctx, names, report)
	if err != nil {
		return nil, failed(ctx, err)
	}
	lacks.own, lacks.servers, lacks.python = o.ownParts(), missing, o.missingPython(ctx)
	fetchPostgres := false
	if postgres != "" {
		none, err := servers.FindPostgres(ctx, postgres)
		switch {
		case err != nil:
			return nil, failed(ctx, err)
		case none != nil && (inCheckout() || o.servers.fetch && o.servers.mirror == ""):
			fetchPostgres = true
		case none != nil:
			lacks.servers = append(lacks.servers, *none)
		}
	}
	var fetched []string
	if o.servers.fetch {
		fetched = lacks.withoutArchives()
	}
	if text := lacks.text(); text != "" {
		return nil, fault.New(fault.NotFound, "%s", text)
	}
	for _, name := range fetched {
		if found[name], err = source.Fetch(ctx, name, report); err != nil {
			return nil, unfetched(ctx, err, "; or download it elsewhere, and put it into "+lacks.folder)
		}
	}
	if fetchPostgres {
		err = unfetched(ctx, servers.FetchPostgres(ctx, report), "")
	}
	return found, err
}

// unfetched adds a code to an error of a download, and what else somebody can do.
func unfetched(ctx context.Context, err error, hint string) error {
	_, wrong := errors.AsType[*servers.WrongSumError](err)
	if err == nil || wrong || ctx.Err() != nil {
		return failed(ctx, err)
	}
	return fault.New(fault.Unavailable, "%w%s", err, hint)
}

// needs are the servers that the cluster runs, and the folder of its PostgreSQL; "" if it has none of its own.
func (o upOptions) needs() (names []string, postgres string) {
	dir, vault, own, consul := o.dir, o.vault, o.dsn == "", !o.noConsul
	if dir == "" {
		dir, _ = local.DefaultStateDir(o.name) // Up returns the error
	}
	if c, err := local.Load(dir); err == nil && !o.deleteDB {
		vault, own, consul = vault || c.VaultURL() != "", own && c.OwnPostgres(), consul && c.HasConsul()
	}
	names = []string{"nomad"}
	if consul {
		names = append(names, "consul")
	}
	if vault {
		names = append(names, "vault", "weed")
	}
	if own {
		postgres = filepath.Join(dir, "postgres")
	}
	return names, postgres
}

// ownParts are the parts of Detent that the cluster needs and det does not find.
func (o upOptions) ownParts() (missing []string) {
	if _, err := program("det-master", o.binary, "--master-binary"); err != nil && o.binary == "" {
		missing = append(missing, "det-master")
	}
	runner, err := program("det-runner", o.runner, "--runner-binary")
	switch {
	case err != nil && o.runner == "":
		missing = append(missing, "det-runner", "det-remover")
	case err == nil && !isFile(filepath.Join(filepath.Dir(runner), "det-remover")):
		missing = append(missing, "det-remover")
	}
	if o.harness == "" && findHarness() == "" && !o.namesHarness() {
		missing = append(missing, "the Python package")
	}
	return missing
}

// namesHarness reports whether the master's settings name the Python package.
func (o upOptions) namesHarness() bool {
	for _, pair := range o.masterEnv {
		if strings.HasPrefix(pair, "DETENT_HARNESS_PATH=") {
			return true
		}
	}
	text, err := os.ReadFile(cmp.Or(o.masterConfig, os.DevNull))
	return err == nil && strings.Contains(string(text), "harness_path")
}

// missingPython is what tasks' default Python lacks. A system's Python without the module venv suffices if it has NumPy.
func (o upOptions) missingPython(ctx context.Context) string {
	if o.python != "" {
		return ""
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		return pythonItself
	}
	for _, modules := range []string{"import venv, ensurepip", "import numpy"} {
		if exec.CommandContext(ctx, python, "-c", modules).Run() == nil {
			return ""
		}
	}
	return pythonVenv
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// inCheckout reports whether this det was built in a checkout, where det fetches what the machine lacks without being asked.
func inCheckout() bool {
	file, ok := besides("..", "plugins", "harness", "pyproject.toml")
	return ok && isFile(file)
}

// detCommand is how a user of this shell starts this det: "det" if it is the one on PATH, else its path.
func detCommand() string {
	exe, err := os.Executable()
	if err != nil || filepath.Base(exe) != "det" {
		return "det"
	}
	if onPath, err := exec.LookPath("det"); err == nil && sameFile(onPath, exe) {
		return "det"
	}
	in := fromHere(exe)
	if !strings.Contains(in, "/") {
		in = "./" + in
	}
	return quote.Word(in)
}

// fromHere is a path below the working folder without that folder, or else the path itself.
func fromHere(path string) string {
	here, err := os.Getwd()
	if err != nil || here == "/" {
		return path
	}
	if in, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(in) {
		return in
	}
	return path
}

func sameFile(a, b string) bool {
	one, errA := os.Stat(a)
	other, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(one, other)
}

// check rejects flags of the supply that exclude each other.
func (o supplyOptions) check() error {
	if o.mirror != "" && !o.fetch {
		return &exit.UsageError{Message: "--mirror names the address from which --fetch downloads; add --fetch"}
	}
	if u, err := url.Parse(o.mirror); o.mirror != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		return &exit.UsageError{Message: "--mirror: expected an address such as https://mirror.example/hashicorp"} // it may have a password
	}
	return nil
}
