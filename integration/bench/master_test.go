package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/nomad/servers"
)

// idleFor is the time over which the processor time of an idle process is measured.
const idleFor = 30 * time.Second

// BenchmarkMaster measures a master from its start to its first answer, its use of processor and
// memory while idle, and its size.
func BenchmarkMaster(b *testing.B) {
	const part = "The master"
	r := start(b)
	add := func(f figure) { f.part = part; shared.figures.add(f) }
	connect := r.calls(b, 20, func(ctx context.Context) error {
		conn, err := pgx.Connect(ctx, r.DSN)
		if err != nil {
			return err
		}
		return errors.Join(conn.Ping(ctx), conn.Close(ctx))
	})
	var empty, existing, schema []time.Duration
	for i := range 5 {
		dsn, err := r.database(b.Context(), fmt.Sprintf("master_%d", i))
		if err != nil {
			b.Fatal(err)
		}
		for range 4 {
			m := r.master(b, dsn)
			if empty = append(empty, m.ready); len(empty) > i+1 {
				empty, existing = empty[:i+1], append(existing, m.ready)
			}
			m.stop(b)
		}
		schema = append(schema, r.bareSchema(b, i))
	}
	add(figure{what: "start to ready with a database", value: ms(percentile(existing, 50)), unit: "ms", target: "50 ms",
		against: "a connection to PostgreSQL", yardstick: connect.p50, determined: "70 ms"})
	add(figure{what: "start to ready with an empty one", value: ms(percentile(empty, 50)), unit: "ms", target: "500 ms",
		against: "its tables alone", yardstick: ms(percentile(schema, 50)), determined: "5,000 ms"})
	b.ReportMetric(ms(percentile(existing, 50)), "ms/start")
	r.idle(b, add)
	r.sizes(b, add)
}

// A started master is one beside the cluster's, with a database of its own.
type started struct {
	cmd   *exec.Cmd
	log   string
	ready time.Duration
}

func (r *rig) master(b *testing.B, dsn string) started {
	b.Helper()
	port, err := servers.FreePort()
	if err != nil {
		b.Fatal(err)
	}
	m := started{cmd: exec.CommandContext(b.Context(), r.program("det-master"), "serve"), log: filepath.Join(r.dir, fmt.Sprintf("master-%d.log", port))}
	m.cmd.Env = append(os.Environ(), fmt.Sprintf("DETENT_LISTEN=127.0.0.1:%d", port), "DETENT_DATABASE="+dsn, "DETENT_NOMAD_ADDRESS="+r.NomadURL,
		"DETENT_CONSUL_ADDRESS="+r.ConsulURL, "DETENT_RUNNER_PATH="+r.program("det-runner"), "DETENT_HARNESS_PATH="+filepath.Join(r.root, "plugins", "harness"))
	out, err := os.Create(m.log)
	if err != nil {
		b.Fatal(err)
	}
	defer out.Close()
	m.cmd.Stderr = out
	began := time.Now()
	if err := m.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	await(b, "the master's answer", func() bool {
		req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/health", port), nil)
		if err != nil {
			b.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	m.ready = time.Since(began)
	return m
}

func (m started) stop(b *testing.B) {
	b.Helper()
	if err := m.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		b.Fatal(err)
	}
	if err := m.cmd.Wait(); err != nil {
		said, _ := os.ReadFile(m.log)
		b.Fatalf("the master's end: %v\n%s", err, said)
	}
}

// bareSchema measures how long PostgreSQL needs to create the same tables.
func (r *rig) bareSchema(b *testing.B, i int) time.Duration {
	b.Helper()
	dsn, err := r.database(b.Context(), fmt.Sprintf("schema_%d", i))
	if err != nil {
		b.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(r.root, "master", "schema", "migrations", "*.sql"))
	if err != nil || len(files) == 0 {
		b.Fatalf("the migrations: %d files, %v", len(files), err)
	}
	slices.Sort(files)
	began := time.Now()
	conn, err := pgx.Connect(b.Context(), dsn)
	if err != nil {
		b.Fatal(err)
	}
	for _, file := range files {
		sql, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := conn.Exec(b.Context(), "BEGIN;"+string(sql)+";COMMIT"); err != nil {
			b.Fatalf("%s: %v", file, err)
		}
	}
	took := time.Since(began)
	if err := conn.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
	return took
}

// idle is a master that leads a cluster of its own in which nothing happens,
// next to the agents of Consul and Nomad.
func (r *rig) idle(b *testing.B, add func(figure)) {
	b.Helper()
	dsn, err := r.database(b.Context(), "idle")
	if err != nil {
		b.Fatal(err)
	}
	m := r.master(b, dsn)
	defer m.stop(b)
	pause(b.Context(), idleFor/3) // what a start leaves behind is collected
	pids := map[string]int{"master": m.cmd.Process.Pid, "Consul": r.part(b, "consul"), "Nomad": r.part(b, "nomad")}
	before := map[string]time.Duration{}
	for name, pid := range pids {
		before[name] = usage([]int{pid})
	}
	began := time.Now()
	pause(b.Context(), idleFor)
	share := func(name string) float64 {
		return 100 * (usage([]int{pids[name]}) - before[name]).Seconds() / time.Since(began).Seconds()
	}
	rss, own := resident(pids["master"])
	consul, consulOwn := resident(pids["Consul"])
	add(figure{what: "idle, resident memory", value: rss, unit: "MB", target: "40 MB", against: "Consul's agent", yardstick: consul, determined: "82 MB"})
	add(figure{what: "idle, memory that is no file's", value: own, unit: "MB", against: "Consul's agent", yardstick: consulOwn})
	add(figure{what: "idle, of a core", value: share("master"), unit: "%", against: "Consul's agent", yardstick: share("Consul"), determined: "0.8 %"})
	add(figure{what: "idle, of a core, against Nomad", value: share("master"), unit: "%", against: "Nomad's server", yardstick: share("Nomad")})
}

func (r *rig) sizes(b *testing.B, add func(figure)) {
	b.Helper()
	nomad, err := servers.Ensure(b.Context(), "nomad", nil)
	if err != nil {
		b.Fatal(err)
	}
	size := func(path string) float64 {
		info, err := os.Stat(path)
		if err != nil {
			b.Fatal(err)
		}
		return float64(info.Size()) / 1e6
	}
	yardstick := size(nomad.Path)
	add(figure{what: "det-master", value: size(r.program("det-master")), unit: "MB", target: "60 MB", against: "nomad", yardstick: yardstick, determined: "140 MB (100 MB stripped)"})
	add(figure{what: "det", value: size(r.program("det")), unit: "MB", against: "nomad", yardstick: yardstick})
	add(figure{what: "det-remover", value: size(r.program("det-remover")), unit: "MB", against: "nomad", yardstick: yardstick})
	add(figure{what: "det-runner", value: size(r.program("det-runner")), unit: "MB", against: "nomad", yardstick: yardstick})
}
