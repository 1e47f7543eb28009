package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/sched"
	"github.com/detent-ml/detent/master/schema"
	"github.com/detent-ml/detent/master/task"
	"github.com/detent-ml/detent/master/webhook"
	"github.com/detent-ml/detent/master/webhook/sender"
	"github.com/detent-ml/detent/nomad/servers/pgtest"
)

// rig is the real API on a loopback listener over a database of the test's own.
// Only parts outside of the master are fakes: identities and discovery.
type rig struct {
	t         testing.TB
	api       *API
	db        *database.DB
	bus       *database.Bus
	dsn       string
	url       string
	identity  *fakeIdentity
	discovery *fakeDiscovery
	log       *lockedBuffer
	client    *http.Client
}

// fakeIdentity knows identities by their text.
type fakeIdentity struct{ known map[string]task.Workload }

func (f *fakeIdentity) VerifyIdentity(_ context.Context, jwt string) (task.Workload, error) {
	if w, ok := f.known[jwt]; ok {
		return w, nil
	}
	return task.Workload{}, fault.New(fault.Unauthenticated, "the identity is not one that this cluster issued")
}

// fakeDiscovery knows members by allocation.
type fakeDiscovery struct {
	mu      sync.Mutex
	members map[string]map[int]attempts.Endpoint
}

func (f *fakeDiscovery) Members(_ context.Context, allocationID string) (map[int]attempts.Endpoint, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.members[allocationID], nil
}

// newRig starts an API; change may edit its configuration.
func newRig(t testing.TB, change ...func(*Config)) *rig {
	t.Helper()
	return rigOf(t, change...)
}

// newRoleRig starts an API that uses roles; the user admin is its ClusterAdmin.
func newRoleRig(t testing.TB, change ...func(*Config)) *rig {
	t.Helper()
	r := rigOf(t, append([]func(*Config){func(c *Config) { c.Roles = true }}, change...)...)
	if _, err := accounts.BeginRoles(t.Context(), r.db); err != nil {
		t.Fatal(err)
	}
	return r
}

// ownURL as a PublicURL stands for the address at which the rig listens.
const ownURL = "own"

func rigOf(t testing.TB, change ...func(*Config)) *rig {
	t.Helper()
	pgtest.Beside(t)
	ctx, cancel := context.WithCancel(context.Background())
	dsn := pgtest.New(t, schema.Hash(), schema.Migrate)
	db, err := database.Open(ctx, dsn, database.Options{MaxConns: 8})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, db: db, dsn: dsn, log: &lockedBuffer{}, client: &http.Client{Timeout: 90 * time.Second},
		identity:  &fakeIdentity{known: map[string]task.Workload{}},
		discovery: &fakeDiscovery{members: map[string]map[int]attempts.Endpoint{}}}
	log := slog.New(slog.NewTextHandler(r.log, nil))
	r.bus = database.NewBus(dsn, log)
	cfg := rigConfig(t)
	for _, c := range change {
		c(&cfg)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.url = "http://" + lis.Addr().String()
	if cfg.PublicURL == ownURL {
		cfg.PublicURL = r.url
	}
	cfg.Webhooks = r.events()
	r.api = New(ctx, cfg, db, r.bus, r.identity, r.discovery, log)
	served := make(chan error, 1)
	go func() { served <- r.api.Router().Listen(lis) }()
	busDone := make(chan struct{})
	go func() { r.bus.Run(ctx); close(busDone) }()
	t.Cleanup(func() {
		cancel()
		r.client.CloseIdleConnections()
		if err := r.api.Router().Shutdown(10 * time.Second); err != nil {
			t.Errorf("the API does not stop: %v", err)
		}
		_ = lis.Close() // a test that asks nothing may end before anything listens
		<-served
		<-busDone
		db.Close()
		if t.Failed() {
			t.Logf("the master's log:\n%s", r.log)
		}
	})
	return r
}

// another starts a second master over the same database.
func (r *rig) another(change ...func(*Config)) *rig {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	second := *r
	cfg := rigConfig(r.t)
	cfg.Roles, cfg.Stored, cfg.Memory = r.api.cfg.Roles, r.api.cfg.Stored, r.api.cfg.Memory
	for _, c := range change {
		c(&cfg)
	}
	cfg.Webhooks = r.events()
	second.api = New(ctx, cfg, r.db, r.bus, r.identity, r.discovery, slog.New(slog.DiscardHandler))
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- second.api.Router().Listen(lis) }()
	second.url = "http://" + lis.Addr().String()
	r.t.Cleanup(func() {
		cancel()
		if err := second.api.Router().Shutdown(10 * time.Second); err != nil {
			r.t.Errorf("the second API does not stop: %v", err)
		}
		<-served
	})
	return &second
}

// events sends to receivers of tests.
func (r *rig) events() webhook.Sender {
	return sender.New(sender.Config{SigningKey: "sesame", Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, r.db, r.bus, slog.New(slog.DiscardHandler))
}

func rigConfig(t testing.TB) Config {
	return Config{
		Logs:        logs.Settings{Days: logs.Forever},
		ClusterName: "test", ClusterID: "cluster-1", MasterID: "master-1", Version: "0.38.1", DetentVersion: "0.1.0",
		PublicURL: "http://127.0.0.1:8080",
		Site:      task.Site{ClusterID: "cluster-1", MasterID: "master-1", Capabilities: expconf.Everything()},
		BlankLogin: func(remote, host string) bool {
			return net.ParseIP(remote).IsLoopback() && (host == "localhost" || strings.HasSuffix(host, ".localhost") || net.ParseIP(host).IsLoopback())
		},
		Pools: pool.Set{{Name: "default", Driver: pool.RawExec, Description: "the only one", Compute: true, Aux: true,
			Slots: pool.Slots{Kind: pool.CPUSlots}, Preemption: true, Priority: 42, MaxAux: 100}},
		CheckpointStorage: sharedFS(t), CheckpointRoots: []string{"/tmp"}, Inventory: rigInventory,
		RunnerDir: t.TempDir(), HarnessDir: t.TempDir(),
		Redacted: func() any { return map[string]any{"database": "…"} },
	}
}

// sharedFS is a cluster's checkpoint storage.
func sharedFS(t testing.TB) expconf.CheckpointStorage {
	raw, _, err := expconf.Parse("cluster", []byte("checkpoint_storage: {type: shared_fs, host_path: /tmp}"))
	if err != nil {
		t.Fatal(err)
	}
	return raw.CheckpointStorage
}

// rigInventory returns the slots of a node's inventory unchanged, for the pool with the name of the
// node's node pool.
func rigInventory(pool string, n nodes.Row) *sched.Node {
	if n.NodePool != pool {
		return nil
	}
	var inv struct{ Slots []sched.Slot }
	if err := json.Unmarshal(n.Inventory, &inv); err != nil {
		panic(err)
	}
	return &sched.Node{Slots: inv.Slots, Schedulable: n.Status == "ready" && n.Enabled && !n.DrainWanted, Why: n.Status}
}

// A lockedBuffer is written by many goroutines, and read meanwhile.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buffer.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buffer.String()
}

// answer is the response to a call.
type answer struct {
	t      testing.TB
	what   string
	code   int
	header http.Header
	body   []byte
}

// as is a client with a token.
type as struct {
	r      *rig
	header string
	token  string
}

// anyone calls without credentials.
func (r *rig) anyone() as { return as{r: r} }

// user signs in with a blank password, which the rig allows.
func (r *rig) user(name string) as {
	r.t.Helper()
	var got struct{ Token string }
	r.anyone().post("/api/v1/auth/login", fmt.Sprintf(`{"username":%q,"password":"","isHashed":true}`, name)).ok().into(&got)
	return as{r: r, header: "Authorization", token: "Bearer " + got.Token}
}

// task calls with the token of an attempt.
func (r *rig) task(token string) as {
	return as{r: r, header: "Grpc-Metadata-x-allocation-token", token: "Bearer " + token}
}

func (c as) get(path string) answer         { return c.do("GET", path, "") }
func (c as) post(path, body string) answer  { return c.do("POST", path, body) }
func (c as) patch(path, body string) answer { return c.do("PATCH", path, body) }
func (c as) put(path, body string) answer   { return c.do("PUT", path, body) }
func (c as) del(path string) answer         { return c.do("DELETE", path, "") }
func (c as) do(method, path, body string) answer {
	return c.with(method, path, strings.NewReader(body), nil)
}
func (c as) with(method, path string, body io.Reader, header http.Header) answer {
	t := c.r.t
	t.Helper()
	req, err := http.NewRequest(method, c.r.url+path, body)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		req.Header[k] = v
	}
	if c.header != "" {
		req.Header.Set(c.header, c.token)
	}
	resp, err := c.r.client.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: the body broke off: %v", method, path, err)
	}
	return answer{t: t, what: method + " " + path, code: resp.StatusCode, header: resp.Header, body: b}
}

// ok fails the test unless the call succeeded.
func (a answer) ok() answer {
	a.t.Helper()
	return a.is(200)
}

func (a answer) is(code int) answer {
	a.t.Helper()
	if a.code != code {
		a.t.Fatalf("%s: %d, want %d: %s", a.what, a.code, code, a.body)
	}
	return a
}

// says fails the test unless the call failed with this code, and with all these words in its
// message.
func (a answer) says(code int, words ...string) answer {
	a.t.Helper()
	a.is(code)
	var e rest.ErrorBody
	if err := json.Unmarshal(a.body, &e); err != nil || e.Message == "" || e.Error.Error != e.Message {
		a.t.Fatalf("%s: not the body of an error: %s", a.what, a.body)
	}
	for _, w := range words {
		if !strings.Contains(e.Message, w) {
			a.t.Fatalf("%s: %q does not say %q", a.what, e.Message, w)
		}
	}
	return a
}

// into decodes the answer by plain JSON rules.
func (a answer) into(v any) answer {
	a.t.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		a.t.Fatalf("%s: %v: %s", a.what, err, a.body)
	}
	return a
}

// tree decodes the answer into maps and lists.
func (a answer) tree() map[string]any {
	a.t.Helper()
	var m map[string]any
	a.into(&m)
	return m
}

// at digs a value out of a decoded answer by a dotted path; numbers index lists.
func at(t testing.TB, v any, path string) any {
	t.Helper()
	for step := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			var ok bool
			if v, ok = x[step]; !ok {
				t.Fatalf("no %q of %q in %v", step, path, x)
			}
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(x) {
				t.Fatalf("no item %q of %q in a list of %d", step, path, len(x))
			}
			v = x[i]
		default:
			t.Fatalf("%q of %q: nothing to look in: %v", step, path, v)
		}
	}
	return v
}

// modelFile is one v1File of an experiment's code.
func modelFile(path, content string) string {
	b, err := json.Marshal(map[string]any{"path": path, "type": 48, "content": []byte(content), "mtime": "1795148583",
		"mode": 33188, "uid": 0, "gid": 0})
	if err != nil {
		panic(err)
	}
	return string(b)
}
