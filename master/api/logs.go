package api

import (
	"context"

	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/tasks"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

// registerLogs gives the room of logs what it uses of experiments, trials, tasks and their owners.
func (a *API) registerLogs() {
	logs.Routes(a.router, logs.Deps{DB: a.db, Bus: a.bus, Store: a.taskIO.logs, Policies: a.taskIO.policies, Limits: a.taskIO.streams, AdmitOutside: a.users.AdmitOutside, Heard: a.experiments.Heard.From,
		Experiments: a.chosenGroups, NoExperiment: experiments.NotFound,
		Trial: func(ctx context.Context, id int) (logs.Log, error) {
			t, err := experiments.GetTrial(ctx, a.db, id)
			return logs.Log{TaskID: t.TaskID, Trial: t.ID, Is: t.Object()}, err
		},
		Task: func(ctx context.Context, id string) (logs.Log, error) {
			k, err := tasks.GetOrPart(ctx, a.db, id)
			return logs.Log{TaskID: k.ID, Called: k.Called(), Part: &k.Part.N, Is: k.Object()}, err
		},
		Experiment: func(ctx context.Context, id int) (logs.Group, error) {
			e, err := experiments.GetHead(ctx, a.db, id)
			return logs.Group{ID: e.ID, Is: e.Object()}, err
		},
		Project: func(ctx context.Context, id int) (logs.Group, error) {
			p, err := workspaces.ProjectByID(ctx, a.db, id)
			return logs.Group{ID: p.ID, Is: p.Object()}, err
		}})
}

// chosenGroups are the experiments of chosen.
func (a *API) chosenGroups(ctx context.Context, c *rest.Call, project int, req *v1.BulkRequest) (list []logs.Group, missing []int, err error) {
	found, missing, err := a.experiments.Chosen(ctx, c, c.Scope(), project, req)
	for _, e := range found {
		list = append(list, logs.Group{ID: e.ID, Is: e.Object()})
	}
	return list, missing, err
}
