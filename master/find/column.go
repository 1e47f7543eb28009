package find

import (
	"slices"
	"strings"
)

// Location is the source of a column's values.
type Location string

// The locations, in the form of the API.
const (
	Experiment      Location = "LOCATION_TYPE_EXPERIMENT"
	Hyperparameters Location = "LOCATION_TYPE_HYPERPARAMETERS"
	Validations     Location = "LOCATION_TYPE_VALIDATIONS"
	Training        Location = "LOCATION_TYPE_TRAINING"
	CustomMetric    Location = "LOCATION_TYPE_CUSTOM_METRIC"
)

// Type is the type of a column's values.
type Type string

// The types, in the form of the API.
const (
	Text   Type = "COLUMN_TYPE_TEXT"
	Number Type = "COLUMN_TYPE_NUMBER"
	Date   Type = "COLUMN_TYPE_DATE"
	Any    Type = "COLUMN_TYPE_UNSPECIFIED" // the type of each value
)

// A Column is a property by which experiments can be filtered. Name is the API's: "tags",
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
	// Words are other names that users may write.
	Words []string
	// Own is true for fields that Determined does not have.
	Own bool
}

// Fields lists the fields in the order in which the web pages offer them.
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

// The summaries of a metric.
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

// ColumnOf finds the column with a name: a field by its name or one of its other names, in
// upper or lower case; "hp.<name>"; "validation.<metric>", "training.<metric>" or
// "<group>.<metric>", optionally followed by .last (the default), .min, .max or .mean.
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

// Hyperparameter is the name of the column's hyperparameter.
func (c Column) Hyperparameter() string { return strings.TrimPrefix(c.Name, hyperparameter) }

// Metric is the group, the name and the summary (last, min, max or mean) of a metric's column.
func (c Column) Metric() (group, name, summary string) {
	group, rest, _ := strings.Cut(c.Name, ".")
	i := strings.LastIndexByte(rest, '.')
	if i < 1 || !isSummary(rest[i+1:]) {
		return group, rest, Last
	}
	return group, rest[:i], rest[i+1:]
}

// States are the displayed states of experiments. ACTIVE stands for every active state.
func States() []string {
	return []string{"ACTIVE", "QUEUED", "PULLING", "STARTING", "RUNNING", "PAUSED", "STOPPING_COMPLETED", "STOPPING_CANCELED",
		"STOPPING_KILLED", "STOPPING_ERROR", "COMPLETED", "CANCELED", "ERROR", "DELETING", "DELETE_FAILED"}
}
