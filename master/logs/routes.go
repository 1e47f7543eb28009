package logs

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/cache"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Deps is what the endpoints use of others.
type Deps struct {
	DB       *database.DB
	Bus      *database.Bus
	Store    *Store
	Policies *Policies
	// Trial and Task return the log of a trial, and of a task or a part of one.
	Trial func(ctx context.Context, id int) (Log, error)
	Task  func(ctx context.Context, id string) (Log, error)
	// Experiment and Project return what has logs to retain.
	Experiment func(ctx context.Context, id int) (Group, error)
	Project    func(ctx context.Context, id int) (Group, error)
	// Experiments lists the experiments that a request names among those that the caller may view, of a project or (0) of all, and the
	// numbers of those that do not exist.
	Experiments  func(ctx context.Context, c *rest.Call, project int, req *v1.BulkRequest) (list []Group, missing []int, err error)
	NoExperiment func(id int) error // the error for one that does not exist
	// AdmitOutside fails if the owner of a trial that runs outside of the cluster stores as much as one user may.
	AdmitOutside func(ctx context.Context, c *rest.Call, owner, bytes int) error
	// Heard notes that the program of a trial outside of the cluster runs.
	Heard func(ctx context.Context, c *rest.Call, task string) error
	// Limits are what all streams and searches share; nil: those of a master.
	Limits *Limits

	origins *cache.Cache[Writer, Origin] // Routes makes it
}

// A Log is the log of a task, or of a part of one, that a path names.
type Log struct {
	TaskID string
	Called string // the task, or its part, in answers
	Part   *int   // of the task; nil: all lines
	Trial  int    // 0: the path names a task
	Is     auth.Object
}

// A Group is an experiment or a project, whose trials have logs.
type Group struct {
	ID int // 0: all projects
	Is auth.Object
}

func objectOf(l Log) auth.Object        { return l.Is }
func objectOfGroup(g Group) auth.Object { return g.Is }

const (
	maxTurns        = 16 // streams of logs that unpack and send lines at once
	maxTurnsPerUser = 4  // of those, for one user and the user's tasks
	maxTurnsMore    = 8  // of those, for all users together beyond one for each
	maxLongLines    = 2  // long lines that are sent at once, one for each user

	maxStreams        = 1024 // open streams
	maxStreamsPerUser = 128

	// A search unpacks logs, which keeps a processor busy.
	maxSearches        = 2
	maxSearchesPerUser = 1
)

// Limits are what all streams and searches of logs in a master share.
type Limits struct {
	Streams   *rest.Places  // that are open
	Turns     *rest.Shares  // logs whose lines are being unpacked and sent
	Turn      time.Duration // how long a stream keeps its turn while others may wait
	LongLines *rest.Shares  // that are being sent
	Searches  *rest.Shares  // logs that are being searched
}

// NewLimits returns the limits of a master.
func NewLimits() *Limits {
	return &Limits{Streams: rest.NewPlaces("streams of logs", maxStreams, maxStreamsPerUser), Turns: rest.NewFairShares(maxTurns, maxTurnsPerUser, maxTurnsMore),
		Turn: turnTime, LongLines: rest.NewShares(maxLongLines, 1), Searches: rest.NewShares(maxSearches, maxSearchesPerUser)}
}

// Routes adds the endpoints of logs. That of the matches that a runner reports is with the other endpoints of members of attempts: it
// calls Policies.Record.
func Routes(r *rest.Router, d Deps) {
	d.Limits = cmp.Or(d.Limits, NewLimits())
	d.origins = cache.New[Writer, Origin](0, knownWriters)
	trial := rest.On("id", d.Trial, objectOf)
	task := rest.Object[Log]{Of: objectOf, Large: true, Load: func(ctx context.Context, c *rest.Call) (Log, error) { return d.Task(ctx, c.Param("id")) },
		Again: func(c *rest.Call) func(context.Context) (Log, error) {
			id := strings.Clone(c.Param("id"))
			return func(ctx context.Context) (Log, error) { return d.Task(ctx, id) }
		}}
	experiment := rest.On("id", d.Experiment, objectOfGroup)
	project := rest.OrAll(rest.On("id", d.Project, objectOfGroup), func(p Group) int { return p.ID })
	rest.Raw(r, v1.ShipLogs, d.ship)
	rest.Raw(r, v1.ShipTaskLogs, d.shipTaskLogs)
	rest.Raw(r, v1.ShipOldTaskLogs, d.shipOldTaskLogs)
	rest.Serve(r, v1.SearchLogs, d.search)
	rest.RawQueryOn(r, v1.StreamTrialLogs, trial, d.read)
	rest.RawQueryOn(r, v1.StreamTaskLogs, task, d.read)
	rest.RawQueryOn(r, v1.StreamTrialLogFields, trial, d.fields)
	rest.RawQueryOn(r, v1.StreamTaskLogFields, task, d.fields)
	rest.ServeOn(r, v1.RetainExperimentLogs, experiment, d.retainExperiment)
	rest.ServeOn(r, v1.RetainManyLogs, project, d.retainMany)
	rest.ServeOn(r, v1.RetainTrialLogs, trial, d.retainTrial)
	rest.ServeOn(r, v1.GetRemainingLogDays, trial, d.remainingDays)
	rest.Serve(r, v1.CleanupLogs, d.cleanUp)
}
