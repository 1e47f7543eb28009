package checkpoints

import (
	"context"
	"log/slog"

	"github.com/google/uuid"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Deps is what the endpoints use of others.
type Deps struct {
	DB  *database.DB
	Log *slog.Logger
	// Experiment finds an experiment, Head no more of it than its number and whose it is, and Trial a trial.
	Experiment, Head func(ctx context.Context, id int) (Experiment, error)
	Trial            func(ctx context.Context, id int) (Trial, error)
	OwnTask          rest.Object[string] // the task of a path, which must be the caller's own
	// Config is the configuration of an experiment as its owner and admins see it (own), or as others do.
	Config func(stored []byte, own bool) v1.Struct
	// Outside finds the task and the run of an unmanaged trial in whose name a user's session reports a checkpoint.
	Outside func(ctx context.Context, c *rest.Call, k *v1.Checkpoint) (task string, run int, err error)
	Changed func()                           // the loop is to look at new tasks
	States  func() (<-chan struct{}, func()) // wakes when the loop has changed something, until the function is called

	Pools    pool.Set
	Storages []string // the types of storages that the cluster reaches
	Roots    []string // the folders below which the master reads checkpoints
	// Bucket opens the object storage of an experiment for reading; nil if the master reads no objects.
	Bucket func(ctx context.Context, storage expconf.CheckpointStorage) (Bucket, error)

	// Unsigned: programs get no signed addresses of object storages, but send files to the master and read them from it.
	Unsigned bool

	Downloads *Downloads

	caught func(what, path string, do func() error) error
}

// An Experiment has checkpoints.
type Experiment struct {
	ID              int
	Is              auth.Object
	Config          []byte
	Metric          string // of its searcher
	SmallerIsBetter bool
	Objectives      []byte // searcher.metrics; nil: the search has one metric
}

// A Trial of an experiment.
type Trial struct {
	ID, ExperimentID int
	Is               auth.Object
}

// Routes adds the endpoints of checkpoints and of their removal.
func Routes(r *rest.Router, d Deps) {
	d.caught = r.Caught
	checkpoint, experiment, head := On(d.DB), rest.On("id", d.Experiment, isExperiment), rest.On("id", d.Head, isExperiment)
	rest.Serve(r, v1.ReportCheckpoint, d.report)
	rest.Serve(r, v1.ChangeCheckpoints, d.change)
	rest.ServeOn(r, v1.GetCheckpoint, checkpoint, d.get)
	rest.ServeOn(r, v1.SetCheckpointMetadata, checkpoint, d.setMetadata)
	rest.RawOn(r, v1.DownloadCheckpoint, checkpoint, d.download)
	rest.ServeOn(r, v1.ListExperimentCheckpoints, experiment, d.ofExperiment)
	rest.ServeOn(r, v1.ListTrialCheckpoints, rest.On("id", d.Trial, func(t Trial) auth.Object { return t.Is }), d.ofTrial)

	rest.Serve(r, v1.DeleteCheckpoints, d.deleteAll)
	rest.Serve(r, v1.RemoveCheckpointFiles, d.removeFiles)
	rest.ServeOn(r, v1.RemoveTensorboardFiles, head, d.removeEvents)
	rest.ServeOn(r, v1.PreviewGC, experiment, d.previewGC)
	rest.ServeOn(r, v1.ListGCs, experiment, d.listGCs)
	rest.ServeOn(r, v1.ReportFreed, d.OwnTask, d.removalReport)
	rest.ServeOn(r, v1.ListStrays, d.OwnTask, d.strays)
}

func isExperiment(e Experiment) auth.Object { return e.Is }

// Object is a checkpoint, for auth.
func (k Checkpoint) Object() auth.Object {
	return Owner{UUID: k.UUID, TaskID: k.TaskID, OwnerID: k.OwnerID, WorkspaceID: k.WorkspaceID, Shared: k.Shared}.Object()
}

// Object is a checkpoint, for auth.
func (k Owner) Object() auth.Object {
	return auth.Object{Kind: v1.KindCheckpoint, Name: "checkpoint " + k.UUID, OwnerID: k.OwnerID, WorkspaceID: k.WorkspaceID, TaskID: k.TaskID, Shared: k.Shared}
}

// On loads the checkpoint of a path.
func On(db *database.DB) rest.Object[Checkpoint] {
	return rest.Object[Checkpoint]{Of: Checkpoint.Object, Large: true, Load: func(ctx context.Context, c *rest.Call) (Checkpoint, error) {
		return Named(ctx, db, c.Param("uuid"))
	}}
}

// Named finds the checkpoint that a request names.
func Named(ctx context.Context, db *database.DB, name string) (Checkpoint, error) {
	id, err := uuid.Parse(name)
	if err != nil {
		return Checkpoint{}, notUUID(name)
	}
	return Get(ctx, db, id.String())
}

// OwnerOfNamed finds who owns the checkpoint that a request names, without its files and metadata.
func OwnerOfNamed(ctx context.Context, db *database.DB, name string) (Owner, error) {
	id, err := uuid.Parse(name)
	if err != nil {
		return Owner{}, notUUID(name)
	}
	return OwnerOf(ctx, db, id.String())
}

func notUUID(name string) error {
	return fault.New(fault.Invalid, "%q is not the UUID of a checkpoint", name)
}
