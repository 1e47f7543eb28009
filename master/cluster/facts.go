package cluster

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/jobspecs"
)

// factOf returns the facts of an allocation of one of our jobs. ok is false if its group is
// not a member: then somebody has edited the job.
func factOf(a *api.AllocationListStub, allocationID string) (fact TaskFact, ok bool) {
	rank, ok := jobspecs.RankOf(a.TaskGroup)
	if !ok {
		return TaskFact{}, false
	}
	fact = TaskFact{
		AllocationID: allocationID, Rank: rank, NomadAllocID: a.ID, NodeID: a.NodeID, NodeName: a.NodeName,
		Status: a.ClientStatus, Desired: a.DesiredStatus, Index: a.ModifyIndex, CreateIndex: a.CreateIndex,
	}
	main := a.TaskStates[jobspecs.MainTask]
	if main == nil {
		fact.Detail = describe(a)
		return fact, true
	}
	fact.Started = !main.StartedAt.IsZero()
	fact.Pulling = !fact.Started && !fact.Over() && pulling(main.Events)
	for _, e := range main.Events {
		if e.Type == api.TaskTerminated {
			fact.ExitCode = new(e.ExitCode)
		}
	}
	fact.Detail = cmp.Or(detail(main.Events), describe(a))
	return fact, true
}

// describe is Nomad's description of an allocation without task events.
func describe(a *api.AllocationListStub) string {
	switch {
	case a.ClientDescription != "" && (a.ClientStatus == api.AllocClientStatusLost || a.ClientStatus == api.AllocClientStatusFailed || a.ClientStatus == api.AllocClientStatusUnknown):
		return a.ClientDescription
	case a.DesiredStatus != api.AllocDesiredStatusRun:
		return a.DesiredDescription
	default:
		return ""
	}
}

// pulling reports whether the last step that began is the download of an artifact or image.
func pulling(events []*api.TaskEvent) bool {
	for i := len(events) - 1; i >= 0; i-- {
		switch e := events[i]; e.Type {
		case api.TaskDownloadingArtifacts:
			return true
		case api.TaskDriverMessage: // docker reports the download of an image like this
			return strings.Contains(strings.ToLower(e.DisplayMessage+e.DriverMessage), "download")
		}
	}
	return false
}

// failures are the events that say why a task did not start or did not continue.
var failures = map[string]bool{
	api.TaskSetupFailure: true, api.TaskDriverFailure: true, api.TaskFailedValidation: true,
	api.TaskArtifactDownloadFailed: true, api.TaskSiblingFailed: true, "Failed Template": true,
	"Template": true, "Secrets Failure": true, "Exceeded Task Setup": true,
}

// detail is the text of the most informative event: the last failure, else how the process
// ended, else the current step.
func detail(events []*api.TaskEvent) string {
	failure, end, last := "", "", ""
	for _, e := range events {
		text := eventText(e)
		switch {
		case failures[e.Type]:
			failure = e.Type + ": " + text
		case e.Type == api.TaskTerminated:
			end = text
			if e.Details["oom_killed"] == "true" {
				end += ", killed because the node's memory ran out"
			}
			if s := e.Details["signal"]; s != "" && s != "0" {
				end += ", by signal " + s
			}
		case e.Type == api.TaskDriverMessage || e.Type == api.TaskDownloadingArtifacts || e.Type == api.TaskKilling:
			last = text
		case e.Type == api.TaskStarted:
			last = ""
		}
	}
	return cmp.Or(failure, end, last)
}

func eventText(e *api.TaskEvent) string {
	if text := cmp.Or(e.DisplayMessage, e.Message, e.DriverError, e.DriverMessage); text != "" {
		return oneLine(text)
	}
	if e.ExitCode != 0 {
		return fmt.Sprintf("exit code %d", e.ExitCode)
	}
	return ""
}
