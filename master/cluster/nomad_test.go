package cluster_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/cluster/clustertest"
	"github.com/detent-ml/detent/master/cluster/nomadtest"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/pool"
)

// runner is a script in the place of det-runner: it runs until a signal or a file tells it to
// end, and stores its workload identity for the test.
const runner = `#!/bin/sh
env >"$NOMAD_ALLOC_DIR/new.seen" && mv "$NOMAD_ALLOC_DIR/new.seen" "$NOMAD_ALLOC_DIR/seen"
dir=$(dirname "$0")
me="$DET_ALLOCATION_ID.$DET_RANK"
printf %s "$NOMAD_TOKEN_det" | tee "$NOMAD_SECRETS_DIR/secret" >"$dir/new.$NOMAD_ALLOC_ID" && mv "$dir/new.$NOMAD_ALLOC_ID" "$dir/jwt.$me"
trap 'exit 143' TERM
while [ ! -e "$dir/end.$me" ]; do sleep 0.05; done
exit "$(cat "$dir/end.$me")"
`

// rig is the suite's rig on a real Nomad.
type rig struct {
	clustertest.Rig
	agent *nomadtest.Agent
	dir   string
}

func newRig(t *testing.T, o nomadtest.Options) *rig {
	t.Helper()
	r := &rig{agent: nomadtest.Start(t, o), dir: t.TempDir()}
	path := filepath.Join(r.dir, "det-runner")
	if err := os.WriteFile(path, []byte(runner), 0o755); err != nil {
		t.Fatal(err)
	}
	r.NodeID, r.Runner.Path = r.agent.NodeID, path
	r.Cluster = func(t *testing.T, id string) clustertest.View { return r.connect(t, cluster.Config{ClusterID: id}) }
	r.End = func(t *testing.T, id string, rank, code int) {
		file := filepath.Join(r.dir, fmt.Sprintf("end.%s.%d", id, rank))
		if err := errors.Join(os.WriteFile(file+".new", fmt.Append(nil, code), 0o644), os.Rename(file+".new", file)); err != nil {
			t.Fatal(err)
		}
	}
	r.Purge = func(t *testing.T, id string) {
		if _, _, err := r.agent.API.Jobs().Deregister(jobspecs.JobID(id), true, nil); err != nil {
			t.Fatal(err)
		}
	}
	r.Drain = func(t *testing.T, on bool) {
		var spec *api.DrainSpec
		if on {
			spec = &api.DrainSpec{Deadline: time.Hour}
		}
		if _, err := r.agent.API.Nodes().UpdateDrain(r.NodeID, spec, !on, nil); err != nil {
			t.Fatal(err)
		}
	}
	r.JWT = func(t *testing.T, id string, rank int) string {
		var jwt []byte
		r.agent.Until(t, 10*time.Second, "an identity", func() (err error) {
			jwt, err = os.ReadFile(filepath.Join(r.dir, fmt.Sprintf("jwt.%s.%d", id, rank)))
			return err
		})
		return string(jwt)
	}
	return r
}

// connect returns a Cluster that reads the event stream until the test ends.
func (r *rig) connect(t *testing.T, cfg cluster.Config) *cluster.Cluster {
	t.Helper()
	if cfg.Address == "" {
		cfg.Address = r.agent.Address
	}
	if cfg.Token == "" && cfg.TokenFile == "" {
		cfg.Token = r.agent.Token
	}
	cfg.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	c, err := cluster.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() { c.Run(ctx); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended })
	return c
}

const mine = "33333333-cccc-4ccc-8ccc-333333333333"

// TestNomad tests on a real Nomad the behaviour that Detent depends on.
func TestNomad(t *testing.T) {
	r := newRig(t, nomadtest.Options{})
	t.Run("conforms", func(t *testing.T) { clustertest.Conform(t, &r.Rig) })
	t.Run("answers", func(t *testing.T) { answers(t, r) })
	t.Run("without access control", func(t *testing.T) { unguarded(t, r) })
	t.Run("variables", func(t *testing.T) { variables(t, r) })
	t.Run("inventory", func(t *testing.T) { inventory(t, r) })
	t.Run("facts of a node", func(t *testing.T) { facts(t, r) })
	t.Run("a runner that is fetched", func(t *testing.T) { fetched(t, r) })
	t.Run("a runner that another user fetches", func(t *testing.T) { fetchedByAnother(t, r) })
	t.Run("a runner that cannot be fetched", func(t *testing.T) { unfetchable(t, r) })
	t.Run("a runner that somebody changed", func(t *testing.T) { changed(t, r) })
	t.Run("keys that change", func(t *testing.T) { rotation(t, r) })
	t.Run("a server that is killed", func(t *testing.T) { serverKilled(t, r) })
	t.Run("an allocation that is replaced", func(t *testing.T) { replaced(t, r) })
	t.Run("a client that is killed", func(t *testing.T) { clientKilled(t, r) })
	t.Run("an older state", func(t *testing.T) { restored(t, r) })
}

// answers tests the table of errors with errors of a real Nomad.
func answers(t *testing.T, r *rig) {
	c := r.connect(t, cluster.Config{ClusterID: mine, Namespaces: []string{"nowhere"}})
	tests := []struct {
		name    string
		change  func(*jobspecs.Task)
		outcome cluster.Outcome
		says    string
	}{
		{"a namespace that does not exist", func(k *jobspecs.Task) { k.Pool.Namespace = "nowhere" }, cluster.Refused, "nonexistent namespace"},
		{"a namespace that is not watched", func(k *jobspecs.Task) { k.Pool.Namespace = "elsewhere" }, cluster.Refused, "does not watch"},
		{"a node pool that does not exist", func(k *jobspecs.Task) { k.Pool.NodePool = "nowhere" }, cluster.Refused, "nonexistent node pool"},
		{"a constraint that makes no sense", func(k *jobspecs.Task) {
			k.Overlay.Constraints = []pool.Comparison{{Attribute: "${attr.cpu.arch}", Operator: "regexp", Value: "("}}
		}, cluster.Refused, "missing closing"},
		{"two problems at once", func(k *jobspecs.Task) {
			k.Overlay.Constraints = []pool.Comparison{{Attribute: "${attr.cpu.arch}", Operator: "like", Value: "x"}}
			k.Members[0].MemoryMB, k.Pool.NodePool = 1<<40, "nowhere"
		}, cluster.Refused, "like"},
		{"an operator that does not exist", func(k *jobspecs.Task) {
			k.Overlay.Constraints = []pool.Comparison{{Attribute: "${attr.cpu.arch}", Operator: "like", Value: "x"}}
		}, cluster.Refused, "like"},
	}
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			task := r.Task(mine, fmt.Sprintf("answer.%d", i), 1)
			test.change(&task)
			outcome, err := c.Submit(t.Context(), task)
			if outcome != test.outcome || !strings.Contains(fmt.Sprint(err), test.says) {
				t.Errorf("got %v, %v; want %v and an error with %q", outcome, err, test.outcome, test.says)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("the error has several lines: %q", err)
			}
		})
	}
	if err := c.Check(t.Context()); err == nil || !strings.Contains(err.Error(), `no namespace "nowhere"`) {
		t.Errorf("a missing namespace is found as %v", err)
	}
	far := r.connect(t, cluster.Config{ClusterID: mine, Region: "mars"})
	if outcome, err := far.Submit(t.Context(), r.Task(mine, "far.1", 1)); outcome != cluster.Refused || !strings.Contains(fmt.Sprint(err), "No path to region") {
		t.Errorf("a region that does not exist: %v, %v", outcome, err)
	}
	nobody := r.connect(t, cluster.Config{ClusterID: mine, Address: "http://127.0.0.1:1"})
	if outcome, err := nobody.Submit(t.Context(), r.Task(mine, "nobody.1", 1)); outcome != cluster.TryAgain || err == nil {
		t.Errorf("a Nomad that does not answer: %v, %v", outcome, err)
	}
	if _, err := nobody.Observe(t.Context(), cluster.Known{}); err == nil {
		t.Error("a Nomad that does not answer was observed")
	}
	// The texts of errors may change with Nomad's version: check that the table matches them.
	_, _, err := r.agent.API.Jobs().EnforceRegister(&api.Job{}, 0, nil)
	var e api.UnexpectedResponseError
	if !errors.As(err, &e) || e.StatusCode() != http.StatusBadRequest {
		t.Errorf("an empty job is answered with %v, not with 400", err)
	}
}

// inventory tests the resources of a node of which other jobs hold a part.
func inventory(t *testing.T, r *rig) {
	c := r.connect(t, cluster.Config{ClusterID: mine})
	if _, err := r.agent.API.Namespaces().Register(&api.Namespace{Name: "web"}, nil); err != nil {
		t.Fatal(err)
	}
	var orphans []string
	node := func() cluster.Node {
		o, err := c.Observe(t.Context(), cluster.Known{Full: true, Orphans: orphans})
		if err != nil || len(o.Nodes) != 1 {
			t.Fatalf("%d nodes, %v", len(o.Nodes), err)
		}
		return o.Nodes[0]
	}
	var before cluster.Node
	r.agent.Until(t, 30*time.Second, "what ran before to be gone", func() error {
		if before = node(); before.FreeMemoryMB != before.MemoryMB || before.FreeMHz != before.MHz {
			return fmt.Errorf("%d MB and %d MHz are free, of %d and %d", before.FreeMemoryMB, before.FreeMHz, before.MemoryMB, before.MHz)
		}
		return nil
	})
	// Jobs of ours do not count here: the scheduler knows what they hold.
	if outcome, err := c.Submit(t.Context(), r.Task(mine, "inventory.1", 1)); outcome != cluster.Done {
		t.Fatal(err)
	}
	for i, id := range []string{"web", "det-web"} { // the prefix det- alone does not make a job ours
		job := api.NewBatchJob(id, id, "global", 50).AddDatacenter("*").AddTaskGroup(api.NewTaskGroup("web", 1).AddTask(
			&api.Task{Name: "web", Driver: "raw_exec", Config: map[string]any{"command": "/bin/sleep", "args": []string{"1000"}},
				Resources: &api.Resources{CPU: new(4000), MemoryMB: new(1000)}}))
		job.Namespace = new([]string{"web", "default"}[i])
		if _, _, err := r.agent.API.Jobs().Register(job, nil); err != nil {
			t.Fatal(err)
		}
	}
	var after cluster.Node
	r.agent.Until(t, 30*time.Second, "the jobs of others to be counted", func() error {
		after = node()
		if after.FreeMemoryMB != before.FreeMemoryMB-2000 || after.FreeMHz != before.FreeMHz-8000 {
			return fmt.Errorf("%d MB and %d MHz are free, of %d and %d", after.FreeMemoryMB, after.FreeMHz, before.FreeMemoryMB, before.FreeMHz)
		}
		return nil
	})
	if after.Cores != before.Cores || after.FreeCores >= before.FreeCores || after.MHz != 16000 || after.MemoryMB != 16384 {
		t.Errorf("the node went from %+v to %+v", before, after)
	}
	// An orphan counts, because the scheduler does not know what it holds.
	orphans = []string{jobspecs.JobID("inventory.1")}
	r.agent.Until(t, 30*time.Second, "the orphan to be counted", func() error {
		if n := node(); n.FreeMemoryMB >= after.FreeMemoryMB || n.FreeMHz >= after.FreeMHz {
			return fmt.Errorf("%d MB and %d MHz are free, as before", n.FreeMemoryMB, n.FreeMHz)
		}
		return nil
	})
	for id, ns := range map[string]string{"web": "web", "det-web": "default"} {
		if _, _, err := r.agent.API.Jobs().Deregister(id, true, &api.WriteOptions{Namespace: ns}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Stop(t.Context(), "inventory.1"); err != nil {
		t.Fatal(err)
	}
}

// serve starts an HTTP server with the runner's program.
func serve(t *testing.T, text string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }))
	t.Cleanup(s.Close)
	return s.URL + "/runner/linux-amd64"
}

func sum(text string) string {
	hash := sha256.Sum256([]byte(text))
	return hex.EncodeToString(hash[:])
}

// fetchedByAnother tests that a task under another account than Nomad's can start its runner.
func fetchedByAnother(t *testing.T, r *rig) {
	if os.Geteuid() != 0 {
		t.Skip("only root runs tasks as another user")
	}
	node := filepath.Join(r.agent.Dir, "node")
	for _, dir := range []string{filepath.Dir(r.agent.Dir), r.agent.Dir, node, filepath.Join(node, "alloc"), filepath.Dir(r.dir), r.dir} {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	c := r.connect(t, cluster.Config{ClusterID: mine})
	task := r.Task(mine, "nobody.1", 1)
	task.Runner = jobspecs.Runner{URL: serve(t, runner), SHA256: sum(runner)}
	task.Pool = task.Pool.WithJob(&api.Job{TaskGroups: []*api.TaskGroup{{Tasks: []*api.Task{{Driver: "raw_exec", User: "nobody"}}}}})
	if outcome, err := c.Submit(t.Context(), task); outcome != cluster.Done {
		t.Fatal(err)
	}
	f := r.waitFor(t, c, "nobody.1", func(f cluster.TaskFact) bool { return f.Status == "running" || f.Over() })
	if f.Status != "running" {
		t.Errorf("the attempt is %s: %s", f.Status, f.Detail)
	}
	if _, err := c.Stop(t.Context(), "nobody.1"); err != nil {
		t.Fatal(err)
	}
	r.waitFor(t, c, "nobody.1", func(f cluster.TaskFact) bool { return f.Over() })
}

func fetched(t *testing.T, r *rig) {
	c := r.connect(t, cluster.Config{ClusterID: mine})
	master := api.NewBatchJob("master", "master", "global", 50).AddDatacenter("*").AddTaskGroup(api.NewTaskGroup("master", 1).AddTask(
		&api.Task{Name: "master", Driver: "raw_exec", Config: map[string]any{"command": "/bin/sleep", "args": []string{"1000"}}}))
	master.TaskGroups[0].Networks = []*api.NetworkResource{{Mode: "host", DynamicPorts: []api.Port{{Label: "http"}}}}
	master.TaskGroups[0].Services = []*api.Service{{Name: "det-master", Provider: "nomad", PortLabel: "http"}}
	if _, _, err := r.agent.API.Jobs().Register(master, nil); err != nil {
		t.Fatal(err)
	}
	var address string
	r.agent.Until(t, 30*time.Second, "a master", func() error {
		found, _, err := r.agent.API.Services().Get("det-master", nil)
		if err == nil && len(found) != 1 {
			err = fmt.Errorf("%d masters", len(found))
		}
		if err == nil {
			address = fmt.Sprintf("http://%s:%d\n", found[0].Address, found[0].Port)
		}
		return err
	})
	task := r.Task(mine, "fetched.1", 1)
	task.Runner = jobspecs.Runner{URL: serve(t, runner), SHA256: sum(runner)}
	task.Masters.Service, task.Masters.CA = "det-master", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
	task.Ports = []string{"c10d"}
	if outcome, err := c.Submit(t.Context(), task); outcome != cluster.Done {
		t.Fatal(err)
	}
	f := r.waitFor(t, c, "fetched.1", func(f cluster.TaskFact) bool { return f.Status == "running" })
	shared := filepath.Join(r.agent.Dir, "node", "alloc", f.NomadAllocID, "alloc")
	for name, want := range map[string]string{"masters": address, "master-ca.pem": task.Masters.CA} {
		if got, err := os.ReadFile(filepath.Join(shared, name)); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v; want %q", name, got, err, want)
		}
	}
	var env []byte
	r.agent.Until(t, 30*time.Second, "the runner's environment", func() (err error) {
		env, err = os.ReadFile(filepath.Join(shared, "seen"))
		return err
	})
	for _, want := range []string{"DET_ALLOCATION_ID=fetched.1", "DET_RANK=0", "DET_MASTERS=http://127.0.0.1:1", "DET_MASTERS_FILE=" + shared + "/masters",
		"DET_MASTER_CA=" + shared + "/master-ca.pem", "NOMAD_ADDR_runner=127.0.0.1:", "NOMAD_PORT_c10d="} {
		if !strings.Contains(string(env), want) {
			t.Errorf("the runner has no %s in its environment:\n%s", want, env)
		}
	}
	if _, err := c.Stop(t.Context(), "fetched.1"); err != nil {
		t.Fatal(err)
	}
	r.waitFor(t, c, "fetched.1", func(f cluster.TaskFact) bool { return f.Over() })
	if _, _, err := r.agent.API.Jobs().Deregister("master", true, nil); err != nil {
		t.Fatal(err)
	}
}

// changed tests a fetched program with a wrong checksum, which must not run.
func changed(t *testing.T, r *rig) {
	c := r.connect(t, cluster.Config{ClusterID: mine})
	proof := filepath.Join(t.TempDir(), "ran")
	task := r.Task(mine, "changed.1", 1)
	task.Runner = jobspecs.Runner{URL: serve(t, "#!/bin/sh\ntouch "+proof+"\n"), SHA256: sum(runner)}
	if outcome, err := c.Submit(t.Context(), task); outcome != cluster.Done {
		t.Fatal(err)
	}
	f := r.waitFor(t, c, "changed.1", func(f cluster.TaskFact) bool { return f.Over() })
	if f.Status != "failed" || f.Started || !strings.Contains(f.Detail, "hecksum") {
		t.Errorf("the fact about a changed runner is %+v", f)
	}
	if _, err := os.Stat(proof); err == nil {
		t.Error("a changed runner was started")
	}
}

// unfetchable tests the fact about a runner that cannot be fetched: its detail has the reason,
// and Started is false.
func unfetchable(t *testing.T, r *rig) {
	c := r.connect(t, cluster.Config{ClusterID: mine})
	task := r.Task(mine, "fetch.1", 1)
	task.Runner = jobspecs.Runner{URL: "http://127.0.0.1:1/det-runner", SHA256: strings.Repeat("0", 64)}
	if outcome, err := c.Submit(t.Context(), task); outcome != cluster.Done {
		t.Fatal(err)
	}
	f := r.waitFor(t, c, "fetch.1", func(f cluster.TaskFact) bool { return f.Over() })
	if f.Status != "failed" || f.Started || f.ExitCode != nil || !strings.Contains(f.Detail, "Failed Artifact Download") {
		t.Errorf("the fact about a runner that cannot be fetched is %+v", f)
	}
}

// waitFor observes until the newest allocation of an attempt's first member fulfils a condition.
func (r *rig) waitFor(t *testing.T, c *cluster.Cluster, id string, ok func(cluster.TaskFact) bool) cluster.TaskFact {
	t.Helper()
	var newest cluster.TaskFact
	r.agent.Until(t, 90*time.Second, id+" to be as wanted", func() error {
		o, err := c.Observe(t.Context(), cluster.Known{Full: true, Live: []string{id}})
		if err != nil {
			return err
		}
		for _, f := range o.Tasks {
			if f.AllocationID == id && f.Rank == 0 && f.CreateIndex >= newest.CreateIndex {
				newest = f
			}
		}
		if !ok(newest) {
			return fmt.Errorf("the newest state is %+v", newest)
		}
		return nil
	})
	return newest
}

// rotation tests that a new signing key of Nomad is fetched when an identity uses it.
func rotation(t *testing.T, r *rig) {
	var clock clock
	c := r.connect(t, cluster.Config{ClusterID: mine, Now: clock.now})
	identity := func(id string) string {
		if outcome, err := c.Submit(t.Context(), r.Task(mine, id, 1)); outcome != cluster.Done {
			t.Fatal(err)
		}
		return r.JWT(t, id, 0)
	}
	first := identity("key.1")
	if _, err := c.VerifyIdentity(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.agent.API.Keyring().Rotate(&api.KeyringRotateOptions{}, nil); err != nil {
		t.Fatal(err)
	}
	header := func(jwt string) string { h, _, _ := strings.Cut(jwt, "."); return h } // it names the key
	ids := []string{"key.1"}
	r.agent.Until(t, 60*time.Second, "an identity with the new key", func() error {
		ids = append(ids, fmt.Sprintf("key.%d", len(ids)+1))
		if header(identity(ids[len(ids)-1])) == header(first) {
			return errors.New("Nomad signs with the old key")
		}
		return nil
	})
	if _, err := c.VerifyIdentity(t.Context(), r.JWT(t, ids[len(ids)-1], 0)); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a new key right after the keys were read is answered with %v", err)
	}
	clock.advance(5 * time.Second)
	for _, id := range ids {
		if _, err := c.VerifyIdentity(t.Context(), r.JWT(t, id, 0)); err != nil {
			t.Errorf("%s, after the keys were rotated: %v", id, err)
		}
	}
	clock.advance(26 * time.Hour)
	if _, err := c.VerifyIdentity(t.Context(), r.JWT(t, "key.1", 0)); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("an identity that has expired is answered with %v", err)
	}
	for _, id := range ids {
		if _, err := c.Stop(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
}

// clock is a clock that runs ahead of the real one.
// It stands still between advances, so that nothing depends on how long the real servers take.
type clock struct {
	begin sync.Once
	start time.Time
	ahead atomic.Int64
}

func (c *clock) now() time.Time {
	c.begin.Do(func() { c.start = time.Now() })
	return c.start.Add(time.Duration(c.ahead.Load()))
}

func (c *clock) advance(d time.Duration) { c.ahead.Add(int64(d)) }
