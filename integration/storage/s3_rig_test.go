package storage

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
)

// keyLife is how long credentials are valid in these tests. STS issues none for less than a quarter of
// an hour, so a gate in front of the store makes them expire earlier.
const keyLife = 12 * time.Second

// A gate is a proxy in front of the object store. It shortens the validity of issued keys to keyLife,
// for Vault and for the store, and remembers all keys.
type gate struct {
	server *httptest.Server

	mu      sync.Mutex
	store   *url.URL
	ends    map[string]time.Time // by access key
	uses    map[string]int
	refused int
	secrets []string // everything that signs in
}

func newGate(t *testing.T) *gate {
	g := &gate{ends: map[string]time.Time{}, uses: map[string]int{}}
	proxy := &httputil.ReverseProxy{
		// Keep the host, because the signature covers it.
		Rewrite: func(r *httputil.ProxyRequest) {
			g.mu.Lock()
			defer g.mu.Unlock()
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = g.store.Scheme, g.store.Host, r.In.Host
		},
		ModifyResponse: g.shorten,
	}
	g.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.over(r) {
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `<?xml version="1.0"?><Error><Code>ExpiredToken</Code><Message>the keys have ended</Message></Error>`)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(g.server.Close)
	return g
}

func (g *gate) leadTo(t *testing.T, address string) {
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.store = u
}

var credential = regexp.MustCompile(`Credential=([^/]+)/`)

// over reports whether a request is signed with expired keys.
func (g *gate) over(r *http.Request) bool {
	m := credential.FindStringSubmatch(r.Header.Get("Authorization"))
	if m == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.uses[m[1]]++
	end, given := g.ends[m[1]]
	if !given || time.Now().Before(end) {
		return false
	}
	g.refused++
	return true
}

var (
	expiration = regexp.MustCompile(`<Expiration>[^<]*</Expiration>`)
	issued     = regexp.MustCompile(`<(AccessKeyId|SecretAccessKey|SessionToken)>([^<]+)</`)
)

// shorten reduces the validity of keys in answers of STS.
func (g *gate) shorten(resp *http.Response) error {
	if !strings.Contains(resp.Header.Get("Content-Type"), "xml") {
		return nil
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if bytes.Contains(body, []byte("<AssumeRoleResult>")) {
		end := time.Now().Add(keyLife)
		body = expiration.ReplaceAll(body, []byte("<Expiration>"+end.UTC().Format(time.RFC3339)+"</Expiration>"))
		g.mu.Lock()
		for _, m := range issued.FindAllStringSubmatch(string(body), -1) {
			if m[1] == "AccessKeyId" {
				g.ends[m[2]] = end
			}
			g.secrets = append(g.secrets, m[2])
		}
		g.mu.Unlock()
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}

// given returns all issued keys.
func (g *gate) given() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.secrets)
}

// An s3rig is a cluster of its own with Vault and an object store.
type s3rig struct {
	*rig.Rig
	gate   *gate
	driver string
	python string // for tasks of the pool "jail"
	path   string // PYTHONPATH for them
}

const s3Config = `
cluster_name: s3
checkpoint_storage: {type: s3, bucket: detent, endpoint_url: %q}
resource_pools:
  - {name: jail, driver: %s, slots: cpu, slots_per_node: 8, memory_mb_per_slot: 128}
  - {name: open, driver: raw_exec, slots: cpu, slots_per_node: 8, memory_mb_per_slot: 128}
  - {name: other, node_pool: other, driver: raw_exec, slots: cpu, slots_per_node: 8, memory_mb_per_slot: 128}
`

func startS3(t *testing.T) *s3rig {
	t.Helper()
	own, dir := rig.NewOwn(t, "s3")
	r := &s3rig{Rig: own, gate: newGate(t), driver: "raw_exec"}
	chroot := r.furnish(t, dir)
	r.StartCluster(t, dir, local.Options{Name: "s3", Vault: true, STSEndpoint: r.gate.server.URL, Chroot: chroot,
		Master: local.Master{Config: fmt.Sprintf(s3Config, r.gate.server.URL, r.driver)}})
	r.gate.leadTo(t, r.S3().Endpoint)
	return r
}

// upWith restarts the master with another configuration, and waits until it answers.
func (r *s3rig) upWith(t *testing.T, config string, env map[string]string) {
	t.Helper()
	r.upAs(t, "s3", config, env)
}

func (r *s3rig) upAs(t *testing.T, name, config string, env map[string]string) {
	t.Helper()
	all := map[string]string{"DETENT_HARNESS_PATH": filepath.Join(r.Root, "plugins", "harness")}
	maps.Copy(all, env)
	_, err := local.Up(t.Context(), local.Options{Name: name, StateDir: r.Cluster.StateDir(),
		Master: local.Master{Binary: filepath.Join(r.Bin, "det-master"), Runner: filepath.Join(r.Bin, "det-runner"), Env: all, Config: config}}, nil)
	if err != nil {
		t.Fatal(err)
	}
}

// furnish creates the files for tasks of the pool "jail". If the tests run as root, these tasks have a
// root file system of their own with Python and the packages that they need.
func (r *s3rig) furnish(t *testing.T, dir string) (chroot []string) {
	t.Helper()
	venv := rig.PythonOf(t, "s3")
	packages, err := filepath.Glob(filepath.Join(venv, "..", "lib", "python3*", "site-packages"))
	if err != nil || len(packages) != 1 {
		t.Fatalf("packages of %s: %v, %v", venv, packages, err)
	}
	r.python, r.path = venv, ""
	system, err := rig.FindSystemPython(t.Context())
	if err != nil {
		t.Log("tasks run with raw_exec, so this shows what keys can do, not who can read them: ", err)
		return nil
	}
	r.driver, r.python, r.path = "exec", filepath.Dir(system.Path), filepath.Join(dir, "packages")
	// A folder that everybody may read, because tasks run as nobody.
	if err := os.CopyFS(r.path, os.DirFS(packages[0])); err != nil {
		t.Fatal(err)
	}
	return append(system.Chroot, r.path)
}

// user finds or creates a user, and signs the user in.
func (r *s3rig) user(t *testing.T, name string) *rig.Rig {
	t.Helper()
	admin, err := r.SignIn(t.Context(), "admin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.UserByName(t.Context(), name); err != nil {
		if _, err := admin.CreateUser(t.Context(), v1.User{Username: name, Active: true}, ""); err != nil {
			t.Fatal(err)
		}
	}
	as := *r.Rig
	if as.Client, err = r.SignIn(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	return &as
}

// config is the configuration of an experiment that runs a program of testdata/s3.
func (r *s3rig) config(pool, program string, env ...string) string {
	paths := fmt.Sprintf(`"PATH=%s:/usr/bin:/bin"`, r.python)
	if r.path != "" {
		paths += fmt.Sprintf(`, "PYTHONPATH=%s"`, r.path)
	}
	for _, e := range env {
		paths += fmt.Sprintf(", %q", e)
	}
	return fmt.Sprintf(`
name: %[2]s
entrypoint: python3 %[2]s
searcher: {name: single, metric: loss}
max_restarts: 0
resources: {resource_pool: %[1]s}
environment: {environment_variables: [%[3]s]}
`, pool, program, paths)
}

// tensorboard shows the event files of a training in the bucket, with keys that may only read.
func (r *s3rig) tensorboard(t *testing.T) {
	config := strings.Replace(r.config("jail", "drawing.py"), "searcher: {name: single, metric: loss}", "searcher: {name: single, metric: loss, max_length: {batches: 5}}", 1)
	id := r.Submit(t, config, map[string]string{"drawing.py": rig.Drawing})
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	r.Drawn(t, id, "--config", "resources.resource_pool=open")
}

// program returns the files of an experiment that runs a program of testdata/s3.
func program(t *testing.T, name string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "s3", name))
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{name: string(text)}
}
