package mlflow

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Bounds of what a program writes about a run: MLflow's for one name and value, ours for all of a run.
const (
	maxName     = 250       // bytes
	maxParam    = 6000      // characters
	maxTag      = 8000      // characters
	maxNames    = 2000      // parameters of a run, and tags
	maxInputs   = 50        // data sets
	maxMarks    = 512 << 10 // bytes of all marks of a run
	maxOfBatch  = 100       // parameters in a request, and tags
	maxOfValues = 1000      // metrics in a request
)

// marks is what programs have written about a run with MLflow's client: the value under the key mlflow of its metadata.
type marks struct {
	Params map[string]string `json:"params,omitempty"`
	Tags   map[string]string `json:"tags,omitempty"`
	// Earlier has the parameters of earlier attempts of a trial that a later one has changed, by the number of the attempt before.
	Earlier map[string]map[string]string `json:"earlier_params,omitempty"`
	Inputs  []v1.MLflowInput             `json:"inputs,omitempty"`
}

// readMarks reads the marks in the metadata of a run.
func readMarks(metadata []byte) (m marks, err error) {
	var all struct {
		MLflow marks `json:"mlflow"`
	}
	if len(metadata) > 0 {
		err = json.Unmarshal(metadata, &all)
	}
	if _, wrong := errors.AsType[*json.UnmarshalTypeError](err); wrong { // a program has stored something else there itself
		err = nil
	}
	return all.MLflow, err
}

// A change is what one request changes of the marks of a run.
type change struct {
	params, tags map[string]string
	drop         string // a tag
	inputs       []v1.MLflowInput
}

func (ch change) empty() bool {
	return len(ch.params) == 0 && len(ch.tags) == 0 && ch.drop == "" && len(ch.inputs) == 0
}

func (ch change) size() (n int) {
	for _, m := range []map[string]string{ch.params, ch.tags} {
		for k, v := range m {
			n += len(k) + len(v)
		}
	}
	for _, in := range ch.inputs {
		n += len(in.Dataset.Source) + len(in.Dataset.Schema) + len(in.Dataset.Profile)
	}
	return n
}

// mark changes the marks of a run.
func (d Deps) mark(ctx context.Context, c *rest.Call, r Run, ch change) error {
	if ch.empty() {
		return nil
	}
	if !c.Who().IsTask() {
		if err := d.Admit(ctx, r.OwnerID, int64(ch.size())); err != nil {
			return err
		}
	}
	return d.DB.Tx(ctx, func(tx *database.DB) error {
		was, err := lockMarks(ctx, tx, r.ID)
		if err == nil {
			err = replaced(c.Who(), r.ID, was.RunID)
		}
		if err != nil {
			return err
		}
		m, err := readMarks(was.Metadata)
		if err != nil {
			return err
		}
		changed, err := m.apply(ch, r.ID, was.RunID)
		if err != nil || !changed {
			return err
		}
		return storeMarks(ctx, tx, r.ID, m)
	})
}

// replaced fails if the caller is an attempt of a trial that a newer one has replaced.
func replaced(who auth.Who, run, newest int) error {
	if who.TrialID != run || who.RunID >= newest {
		return nil
	}
	return fault.New(fault.Conflict, "run %d of trial %d has ended and run %d has replaced it: reports of run %[1]d are rejected", who.RunID, run, newest)
}

// apply changes marks, and reports whether anything is different now. A parameter has one value in an attempt, as in MLflow. A later
// attempt of a trial begins with the same program, which may compute another value of what it logs: then the new value counts, and the
// earlier one is kept.
func (m *marks) apply(ch change, run, attempt int) (changed bool, err error) {
	for key, value := range ch.params {
		was, there := m.Params[key]
		switch {
		case there && was == value:
			continue
		case there && attempt < 2:
			return false, fault.New(fault.Invalid, "Changing param values is not allowed. Param with key='%s' was already logged with value='%s' for run ID='%d'. Attempted logging new value '%s'.",
				fault.Clip(key), fault.Clip(was), run, fault.Clip(value))
		case there:
			before := strconv.Itoa(attempt - 1)
			if _, kept := m.Earlier[before][key]; !kept {
				m.Earlier = set(m.Earlier, before, set(m.Earlier[before], key, was))
			}
		}
		m.Params, changed = set(m.Params, key, value), true
	}
	for key, value := range ch.tags {
		if was, there := m.Tags[key]; !there || was != value {
			m.Tags, changed = set(m.Tags, key, value), true
		}
	}
	if ch.drop != "" {
		if _, there := m.Tags[ch.drop]; !there {
			return false, fault.New(fault.NotFound, "No tag with name: %s in run with id %d", fault.Clip(ch.drop), run)
		}
		delete(m.Tags, ch.drop)
		changed = true
	}
	for _, in := range ch.inputs {
		if m.reads(in.Dataset) {
			continue
		}
		m.Inputs, changed = append(m.Inputs, in), true
	}
	if !changed {
		return false, nil
	}
	return true, m.bounded()
}

// reads reports whether a data set is known as one that the run reads.
func (m *marks) reads(of v1.MLflowDataset) bool {
	for _, in := range m.Inputs {
		if in.Dataset.Name == of.Name && in.Dataset.Digest == of.Digest {
			return true
		}
	}
	return false
}

func set[V any](m map[string]V, key string, value V) map[string]V {
	if m == nil {
		m = map[string]V{}
	}
	m[key] = value
	return m
}

// bounded fails if the marks of a run are too many.
func (m *marks) bounded() error {
	if n := max(len(m.Params), len(m.Tags)); n > maxNames {
		return fault.New(fault.Invalid, "the run has %d parameters or tags; %d are allowed: log large settings as a file", n, maxNames)
	}
	if len(m.Inputs) > maxInputs {
		return fault.New(fault.Invalid, "the run has %d data sets; %d are allowed", len(m.Inputs), maxInputs)
	}
	b, err := json.Marshal(m)
	if err == nil && len(b) > maxMarks {
		if len(m.Earlier) > 0 { // what the current attempt says is worth more
			m.Earlier = nil
			return m.bounded()
		}
		err = fault.New(fault.Invalid, "the parameters and tags of the run have %d bytes; %d are allowed: log large texts as files", len(b), maxMarks)
	}
	return err
}

// newTags checks tags of a request.
func newTags(list []v1.MLflowTag) (map[string]string, error) { return pairs("tags", list, maxTag) }

// newParams checks parameters of a request.
func newParams(list []v1.MLflowTag) (map[string]string, error) {
	given := map[string]string{}
	for _, p := range list {
		if was, twice := given[p.Key]; twice && was != p.Value {
			return nil, fault.New(fault.Invalid, "Duplicate parameter keys have been submitted: ['%s']. Please ensure the request contains only one param value per param key.", fault.Clip(p.Key))
		}
		given[p.Key] = p.Value
	}
	return pairs("params", list, maxParam)
}

func pairs(what string, list []v1.MLflowTag, longest int) (map[string]string, error) {
	if len(list) > maxOfBatch {
		return nil, fault.New(fault.Invalid, "A batch logging request can contain at most %d %s. Got %d %[2]s. Please split up %[2]s across multiple requests and try again.", maxOfBatch, what, len(list))
	}
	m := make(map[string]string, len(list))
	for _, t := range list {
		if err := checkKey(what, t.Key); err != nil {
			return nil, err
		}
		if err := checkText(what+"."+t.Key, t.Value); err != nil {
			return nil, err
		}
		if utf8.RuneCountInString(t.Value) > longest { // MLflow's server cuts it, too
			t.Value = string([]rune(t.Value)[:longest])
		}
		m[t.Key] = t.Value
	}
	return m, nil
}

// checkKey checks the name of a metric, a parameter or a tag.
func checkKey(what, key string) error {
	switch {
	case key == "":
		return fault.New(fault.Invalid, "Missing value for required parameter '%s[0].key'", what)
	case len(key) > maxName:
		return fault.New(fault.Invalid, "%s: the name %s has %d bytes; %d are allowed", what, fault.Clip(key), len(key), maxName)
	case strings.HasPrefix(key, "/"), strings.HasSuffix(key, "/"), key == ".", strings.Contains("/"+key+"/", "/../"), strings.Contains("/"+key+"/", "/./"):
		return fault.New(fault.Invalid, "Invalid value %q for parameter '%s[0].key' supplied: Names may be treated as files in certain cases, and must not resolve to other names when treated as such.", fault.Clip(key), what)
	}
	return checkText(what, key)
}

func checkText(what, text string) error {
	if !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0 {
		return fault.New(fault.Invalid, "%s: text with a NUL character or invalid UTF-8 cannot be stored", fault.Clip(what))
	}
	return nil
}

// maxDigits is how long a parameter may be that is stored as a number.
const maxDigits = 32

// asHParams are the parameters of a run elsewhere as its hyperparameters: numbers are numbers, so that charts can compare them.
func (m marks) asHParams() map[string]any {
	out := map[string]any{}
	for key, value := range m.Params {
		if f, err := strconv.ParseFloat(value, 64); err == nil && !math.IsInf(f, 0) && json.Valid([]byte(value)) && len(value) <= maxDigits {
			out[key] = json.Number(value)
			continue
		}
		switch value {
		case "True", "true":
			out[key] = true
		case "False", "false":
			out[key] = false
		default:
			out[key] = value
		}
	}
	return out
}
