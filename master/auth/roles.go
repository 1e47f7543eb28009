package auth

import (
	"slices"

	v1 "github.com/detent-ml/detent/master/v1"
)

// A RoleID is the number of a role; the numbers are Determined's.
type RoleID int

// The roles.
const (
	ClusterAdmin            RoleID = 1
	WorkspaceAdmin          RoleID = 2
	WorkspaceCreator        RoleID = 3
	Viewer                  RoleID = 4
	Editor                  RoleID = 5
	ModelRegistryViewer     RoleID = 6
	EditorRestricted        RoleID = 7
	EditorProjectRestricted RoleID = 9
	TokenCreator            RoleID = 10
)

// A Permission is what a role allows. Roles consist of Determined's permissions.
type Permission struct {
	Type string // PERMISSION_TYPE_ and the rest of its name in the API
	Name string
	// Global: the permission is about the cluster, so a role has it only where it is assigned for
	// the whole cluster.
	Global bool
}

// The permissions of Determined for objects that Detent has.
var (
	administrateUser      = Permission{"ADMINISTRATE_USER", "administrate user", true}
	updateGroup           = Permission{"UPDATE_GROUP", "update group", true}
	viewMasterLogs        = Permission{"VIEW_MASTER_LOGS", "view master logs", true}
	viewClusterUsage      = Permission{"VIEW_CLUSTER_USAGE", "view detailed cluster usage", true}
	updateAgents          = Permission{"UPDATE_AGENTS", "update agents", true}
	viewSensitiveAgent    = Permission{"VIEW_SENSITIVE_AGENT_INFO", "view sensitive agent info", true}
	viewMasterConfig      = Permission{"VIEW_MASTER_CONFIG", "view master config", true}
	updateMasterConfig    = Permission{"UPDATE_MASTER_CONFIG", "update master config", true}
	createWorkspace       = Permission{"CREATE_WORKSPACE", "create workspace", true}
	setAgentUser          = Permission{"SET_WORKSPACE_AGENT_USER_GROUP", "set agent user group on workspace", true}
	bindPools             = Permission{"MODIFY_RP_WORKSPACE_BINDINGS", "modify rp workspace bindings", true}
	modifyGlobalPolicies  = Permission{"MODIFY_GLOBAL_CONFIG_POLICIES", "modify global config policies", true}
	administrateToken     = Permission{"ADMINISTRATE_TOKEN", "administrate access token", true}
	viewWorkspace         = Permission{"VIEW_WORKSPACE", "view workspace", false}
	updateWorkspace       = Permission{"UPDATE_WORKSPACE", "update workspace", false}
	deleteWorkspace       = Permission{"DELETE_WORKSPACE", "delete workspace", false}
	setStorage            = Permission{"SET_WORKSPACE_CHECKPOINT_STORAGE_CONFIG", "set checkpoint storage config on workspace", false}
	setDefaultPool        = Permission{"SET_WORKSPACE_DEFAULT_RESOURCE_POOL", "set default resource pool on workspace", false}
	modifyPolicies        = Permission{"MODIFY_WORKSPACE_CONFIG_POLICIES", "modify workspace config policies", false}
	viewPolicies          = Permission{"VIEW_WORKSPACE_CONFIG_POLICIES", "view workspace config policies", false}
	assignRoles           = Permission{"ASSIGN_ROLES", "assign roles", false}
	createExperiment      = Permission{"CREATE_EXPERIMENT", "create experiment", false}
	viewArtifacts         = Permission{"VIEW_EXPERIMENT_ARTIFACTS", "view experiment artifacts", false}
	viewExperiment        = Permission{"VIEW_EXPERIMENT_METADATA", "view experiment metadata", false}
	updateExperiment      = Permission{"UPDATE_EXPERIMENT", "update experiment", false}
	updateMetadata        = Permission{"UPDATE_EXPERIMENT_METADATA", "update experiment metadata", false}
	deleteExperiment      = Permission{"DELETE_EXPERIMENT", "delete experiment", false}
	createTask            = Permission{"CREATE_NSC", "create notebooks/shells/commands", false}
	viewTask              = Permission{"VIEW_NSC", "view notebooks/shells/commands", false}
	updateTask            = Permission{"UPDATE_NSC", "update notebooks/shells/commands", false}
	createProject         = Permission{"CREATE_PROJECT", "create project", false}
	viewProject           = Permission{"VIEW_PROJECT", "view project", false}
	updateProject         = Permission{"UPDATE_PROJECT", "update project", false}
	deleteProject         = Permission{"DELETE_PROJECT", "delete project", false}
	viewModels            = Permission{"VIEW_MODEL_REGISTRY", "view model registry", false}
	editModels            = Permission{"EDIT_MODEL_REGISTRY", "edit model registry", false}
	createModel           = Permission{"CREATE_MODEL_REGISTRY", "create model registry", false}
	deleteModel           = Permission{"DELETE_MODEL_REGISTRY", "delete model registry", false}
	deleteVersion         = Permission{"DELETE_MODEL_VERSION", "delete model version", false}
	deleteModelOfOthers   = Permission{"DELETE_OTHER_USER_MODEL_REGISTRY", "delete other user model registry", false}
	deleteVersionOfOthers = Permission{"DELETE_OTHER_USER_MODEL_VERSION", "delete other user model version", false}
	viewTemplates         = Permission{"VIEW_TEMPLATES", "view templates", false}
	updateTemplates       = Permission{"UPDATE_TEMPLATES", "update templates", false}
	createTemplates       = Permission{"CREATE_TEMPLATES", "create templates", false}
	deleteTemplates       = Permission{"DELETE_TEMPLATES", "delete templates", false}
	editWebhooks          = Permission{"EDIT_WEBHOOKS", "edit webhooks", false}
	viewWebhooks          = Permission{"VIEW_WEBHOOKS", "view webhooks", false}
	createToken           = Permission{"CREATE_TOKEN", "create long lived token", false}
	updateToken           = Permission{"UPDATE_TOKEN", "update own access token", false}
	viewToken             = Permission{"VIEW_TOKEN", "view own access token", false}
)

// A Role is a fixed set of permissions.
type Role struct {
	ID          RoleID
	Name        string
	Permissions []Permission
}

// Sets of permissions that several roles have.
var (
	viewing = []Permission{viewWorkspace, viewProject, viewExperiment, viewArtifacts, viewTask, viewModels, viewTemplates, viewWebhooks, viewPolicies, viewToken}
	// working is without notebooks, shells and commands, and without projects.
	working = slices.Concat(viewing, []Permission{createExperiment, updateExperiment, updateMetadata, deleteExperiment, createModel, editModels, deleteModel, deleteVersion,
		createTemplates, updateTemplates, deleteTemplates, editWebhooks, createToken, updateToken})
	starting  = []Permission{createTask, updateTask}
	arranging = []Permission{createProject, updateProject}
	leading   = slices.Concat(working, starting, arranging, []Permission{updateWorkspace, deleteWorkspace, setStorage, setDefaultPool, modifyPolicies, deleteProject,
		assignRoles, deleteModelOfOthers, deleteVersionOfOthers})
)

// roles are all roles in the order of their numbers.
var roles = []Role{
	{ClusterAdmin, "ClusterAdmin", slices.Concat(leading, []Permission{administrateUser, updateGroup, viewMasterLogs, viewClusterUsage, updateAgents, viewSensitiveAgent,
		viewMasterConfig, updateMasterConfig, createWorkspace, setAgentUser, bindPools, modifyGlobalPolicies, administrateToken})},
	{WorkspaceAdmin, "WorkspaceAdmin", leading},
	{WorkspaceCreator, "WorkspaceCreator", []Permission{createWorkspace, viewToken}},
	{Viewer, "Viewer", viewing},
	{Editor, "Editor", slices.Concat(working, starting, arranging)},
	{ModelRegistryViewer, "ModelRegistryViewer", []Permission{viewModels, viewToken}},
	{EditorRestricted, "EditorRestricted", slices.Concat(working, arranging)},
	{EditorProjectRestricted, "EditorProjectRestricted", slices.Concat(working, starting)},
	{TokenCreator, "TokenCreator", []Permission{createToken, updateToken, viewToken}},
}

// Roles returns all roles in the order of their numbers.
func Roles() []Role { return slices.Clone(roles) }

// RoleByID finds a role.
func RoleByID(id RoleID) (Role, bool) {
	for _, r := range roles {
		if r.ID == id {
			return r, true
		}
	}
	return Role{}, false
}

// allowing are the roles that have a permission.
var allowing = func() map[Permission][]RoleID {
	m := map[Permission][]RoleID{}
	for _, r := range roles {
		for _, p := range r.Permissions {
			m[p] = append(m[p], r.ID)
		}
	}
	return m
}()

// OnlyGlobal reports whether a role can be assigned only for the whole cluster, because of a
// permission about the cluster.
func (r Role) OnlyGlobal() bool {
	return slices.ContainsFunc(r.Permissions, func(p Permission) bool { return p.Global })
}

// anybody is the permission of every user who is signed in.
var anybody = Permission{}

// needed is the table from objects and verbs to the permission that is needed. Programs report
// about themselves without a permission; a user's report is a change.
var needed = map[Kind]map[Verb]Permission{
	v1.KindWorkspace: {View: viewWorkspace, Create: createWorkspace, Change: updateWorkspace, Delete: deleteWorkspace, Administer: setAgentUser},
	v1.KindProject:   {View: viewProject, Create: createProject, Edit: updateProject, Change: updateProject, Delete: deleteProject},

	v1.KindExperiment: {View: viewExperiment, Create: createExperiment, Change: updateExperiment, Delete: deleteExperiment, Report: updateExperiment},
	v1.KindTrial:      {View: viewExperiment, Change: updateExperiment, Report: updateExperiment},
	v1.KindRun:        {View: viewExperiment, Change: updateExperiment, Delete: deleteExperiment, Report: updateExperiment},
	v1.KindCheckpoint: {View: viewArtifacts, Change: updateExperiment, Report: updateExperiment},

	v1.KindCommand:     {View: viewTask, Create: createTask, Change: updateTask},
	v1.KindNotebook:    {View: viewTask, Create: createTask, Change: updateTask},
	v1.KindShell:       {View: viewTask, Create: createTask, Change: updateTask, Enter: updateTask},
	v1.KindTensorboard: {View: viewTask, Create: createTask, Change: updateTask},
	v1.KindTask:        {View: viewTask, Create: createTask, Change: updateTask, Enter: updateTask, Report: updateTask},
	v1.KindAllocation:  {View: viewTask, Report: updateTask},
	v1.KindMember:      {Report: updateTask},
	v1.KindJob:         {View: viewTask, Change: updateTask},

	v1.KindModel:    {View: viewModels, Create: createModel, Edit: editModels, Change: deleteModel},
	v1.KindTemplate: {View: viewTemplates, Create: createTemplates, Change: updateTemplates},
	v1.KindWebhook:  {View: viewWebhooks, Create: editWebhooks, Change: editWebhooks},

	v1.KindQuota: {View: viewWorkspace, Change: updateWorkspace},

	v1.KindUser:      {View: anybody, Change: administrateUser, Administer: administrateUser},
	v1.KindToken:     {View: administrateToken, Create: createToken, Change: administrateToken},
	v1.KindSession:   {View: administrateUser, Change: administrateUser},
	v1.KindGroup:     {View: anybody, Administer: updateGroup},
	v1.KindRole:      {View: anybody, Assign: assignRoles, Administer: administrateUser},
	v1.KindAgent:     {View: anybody, Administer: updateAgents},
	v1.KindPool:      {View: anybody, Administer: bindPools},
	v1.KindCluster:   {View: anybody, Administer: updateMasterConfig},
	v1.KindMasterLog: {View: viewMasterLogs},
}
