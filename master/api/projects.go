package api

import (
	"context"
	"errors"
	"math/rand/v2"
	"regexp"
	"strings"

	"github.com/detent-ml/detent/master/audit"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/names"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

const keyTries = 20

func (a *API) registerProjects() {
	rest.ServeOn(a.router, v1.GetProjectByKey, a.onProjectByKey(), a.project)
	rest.ServeOn(a.router, v1.GetProject, a.onProject(), a.project)
	rest.ServeOn(a.router, v1.ChangeProject, a.onChangedProject(), a.patchProject)
	rest.ServeOn(a.router, v1.DeleteProject, a.onProject(), a.deleteProject)
	rest.ServeOn(a.router, v1.ArchiveProject, a.onProject(), a.archiveProject(true))
	rest.ServeOn(a.router, v1.UnarchiveProject, a.onProject(), a.archiveProject(false))
	rest.ServeOn(a.router, v1.SetProjectNotes, a.onProject(), a.putProjectNotes)
	rest.ServeOn(a.router, v1.AddProjectNote, a.onProject(), a.addProjectNote)
}

func wireProject(p store.Project, in store.ProjectContents) v1.Project {
	out := v1.Project{ID: p.ID, Name: p.Name, Key: p.Key, Description: p.Description, Archived: p.Archived || p.WorkspaceArchived, Immutable: p.Immutable,
		UserID: p.OwnerID, Username: p.Owner, WorkspaceID: p.WorkspaceID, WorkspaceName: p.WorkspaceName,
		NumExperiments: in.Experiments, NumActiveExperiments: in.Active, NumRuns: in.Trials,
		LastExperimentStartedAt: in.LastStartedAt, State: deletionState(p.Deleting, p.DeleteError), ErrorMessage: p.DeleteError}
	_ = v1.Unmarshal(p.Notes, &out.Notes) // valid: putProjectNotes has written it
	return out
}

// projectWires are projects with the counts of what they contain.
func (a *API) projectWires(ctx context.Context, list []store.Project) ([]v1.Project, error) {
	contents, err := a.db.ProjectContents(ctx, idsOf(list, func(p store.Project) int { return p.ID }))
	var out []v1.Project
	for _, p := range list {
		out = append(out, wireProject(p, contents[p.ID]))
	}
	return out, err
}

func (a *API) projectWire(ctx context.Context, p store.Project) (v1.Project, error) {
	contents, err := a.db.ProjectContents(ctx, []int{p.ID})
	return wireProject(p, contents[p.ID]), err
}

func (a *API) project(ctx context.Context, c *rest.Call, p store.Project, _ *v1.None) (*v1.GetProjectResponse, error) {
	wire, err := a.projectWire(ctx, p)
	return &v1.GetProjectResponse{Project: wire}, err
}

func (a *API) listProjects(ctx context.Context, c *rest.Call, in store.Workspace, req *v1.GetWorkspaceProjectsRequest) (*v1.GetWorkspaceProjectsResponse, error) {
	f := store.ProjectFilter{WorkspaceID: in.ID, Users: req.Users, UserIDs: req.UserIDs, Name: req.Name, Archived: req.Archived}
	var err error
	if f.Sort, f.Desc, err = rest.Sorting(req.Order, map[string]string{"SORT_BY_ID": "", "SORT_BY_NAME": "name", "SORT_BY_CREATION_TIME": "created",
		"SORT_BY_LAST_EXPERIMENT_START_TIME": "last_started", "SORT_BY_DESCRIPTION": "description"}); err != nil {
		return nil, err
	}
	total, err := a.db.CountProjects(ctx, c.Scope(), f)
	list, p, err := rest.Paged(req.Window, total, err, func(from, n int) ([]store.Project, error) { return a.db.Projects(ctx, c.Scope(), f, from, n) })
	if err != nil {
		return nil, err
	}
	resp := &v1.GetWorkspaceProjectsResponse{Pagination: p}
	resp.Projects, err = a.projectWires(ctx, list)
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

func (a *API) createProject(ctx context.Context, c *rest.Call, w store.Workspace, req *v1.PostProjectRequest) (*v1.PostProjectResponse, error) {
	if err := fixedWorkspace(w, cannotAdd); err != nil {
		return nil, err
	}
	if err := c.May(auth.Create, auth.Object{Kind: v1.KindProject, WorkspaceID: w.ID}); err != nil {
		return nil, err
	}
	if err := names.Check("name", req.Name, names.MaxUnique); err != nil {
		return nil, err
	}
	p := store.Project{WorkspaceID: w.ID, Name: req.Name, OwnerID: c.Who().UserID}
	if req.Description != nil {
		p.Description = *req.Description
	}
	if req.Key != nil && *req.Key != "" {
		key, err := checkProjectKey(*req.Key)
		if err != nil {
			return nil, err
		}
		p.Key = key
	}
	if err := a.db.AdmitStored(ctx, c.Who().UserID, 0); err != nil {
		return nil, err
	}
	p, err := a.createKeyed(ctx, p)
	if err != nil {
		return nil, err
	}
	return &v1.PostProjectResponse{Project: wireProject(p, store.ProjectContents{})}, nil
}

// createKeyed creates a project. If it has no key, it tries keys until one is free: the
// beginning of the name, then with suffixes.
func (a *API) createKeyed(ctx context.Context, p store.Project) (store.Project, error) {
	if p.Key != "" {
		return a.db.CreateProject(ctx, p)
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
		made, err := a.db.CreateProject(ctx, p)
		if !errors.Is(err, store.ErrKeyTaken) || try == keyTries {
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

func (a *API) patchProject(ctx context.Context, c *rest.Call, p store.Project, req *v1.PatchProject) (*v1.PatchProjectResponse, error) {
	if err := fixedProject(p); err != nil {
		return nil, err
	}
	repeats := (req.Name != nil || req.Description != nil || req.Key != nil) && !differs(req.Name, p.Name) && !differs(req.Description, p.Description) && !differs(req.Key, p.Key)
	if !repeats {
		if err := c.May(auth.Change, ofProject(p)); err != nil {
			return nil, err
		}
	}
	ch := store.ProjectChange{Name: req.Name, Description: req.Description}
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
	if err := a.db.ChangeProject(ctx, p.ID, ch); err != nil {
		return nil, err
	}
	p, err := a.db.Project(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	wire, err := a.projectWire(ctx, p)
	return &v1.PatchProjectResponse{Project: wire}, err
}

// checkUnarchived rejects changes of archived projects.
func checkUnarchived(p store.Project) error {
	switch {
	case p.WorkspaceArchived:
		return fault.New(fault.Conflict, "workspace %q is archived; unarchive it first", p.WorkspaceName)
	case p.Archived:
		return fault.New(fault.Conflict, "project %q is archived; unarchive it first", p.Name)
	}
	return nil
}

func (a *API) archiveProject(archived bool) func(context.Context, *rest.Call, store.Project, *v1.None) (*v1.Empty, error) {
	return func(ctx context.Context, c *rest.Call, p store.Project, _ *v1.None) (*v1.Empty, error) {
		if p.WorkspaceArchived {
			return nil, checkUnarchived(p)
		}
		return &v1.Empty{}, a.db.ArchiveProject(ctx, p.ID, archived)
	}
}

func (a *API) deleteProject(ctx context.Context, c *rest.Call, p store.Project, _ *v1.None) (*v1.DeleteProjectResponse, error) {
	audit.Note(c, map[string]any{"name": p.Name})
	done, err := a.db.DeleteProject(ctx, p.ID)
	return &v1.DeleteProjectResponse{Completed: done}, err
}

func (a *API) putProjectNotes(ctx context.Context, c *rest.Call, p store.Project, req *v1.PutProjectNotesRequest) (*v1.PutProjectNotesResponse, error) {
	if req.Notes == nil {
		req.Notes = []v1.Note{}
	}
	b, err := storedNotes(req.Notes)
	if err != nil {
		return nil, err
	}
	if err := a.admitChange(ctx, c, p.OwnerID, len(b)); err != nil {
		return nil, err
	}
	return &v1.PutProjectNotesResponse{Notes: req.Notes}, a.db.ChangeProject(ctx, p.ID, store.ProjectChange{Notes: b})
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

func (a *API) addProjectNote(ctx context.Context, c *rest.Call, p store.Project, req *v1.Note) (*v1.AddProjectNoteResponse, error) {
	notes := append(wireProject(p, store.ProjectContents{}).Notes, *req)
	b, err := storedNotes(notes)
	if err != nil {
		return nil, err
	}
	if err := a.admitChange(ctx, c, p.OwnerID, len(b)); err != nil {
		return nil, err
	}
	// A note that another user adds at the same time must not be lost.
	if err := a.db.ChangeProject(ctx, p.ID, store.ProjectChange{Notes: b, NotesWere: p.Notes}); err != nil {
		return nil, err
	}
	return &v1.AddProjectNoteResponse{Notes: notes}, nil
}
