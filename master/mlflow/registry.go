package mlflow

import (
	"cmp"
	"context"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/mlflow/filter"
	"github.com/detent-ml/detent/master/models"
	"github.com/detent-ml/detent/master/names"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

// The models of MLflow's registry are those of the registry that everybody sees. Their tags are the metadata; entries that are no texts
// are shown as JSON.

// registry has the endpoints of the model registry.
type registry struct{ Deps }

func itoa(n int) string { return strconv.Itoa(n) }

// tagsIn are the entries of metadata as tags.
func tagsIn(metadata []byte) ([]v1.MLflowTag, error) {
	var all map[string]any
	if err := json.Unmarshal(metadata, &all); err != nil {
		return nil, err
	}
	tags := map[string]string{}
	for key, v := range all {
		text, is := v.(string)
		if !is {
			b, _ := json.Marshal(v) // it was read as JSON
			text = string(b)
		}
		tags[key] = text
	}
	return tagsOf(tags), nil
}

// registered finds a model of the registry that a caller may view.
func (d registry) registered(ctx context.Context, c *rest.Call, name string) (models.Model, error) {
	missing := fault.New(fault.NotFound, "Registered Model with name=%s not found", fault.Clip(name))
	if strings.IndexByte(name, 0) >= 0 {
		return models.Model{}, missing
	}
	m, err := models.ByName(ctx, d.DB, name)
	if fault.Is(err, fault.NotFound) || err == nil && !auth.Can(c.Who(), auth.View, models.Object(m)) {
		return m, missing
	}
	return m, err
}

// editing finds a model that a caller may change. The program of a trial acts in the name of its owner.
func (d registry) editing(ctx context.Context, c *rest.Call, name string, verb auth.Verb) (models.Model, error) {
	m, err := d.registered(ctx, c, name)
	if err == nil {
		err = auth.May(acting(c.Who()), verb, models.Object(m))
	}
	return m, err
}

// showRegistered shows models with their newest versions and aliases.
func (d registry) showRegistered(ctx context.Context, list []models.Model) ([]v1.MLflowRegistered, error) {
	ids := each.Of(list, func(m models.Model) int { return m.ID })
	newest, err := latestOf(ctx, d.DB, ids)
	if err != nil {
		return nil, err
	}
	aliases, err := aliasesOf(ctx, d.DB, ids)
	if err != nil {
		return nil, err
	}
	out := make([]v1.MLflowRegistered, 0, len(list))
	for _, m := range list {
		tags, err := tagsIn(m.Metadata)
		if err != nil {
			return nil, err
		}
		w := v1.MLflowRegistered{Name: m.Name, CreatedAt: millis(m.CreatedAt), ModifiedAt: millis(m.ModifiedAt), UserID: m.Owner, Description: m.Description,
			Tags: tags, Aliases: wireAliases(aliases, m.ID), Latest: []v1.MLflowVersion{}}
		for _, v := range newest {
			if v.ModelID != m.ID {
				continue
			}
			shown, err := v.wire()
			if err != nil {
				return nil, err
			}
			w.Latest = append(w.Latest, shown)
		}
		out = append(out, w)
	}
	return out, nil
}

func (d registry) answerRegistered(ctx context.Context, id int) (*v1.MLflowRegisteredAnswer, error) {
	m, err := models.Get(ctx, d.DB, id)
	if err != nil {
		return nil, err
	}
	list, err := d.showRegistered(ctx, []models.Model{m})
	if err != nil {
		return nil, err
	}
	return &v1.MLflowRegisteredAnswer{Model: list[0]}, nil
}

func (d registry) createRegistered(ctx context.Context, c *rest.Call, req *v1.MLflowCreateRegisteredRequest) (*v1.MLflowRegisteredAnswer, error) {
	tags, err := newTags(req.Tags)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(models.CheckName(req.Name), names.CheckText("description", req.Description)); err != nil {
		return nil, err
	}
	if tags[tagPrompt] == "true" {
		return nil, fault.New(fault.Unimplemented, "prompts are not stored here; docs/mlflow.md lists what is")
	}
	workspace, err := d.placeOfModel(ctx, c)
	if err == nil {
		err = d.Admit(ctx, c.Who().UserID, int64(len(req.Description)+(change{tags: tags}).size()))
	}
	if err != nil {
		return nil, err
	}
	m := models.Model{Name: req.Name, WorkspaceID: workspace, OwnerID: c.Who().UserID, Description: req.Description}
	if m.Metadata, err = json.Marshal(tags); err != nil {
		return nil, err
	}
	err = d.DB.Tx(ctx, func(tx *database.DB) (err error) {
		if err := workspaces.Lock(ctx, tx, workspace); err != nil {
			return err
		}
		m.ID, err = models.Insert(ctx, tx, m)
		return err
	})
	if fault.Is(err, fault.Conflict) {
		err = fault.New(fault.Conflict, "Registered Model (name=%s) already exists.", fault.Clip(req.Name))
	}
	if err != nil {
		return nil, err
	}
	return d.answerRegistered(ctx, m.ID)
}

// placeOfModel is the workspace of a new model: Home if the caller may create models there, else that of models without a workspace.
func (d registry) placeOfModel(ctx context.Context, c *rest.Call) (int, error) {
	who := acting(c.Who())
	in := func(id int) auth.Object { return auth.Object{Kind: v1.KindModel, WorkspaceID: id} }
	w, err := workspaceNamed(ctx, d.DB, auth.ScopeOf(who, auth.View, v1.KindWorkspace), Home)
	if err == nil && !w.Archived && auth.Can(who, auth.Create, in(w.ID)) {
		return w.ID, nil
	}
	if err != nil && !fault.Is(err, fault.NotFound) {
		return 0, err
	}
	return workspaces.Default, auth.May(who, auth.Create, in(workspaces.Default))
}

func (d registry) getRegistered(ctx context.Context, c *rest.Call, req *v1.MLflowNameRequest) (*v1.MLflowRegisteredAnswer, error) {
	m, err := d.registered(ctx, c, req.Name)
	if err != nil {
		return nil, err
	}
	return d.answerRegistered(ctx, m.ID)
}

const (
	usualRegistered = 100
	maxRegistered   = 200_000 // clients of versions ask for so many
)

// registrySearch parses a search of the registry.
func registrySearch(req *v1.MLflowSearchRegisteredRequest) (s runSearch, err error) {
	if s.page, err = pageOf(req.PageToken, req.MaxResults, usualRegistered, maxRegistered); err != nil {
		return s, err
	}
	s.limit = min(s.limit, maxInPage)
	if s.filter, err = filter.Parse(req.Filter); err != nil {
		return s, err
	}
	s.order, err = orders(req.OrderBy)
	return s, err
}

func (d registry) searchRegistered(ctx context.Context, c *rest.Call, req *v1.MLflowSearchRegisteredRequest) (*v1.MLflowRegisteredModels, error) {
	s, err := registrySearch(req)
	if err != nil {
		return nil, err
	}
	ids, more, err := searchRegistry(ctx, d.DB, c.Scope(), s, false)
	if err != nil {
		return nil, err
	}
	list, err := models.ByIDs(ctx, d.DB, ids)
	if err != nil {
		return nil, err
	}
	shown, err := d.showRegistered(ctx, list)
	return &v1.MLflowRegisteredModels{Models: shown, Next: s.next(len(ids), more)}, err
}

// update changes a model.
func (d registry) updateRegistered(ctx context.Context, c *rest.Call, name string, ch models.Change) (*v1.MLflowRegisteredAnswer, error) {
	m, err := d.editing(ctx, c, name, auth.Edit)
	if err == nil && ch.Description != nil {
		err = d.Admit(ctx, m.OwnerID, int64(len(*ch.Description)))
	}
	if err == nil {
		err = models.Update(ctx, d.DB, m, ch)
	}
	if err != nil {
		return nil, err
	}
	return d.answerRegistered(ctx, m.ID)
}

func (d registry) changeRegistered(ctx context.Context, c *rest.Call, req *v1.MLflowUpdateRegisteredRequest) (*v1.MLflowRegisteredAnswer, error) {
	if err := names.CheckText("description", req.Description); err != nil {
		return nil, err
	}
	return d.updateRegistered(ctx, c, req.Name, models.Change{Description: &req.Description})
}

func (d registry) renameRegistered(ctx context.Context, c *rest.Call, req *v1.MLflowRenameRegisteredRequest) (*v1.MLflowRegisteredAnswer, error) {
	if err := models.CheckName(req.NewName); err != nil {
		return nil, err
	}
	return d.updateRegistered(ctx, c, req.Name, models.Change{Name: &req.NewName})
}

func (d registry) deleteRegistered(ctx context.Context, c *rest.Call, req *v1.MLflowDeleteRegisteredRequest) (*v1.Empty, error) {
	m, err := d.editing(ctx, c, req.Name, auth.Change)
	if err != nil {
		return nil, err
	}
	return &v1.Empty{}, models.Remove(ctx, d.DB, m.ID)
}

func (d registry) setRegisteredTag(ctx context.Context, c *rest.Call, req *v1.MLflowRegisteredTagRequest) (*v1.Empty, error) {
	tags, err := newTags([]v1.MLflowTag{{Key: req.Key, Value: req.Value}})
	if err != nil {
		return nil, err
	}
	m, err := d.editing(ctx, c, req.Name, auth.Edit)
	if err == nil {
		err = d.Admit(ctx, m.OwnerID, int64(len(req.Value)))
	}
	if err != nil {
		return nil, err
	}
	return &v1.Empty{}, models.SetEntry(ctx, d.DB, m, req.Key, new(tags[req.Key]))
}

func (d registry) deleteRegisteredTag(ctx context.Context, c *rest.Call, req *v1.MLflowRegisteredTagRequest) (*v1.Empty, error) {
	if err := checkKey("tags", req.Key); err != nil {
		return nil, err
	}
	m, err := d.editing(ctx, c, req.Name, auth.Edit)
	if err != nil {
		return nil, err
	}
	return &v1.Empty{}, models.SetEntry(ctx, d.DB, m, req.Key, nil)
}

// aliasName matches the names that an alias may have; v and a number would be read as a version.
var (
	aliasName   = regexp.MustCompile(`^[\w-]{1,250}$`)
	versionName = regexp.MustCompile(`^[vV]\d+$`)
)

func (d registry) setAlias(ctx context.Context, c *rest.Call, req *v1.MLflowAliasRequest) (*v1.Empty, error) {
	if !aliasName.MatchString(req.Alias) || versionName.MatchString(req.Alias) || strings.EqualFold(req.Alias, "latest") {
		return nil, fault.New(fault.Invalid, "Invalid alias name: %q. An alias has letters, digits, _ and -, and is not latest or a version such as v1.", fault.Clip(req.Alias))
	}
	m, v, err := d.versionOfEdited(ctx, c, req.Name, req.Version)
	if err != nil {
		return nil, err
	}
	return &v1.Empty{}, setAlias(ctx, d.DB, m.ID, req.Alias, v.Number)
}

func (d registry) deleteAlias(ctx context.Context, c *rest.Call, req *v1.MLflowAliasRequest) (*v1.Empty, error) {
	m, err := d.editing(ctx, c, req.Name, auth.Edit)
	if err != nil {
		return nil, err
	}
	return &v1.Empty{}, dropAlias(ctx, d.DB, m.ID, req.Alias)
}

// routes adds the endpoints.
func (d registry) routes(r *rest.Router) {
	rest.Serve(r, v1.CreateMLflowRegistered, d.createRegistered)
	rest.Serve(r, v1.GetMLflowRegistered, d.getRegistered)
	rest.Serve(r, v1.SearchMLflowRegistered, d.searchRegistered)
	rest.Serve(r, v1.ChangeMLflowRegistered, d.changeRegistered)
	rest.Serve(r, v1.RenameMLflowRegistered, d.renameRegistered)
	rest.Serve(r, v1.DeleteMLflowRegistered, d.deleteRegistered)
	rest.Serve(r, v1.SetMLflowRegisteredTag, d.setRegisteredTag)
	rest.Serve(r, v1.DeleteMLflowRegisteredTag, d.deleteRegisteredTag)
	rest.Serve(r, v1.ListMLflowLatest, d.listLatest)
	rest.Serve(r, v1.FindMLflowLatest, d.findLatest)
	rest.Serve(r, v1.SetMLflowAlias, d.setAlias)
	rest.Serve(r, v1.DeleteMLflowAlias, d.deleteAlias)
	rest.Serve(r, v1.GetMLflowByAlias, d.getByAlias)
	rest.Serve(r, v1.CreateMLflowVersion, d.createVersion)
	rest.Serve(r, v1.GetMLflowModelVersion, d.getVersion)
	rest.Serve(r, v1.SearchMLflowVersions, d.searchVersions)
	rest.Serve(r, v1.ChangeMLflowVersion, d.changeVersion)
	rest.Serve(r, v1.DeleteMLflowVersion, d.deleteVersion)
	rest.Serve(r, v1.SetMLflowVersionTag, d.setVersionTag)
	rest.Serve(r, v1.DeleteMLflowVersionTag, d.deleteVersionTag)
	rest.Serve(r, v1.GetMLflowDownloadURI, d.downloadURI)
	rest.Serve(r, v1.MoveMLflowVersion, d.moveVersion)
}
