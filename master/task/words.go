package task

import (
	"fmt"
	"strings"

	"github.com/detent-ml/detent/master/fault"
)

// Called returns the name by which clients of Determined know an attempt.
func Called(kind, taskID, name string, experiment, trial int) string {
	switch {
	case trial != 0:
		return fmt.Sprintf("Trial %d (Experiment %d)", trial, experiment)
	case kind == Removal && experiment != 0:
		return fmt.Sprintf("Checkpoint GC (Experiment %d)", experiment)
	case kind == Generic:
		return "Generic Task " + taskID
	}
	return name
}

// called is the name of the attempt.
func (a *Attempt) called() string {
	return Called(a.Type, a.TaskID, a.Name, a.ExperimentID, a.TrialID)
}

// opening returns the first lines of an attempt's log, with the words of Determined's master,
// for which scripts search logs. Only the first member's log has them.
func opening(a *Attempt, m *Claimed) string {
	if m.Rank != 0 {
		return ""
	}
	name := a.called()
	lines := []string{fmt.Sprintf("Scheduling %s (id: %s)", name, a.ID), name + " was assigned to an agent", "Resources for " + name + " have started"}
	if again := begins(a, m); again != "" {
		lines = append(lines, again)
	}
	if a.IsTrial() && a.Experiment != nil {
		lines = append(lines, runnerLine(a, m), "Validating checkpoint storage ...")
	}
	return strings.Join(lines, "\n")
}

// maxConfigInLog is how much of a configuration a log shows at each start of a trial.
const maxConfigInLog = 64 << 10

// runnerLine is the line by which scripts count the starts of a trial. Everybody who sees the experiment may read its log.
func runnerLine(a *Attempt, m *Claimed) string {
	config, err := a.Experiment.Shown(false)
	if err != nil {
		config = []byte(`{}`)
	}
	return fmt.Sprintf("New trial runner in (container %s) on agent %s: %s", m.NomadAllocID, m.NodeName, fault.ClipTo(string(config), maxConfigInLog))
}
