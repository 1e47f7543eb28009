package fakemaster

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/detent-ml/detent/cli/internal/input"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (m *Master) experimentRoutes() {
	on(m, v1.ListExperiments, m.listExperiments)
	on(m, v1.CreateExperiment, m.createExperiment)
	on(m, v1.GetExperiment, m.onExperiment(func(e *Experiment, _ *http.Request) (any, error) {
		return v1.GetExperimentResponse{Experiment: e.Experiment, Config: e.Config,
			AvoidedNodes: []v1.AvoidedNode{{Node: "gpu-7", Failures: 3}}}, nil
	}))
	on(m, v1.ChangeExperiment, m.onExperiment(patchExperiment))
	on(m, v1.DeleteExperiment, m.onExperiment(func(e *Experiment, _ *http.Request) (any, error) {
		m.Experiments = slices.DeleteFunc(m.Experiments, func(x *Experiment) bool { return x == e })
		return v1.Empty{}, nil
	}))
	on(m, v1.AddExperimentLabel, m.onExperiment(func(e *Experiment, r *http.Request) (any, error) {
		if !slices.Contains(e.Labels, r.PathValue("rest")) {
			e.Labels = append(e.Labels, r.PathValue("rest"))
		}
		return v1.PutExperimentLabelResponse{Labels: e.Labels}, nil
	}))
	on(m, v1.RemoveExperimentLabel, m.onExperiment(func(e *Experiment, r *http.Request) (any, error) {
		e.Labels = slices.DeleteFunc(e.Labels, func(l string) bool { return l == r.PathValue("rest") })
		return v1.PutExperimentLabelResponse{Labels: e.Labels}, nil
	}))
	on(m, v1.MoveExperiment, m.onExperiment(func(e *Experiment, r *http.Request) (any, error) {
		req, err := decode[v1.MoveRequest](r)
		e.ProjectID = req.DestinationProjectID
		return v1.Empty{}, err
	}))
	for verb, l := range map[string]v1.Line{
		"activate": v1.ActivateExperiment.Line(), "pause": v1.PauseExperiment.Line(), "cancel": v1.CancelExperiment.Line(),
		"kill": v1.KillExperiment.Line(), "archive": v1.ArchiveExperiment.Line(), "unarchive": v1.UnarchiveExperiment.Line(),
	} {
		m.serve(l, m.onExperiment(func(e *Experiment, _ *http.Request) (any, error) { return m.signal(e, verb) }))
	}
	on(m, v1.ListTrials, m.onExperiment(func(e *Experiment, r *http.Request) (any, error) {
		trials, page := paged(r, e.Trials)
		return v1.GetExperimentTrialsResponse{Trials: trials, Pagination: page}, nil
	}))
	on(m, v1.ListExperimentCheckpoints, m.onExperiment(func(e *Experiment, r *http.Request) (any, error) {
		return listCheckpoints(r, e.Checkpoints), nil
	}))
	on(m, v1.GetModelDef, m.onExperiment(func(e *Experiment, _ *http.Request) (any, error) {
		raw, err := Archive(e.Files)
		return v1.GetModelDefResponse{B64Tgz: base64.StdEncoding.EncodeToString(raw)}, err
	}))
}

func (m *Master) onExperiment(fn func(*Experiment, *http.Request) (any, error)) handler {
	return func(_ http.ResponseWriter, r *http.Request) (any, error) {
		for _, e := range m.Experiments {
			if e.ID == pathID(r) {
				return fn(e, r)
			}
		}
		return nil, fault.New(fault.NotFound, "experiment %s not found", r.PathValue("id"))
	}
}

func (m *Master) listExperiments(_ http.ResponseWriter, r *http.Request) (any, error) {
	q := r.URL.Query()
	var found []v1.Experiment
	for _, e := range m.Experiments {
		if a := q.Get("archived"); a != "" && a != strconv.FormatBool(e.Archived) {
			continue
		}
		if users := q["users"]; len(users) > 0 && !slices.Contains(users, e.Username) {
			continue
		}
		if p := q.Get("projectId"); p != "" && p != strconv.Itoa(e.ProjectID) {
			continue
		}
		found = append(found, e.Experiment)
	}
	if q.Get("orderBy") == "ORDER_BY_DESC" {
		slices.Reverse(found)
	}
	found, page := paged(r, found)
	return v1.GetExperimentsResponse{Experiments: found, Pagination: page}, nil
}

func (m *Master) createExperiment(_ http.ResponseWriter, r *http.Request) (any, error) {
	req, err := decode[v1.CreateExperimentRequest](r)
	if err != nil {
		return nil, err
	}
	if _, _, err := expconf.Parse("the configuration", []byte(*req.Config)); err != nil {
		return nil, fault.New(fault.Invalid, "%w", err)
	}
	config, err := input.YAML("the configuration", []byte(*req.Config))
	if err != nil {
		return nil, err
	}
	var doc struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Searcher    struct {
			Name   string `json:"name"`
			Metric string `json:"metric"`
		} `json:"searcher"`
		Hyperparameters json.RawMessage `json:"hyperparameters"`
		Resources       struct {
			Slots *int `json:"slots_per_trial"`
		} `json:"resources"`
	}
	if err := json.Unmarshal(config, &doc); err != nil {
		return nil, fault.New(fault.Invalid, "%w", err)
	}
	e := &Experiment{Files: req.ModelDefinition, Metrics: map[int][]v1.MetricsReport{}, Workloads: map[int][]v1.WorkloadContainer{}}
	e.Experiment = v1.Experiment{
		ID: len(m.Experiments) + 1, Name: doc.Name, Description: doc.Description, Config: config, OriginalConfig: *req.Config,
		State: v1.ExperimentStatePaused, Username: m.who(r).Username, UserID: m.who(r).ID, StartTime: m.Now, ProjectID: 1,
		SearcherType: doc.Searcher.Name, SearcherMetric: doc.Searcher.Metric, ResourcePool: "default",
		WorkspaceID: 1, WorkspaceName: "Uncategorized", ProjectName: "Uncategorized", Hyperparameters: v1.Struct(doc.Hyperparameters),
		ProjectOwnerID: 1, JobID: "job-" + strconv.Itoa(len(m.Experiments)+1),
	}
	var warnings []v1.LaunchWarning
	if doc.Resources.Slots != nil && *doc.Resources.Slots > m.Pools[0].SlotsAvailable {
		warnings = append(warnings, v1.LaunchWarningCurrentSlotsExceeded)
	}
	if req.ValidateOnly != nil && *req.ValidateOnly {
		e.ID = 0
		return v1.CreateExperimentResponse{Experiment: e.Experiment, Config: config}, nil
	}
	if req.ProjectID != nil {
		e.ProjectID = *req.ProjectID
	}
	m.Experiments = append(m.Experiments, e)
	if req.Activate != nil && *req.Activate {
		m.run(e)
	}
	return v1.CreateExperimentResponse{Experiment: e.Experiment, Config: config, Warnings: warnings}, nil
}

// signal does what a verb says, at once.
func (m *Master) signal(e *Experiment, verb string) (any, error) {
	over := e.State == v1.ExperimentStateCompleted || e.State == v1.ExperimentStateCanceled || e.State == v1.ExperimentStateError
	switch verb {
	case "archive", "unarchive":
		if !over {
			return nil, fault.New(fault.Invalid, "experiment %d cannot be archived in state %s", e.ID, e.State)
		}
		e.Archived = verb == "archive"
	case "activate":
		if e.State == v1.ExperimentStatePaused {
			m.run(e)
		}
	case "pause":
		if over {
			return nil, fault.New(fault.Invalid, "experiment %d is over: %s", e.ID, e.State)
		}
		e.State = v1.ExperimentStatePaused
	case "cancel", "kill":
		if !over {
			e.State, e.EndTime = v1.ExperimentStateCanceled, &m.Now
		}
	}
	return v1.Empty{}, nil
}

func patchExperiment(e *Experiment, r *http.Request) (any, error) {
	req, err := decode[v1.PatchExperiment](r)
	if err != nil {
		return nil, err
	}
	set(&e.Name, req.Name)
	set(&e.Description, req.Description)
	set(&e.Notes, req.Notes)
	if req.Labels != nil {
		e.Labels = req.Labels
	}
	return v1.PatchExperimentResponse{Experiment: &e.Experiment}, nil
}

func listCheckpoints(r *http.Request, checkpoints []v1.Checkpoint) v1.GetExperimentCheckpointsResponse {
	found := slices.Clone(checkpoints)
	q := r.URL.Query()
	if states := q["states"]; len(states) > 0 {
		found = slices.DeleteFunc(found, func(k v1.Checkpoint) bool { return !slices.Contains(states, string(k.State)) })
	}
	switch q.Get("sortByAttr") {
	case "SORT_BY_SEARCHER_METRIC":
		slices.SortFunc(found, func(a, b v1.Checkpoint) int {
			return cmp.Compare(*a.Training.SearcherMetric, *b.Training.SearcherMetric)
		})
	case "SORT_BY_BATCH_NUMBER", "SORT_BY_END_TIME":
		if q.Get("orderBy") == "ORDER_BY_DESC" {
			slices.Reverse(found)
		}
	}
	found, page := paged(r, found)
	return v1.GetExperimentCheckpointsResponse{Checkpoints: found, Pagination: page}
}

// Archive is files as a gzipped tar.
func Archive(files []v1.File) ([]byte, error) {
	var buf bytes.Buffer
	gz := gzip.NewWriter(&buf)
	t := tar.NewWriter(gz)
	for _, f := range files {
		h := &tar.Header{Name: f.Path, Mode: int64(f.Mode & 0o777), Size: int64(len(f.Content)), Typeflag: byte(f.Type), ModTime: time.Unix(f.Mtime, 0)}
		if err := t.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := t.Write(f.Content); err != nil {
			return nil, err
		}
	}
	if err := t.Close(); err != nil {
		return nil, err
	}
	err := gz.Close()
	return buf.Bytes(), err
}
