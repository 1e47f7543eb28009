package mlflow

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/models"
	"github.com/detent-ml/detent/master/names"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (v RegisteredVersion) wire() (v1.MLflowVersion, error) {
	tags, err := tagsIn(v.Metadata)
	return v1.MLflowVersion{Name: v.Name, Version: itoa(v.Number), CreatedAt: millis(v.CreatedAt), ModifiedAt: millis(v.ModifiedAt), UserID: v.Owner, Stage: v.Stage,
		Description: v.Comment, Source: v.Source, RunID: v.Run, Status: "READY", RunLink: v.RunLink, ModelID: v.Model, Tags: tags, Aliases: v.Aliases}, err
}

func wireAll(list []RegisteredVersion) ([]v1.MLflowVersion, error) {
	out := make([]v1.MLflowVersion, 0, len(list))
	for _, v := range list {
		w, err := v.wire()
		if err != nil {
			return nil, err
		}
		out = append(out, w)
	}
	return out, nil
}

// version finds a version that a caller may view.
func (d registry) version(ctx context.Context, c *rest.Call, name, number string) (models.Model, RegisteredVersion, error) {
	m, err := d.registered(ctx, c, name)
	if err != nil {
		return m, RegisteredVersion{}, err
	}
	n, err := rest.Number(number)
	if err != nil || n <= 0 {
		return m, RegisteredVersion{}, noVersion(name, number)
	}
	v, err := versionByNumber(ctx, d.DB, m, n)
	if fault.Is(err, fault.NotFound) {
		err = noVersion(name, number)
	}
	return m, v, err
}

// versionToChange finds a version that a caller may edit: as in the registry, it belongs to who registered it.
func (d registry) versionToChange(ctx context.Context, c *rest.Call, name, number string) (models.Model, RegisteredVersion, error) {
	m, v, err := d.version(ctx, c, name, number)
	if err == nil {
		err = auth.May(acting(c.Who()), auth.Edit, v.object())
	}
	return m, v, err
}

// versionOfEdited finds a version of a model that a caller may edit: the aliases and the stages of its versions are the model's.
func (d registry) versionOfEdited(ctx context.Context, c *rest.Call, name, number string) (models.Model, RegisteredVersion, error) {
	m, v, err := d.version(ctx, c, name, number)
	if err == nil {
		err = auth.May(acting(c.Who()), auth.Edit, models.Object(m))
	}
	if err == nil && m.Archived {
		err = fault.New(fault.Conflict, "model %q is archived; unarchive it first", m.Name)
	}
	return m, v, err
}

// object is a version for auth.
func (v RegisteredVersion) object() auth.Object {
	return auth.Object{Kind: v1.KindModel, OwnerID: v.OwnerID, WorkspaceID: v.WorkspaceID}
}

func (d registry) answerVersion(ctx context.Context, m models.Model, number int) (*v1.MLflowVersionAnswer, error) {
	v, err := versionByNumber(ctx, d.DB, m, number)
	if err != nil {
		return nil, err
	}
	w, err := v.wire()
	return &v1.MLflowVersionAnswer{Version: w}, err
}

// createVersion registers files that the caller may view. From then on everybody who may view the model may view them.
func (d registry) createVersion(ctx context.Context, c *rest.Call, req *v1.MLflowCreateVersionRequest) (*v1.MLflowVersionAnswer, error) {
	tags, err := newTags(req.Tags)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(names.CheckText("description", req.Description), checkText("source", req.Source), checkText("run_link", req.RunLink)); err != nil {
		return nil, err
	}
	if len(req.Source)+len(req.RunLink) > maxTag {
		return nil, fault.New(fault.Invalid, "source: %d bytes are too many", len(req.Source)+len(req.RunLink))
	}
	m, err := d.editing(ctx, c, req.Name, auth.Edit)
	if err != nil {
		return nil, err
	}
	checkpoint, at, err := d.sourceOf(ctx, c, req)
	if err == nil {
		err = d.Admit(ctx, c.Who().UserID, int64(len(req.Description)+(change{tags: tags}).size()))
	}
	if err != nil {
		return nil, err
	}
	metadata, err := json.Marshal(tags)
	if err != nil {
		return nil, err
	}
	n, err := models.Register(ctx, d.DB, m, models.Version{UUID: checkpoint, OwnerID: c.Who().UserID, Comment: req.Description, Metadata: metadata}, at.storeIn(ctx))
	if err != nil {
		return nil, err
	}
	return d.answerVersion(ctx, m, n)
}

// sourceOf finds the checkpoint with the files that a new version has, and tells where they are.
func (d registry) sourceOf(ctx context.Context, c *rest.Call, req *v1.MLflowCreateVersionRequest) (string, origin, error) {
	wrong := fault.New(fault.Invalid, "Invalid model version source: '%s'. Name files of a run or of a model on this server: runs:/RUN/PATH, models:/MODEL_ID, or their artifact URI.", fault.Clip(req.Source))
	p := origin{source: req.Source, run: req.RunID, model: req.ModelID, link: req.RunLink}
	scheme, rest, found := strings.Cut(req.Source, ":/")
	rest = strings.Trim(rest, "/")
	if !found {
		return "", p, wrong
	}
	switch scheme {
	case "models":
		if name, version, versioned := strings.Cut(rest, "/"); versioned { // a copy
			_, v, err := d.version(ctx, c, name, version)
			if err != nil {
				return "", p, err
			}
			p.run, p.model = cmp.Or(p.run, v.Run), cmp.Or(p.model, v.Model)
			rest = strings.TrimPrefix(v.Location, "mlflow-artifacts:/")
			break
		}
		m, err := loggedModelByID(ctx, d.DB, rest)
		if err != nil {
			return "", p, err
		}
		rest = strings.TrimPrefix(m.uri(), "mlflow-artifacts:/")
	case "runs":
		run, path, _ := strings.Cut(rest, "/")
		rest = "0/" + run + "/artifacts/" + path
	case "mlflow-artifacts":
	default:
		return "", p, wrong
	}
	f, err := d.folderOf(ctx, c, strings.TrimSuffix(rest, "/"), auth.View)
	if err == nil {
		err = c.May(auth.View, f.is)
	}
	switch {
	case err != nil:
		return "", p, err
	case f.checkpoint == "":
		return "", p, fault.New(fault.Invalid, "run %d has logged no files, so nothing can be registered", f.run.ID)
	}
	p.location = "mlflow-artifacts:/" + rest
	if parts := strings.Split(rest, "/"); parts[1] == "models" {
		p.model = parts[2]
	}
	if f.run.ID != 0 {
		p.run = itoa(f.run.ID)
	}
	return f.checkpoint, p, d.notEmpty(ctx, f)
}

// notEmpty fails if there is no file at the path of a new version.
func (d registry) notEmpty(ctx context.Context, f folder) error {
	if f.path == "" {
		return nil
	}
	files, err := checkpoints.LoggedBelow(ctx, d.DB, f.checkpoint, f.path)
	if err == nil && len(files) == 0 {
		err = fault.New(fault.Invalid, "there are no files at %s", fault.Clip(f.path))
	}
	return err
}

func (d registry) getVersion(ctx context.Context, c *rest.Call, req *v1.MLflowVersionRequest) (*v1.MLflowVersionAnswer, error) {
	_, v, err := d.version(ctx, c, req.Name, req.Version)
	if err != nil {
		return nil, err
	}
	w, err := v.wire()
	return &v1.MLflowVersionAnswer{Version: w}, err
}

func (d registry) getByAlias(ctx context.Context, c *rest.Call, req *v1.MLflowByAliasRequest) (*v1.MLflowVersionAnswer, error) {
	m, err := d.registered(ctx, c, req.Name)
	if err != nil {
		return nil, err
	}
	n, err := byAlias(ctx, d.DB, m.ID, req.Alias)
	if err != nil {
		return nil, err
	}
	return d.answerVersion(ctx, m, n)
}

func (d registry) listLatest(ctx context.Context, c *rest.Call, req *v1.MLflowLatestRequest) (*v1.MLflowVersions, error) {
	m, err := d.registered(ctx, c, req.Name)
	if err != nil {
		return nil, err
	}
	list, err := latestOf(ctx, d.DB, []int{m.ID})
	if err != nil {
		return nil, err
	}
	if len(req.Stages) > 0 {
		list = slices.DeleteFunc(list, func(v RegisteredVersion) bool {
			return !slices.ContainsFunc(req.Stages, func(s string) bool { return strings.EqualFold(s, v.Stage) })
		})
	}
	shown, err := wireAll(list)
	return &v1.MLflowVersions{Versions: shown}, err
}

func (d registry) findLatest(ctx context.Context, c *rest.Call, req *v1.MLflowFindLatestRequest) (*v1.MLflowVersions, error) {
	return d.listLatest(ctx, c, &v1.MLflowLatestRequest{Name: req.Name, Stages: req.Stages})
}

func (d registry) searchVersions(ctx context.Context, c *rest.Call, req *v1.MLflowSearchRegisteredRequest) (*v1.MLflowVersions, error) {
	s, err := registrySearch(req)
	if err != nil {
		return nil, err
	}
	ids, more, err := searchRegistry(ctx, d.DB, c.Scope(), s, true)
	if err != nil {
		return nil, err
	}
	list, err := versionsByID(ctx, d.DB, ids)
	if err != nil {
		return nil, err
	}
	shown, err := wireAll(list)
	return &v1.MLflowVersions{Versions: shown, Next: s.next(len(ids), more)}, err
}

func (d registry) changeVersion(ctx context.Context, c *rest.Call, req *v1.MLflowUpdateVersionRequest) (*v1.MLflowVersionAnswer, error) {
	if err := names.CheckText("description", req.Description); err != nil {
		return nil, err
	}
	m, v, err := d.versionToChange(ctx, c, req.Name, req.Version)
	if err == nil {
		err = d.Admit(ctx, v.OwnerID, int64(len(req.Description)))
	}
	if err != nil {
		return nil, err
	}
	if err := models.UpdateVersion(ctx, d.DB, v.ID, models.VersionChange{Comment: &req.Description}); err != nil {
		return nil, err
	}
	return d.answerVersion(ctx, m, v.Number)
}

func (d registry) deleteVersion(ctx context.Context, c *rest.Call, req *v1.MLflowDeleteVersionRequest) (*v1.Empty, error) {
	_, v, err := d.version(ctx, c, req.Name, req.Version)
	if err == nil {
		err = c.May(auth.Change, v.object())
	}
	if err != nil {
		return nil, err
	}
	return &v1.Empty{}, models.RemoveVersion(ctx, d.DB, v.ID)
}

func (d registry) setVersionTag(ctx context.Context, c *rest.Call, req *v1.MLflowVersionTagRequest) (*v1.Empty, error) {
	tags, err := newTags([]v1.MLflowTag{{Key: req.Key, Value: req.Value}})
	if err != nil {
		return nil, err
	}
	_, v, err := d.versionToChange(ctx, c, req.Name, req.Version)
	if err == nil {
		err = d.Admit(ctx, v.OwnerID, int64(len(req.Value)))
	}
	if err != nil {
		return nil, err
	}
	return &v1.Empty{}, models.SetVersionEntry(ctx, d.DB, v.ID, req.Key, new(tags[req.Key]))
}

func (d registry) deleteVersionTag(ctx context.Context, c *rest.Call, req *v1.MLflowVersionTagRequest) (*v1.Empty, error) {
	if err := checkKey("tags", req.Key); err != nil {
		return nil, err
	}
	_, v, err := d.versionToChange(ctx, c, req.Name, req.Version)
	if err != nil {
		return nil, err
	}
	return &v1.Empty{}, models.SetVersionEntry(ctx, d.DB, v.ID, req.Key, nil)
}

func (d registry) downloadURI(ctx context.Context, c *rest.Call, req *v1.MLflowVersionRequest) (*v1.MLflowDownloadURI, error) {
	_, v, err := d.version(ctx, c, req.Name, req.Version)
	return &v1.MLflowDownloadURI{URI: v.Location}, err
}

func (d registry) moveVersion(ctx context.Context, c *rest.Call, req *v1.MLflowStageRequest) (*v1.MLflowVersionAnswer, error) {
	stages := []string{"None", "Staging", "Production", "Archived"}
	i := slices.IndexFunc(stages, func(s string) bool { return strings.EqualFold(s, req.Stage) })
	switch {
	case i < 0:
		return nil, fault.New(fault.Invalid, "Invalid Model Version stage: %s. Value must be one of %s.", fault.Clip(req.Stage), strings.Join(stages, ", "))
	case req.Archive && stages[i] != "Staging" && stages[i] != "Production":
		return nil, fault.New(fault.Invalid, "Model version transition cannot archive existing model versions because '%s' is not an Active stage. Valid stages are Staging and Production.", stages[i])
	}
	m, v, err := d.versionOfEdited(ctx, c, req.Name, req.Version)
	if err != nil {
		return nil, err
	}
	if err := setStage(ctx, d.DB, v, stages[i], req.Archive); err != nil {
		return nil, err
	}
	return d.answerVersion(ctx, m, v.Number)
}
