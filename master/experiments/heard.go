package experiments

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/cache"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/rest"
)

// heardEvery is how often at most a master stores that the program of an unmanaged trial reports. It is far below the time after which
// a trial is closed for silence.
const heardEvery = 30 * time.Second

const maxHeard = 20_000 // tasks of which a master remembers that

// Heard stores that programs of unmanaged trials have reported something.
type Heard struct {
	db    *database.DB
	bus   *database.Bus
	tasks *cache.Rates[string]
}

// NewHeard returns the Heard of a master.
func NewHeard(db *database.DB, bus *database.Bus) *Heard {
	return &Heard{db: db, bus: bus, tasks: cache.NewRates[string](1, heardEvery, maxHeard)}
}

// From stores that the program of a task has reported something. A program that reports metrics or lines of its log runs, also if its
// heartbeats do not arrive. Only the trial's own row is changed, and rarely, so that reports do not wait for each other.
func (h *Heard) From(ctx context.Context, c *rest.Call, task string) error {
	if c.Who().IsTask() {
		return nil
	}
	return h.Task(ctx, task)
}

// Task is From for a program that reports about a run of another task: that of a trial, about runs within the trial's.
func (h *Heard) Task(ctx context.Context, task string) error {
	if !h.tasks.Take(task, time.Now()) {
		return nil
	}
	reopened, err := HearUnmanagedTrial(ctx, h.db, task)
	if reopened {
		h.bus.Publish(lifecycle.TopicIntent)
	}
	return err
}
