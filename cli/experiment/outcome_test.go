package experiment

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/term"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// followingToTheEnd: the end of a followed experiment is told, and is the exit status.
func followingToTheEnd(t *testing.T, m *world) {
	t.Helper()
	for _, c := range []struct {
		code string
		want int
		says []string
	}{
		{"0", exit.OK, []string{"ended as COMPLETED.", "Best validation_loss: 0.38", " (trial "}},
		{"3", exit.Failed, []string{"ended as ERROR", "The last words of trial ", ": no module named torch"}},
	} {
		a, _, errs := m.app(t)
		o := createOptions{follow: true, overrides: []string{"hyperparameters.code=" + c.code, "max_restarts=0"}}
		o.configFile, o.modelDef = project(t, config)
		err := runCreate(t.Context(), a, o)
		client, _ := a.Client(t.Context())
		page := fmt.Sprintf("%s/det/experiments/%d\n", m.URL, newest(t, client))
		if got := exit.Code(err); got != c.want || strings.Count(errs.String(), page) != 2 {
			t.Errorf("code %s: status %d, want %d:\n%s", c.code, got, c.want, errs)
		}
		for _, words := range c.says {
			if !strings.Contains(errs.String(), words) {
				t.Errorf("code %s: %q is missing:\n%s", c.code, words, errs)
			}
		}
	}
}

// until is an app whose commands are interrupted once they have printed some words.
func until(t *testing.T, m *world, words string) (context.Context, *app.App, fmt.Stringer) {
	t.Helper()
	io, _, errs := term.Buffers("")
	ctx, interrupt := context.WithCancel(t.Context())
	io.Out = writerFunc(func(p []byte) (int, error) {
		if strings.Contains(string(p), words) {
			interrupt()
		}
		return len(p), nil
	})
	return ctx, appOf(t, m.Master, io), errs
}

type writerFunc func([]byte) (int, error)

func (w writerFunc) Write(p []byte) (int, error) { return w(p) }

// interruptedFollower: who stops following learns that the training goes on.
func interruptedFollower(t *testing.T, m *world) {
	t.Helper()
	ctx, a, errs := until(t, m, "Following first trial")
	o := createOptions{follow: true, overrides: []string{"hyperparameters.code=-1"}}
	o.configFile, o.modelDef = project(t, config)
	err := runCreate(ctx, a, o)
	c := m.Client("determined")
	id := newest(t, c)
	want := fmt.Sprintf("Experiment %d continues in the cluster.\nFollow it again with `det experiment logs -f %d`; end it with `det experiment kill %d`.", id, id, id)
	if exit.Code(err) != exit.Interrupted || !strings.Contains(errs.String(), want) {
		t.Errorf("%v\n%s", err, errs)
	}
	if err := client.Act(t.Context(), c, v1.KillExperiment, id); err != nil {
		t.Error(err)
	}
	m.Ended(id)
}

// interruptedRequest: a request that was sent may have succeeded.
func interruptedRequest(t *testing.T, m *world) {
	t.Helper()
	ctx, a, errs := until(t, m, "nothing")
	ctx, interrupt := context.WithCancel(ctx)
	m.Front.Answer(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost || r.URL.Path != v1.CreateExperiment.At() {
			return false
		}
		interrupt()
		<-r.Context().Done()
		return true
	})
	var o createOptions
	o.configFile, o.modelDef = project(t, config)
	err := runCreate(ctx, a, o)
	if exit.Code(err) != exit.Interrupted || !strings.Contains(errs.String(), "may have created the experiment all the same. See your experiments with `det experiment list`") {
		t.Errorf("%v\n%s", err, errs)
	}
}
