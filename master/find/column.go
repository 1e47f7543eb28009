package find

import (
	"slices"
	"strings"
)

// Location is where a column's values come from.
type Location string

// The locations, as the wire has them.
const (
	Experiment      Location = "LOCATION_TYPE_EXPERIMENT"
	Hyperparameters Location = "LOCATION_TYPE_HYPERPARAMETERS"
	Validations     Location = "LOCATION_TYPE_VALIDATIONS"
	Training        Location = "LOCATION_TYPE_TRAINING"
	CustomMetric    Location = "LOCATION_TYPE_CUSTOM_METRIC"
)

// Type is what a column's values are.
type Type string

// The types, as the wire has them.
const (
	Text   Type = "COLUMN_TYPE_TEXT"
	Number Type = "COLUMN_TYPE_NUMBER"
	Date   Type = "COLUMN_TYPE_DATE"
	Any    Type = "COLUMN_TYPE_UNSPECIFIED" // as its value is
)

// A Column is something that can be asked about. Name is the wire's: "tags",
// "hp.lr", "validation.accuracy.last".
type Column struct {
	Location Location
	Name     string
	Type     Type
}

// A Field is a column that every experiment has.
type Field struct {
	Name  string
	Title string
	Type  Type
	// Words are what users may call it, beside its name.
	Words []string
	// Own is true for those that Determined does not have.
	Own bool
}

// Fields lists them in the order in which they are offered.
func Fields() []Field {
	return []Field{
		{Name: "id", Title: "ID", Type: Number},
		{Name: "name", Title: "Name", Type: Text},
		{Name: "description", Title: "Description", Type: Text},
		{Name: "tags", Title: "Tags", Type: Text, Words: []string{"tag", "label", "labels"}},
		{Name: "forkedFrom", Title: "Forked", Type: Number, Words: []string{"parent"}},
		{Name: "startTime", Title: "Start time", Type: Date, Words: []string{"started", "start"}},
		{Name: "endTime", Title: "End time", Type: Date, Words: []string{"ended", "end"}},
		{Name: "duration", Title: "Duration", Type: Number},
		{Name: "numTrials", Title: "Trial count", Type: Number, Words: []string{"trials"}},
		{Name: "state", Title: "State", Type: Text},
		{Name: "searcherType", Title: "Searcher", Type: Text, Words: []string{"searcher"}},
		{Name: "resourcePool", Title: "Resource pool", Type: Text, Words: []string{"pool"}},
		{Name: "progress", Title: "Progress", Type: Number},
		{Name: "checkpointSize", Title: "Checkpoint size", Type: Number},
		{Name: "checkpointCount", Title: "Checkpoints", Type: Number, Words: []string{"checkpoints"}},
		{Name: "user", Title: "User", Type: Text, Words: []string{"owner"}},
		{Name: "searcherMetric", Title: "Searcher metric", Type: Text},
		{Name: "searcherMetricsVal", Title: "Searcher metric value", Type: Number, Words: []string{"metric", "best"}},
		{Name: "externalExperimentId", Title: "External experiment ID", Type: Text},
		{Name: "projectId", Title: "Project ID", Type: Number},
		{Name: "project", Title: "Project", Type: Text, Own: true},
		{Name: "workspace", Title: "Workspace", Type: Text, Own: true},
		{Name: "archived", Title: "Archived", Type: Text, Own: true},
		{Name: "template", Title: "Template", Type: Text, Own: true},
	}
}

// What a summary of a metric knows of it.
const (
	Last = "last"
	Min  = "min"
	Max  = "max"
	Mean = "mean"
)

func isSummary(word string) bool {
	return word == Last || word == Min || word == Max || word == Mean
}

const hyperparameter = "hp."

// ColumnOf finds the column that a name means: a field by its name or one of
// its other words, in any case; "hp.<name>"; "validation.<metric>",
// "training.<metric>" or "<group>.<metric>", each with .last, .min, .max or .mean
// after it, or without for the last.
func ColumnOf(name string) (Column, bool) {
	if f, ok := fieldOf(name); ok {
		return Column{Experiment, f.Name, f.Type}, true
	}
	if rest, ok := strings.CutPrefix(name, hyperparameter); ok && rest != "" {
		return Column{Hyperparameters, name, Any}, true
	}
	group, rest, ok := strings.Cut(name, ".")
	if !ok || group == "" || rest == "" {
		return Column{}, false
	}
	c := Column{CustomMetric, name, Any}
	switch group {
	case "validation", "val":
		c.Location, c.Name = Validations, "validation."+rest
	case "training", "train":
		c.Location, c.Name = Training, "training."+rest
	}
	if i := strings.LastIndexByte(rest, '.'); i < 1 || !isSummary(rest[i+1:]) {
		c.Name += "." + Last
	}
	return c, true
}

func fieldOf(name string) (Field, bool) {
	plain := strings.ReplaceAll(name, "_", "")
	for _, f := range Fields() {
		if strings.EqualFold(f.Name, plain) || slices.ContainsFunc(f.Words, func(w string) bool { return strings.EqualFold(w, plain) }) {
			return f, true
		}
	}
	return Field{}, false
}

// Hyperparameter is the name of the hyperparameter that a column is about.
func (c Column) Hyperparameter() string { return strings.TrimPrefix(c.Name, hyperparameter) }

// Metric is the group, the name and the summary (last, min, max or mean) that a
// column of a metric is about.
func (c Column) Metric() (group, name, summary string) {
	group, rest, _ := strings.Cut(c.Name, ".")
	i := strings.LastIndexByte(rest, '.')
	if i < 1 || !isSummary(rest[i+1:]) {
		return group, rest, Last
	}
	return group, rest[:i], rest[i+1:]
}

// States are the states that an experiment is shown in. ACTIVE stands for
// whatever an active one is.
func States() []string {
	return []string{"ACTIVE", "QUEUED", "PULLING", "STARTING", "RUNNING", "PAUSED", "STOPPING_COMPLETED", "STOPPING_CANCELED",
		"STOPPING_KILLED", "STOPPING_ERROR", "COMPLETED", "CANCELED", "ERROR", "DELETING", "DELETE_FAILED"}
}
