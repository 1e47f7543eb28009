package server

import (
	"fmt"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/store"
)

// links lead from an attempt's job in Nomad's UI to where people look at it: the pages
// of its experiment and trial, or the task itself where a browser can open it, and the
// page with its log.
func links(url string, s store.ToSubmit) []jobspecs.Link {
	switch {
	case s.ExperimentID != nil && s.TrialID != nil:
		experiment := fmt.Sprintf("%s/det/experiments/%d", url, *s.ExperimentID)
		return []jobspecs.Link{
			{Label: fmt.Sprintf("Experiment %d", *s.ExperimentID), URL: experiment},
			{Label: fmt.Sprintf("Trial %d", *s.TrialID), URL: fmt.Sprintf("%s/trials/%d", experiment, *s.TrialID)},
		}
	case s.ExperimentID != nil:
		return []jobspecs.Link{{Label: fmt.Sprintf("Experiment %d", *s.ExperimentID), URL: fmt.Sprintf("%s/det/experiments/%d", url, *s.ExperimentID)}}
	}
	list := []jobspecs.Link{{Label: "The task and its log", URL: url + "/det/tasks/" + s.TaskID}}
	if s.TaskType == "NOTEBOOK" || s.TaskType == "TENSORBOARD" {
		list = append([]jobspecs.Link{{Label: "Open it", URL: url + "/proxy/" + s.TaskID + "/"}}, list...)
	}
	return list
}
