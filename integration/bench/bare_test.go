package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/jackc/pgx/v5/pgxpool"
)

// bareVariable makes this program serve the yardstick of metric reports, in
// place of running benchmarks, and into which database.
const bareVariable = "DETENT_BENCH_BARE"

const bareTables = `
	CREATE TABLE IF NOT EXISTS bare_reports (trial int, step int, metrics jsonb, PRIMARY KEY (trial, step));
	CREATE TABLE IF NOT EXISTS bare_lines (id bigint GENERATED ALWAYS AS IDENTITY, task text, at timestamptz, level text, std text,
		source text, log text);
	CREATE INDEX IF NOT EXISTS bare_lines_task ON bare_lines (task, id);`

// A report is one row for a grouper.
type report struct {
	trial, step int
	metrics     string
	done        chan error
}

// A grouper inserts what waits, together.
type grouper chan report

// run inserts until the channel is closed.
func (g grouper) run(ctx context.Context, pool *pgxpool.Pool) {
	for first := range g {
		batch := []report{first}
		for more := true; more && len(batch) < 1000; {
			select {
			case next, ok := <-g:
				if more = ok; ok {
					batch = append(batch, next)
				}
			default:
				more = false
			}
		}
		var trials, steps []int
		var metrics []string
		for _, x := range batch {
			trials, steps, metrics = append(trials, x.trial), append(steps, x.step), append(metrics, x.metrics)
		}
		_, err := pool.Exec(ctx, `INSERT INTO bare_reports SELECT t, s, m::jsonb FROM unnest($1::int[], $2::int[], $3::text[]) AS u(t, s, m)`,
			trials, steps, metrics)
		for _, x := range batch {
			x.done <- err
		}
	}
}

// insert is done when the row is committed.
func (g grouper) insert(trial, step int, metrics string) error {
	x := report{trial, step, metrics, make(chan error, 1)}
	g <- x
	return <-x.done
}

// serveBare is the yardstick's handler: no authentication, no checks, no
// summaries, only the grouped insert. It ends with its standard input.
func serveBare(ctx context.Context, dsn string) error {
	pool, err := pgxpool.New(ctx, dsn)
	if err != nil {
		return err
	}
	defer pool.Close()
	g := make(grouper, 1000)
	go g.run(ctx, pool)
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Post("/", func(c *fiber.Ctx) error {
		var req struct {
			Metrics struct {
				TrialID        int
				StepsCompleted int
				Metrics        struct{ AvgMetrics json.RawMessage }
			}
		}
		if err := json.Unmarshal(c.Body(), &req); err != nil {
			return err
		}
		if err := g.insert(req.Metrics.TrialID, req.Metrics.StepsCompleted, string(req.Metrics.Metrics.AvgMetrics)); err != nil {
			return err
		}
		return c.SendString("{}")
	})
	var listen net.ListenConfig
	ln, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", ln.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = app.ShutdownWithTimeout(time.Second)
	}()
	return app.Listener(ln)
}

// bareHandler starts serveBare in a process of its own, as the master is one.
func (r *rig) bareHandler(b *testing.B) (url string, pid int) {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.CommandContext(b.Context(), self)
	cmd.Env = append(os.Environ(), bareVariable+"="+r.bare.Config().ConnString())
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		_ = cmd.Wait() // it served as long as it was needed
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatalf("the bare handler did not start: %v", err)
	}
	return strings.TrimSpace(line), cmd.Process.Pid
}

// emptyBare makes the yardsticks' tables again.
func (r *rig) emptyBare(b *testing.B) {
	b.Helper()
	if _, err := r.bare.Exec(b.Context(), bareTables+"TRUNCATE bare_reports, bare_lines"); err != nil {
		b.Fatal(err)
	}
}
