package release

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/dockerd"
	"github.com/detent-ml/detent/nomad/servers/pgtest"
)

const patience = time.Minute

// TestARelease makes a release for this machine and uses its parts as operators do.
func TestARelease(t *testing.T) {
	if os.Getenv("DETENT_THOROUGH") != "1" {
		t.Skip("it compiles for minutes: just release-test, which just nightly runs, too")
	}
	if _, err := os.Stat("../../webui/dist/index.html"); err != nil {
		t.Skip("the pages are not built here, and there is no release without them (./justw ui)")
	}
	here := Target{runtime.GOOS, runtime.GOARCH}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("a release needs Python for its wheel (Debian: apt-get install python3-venv)")
	}
	out := filepath.Join(t.TempDir(), "release")
	files, err := Build(t.Context(), Options{Root: "../..", Out: out, Servers: []Target{here}, Clients: []Target{here}, Python: python, Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("names", func(t *testing.T) { testNames(t, files, here) })
	t.Run("checksums", func(t *testing.T) { testChecksums(t, out, files) })
	t.Run("licences and bill of materials", func(t *testing.T) { testParts(t, out, here) })
	t.Run("installation", func(t *testing.T) { testInstallation(t, out, here) })
	t.Run("from nothing", func(t *testing.T) { testFromNothing(t, out, here) })
	t.Run("autoscaler", func(t *testing.T) { testScaler(t, out, here) })
	t.Run("wheel", func(t *testing.T) { testWheel(t, out, python) })
	t.Run("image", func(t *testing.T) { testImage(t, out, here) })
	t.Run("a folder with files is refused", func(t *testing.T) {
		if _, err := Build(t.Context(), Options{Root: "../..", Out: out, Log: t.Output()}); err == nil || !strings.Contains(err.Error(), "is not empty") {
			t.Errorf("a second release into the same folder: %v", err)
		}
	})
}

func testNames(t *testing.T, files []string, here Target) {
	var names []string
	for _, f := range files {
		names = append(names, filepath.Base(f))
	}
	for _, want := range []string{"det-master_%s_%s.tar.gz", "det-master-image_%s_%s.tar.gz", "det-runner_%s_%s.tar.gz", "det-remover_%s_%s.tar.gz", "det-notice_%s_%s.tar.gz", "det-scaler_%s_%s.tar.gz", "det_%s_%s.tar.gz"} {
		if name := fmt.Sprintf(want, v1.Version, here); !slices.Contains(names, name) {
			t.Errorf("%s is missing: %v", name, names)
		}
	}
}

func testChecksums(t *testing.T, out string, files []string) {
	cmd := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "SHA256SUMS")
	cmd.Dir = out
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, said)
	}
	if n := strings.Count(string(said), ": OK"); n != len(files)-1 { // all but itself
		t.Errorf("%d checksums of %d files:\n%s", n, len(files), said)
	}
}

// testParts compares the licences in the archive and the bill of materials with the modules that the
// program itself names.
func testParts(t *testing.T, out string, here Target) {
	dir := extract(t, filepath.Join(out, fmt.Sprintf("det-master_%s_%s.tar.gz", v1.Version, here)))
	linked, err := linkedModules([]string{filepath.Join(dir, "det-master")})
	if err != nil || len(linked) < 10 {
		t.Fatalf("%d modules: %v", len(linked), err)
	}
	inBill(t, out, linked)
	for _, m := range linked {
		if texts, _ := os.ReadDir(filepath.Join(dir, "licences", m.Path+"@"+m.Version)); len(texts) == 0 {
			t.Errorf("the archive lacks the licence of %s", m.Path)
		}
	}
}

// inBill holds the bill of materials to these modules.
func inBill(t *testing.T, out string, linked []module) {
	t.Helper()
	f, err := os.Open(filepath.Join(out, fmt.Sprintf("detent_%s.cdx.json", v1.Version)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var doc cdx.BOM
	if err := cdx.NewBOMDecoder(f, cdx.BOMFileFormatJSON).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, c := range *doc.Components {
		named[c.PackageURL] = true
	}
	for _, m := range linked {
		if !named["pkg:golang/"+m.Path+"@"+m.Version] {
			t.Errorf("the bill of materials lacks %s %s", m.Path, m.Version)
		}
	}
}

// testInstallation starts the master from its archive, with only a database configured: it has its
// pages, and serves the runner that is beside it.
func testInstallation(t *testing.T, out string, here Target) {
	dir := extract(t, filepath.Join(out, fmt.Sprintf("det-master_%s_%s.tar.gz", v1.Version, here)))
	port, err := servers.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "det-master"), "serve")
	cmd.Env = []string{fmt.Sprintf("DETENT_LISTEN=127.0.0.1:%d", port), "DETENT_DATABASE=" + pgtest.Empty(t), "DETENT_NOMAD_ADDRESS=http://127.0.0.1:1"}
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(log)
		said <- string(text)
	}()
	url := fmt.Sprintf("http://127.0.0.1:%d", port)
	page, err := awaitPage(ctx, url+"/")
	stop := cmd.Process.Signal(syscall.SIGTERM)
	text := <-said
	if err := errors.Join(err, stop, cmd.Wait()); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if !strings.Contains(page, "<script") || !strings.Contains(page, "Detent") {
		t.Errorf("the master out of the archive has no pages: %.300s", page)
	}
}

// testScaler unpacks the plugins of nomad-autoscaler: they are beside their settings and the licences of
// what they link, and start only from the autoscaler.
func testScaler(t *testing.T, out string, here Target) {
	dir := extract(t, filepath.Join(out, fmt.Sprintf("det-scaler_%s_%s.tar.gz", v1.Version, here)))
	linked, err := linkedModules([]string{filepath.Join(dir, "det-scaler")})
	inBill(t, out, linked)
	if err != nil || !slices.ContainsFunc(linked, func(m module) bool { return m.Path == "github.com/hashicorp/nomad-autoscaler" }) {
		t.Fatalf("it links %v: %v", linked, err)
	}
	files := []string{"nomad/autoscaler/agent.hcl", "nomad/autoscaler/pool.hcl", "nomad/autoscaler/det-scaler.policy.hcl", "LICENSE", "NOTICE"}
	for _, m := range linked {
		files = append(files, "licences/"+m.Path+"@"+m.Version)
	}
	for _, name := range files {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	said, err := exec.CommandContext(t.Context(), filepath.Join(dir, "det-scaler"), "gauges").CombinedOutput()
	if err == nil || !strings.Contains(string(said), "plugin") {
		t.Errorf("started by hand: %v\n%s", err, said)
	}
}

// awaitPage asks until a server answers with 200.
func awaitPage(ctx context.Context, url string) (string, error) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return "", err
		}
		req.Header.Set("Accept", "text/html") // as browsers do
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			text, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err == nil && resp.StatusCode == http.StatusOK {
				return string(text), nil
			}
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("%s never answered: %w", url, ctx.Err())
		case <-tick.C:
		}
	}
}

// testWheel installs the wheel and imports it.
func testWheel(t *testing.T, out, python string) {
	wheels, err := filepath.Glob(filepath.Join(out, "detent_harness-*.whl"))
	if err != nil || len(wheels) != 1 {
		t.Fatalf("wheels: %v %v", wheels, err)
	}
	at := t.TempDir()
	install := exec.CommandContext(t.Context(), python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index", "--target", at, wheels[0])
	if said, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	use := exec.CommandContext(t.Context(), python, "-c", "import determined, determined.core; print(determined.__file__, determined.__version__)")
	use.Env = append(os.Environ(), "PYTHONPATH="+at)
	use.Dir = at
	said, err := use.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(said), at) || !strings.Contains(string(said), v1.Compatible) {
		t.Errorf("%v %s", err, said)
	}
}

// testImage loads the image into a real Docker daemon and starts its program.
func testImage(t *testing.T, out string, here Target) {
	docker, err := dockerd.Start(t.Context(), dockerd.Options{Dir: dockerFolder(t), Reporter: servers.NewReporter(os.Stderr)})
	if errors.Is(err, dockerd.ErrNone) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := errors.Join(docker.Stop(ctx), docker.Remove()); err != nil {
			t.Error(err)
		}
	})
	f, err := os.Open(filepath.Join(out, fmt.Sprintf("det-master-image_%s_%s.tar.gz", v1.Version, here)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := docker.Load(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	said, exit, err := docker.Run(t.Context(), "det-master:"+v1.Version, "det-master", "--version")
	if err != nil || exit != 0 || !strings.Contains(said, v1.Version) {
		t.Errorf("det-master --version in the image: exit %d, %v: %s", exit, err, said)
	}
	said, exit, err = docker.Run(t.Context(), "det-master:"+v1.Version, "det-master", "check-config", "--set", "database=postgres://a/b", "--set", "shared_raw_exec=true")
	if err != nil || exit != 0 || !strings.Contains(said, "good") {
		t.Errorf("det-master check-config in the image: exit %d, %v: %s", exit, err, said)
	}
}

// dockerFolder is short: the daemon's sockets are in it, and their names are limited.
func dockerFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "det-release-")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// extract unpacks an archive, refusing names that leave its folder.
func extract(t *testing.T, file string) string {
	t.Helper()
	dir := t.TempDir()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil || !filepath.IsLocal(h.Name) {
			t.Fatalf("%s: %q: %v", file, h.Name, err)
		}
		to := filepath.Join(dir, h.Name)
		if h.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(to, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		content, err := io.ReadAll(r)
		if err := errors.Join(err, os.WriteFile(to, content, h.FileInfo().Mode().Perm())); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPackingIsRepeatable holds archives to the same bytes each time, regardless of the order of entries.
func TestPackingIsRepeatable(t *testing.T) {
	at := time.Unix(1700000000, 0)
	entries := []entry{{name: "b/c", text: "two", mode: 0o644}, {name: "a", text: "one", mode: 0o755}}
	var sums []string
	for i := range 2 {
		slices.Reverse(entries)
		file := filepath.Join(t.TempDir(), fmt.Sprint(i))
		if err := pack(file, entries, at, gzip.BestCompression); err != nil {
			t.Fatal(err)
		}
		sum, err := sha256Of(file)
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, sum)
	}
	if sums[0] != sums[1] {
		t.Errorf("two packings differ: %v", sums)
	}
}

// TestAModuleWithoutLicenceIsNoPart: nothing is given away whose licence is not in the archive.
func TestAModuleWithoutLicenceIsNoPart(t *testing.T) {
	if _, err := licenceTexts("licences/example.org/a@v1", t.TempDir()); err == nil || !strings.Contains(err.Error(), "example.org/a@v1 has no licence file") {
		t.Errorf("a folder without a licence: %v", err)
	}
	if _, err := bundledPackages(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no lock file: %v", err)
	}
}
