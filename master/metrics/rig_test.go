package metrics_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store/rowtest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A rig serves the room alone. A token is the name of a user without roles, or names the trial of an attempt.
type rig struct {
	*world
	url string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{world: newWorld(t)}
	router := rest.New(t.Context(), rest.Config{Log: slog.New(slog.DiscardHandler), Identify: r.who,
		Access:        func(*rest.Route, auth.Who) error { return nil },
		AccessChanges: func() (<-chan struct{}, func()) { return nil, func() {} },
		Poller:        func(c *rest.Call) string { return c.Owner() },
		LimitReads:    database.LimitReads})
	metrics.Routes(router, r.deps())
	router.Mount()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.url = "http://" + lis.Addr().String()
	served := make(chan error, 1)
	go func() { served <- router.Listen(lis) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := router.Shutdown(10 * time.Second); err != nil {
			t.Error(err)
		}
		<-served
	})
	return r
}

// deps reads the rows of other rooms as api does.
func (r *rig) deps() metrics.Deps {
	trial := func(ctx context.Context, id int) (metrics.Trial, error) {
		t, err := r.DB.Trial(ctx, id)
		return metrics.Trial{ID: t.ID, Task: t.TaskID, Ended: t.EndedAt != nil, Is: auth.Object{Kind: v1.KindTrial, OwnerID: t.OwnerID, WorkspaceID: t.WorkspaceID, TrialID: t.ID}}, err
	}
	return metrics.Deps{DB: r.DB.DB, Log: slog.New(slog.DiscardHandler), Writer: r.writer(), Trial: trial,
		Experiment: func(ctx context.Context, id int) (metrics.Experiment, error) {
			e, err := r.DB.ExperimentHead(ctx, id)
			return metrics.Experiment{ID: e.ID, Is: auth.Object{Kind: v1.KindExperiment, OwnerID: e.OwnerID, WorkspaceID: e.WorkspaceID}}, err
		},
		Reporting: rest.On("id", trial, func(t metrics.Trial) auth.Object { return t.Is }),
		Trials: func(_ context.Context, _ *rest.Call, ids []int) ([]v1.Trial, error) {
			return make([]v1.Trial, len(ids)), nil
		},
		HParams: func(ctx context.Context, trials []int) (map[int][]byte, error) {
			list, err := r.DB.TrialsByID(ctx, trials)
			of := map[int][]byte{}
			for _, t := range list {
				of[t.ID] = t.HParams
			}
			return of, err
		},
		Searches: r.DB.SearchesOf, SearcherMetric: r.DB.SearcherMetric,
		Accept:  func(context.Context, *rest.Call, metrics.Trial, int) error { return nil },
		Warn:    func(context.Context, *rest.Call, string) error { return nil },
		Streams: rest.NewPlaces("streams", 16, 16),
		InTurn:  func(_ context.Context, _ string, fn func() error) error { return fn() }}
}

func (r *rig) who(_ context.Context, token rest.Credential) (auth.Who, error) {
	var trial int
	if n, _ := fmt.Sscanf(token.Token, "attempt-of-%d", &trial); n == 1 {
		return auth.Who{UserID: r.Int(`SELECT id FROM users WHERE username = 'determined'`), Username: "determined", AllocationID: "an attempt", TrialID: trial, RunID: 1}, nil
	}
	id := r.Int(`SELECT coalesce((SELECT id FROM users WHERE username = $1), 0)`, token.Token)
	if id == 0 {
		return auth.Who{}, fault.New(fault.Unauthenticated, "nobody has this token")
	}
	return auth.Who{UserID: id, Username: token.Token, Admin: token.Token == "admin", SessionID: 1}, nil
}

func (r *rig) user(name string) as { return as{r, name} }

// An attempt of a trial reports.
type attempt struct {
	r          *rig
	exp, trial int
	as
}

func (r *rig) running() *attempt {
	r.T.Helper()
	a := &attempt{r: r, exp: r.Experiment(rowtest.LossSearcher)}
	a.trial = r.Trial(a.exp, 0, 1)
	a.as = as{r, fmt.Sprintf("attempt-of-%d", a.trial)}
	return a
}

func (a *attempt) path(rest string) string { return fmt.Sprintf("/api/v1/trials/%d%s", a.trial, rest) }

// reports stores a report of an attempt's trial; without steps, at a time.
func (a *attempt) reports(group string, steps any, metrics string) {
	a.r.T.Helper()
	where := fmt.Sprintf(`"stepsCompleted":%v`, steps)
	if at, ok := steps.(string); ok {
		where = fmt.Sprintf(`"reportTime":%q`, at)
	}
	a.post(a.path("/metrics"), fmt.Sprintf(`{"group":%q,"metrics":{"trialId":%d,"trialRunId":1,%s,"metrics":{"avgMetrics":%s}}}`, group, a.trial, where, metrics)).ok()
}

// over ends an experiment with all its trials.
func (r *rig) over(experiment int) {
	r.T.Helper()
	r.Exec(`UPDATE trials SET state = 'COMPLETED', ended_at = now() WHERE experiment_id = $1`, experiment)
	r.Exec(`UPDATE experiments SET state = 'COMPLETED', ended_at = now() WHERE id = $1`, experiment)
}

// as is a client with a token.
type as struct {
	r     *rig
	token string
}

func (c as) get(path string) answer        { return c.do("GET", path, "") }
func (c as) post(path, body string) answer { return c.do("POST", path, body) }

func (c as) do(method, path, body string) answer {
	c.r.T.Helper()
	q, err := http.NewRequestWithContext(c.r.T.Context(), method, c.r.url+path, strings.NewReader(body))
	if err != nil {
		c.r.T.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+c.token)
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		c.r.T.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.r.T.Fatal(err)
	}
	return answer{c.r.T, method + " " + path, resp.StatusCode, b}
}

// An answer is what a call returned.
type answer struct {
	t    testing.TB
	what string
	code int
	body []byte
}

func (a answer) ok() answer { a.t.Helper(); return a.is(200) }

func (a answer) is(code int) answer {
	a.t.Helper()
	if a.code != code {
		a.t.Fatalf("%s: %d, want %d: %s", a.what, a.code, code, a.body)
	}
	return a
}

func (a answer) says(code int, words ...string) {
	a.t.Helper()
	var e rest.ErrorBody
	a.is(code).into(&e)
	for _, word := range words {
		if !strings.Contains(e.Message, word) {
			a.t.Fatalf("%s: %q does not say %q", a.what, e.Message, word)
		}
	}
}

func (a answer) tree() (m map[string]any) { a.t.Helper(); a.into(&m); return m }

func (a answer) into(v any) {
	a.t.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		a.t.Fatalf("%s: %v: %s", a.what, err, a.body)
	}
}

// streamed are the records of a stream that ends.
func (c as) streamed(path string) (records []any) {
	c.r.T.Helper()
	for line := range strings.Lines(string(c.get(path).ok().body)) {
		records = append(records, at(c.r.T, parsedJSON(c.r, line), "result"))
	}
	return records
}

func parsedJSON(r *rig, line string) (v any) {
	r.T.Helper()
	if err := json.Unmarshal([]byte(line), &v); err != nil {
		r.T.Fatalf("%q: %v", line, err)
	}
	return v
}

// A stream is an answer that goes on.
type stream struct {
	t    testing.TB
	body io.ReadCloser
	in   *bufio.Reader
	stop context.CancelFunc
}

func (c as) open(path string) *stream {
	c.r.T.Helper()
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	req, err := http.NewRequestWithContext(ctx, "GET", c.r.url+path, nil)
	if err != nil {
		c.r.T.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.r.T.Fatal(err)
	}
	if resp.StatusCode != 200 {
		b, _ := io.ReadAll(resp.Body)
		c.r.T.Fatalf("%s: %d %s", path, resp.StatusCode, b)
	}
	s := &stream{c.r.T, resp.Body, bufio.NewReader(resp.Body), stop}
	c.r.T.Cleanup(s.close)
	return s
}

func (s *stream) close() { s.stop(); s.body.Close() }

func (s *stream) line() (string, error) {
	line, err := s.in.ReadString('\n')
	return strings.TrimSuffix(line, "\n"), err
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

// waitFor polls until something is so.
func waitFor(t testing.TB, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		if is() {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
	t.Fatal("the condition was not true within 20 seconds")
}
