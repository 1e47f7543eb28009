package v1

import "time"

// The endpoints of projects.
var (
	GetProjectByKey = Endpoint[None, GetProjectResponse]{Method: "GET", Path: "/projects/key/:key", Access: ByBoth, Object: KindProject, Verb: View,
		Summary: "Get a project by its key"}
	GetProject = Endpoint[None, GetProjectResponse]{Method: "GET", Path: "/projects/:id", Access: ByBoth, Object: KindProject, Verb: View,
		Summary: "Get a project"}
	ChangeProject = Endpoint[PatchProject, PatchProjectResponse]{Method: "PATCH", Path: "/projects/:id", Access: ByUsers, Object: KindProject, Verb: Change, Again: true, BodyLimit: ReportBody,
		Summary: "Change a project"}
	DeleteProject = Endpoint[None, DeleteProjectResponse]{Method: "DELETE", Path: "/projects/:id", Access: ByUsers, Object: KindProject, Verb: Delete,
		Summary: "Delete a project that has no experiments"}
	ArchiveProject = Endpoint[None, Empty]{Method: "POST", Path: "/projects/:id/archive", Access: ByUsers, Object: KindProject, Verb: Change, Again: true,
		Summary: "Archive a project"}
	UnarchiveProject = Endpoint[None, Empty]{Method: "POST", Path: "/projects/:id/unarchive", Access: ByUsers, Object: KindProject, Verb: Change, Again: true,
		Summary: "Unarchive a project"}
	SetProjectNotes = Endpoint[PutProjectNotesRequest, PutProjectNotesResponse]{Method: "PUT", Path: "/projects/:id/notes", Access: ByUsers, Object: KindProject, Verb: Edit, Again: true, BodyLimit: ReportBody,
		Summary: "Replace the notes of a project"}
	AddProjectNote = Endpoint[Note, AddProjectNoteResponse]{Method: "POST", Path: "/projects/:id/notes", Access: ByUsers, Object: KindProject, Verb: Edit, BodyLimit: ReportBody,
		Summary: "Add a note to a project"}
	ListProjectColumns = Endpoint[GetProjectColumnsRequest, GetProjectColumnsResponse]{Method: "GET", Path: "/projects/:id/columns", Access: ByBoth, Object: KindProject, Verb: View, List: true,
		Summary: "List the columns by which a project's experiments, or its runs, can be searched; project 0 means all projects"}
	ListMetricRanges = Endpoint[None, GetProjectNumericMetricsRangeResponse]{Method: "GET", Path: "/projects/:id/experiments/metric-ranges", Access: ByBoth, Object: KindProject, Verb: View, List: true,
		Summary: "List the smallest and the largest values of the metrics of a project's experiments, over their best trials; project 0 means all projects"}
	ListMetadataValues = Endpoint[None, GetMetadataValuesResponse]{Method: "GET", Path: "/projects/:id/metadata/*", Access: ByBoth, Object: KindProject, Verb: View, List: true,
		Summary: "List the texts that the runs of a project have under a key of their metadata; project 0 means all projects"}
	MoveProject = Endpoint[MoveProjectRequest, Empty]{Method: "POST", Path: "/projects/:id/move", Access: ByUsers, Object: KindProject, Verb: Change, Again: true,
		Summary: "Move a project to another workspace"}
)

type GetProjectResponse struct {
	Project Project `json:"project"`
}

type Note struct {
	Contents string `json:"contents"`
	Name     string `json:"name"`
}

type PostProjectRequest struct {
	Name        string  `json:"name"`
	WorkspaceID int     `json:"workspaceId"`
	Description *string `json:"description,omitempty"`
	Key         *string `json:"key,omitempty"`
}

type PostProjectResponse GetProjectResponse

type Project struct {
	Archived                bool           `json:"archived"`
	ErrorMessage            string         `json:"errorMessage"`
	ID                      int            `json:"id"`
	Immutable               bool           `json:"immutable"`
	Key                     string         `json:"key"`
	Name                    string         `json:"name"`
	Notes                   []Note         `json:"notes"`
	NumActiveExperiments    int            `json:"numActiveExperiments"`
	NumExperiments          int            `json:"numExperiments"`
	NumRuns                 int            `json:"numRuns"`
	State                   WorkspaceState `json:"state"`
	UserID                  int            `json:"userId"`
	Username                string         `json:"username"`
	WorkspaceID             int            `json:"workspaceId"`
	Description             string         `json:"description"`
	LastExperimentStartedAt *time.Time     `json:"lastExperimentStartedAt"`
	WorkspaceName           string         `json:"workspaceName"`
}

// PatchProject changes a project.
type PatchProject struct {
	Description *string `json:"description,omitempty"`
	Key         *string `json:"key,omitempty"`
	Name        *string `json:"name,omitempty"`
}

// PatchProjectResponse is the changed project.
type PatchProjectResponse GetProjectResponse

// DeleteProjectResponse reports whether the deletion is complete.
type DeleteProjectResponse struct {
	Completed bool `json:"completed"`
}

// PutProjectNotesRequest replaces a project's notes.
type PutProjectNotesRequest struct {
	Notes     []Note `json:"notes"`
	ProjectID int    `json:"projectId"`
}

// AddProjectNoteResponse has all notes of the project.
type AddProjectNoteResponse struct {
	Notes []Note `json:"notes"`
}

// PutProjectNotesResponse has all notes of the project.
type PutProjectNotesResponse AddProjectNoteResponse

// MoveRequest names a project.
type MoveRequest struct {
	DestinationProjectID int `json:"destinationProjectId"`
	ExperimentID         int `json:"experimentId"`
}

// MoveManyRequest moves experiments of a project to another project.
type MoveManyRequest struct {
	DestinationProjectID int                    `json:"destinationProjectId"`
	ExperimentIDs        []int                  `json:"experimentIds"`
	Filters              *BulkExperimentFilters `json:"filters,omitempty"`
	ProjectID            int                    `json:"projectId"`
}

// MoveProjectRequest names the workspace to which a project is moved.
type MoveProjectRequest struct {
	DestinationWorkspaceID int `json:"destinationWorkspaceId"`
	ProjectID              int `json:"projectId"`
}
