package find

import (
	"slices"
	"strings"
)

// A Table is a list that users search. It decides which columns there are.
type Table int

// The tables.
const (
	Experiments Table = iota
	Runs              // the trials of all experiments, each a row
)

// Location is where a column's values come from.
type Location string

// The locations, in the form of the API.
const (
	Experiment      Location = "LOCATION_TYPE_EXPERIMENT"
	Hyperparameters Location = "LOCATION_TYPE_HYPERPARAMETERS"
	Validations     Location = "LOCATION_TYPE_VALIDATIONS"
	Training        Location = "LOCATION_TYPE_TRAINING"
	CustomMetric    Location = "LOCATION_TYPE_CUSTOM_METRIC"

	Run                Location = "LOCATION_TYPE_RUN"
	RunHyperparameters Location = "LOCATION_TYPE_RUN_HYPERPARAMETERS"
	RunMetadata        Location = "LOCATION_TYPE_RUN_METADATA"
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

// own is the location of the columns that every row of a table has.
func (t Table) own() Location {
	if t == Runs {
		return Run
	}
	return Experiment
}

// hyperparameters is the location of a table's hyperparameters.
func (t Table) hyperparameters() Location {
	if t == Runs {
		return RunHyperparameters
	}
	return Hyperparameters
}

// locations are those that a table's columns can have.
func (t Table) locations() []Location {
	list := []Location{t.own(), t.hyperparameters(), Validations, Training, CustomMetric}
	if t == Runs {
		list = append(list, RunMetadata)
	}
	return list
}

// A Field is a column that every row of a table has.
type Field struct {
	Name  string
	Title string
	Type  Type
	// Words are other names that users may write.
	Words []string
	// Own is true for fields that Determined does not have.
	Own bool
	// Flag is true for fields of Determined's whose values are true and false. Their type in the API is Any.
	Flag bool
}

// Fields lists them in the order in which they are offered.
func (t Table) Fields() []Field {
	if t == Runs {
		return runFields()
	}
	return experimentFields()
}

func experimentFields() []Field {
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

func runFields() []Field {
	return []Field{
		{Name: "id", Title: "Global Run ID", Type: Number, Words: []string{"run", "trial"}},
		{Name: "experimentDescription", Title: "Search Description", Type: Text, Words: []string{"description"}},
		{Name: "tags", Title: "Tags", Type: Text, Words: []string{"tag", "label", "labels"}},
		{Name: "forkedFrom", Title: "Forked", Type: Number, Words: []string{"parent"}},
		{Name: "startTime", Title: "Start Time", Type: Date, Words: []string{"started", "start"}},
		{Name: "endTime", Title: "End Time", Type: Date, Words: []string{"ended", "end"}},
		{Name: "duration", Title: "Duration", Type: Number},
		{Name: "state", Title: "State", Type: Text},
		{Name: "searcherType", Title: "Searcher", Type: Text, Words: []string{"searcher"}},
		{Name: "resourcePool", Title: "Resource Pool", Type: Text, Words: []string{"pool"}},
		{Name: "checkpointSize", Title: "Checkpoint Size", Type: Number},
		{Name: "checkpointCount", Title: "Checkpoints", Type: Number, Words: []string{"checkpoints"}},
		{Name: "user", Title: "User", Type: Text, Words: []string{"owner"}},
		{Name: "searcherMetric", Title: "Searcher Metric", Type: Text},
		{Name: "searcherMetricsVal", Title: "Searcher Metric Value", Type: Number, Words: []string{"metric", "best"}},
		{Name: "externalExperimentId", Title: "External Experiment ID", Type: Text},
		{Name: "projectId", Title: "Project ID", Type: Number},
		{Name: "externalRunId", Title: "External Run ID", Type: Text},
		{Name: "experimentProgress", Title: "Search Progress", Type: Number, Words: []string{"progress"}},
		{Name: "experimentId", Title: "Search ID", Type: Number, Words: []string{"experiment", "search"}},
		{Name: "experimentName", Title: "Search Name", Type: Text, Words: []string{"name"}},
		{Name: "isExpMultitrial", Title: "Part of Search", Type: Text, Flag: true},
		{Name: "parentArchived", Title: "Parent Archived", Type: Text, Flag: true},
		{Name: "localId", Title: "Run ID", Type: Text},
		{Name: "earlierIds", Title: "Earlier Run IDs", Type: Text, Own: true},
		{Name: "project", Title: "Project", Type: Text, Own: true},
		{Name: "workspace", Title: "Workspace", Type: Text, Own: true},
		{Name: "archived", Title: "Archived", Type: Text, Own: true},
	}
}

// The values of a metric that its summary has.
const (
	Last = "last"
	Min  = "min"
	Max  = "max"
	Mean = "mean"
)

func isSummary(word string) bool {
	return word == Last || word == Min || word == Max || word == Mean
}

// What the names of hyperparameters and of a run's metadata begin with.
const (
	hyperparameter = "hp."
	metadata       = "metadata."
)

// ColumnOf finds the column that a name means: a field by its name or one of
// its other words, in any case; "hp.<name>"; "validation.<metric>",
// "training.<metric>" or "<group>.<metric>", each with .last, .min, .max or .mean
// after it, or without for the last; and, of runs, "metadata.<key>".
func (t Table) ColumnOf(name string) (Column, bool) {
	if f, ok := t.fieldOf(name); ok {
		return Column{t.own(), f.Name, f.Type}, true
	}
	if rest, ok := strings.CutPrefix(name, hyperparameter); ok && rest != "" {
		return Column{t.hyperparameters(), name, Any}, true
	}
	if rest, ok := strings.CutPrefix(name, metadata); ok && rest != "" && t == Runs {
		return Column{RunMetadata, name, Any}, true
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

func (t Table) fieldOf(name string) (Field, bool) {
	plain := strings.ReplaceAll(name, "_", "")
	for _, f := range t.Fields() {
		if strings.EqualFold(f.Name, plain) || slices.ContainsFunc(f.Words, func(w string) bool { return strings.EqualFold(w, plain) }) {
			return f, true
		}
	}
	return Field{}, false
}

// IsField reports whether every row of the column's table has it.
func (c Column) IsField() bool { return c.Location == Experiment || c.Location == Run }

// Hyperparameter is the name of the hyperparameter that a column is about.
func (c Column) Hyperparameter() string { return strings.TrimPrefix(c.Name, hyperparameter) }

// Metadata is the key of a run's metadata that a column is about.
func (c Column) Metadata() string { return strings.TrimPrefix(c.Name, metadata) }

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

// States are the displayed states of experiments. ACTIVE stands for every active state.
func States() []string {
	return []string{"ACTIVE", "QUEUED", "PULLING", "STARTING", "RUNNING", "PAUSED", "STOPPING_COMPLETED", "STOPPING_CANCELED",
		"STOPPING_KILLED", "STOPPING_ERROR", "COMPLETED", "CANCELED", "ERROR", "DELETING", "DELETE_FAILED"}
}
