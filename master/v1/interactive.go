package v1

import "time"

// The endpoints of tasks that people work in.
var (
	// Commands.
	ListCommands = Endpoint[GetCommandsRequest, GetCommandsResponse]{Method: "GET", Path: "/commands", Access: ByBoth, Object: KindCommand, Verb: View, List: true,
		Summary: "List commands"}
	CreateCommand = Endpoint[LaunchCommandRequest, LaunchCommandResponse]{Method: "POST", Path: "/commands", Access: ByUsers, Object: KindCommand, Verb: Create, Files: "files",
		Summary: "Run a command"}
	GetCommand = Endpoint[None, GetCommandResponse]{Method: "GET", Path: "/commands/:id", Access: ByBoth, Object: KindCommand, Verb: View,
		Summary: "Get a command"}
	KillCommand = Endpoint[None, KillCommandResponse]{Method: "POST", Path: "/commands/:id/kill", Access: ByUsers, Object: KindCommand, Verb: Change, Again: true,
		Summary: "Kill a command"}
	PrioritizeCommand = Endpoint[PriorityRequest, KillCommandResponse]{Method: "POST", Path: "/commands/:id/set_priority", Access: ByUsers, Object: KindCommand, Verb: Change, Again: true,
		Summary: "Set the priority of a command"}

	// Notebooks.
	ListNotebooks = Endpoint[GetCommandsRequest, GetNotebooksResponse]{Method: "GET", Path: "/notebooks", Access: ByBoth, Object: KindNotebook, Verb: View, List: true,
		Summary: "List notebooks"}
	CreateNotebook = Endpoint[LaunchNotebookRequest, LaunchNotebookResponse]{Method: "POST", Path: "/notebooks", Access: ByUsers, Object: KindNotebook, Verb: Create, Files: "files",
		Summary: "Start a notebook"}
	GetNotebook = Endpoint[None, GetNotebookResponse]{Method: "GET", Path: "/notebooks/:id", Access: ByBoth, Object: KindNotebook, Verb: View,
		Summary: "Get a notebook"}
	KillNotebook = Endpoint[None, NotebookResponse]{Method: "POST", Path: "/notebooks/:id/kill", Access: ByUsers, Object: KindNotebook, Verb: Change, Again: true,
		Summary: "Kill a notebook"}
	PrioritizeNotebook = Endpoint[PriorityRequest, NotebookResponse]{Method: "POST", Path: "/notebooks/:id/set_priority", Access: ByUsers, Object: KindNotebook, Verb: Change, Again: true,
		Summary: "Set the priority of a notebook"}
	ReportNotebookIdle = Endpoint[IdleNotebookRequest, None]{Method: "PUT", Path: "/notebooks/:id/report_idle", Access: ByTasks, Object: KindTask, Verb: Report,
		Summary: "Report that a notebook is idle"}

	// Shells.
	ListShells = Endpoint[GetCommandsRequest, GetShellsResponse]{Method: "GET", Path: "/shells", Access: ByBoth, Object: KindShell, Verb: View, List: true,
		Summary: "List shells"}
	CreateShell = Endpoint[LaunchShellRequest, LaunchShellResponse]{Method: "POST", Path: "/shells", Access: ByUsers, Object: KindShell, Verb: Create, Files: "files",
		Summary: "Start a shell"}
	GetShell = Endpoint[None, GetShellResponse]{Method: "GET", Path: "/shells/:id", Access: ByBoth, Object: KindShell, Verb: View,
		Summary: "Get a shell, with its private key for users who may log in to it"}
	KillShell = Endpoint[None, ShellResponse]{Method: "POST", Path: "/shells/:id/kill", Access: ByUsers, Object: KindShell, Verb: Change, Again: true,
		Summary: "Kill a shell"}
	PrioritizeShell = Endpoint[PriorityRequest, ShellResponse]{Method: "POST", Path: "/shells/:id/set_priority", Access: ByUsers, Object: KindShell, Verb: Change, Again: true,
		Summary: "Set the priority of a shell"}
	OpenTerminal = Endpoint[OpenTerminalRequest, None]{Method: "GET", Path: "/detent/shells/:id/terminal", Access: ByUsers, Object: KindShell, Verb: Enter, Stream: true, Audit: AuditOthers,
		Summary: "Open a terminal in a shell: a WebSocket, for the pages"}
	ReportShellIdle = Endpoint[IdleNotebookRequest, None]{Method: "PUT", Path: "/shells/:id/report_idle", Access: ByTasks, Object: KindTask, Verb: Report,
		Summary: "Report that a shell is idle"}

	// TensorBoards.
	ListTensorboards = Endpoint[GetCommandsRequest, GetTensorboardsResponse]{Method: "GET", Path: "/tensorboards", Access: ByBoth, Object: KindTensorboard, Verb: View, List: true,
		Summary: "List TensorBoards"}
	CreateTensorboard = Endpoint[LaunchTensorboardRequest, LaunchTensorboardResponse]{Method: "POST", Path: "/tensorboards", Access: ByUsers, Object: KindTensorboard, Verb: Create, Files: "files",
		Summary: "Start a TensorBoard for experiments and trials"}
	GetTensorboard = Endpoint[None, GetTensorboardResponse]{Method: "GET", Path: "/tensorboards/:id", Access: ByBoth, Object: KindTensorboard, Verb: View,
		Summary: "Get a TensorBoard"}
	KillTensorboard = Endpoint[None, TensorboardResponse]{Method: "POST", Path: "/tensorboards/:id/kill", Access: ByUsers, Object: KindTensorboard, Verb: Change, Again: true,
		Summary: "Kill a TensorBoard"}
	PrioritizeTensorboard = Endpoint[PriorityRequest, TensorboardResponse]{Method: "POST", Path: "/tensorboards/:id/set_priority", Access: ByUsers, Object: KindTensorboard, Verb: Change, Again: true,
		Summary: "Set the priority of a TensorBoard"}
	ReportTensorboardIdle = Endpoint[IdleNotebookRequest, None]{Method: "PUT", Path: "/tensorboards/:id/report_idle", Access: ByTasks, Object: KindTask, Verb: Report,
		Summary: "Report that a TensorBoard is idle"}
)

// Command is a program that a user runs as a task.
type Command struct {
	Description  string     `json:"description"`
	ID           string     `json:"id"`
	JobID        string     `json:"jobId"`
	ResourcePool string     `json:"resourcePool"`
	StartTime    time.Time  `json:"startTime"`
	State        TaskState  `json:"state"`
	Username     string     `json:"username"`
	WorkspaceID  int        `json:"workspaceId"`
	Container    *Container `json:"container"`
	DisplayName  string     `json:"displayName"`
	ExitStatus   string     `json:"exitStatus"`
	UserID       int        `json:"userId"`
}

// LaunchCommandRequest is the body of POST /commands. Old clients send Data, which the master ignores.
type LaunchCommandRequest struct {
	Config       Struct  `json:"config,omitempty"`
	TemplateName *string `json:"templateName,omitempty"`
	Files        []File  `json:"files,omitempty"`
	Data         []byte  `json:"data,omitempty"`
	Preview      *bool   `json:"preview,omitempty"`
	WorkspaceID  *int    `json:"workspaceId,omitempty"`
}

// LaunchCommandResponse is the response. Determined has no Remarks.
type LaunchCommandResponse struct {
	Command  Command         `json:"command"`
	Config   Struct          `json:"config"`
	Warnings []LaunchWarning `json:"warnings"`
	Remarks  []string        `json:"remarks"`
}

// GetCommandsResponse is the response of GET /commands.
type GetCommandsResponse struct {
	Commands   []Command  `json:"commands"`
	Pagination Pagination `json:"pagination"`
}

// KillCommandResponse is the response to a change of a command: a kill, a priority.
type KillCommandResponse struct {
	Command Command `json:"command"`
}

// GetCommandResponse is the response of GET /commands/{id}.
type GetCommandResponse struct {
	Command Command `json:"command"`
	Config  Struct  `json:"config"`
}

// PriorityRequest sets the priority of a task.
type PriorityRequest struct {
	Priority int `json:"priority"`
}

// Notebook is a JupyterLab of a user.
type Notebook struct {
	Description    string     `json:"description"`
	ID             string     `json:"id"`
	JobID          string     `json:"jobId"`
	ResourcePool   string     `json:"resourcePool"`
	StartTime      time.Time  `json:"startTime"`
	State          TaskState  `json:"state"`
	Username       string     `json:"username"`
	WorkspaceID    int        `json:"workspaceId"`
	Container      *Container `json:"container"`
	DisplayName    string     `json:"displayName"`
	ExitStatus     string     `json:"exitStatus"`
	ServiceAddress string     `json:"serviceAddress"` // path on the master: /proxy/<id>/
	UserID         int        `json:"userId"`
}

// LaunchNotebookRequest is the body of POST /notebooks.
type LaunchNotebookRequest struct {
	Config       Struct  `json:"config,omitempty"`
	Files        []File  `json:"files,omitempty"`
	Preview      *bool   `json:"preview,omitempty"`
	TemplateName *string `json:"templateName,omitempty"`
	WorkspaceID  *int    `json:"workspaceId,omitempty"`
}

// LaunchNotebookResponse is the response. Determined has no Remarks.
type LaunchNotebookResponse struct {
	Notebook Notebook        `json:"notebook"`
	Config   Struct          `json:"config"`
	Warnings []LaunchWarning `json:"warnings"`
	Remarks  []string        `json:"remarks"`
}

// GetNotebooksResponse is the response of GET /notebooks.
type GetNotebooksResponse struct {
	Notebooks  []Notebook `json:"notebooks"`
	Pagination Pagination `json:"pagination"`
}

// GetNotebookResponse is the response of GET /notebooks/{id}.
type GetNotebookResponse struct {
	Notebook Notebook `json:"notebook"`
	Config   Struct   `json:"config"`
}

// NotebookResponse is the response to a change of a notebook: a kill, a priority.
type NotebookResponse struct {
	Notebook Notebook `json:"notebook"`
}

// IdleNotebookRequest is the body of PUT /notebooks/{id}/report_idle: a task reports that it
// was not used for the configured time.
type IdleNotebookRequest struct {
	NotebookID string `json:"notebookId"`
	Idle       bool   `json:"idle"`
}

// Shell is an SSH server of a user in a task. Only its owner and admins receive its private
// key, in the response for one shell.
type Shell struct {
	Description    string     `json:"description"`
	ID             string     `json:"id"`
	JobID          string     `json:"jobId"`
	ResourcePool   string     `json:"resourcePool"`
	StartTime      time.Time  `json:"startTime"`
	State          TaskState  `json:"state"`
	Username       string     `json:"username"`
	WorkspaceID    int        `json:"workspaceId"`
	Addresses      []Struct   `json:"addresses"`
	AgentUserGroup Struct     `json:"agentUserGroup"`
	Container      *Container `json:"container"`
	DisplayName    string     `json:"displayName"`
	ExitStatus     string     `json:"exitStatus"`
	PrivateKey     string     `json:"privateKey"`
	PublicKey      string     `json:"publicKey"`
	HostKey        string     `json:"hostKey"` // public key of the SSH server; not in Determined
	UserID         int        `json:"userId"`
}

// LaunchShellRequest is the body of POST /shells. Old clients send keys as Data, which the
// master ignores: it creates the keys.
type LaunchShellRequest LaunchCommandRequest

// LaunchShellResponse is the response. Determined has no Remarks.
type LaunchShellResponse struct {
	Shell    Shell           `json:"shell"`
	Config   Struct          `json:"config"`
	Warnings []LaunchWarning `json:"warnings"`
	Remarks  []string        `json:"remarks"`
}

// GetShellsResponse is the response of GET /shells.
type GetShellsResponse struct {
	Shells     []Shell    `json:"shells"`
	Pagination Pagination `json:"pagination"`
}

// GetShellResponse is the response of GET /shells/{id}.
type GetShellResponse struct {
	Shell  Shell  `json:"shell"`
	Config Struct `json:"config"`
}

// ShellResponse is the response to a change of a shell: a kill, a priority.
type ShellResponse struct {
	Shell Shell `json:"shell"`
}

// Tensorboard is a TensorBoard of a user, with the experiments and trials that it shows.
type Tensorboard struct {
	Description    string     `json:"description"`
	ID             string     `json:"id"`
	JobID          string     `json:"jobId"`
	ResourcePool   string     `json:"resourcePool"`
	StartTime      time.Time  `json:"startTime"`
	State          TaskState  `json:"state"`
	Username       string     `json:"username"`
	WorkspaceID    int        `json:"workspaceId"`
	Container      *Container `json:"container"`
	DisplayName    string     `json:"displayName"`
	ExitStatus     string     `json:"exitStatus"`
	ExperimentIDs  []int      `json:"experimentIds"`
	ServiceAddress string     `json:"serviceAddress"` // path on the master: /proxy/<id>/
	TrialIDs       []int      `json:"trialIds"`
	UserID         int        `json:"userId"`
}

// LaunchTensorboardRequest is the body of POST /tensorboards.
type LaunchTensorboardRequest struct {
	Config        Struct                 `json:"config,omitempty"`
	ExperimentIDs []int                  `json:"experimentIds,omitempty"`
	Files         []File                 `json:"files,omitempty"`
	Filters       *BulkExperimentFilters `json:"filters,omitempty"` // selects further experiments
	Preview       *bool                  `json:"preview,omitempty"`
	TemplateName  *string                `json:"templateName,omitempty"`
	TrialIDs      []int                  `json:"trialIds,omitempty"`
	WorkspaceID   *int                   `json:"workspaceId,omitempty"`
}

// LaunchTensorboardResponse is the response. Determined has no Remarks.
type LaunchTensorboardResponse struct {
	Tensorboard Tensorboard     `json:"tensorboard"`
	Config      Struct          `json:"config"`
	Warnings    []LaunchWarning `json:"warnings"`
	Remarks     []string        `json:"remarks"`
}

// GetTensorboardsResponse is the response of GET /tensorboards.
type GetTensorboardsResponse struct {
	Tensorboards []Tensorboard `json:"tensorboards"`
	Pagination   Pagination    `json:"pagination"`
}

// GetTensorboardResponse is the response of GET /tensorboards/{id}.
type GetTensorboardResponse struct {
	Tensorboard Tensorboard `json:"tensorboard"`
	Config      Struct      `json:"config"`
}

// TensorboardResponse is the response to a change of a TensorBoard: a kill, a priority.
type TensorboardResponse struct {
	Tensorboard Tensorboard `json:"tensorboard"`
}
