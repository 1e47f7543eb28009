package v1

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
