package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
)

// A collector receives copies of log lines as OTLP's JSON, and is away at times.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	away  bool
	lines map[string]map[string]string // texts by task and number
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{lines: map[string]map[string]string{}}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *collector) setAway(away bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away = away
}

func (c *collector) count(task string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.lines[task])
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var said struct {
		ResourceLogs []struct {
			ScopeLogs []struct {
				LogRecords []struct {
					Body       struct{ StringValue string }
					Attributes []struct {
						Key   string
						Value struct{ StringValue, IntValue string }
					}
				}
			}
		}
	}
	err := json.NewDecoder(r.Body).Decode(&said)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil || c.away {
		http.Error(w, fmt.Sprint(err), http.StatusServiceUnavailable)
		return
	}
	for _, record := range said.ResourceLogs[0].ScopeLogs[0].LogRecords {
		of := map[string]string{}
		for _, a := range record.Attributes {
			of[a.Key] = a.Value.StringValue + a.Value.IntValue
		}
		task := of["detent.task.id"]
		if c.lines[task] == nil {
			c.lines[task] = map[string]string{}
		}
		c.lines[task][of["detent.line"]] = record.Body.StringValue
	}
	fmt.Fprint(w, "{}")
}

// linesElsewhere kills the leader while a receiver of log lines is away: afterwards the receiver has each line of a training, and the
// lines of the masters.
func linesElsewhere(t *testing.T, r *rig.Rig, c *collector) {
	k := r.Train(t, rig.TrainOptions{})
	rig.Eventually(t, "lines arrive", func() (bool, error) { return c.count(k.TaskID) > 0 && c.count("") > 0, nil })
	c.setAway(true)
	k.Advance(t, rig.CheckpointEvery)
	l := currentLeader(t, r)
	id, _ := processOf(t, r, l.Address)
	if err := id.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.Advance(t, rig.CheckpointEvery)
	k.Finish(t)
	c.setAway(false)
	rig.Eventually(t, "the receiver has each line", func() (bool, error) {
		stored := rig.Value[int](t, r, `SELECT next - 1 FROM log_tasks WHERE task_id = $1`, k.TaskID)
		return c.count(k.TaskID) == stored, errors.New(fmt.Sprint(c.count(k.TaskID), " of ", stored))
	})
	r.Healthy(t)
}
