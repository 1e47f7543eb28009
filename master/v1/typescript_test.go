package v1

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write webui/src/lib/types.ts anew")

const typesOfPages = "../../webui/src/lib/types.ts"

// usedByPages are the endpoints that the pages in the browser call, by the names that
// they have there.
var usedByPages = []struct {
	name string
	line Line
}{
	{"getInfo", GetInfo.Line()},
	{"getMaster", GetMaster.Line()},
	{"login", Login.Line()},
	{"logout", Logout.Line()},
	{"getMe", GetMe.Line()},
	{"listUsers", ListUsers.Line()},
	{"listExperiments", ListExperiments.Line()},
	{"searchExperiments", SearchExperiments.Line()},
	{"getExperiment", GetExperiment.Line()},
	{"deleteExperiment", DeleteExperiment.Line()},
	{"activateExperiment", ActivateExperiment.Line()},
	{"pauseExperiment", PauseExperiment.Line()},
	{"cancelExperiment", CancelExperiment.Line()},
	{"killExperiment", KillExperiment.Line()},
	{"archiveExperiment", ArchiveExperiment.Line()},
	{"unarchiveExperiment", UnarchiveExperiment.Line()},
	{"listTrials", ListTrials.Line()},
	{"listExperimentCheckpoints", ListExperimentCheckpoints.Line()},
	{"listTrialCheckpoints", ListTrialCheckpoints.Line()},
	{"listSearchTrials", ListSearchTrials.Line()},
	{"listExperimentAttempts", ListExperimentAttempts.Line()},
	{"listTaskAttempts", ListTaskAttempts.Line()},
	{"getModelDefTree", GetModelDefTree.Line()},
	{"downloadModelDefFile", DownloadModelDefFile.Line()},
	{"streamProfilerSeries", StreamProfilerSeries.Line()},
	{"streamProfilerMetrics", StreamProfilerMetrics.Line()},
	{"getGlobalConfigPolicies", GetGlobalConfigPolicies.Line()},
	{"putGlobalConfigPolicies", PutGlobalConfigPolicies.Line()},
	{"deleteGlobalConfigPolicies", DeleteGlobalConfigPolicies.Line()},
	{"getWorkspaceConfigPolicies", GetWorkspaceConfigPolicies.Line()},
	{"putWorkspaceConfigPolicies", PutWorkspaceConfigPolicies.Line()},
	{"deleteWorkspaceConfigPolicies", DeleteWorkspaceConfigPolicies.Line()},
	{"getUserSettings", GetUserSettings.Line()},
	{"setUserSettings", SetUserSettings.Line()},
	{"changeExperiment", ChangeExperiment.Line()},
	{"listWorkloads", ListTrialWorkloads.Line()},
	{"getTrial", GetTrial.Line()},
	{"killTrial", KillTrial.Line()},
	{"getTimeSeries", GetTimeSeries.Line()},
	{"listNotebooks", ListNotebooks.Line()},
	{"getNotebook", GetNotebook.Line()},
	{"killNotebook", KillNotebook.Line()},
	{"listShells", ListShells.Line()},
	{"getShell", GetShell.Line()},
	{"killShell", KillShell.Line()},
	{"listTensorboards", ListTensorboards.Line()},
	{"getTensorboard", GetTensorboard.Line()},
	{"killTensorboard", KillTensorboard.Line()},
	{"listCommands", ListCommands.Line()},
	{"getCommand", GetCommand.Line()},
	{"killCommand", KillCommand.Line()},
	{"getTask", GetTask.Line()},
	{"listTasks", ListTasks.Line()},
	{"streamTaskLogs", StreamTaskLogs.Line()}, {"streamTrialLogs", StreamTrialLogs.Line()},
	{"listModels", ListModels.Line()},
	{"createModel", CreateModel.Line()},
	{"getModel", GetModel.Line()},
	{"changeModel", ChangeModel.Line()},
	{"archiveModel", ArchiveModel.Line()},
	{"unarchiveModel", UnarchiveModel.Line()},
	{"deleteModel", DeleteModel.Line()},
	{"listModelVersions", ListModelVersions.Line()},
	{"createModelVersion", CreateModelVersion.Line()},
	{"changeModelVersion", ChangeModelVersion.Line()},
	{"deleteModelVersion", DeleteModelVersion.Line()},
	{"listWorkspaces", ListWorkspaces.Line()},
	{"listPools", ListPools.Line()},
	{"listAgents", ListAgents.Line()},
	{"listJobs", ListJobs.Line()},
	{"createNotebook", CreateNotebook.Line()},
	{"createShell", CreateShell.Line()},
	{"createTensorboard", CreateTensorboard.Line()},
	{"createCommand", CreateCommand.Line()},
	{"createGenericTask", CreateGenericTask.Line()},
	{"listGenericTasks", ListGenericTasks.Line()},
	{"killGenericTask", KillGenericTask.Line()},
	{"addressTask", AddressTask.Line()},
	{"linkTask", LinkTask.Line()},
	{"pauseGenericTask", PauseGenericTask.Line()},
	{"unpauseGenericTask", UnpauseGenericTask.Line()},
	{"createExperiment", CreateExperiment.Line()},
	{"continueExperiment", ContinueExperiment.Line()},
	{"moveExperiments", MoveExperiments.Line()},
	{"pauseExperiments", PauseExperiments.Line()},
	{"activateExperiments", ActivateExperiments.Line()},
	{"cancelExperiments", CancelExperiments.Line()},
	{"killExperiments", KillExperiments.Line()},
	{"archiveExperiments", ArchiveExperiments.Line()},
	{"unarchiveExperiments", UnarchiveExperiments.Line()},
	{"deleteExperiments", DeleteExperiments.Line()},
	{"changeJobs", ChangeJobs.Line()},
	{"listUserSecrets", ListUserSecrets.Line()},
	{"createWorkspace", CreateWorkspace.Line()},
	{"getWorkspace", GetWorkspace.Line()},
	{"changeWorkspace", ChangeWorkspace.Line()},
	{"deleteWorkspace", DeleteWorkspace.Line()},
	{"archiveWorkspace", ArchiveWorkspace.Line()},
	{"unarchiveWorkspace", UnarchiveWorkspace.Line()},
	{"pinWorkspace", PinWorkspace.Line()},
	{"unpinWorkspace", UnpinWorkspace.Line()},
	{"listProjects", ListProjects.Line()},
	{"createProject", CreateProject.Line()},
	{"getProject", GetProject.Line()},
	{"changeProject", ChangeProject.Line()},
	{"deleteProject", DeleteProject.Line()},
	{"archiveProject", ArchiveProject.Line()},
	{"unarchiveProject", UnarchiveProject.Line()},
	{"moveProject", MoveProject.Line()},
	{"setProjectNotes", SetProjectNotes.Line()},
	{"listProjectColumns", ListProjectColumns.Line()},
	{"createUser", CreateUser.Line()},
	{"changeUser", ChangeUser.Line()},
	{"changeUsers", ChangeUsers.Line()},
	{"listTokens", ListTokens.Line()},
	{"createToken", CreateToken.Line()},
	{"changeToken", ChangeToken.Line()},
	{"listWebhooks", ListWebhooks.Line()},
	{"createWebhook", CreateWebhook.Line()},
	{"changeWebhook", ChangeWebhook.Line()},
	{"deleteWebhook", DeleteWebhook.Line()},
	{"testWebhook", TestWebhook.Line()},
	{"listWebhookDeliveries", ListWebhookDeliveries.Line()},
	{"redeliverWebhook", RedeliverWebhook.Line()},
	{"listTemplates", ListTemplates.Line()},
	{"putTemplate", PutTemplate.Line()},
	{"createTemplate", CreateTemplate.Line()},
	{"deleteTemplate", DeleteTemplate.Line()},
	{"renameTemplate", RenameTemplate.Line()},
	{"getClusterMessage", GetClusterMessage.Line()},
	{"setClusterMessage", SetClusterMessage.Line()},
	{"deleteClusterMessage", DeleteClusterMessage.Line()},
	{"resetUserSettings", ResetUserSettings.Line()},
	{"followLive", FollowLive.Line()},
	{"openTerminal", OpenTerminal.Line()},
	{"measureNode", MeasureNode.Line()},
	{"listNodeAttempts", ListNodeAttempts.Line()},
	{"listAudit", ListAudit.Line()},
	{"searchLogs", SearchLogs.Line()},
	{"getAggregatedUsage", GetAggregatedUsage.Line()},
	{"getAggregatedUsageCSV", GetAggregatedUsageCSV.Line()},
	{"listSessions", ListSessions.Line()},
	{"endSession", EndSession.Line()},
	{"listGroups", ListGroups.Line()},
	{"getGroup", GetGroup.Line()},
	{"createGroup", CreateGroup.Line()},
	{"updateGroup", UpdateGroup.Line()},
	{"deleteGroup", DeleteGroup.Line()},
	{"listRoles", ListRoles.Line()},
	{"getRolesByID", GetRolesByID.Line()},
	{"listWorkspaceMembers", ListWorkspaceMembers.Line()},
	{"getPermissionsSummary", GetPermissionsSummary.Line()},
	{"assignRoles", AssignRoles.Line()},
	{"removeAssignments", RemoveAssignments.Line()},
	{"listQuotas", ListQuotas.Line()},
	{"putQuota", PutQuota.Line()},
	{"deleteQuota", DeleteQuota.Line()},
	{"listPoolWorkspaces", ListPoolWorkspaces.Line()},
	{"replacePoolBindings", ReplacePoolBindings.Line()},
	{"listWorkspacePools", ListWorkspacePools.Line()},
}

// inStreams are the records of the streams that the pages follow.
var inStreams = []reflect.Type{reflect.TypeFor[MetricsReport](), reflect.TypeFor[TaskLogsResponse](), reflect.TypeFor[GetTrialProfilerAvailableSeriesResponse](), reflect.TypeFor[GetTrialProfilerMetricsResponse]()}

// TestTypesOfPages: the calls of the pages, with their bodies and answers, match the table
// of endpoints.
func TestTypesOfPages(t *testing.T) {
	text := typescript()
	if *rewrite {
		if err := os.WriteFile(typesOfPages, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(typesOfPages)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != text {
		t.Errorf("%s is not what the table of endpoints gives; go test ./master/v1 -run TestTypesOfPages -rewrite writes it anew", typesOfPages)
	}
}

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
// in master/v1; do not edit: go test ./master/v1 -run TestTypesOfPages -rewrite
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
	case timeType:
		return "string"
	case structType:
		return "Record<string, any>"
	case bytesType:
		return "string"
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
	for _, f := range planOf(t).fields {
		name, kind := f.name, t.Field(f.index).Type
		text := w.of(kind)
		switch {
		case f.omitEmpty:
			name += "?"
		case f.orNull || kind.Kind() == reflect.Pointer:
			text += " | null"
		}
		fmt.Fprintf(&fields, "  %s: %s;\n", name, text)
	}
	fmt.Fprintf(w, "\nexport interface %s {\n%s}\n", t.Name(), fields.String())
}
