package house

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/house/effects"
)

// A behaviour is something that programs written for Determined 0.38.1 rely on and that once was
// otherwise here.
type behaviour struct {
	number int
	name   string
	tests  string // "folder TestName …": the tests that hold us to it
	// page is what docs/migrate.md says where we differ on purpose.
	page string
}

// lastBehaviour is the number of the last one: none is left out.
const lastBehaviour = 47

var behaviours = []behaviour{
	{0, "every field of an answer is written", "master/v1 TestAnswersHoldEveryField TestMarshalFollowsTheRules, master/api TestUnsetFieldsAreWritten", ""},
	{1, "keys of the master's configuration", "master/server TestConfigurationHasDeterminedsKeys TestTheWholeConfigurationIsShown, master/api TestMasterAndInfo TestPatchOfTheMasterConfig", ""},
	{2, "deleting a workspace that holds something", "master/api TestDeletionsBegin TestModelLists, master/control TestAWorkspaceGoesWithEverything", ""},
	{3, "trials exist when an experiment is created", "master/api TestFirstTrialsAreThereAtOnce TestTrialOfAPausedExperiment, master/control TestFirstTrialsAreTheSearchs TestPausedTrialEnds", ""},
	{4, "GET /tasks", "master/api TestOldTasks", ""},
	{5, "webhooks", "master/webhook TestWebhooks TestWrongWebhooks TestDeliveriesOfWebhooks, master/api TestCustomEventsOfPrograms, master/webhook/event TestBodies TestSignature, master/webhook/sender TestKilledBetweenEventAndSend, integration/experiments TestWebhooks", ""},
	{6, "one template for all kinds", "master/api TestTemplateOfAllKinds TestTemplates", ""},
	{7, "generic tasks", "master/api TestGenericTasks TestForksAndChildren TestChangingGenericTasks, integration/clients TestGenericTasks", ""},
	{8, "free slots have a container", "master/nodes TestFreeSlotsHaveAContainer", ""},
	{9, "runs", "master/api TestSearchRuns TestRunColumns TestRunsAreKilledPausedAndResumed TestRunsAreArchivedAndDeleted TestRunsAreMoved, integration/clients TestRuns", ""},
	{10, "the master's lines in a log", "master/task TestTheFirstLinesOfALog, plugins/runner TestExitStatus, integration/clients TestUnmodifiedClient", ""},
	{11, "linked accounts", "integration/containers TestTasksInContainers TestTasksUnderPodman, integration/clients TestLinkedAccounts, plugins/runner TestALinkedAccount", ""},
	{12, "order of hyperparameters", "master/task TestHyperparametersAreSorted", ""},
	{13, "an entrypoint of one word", "master/api TestEntrypointOfOneWord", ""},
	{14, "accounts of workspaces in parts", "master/api TestAccountOfAWorkspace, master/attempts TestAccountOfATask", ""},
	{15, "allocations as CSV", "master/api TestUsage", ""},
	{16, "the model registry", "master/api TestModels TestModelLists TestModelVersions TestRegisteredCheckpointsStay, integration/clients TestUnmodifiedSDK", ""},
	{17, "config policies", "master/api TestConfigPolicies TestConfigPoliciesHold TestMovesKeepPolicies", ""},
	{18, "det in tasks", "plugins/runner TestDetInTasks, integration/clients TestNotebook", ""},
	{19, "the cluster's message", "master/api TestClusterMessage", ""},
	{20, "project -1 in bulk calls", "master/api TestBulkOfAllProjects TestWorkspacesAndProjects", ""},
	{21, "unmanaged experiments", "master/api TestUnmanagedRun TestUnmanagedWithoutNames TestUnmanagedAtOnce TestSilentTrials, integration/clients TestUnmanagedRuns", ""},
	{22, "ports of tasks", "master/api TestPagesOfAPort TestBytesOfAPort TestPortsForEverybody, integration/clients TestPortsOfACommand TestPortsOfATrial", ""},
	{23, "log policies", "master/control TestALineThatCancelsRetries TestALineThatExcludesANode TestNoNodeIsLeft, master/api TestRunnersReportMatches, integration/experiments TestFaultsOfNodes", ""},
	{24, "lists without archived parents", "master/api TestWorkspacesAndProjects", ""},
	{25, "changes below archived parents", "master/api TestWorkspacesAndProjects", ""},
	{26, "ranges of metrics", "master/api TestMetricRanges", ""},
	{27, "the best trial of a single experiment", "master/api TestBestOfOneTrial TestProjectColumns", ""},
	{28, "large contexts", "master TestContextsDoNotFillTheMemory", ""},
	{29, "deleting where nothing was stored", "plugins/remover TestAStorageThatIsNotThereYet", ""},
	{30, "a kill right after the start", "integration/containers TestAKillRightAfterPlacement, master/control TestAKillBeforeTheGate TestAKillBehindTheGate", ""},
	{31, "files of TensorBoards are gone when the call returns", "master/api TestATaskThatRemovesFiles", ""},
	{32, "disabling a node", "master/control TestNodesAndSlotsAreWithdrawn, master/nodes TestSlotsAreDisabled", ""},
	{33, "the task of a continued trial", "master/control TestATrialGoesOn, master/api TestContinueExperiment TestEachContinuationHasATask, master/control/rows TestContinuingBeginsAPart, master/logs TestLogsOfParts", ""},
	{34, "NUL in logs", "master/logs TestLogFilters, plugins/runner/logs TestLinesSurviveASegment", ""},
	{35, "the first lines of a trial", "master/task TestTheFirstLinesOfALog", ""},
	{36, "words of shells and TensorBoards", "integration/clients TestShell, plugins/harness/tests test_mirror_says_what_scripts_look_for", ""},
	{37, "a command without an entrypoint", "master/api TestACommandWithoutAnEntrypoint", ""},
	{38, "signing in when deactivated", "master/api TestUsers, integration/clients TestUnmodifiedClientManagesUsers", ""},
	{39, "display names like others' names", "master/api TestUsers", ""},
	{40, "the version of agents", "master/api TestVersionOfAgents", ""},
	{41, "pools bound to workspaces", "master/api TestPoolBindings", ""},
	{42, "more slots than there are", "master/api TestMoreSlotsThanThereAre, master/launch TestATemplateGivesNoSlots, integration/clients TestFourNodes", ""},
	{43, "imagePullSecrets of a TensorBoard", "master/expconf TestPodSpec", "All else has no effect, and a warning names it."},
	{44, "a run that begins again", "master/metrics TestReplacedReports, master/attempts TestClaimRestartsFromNewestCheckpoint", ""},
	{45, "progress before a trial has any", "master/control TestNoProgressYet, integration/clients TestVerbsOfDetermined", ""},
	{46, "resources of an experiment that has ended", "integration/clients TestVerbsOfDetermined", "Determined stores the value, and rejects weight and priority afterwards"},
	{47, "devices of CPU slots", "master/control TestModelOfCores", ""},
}

// TestBehavioursHaveTests: each behaviour has a test that exists, or a page describes how Detent
// differs.
func TestBehavioursHaveTests(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "docs", "migrate.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Join(strings.Fields(string(text)), " ")
	declared := map[string]map[string]bool{} // by folder
	for i, b := range behaviours {
		if b.number != i {
			t.Errorf("%d, %s: %d was expected here", b.number, b.name, i)
		}
		if b.tests == "" && b.page == "" {
			t.Errorf("%d, %s: no test and no page", b.number, b.name)
		}
		if !strings.Contains(page, b.page) {
			t.Errorf("%d, %s: docs/migrate.md does not say %q", b.number, b.name, b.page)
		}
		effects.Exist(t, root, fmt.Sprintf("%d, %s", b.number, b.name), b.tests, declared)
	}
	if n := len(behaviours) - 1; n != lastBehaviour {
		t.Errorf("the last is %d, want %d", n, lastBehaviour)
	}
}
