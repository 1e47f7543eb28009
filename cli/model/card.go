package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"

	"github.com/goccy/go-yaml"

	"github.com/detent-ml/detent/cli/internal/pack"
	"github.com/detent-ml/detent/cli/internal/render"
	"github.com/detent-ml/detent/master/v1"
)

// cardText is a model card as others write it: facts for programs first, as YAML, then what a
// person wants to know. Notes come last, because they may have headings of their own.
var cardText = template.Must(template.New("card").Parse(`---
{{.Front}}---

# {{.Name}}, version {{.V.Version}}
{{range .Texts}}
{{.}}
{{end}}
## Where it comes from

| | |
|---|---|
{{range .Facts}}| {{.Name}} | {{.Value}} |
{{end}}{{range .Sections}}
## {{.Title}}

| | |
|---|---|
{{range .Rows}}| {{.Name}} | {{.Value}} |
{{end}}{{end}}{{range .Notes}}
## {{.Title}}

{{.Text}}
{{end}}`))

type (
	pair    struct{ Name, Value string }
	section struct {
		Title string
		Rows  []pair
	}
	note struct{ Title, Text string }
)

// front is the card's part for programs.
type front struct {
	Name       string         `yaml:"model_name"`
	Version    int            `yaml:"version"`
	Tags       []string       `yaml:"tags,omitempty"`
	Checkpoint string         `yaml:"checkpoint"`
	Experiment *int           `yaml:"experiment,omitempty"`
	Trial      *int           `yaml:"trial,omitempty"`
	Metrics    map[string]any `yaml:"metrics,omitempty"`
}

// card is the README.md of an exported version.
func card(v v1.ModelVersion) ([]byte, error) {
	k := v.Checkpoint
	metrics := map[string]any{}
	if k.Training.ValidationMetrics != nil {
		if err := k.Training.ValidationMetrics.AvgMetrics.Into(&metrics); err != nil {
			return nil, err
		}
	}
	tags := slices.Concat(v.Model.Labels, v.Labels)
	slices.Sort(tags)
	head, err := yaml.Marshal(front{Name: v.Model.Name, Version: v.Version, Tags: slices.Compact(tags), Checkpoint: k.UUID,
		Experiment: k.Training.ExperimentID, Trial: k.Training.TrialID, Metrics: metrics})
	if err != nil {
		return nil, err
	}
	data := map[string]any{"Front": string(head), "V": v, "Name": line(v.Model.Name), "Texts": written(v.Model.Description, v.Comment), "Facts": facts(v)}
	var sections []section
	for title, raw := range map[string]v1.Struct{"Hyperparameters": k.Training.HParams, "Metadata of the checkpoint": k.Metadata,
		"Metadata of the version": v.Metadata, "Metadata of the model": v.Model.Metadata} {
		if rows, err := fields(raw); err != nil {
			return nil, err
		} else if len(rows) > 0 {
			sections = append(sections, section{title, rows})
		}
	}
	if len(metrics) > 0 {
		sections = append(sections, section{"Validation", pairs(metrics)})
	}
	slices.SortFunc(sections, func(a, b section) int { return strings.Compare(a.Title, b.Title) })
	data["Sections"] = append(sections, files(k))
	var notes []note
	for _, n := range []note{{"Notes about this version", v.Notes}, {"Notes about the model", v.Model.Notes}} {
		if strings.TrimSpace(n.Text) != "" {
			notes = append(notes, n)
		}
	}
	data["Notes"] = notes
	var b bytes.Buffer
	err = cardText.Execute(&b, data)
	return b.Bytes(), err
}

// written are the description and the notes that users wrote.
func written(texts ...string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return strings.TrimSpace(s) == "" })
}

func facts(v v1.ModelVersion) []pair {
	k := v.Checkpoint
	list := []pair{{"checkpoint", "`" + k.UUID + "`"}}
	if k.Training.ExperimentID != nil {
		list = append(list, pair{"experiment", fmt.Sprint(*k.Training.ExperimentID)})
	}
	if k.Training.TrialID != nil {
		list = append(list, pair{"trial", fmt.Sprint(*k.Training.TrialID)})
	}
	if steps := render.StepsCompleted(k); steps != nil {
		list = append(list, pair{"batches", fmt.Sprint(steps)})
	}
	if v.Name != "" {
		list = append(list, pair{"name of the version", line(v.Name)})
	}
	return append(list, pair{"registered by", line(v.Username)}, pair{"registered", v.CreationTime.UTC().Format("2006-01-02 15:04:05 MST")})
}

func files(k v1.Checkpoint) section {
	s := section{Title: "Files"}
	for _, name := range slices.Sorted(maps.Keys(k.Resources)) {
		if !strings.HasSuffix(name, "/") {
			s.Rows = append(s.Rows, pair{"`checkpoint/" + line(name) + "`", pack.Size(k.Resources[name])})
		}
	}
	return s
}

// fields has the fields of an object, one in a row.
func fields(raw v1.Struct) ([]pair, error) {
	object, err := raw.Map()
	return pairs(object), err
}

func pairs(object map[string]any) []pair {
	var rows []pair
	for _, name := range slices.Sorted(maps.Keys(object)) {
		text, err := json.Marshal(object[name])
		if err != nil { // it was JSON a moment ago
			continue
		}
		rows = append(rows, pair{line(name), line(string(text))})
	}
	return rows
}

// line makes a text fit for a cell of a table, or a heading.
func line(s string) string {
	return strings.NewReplacer("\r", " ", "\n", " ", "|", `\|`).Replace(s)
}
