package house

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/detent-ml/detent"

// A pkg is a package as go list describes it.
type pkg struct {
	Name       string
	ImportPath string
	Imports    []string
	Deps       []string
}

func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=Name,ImportPath,Imports,Deps", "./...")
	cmd.Dir = "../.."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var pkgs []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// purePackages do no I/O and know no clock, context or socket.
var purePackages = []string{"master/fault", "master/document", "master/expconf", "master/control/expressions", "master/v1/base64parts", "master/expconf/address", "master/expconf/difference", "master/expconf/ending", "master/expconf/pachyderm", "master/expconf/formula", "master/expconf/hostpath", "master/expconf/objectives", "master/expconf/topology", "master/expconf/wandb", "master/find", "master/spelling", "master/names", "master/each", "master/optional", "master/quote", "master/search/budget", "master/search", "master/search/choices", "master/search/front", "master/search/gain", "master/search/onward", "master/search/sim", "master/trial", "master/lifecycle", "master/logs/policy", "master/logs/chunk", "master/logs/sink/entry", "master/regex", "master/jsontext", "master/metrics/report", "master/metrics/series", "master/metrics/summary", "master/pool", "master/pool/jobfile", "master/pool/leaving", "master/sched", "master/sched/record", "master/control/served", "master/sched/replay", "master/checkpoints/keep", "master/about/risks", "master/task", "master/webhook/event", "master/live/updates", "master/mlflow/filter", "master/accounts/scim/protocol", "master/server/internal/determined", "master/server/internal/schedule", "jobspecs", "integration/bench/sched/sim"}

// keptResults are the packages of the justfile whose results go keeps.
var keptResults = regexp.MustCompile(`(?m)^pure +:= "(.+)"$`)

// TestOnlyResultsOfPurePackagesAreKept: a result that is kept must depend on nothing but what go notes, which are the sources of the program and the files and
// variables that it has read.
func TestOnlyResultsOfPurePackagesAreKept(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "justfile"))
	if err != nil {
		t.Fatal(err)
	}
	line := keptResults.FindSubmatch(text)
	if line == nil {
		t.Fatal("the justfile has no list pure")
	}
	for name := range strings.FieldsSeq(string(line[1])) {
		if !slices.Contains(purePackages, "master/"+name) {
			t.Errorf("the justfile keeps the results of master/%s, which is not one of the pure packages", name)
		}
	}
}

// wire is the one other package that pure ones may import, for its types: it is impure in
// that its codec remembers how each type is read.
const wire = "master/v1"

// impure packages may not be imported by pure ones, directly.
var impure = []string{"context", "database/sql", "io/ioutil", "log", "log/slog", "net", "net/http", "os", "os/exec", "os/signal",
	"sync", "syscall", "testing"}

// onlyImporters lists which of our packages may import a package.
var onlyImporters = map[string][]string{
	"github.com/jackc/pgx":     {"master/database", "nomad/servers", "integration/rig"},
	"github.com/gofiber/fiber": {"master/rest"},
	// master/document reads what users write into trees, and writes trees so that each value keeps its text. The others
	// read and write Go values of their own: the head of a model's card, a master's keys, simulated GPUs.
	"github.com/goccy/go-yaml":               {"master/document", "cli/model", "nomad/local", "plugins/gpu/simulated"},
	"github.com/hashicorp/nomad/api":         {"master/cluster", "master/pool", "jobspecs", "nomad/local", "integration/rig"},
	"github.com/hashicorp/hcl":               {"master/pool/jobfile"},
	"github.com/hashicorp/consul/api":        {"master/discovery"},
	"github.com/hashicorp/nomad/plugins":     {"plugins/gpu"},
	"github.com/NVIDIA/go-nvml":              {"plugins/gpu/nvidia"},
	"github.com/hashicorp/vault/api":         {"master/secrets"},
	"github.com/aws/aws-sdk-go-v2":           {"master/objects"},
	"golang.org/x/oauth2":                    {"master/objects", "master/oidc"},
	"github.com/coreos/go-oidc":              {"master/oidc"},
	module + "/master/secrets":               {"master/server"},
	module + "/master/objects":               {"master/server", "plugins/remover"},
	"github.com/yuin/goldmark":               {"docs/python"},
	"github.com/spf13/cobra":                 {"cli", "master", "plugins/runner"},
	module + "/master/database":              {"master/mlflow", "master/branches", "master/oldlinks", "master/importer/download", "master/schema", "master/find/query", "master/experiments", "master/runs", "master/searches", "master/live", "master/diskuse", "master/api", "master/control", "master/launch", "master/logs", "master/server", "master/webhook", "master/metrics", "master/accounts", "master/audit", "master/workspaces", "master/models", "master/nodes", "master/contexts", "master/tasks", "master/queue", "master/reservations", "master/about", "master/attempts", "master/checkpoints", "master/importer", "master/rest/resttest"},
	module + "/master/schema":                {"master/server"},
	module + "/master/schema/rowtest":        {"master/importer/importertest"},
	module + "/master/importer/importertest": {},
	module + "/master/find/query":            {"master/experiments", "master/runs"},
	module + "/master/webhook/sender":        {"master/server", "master/server/servertest"},
	module + "/master/control":               {"master/server"},
	module + "/master/importer":              {"master", "master/server"},
	module + "/master/importer/download":     {"master", "master/importer"},
	module + "/master/oldlinks":              {"master/api"},
	module + "/master/control/rows":          {"master/control"},
	module + "/master/rest":                  {"master/mlflow", "master/branches", "master/oldlinks", "master/api", "master/experiments", "master/runs", "master/searches", "master/live", "master/diskuse", "master/launch", "master/logs", "master/server", "master/webhook", "master/metrics", "master/accounts", "master/audit", "master/workspaces", "master/models", "master/nodes", "master/contexts", "master/tasks", "master/queue", "master/reservations", "master/about", "master/artifacts", "master/attempts", "master/checkpoints"},
	module + "/master/api":                   {"master/server"},
	module + "/master/cluster":               {"master/control", "master/server"},
	module + "/master/discovery":             {"master/server"},
	module + "/master/server":                {"master", "integration"},
	module + "/master/proxy":                 {"master/api", "master/attempts", "master/server", "master/tasks"},
	module + "/master/terminal":              {"master/proxy", "master/tasks"},
	module + "/master/proxy/grant":           {"master/proxy", "plugins/runner"},
	module + "/master/proxy/headers":         {"master/accounts/login", "master/proxy", "master/rest", "master/server", "plugins/runner"},
	module + "/master/tunnel":                {"master/proxy", "plugins/runner", "cli"},
	module + "/master/client":                {"cli", "plugins/remover", "integration", "master/server/servertest", "master/importer/download"},
	// What tests and measures the product is no part of it.
	module + "/integration": {"integration"},
	// Only files of tests import the following packages; this test does not read these files.
	module + "/master/server/servertest": {},
	module + "/master/rest/resttest":     {},
	module + "/nomad/servers/dockerd":    {},
	module + "/plugins/notice/cloud":     {"plugins/notice"},
	module + "/nomad/servers/debian":     {"nomad/servers/dockerd", "nomad/images"},
}

// engineImports lists which of our packages an engine imports. None of them knows a noun.
var engineImports = map[string][]string{
	"master/database": {"master/fault", "master/each", "master/sleep", "master/jsontext"},
	"master/rest":     {"master/auth", "master/each", "master/fault", "master/proxy/headers", "master/cache", "master/quote", "master/sleep", "master/spool", "master/v1"},
}

// A room has one noun: its rows, verbs and routes.
type room struct {
	name string
	// imports are our packages that the room imports besides pure ones: engines, and rooms before it in rooms.
	imports []string
	// users are the packages that import the room; they need not be named for what is below its folder.
	users []string
}

// rooms are the rooms, from the lowest to the highest.
var rooms = []room{
	{"master/audit", []string{"master/auth", "master/database", "master/cache", "master/rest", "master/sleep", wire}, []string{"master/accounts", "master/accounts/login", "master/accounts/scim", "master/api", "master/control", "master/server", "master/tasks"}},
	{"master/accounts", []string{"master/audit", "master/auth", "master/database", "master/cache", "master/rest", wire}, []string{"master/api", "master/attempts", "master/control/rows", "master/server", "master/server/servertest", "master/accounts/login", "master/accounts/scim", "master/queue", "master/workspaces", "master/tasks", "master/control", "master/experiments", "master/reservations"}},
	{"master/accounts/login", []string{"master/accounts", "master/audit", "master/auth", "master/database", "master/proxy/headers", "master/cache", "master/rest", "master/oidc", "master/sleep", wire}, []string{"master/api"}},
	{"master/accounts/scim", []string{"master/accounts", "master/audit", "master/auth", "master/database", "master/rest", wire}, []string{"master/api", "master/server"}},
	{"master/workspaces", []string{"master/accounts", "master/auth", "master/database", "master/rest", wire}, []string{"master/mlflow", "master/api", "master/control", "master/control/rows", "master/launch", "master/queue", "master/tasks", "master/experiments", "master/runs", "master/importer", "master/reservations"}},
	{"master/nodes", []string{"master/auth", "master/database", "master/cache", "master/rest", wire}, []string{"master/about", "master/api", "master/attempts", "master/control", "master/control/rows", "master/server", "master/server/servertest", "master/tasks", "master/experiments", "master/reservations"}},
	{"master/models", []string{"master/auth", "master/database", "master/rest", wire}, []string{"master/mlflow", "master/api", "master/checkpoints", "master/experiments"}},
	{"master/checkpoints", []string{"master/auth", "master/database", "master/models", "master/rest", "master/sleep", wire}, []string{"master/mlflow", "master/api", "master/branches", "master/attempts", "master/control", "master/control/rows", "master/launch", "master/server", "master/experiments", "master/runs"}},
	{"master/webhook", []string{"master/auth", "master/database", "master/cache", "master/rest", wire}, []string{"master/api", "master/control", "master/control/rows", "master/logs", "master/metrics", "master/webhook/sender", "master/experiments"}},
	{"master/metrics", []string{"master/auth", "master/database", "master/cache", "master/rest", "master/sleep", "master/webhook", wire}, []string{"master/mlflow", "master/api", "master/branches", "master/attempts", "master/server", "master/server/servertest", "master/experiments", "master/live", "master/runs", "master/schema/rowtest", "master/searches"}},
	{"master/logs", []string{"master/auth", "master/database", "master/cache", "master/rest", "master/sleep", "master/webhook", wire}, []string{"master/api", "master/attempts", "master/control", "master/server", "master/server/servertest", "master/experiments", "master/importer", "master/logs/sink"}},
	{"master/contexts", []string{"master/database", "master/rest"}, []string{"master/api", "master/launch", "master/server", "master/tasks", "master/experiments", "master/importer"}},
	{"master/tasks", []string{"master/accounts", "master/audit", "master/auth", "master/contexts", "master/database", "master/nodes", "master/proxy", "master/rest", "master/terminal", "master/workspaces", wire}, []string{"master/api", "master/attempts", "master/control", "master/control/rows", "master/launch", "master/queue", "master/server", "master/server/servertest", "master/experiments"}},
	{"master/artifacts", []string{"master/rest", wire}, []string{"master/api", "master/attempts", "master/server", "master/server/servertest"}},
	{"master/attempts", []string{"master/accounts", "master/artifacts", "master/auth", "master/checkpoints", "master/database", "master/attempts/leftover", "master/logs", "master/metrics", "master/nodes", "master/proxy", "master/rest", "master/tasks", wire}, []string{"master/api", "master/control", "master/control/rows", "master/server", "master/server/servertest", "master/schema/rowtest"}},
	{"master/queue", []string{"master/accounts", "master/auth", "master/database", "master/rest", "master/tasks", "master/workspaces", wire}, []string{"master/about", "master/api", "master/control", "master/control/rows", "master/launch", "master/experiments"}},
	{"master/reservations", []string{"master/accounts", "master/auth", "master/database", "master/nodes", "master/rest", "master/workspaces", wire}, []string{"master/api", "master/control", "master/control/rows"}},
	{"master/about", []string{"docs/python", "master/auth", "master/database", "master/nodes", "master/queue", "master/rest", wire}, []string{"master/api", "master/server"}},
	{"master/diskuse", []string{"master/auth", "master/cache", "master/database", "master/rest", wire}, []string{"master/api", "master/experiments", "master/launch", "master/runs", "master/server"}},
	{"master/experiments", []string{"master/accounts", "master/auth", "master/cache", "master/checkpoints", "master/contexts", "master/database", "master/diskuse", "master/find/query", "master/logs", "master/metrics", "master/models", "master/nodes", "master/queue", "master/rest", "master/tasks", "master/webhook", "master/workspaces", wire}, []string{"master/mlflow", "master/api", "master/branches", "master/control", "master/control/rows", "master/launch", "master/live", "master/runs", "master/searches", "master/server", "master/server/servertest"}},
	{"master/launch", []string{"master/auth", "master/checkpoints", "master/contexts", "master/database", "master/diskuse", "master/experiments", "master/queue", "master/rest", "master/spool", "master/tasks", "master/workspaces", wire}, []string{"master/api", "master/branches", "master/server"}},
	{"master/branches", []string{"master/auth", "master/checkpoints", "master/database", "master/experiments", "master/launch", "master/metrics", "master/rest", "master/sleep", wire}, []string{"master/api"}},
	{"master/searches", []string{"master/database", "master/experiments", "master/metrics", "master/rest", wire}, []string{"master/api"}},
	{"master/runs", []string{"master/auth", "master/checkpoints", "master/database", "master/diskuse", "master/experiments", "master/find/query", "master/metrics", "master/rest", "master/workspaces", wire}, []string{"master/api"}},
	{"master/mlflow", []string{"master/auth", "master/checkpoints", "master/database", "master/experiments", "master/metrics", "master/models", "master/rest", "master/workspaces", wire}, []string{"master/api"}},
	{"master/live", []string{"master/auth", "master/database", "master/experiments", "master/metrics", "master/rest", "master/sleep", wire}, []string{"master/api"}},
}

// check holds a package to what a room imports, and to who imports the room.
func (r room) check(t *testing.T, p pkg, name string) {
	t.Helper()
	for _, imp := range p.Imports {
		ours, ok := strings.CutPrefix(imp, module+"/")
		if ok && name == r.name && !slices.Contains(r.imports, ours) && !slices.Contains(purePackages, ours) {
			t.Errorf("%s is a room and imports %s; it may import %s", name, ours, strings.Join(r.imports, ", "))
		}
		if ours == r.name && !slices.Contains(r.users, name) {
			t.Errorf("%s imports the room %s; only %s may", name, ours, strings.Join(r.users, ", "))
		}
	}
}

// remember lists the impure package that a pure package may import, to read something of its own
// only once: expconf reads the tags of its sections, as v1's codec does.
var remember = map[string]string{"master/expconf": "sync"}

// TestDependenciesPointOneWay holds the packages to the order that
// docs/architecture.md describes.
func TestDependenciesPointOneWay(t *testing.T) {
	for _, p := range list(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		if slices.Contains(purePackages, name) {
			for _, imp := range p.Imports {
				if slices.Contains(impure, imp) && remember[name] != imp {
					t.Errorf("%s is pure and imports %s", name, imp)
				}
				if ours, ok := strings.CutPrefix(imp, module+"/"); ok && ours != wire && !slices.Contains(purePackages, ours) {
					t.Errorf("%s is pure and imports %s, which is not", name, ours)
				}
			}
		}
		if may, engine := engineImports[name]; engine {
			for _, imp := range p.Imports {
				if ours, ok := strings.CutPrefix(imp, module+"/"); ok && !slices.Contains(may, ours) {
					t.Errorf("%s is an engine and imports %s", name, ours)
				}
			}
		}
		for _, r := range rooms {
			r.check(t, p, name)
		}
		for _, imp := range p.Imports {
			what := "" // the narrowest line about it
			for line := range onlyImporters {
				if under(imp, []string{line}) && len(line) > len(what) {
					what = line
				}
			}
			if who := onlyImporters[what]; what != "" && !within(name, who) && !within(name, []string{strings.TrimPrefix(what, module+"/")}) {
				t.Errorf("%s imports %s; only %s may", name, imp, strings.Join(who, ", "))
			}
		}
	}
}

// within reports whether a package is one of the roots or below one. The root "master" means the
// package of the program alone.
func within(name string, roots []string) bool {
	for _, r := range roots {
		if name == r || r != "master" && strings.HasPrefix(name, r+"/") {
			return true
		}
	}
	return false
}

func under(imp string, roots []string) bool {
	for _, r := range roots {
		if imp == r || strings.HasPrefix(imp, r+"/") {
			return true
		}
	}
	return false
}

// TestProgramsLinkNothingOfTests: no program contains packages for tests, which are those that import
// testing.
func TestProgramsLinkNothingOfTests(t *testing.T) {
	all := list(t)
	forTests := map[string]bool{}
	for _, p := range all {
		forTests[p.ImportPath] = slices.Contains(p.Imports, "testing")
	}
	programs := 0
	for _, p := range all {
		if p.Name != "main" {
			continue
		}
		programs++
		for _, d := range p.Deps {
			if forTests[d] {
				t.Errorf("%s depends on %s, which is for tests", p.ImportPath, d)
			}
		}
	}
	if programs < 5 {
		t.Errorf("only %d programs were found", programs)
	}
}

// TestRunnerHasNoObjectStorage: every attempt fetches det-runner, and only tasks that remove
// checkpoints need a client of object storage: they fetch det-remover as well.
func TestRunnerHasNoObjectStorage(t *testing.T) {
	for _, p := range list(t) {
		if p.ImportPath != module+"/plugins/runner" {
			continue
		}
		for _, d := range p.Deps {
			if strings.Contains(d, "aws") || strings.Contains(d, "oauth2") {
				t.Errorf("det-runner depends on %s", d)
			}
		}
		return
	}
	t.Error("there is no package plugins/runner")
}

// pluginSDK are the packages for Nomad's plugins. They are part of the server's module, of which we
// use the last release that was free software (docs/rfd/0001-one-module.md).
var pluginSDK = []string{"plugins/base", "plugins/device", "plugins/drivers/proto", "plugins/shared/hclspec", "plugins/shared/structs", "helper/pointer", "helper/pluginutils/grpcutils"}

const pluginSDKVersion = "v1.6.3"

// ofPluginSDK reports whether a package of our plugin imports a package of pluginSDK.
func ofPluginSDK(ours, dep string) bool {
	rest, ok := strings.CutPrefix(dep, "github.com/hashicorp/nomad/")
	return ok && under(strings.TrimPrefix(ours, module+"/"), []string{"plugins/gpu"}) && under(rest, pluginSDK)
}

// TestPluginSDKStays: newer releases of Nomad's module are not free software.
func TestPluginSDKStays(t *testing.T) {
	cmd := exec.Command("go", "list", "-m", "github.com/hashicorp/nomad")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil || strings.TrimSpace(string(out)) != "github.com/hashicorp/nomad "+pluginSDKVersion {
		t.Errorf("go.mod has %s, %v; want %s, the last release under the MPL", bytes.TrimSpace(out), err, pluginSDKVersion)
	}
}

// TestNothingOfNomadsServer: Nomad, Consul and Vault themselves are not free
// software any more; only their API clients are linked, and the kit for plugins.
func TestNothingOfNomadsServer(t *testing.T) {
	for _, p := range list(t) {
		for _, d := range p.Deps {
			if ofPluginSDK(p.ImportPath, d) {
				continue
			}
			for _, server := range []string{"github.com/hashicorp/nomad/", "github.com/hashicorp/consul/", "github.com/hashicorp/vault/"} {
				if strings.HasPrefix(d, server) && !strings.HasPrefix(d, server+"api") {
					t.Errorf("%s depends on %s", p.ImportPath, d)
				}
			}
		}
	}
}

// TestDocumentsNameTests: a page names a test as the proof of what it says, so that test exists. The changelog tells of
// the past.
func TestDocumentsNameTests(t *testing.T) {
	root := filepath.Join("..", "..")
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(|^ *(?:async )?def (test_\w+)\(`)
	var pages []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "node_modules", "dist", "bin"}, d.Name()):
			return fs.SkipDir
		case strings.HasSuffix(path, "_test.go"), strings.HasSuffix(path, ".py"):
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range declared.FindAllSubmatch(text, -1) {
				tests[string(m[1])+string(m[2])] = true
			}
		case strings.HasSuffix(path, ".md") && d.Name() != "CHANGELOG.md":
			pages = append(pages, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z]\\w+|test_\\w+)[`/]").FindAllSubmatch(text, -1) {
			if named++; !tests[string(m[1])] {
				t.Errorf("%s names %s, and there is no such test", strings.TrimPrefix(page, root+"/"), m[1])
			}
		}
	}
	if named < 100 {
		t.Errorf("only %d tests are named: is the pattern right?", named)
	}
}

// TestFloors compares the drawing of the floors of master in docs/architecture.md with the imports: each package stands in it once, above
// all that it imports.
func TestFloors(t *testing.T) {
	text, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, drawing, _ := strings.Cut(string(text), "```floors\n")
	drawing, _, found := strings.Cut(drawing, "```")
	if !found {
		t.Fatal("there is no drawing of the floors")
	}
	floor := map[string]int{}
	for i, line := range strings.Split(strings.TrimSpace(drawing), "\n") {
		for name := range strings.FieldsSeq(line) {
			if floor[name] > 0 {
				t.Errorf("%s stands twice in the drawing", name)
			}
			floor[name] = i + 1
		}
	}
	pkgs := list(t)
	inPrograms := map[string]bool{}
	for _, p := range pkgs {
		if p.Name == "main" {
			inPrograms[p.ImportPath] = true
			for _, d := range p.Deps {
				inPrograms[d] = true
			}
		}
	}
	// on is the name in the drawing of a package of master.
	on := func(path string) string {
		in, ok := strings.CutPrefix(path, module+"/master")
		if !ok || !inPrograms[path] {
			return ""
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(in, "/"), "/")
		return cmp.Or(name, "main")
	}
	seen := map[string]bool{}
	for _, p := range pkgs {
		upper := on(p.ImportPath)
		if upper == "" || p.Name == "main" && upper != "main" {
			continue
		}
		if seen[upper] = true; floor[upper] == 0 {
			t.Errorf("%s is not in the drawing", p.ImportPath)
		}
		for _, d := range p.Imports {
			if lower := on(d); lower != "" && lower != upper && floor[lower] <= floor[upper] {
				t.Errorf("%s imports %s, which the drawing has on the same floor or above", p.ImportPath, d)
			}
		}
	}
	for name := range floor {
		if !seen[name] {
			t.Errorf("%s is in the drawing, and not in master", name)
		}
	}
}
