package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers"
)

// patience is how long anything may take; nothing is measured by it.
const patience = 2 * time.Minute

var (
	rounds = flag.Int("rounds", 3, "how often a rate is measured; the table shows the median")
	span   = flag.Duration("span", 3*time.Second, "how long one measurement of a rate lasts")
	live   = flag.Int("live", 10_000, "how many experiments are live at once in BenchmarkScale")
	binDir = flag.String("programs", filepath.Join("..", "..", "bin"), "folder with det-master, det and det-runner")
)

// A rig is the cluster that all benchmarks share.
type rig struct {
	*local.Cluster
	local.Description
	client *client.Client
	dir    string // for what benchmarks and their tasks write
	root   string // of the checkout
	bin    string
	home   string        // of a user who has signed in with det
	db     *pgxpool.Pool // the master's database
	bare   *pgxpool.Pool // one of the yardsticks' own, on the same server
}

var shared struct {
	once    sync.Once
	rig     *rig
	err     error
	figures figures
}

func TestMain(m *testing.M) {
	flag.Parse()
	if dsn := os.Getenv(bareVariable); dsn != "" {
		if err := serveBare(context.Background(), dsn); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	go endWhenAsked()
	code := m.Run()
	shared.figures.write(os.Stdout)
	if r := shared.rig; r != nil {
		if err := r.end(code == 0); err != nil {
			fmt.Fprintln(os.Stderr, "the cluster could not be taken down:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// endWhenAsked takes the cluster down when the run is ended from outside: its agents of Nomad would go on, with all their tasks.
func endWhenAsked() {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, os.Interrupt, syscall.SIGTERM)
	<-asked
	if r := shared.rig; r != nil {
		if err := r.end(true); err != nil {
			fmt.Fprintln(os.Stderr, "the cluster could not be taken down:", err)
		}
	}
	os.Exit(1)
}

// end stops the cluster; after a failure its folder is kept.
func (r *rig) end(clean bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, pool := range []*pgxpool.Pool{r.db, r.bare} {
		if pool != nil {
			pool.Close()
		}
	}
	if r.Cluster == nil {
		return os.RemoveAll(r.dir)
	}
	if !clean {
		fmt.Fprintln(os.Stderr, "the cluster's folder is kept:", r.Cluster.StateDir())
		return r.Down(ctx, nil)
	}
	return errors.Join(r.Reset(ctx, nil), os.RemoveAll(r.dir))
}

// start brings the shared cluster up, once.
func start(b *testing.B) *rig {
	b.Helper()
	shared.once.Do(func() {
		shared.rig = &rig{}
		shared.err = shared.rig.up()
	})
	if shared.err != nil {
		b.Fatalf("the cluster did not start: %v", shared.err)
	}
	return shared.rig
}

func (r *rig) up() error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	var err error
	if r.bin, err = filepath.Abs(*binDir); err != nil {
		return err
	}
	if _, err := os.Stat(r.program("det-master")); err != nil {
		return fmt.Errorf("%w; just build makes the programs", err)
	}
	if r.root, err = filepath.Abs(filepath.Join("..", "..")); err != nil {
		return err
	}
	if r.dir, err = os.MkdirTemp("", "detent-bench-"); err != nil {
		return err
	}
	if err := os.Chmod(r.dir, 0o755); err != nil { // PostgreSQL's account passes through
		return err
	}
	r.Cluster, err = local.Up(ctx, local.Options{Name: "bench", StateDir: filepath.Join(r.dir, "cluster"), FreePorts: true, ExtraNomad: roomForAll,
		Master: local.Master{Binary: r.program("det-master"), Runner: r.program("det-runner"),
			Env: map[string]string{"DETENT_HARNESS_PATH": filepath.Join(r.root, "plugins", "harness")}, Config: masterConfig}},
		servers.NewReporter(os.Stderr))
	if err != nil {
		return err
	}
	r.Description = r.Describe(ctx)
	if r.client, err = client.New(client.Options{Master: r.MasterURL}); err != nil {
		return err
	}
	if _, err := r.client.Login(ctx, "determined", ""); err != nil {
		return err
	}
	if err := r.signIn(ctx); err != nil {
		return err
	}
	if r.db, err = pgxpool.New(ctx, r.DSN); err != nil {
		return err
	}
	dsn, err := r.database(ctx, "bench")
	if err != nil {
		return err
	}
	r.bare, err = pgxpool.New(ctx, dsn)
	return err
}

// roomForAll lets Nomad place all these tasks, which do nothing, on a node of any processor: two slow cores have too few MHz.
const roomForAll = "client {\n  cpu_total_compute = 20000\n}"

// masterConfig gives the node room for as many tasks as there are clients, regardless of its size,
// a pool beside it that nothing else waits for, and one for the trials that the pages show live. Ten
// thousand live experiments need more memory than a master of this size has for them by default.
const masterConfig = `
cluster_name: bench
search_memory_mb: 512
resource_pools:
  - {name: default, driver: raw_exec, slots: cpu, slots_per_node: 48, memory_mb_per_slot: 32}
  - {name: beside, driver: raw_exec, slots: cpu, slots_per_node: 4, memory_mb_per_slot: 32}
  - {name: pages, driver: raw_exec, slots: cpu, slots_per_node: 56, memory_mb_per_slot: 32}
`

func (r *rig) program(name string) string { return filepath.Join(r.bin, name) }

// signIn leaves a session where det finds it, as after det user login.
func (r *rig) signIn(ctx context.Context) error {
	r.home = filepath.Join(r.dir, "home")
	if err := os.Mkdir(r.home, 0o700); err != nil {
		return err
	}
	login := r.det(ctx, "user", "login", "determined")
	login.Stdin = strings.NewReader("\n")
	if out, err := login.CombinedOutput(); err != nil {
		return fmt.Errorf("det user login: %w\n%s", err, out)
	}
	return nil
}

// det is a run of the command line against the cluster.
func (r *rig) det(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, r.program("det"), args...)
	cmd.Env = append(os.Environ(), "DET_MASTER="+r.MasterURL, "HOME="+r.home, "XDG_CONFIG_HOME=", "NO_COLOR=1")
	return cmd
}

// database makes an empty database on the cluster's server.
func (r *rig) database(ctx context.Context, name string) (dsn string, err error) {
	if _, err := r.db.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	u, err := url.Parse(r.DSN)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}

// await polls until the condition holds, often enough for what is measured by it.
func await(b *testing.B, what string, cond func() bool) {
	b.Helper()
	awaitFor(b, patience, what, cond)
}

func awaitFor(b *testing.B, patience time.Duration, what string, cond func() bool) {
	b.Helper()
	deadline := time.Now().Add(patience)
	for !cond() {
		if time.Now().After(deadline) {
			b.Fatalf("%s did not happen within %s", what, patience)
		}
		pause(b.Context(), 2*time.Millisecond)
	}
}

// pause waits: between two polls, or to let something become idle.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// submit creates an experiment that runs a shell script.
func (r *rig) submit(b *testing.B, script string, more ...string) int {
	b.Helper()
	config := fmt.Sprintf("name: bench\nentrypoint: [sh, -c, %q]\nsearcher: {name: single, metric: loss, max_length: {batches: 1}}\n"+
		"max_restarts: 0\n%s\n", script, strings.Join(more, "\n"))
	active := true
	e, err := r.client.CreateExperiment(b.Context(), v1.CreateExperimentRequest{Config: &config, Activate: &active}, nil)
	if err != nil {
		b.Fatalf("submit: %v", err)
	}
	return e.Experiment.ID
}

// An attempt is a running, idle attempt; the benchmark sends reports with its token.
type attempt struct {
	experiment, trial  int
	task, token, local string // local is its runner's address for the program
}

// hold starts attempts that do nothing, and learns their names and tokens.
func (r *rig) hold(b *testing.B, n int) []attempt {
	b.Helper()
	list := make([]attempt, n)
	for i := range list {
		path := filepath.Join(r.dir, fmt.Sprintf("attempt-%d-%d", time.Now().UnixNano(), i))
		list[i].task = path
		list[i].experiment = r.submit(b, fmt.Sprintf("umask 077; echo $DET_TRIAL_ID $DET_TASK_ID $DET_SESSION_TOKEN $DET_MASTER >%s.new && "+
			"mv %s.new %s; exec sleep 100000", path, path, path))
	}
	for i := range list {
		path := list[i].task
		await(b, "the start of an attempt", func() bool {
			said, err := os.ReadFile(path)
			if err != nil {
				return false
			}
			if _, err := fmt.Sscan(string(said), &list[i].trial, &list[i].task, &list[i].token, &list[i].local); err != nil {
				b.Fatalf("an attempt printed %q: %v", said, err)
			}
			return true
		})
	}
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		for _, a := range list {
			if err := client.Act(ctx, r.client, v1.KillExperiment, a.experiment); err != nil {
				b.Errorf("kill experiment %d: %v", a.experiment, err)
			}
		}
	})
	return list
}
