package mlflow

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/metrics/summary"
	"github.com/detent-ml/detent/master/mlflow/filter"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// uri is where the files of a model are, as clients of MLflow name it.
func (m LoggedModel) uri() string {
	return fmt.Sprintf("mlflow-artifacts:/%d/models/%s/artifacts", m.ProjectID, m.ID)
}

func (m LoggedModel) wire(of summary.Trial, own []modelValue) (v1.MLflowModel, error) {
	var params, tags map[string]string
	if err := cmp.Or(json.Unmarshal(m.Params, &params), json.Unmarshal(m.Tags, &tags)); err != nil {
		return v1.MLflowModel{}, err
	}
	run := strconv.Itoa(m.TrialID)
	w := v1.MLflowModel{Info: v1.MLflowModelInfo{ID: m.ID, ExperimentID: strconv.Itoa(m.ProjectID), Name: m.Name, CreatedAt: millis(m.CreatedAt), ModifiedAt: millis(m.ModifiedAt),
		ArtifactURI: m.uri(), Status: "LOGGED_MODEL_" + m.Status, ModelType: m.Type, SourceRunID: run, LifecycleStage: stage(m.DeletedAt != nil), Tags: tagsOf(tags)}}
	w.Data.Params, w.Data.Metrics = tagsOf(params), []v1.MLflowModelMetric{}
	for _, v := range own {
		w.Data.Metrics = append(w.Data.Metrics, v1.MLflowModelMetric{Key: v.Name, Value: v.Value, Timestamp: millis(v.At), Step: v1.Bare(v.Step), ModelID: m.ID, RunID: strconv.Itoa(v.Run), Dataset: v.Dataset, Digest: v.Digest})
	}
	if len(own) > 0 {
		return w, nil
	}
	values := latest(of, m.Metric)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		w.Data.Metrics = append(w.Data.Metrics, v1.MLflowModelMetric{Key: name, Value: values[name].Value, Timestamp: w.Info.ModifiedAt, ModelID: m.ID, RunID: run})
	}
	return w, nil
}

// showModels shows models with their newest metrics, or those of their runs.
func (d Deps) showModels(ctx context.Context, list []LoggedModel) ([]v1.MLflowModel, error) {
	sums, err := metrics.Summaries(ctx, d.DB, rest.Distinct(each.Of(list, func(m LoggedModel) int { return m.TrialID })))
	if err != nil {
		return nil, err
	}
	own, err := valuesOfModels(ctx, d.DB, each.Of(list, func(m LoggedModel) string { return m.ID }))
	if err != nil {
		return nil, err
	}
	out := make([]v1.MLflowModel, 0, len(list))
	for _, m := range list {
		w, err := m.wire(sums[m.TrialID], own[m.ID])
		if err != nil {
			return nil, err
		}
		out = append(out, w)
	}
	return out, nil
}

func (d Deps) showModel(ctx context.Context, id string) (*v1.MLflowModelAnswer, error) {
	m, err := loggedModelByID(ctx, d.DB, id)
	if err != nil {
		return nil, err
	}
	list, err := d.showModels(ctx, []LoggedModel{m})
	if err != nil {
		return nil, err
	}
	return &v1.MLflowModelAnswer{Model: list[0]}, nil
}

// A loggedModel is the model of a path, with its run as the caller may use it.
type loggedModel struct {
	LoggedModel
	run Run
	is  auth.Object
}

// onModel loads the model of a path. Rights on it are those on its run.
func (d Deps) onModel() rest.Object[loggedModel] {
	return rest.Object[loggedModel]{Large: true, Of: func(m loggedModel) auth.Object { return m.is }, Load: func(ctx context.Context, c *rest.Call) (m loggedModel, err error) {
		if m.LoggedModel, err = loggedModelByID(ctx, d.DB, c.Param("model")); err != nil {
			return m, err
		}
		m.run, err = d.run(ctx, c, strconv.Itoa(m.TrialID), "")
		m.is = asReported(c.Who(), m.run)
		if allow, _ := c.Query("allow_deleted"); err == nil && m.DeletedAt != nil && allow != "true" {
			err = noModel(m.ID)
		}
		return m, err
	}}
}

// asReported is a run for auth, as the caller may report about it: the program of a trial reports about runs within its own as about
// its own (Deps.reporting).
func asReported(who auth.Who, r Run) auth.Object {
	is := r.object()
	if who.IsTask() && r.Unmanaged && r.ParentID != nil && *r.ParentID == who.ExperimentID && r.OwnerID == who.UserID {
		is.TaskID, is.TrialID = who.TaskID, who.TrialID
	}
	return is
}

func (d Deps) createModel(ctx context.Context, c *rest.Call, req *v1.MLflowCreateModelRequest) (*v1.MLflowModelAnswer, error) {
	params, err := newParams(req.Params)
	if err != nil {
		return nil, err
	}
	tags, err := newTags(req.Tags)
	if err != nil {
		return nil, err
	}
	name := cmp.Or(req.Name, "model")
	if err := cmp.Or(checkText("name", name), checkText("model_type", req.ModelType)); err != nil {
		return nil, err
	}
	if len(name) > 2*maxName || len(req.ModelType) > 2*maxName || strings.ContainsAny(name, "/:.%\"'") {
		return nil, fault.New(fault.Invalid, "Invalid model name (%s) provided. Model name must be a non-empty string and cannot contain the following characters: / : . %% \" '", fault.Clip(name))
	}
	r, err := d.runOfModel(ctx, c, req, name)
	if err != nil {
		return nil, err
	}
	if err := d.admitMarks(ctx, r, change{params: params, tags: tags}); err != nil {
		return nil, err
	}
	m := LoggedModel{Name: name, Type: req.ModelType}
	if m.Params, err = json.Marshal(params); err != nil {
		return nil, err
	}
	if m.Tags, err = json.Marshal(tags); err != nil {
		return nil, err
	}
	id, err := newLoggedModel(ctx, d.DB, r.ID, m)
	if err != nil {
		return nil, err
	}
	return d.showModel(ctx, id)
}

// runOfModel is the run that logs a model. A model that a program logs without a run gets a run of its own, which has ended.
func (d Deps) runOfModel(ctx context.Context, c *rest.Call, req *v1.MLflowCreateModelRequest, name string) (Run, error) {
	if req.SourceRunID != "" {
		return d.reporting(ctx, c, req.SourceRunID, "")
	}
	made, err := d.createRun(ctx, c, &v1.MLflowCreateRunRequest{ExperimentID: req.ExperimentID, RunName: name})
	if err != nil {
		return Run{}, err
	}
	r, err := d.reporting(ctx, c, made.Run.Info.RunID, "")
	if err == nil && r.Unmanaged {
		err = experiments.ReportUnmanagedTrial(ctx, d.DB, r.ID, states["FINISHED"])
		d.Changed()
	}
	return r, err
}

func (d Deps) getModel(ctx context.Context, _ *rest.Call, m loggedModel, _ *v1.None) (*v1.MLflowModelAnswer, error) {
	return d.showModel(ctx, m.ID)
}

func (d Deps) finishModel(ctx context.Context, _ *rest.Call, m loggedModel, req *v1.MLflowFinishModelRequest) (*v1.MLflowModelAnswer, error) {
	status, known := map[string]string{"LOGGED_MODEL_READY": "READY", "LOGGED_MODEL_UPLOAD_FAILED": "UPLOAD_FAILED", "LOGGED_MODEL_PENDING": "PENDING"}[req.Status]
	if !known {
		return nil, fault.New(fault.Invalid, "status: %q is none of LOGGED_MODEL_READY and LOGGED_MODEL_UPLOAD_FAILED", fault.Clip(req.Status))
	}
	if err := changeLoggedModel(ctx, d.DB, m.ID, nil, nil, "", status); err != nil {
		return nil, err
	}
	return d.showModel(ctx, m.ID)
}

func (d Deps) deleteModel(ctx context.Context, _ *rest.Call, m loggedModel, _ *v1.None) (*v1.Empty, error) {
	return &v1.Empty{}, deleteLoggedModel(ctx, d.DB, m.ID)
}

func (d Deps) logModelParams(ctx context.Context, c *rest.Call, m loggedModel, req *v1.MLflowModelParamsRequest) (*v1.Empty, error) {
	params, err := newParams(req.Params)
	if err == nil {
		err = d.admitMarks(ctx, m.run, change{params: params})
	}
	if err != nil {
		return nil, err
	}
	return &v1.Empty{}, changeLoggedModel(ctx, d.DB, m.ID, params, nil, "", "")
}

func (d Deps) setModelTags(ctx context.Context, c *rest.Call, m loggedModel, req *v1.MLflowModelTagsRequest) (*v1.MLflowModelAnswer, error) {
	tags, err := newTags(req.Tags)
	if err == nil {
		err = d.admitMarks(ctx, m.run, change{tags: tags})
	}
	if err != nil {
		return nil, err
	}
	if err := changeLoggedModel(ctx, d.DB, m.ID, nil, tags, "", ""); err != nil {
		return nil, err
	}
	return d.showModel(ctx, m.ID)
}

// admitMarks fails if the owner of a run stores too much. A run can log many models, so this is asked for trials too.
func (d Deps) admitMarks(ctx context.Context, r Run, ch change) error {
	return d.Admit(ctx, r.OwnerID, int64(ch.size()))
}

func (d Deps) deleteModelTag(ctx context.Context, c *rest.Call, m loggedModel, _ *v1.None) (*v1.Empty, error) {
	tag := c.Param("tag")
	var tags map[string]string
	if err := json.Unmarshal(m.Tags, &tags); err != nil {
		return nil, err
	}
	if _, there := tags[tag]; !there {
		return nil, fault.New(fault.NotFound, "No tag with key '%s' found for logged model with ID '%s'.", fault.Clip(tag), m.ID)
	}
	return &v1.Empty{}, changeLoggedModel(ctx, d.DB, m.ID, nil, nil, tag, "")
}

func (d Deps) listModelFiles(ctx context.Context, _ *rest.Call, m loggedModel, req *v1.MLflowListModelFilesRequest) (*v1.MLflowArtifacts, error) {
	dir := strings.Trim(req.Path, "/")
	files, err := d.filesIn(ctx, m.Checkpoint, dir)
	for i := range files {
		files[i].Path = path.Join(dir, files[i].Path)
	}
	return &v1.MLflowArtifacts{RootURI: m.uri(), Files: files}, err
}

const usualModels = 100

// checkDatasets checks the data sets that a search of models names.
func checkDatasets(req *v1.MLflowSearchModelsRequest) error {
	const most = 50
	if len(req.Datasets) > most {
		return fault.New(fault.Invalid, "datasets: %d are over the limit of %d", len(req.Datasets), most)
	}
	for _, d := range req.Datasets {
		if d.Dataset == "" {
			return fault.New(fault.Invalid, "`dataset_name` in the `datasets` clause must be specified.")
		}
	}
	return nil
}

func (d Deps) searchModels(ctx context.Context, c *rest.Call, req *v1.MLflowSearchModelsRequest) (*v1.MLflowModels, error) {
	p, err := pageOf(req.PageToken, req.MaxResults, usualModels, maxRuns)
	if err != nil {
		return nil, err
	}
	p.limit = min(p.limit, maxInPage)
	s := runSearch{page: p}
	if s.filter, err = filter.Parse(req.Filter); err != nil {
		return nil, err
	}
	if s.projects, err = projectsOf(req.ExperimentIDs); err != nil {
		return nil, err
	}
	if s.order, err = orders(each.Of(req.OrderBy, func(o v1.MLflowModelOrder) string { return o.Field })); err != nil {
		return nil, err
	}
	if err := checkDatasets(req); err != nil {
		return nil, err
	}
	s.datasets, s.ordersOn = req.Datasets, make([][]v1.MLflowModelDataset, len(req.OrderBy))
	for i, o := range req.OrderBy {
		s.order[i].Desc = o.Ascending != nil && !*o.Ascending
		if o.Dataset != "" {
			s.ordersOn[i] = []v1.MLflowModelDataset{{Dataset: o.Dataset, Digest: o.Digest}}
		}
	}
	list, more, err := searchLogged(ctx, d.DB, auth.ScopeOf(c.Who(), auth.View, v1.KindRun), s)
	if err != nil {
		return nil, err
	}
	shown, err := d.showModels(ctx, list)
	return &v1.MLflowModels{Models: shown, Next: p.next(len(list), more)}, err
}

func (d Deps) logOutputs(ctx context.Context, c *rest.Call, req *v1.MLflowOutputsRequest) (*v1.Empty, error) {
	r, err := d.reporting(ctx, c, req.RunID, "")
	if err != nil {
		return nil, err
	}
	if len(req.Models) > maxOfBatch {
		return nil, fault.New(fault.Invalid, "models: %d are over the limit of %d", len(req.Models), maxOfBatch)
	}
	return &v1.Empty{}, setOutputs(ctx, d.DB, r.ID, req.Models)
}

// tagModels is the tag in which clients of MLflow 2 find the models of a run: a list in JSON.
const tagModels = "mlflow.log-model.history"

func (d Deps) logRunModel(ctx context.Context, c *rest.Call, req *v1.MLflowLogModelRequest) (*v1.Empty, error) {
	r, err := d.reporting(ctx, c, req.RunID, "")
	if err != nil {
		return nil, err
	}
	var model map[string]any
	if err := json.Unmarshal([]byte(req.ModelJSON), &model); err != nil {
		return nil, fault.New(fault.Invalid, "Malformed model info. \n %s \n is not a valid JSON.", fault.Clip(req.ModelJSON))
	}
	was, err := readMarks(r.Metadata)
	if err != nil {
		return nil, err
	}
	var list []any
	if text := was.Tags[tagModels]; text != "" {
		_ = json.Unmarshal([]byte(text), &list) // a program may have set something else
	}
	text, err := json.Marshal(append(list, model))
	if err != nil {
		return nil, err
	}
	if len(text) > maxTag { // the newest model is worth more than those before it
		if text, err = json.Marshal([]any{model}); err != nil || len(text) > maxTag {
			return &v1.Empty{}, err
		}
	}
	return &v1.Empty{}, d.mark(ctx, c, r, change{tags: map[string]string{tagModels: string(text)}})
}

// modelRoutes adds the endpoints of the models that runs log.
func (d Deps) modelRoutes(r *rest.Router) {
	model := d.onModel()
	rest.Serve(r, v1.CreateMLflowModel, d.createModel)
	rest.Serve(r, v1.SearchMLflowModels, d.searchModels)
	rest.ServeOn(r, v1.GetMLflowModel, model, d.getModel)
	rest.ServeOn(r, v1.FinishMLflowModel, model, d.finishModel)
	rest.ServeOn(r, v1.DeleteMLflowModel, model, d.deleteModel)
	rest.ServeOn(r, v1.LogMLflowModelParams, model, d.logModelParams)
	rest.ServeOn(r, v1.SetMLflowModelTags, model, d.setModelTags)
	rest.ServeOn(r, v1.DeleteMLflowModelTag, model, d.deleteModelTag)
	rest.ServeOn(r, v1.ListMLflowModelFiles, model, d.listModelFiles)
	rest.Serve(r, v1.LogMLflowOutputs, d.logOutputs)
	rest.Serve(r, v1.LogMLflowRunModel, d.logRunModel)
}
