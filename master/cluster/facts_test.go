package cluster

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
)

// TestFactOf reads allocations in the states in which Nomad shows them.
func TestFactOf(t *testing.T) {
	started := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	event := func(kind, text string) *api.TaskEvent { return &api.TaskEvent{Type: kind, DisplayMessage: text} }
	ended := func(code int, details map[string]string) *api.TaskEvent {
		return &api.TaskEvent{Type: api.TaskTerminated, ExitCode: code, DisplayMessage: "Exit Code: 9", Details: details}
	}
	nine := 9
	tests := []struct {
		name  string
		alloc api.AllocationListStub
		main  *api.TaskState
		want  TaskFact
	}{
		{"placed, unseen by its client", api.AllocationListStub{ClientStatus: "pending"}, nil, TaskFact{Status: "pending"}},
		{"fetching", api.AllocationListStub{ClientStatus: "pending"},
			&api.TaskState{Events: []*api.TaskEvent{event(api.TaskReceived, "Task received by client"), event(api.TaskDownloadingArtifacts, "Client is downloading artifacts")}},
			TaskFact{Status: "pending", Pulling: true, Detail: "Client is downloading artifacts"}},
		{"pulling an image", api.AllocationListStub{ClientStatus: "pending"},
			&api.TaskState{Events: []*api.TaskEvent{event(api.TaskDriverMessage, "Downloading image")}},
			TaskFact{Status: "pending", Pulling: true, Detail: "Downloading image"}},
		{"running", api.AllocationListStub{ClientStatus: "running"},
			&api.TaskState{StartedAt: started, Events: []*api.TaskEvent{event(api.TaskDownloadingArtifacts, "Client is downloading artifacts"), event(api.TaskStarted, "Task started by client")}},
			TaskFact{Status: "running", Started: true}},
		{"out of memory", api.AllocationListStub{ClientStatus: "failed"},
			&api.TaskState{StartedAt: started, Events: []*api.TaskEvent{ended(9, map[string]string{"oom_killed": "true", "signal": "9"}), event(api.TaskNotRestarting, "Policy allows no restarts")}},
			TaskFact{Status: "failed", Started: true, ExitCode: &nine, Detail: "Exit Code: 9, killed because the node's memory ran out, by signal 9"}},
		{"could not be fetched", api.AllocationListStub{ClientStatus: "failed"},
			&api.TaskState{Events: []*api.TaskEvent{event(api.TaskDownloadingArtifacts, "Client is downloading artifacts"),
				event(api.TaskArtifactDownloadFailed, "failed to download artifact:\n  connection refused"), event(api.TaskNotRestarting, "Policy allows no restarts")}},
			TaskFact{Status: "failed", Detail: "Failed Artifact Download: failed to download artifact: connection refused"}},
		{"lost", api.AllocationListStub{ClientStatus: "lost", ClientDescription: "alloc is lost since its node is down", DesiredStatus: "stop"},
			&api.TaskState{StartedAt: started, Events: []*api.TaskEvent{event(api.TaskStarted, "Task started by client")}},
			TaskFact{Status: "lost", Started: true, Desired: "stop", Detail: "alloc is lost since its node is down"}},
		{"stopped before it began", api.AllocationListStub{ClientStatus: "complete", DesiredStatus: "stop", DesiredDescription: "alloc not needed due to job update"}, nil,
			TaskFact{Status: "complete", Desired: "stop", Detail: "alloc not needed due to job update"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := test.alloc
			a.ID, a.TaskGroup, a.NodeID, a.NodeName, a.CreateIndex, a.ModifyIndex = "a1", "rank-3", "id1", "n1", 5, 7
			if a.DesiredStatus == "" {
				a.DesiredStatus, test.want.Desired = "run", "run"
			}
			if test.main != nil {
				a.TaskStates = map[string]*api.TaskState{"main": test.main}
			}
			want := test.want
			want.AllocationID, want.Rank, want.NomadAllocID, want.NodeID, want.NodeName, want.CreateIndex, want.Index = "x.1", 3, "a1", "id1", "n1", 5, 7
			got, ok := factOf(&a, "x.1")
			if diff := cmp.Diff(want, got); diff != "" || !ok {
				t.Errorf("ok %v\n%s", ok, diff)
			}
		})
	}
	if _, ok := factOf(&api.AllocationListStub{TaskGroup: "web"}, "x.1"); ok {
		t.Error("factOf accepts a group that is not a member")
	}
}

func TestLink(t *testing.T) {
	facts := []TaskFact{
		{AllocationID: "x", Rank: 0, NomadAllocID: "c", CreateIndex: 9},
		{AllocationID: "x", Rank: 0, NomadAllocID: "a", CreateIndex: 1},
		{AllocationID: "x", Rank: 1, NomadAllocID: "b", CreateIndex: 1},
		{AllocationID: "y", Rank: 0, NomadAllocID: "e", CreateIndex: 4, Previous: "long gone"},
		{AllocationID: "x", Rank: 0, NomadAllocID: "d", CreateIndex: 5},
	}
	link(facts)
	got := map[string]string{}
	for _, f := range facts {
		got[f.NomadAllocID] = f.Previous
	}
	want := map[string]string{"a": "", "b": "", "c": "d", "d": "a", "e": "long gone"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOneLine(t *testing.T) {
	tests := map[string]string{
		"Permission denied": "Permission denied",
		"1 error occurred:\n\t* job \"x\" is in nonexistent namespace \"y\"\n\n":                                               `job "x" is in nonexistent namespace "y"`,
		"2 errors occurred:\n\t* Missing job ID\n\t* Missing region\n":                                                         "Missing job ID; Missing region",
		"1 error occurred:\n\t* Constraint 1 validation failed: 1 error occurred:\n\t* Unknown constraint type \"like\"\n\n\n": `Constraint 1 validation failed: Unknown constraint type "like"`,
		"": "",
	}
	for in, want := range tests {
		if got := oneLine(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func TestWhyNotPlaced(t *testing.T) {
	tests := []struct {
		metric *api.AllocationMetric
		want   string
	}{
		{nil, "it gives no reason"},
		{&api.AllocationMetric{DimensionExhausted: map[string]int{"memory": 1, "cpu": 1}}, "cpu is exhausted, memory is exhausted"},
		{&api.AllocationMetric{ConstraintFiltered: map[string]int{"${node.unique.id} = n1": 4, "${attr.cpu.arch} = arm64": 1}}, `constraint "${attr.cpu.arch} = arm64" is not met`},
		{&api.AllocationMetric{ConstraintFiltered: map[string]int{"${node.unique.id} = n1": 4}}, "the node is not ready, or not in the datacenter or node pool of the job"},
		{&api.AllocationMetric{QuotaExhausted: []string{"memory"}}, "quota is exhausted: memory"},
	}
	for _, test := range tests {
		if got := whyNotPlaced(test.metric); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
