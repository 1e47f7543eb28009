package workspaces

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"regexp"
	"strings"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/names"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

const keyTries = 20

func wireProject(p Project, in projectContents) v1.Project {
	out := v1.Project{ID: p.ID, Name: p.Name, Key: p.Key, Description: p.Description, Archived: p.Archived || p.WorkspaceArchived, Immutable: p.Immutable,
		UserID: p.OwnerID, Username: p.Owner, WorkspaceID: p.WorkspaceID, WorkspaceName: p.WorkspaceName,
		NumExperiments: in.Experiments, NumActiveExperiments: in.Active, NumRuns: in.Trials,
		LastExperimentStartedAt: in.LastStartedAt, State: deletionState(p.Deleting, p.DeleteError), ErrorMessage: p.DeleteError}
	_ = v1.Unmarshal(p.Notes, &out.Notes) // valid: putProjectNotes has written it
	return out
}

// projectWires are projects with the counts of what they contain.
func (d Deps) projectWires(ctx context.Context, list []Project) ([]v1.Project, error) {
	ids := each.Of(list, func(p Project) int { return p.ID })
	contents, err := contentsOfProjects(ctx, d.DB, ids)
	return each.Of(list, func(p Project) v1.Project { return wireProject(p, contents[p.ID]) }), err
}

func (d Deps) projectWire(ctx context.Context, p Project) (v1.Project, error) {
	contents, err := contentsOfProjects(ctx, d.DB, []int{p.ID})
	return wireProject(p, contents[p.ID]), err
}

func (d Deps) project(ctx context.Context, c *rest.Call, p Project, _ *v1.None) (*v1.GetProjectResponse, error) {
	wire, err := d.projectWire(ctx, p)
	return &v1.GetProjectResponse{Project: wire}, err
}

func (d Deps) listProjects(ctx context.Context, c *rest.Call, in Workspace, req *v1.GetWorkspaceProjectsRequest) (*v1.GetWorkspaceProjectsResponse, error) {
	f := ProjectFilter{WorkspaceID: in.ID, Users: req.Users, UserIDs: req.UserIDs, Name: req.Name, Archived: req.Archived}
	var err error
	if f.Sort, f.Desc, err = rest.Sorting(req.Order, map[string]string{"SORT_BY_ID": "", "SORT_BY_NAME": "name", "SORT_BY_CREATION_TIME": "created",
		"SORT_BY_LAST_EXPERIMENT_START_TIME": "last_started", "SORT_BY_DESCRIPTION": "description"}); err != nil {
		return nil, err
	}
	total, err := CountProjects(ctx, d.DB, c.Scope(), f)
	list, p, err := rest.Paged(req.Window, total, err, func(from, n int) ([]Project, error) {
		return Projects(ctx, d.DB, c.Scope(), f, from, n)
	})
	if err != nil {
		return nil, err
	}
	resp := &v1.GetWorkspaceProjectsResponse{Pagination: p}
	resp.Projects, err = d.projectWires(ctx, list)
	return resp, err
}

var projectKey = regexp.MustCompile(`^[A-Z0-9]{1,5}$`)

func checkProjectKey(key string) (string, error) {
	key = strings.ToUpper(key)
	if !projectKey.MatchString(key) {
		return "", fault.New(fault.Invalid, "key: %q is not one to five letters or digits", fault.Clip(key))
	}
	return key, nil
}

func (d Deps) createProject(ctx context.Context, c *rest.Call, w Workspace, req *v1.PostProjectRequest) (*v1.PostProjectResponse, error) {
	p, err := d.NewProject(ctx, c, w, req)
	return &v1.PostProjectResponse{Project: wireProject(p, projectContents{})}, err
}

// NewProject creates a project of the caller in a workspace, if the caller may.
func (d Deps) NewProject(ctx context.Context, c *rest.Call, w Workspace, req *v1.PostProjectRequest) (Project, error) {
	if err := w.TakesProjects(); err != nil {
		return Project{}, err
	}
	if err := c.May(auth.Create, auth.Object{Kind: v1.KindProject, WorkspaceID: w.ID}); err != nil {
		return Project{}, err
	}
	if err := names.Check("name", req.Name, names.MaxUnique); err != nil {
		return Project{}, err
	}
	p := Project{WorkspaceID: w.ID, Name: req.Name, OwnerID: c.Who().UserID, Description: optional.Value(req.Description)}
	if req.Key != nil && *req.Key != "" {
		key, err := checkProjectKey(*req.Key)
		if err != nil {
			return Project{}, err
		}
		p.Key = key
	}
	if err := d.Admit(ctx, c.Who().UserID, 0); err != nil {
		return Project{}, err
	}
	return d.createKeyed(ctx, p)
}

// Rename gives a project another name.
func Rename(ctx context.Context, db *database.DB, p Project, name string) error {
	if err := p.fixed(); err != nil {
		return err
	}
	if err := names.Check("name", name, names.MaxUnique); err != nil {
		return err
	}
	return ChangeProject(ctx, db, p.ID, ProjectChange{Name: &name})
}

// createKeyed creates a project. If it has no key, it tries keys until one is free: the
// beginning of the name, then with suffixes.
func (d Deps) createKeyed(ctx context.Context, p Project) (Project, error) {
	if p.Key != "" {
		return CreateProject(ctx, d.DB, p)
	}
	stem := strings.Map(func(r rune) rune {
		if (r >= 'A' && r <= 'Z') || (r >= '0' && r <= '9') {
			return r
		}
		return -1
	}, strings.ToUpper(p.Name))
	stem = stem[:min(len(stem), 3)]
	if p.Key = stem; stem == "" {
		p.Key = "P"
	}
	for try := 0; ; try++ {
		made, err := CreateProject(ctx, d.DB, p)
		if !errors.Is(err, ErrKeyTaken) || try == keyTries {
			return made, err
		}
		const letters = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
		key := []byte(stem)
		for len(key) < 5 {
			key = append(key, letters[rand.IntN(len(letters))])
		}
		p.Key = string(key)
	}
}

func (d Deps) patchProject(ctx context.Context, c *rest.Call, p Project, req *v1.PatchProject) (*v1.PatchProjectResponse, error) {
	if err := p.fixed(); err != nil {
		return nil, err
	}
	repeats := (req.Name != nil || req.Description != nil || req.Key != nil) && !differs(req.Name, p.Name) && !differs(req.Description, p.Description) && !differs(req.Key, p.Key)
	if !repeats {
		if err := c.May(auth.Change, p.Object()); err != nil {
			return nil, err
		}
	}
	ch := ProjectChange{Name: req.Name, Description: req.Description}
	if req.Name != nil {
		if err := names.Check("name", *req.Name, names.MaxUnique); err != nil {
			return nil, err
		}
	}
	if err := names.CheckText("description", optional.Value(req.Description)); err != nil {
		return nil, err
	}
	if req.Key != nil {
		key, err := checkProjectKey(*req.Key)
		if err != nil {
			return nil, err
		}
		ch.Key = &key
	}
	if err := ChangeProject(ctx, d.DB, p.ID, ch); err != nil {
		return nil, err
	}
	p, err := ProjectByID(ctx, d.DB, p.ID)
	if err != nil {
		return nil, err
	}
	wire, err := d.projectWire(ctx, p)
	return &v1.PatchProjectResponse{Project: wire}, err
}

// Unarchived fails if the project or its workspace is archived.
func (p Project) Unarchived() error {
	switch {
	case p.WorkspaceArchived:
		return fault.New(fault.Conflict, "workspace %q is archived; unarchive it first", p.WorkspaceName)
	case p.Archived:
		return fault.New(fault.Conflict, "project %q is archived; unarchive it first", p.Name)
	}
	return nil
}

func (d Deps) archiveProject(archived bool) func(context.Context, *rest.Call, Project, *v1.None) (*v1.Empty, error) {
	return func(ctx context.Context, c *rest.Call, p Project, _ *v1.None) (*v1.Empty, error) {
		if p.WorkspaceArchived {
			return nil, p.Unarchived()
		}
		return &v1.Empty{}, ArchiveProject(ctx, d.DB, p.ID, archived)
	}
}

func (d Deps) deleteProject(ctx context.Context, c *rest.Call, p Project, _ *v1.None) (*v1.DeleteProjectResponse, error) {
	d.Note(c, map[string]any{"name": p.Name})
	done, err := d.DeleteProject(ctx, p.ID)
	return &v1.DeleteProjectResponse{Completed: done}, err
}

func (d Deps) putProjectNotes(ctx context.Context, c *rest.Call, p Project, req *v1.PutProjectNotesRequest) (*v1.PutProjectNotesResponse, error) {
	if req.Notes == nil {
		req.Notes = []v1.Note{}
	}
	b, err := storedNotes(req.Notes)
	if err != nil {
		return nil, err
	}
	if err := d.AdmitChange(ctx, c, p.OwnerID, len(b)); err != nil {
		return nil, err
	}
	return &v1.PutProjectNotesResponse{Notes: req.Notes}, ChangeProject(ctx, d.DB, p.ID, ProjectChange{Notes: b})
}

// maxNotes is the number of notes of a project: lists of projects show them all.
const maxNotes = 1000

// storedNotes encodes notes for the database.
func storedNotes(notes []v1.Note) ([]byte, error) {
	if len(notes) > maxNotes {
		return nil, fault.New(fault.TooLarge, "notes: %d notes are over the limit of %d", len(notes), maxNotes)
	}
	size := 0
	for _, n := range notes {
		size += len(n.Name) + len(n.Contents)
	}
	if size > names.MaxText {
		return nil, fault.New(fault.TooLarge, "notes: %d bytes are over the limit of %d", size, names.MaxText)
	}
	return v1.Marshal(notes)
}

func (d Deps) addProjectNote(ctx context.Context, c *rest.Call, p Project, req *v1.Note) (*v1.AddProjectNoteResponse, error) {
	notes := append(wireProject(p, projectContents{}).Notes, *req)
	b, err := storedNotes(notes)
	if err != nil {
		return nil, err
	}
	if err := d.AdmitChange(ctx, c, p.OwnerID, len(b)); err != nil {
		return nil, err
	}
	// A note that another user adds at the same time must not be lost.
	return &v1.AddProjectNoteResponse{Notes: notes}, ChangeProject(ctx, d.DB, p.ID, ProjectChange{Notes: b, NotesWere: p.Notes})
}

// maxVisited bounds the list of the projects that a user has looked at.
const maxVisited = 1000

// postUserActivity notes that a user looked at a project.
func (d Deps) postUserActivity(ctx context.Context, c *rest.Call, req *v1.PostUserActivityRequest) (*v1.None, error) {
	if req.ActivityType != v1.ActivityTypeGet {
		return nil, fault.New(fault.Invalid, "activityType: expected %s", v1.ActivityTypeGet)
	}
	if req.EntityType != v1.EntityTypeProject {
		return nil, fault.New(fault.Invalid, "entityType: expected %s", v1.EntityTypeProject)
	}
	p, err := ProjectByID(ctx, d.DB, req.EntityID)
	if err == nil {
		err = OnProject(d.DB).Allow(c, auth.View, p)
	}
	if err != nil {
		return nil, err
	}
	return &v1.None{}, NoteVisit(ctx, d.DB, c.Who().UserID, p.ID)
}

func (d Deps) visitedProjects(ctx context.Context, c *rest.Call, req *v1.GetVisitedProjectsRequest) (*v1.GetProjectsByUserActivityResponse, error) {
	limit, err := rest.Between("limit", req.Limit, maxVisited, maxVisited)
	if err != nil {
		return nil, err
	}
	list, err := VisitedProjects(ctx, d.DB, c.Scope(), c.Who().UserID, cmp.Or(limit, maxVisited))
	if err != nil {
		return nil, err
	}
	resp := &v1.GetProjectsByUserActivityResponse{}
	resp.Projects, err = d.projectWires(ctx, list)
	return resp, err
}
