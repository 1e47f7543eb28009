// Package event has what webhooks send: events, the bodies of requests with their
// signature, and which addresses may receive them. It is pure; package sender beside it
// sends.
package event

import "slices"

// Types of events, which are also the types of triggers.
const (
	StateChange = "EXPERIMENT_STATE_CHANGE"
	Threshold   = "METRIC_THRESHOLD_EXCEEDED"
	TaskLog     = "TASK_LOG"
	Custom      = "CUSTOM"
)

// Types of webhooks, which decide the form of the body.
const (
	Default = "DEFAULT"
	Slack   = "SLACK"
)

// Modes of webhooks. A webhook of mode Specific receives the events of experiments whose
// configuration names it.
const (
	Workspace = "WORKSPACE"
	Specific  = "SPECIFIC"
)

// States are the states of experiments that a trigger can have as its condition.
func States() []string { return []string{"ACTIVE", "PAUSED", "COMPLETED", "CANCELED", "ERROR"} }

// Fires reports whether a change to a state is an event.
func Fires(state string) bool { return slices.Contains(States(), state) }

// A Condition says when a trigger fires. The fields that count depend on the trigger's type.
type Condition struct {
	State  string   `json:"state,omitempty"`
	Regex  string   `json:"regex,omitempty"`
	Metric string   `json:"metric,omitempty"`
	Group  string   `json:"group,omitempty"`
	Above  *float64 `json:"above,omitempty"`
	Below  *float64 `json:"below,omitempty"`
}

// An Event is what happened, as a delivery stores it.
type Event struct {
	Type       string       `json:"event_type"`
	Timestamp  int64        `json:"timestamp"` // seconds since 1970
	Condition  Condition    `json:"condition"`
	Experiment *Experiment  `json:"experiment,omitempty"`
	TaskLog    *LogLine     `json:"task_log,omitempty"`
	Custom     *CustomData  `json:"custom_data,omitempty"`
	Metric     *MetricValue `json:"metric,omitempty"`
	Test       bool         `json:"test,omitempty"`
}

// Experiment describes the experiment of an event.
type Experiment struct {
	ID        int    `json:"id"`
	State     string `json:"state"`
	Name      string `json:"name"`
	Duration  int    `json:"duration"` // seconds
	Pool      string `json:"resource_pool"`
	Slots     int    `json:"slots_per_trial"`
	Workspace string `json:"workspace"`
	Project   string `json:"project"`
	TrialID   *int   `json:"trial_id,omitempty"`
	Unnamed   bool   `json:"unnamed,omitempty"` // the configuration names no workspace; receivers do not get this
}

// LogLine is a line of a task's log that matched a pattern.
type LogLine struct {
	TaskID string `json:"task_id"`
	Node   string `json:"node_name"`
	Line   string `json:"triggering_log"`

	// These are for Slack's text.
	TaskType     string `json:"task_type,omitempty"`
	ExperimentID int    `json:"experiment_id,omitempty"`
	TrialID      int    `json:"trial_id,omitempty"`
}

// CustomData is what a program says in an event of its own.
type CustomData struct {
	Title       string `json:"title"`
	Description string `json:"description"`
	Level       string `json:"level"` // DEBUG, INFO, …
}

// MetricValue is the report that exceeded a threshold.
type MetricValue struct {
	Name  string  `json:"name"`
	Group string  `json:"group"`
	Value float64 `json:"value"`
	Steps int     `json:"steps_completed"`
}
