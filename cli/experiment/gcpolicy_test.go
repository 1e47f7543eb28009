package experiment

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/fakemaster"
	"github.com/detent-ml/detent/cli/internal/term"
)

func TestSetGCPolicy(t *testing.T) {
	const preview = `{"metric_name":"loss","checkpoints":[
		{"TrialID":2,"StepsCompleted":30,"State":"COMPLETED","ValidationMetrics":{"loss":0.25},"UUID":"later","Resources":{"b":"1","a":"2"},"ReportTime":"2026-11-20T12:00:00Z","step":{"validation":{"loss":0.25}}},
		{"TrialID":1,"StepsCompleted":10,"State":"COMPLETED","ValidationMetrics":{"loss":3},"UUID":"first","Resources":{},"ReportTime":"2026-11-20T13:00:00Z","step":{"validation":{"loss":3}}},
		{"TrialID":1,"StepsCompleted":20,"State":"COMPLETED","ValidationMetrics":{},"UUID":"unvalidated","Resources":{},"ReportTime":"2026-11-20T14:00:00Z"}]}`
	const patch = `PATCH /api/v1/experiments/3 {"id":3,"checkpointStorage":{"saveExperimentBest":1,"saveTrialBest":0,"saveTrialLatest":2}}`
	const asked = "GET /experiments/3/preview_gc?save_experiment_best=1&save_trial_best=0&save_trial_latest=2 "
	for _, c := range []struct {
		name, input string
		yes, fails  bool
		calls       string
	}{
		{"asked", "y\n", false, false, asked + "; " + patch}, {"not after all", "n\n", false, true, asked}, {"not asked", "", true, false, patch},
	} {
		t.Run(c.name, func(t *testing.T) {
			var calls []string
			fake := fakemaster.New()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !strings.Contains(r.URL.Path, "/experiments/3") {
					fake.ServeHTTP(w, r)
					return
				}
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				calls = append(calls, r.Method+" "+r.URL.RequestURI()+" "+string(body))
				answer := `{"experiment":{"id":3}}`
				if r.Method == http.MethodGet {
					answer = preview
				}
				_, _ = io.WriteString(w, answer)
			}))
			defer s.Close()
			streams, out, _ := term.Buffers(c.input)
			env := map[string]string{"DET_MASTER": s.URL, "HOME": t.TempDir()}
			a := &app.App{IO: streams, Now: time.Now, Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
			err := runSetGCPolicy(t.Context(), a, gcPolicyOptions{id: 3, experimentBest: 1, trialLatest: 2, yes: c.yes})
			if (err != nil) != c.fails {
				t.Error(err)
			}
			if got := strings.Join(calls, "; "); got != c.calls {
				t.Errorf("it called %s\nwant %s", got, c.calls)
			}
			said := out.String()
			if !c.yes {
				first, later := strings.Index(said, "first"), strings.Index(said, "later")
				if first < 0 || later < first || strings.Contains(said, "unvalidated") ||
					!strings.Contains(said, "This policy will delete 2 checkpoints with validations and 1 checkpoints without validations.") {
					t.Errorf("it showed\n%s", said)
				}
			}
			if !c.fails && !strings.Contains(said, "Set GC policy of experiment 3 to\n{'save_experiment_best': 1, 'save_trial_best': 0, 'save_trial_latest': 2}\n") {
				t.Errorf("it said\n%s", said)
			}
		})
	}
}
