package experiments

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/turn"
)

const elasticConfig = `
checkpoint_storage: {type: shared_fs, host_path: %s}
resource_pools:
  - name: burst
    node_pool: burst
    slots_per_node: 2
    max_idle_agent_period: 2s
    node_classes: [{class: burst, slots: 2, max: 3}]
`

// A cloud starts and stops Nomad clients on this machine, for the program that det-scaler runs.
type cloud struct {
	t *testing.T
	r *rig.Rig

	mu      sync.Mutex
	nodes   map[string]bool
	started int
	asked   []string
}

func (c *cloud) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	args := req.URL.Query()["a"]
	var err error
	switch {
	case len(args) == 1 && args[0] == "count":
		fmt.Fprintln(w, len(c.nodes))
		return
	case len(args) == 2 && args[0] == "grow":
		n, _ := strconv.Atoi(args[1])
		for range n {
			c.started++
			name := fmt.Sprintf("b%d", c.started)
			c.nodes[name] = true
			err = errors.Join(err, c.r.AddClient(c.t.Context(), local.Client{Name: name, Pool: "burst", Class: "burst"}))
		}
	case len(args) > 1 && args[0] == "shrink":
		for _, node := range args[1:] {
			_, name, _ := strings.Cut(node, "-")
			delete(c.nodes, name)
			err = errors.Join(err, c.r.RemoveClient(c.t.Context(), name))
		}
	default:
		err = fmt.Errorf("asked for %q", args)
	}
	c.asked = append(c.asked, strings.Join(args, " "))
	if err != nil {
		c.t.Error(err)
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func (c *cloud) has(n int) func() (bool, error) {
	return func() (bool, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.nodes) == n, fmt.Errorf("%d nodes; asked for %q", len(c.nodes), c.asked)
	}
}

// autoscale starts nomad-autoscaler with the configuration and the policy that operators begin with.
func (c *cloud) autoscale(dir string) {
	c.t.Helper()
	binary, err := servers.Ensure(c.t.Context(), "nomad-autoscaler", servers.NewReporter(os.Stderr))
	if err != nil {
		c.t.Fatal(err)
	}
	source := filepath.Join(c.r.Root, "nomad", "autoscaler")
	plugins, policies := filepath.Join(dir, "plugins"), filepath.Join(dir, "policies")
	for _, args := range [][]string{{"test", "-trimpath", "."}, {"build", "-trimpath", "-o", filepath.Join(plugins, "det-scaler"), "."}} {
		build := exec.CommandContext(c.t.Context(), "go", args...)
		build.Dir, build.Env = source, append(os.Environ(), "GOWORK=off", "GOFLAGS=")
		if out, err := build.CombinedOutput(); err != nil {
			c.t.Fatalf("go %s: %v\n%s", args[0], err, out)
		}
	}
	server := httptest.NewServer(c)
	c.t.Cleanup(server.Close)
	command := filepath.Join(dir, "nodes")
	program := fmt.Sprintf("#!/usr/bin/env python3\nimport sys, urllib.parse, urllib.request\n"+
		"sys.stdout.write(urllib.request.urlopen(%q + urllib.parse.urlencode([('a', x) for x in sys.argv[1:]])).read().decode())\n", server.URL+"/?")
	read := func(name string, replace ...string) string {
		text, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			c.t.Fatal(err)
		}
		for i := 0; i < len(replace); i += 2 {
			if !strings.Contains(string(text), replace[i]) {
				c.t.Fatalf("%s has no %s", name, replace[i])
			}
		}
		return strings.NewReplacer(replace...).Replace(string(text))
	}
	agent := read("agent.hcl", "/opt/nomad-autoscaler/plugins", plugins, "/etc/nomad-autoscaler/policies", policies, "/etc/nomad-autoscaler/nodes", command,
		"http://127.0.0.1:4646", c.r.NomadURL, "http://detent-1:8080,http://detent-2:8080", "http://127.0.0.1:1,"+c.r.MasterURL)
	policy := read("pool.hcl", `"gpu-p4d"`, `"burst"`, `\"gpu\"`, `\"burst\"`, `\"p4d\"`, `\"burst\"`, `"gpu"`, `"burst"`, `"p4d"`, `"burst"`, `"1m"`, `"2s"`, `"10s"`, `"1s"`, "= 8", "= 3")
	agent += fmt.Sprintf("\nlog_level = \"debug\"\nhttp {\n  bind_port = %d\n}\n", freePort(c.t))
	for path, text := range map[string]string{command: program, filepath.Join(dir, "agent.hcl"): agent, filepath.Join(policies, "pool.hcl"): policy} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
			c.t.Fatal(err)
		}
	}
	log, err := os.Create(filepath.Join(dir, "autoscaler.log"))
	if err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.Command(binary.Path, "agent", "-config", filepath.Join(dir, "agent.hcl"))
	cmd.Stdout, cmd.Stderr, cmd.Env = log, log, append(os.Environ(), "NOMAD_TOKEN="+c.r.NomadToken)
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		_ = log.Close()
		if text, err := os.ReadFile(log.Name()); err == nil && c.t.Failed() {
			c.t.Logf("the autoscaler said:\n%s", text[max(0, len(text)-10_000):])
		}
	})
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// TestAutoscaler: nomad-autoscaler grows a pool from no node for a gang that waits, and not for what no
// node can hold; it removes the node that is idle and not the one that works, and the last one too.
func TestAutoscaler(t *testing.T) {
	turn.Second(t)
	r, dir := rig.NewOwn(t, "elastic")
	r.StartCluster(t, dir, local.Options{Name: "elastic", Ephemeral: true, Master: local.Master{Config: fmt.Sprintf(elasticConfig, filepath.Join(dir, "checkpoints"))}})
	c := &cloud{t: t, r: r, nodes: map[string]bool{}}
	c.autoscale(dir)
	submit := func(name string, slots int, more string) int {
		return r.Submit(t, fmt.Sprintf("name: %[1]s\nentrypoint: 'while ! [ -e %[2]s ]; do sleep 0.2; done'\nmax_restarts: 0\nresources: {slots_per_trial: %[3]d%[4]s}\n"+
			"searcher: {name: single, metric: loss, max_length: {batches: 10}}", name, filepath.Join(dir, name+".stop"), slots, more), nil)
	}
	stop := func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name+".stop"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	runs := func(experiment int) (nodes string) {
		t.Helper()
		rig.Eventually(t, fmt.Sprintf("experiment %d runs", experiment), func() (bool, error) {
			type row struct{ State, Nodes, Why string }
			list, err := rig.Query(t, r, pgx.RowToStructByPos[row], fmt.Sprintf(`
				SELECT a.state, coalesce((SELECT string_agg(m.node_name, ' ' ORDER BY m.rank) FROM members m WHERE m.allocation_id = a.id), ''), a.waiting_reason
				FROM allocations a JOIN trials t ON t.task_id = a.task_id WHERE t.experiment_id = %d`, experiment))
			if len(list) == 1 && list[0].State == "RUNNING" {
				nodes = list[0].Nodes
				return true, nil
			}
			return false, fmt.Errorf("%+v, %w", list, err)
		})
		return nodes
	}
	submit("never", 13, ", is_single_node: true")
	gang := submit("gang", 4, "")
	if nodes := runs(gang); len(strings.Fields(nodes)) != 2 {
		t.Errorf("the gang runs on %q, want two nodes", nodes)
	}
	rig.Eventually(t, "two nodes", c.has(2))
	small := submit("small", 2, "")
	works := runs(small) // on a third node
	rig.Eventually(t, "three nodes", c.has(3))
	stop("gang")
	rig.Eventually(t, "the two idle nodes are gone", c.has(1))
	if _, name, _ := strings.Cut(works, "-"); !c.nodes[name] {
		t.Errorf("the node that worked was removed: %s; asked for %q", works, c.asked)
	}
	if still := runs(small); still != works {
		t.Errorf("it ran on %s and runs on %s", works, still)
	}
	stop("small")
	rig.Eventually(t, "no node is left", c.has(0))
	if n := rig.Value[int](t, r, `SELECT count(*) FROM allocations WHERE run_id > 1 OR preempt_at IS NOT NULL`); n != 0 {
		t.Errorf("%d attempts were begun again or preempted", n)
	}
	if c.started != 3 {
		t.Errorf("%d nodes were started, want 3: %q", c.started, c.asked)
	}
}
