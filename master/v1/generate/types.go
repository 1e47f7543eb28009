package main

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/v1"
)

// usedByPages are the endpoints that the pages in the browser call, by the names that
// they have there.
var usedByPages = []struct {
	name string
	line v1.Line
}{
	{"getInfo", v1.GetInfo.Line()},
	{"getMaster", v1.GetMaster.Line()},
	{"login", v1.Login.Line()},
	{"logout", v1.Logout.Line()},
	{"getMe", v1.GetMe.Line()},
	{"listUsers", v1.ListUsers.Line()},
	{"listExperiments", v1.ListExperiments.Line()},
	{"searchExperiments", v1.SearchExperiments.Line()},
	{"getExperiment", v1.GetExperiment.Line()},
	{"deleteExperiment", v1.DeleteExperiment.Line()},
	{"activateExperiment", v1.ActivateExperiment.Line()},
	{"pauseExperiment", v1.PauseExperiment.Line()},
	{"cancelExperiment", v1.CancelExperiment.Line()},
	{"killExperiment", v1.KillExperiment.Line()},
	{"archiveExperiment", v1.ArchiveExperiment.Line()},
	{"unarchiveExperiment", v1.UnarchiveExperiment.Line()},
	{"listTrials", v1.ListTrials.Line()},
	{"listExperimentCheckpoints", v1.ListExperimentCheckpoints.Line()},
	{"listTrialCheckpoints", v1.ListTrialCheckpoints.Line()},
	{"listSearchTrials", v1.ListSearchTrials.Line()},
	{"listExperimentAttempts", v1.ListExperimentAttempts.Line()},
	{"listTaskAttempts", v1.ListTaskAttempts.Line()},
	{"getModelDefTree", v1.GetModelDefTree.Line()},
	{"downloadModelDefFile", v1.DownloadModelDefFile.Line()},
	{"streamProfilerSeries", v1.StreamProfilerSeries.Line()},
	{"streamProfilerMetrics", v1.StreamProfilerMetrics.Line()},
	{"getGlobalConfigPolicies", v1.GetGlobalConfigPolicies.Line()},
	{"putGlobalConfigPolicies", v1.PutGlobalConfigPolicies.Line()},
	{"deleteGlobalConfigPolicies", v1.DeleteGlobalConfigPolicies.Line()},
	{"getWorkspaceConfigPolicies", v1.GetWorkspaceConfigPolicies.Line()},
	{"putWorkspaceConfigPolicies", v1.PutWorkspaceConfigPolicies.Line()},
	{"deleteWorkspaceConfigPolicies", v1.DeleteWorkspaceConfigPolicies.Line()},
	{"getUserSettings", v1.GetUserSettings.Line()},
	{"setUserSettings", v1.SetUserSettings.Line()},
	{"changeExperiment", v1.ChangeExperiment.Line()},
	{"listWorkloads", v1.ListTrialWorkloads.Line()},
	{"getTrial", v1.GetTrial.Line()},
	{"killTrial", v1.KillTrial.Line()},
	{"getTimeSeries", v1.GetTimeSeries.Line()},
	{"listNotebooks", v1.ListNotebooks.Line()},
	{"getNotebook", v1.GetNotebook.Line()},
	{"killNotebook", v1.KillNotebook.Line()},
	{"listShells", v1.ListShells.Line()},
	{"getShell", v1.GetShell.Line()},
	{"killShell", v1.KillShell.Line()},
	{"listTensorboards", v1.ListTensorboards.Line()},
	{"getTensorboard", v1.GetTensorboard.Line()},
	{"killTensorboard", v1.KillTensorboard.Line()},
	{"listCommands", v1.ListCommands.Line()},
	{"getCommand", v1.GetCommand.Line()},
	{"killCommand", v1.KillCommand.Line()},
	{"getTask", v1.GetTask.Line()},
	{"listTasks", v1.ListTasks.Line()},
	{"streamTaskLogs", v1.StreamTaskLogs.Line()}, {"streamTrialLogs", v1.StreamTrialLogs.Line()},
	{"listModels", v1.ListModels.Line()},
	{"createModel", v1.CreateModel.Line()},
	{"getModel", v1.GetModel.Line()},
	{"changeModel", v1.ChangeModel.Line()},
	{"archiveModel", v1.ArchiveModel.Line()},
	{"unarchiveModel", v1.UnarchiveModel.Line()},
	{"deleteModel", v1.DeleteModel.Line()},
	{"listModelVersions", v1.ListModelVersions.Line()},
	{"createModelVersion", v1.CreateModelVersion.Line()},
	{"changeModelVersion", v1.ChangeModelVersion.Line()},
	{"deleteModelVersion", v1.DeleteModelVersion.Line()},
	{"listWorkspaces", v1.ListWorkspaces.Line()},
	{"listPools", v1.ListPools.Line()},
	{"listAgents", v1.ListAgents.Line()},
	{"listJobs", v1.ListJobs.Line()},
	{"createNotebook", v1.CreateNotebook.Line()},
	{"createShell", v1.CreateShell.Line()},
	{"createTensorboard", v1.CreateTensorboard.Line()},
	{"createCommand", v1.CreateCommand.Line()},
	{"createGenericTask", v1.CreateGenericTask.Line()},
	{"listGenericTasks", v1.ListGenericTasks.Line()},
	{"killGenericTask", v1.KillGenericTask.Line()},
	{"addressTask", v1.AddressTask.Line()},
	{"linkTask", v1.LinkTask.Line()},
	{"pauseGenericTask", v1.PauseGenericTask.Line()},
	{"unpauseGenericTask", v1.UnpauseGenericTask.Line()},
	{"createExperiment", v1.CreateExperiment.Line()},
	{"continueExperiment", v1.ContinueExperiment.Line()},
	{"moveExperiments", v1.MoveExperiments.Line()},
	{"pauseExperiments", v1.PauseExperiments.Line()},
	{"activateExperiments", v1.ActivateExperiments.Line()},
	{"cancelExperiments", v1.CancelExperiments.Line()},
	{"killExperiments", v1.KillExperiments.Line()},
	{"archiveExperiments", v1.ArchiveExperiments.Line()},
	{"unarchiveExperiments", v1.UnarchiveExperiments.Line()},
	{"deleteExperiments", v1.DeleteExperiments.Line()},
	{"changeJobs", v1.ChangeJobs.Line()},
	{"listUserSecrets", v1.ListUserSecrets.Line()},
	{"createWorkspace", v1.CreateWorkspace.Line()},
	{"getWorkspace", v1.GetWorkspace.Line()},
	{"changeWorkspace", v1.ChangeWorkspace.Line()},
	{"deleteWorkspace", v1.DeleteWorkspace.Line()},
	{"archiveWorkspace", v1.ArchiveWorkspace.Line()},
	{"unarchiveWorkspace", v1.UnarchiveWorkspace.Line()},
	{"pinWorkspace", v1.PinWorkspace.Line()},
	{"unpinWorkspace", v1.UnpinWorkspace.Line()},
	{"listProjects", v1.ListProjects.Line()},
	{"createProject", v1.CreateProject.Line()},
	{"getProject", v1.GetProject.Line()},
	{"changeProject", v1.ChangeProject.Line()},
	{"deleteProject", v1.DeleteProject.Line()},
	{"archiveProject", v1.ArchiveProject.Line()},
	{"unarchiveProject", v1.UnarchiveProject.Line()},
	{"moveProject", v1.MoveProject.Line()},
	{"setProjectNotes", v1.SetProjectNotes.Line()},
	{"listProjectColumns", v1.ListProjectColumns.Line()},
	{"createUser", v1.CreateUser.Line()},
	{"changeUser", v1.ChangeUser.Line()},
	{"changeUsers", v1.ChangeUsers.Line()},
	{"listTokens", v1.ListTokens.Line()},
	{"createToken", v1.CreateToken.Line()},
	{"changeToken", v1.ChangeToken.Line()},
	{"listWebhooks", v1.ListWebhooks.Line()},
	{"createWebhook", v1.CreateWebhook.Line()},
	{"changeWebhook", v1.ChangeWebhook.Line()},
	{"deleteWebhook", v1.DeleteWebhook.Line()},
	{"testWebhook", v1.TestWebhook.Line()},
	{"listWebhookDeliveries", v1.ListWebhookDeliveries.Line()},
	{"redeliverWebhook", v1.RedeliverWebhook.Line()},
	{"listTemplates", v1.ListTemplates.Line()},
	{"putTemplate", v1.PutTemplate.Line()},
	{"createTemplate", v1.CreateTemplate.Line()},
	{"deleteTemplate", v1.DeleteTemplate.Line()},
	{"renameTemplate", v1.RenameTemplate.Line()},
	{"getClusterMessage", v1.GetClusterMessage.Line()},
	{"setClusterMessage", v1.SetClusterMessage.Line()},
	{"deleteClusterMessage", v1.DeleteClusterMessage.Line()},
	{"resetUserSettings", v1.ResetUserSettings.Line()},
	{"followLive", v1.FollowLive.Line()},
	{"openTerminal", v1.OpenTerminal.Line()},
	{"measureNode", v1.MeasureNode.Line()},
	{"listNodeAttempts", v1.ListNodeAttempts.Line()},
	{"listAudit", v1.ListAudit.Line()},
	{"searchLogs", v1.SearchLogs.Line()},
	{"getAggregatedUsage", v1.GetAggregatedUsage.Line()},
	{"getAggregatedUsageCSV", v1.GetAggregatedUsageCSV.Line()},
	{"listSessions", v1.ListSessions.Line()},
	{"endSession", v1.EndSession.Line()},
	{"listGroups", v1.ListGroups.Line()},
	{"getGroup", v1.GetGroup.Line()},
	{"createGroup", v1.CreateGroup.Line()},
	{"updateGroup", v1.UpdateGroup.Line()},
	{"deleteGroup", v1.DeleteGroup.Line()},
	{"listRoles", v1.ListRoles.Line()},
	{"getRolesByID", v1.GetRolesByID.Line()},
	{"listWorkspaceMembers", v1.ListWorkspaceMembers.Line()},
	{"getPermissionsSummary", v1.GetPermissionsSummary.Line()},
	{"assignRoles", v1.AssignRoles.Line()},
	{"removeAssignments", v1.RemoveAssignments.Line()},
	{"listQuotas", v1.ListQuotas.Line()},
	{"putQuota", v1.PutQuota.Line()},
	{"deleteQuota", v1.DeleteQuota.Line()},
	{"listPoolWorkspaces", v1.ListPoolWorkspaces.Line()},
	{"replacePoolBindings", v1.ReplacePoolBindings.Line()},
	{"listWorkspacePools", v1.ListWorkspacePools.Line()},
}

// inStreams are the records of the streams that the pages follow.
var inStreams = []reflect.Type{reflect.TypeFor[v1.MetricsReport](), reflect.TypeFor[v1.TaskLogsResponse](), reflect.TypeFor[v1.GetTrialProfilerAvailableSeriesResponse](), reflect.TypeFor[v1.GetTrialProfilerMetricsResponse]()}

// typescript is the text of types.ts.
func typescript() string {
	w := &typeWriter{known: map[string]bool{}}
	var endpoints strings.Builder
	for _, u := range usedByPages {
		fmt.Fprintf(&endpoints, "export const %s: Endpoint<%s, %s> = { method: '%s', path: '%s' };\n",
			u.name, w.body(u.line.Req), w.body(u.line.Resp), u.line.Method, u.line.Pattern())
	}
	for _, t := range inStreams {
		w.of(t)
	}
	return `// The part of the master's interface that the pages use. Made from the table of endpoints
// by master/v1/generate.
// 64-bit integers and times travel as strings.

// An endpoint: how it is called, what it takes and what it answers.
export interface Endpoint<Req, Resp> {
  method: string;
  path: string; // :names are to be replaced
  takes?: Req;
  answers?: Resp;
}

` + endpoints.String() + w.String()
}

// A typeWriter writes each message that is mentioned, once.
type typeWriter struct {
	strings.Builder
	known map[string]bool
}

func (w *typeWriter) body(t reflect.Type) string {
	if t == nil {
		return "undefined"
	}
	return w.of(t)
}

// of is the type in TypeScript.
func (w *typeWriter) of(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[time.Time](), reflect.TypeFor[[]byte]():
		return "string"
	case reflect.TypeFor[v1.Struct]():
		return "Record<string, any>"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return w.of(t.Elem())
	case reflect.Slice:
		if e := w.of(t.Elem()); strings.Contains(e, " ") {
			return "(" + e + ")[]"
		} else {
			return e + "[]"
		}
	case reflect.Map:
		return "Record<string, " + w.of(t.Elem()) + ">"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int32:
		return "number"
	case reflect.Float64:
		return "number" // NaN and infinities are strings, which drawing code looks for
	case reflect.Struct:
		if t.Name() == "" {
			return "Record<string, unknown>"
		}
		w.define(t)
		return t.Name()
	}
	return "string"
}

// define writes a message.
func (w *typeWriter) define(t reflect.Type) {
	if w.known[t.Name()] {
		return
	}
	w.known[t.Name()] = true
	var fields strings.Builder
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		kind := f.Type
		text := w.of(kind)
		switch {
		case options == "omitempty":
			name += "?"
		case options == "null" || kind.Kind() == reflect.Pointer:
			text += " | null"
		}
		fmt.Fprintf(&fields, "  %s: %s;\n", name, text)
	}
	fmt.Fprintf(w, "\nexport interface %s {\n%s}\n", t.Name(), fields.String())
}
