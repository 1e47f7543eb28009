package checkpoint

import (
	"fmt"
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

// rig is an app whose calls about checkpoints are kept, as "METHOD path body".
func rig(t *testing.T, input string) (a *app.App, calls *[]string, out fmt.Stringer) {
	t.Helper()
	calls = &[]string{}
	fake := fakemaster.New()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/api/v1/checkpoints") {
			fake.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		*calls = append(*calls, r.Method+" "+r.URL.Path+" "+string(body))
		_, _ = io.WriteString(w, `{"checkpoint":{"uuid":"u","state":"STATE_PARTIALLY_DELETED","metadata":{"steps_completed":4},"resources":{"a":"1"},"training":{},
			"removals":[{"taskId":"7.x","checkpoint":"u","reason":"asked","globs":["*.bin"],"time":"2026-11-20T12:00:00Z","files":"3","bytes":"2048","error":"","ended":true},
			{"taskId":"7.y","checkpoint":"u","reason":"policy","globs":["**/*"],"files":"0","bytes":"0","error":"access denied","ended":true}]}}`)
	}))
	t.Cleanup(s.Close)
	streams, printed, _ := term.Buffers(input)
	env := map[string]string{"DET_MASTER": s.URL, "HOME": t.TempDir()}
	return &app.App{IO: streams, Now: time.Now, Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}, calls, printed
}

func TestRmAndDelete(t *testing.T) {
	for _, c := range []struct {
		name, input string
		args        []string
		call, said  string
		fails       bool
	}{
		{"files", "", []string{"rm", "u-1,u-2", "--glob", "*.bin", "--glob", "sub/*", "--yes"},
			`POST /api/v1/checkpoints/rm {"checkpointUuids":["u-1","u-2"],"checkpointGlobs":["*.bin","sub/*"]}`,
			"Removal of files from checkpoints u-1,u-2 is in progress.\n", false},
		{"only a look", "", []string{"rm", "u-1"}, `POST /api/v1/checkpoints/rm {"checkpointUuids":["u-1"],"checkpointGlobs":[]}`,
			"No glob patterns provided, refreshing resources of checkpoints u-1 is in progress.\n", false},
		{"files, asked", "y\n", []string{"rm", "u-1", "--glob", "x"}, `POST /api/v1/checkpoints/rm {"checkpointUuids":["u-1"],"checkpointGlobs":["x"]}`,
			"Removal of files from checkpoints u-1 is in progress.\n", false},
		{"files, not after all", "n\n", []string{"rm", "u-1", "--glob", "x"}, "", "Stopping removal of files from checkpoints.\n", true},
		{"altogether", "", []string{"delete", "u-1, u-2", "--yes"}, `DELETE /api/v1/checkpoints {"checkpointUuids":["u-1","u-2"]}`,
			"Deletion of checkpoints u-1, u-2 is in progress\n", false},
		{"not after all", "n\n", []string{"delete", "u-1"}, "", "Stopping deletion of checkpoints.\n", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, calls, out := rig(t, c.input)
			cmd := New(a)
			cmd.SetArgs(c.args)
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			if err := cmd.ExecuteContext(t.Context()); (err != nil) != c.fails {
				t.Error(err)
			}
			if got := strings.Join(*calls, "; "); got != c.call {
				t.Errorf("it called %s, want %s", got, c.call)
			}
			if out.String() != c.said {
				t.Errorf("it said %q, want %q", out.String(), c.said)
			}
		})
	}
}

func TestDescribeTellsWhatWasRemoved(t *testing.T) {
	a, _, out := rig(t, "")
	cmd := New(a)
	cmd.SetArgs([]string{"describe", "u"})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"What was removed of it", "2026-11-20 12:00:00+0000", "2.0KB", "*.bin", "failed", "access denied", "7.x"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it lacks %q:\n%s", want, out)
		}
	}
}
