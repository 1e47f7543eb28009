package v1

import (
	"encoding/json"
	"go/ast"
	goparser "go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// answers are the messages of Determined's interface that the master writes. Its
// generated client has a class for each, named v1 and the name here, but for those
// in classNames.
var answers = []any{
	AggregateQueueStats{},
	Address{}, Agent{}, AgentUserGroup{}, Allocation{}, AllocationAllGatherResponse{},
	AllocationRendezvousInfoResponse{}, AllocationSummary{}, Checkpoint{}, CheckpointTrainingMetadata{},
	CheckpointWorkload{}, ClusterMessage{}, Command{}, ComparableTrial{}, CompareTrialsResponse{}, Container{},
	ContinueExperimentResponse{}, CreateExperimentResponse{}, DataPoint{},
	DeleteProjectResponse{}, DeleteWorkspaceResponse{}, Device{}, DeviceStats{}, DownsampledMetrics{}, Experiment{},
	File{}, FileNode{}, GetAgentsResponse{}, GetCheckpointResponse{}, GetClusterMessageResponse{}, GetCommandResponse{}, GetCommandsResponse{},
	GetExperimentCheckpointsResponse{}, GetExperimentResponse{}, GetExperimentTrialsResponse{},
	GetExperimentsResponse{}, GetJobsV2Response{}, GetMasterConfigResponse{}, GetMasterResponse{}, GetMeResponse{},
	GetMetricsResponse{}, GetModelDefResponse{}, GetNotebookResponse{}, GetNotebooksResponse{},
	GetProjectColumnsResponse{}, GetProjectNumericMetricsRangeResponse{}, MetricsRange{}, GetProjectResponse{}, GetResourcePoolsResponse{}, GetRunMetadataResponse{},
	GetShellResponse{}, GetShellsResponse{}, GetTaskContextDirectoryResponse{}, GetTaskResponse{}, GetTasksResponse{},
	GetTemplatesResponse{}, GetTensorboardResponse{}, GetTensorboardsResponse{},
	GetTrialCheckpointsResponse{}, GetTrialResponse{}, GetTrialWorkloadsResponse{}, GetUserByUsernameResponse{},
	GetAccessTokensResponse{}, PostAccessTokenResponse{}, PatchAccessTokenResponse{}, TokenInfo{}, GetTelemetryResponse{},
	GetUserResponse{}, GetUserSettingResponse{}, GetUsersResponse{},
	GetWorkspaceProjectsResponse{}, GetWorkspaceResponse{}, GetWorkspacesResponse{}, Job{}, JobSummary{},
	KillCommandResponse{}, LaunchCommandResponse{}, LaunchNotebookResponse{}, LaunchShellResponse{},
	LaunchTensorboardResponse{}, LimitedJob{}, LogEntry{}, LoginResponse{}, MasterLogsResponse{}, Metrics{},
	MetricsReport{}, MetricsWorkload{}, Note{}, Notebook{}, NotifyContainerRunningResponse{}, Pagination{},
	PatchExperimentResponse{}, PatchProjectResponse{}, PatchTrialResponse{}, PatchUserResponse{},
	PutExperimentResponse{}, CreateTrialResponse{}, PutTrialResponse{}, StartTrialResponse{},
	PatchWorkspaceResponse{}, PostCheckpointMetadataResponse{}, PostProjectResponse{}, PostRunMetadataResponse{},
	PostUserResponse{}, PostWorkspaceResponse{}, PreviewHPSearchResponse{}, Project{}, ProjectColumn{},
	ProxyPortConfig{}, PutExperimentLabelResponse{}, CleanupLogsResponse{}, GetTrialRemainingLogRetentionDaysResponse{}, PutProjectNotesResponse{}, QueueStats{}, RBACJob{},
	RendezvousInfo{}, ResourcePool{}, ResourcePoolDetail{}, ResourcePoolPrioritySchedulerDetail{}, ResourcesFailure{},
	ResourcesStarted{}, ResourcesStopped{}, ResourcesSummary{}, ResourcesSummaryDevices{},
	RunPrepareForReportingResponse{}, SSOProvider{}, SearchExperimentExperiment{}, SearchExperimentsResponse{},
	SearchSummary{}, SearchUnit{}, Shell{}, Slot{}, SlotStats{}, Task{}, TaskLogsResponse{}, Template{}, Tensorboard{},
	Trial{}, TrialLogsResponse{}, TrialSummary{}, User{}, UserWebSetting{}, WorkloadContainer{}, Workspace{},
	Model{}, ModelVersion{}, GetModelResponse{}, GetModelsResponse{}, GetModelLabelsResponse{}, PostModelResponse{}, PatchModelResponse{},
	GetModelVersionResponse{}, GetModelVersionsResponse{}, PostModelVersionResponse{}, PatchModelVersionResponse{},
	ReportTrialSourceInfoResponse{}, GetTrialMetricsByCheckpointResponse{}, GetTrialMetricsByModelVersionResponse{},
	GetWebhooksResponse{}, PostWebhookResponse{}, TestWebhookResponse{}, Trigger{}, Webhook{},
	FlatRun{}, FlatRunExperiment{}, GetMetadataValuesResponse{}, RunActionResult{}, SearchRunsResponse{},
	GetJobsResponse{}, GetTaskAcceleratorDataResponse{}, GetProjectsByUserActivityResponse{}, PatchUsersResponse{}, UserActionResult{},
	ExpMetricNamesResponse{}, GetTrialProfilerAvailableSeriesResponse{}, GetTrialProfilerMetricsResponse{}, MetricBatchesResponse{}, MetricIdentifier{},
	TrialProfilerMetricLabels{}, TrialProfilerMetricsBatch{}, TrialsSampleResponse{}, TrialsSampleResponseTrial{}, TrialsSnapshotResponse{},
	TrialsSnapshotResponseTrial{},
	AddProjectNoteResponse{}, FileTreeResponse{}, LogFieldsResponse{}, TemplateResponse{}, NotebookResponse{}, ShellResponse{}, TensorboardResponse{},
	CreateGenericTaskResponse{}, GetGenericTaskConfigResponse{},
	GetGlobalConfigPoliciesResponse{}, GetWorkspaceConfigPoliciesResponse{}, PutGlobalConfigPoliciesResponse{}, PutWorkspaceConfigPoliciesResponse{},
	ResourceAllocationRawResponse{}, ResourceAllocationRawEntry{}, ResourceAllocationAggregatedResponse{}, ResourceAllocationAggregatedEntry{},
	ListWorkspacesBoundToRPResponse{}, ListRPsBoundToWorkspaceResponse{},
	CreateGroupResponse{}, GetGroupResponse{}, GetGroupsResponse{}, UpdateGroupResponse{}, Group{}, GroupDetails{}, GroupSearchResult{},
	Permission{}, Role{}, RoleAssignment{}, UserRoleAssignment{}, GroupRoleAssignment{}, RoleWithAssignments{}, RoleAssignmentSummary{}, ScopeTypeMask{},
	ListRolesResponse{}, GetRolesByIDResponse{}, GetRolesAssignedToUserResponse{}, GetRolesAssignedToGroupResponse{},
	SearchRolesAssignableToScopeResponse{}, GetPermissionsSummaryResponse{}, GetGroupsAndUsersAssignedToWorkspaceResponse{},
}

var classNames = map[string]string{
	"Trial": "trialv1Trial", "ResourcesSummaryDevices": "ResourcesSummaryDevices", "FileTreeResponse": "v1GetModelDefTreeResponse",
	"LogFieldsResponse": "v1TaskLogsFieldsResponse", "TemplateResponse": "v1GetTemplateResponse",
	"NotebookResponse": "v1KillNotebookResponse", "ShellResponse": "v1KillShellResponse", "TensorboardResponse": "v1KillTensorboardResponse",
}

// inward are messages that are parts of requests alone.
var inward = "AcceleratorData BulkExperimentFilters Config CustomWebhookEventData FieldMask LogConfig PatchCheckpoint PatchExperiment PatchModel PatchModelVersion PatchProject PatchUser PatchWebhook PatchWorkspace " +
	"QueueControl TaskLog TrialMetrics TrialSourceInfo UserFilters"

// leftOut are fields that Determined's protocol declares optional, or to be one of
// several alternatives, and that are left out where they are not set.
var leftOut = map[string]string{
	"v1RBACJob":           "full limited",                                           // one of them is set
	"v1WorkloadContainer": "checkpoint training validation",                         // one of them is set
	"v1TaskLogsResponse":  "agentId allocationId containerId rankId source stdtype", // optional, and in every line of a log
	"v1TrialLogsResponse": "agentId containerId log rankId source stdtype",          // as above
	"v1Task":              "taskState",                                              // optional; of generic tasks
	"v1Workspace":         "autoCreatedNamespace",                                   // optional; of Kubernetes
}

// nullable are the numbers and texts that are null where they are not set: wrapper
// types, and optional ones for which a zero would be a statement. Times are, too.
var nullable = map[string]string{
	"v1AgentUserGroup":                 "agentGid agentGroup agentUid agentUser",
	"v1Allocation":                     "exitReason statusCode",
	"v1AllocationSummary":              "priority",
	"v1Checkpoint":                     "storageId",
	"v1CheckpointTrainingMetadata":     "experimentId searcherMetric trialId",
	"v1DataPoint":                      "epoch",
	"v1Experiment":                     "bestTrialId bestTrialSearcherMetric duration externalExperimentId externalTrialId forkedFrom progress",
	"v1FlatRun":                        "externalRunId logPolicyMatched searcherMetricValue",
	"v1FlatRunExperiment":              "externalExperimentId forkedFrom",
	"v1RunPrepareForReportingResponse": "storageId",
	"v1SearchUnit":                     "name value",
	"v1TrialsSampleResponseTrial":      "hparams",
	"v1StartTrialResponse":             "latestCheckpoint",
	"v1Task":                           "config forkedFrom parentId",
	"trialv1Trial":                     "logPolicyMatched logRetentionDays searcherMetricValue",
	"v1TokenInfo":                      "expiry",
	"v1RoleAssignment":                 "scopeWorkspaceId",
}

// A classField is a line of testdata/fields.txt, which testdata/fields.py wrote.
type classField struct {
	name, kind string
	required   bool
}

func classes(t *testing.T) map[string][]classField {
	t.Helper()
	raw, err := os.ReadFile("testdata/fields.txt")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string][]classField{}
	for line := range strings.Lines(string(raw)) {
		f := strings.Fields(line)
		if len(f) != 4 {
			t.Fatalf("testdata/fields.txt: %q", line)
		}
		known[f[0]] = append(known[f[0]], classField{name: f[1], required: f[2] == "required", kind: f[3]})
	}
	return known
}

func classOf(name string) string {
	if class, ok := classNames[name]; ok {
		return class
	}
	return "v1" + name
}

func in(words, word string) bool {
	return strings.Contains(" "+words+" ", " "+word+" ")
}

// TestAnswersHoldEveryField: answers also contain fields that are not set, as null, [], {},
// "", 0 or false, as Determined's gateway writes them.
func TestAnswersHoldEveryField(t *testing.T) {
	known := classes(t)
	for _, m := range answers {
		class := classOf(reflect.TypeOf(m).Name())
		fields, ok := known[class]
		if !ok {
			t.Errorf("%T: Determined has no class %s", m, class)
		}
		raw, err := Marshal(m)
		if err != nil {
			t.Fatalf("%T: %v", m, err)
		}
		var got map[string]any
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatalf("%T: %v", m, err)
		}
		for _, f := range fields {
			v, there := got[f.name]
			switch {
			case !there && f.required:
				t.Errorf("%s.%s, which clients index, is left out", class, f.name)
			case !there && !in(leftOut[class], f.name):
				t.Errorf("%s.%s is left out", class, f.name)
			case there && in(leftOut[class], f.name):
				t.Errorf("%s.%s is written", class, f.name)
			case there && !unset(class, f, v):
				t.Errorf("%s.%s, a %s, is written as %v", class, f.name, f.kind, v)
			}
		}
	}
}

// unset reports whether v is how a field that is not set is written.
func unset(class string, f classField, v any) bool {
	isTime := f.kind == "string" && (f.name == "time" || f.name == "timestamp" || strings.HasSuffix(f.name, "Time") || strings.HasSuffix(f.name, "At"))
	switch f.kind {
	case "list":
		list, ok := v.([]any)
		return ok && len(list) == 0
	case "map":
		m, ok := v.(map[string]any)
		return ok && len(m) == 0
	case "bool":
		return v == false
	case "message", "struct":
		_, ok := v.(map[string]any)
		return ok && (f.required || writtenAsObject[class+"."+f.name]) || v == nil && (!f.required || in(nullable[class], f.name))
	case "enum":
		_, ok := v.(string)
		return ok
	}
	switch {
	case in(nullable[class], f.name):
		return v == nil
	case isTime:
		return v == nil && !f.required || v == "0001-01-01T00:00:00Z" // of what always has its time
	case f.kind == "number":
		return v == 0.0
	}
	return v == "" || v == "0" // 64-bit integers are strings
}

// writtenAsObject are messages that the master always has something to say in.
var writtenAsObject = map[string]bool{
	"v1GetCommandsResponse.pagination": true, "v1GetNotebooksResponse.pagination": true, "v1GetShellsResponse.pagination": true,
	"v1GetTensorboardsResponse.pagination": true, "v1KillCommandResponse.command": true,
	"v1ModelVersion.metadata":         true,
	"v1KillNotebookResponse.notebook": true, "v1KillShellResponse.shell": true, "v1KillTensorboardResponse.tensorboard": true, "v1Shell.agentUserGroup": true,
}

// inspect visits all that the package's own files say.
func inspect(t *testing.T, visit func(ast.Node) bool) {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := goparser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, visit)
	}
}

// TestEveryAnswerIsListed finds a message that was added and is not in answers.
func TestEveryAnswerIsListed(t *testing.T) {
	known, listed := classes(t), map[string]bool{}
	for _, m := range answers {
		listed[reflect.TypeOf(m).Name()] = true
	}
	found := 0
	inspect(t, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		name := spec.Name.Name
		if known[classOf(name)] == nil || in(inward, name) {
			return true
		}
		found++
		if !listed[name] {
			t.Errorf("%s is a message of Determined's and is not listed in answers", name)
		}
		return true
	})
	if found < len(answers) {
		t.Errorf("%d messages were found, %d are listed", found, len(answers))
	}
}
