package api

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/store"
	"github.com/detent-ml/detent/master/v1"
)

// requiredFields are those that Determined's generated clients index without
// asking, so they have to be there in an empty message as well.
var requiredFields = []struct {
	message  any
	required string
}{

	{v1.Trial{}, "experimentId hparams id restarts startTime state totalBatchesProcessed"},
	{v1.Agent{}, "id slotStats"},
	{v1.Allocation{}, "allocationId slots state taskId"},
	{v1.AllocationAllGatherResponse{}, "data"},
	{v1.AllocationRendezvousInfoResponse{}, "rendezvousInfo"},
	{v1.Checkpoint{}, "metadata resources state training uuid"},
	{v1.CheckpointWorkload{}, "state totalBatches"},
	{v1.Command{}, "description id jobId resourcePool startTime state username workspaceId"},
	{v1.Container{}, "id state"},
	{v1.CreateExperimentResponse{}, "config experiment"},
	{v1.DeleteExperimentLabelResponse{}, "labels"},
	{v1.DeleteProjectResponse{}, "completed"},
	{v1.DeleteWorkspaceResponse{}, "completed"},
	{v1.DeviceStats{}, "disabled draining total"},
	{v1.Experiment{}, "archived config id jobId name numTrials originalConfig projectId projectOwnerId searcherType startTime state username"},
	{v1.GetAgentsResponse{}, "agents"},
	{v1.GetCheckpointResponse{}, "checkpoint"},
	{v1.GetCommandResponse{}, "command config"},
	{v1.GetExperimentCheckpointsResponse{}, "checkpoints pagination"},
	{v1.GetExperimentResponse{}, "experiment"},
	{v1.GetExperimentTrialsResponse{}, "pagination trials"},
	{v1.GetExperimentsResponse{}, "experiments pagination"},
	{v1.GetJobsV2Response{}, "jobs pagination"},
	{v1.GetMasterConfigResponse{}, "config"},
	{v1.GetMasterResponse{}, "clusterId clusterName hasCustomLogo masterId strictJobQueueControl version"},
	{v1.GetMeResponse{}, "user"},
	{v1.GetMetricsResponse{}, "metrics"},
	{v1.GetModelDefResponse{}, "b64Tgz"},
	{v1.GetProjectResponse{}, "project"},
	{v1.GetTaskContextDirectoryResponse{}, "b64Tgz"},
	{v1.GetTaskResponse{}, "task"},
	{v1.GetTrainingMetricsResponse{}, "metrics"},
	{v1.GetProjectColumnsResponse{}, "columns"},
	{v1.GetTemplatesResponse{}, "pagination templates"},
	{v1.ProjectColumn{}, "column location type"},
	{v1.SearchExperimentExperiment{}, "experiment"},
	{v1.SearchExperimentsResponse{}, "experiments pagination"},
	{v1.Template{}, "config name workspaceId"},
	{v1.TemplateResponse{}, "template"},
	{v1.GetTrialCheckpointsResponse{}, "checkpoints pagination"},
	{v1.GetTrialResponse{}, "trial"},
	{v1.GetTrialWorkloadsResponse{}, "pagination workloads"},
	{v1.GetUserByUsernameResponse{}, "user"},
	{v1.GetUserResponse{}, "user"},
	{v1.GetValidationMetricsResponse{}, "metrics"},
	{v1.GetWorkspaceProjectsResponse{}, "pagination projects"},
	{v1.GetWorkspaceResponse{}, "workspace"},
	{v1.GetWorkspacesResponse{}, "pagination workspaces"},
	{v1.GetNotebookResponse{}, "config notebook"},
	{v1.GetShellResponse{}, "config shell"},
	{v1.GetTensorboardResponse{}, "config tensorboard"},
	{v1.LaunchNotebookResponse{}, "config notebook"},
	{v1.LaunchTensorboardResponse{}, "config tensorboard"},
	{v1.Job{}, "allocatedSlots entityId isPreemptible jobId name requestedSlots resourcePool submissionTime type username workspaceId"},
	{v1.JobSummary{}, "jobsAhead state"},
	{v1.LimitedJob{}, "allocatedSlots isPreemptible jobId requestedSlots resourcePool type workspaceId"},
	{v1.LogEntry{}, "id level message timestamp"},
	{v1.LoginResponse{}, "token user"},
	{v1.MasterLogsResponse{}, "logEntry"},
	{v1.Metrics{}, "avgMetrics"},
	{v1.MetricsReport{}, "archived endTime group id metrics totalBatches trialId trialRunId"},
	{v1.MetricsWorkload{}, "metrics numInputs totalBatches"},
	{v1.Notebook{}, "description id jobId resourcePool startTime state username workspaceId"},
	{v1.Note{}, "contents name"},
	{v1.NotifyContainerRunningResponse{}, "data"},
	{v1.PatchProjectResponse{}, "project"},
	{v1.PatchTrialResponse{}, "trial"},
	{v1.PatchUserResponse{}, "user"},
	{v1.PatchWorkspaceResponse{}, "workspace"},
	{v1.PostProjectResponse{}, "project"},
	{v1.PostWorkspaceResponse{}, "workspace"},
	{v1.Project{}, "archived errorMessage id immutable key name notes numActiveExperiments numExperiments numRuns state userId username workspaceId"},
	{v1.PutExperimentLabelResponse{}, "labels"},
	{v1.PutProjectNotesResponse{}, "notes"},
	{v1.QueueStats{}, "queuedCount scheduledCount"},
	{v1.RendezvousInfo{}, "addresses rank slots"},
	{v1.ResourcePool{}, "agentDockerImage agentDockerNetwork agentDockerRuntime agentFluentImage auxContainerCapacity auxContainerCapacityPerAgent auxContainersRunning clusterName containerStartupScript defaultAuxPool defaultComputePool description details imageId instanceType location masterCertName masterUrl maxAgentStartingPeriod maxAgents maxIdleAgentPeriod minAgents name numAgents preemptible resourceManagerMetadata schedulerFittingPolicy schedulerType slotType slotsAvailable slotsUsed startupScript type"},
	{v1.ResourcePoolPrioritySchedulerDetail{}, "defaultPriority preemption"},
	{v1.SSOProvider{}, "name ssoUrl type"},
	{v1.Shell{}, "description id jobId resourcePool startTime state username workspaceId privateKey agentUserGroup"},
	{v1.SlotStats{}, "brandStats typeStats"},
	{v1.Task{}, "allocations startTime taskId taskType"},
	{v1.TaskLogsResponse{}, "id level log message taskId timestamp"},
	{v1.Tensorboard{}, "description id jobId resourcePool startTime state username workspaceId experimentIds trialIds"},
	{v1.TrialLogsResponse{}, "id level message timestamp trialId"},
	{v1.User{}, "active admin username"},
	{v1.Workspace{}, "archived errorMessage id immutable name numExperiments numProjects pinned state userId username"},
}

func TestRequiredFields(t *testing.T) {
	for _, c := range requiredFields {
		b, err := v1.Marshal(c.message)
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatal(err)
		}
		requireKeys(t, reflect.TypeOf(c.message).Name(), m, strings.Fields(c.required)...)
	}
}

// conforms walks an answer and the type that it should be of, and reports every
// field that is always to be written and is not.
func conforms(t testing.TB, path string, v any, typ reflect.Type) {
	t.Helper()
	switch {
	case typ.Kind() == reflect.Pointer:
		if v != nil {
			conforms(t, path, v, typ.Elem())
		}
	case typ == reflect.TypeFor[time.Time]():
		if s, _ := v.(string); !strings.HasSuffix(s, "Z") {
			t.Errorf("%s: %v is not a time in UTC", path, v)
		}
	case typ == reflect.TypeFor[v1.Struct]():
		if _, ok := v.(map[string]any); !ok {
			t.Errorf("%s: %v is not an object", path, v)
		}
	case typ == reflect.TypeFor[[]byte](), typ.Kind() == reflect.Int64, typ.Kind() == reflect.String:
		if _, ok := v.(string); !ok {
			t.Errorf("%s: %v is not a string", path, v)
		}
	case typ.Kind() == reflect.Slice:
		list, ok := v.([]any)
		if !ok {
			t.Errorf("%s: %v is not a list", path, v)
		}
		for i, x := range list {
			conforms(t, fmt.Sprintf("%s[%d]", path, i), x, typ.Elem())
		}
	case typ.Kind() == reflect.Map:
		m, ok := v.(map[string]any)
		if !ok {
			t.Errorf("%s: %v is not an object", path, v)
		}
		for k, x := range m {
			conforms(t, path+"."+k, x, typ.Elem())
		}
	case typ.Kind() == reflect.Struct:
		m, ok := v.(map[string]any)
		if !ok {
			t.Errorf("%s: %v is not an object", path, v)
		}
		for i := range typ.NumField() {
			name, opts, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			x, there := m[name]
			if !there && opts != "omitempty" {
				t.Errorf("%s.%s is missing", path, name)
			}
			if there {
				conforms(t, path+"."+name, x, typ.Field(i).Type)
			}
		}
	}
}

// Every route of the table that only reads answers with its own type, on a
// cluster where there is one of everything.
func TestAnswersConform(t *testing.T) {
	r := newRig(t)
	me, admin := r.user("determined"), r.user("admin")
	r.node("n1", "node-1", 2)
	id := me.create(yaml(), `"activate":true`, `"modelDefinition":[`+modelFile("a.py", "1")+`]`)
	trial, attemptOf := r.trial(id, 0)
	r.apply(store.Changes{Placements: []store.Placement{{AllocationID: attemptOf + ".1", Members: []store.PlacedMember{{NodeID: "n1", NodeName: "node-1", SlotIDs: []int{0}}}}}})
	r.runs(attemptOf+".1", "ASSIGNED", "RUNNING")
	if _, err := r.db.BestValidation(context.Background(), id); err == nil {
		t.Fatal("a validation that nobody reported")
	}
	me.post("/api/v1/templates/admin", `{"config":{}}`).ok()
	values := map[string]string{"experiments": fmt.Sprint(id), "trials": fmt.Sprint(trial), "tasks": attemptOf, "allocations": attemptOf + ".1",
		"agents": "node-1", "users": "1", "workspaces": "1", "projects": "1"}
	for noun, id := range everyKind(t, me) {
		values[noun+"s"] = id
	}
	seen := 0
	for i := range r.api.routes {
		route := &r.api.routes[i]
		if route.method != "GET" || route.resp == nil || strings.Contains(route.path, "best_searcher") || strings.Contains(route.path, "searcher_events") || strings.Contains(route.path, "time-series") || route.access == task || route.within > slowWithin {
			continue
		}
		path := route.pathOf()
		noun := route.noun()
		if rest, ours := strings.CutPrefix(route.path, "/detent/"); ours {
			noun, _, _ = strings.Cut(rest, "/")
		}
		path = strings.NewReplacer("{id}", values[noun], "{name}", "admin", "{key}", "UNCATEGORIZED").Replace(path)
		if strings.Contains(path, "{") {
			continue
		}
		got := admin.get(path)
		if got.code != 200 {
			t.Errorf("%s: %d %s", path, got.code, got.body)
			continue
		}
		conforms(t, path, any(got.tree()), route.resp)
		seen++
	}
	if seen < 30 {
		t.Errorf("only %d routes were tried", seen)
	}
}
