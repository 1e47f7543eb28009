package task

import (
	"fmt"

	"github.com/detent-ml/detent/jobspecs"
)

// ProxyPath is the path of a task's pages on the master.
func ProxyPath(task string) string { return "/proxy/" + task + "/" }

// links returns the links of an attempt's job in Nomad's UI: to the master's pages of its
// experiment and trial, or to the task itself if a browser can open it, and to its log.
func (s *Site) links(a *Attempt) []jobspecs.Link {
	experiment := fmt.Sprintf("%s/det/experiments/%d", s.PublicURL, a.ExperimentID)
	switch {
	case a.ExperimentID != 0 && a.TrialID != 0:
		return []jobspecs.Link{
			{Label: fmt.Sprintf("Experiment %d", a.ExperimentID), URL: experiment},
			{Label: fmt.Sprintf("Trial %d", a.TrialID), URL: fmt.Sprintf("%s/trials/%d", experiment, a.TrialID)},
		}
	case a.ExperimentID != 0:
		return []jobspecs.Link{{Label: fmt.Sprintf("Experiment %d", a.ExperimentID), URL: experiment}}
	}
	list := []jobspecs.Link{{Label: "The task and its log", URL: s.PublicURL + "/det/tasks/" + a.TaskID}}
	if a.Type == Notebook || a.Type == Tensorboard {
		list = append([]jobspecs.Link{{Label: "Open it", URL: s.PublicURL + ProxyPath(a.TaskID)}}, list...)
	}
	return list
}
