package launch

import (
	"context"
	"io"

	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/contexts"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/diskuse"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/queue"
	"github.com/detent-ml/detent/master/task"
	"github.com/detent-ml/detent/master/tasks"
	"github.com/detent-ml/detent/master/workspaces"
)

// workspaceRows is what this package uses of the room of workspaces.
type workspaceRows interface {
	Workspace(ctx context.Context, id int) (workspaces.Workspace, error)
	Project(ctx context.Context, id int) (workspaces.Project, error)
	ProjectByName(ctx context.Context, workspace, name string) (workspaces.Project, error)
	Template(ctx context.Context, name string) (workspaces.Template, error)
	ConfigPolicies(ctx context.Context, workspace int, workload string) ([]workspaces.Policy, error)
	OpenPool(ctx context.Context, pool string, to workspaces.Workspace) error
}

// Rows has the rows of rooms as methods, because tests have them in memory.
type Rows struct {
	DB     *database.DB
	Memory *experiments.Memory // for searches
	Users  *diskuse.Users      // what they store
}

func (r Rows) Experiment(ctx context.Context, id int) (experiments.Experiment, error) {
	return experiments.Get(ctx, r.DB, id)
}

func (r Rows) Trial(ctx context.Context, id int) (experiments.Trial, error) {
	return experiments.GetTrial(ctx, r.DB, id)
}

func (r Rows) TemplateOf(ctx context.Context, experiment int) (experiments.UsedTemplate, error) {
	return experiments.TemplateOf(ctx, r.DB, experiment)
}

func (r Rows) CreateExperiment(ctx context.Context, n experiments.New) (int, error) {
	return experiments.Create(ctx, r.DB, r.Memory, n)
}

func (r Rows) ContinueExperiment(ctx context.Context, id int, c experiments.Continuation) (int, error) {
	return experiments.Continue(ctx, r.DB, r.Memory, id, c)
}

func (r Rows) AdmitStored(ctx context.Context, owner int, more int64) error {
	return r.Users.Admit(ctx, owner, more)
}

func (r Rows) Workspace(ctx context.Context, id int) (workspaces.Workspace, error) {
	return workspaces.Get(ctx, r.DB, id)
}

func (r Rows) Project(ctx context.Context, id int) (workspaces.Project, error) {
	return workspaces.ProjectByID(ctx, r.DB, id)
}

func (r Rows) ProjectByName(ctx context.Context, workspace, name string) (workspaces.Project, error) {
	return workspaces.ProjectByName(ctx, r.DB, workspace, name)
}

func (r Rows) Template(ctx context.Context, name string) (workspaces.Template, error) {
	return workspaces.TemplateByName(ctx, r.DB, name)
}

func (r Rows) ConfigPolicies(ctx context.Context, workspace int, workload string) ([]workspaces.Policy, error) {
	return workspaces.Policies(ctx, r.DB, workspace, workload)
}

func (r Rows) QuotasOver(ctx context.Context, workspace, project, user int, pool string) ([]queue.Quota, error) {
	return queue.QuotasOver(ctx, r.DB, workspace, project, user, pool)
}

func (r Rows) OpenPool(ctx context.Context, pool string, to workspaces.Workspace) error {
	return workspaces.Open(ctx, r.DB, pool, to)
}

func (r Rows) HasContext(ctx context.Context, hash []byte) (bool, error) {
	return contexts.Has(ctx, r.DB, hash)
}

func (r Rows) SaveContext(ctx context.Context, owner int, hash []byte, write func(io.Writer) error) error {
	return contexts.Save(ctx, r.DB, owner, hash, write)
}

func (r Rows) Task(ctx context.Context, id string) (tasks.Task, error) {
	return tasks.Get(ctx, r.DB, id)
}

func (r Rows) CreateTask(ctx context.Context, n tasks.New) (string, error) {
	return tasks.Create(ctx, r.DB, n)
}

func (r Rows) ShownTrials(ctx context.Context, t tasks.Board) ([]task.ShownTrial, error) {
	return tasks.ShownTrials(ctx, r.DB, t)
}

func (r Rows) Checkpoint(ctx context.Context, uuid string) (checkpoints.Checkpoint, error) {
	return checkpoints.Get(ctx, r.DB, uuid)
}

func (r Rows) NewestCheckpoint(ctx context.Context, trial int) (string, error) {
	k, err := checkpoints.NewestOf(ctx, r.DB, trial)
	return k.UUID, err
}
